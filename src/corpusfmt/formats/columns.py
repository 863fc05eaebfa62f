"""For formats: Column profiles: the fields of a row that make its document, the fields it must have, and the names of files.

Those of published corpora are in `schemas/columns`; a user's file has the same form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict

from corpusfmt._resources import resource
from corpusfmt.formats import Format, ReadOptions, detect, named_format
from corpusfmt.formats.pieces import DividedBy
from corpusfmt.formats.sniff import has_name_of_rows, main_file, rows_have
from corpusfmt.io.compress import sha256
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.io.text import has_at, json_type, path_to, value_at
from corpusfmt.io.toml import converted_toml, toml_at
from corpusfmt.model import Json, UsageError
from corpusfmt.wording import clipped

Type = Literal["string", "integer", "number", "boolean", "object", "array", "null"]

_MOST_BYTES = 256 * 1024
_MOST_FIELDS = 1000
_MOST_NAMES = 50
# A pattern with more wildcards takes long to compare with a long path.
_MOST_WILDCARDS = 3
_LABEL = "[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*"
_WILDCARD = re.compile(r"\{language\}|\{source\}|\*")
_SCRIPT = re.compile("[-_][A-Z][a-z]{3}$")
_KINDS: Mapping[Type, frozenset[type]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "object": frozenset({dict}),
    "array": frozenset({list}),
    "null": frozenset({type(None)}),
}
_SHOWN: Mapping[Type, str] = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


class Fields(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields that make a document. A name that begins with `/` is a JSON pointer to a value in an object.

    `created` becomes the creation date of the document; `date` is any other date, such as that of a crawl. Rows of a table have
    no text.
    """

    text: str | None = "text"
    id: str | None = None
    url: str | None = None
    created: str | None = None
    date: str | None = None
    language: str | None = None
    score: str | None = None
    source: str | None = None


class Sidecar(Struct, frozen=True, forbid_unknown_fields=True):
    """Files next to those of documents, with the names of their ids and of a value that becomes metadata.

    Without a value, documents that they list are marked by true if it `marks` them.
    """

    path: str
    id: str = "id"
    value: str | None = None
    marks: bool = False


class Files(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """The ends of paths, with `*` for any characters but `/`, and `{language}` and `{source}` for those of the documents.

    If they are `needed`, rows in other files are of another corpus. `without_script` shortens languages like `deu_Latn`.
    Files `beside` others, by role, have the same text for `*` in their paths as those of `documents`.
    """

    names: tuple[str, ...] = ()
    needed: bool = False
    without_script: bool = False
    documents: str = ""
    beside: dict[str, Sidecar] = {}


class Value(Struct, frozen=True):
    """A field with the types that it may have. An absent field counts as null."""

    path: tuple[str, ...]
    name: str
    types: tuple[Type, ...]
    needed: bool

    @property
    def kinds(self) -> frozenset[type]:
        found = frozenset[type]().union(*(_KINDS[each] for each in self.types))
        return found if self.needed else found | _KINDS["null"]

    def expected(self) -> str:
        return " or ".join(_SHOWN[each] for each in self.types)


class Turns(Struct, frozen=True, forbid_unknown_fields=True):
    """A field with a list of messages, the keys of these, and the roles that are known; `answers` are those that may end it."""

    field: str
    role: str = "role"
    content: str = "content"
    opens: tuple[str, ...] = ("system", "developer")
    asks: tuple[str, ...] = ("user",)
    answers: tuple[str, ...] = ("assistant",)
    others: tuple[str, ...] = ("tool", "function")


class _File(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """A column profile as it is written in TOML."""

    summary: str
    table: bool = False
    source: str = ""
    format: Literal["jsonl", "text"] = "jsonl"
    documents: DividedBy = "blank-lines"
    separator: str = ""
    fields: Fields = Fields()
    required: dict[str, Type | tuple[Type, ...]] = {}
    optional: dict[str, Type | tuple[Type, ...]] = {}
    identifying: tuple[str, ...] = ()
    files: Files = Files()
    shared: bool = False
    turns: tuple[Turns, ...] = ()
    filled: tuple[str, ...] = ()
    different: tuple[str, ...] = ()


class ColumnProfile(_File, frozen=True, kw_only=True):
    """A column profile, or the fields that options name; the name is then empty.

    If rows are `shared`, other corpora have the same. Without a name, a missing id is accepted unless `needs_id`. `digest` identifies the content.
    """

    name: str = ""
    summary: str = ""
    fields: Fields = Fields(id="id")
    values: tuple[Value, ...] = ()
    needs_id: bool = False
    digest: str = ""

    @property
    def is_table(self) -> bool:
        """Whether rows have no text, so that they are no documents."""
        return self.fields.text is None

    @property
    def may_lack_ids(self) -> bool:
        """Whether an `id` without a value is not an error."""
        return self.is_table and not self.needs_id

    def language_of_path(self, path: str) -> str | None:
        """Return the language in the path of a file."""
        found = self._in_path(path, "language")
        return None if found is None else self.label(found)

    def source_of_path(self, path: str) -> str | None:
        """Return the source in the path of a file."""
        return self._in_path(path, "source")

    def _in_path(self, path: str, name: str) -> str | None:
        matches = filter(None, (_pattern(each).fullmatch(path) for each in self.files.names))
        return next((match[name] for match in matches if match.groupdict().get(name)), None)

    def knows(self, path: str) -> bool:
        """Return whether a file has a name of this corpus."""
        return any(_pattern(name).fullmatch(path) for name in self.files.names)

    def label(self, value: object) -> str | None:
        """Return the language that a value names: a string, the first of an array, or the most probable of an object."""
        if isinstance(value, dict):
            scores = {name: score for name, score in value.items() if isinstance(score, int | float)}
            value = max(scores, key=lambda name: scores[name], default=None)
        elif isinstance(value, list):
            value = next(iter(value), None)
        if not isinstance(value, str):
            return None
        return _SCRIPT.sub("", value) if self.files.without_script else value

    def fits(self, row: Json, path: str | None) -> bool:
        """Return whether a row, in a file with this path or any, has the fields of the profile."""
        if path is not None and self.files.needed and not self.knows(path):
            return False
        if (self.fields.id is None and "id" in row) or not all(name in row for name in self.identifying):
            return False
        if self.is_table and not TEXTS.keys().isdisjoint(row):
            return False
        return all(type(value_at(row, each.path)) in each.kinds for each in self.values if each.needed)


def odd_values(columns: ColumnProfile, row: Json) -> Iterator[tuple[Value, str]]:
    """Yield the fields of a row that do not have their type, with the type they have."""
    for each in columns.values:
        value = value_at(row, each.path)
        if type(value) not in each.kinds:
            yield each, "absent" if value is None and not has_at(row, each.path) else json_type(value)


def are_full(columns: ColumnProfile, rows: Iterable[Json]) -> bool:
    """Return whether rows have all that the profile of a table asks for."""
    if not (columns.turns or columns.filled or columns.different):
        return True
    return not any(fault for row in rows for fault in (*odd_turns(columns, row), *blank_fields(columns, row)))


def odd_turns(columns: ColumnProfile, row: Json) -> Iterator[str]:
    """Yield what is wrong with the conversations of a row, the first fault of each."""
    for turns in columns.turns:
        messages = value_at(row, path_to(turns.field))
        if isinstance(messages, list) and (fault := next(_odd_messages(turns, messages), None)):
            yield f"`{turns.field}` {fault}"


def _odd_messages(turns: Turns, messages: Sequence[Any]) -> Iterator[str]:
    if not messages:
        yield "has no message"
    known = (*turns.opens, *turns.asks, *turns.answers, *turns.others)
    last = ""
    for number, message in enumerate(messages, 1):
        role = message.get(turns.role) if isinstance(message, dict) else None
        if role not in known:
            found = "no role" if role is None else f"the role `{clipped(str(role))}`"
            yield f"has {found} in message {number}, expected one of {', '.join(known)}"
        elif _is_blank(message.get(turns.content)) and not message.get("tool_calls"):
            yield f"has an empty message {number} from {role}"
        elif (role in turns.opens and number > 1) or (role == last and role not in turns.others):
            yield f"has the role `{role}` in message {number} after `{last}`"
        last = str(role)
    if last not in turns.answers:
        yield f"ends with `{clipped(last)}`, expected {' or '.join(turns.answers)}"


def blank_fields(columns: ColumnProfile, row: Json) -> Iterator[str]:
    """Yield which fields of a row are empty, or equal, and must not be."""
    for name in columns.filled:
        if _is_blank(value_at(row, path_to(name))):
            yield f"`{name}` is empty"
    if columns.different and len({str(value_at(row, path_to(name))) for name in columns.different}) == 1:
        yield f"{' and '.join(f'`{name}`' for name in columns.different)} are equal"


def _is_blank(value: object) -> bool:
    if isinstance(value, dict):
        return not value or any(map(_is_blank, value.values()))
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


#: What rows without a profile are read as, by the name of their text; rows of a table have none.
TEXTS = {name: ColumnProfile(fields=Fields(name, "id")) for name in ("text", "content")}
TABLE = ColumnProfile(fields=Fields(None, "id"))


def columns_names() -> list[str]:
    """Return the names of the bundled column profiles."""
    return sorted(each.name.removesuffix(".toml") for each in resource("schemas", "columns").iterdir())


def load_columns(name: str | Path) -> ColumnProfile:
    """Return a column profile by its name, or by the path of a TOML file. Raises `UsageError`."""
    name = str(name)
    if name in columns_names():
        return shipped_columns(name)
    if not re.search(r"[/\\]|\.toml$", name):
        known = ", ".join(columns_names())
        raise UsageError(f"unknown column profile {clipped(name)!r}; known: {known}, or the path of a file `NAME.toml`")
    return _columns(Path(name).stem, toml_at(name, "column profile", _MOST_BYTES), f"column profile {name}")


def format_of_reading(entry: Entry, named: str, reading: ReadOptions) -> str:
    """Return the format of a path whose name is given, or for `auto` the one that a column profile or named fields select.

    Raises `UsageError`.
    """
    if named != "auto" or not (reading.columns is not None or reading.field):
        return named
    if reading.columns is None:
        return _format_with_fields(entry, reading)
    found = load_columns(reading.columns).format
    is_table = found == "jsonl" and named_format("parquet")[0].detect(entry) is not None
    return "parquet" if is_table else found


def _format_with_fields(entry: Entry, reading: ReadOptions) -> str:
    """Return JSON Lines for rows with the text that options name, unless a format that they apply to, too, claims them."""
    text = reading.field.get("text", "text")
    files = walk(entry) if entry.kind == "directory" else [entry]
    rows = [each for each in files if each.kind == "file" and has_name_of_rows(each) and not is_hidden(each.path)]
    try:
        fmt = detect(entry)[0]
    except UsageError:
        if main_file(rows, lambda each: rows_have(each, text)):
            return "jsonl"
        raise
    has_fields = fmt.reader is not None and fmt.reader.names_fields
    is_layout = entry.kind == "directory" and entry.child("documents") is not None
    if has_fields or is_layout or not main_file(rows, lambda each: rows_have(each, text)):
        return "auto"
    return "jsonl"


def rest_of(pattern: str, path: str) -> str | None:
    """Return what stands in a path for the `*` of a pattern; None if it has another form."""
    before, _, after = pattern.partition("*")
    matches = path.startswith(before) and path.endswith(after) and len(path) > len(before) + len(after)
    return path[len(before) : len(path) - len(after)] if pattern and matches else None


def sidecars_below(entry: Entry, columns: ColumnProfile) -> dict[str, dict[str, Entry]]:
    """Return the files beside those of documents, by what stands in the paths of both for `*`, and by role."""
    found: dict[str, dict[str, Entry]] = {}
    if entry.kind != "directory" or not columns.files.beside:
        return found
    for each in walk(entry):
        for role, sidecar in columns.files.beside.items():
            if each.kind == "file" and (rest := rest_of(sidecar.path, each.path)) is not None:
                found.setdefault(rest, {})[role] = each
    return found


def refuse_fields(fmt: Format, reading: ReadOptions) -> None:
    """Raise `UsageError` if options name fields that a format does not let them name."""
    reader = fmt.reader
    if reading.columns is not None and not (reader and reader.has_columns):
        raise UsageError(f"{fmt.name} has no column profiles: remove --columns, or add --format jsonl, parquet or text")
    free = (reading.field if reader.has_columns else ("text", "id")) if reader and reader.names_fields else ()
    if named := [name for name in reading.field if name not in free]:
        options = " and ".join(f"--field {name}" for name in named)
        raise UsageError(f"{fmt.name} has fixed field names: remove {options}, or add --format jsonl or parquet")


@cache
def shipped_columns(name: str) -> ColumnProfile:
    """Return a bundled column profile."""
    return _columns(name, resource("schemas", f"columns/{name}.toml").read_text("utf-8"), f"column profile {name}")


def best_columns(row: Json, path: str) -> ColumnProfile | None:
    """Return the bundled profile with most fields that a row, in a file with this path, fits; None if there is none.

    Of several with as many fields, one that knows the name of the file is taken.
    """
    fitting = [
        each for each in map(shipped_columns, columns_names()) if each.format == "jsonl" and each.fits(row, path)
    ]
    return max(fitting, key=lambda each: (_strength(each), each.language_of_path(path) is not None), default=None)


def columns_of_rows(rows: Sequence[Json], path: str) -> ColumnProfile:
    """Return the profile of a file by its first rows: a bundled one, or that of rows with a text or without."""
    if rows and (found := best_columns(rows[0], path)):
        return found
    of_text = (name for name in TEXTS if 2 * sum(name in row for row in rows) >= len(rows))
    name = next(of_text, None)
    is_text = name == "text" or any(isinstance(row.get("content"), str) for row in rows)
    return TEXTS[name] if name and is_text else TABLE


def of_text() -> Iterator[ColumnProfile]:
    """Yield the bundled profiles of text."""
    return (each for each in map(shipped_columns, columns_names()) if each.format == "text")


def best_of_text(path: str, head: str = "") -> ColumnProfile | None:
    """Return the bundled profile of text that knows the name of a file, or else what only its files begin with, if any does."""
    named = (each for each in of_text() if each.knows(path))
    marked = (each for each in of_text() if each.identifying and all(mark in head for mark in each.identifying))
    return next(chain(named, marked), None)


def _strength(columns: ColumnProfile) -> int:
    return sum(each.needed for each in columns.values) + len(columns.identifying)


def _columns(name: str, text: str, what: str) -> ColumnProfile:
    file = converted_toml(text, _File, what)
    fields = Fields(None, file.fields.id or "id") if file.table else file.fields
    if (file.documents == "separator") != bool(file.separator.strip()):
        raise UsageError(f"{what}: `separator` is needed if documents are by separator, and only then")
    if len(file.required) + len(file.optional) > _MOST_FIELDS or len(file.files.names) > _MOST_NAMES:
        raise UsageError(f"{what}: more than {_MOST_FIELDS} fields or {_MOST_NAMES} names")
    for each in file.files.names:
        if each.count("*") + each.count("{language}") > _MOST_WILDCARDS:
            raise UsageError(f"{what}: {clipped(each)!r} has more than {_MOST_WILDCARDS} wildcards")
    values = tuple(_values(file.required, needed=True)) + tuple(_values(file.optional, needed=False))
    own: Json = {"name": name, "fields": fields, "values": values, "needs_id": file.fields.id is not None}
    return ColumnProfile(**asdict(file) | own, digest=sha256(text.encode()).hexdigest())


def _values(table: Mapping[str, Type | tuple[Type, ...]], *, needed: bool) -> Iterator[Value]:
    for name, types in table.items():
        yield Value(path_to(name), name, (types,) if isinstance(types, str) else types, needed)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Return the pattern of paths that end like a name; only the first `{language}`, or `{source}`, is captured."""
    found = "(?:.*/)?"
    captured = {"*"}
    start = 0
    for match in _WILDCARD.finditer(name):
        found += re.escape(name[start : match.start()])
        start = match.end()
        form = _LABEL if match[0] == "{language}" else "[^/]*"
        found += form if match[0] in captured else f"(?P<{match[0][1:-1]}>{form})"
        captured.add(match[0])
    return re.compile(found + re.escape(name[start:]), re.DOTALL)
