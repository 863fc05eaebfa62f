"""For formats: Rows whose fields a column profile names, and their documents, which convert back to the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import msgspec
from msgspec import Struct, structs
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, ReadOptions, Shard
from corpusfmt.formats.columns import (
    ColumnProfile,
    are_full,
    best_columns,
    blank_fields,
    load_columns,
    odd_turns,
    odd_values,
)
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.records import NAMED, Record, Records, language_in
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.formats.whole import Key
from corpusfmt.io.jsonlines import EncodedText, decoded_text
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import json_line, json_object, path_to, value_at, values_at
from corpusfmt.model import Document, Json, Location, Problem, Severity, UsageError
from corpusfmt.rules import RuleSet

#: The name in `Document.metadata`.
ROW = "corpusfmt_row"


class Origin(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The names of text and id in the row; what the row does not have; and where its other fields were.

    `id` is None if the row has no field for it. `number`: the id is an integer. `made` are names of the document and of its
    metadata that are not in the row. `apart`: the row has an object `metadata`, and other fields next to it. `displaced`
    are fields, and in `covered` entries of `metadata`, whose place in the document is taken.
    """

    text: str | None = "text"
    id: str | None = None
    number: bool = False
    made: tuple[str, ...] = ()
    apart: bool = False
    displaced: Json = {}
    covered: Json = {}


_IN_METADATA = frozenset({"url", "language"})
#: The origin of a row that already is as documents are written.
PLAIN = Origin(id="id", apart=True)


def marked(origin: Origin) -> str:
    """Return the entry of the metadata."""
    return msgspec.json.encode(origin).decode()


def restored(document: Document) -> Json:
    """Return the row that became a document, with everything that was added since; else the document as a row."""
    origin = _origin_of(document)
    if origin is None:
        return fields_of(document)
    path = () if origin.text is None else path_to(origin.text)
    named = {"source": document.source, "added": document.added, "created": document.created}
    leave_out = {ROW, SYNTHETIC, *_IN_METADATA.intersection(origin.made)}
    metadata = {name: value for name, value in (document.metadata or {}).items() if name not in leave_out}
    metadata |= origin.covered
    parts: list[Json] = [
        {} if origin.id is None else {origin.id: _number(document.id) if origin.number else document.id},
        {path[0]: document.text} if len(path) == 1 else {},
        {name: value for name, value in named.items() if value is not None and name not in origin.made},
        {"metadata": metadata} if origin.apart else metadata,
        {} if document.attributes is None else {"attributes": document.attributes},
        document.extra,
        origin.displaced,
    ]
    row: Json = {}
    for part in parts:
        if not row.keys().isdisjoint(part):
            return fields_of(document)  # a value would be lost
        row |= part
    if len(path) > 1:
        above = value_at(row, path[:-1])
        if not isinstance(above, dict) or path[-1] in above:
            return fields_of(document)
        _object_above(row, path)[path[-1]] = document.text
    return row


def table_row(document: Document) -> Json | None:
    """Return the row of a table that became a document; None for a document with a text."""
    origin = _origin_of(document)
    return restored(document) if origin is not None and origin.text is None else None


def _number(text: str) -> int | str:
    """Return an id that was an integer; it remains a string if it no longer looks like one."""
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 4000 else text


def _origin_of(document: Document) -> Origin | None:
    text = (document.metadata or {}).get(ROW)
    try:
        return msgspec.convert(json_object(text), Origin) if isinstance(text, str) else None
    except msgspec.ValidationError:
        return None


def _object_above(row: Json, path: Sequence[str]) -> Json:
    """Return the object with a field of a row, after copying those that lead to it."""
    for step in path[:-1]:
        row[step] = dict(row[step])
        row = row[step]
    return row


# Names that only conversions write.
_OWN = (ROW, SYNTHETIC)
# Rows without these names become documents in the simplest way.
_SPECIAL = frozenset({*NAMED, *_OWN, "metadata"})
# In another format, the name of metadata of OSCAR 1.1 would be taken for that.
_OSCAR_NAME = re.compile(r"(?<![^/])([a-z]{2,3})_meta(?=[/_.])")
# Columns of a table that are compared, and the kinds of their values.
MOST_COLUMNS = 1000
_KINDS = {str: "a text", int: "a number", float: "a number", bool: "a boolean", dict: "an object", list: "a list"}
# Of `Origin`: the name of the id, whether it is a number, what was made, and whether metadata is apart.
_Shape = tuple[str | None, bool, tuple[str, ...], bool]


class ColumnRecord(Record, frozen=True):
    """An object, its columns, and the path to its id if it has or needs one."""

    columns: ColumnProfile
    id: Sequence[str] | None


def columns_of(reading: ReadOptions, format_name: str) -> ColumnProfile | None:
    """Return the columns that options name, None if they name none. Raises `UsageError`."""
    if not names_columns(reading):
        return None
    columns = ColumnProfile() if reading.columns is None else load_columns(reading.columns)
    if (columns.format == "text") != (format_name == "text") and reading.columns is not None:
        raise UsageError(f"the column profile {columns.name} is of {columns.format}, the source is {format_name}")
    fields = structs.replace(columns.fields, **reading.field)
    return structs.replace(columns, fields=fields, needs_id=columns.needs_id or "id" in reading.field)


def names_columns(reading: ReadOptions) -> bool:
    """Return whether options name a column profile or a field."""
    return reading.columns is not None or bool(reading.field)


def column_shards(files: Iterable[Entry], role: str, columns: ColumnProfile) -> Iterator[Shard]:
    """Yield a shard for each file of rows."""
    read_as = f"{columns.name}:{columns.digest}"
    for number, each in enumerate(files):
        yield Shard(number, each.path, {role: each}, columns, _OSCAR_NAME.sub(r"\1", each.path), read_as=read_as)


def is_id(value: object) -> bool:
    """Return whether a value identifies a document: a string that is not empty, or a whole number."""
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


def field_type_rule(rules: RuleSet, code: str) -> None:
    """Register the rule on the fields of a column profile."""

    @rules.rule(code, "field-type", on=ColumnRecord, accepted_by="are_clean", grades={"minor": Severity.WARNING})
    def field_type(record: ColumnRecord) -> Iterator[Problem]:
        """A field of the column profile is missing or has another type. A warning if it is optional or in a table.

        Why: the row is not from the corpus of the profile; its date, language or text may be in other fields.
        Example: `{"text": "…", "url": "…"}` with the profile `c4`, which has a `timestamp`; `"token_count": "12"` with `fineweb`.
        Fix: name the right profile with `--columns`, write your own, or repair the row.
        """
        name = record.columns.name
        is_table = record.columns.is_table
        for value, found in odd_values(record.columns, record.fields):
            if value.name not in record.required:
                message = f"`{value.name}` is {found}, expected {value.expected()} (column profile {name})"
                yield Problem(
                    message, record.at, "name the right profile with --columns", minor=not value.needed or is_table
                )


def table_rules(rules: RuleSet, turns_code: str, blank_code: str) -> None:
    """Register the rules on what the profile of a table asks of its rows."""

    @rules.rule(turns_code, "turns-malformed", on=ColumnRecord, accepted_by="are_clean", severity=Severity.WARNING)
    def turns_malformed(record: ColumnRecord) -> Iterator[Problem]:
        """A conversation is empty, has an unknown role, an empty message or roles out of order, or does not end with an answer.

        Why: chat templates fail on it, or a model learns nothing from it.
        Example: `{"messages": []}`, the role `assistnt`, two messages of `user` in a row.
        Fix: repair the conversation, or remove the row; the column profile lists the roles.
        """
        for message in odd_turns(record.columns, record.fields):
            yield Problem(message, record.at, "repair the conversation, or remove the row")

    @rules.rule(blank_code, "field-blank", on=ColumnRecord, accepted_by="are_clean", severity=Severity.WARNING)
    def field_blank(record: ColumnRecord) -> Iterator[Problem]:
        """A field without which the row is useless is empty, or two that must differ are equal.

        Why: a model learns nothing from an instruction without output, or from a preference between equal answers.
        Example: `{"prompt": "…", "chosen": "a", "rejected": "a"}`, `{"translation": {"en": "hello", "fr": ""}}`.
        Fix: fill in the field, or remove the row.
        """
        for message in blank_fields(record.columns, record.fields):
            yield Problem(message, record.at, "fill in the field, or remove the row")


class ColumnRecords(Records):
    """Rows read by the column profile in the shard, or by `ReadOptions`; `source` is that of documents without one."""

    source = "jsonl"
    subject = ColumnRecord

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        super().__init__(shard, options)
        columns = shard.payload if isinstance(shard.payload, ColumnProfile) else columns_of(options.reading, "jsonl")
        self.columns = columns or ColumnProfile()
        fields = self.columns.fields
        self.text = fields.text
        strings = (each for each in self.columns.values if each.needed and each.types == ("string",))
        of_strings = (each.name for each in strings if len(each.path) == 1)
        self.required = () if fields.text is None else tuple(dict.fromkeys([fields.text, *of_strings]))
        self._values = [(each.path, each.kinds) for each in self.columns.values if each.name not in self.required]
        self._typed = {each.name for each in self.columns.values}
        self._id = _path_to(fields.id)
        # Unless it is in an object, or the text.
        steps = self._id or ()
        self._id_name = steps[0] if len(steps) == 1 and steps != self.text_path else None
        others = [_path_to(name) for name in (fields.url, fields.created, fields.language, fields.source)]
        self._url, self._created, self._language, self._source_field = others
        named = {path[0] for path in (self._id, *others) if path}
        self.leaves_texts = len(self.text_path) == 1 and named.isdisjoint(self.text_path)
        self.has_ids = self._id is not None
        self._has_source = "source" not in (*self.text_path[:1], self._id_name)
        self._language_of_file = self.columns.language_of_path(_place(shard))
        is_known = not self.columns.shared or options.reading.columns is not None or self.columns.knows(_place(shard))
        of_path = self.columns.source_of_path(_place(shard))
        self._source = options.reading.source or of_path or (is_known and self.columns.name) or self.source
        self._marks: dict[tuple[_Shape, bool], str | None] = {}

    def id_path(self, row: Json) -> Sequence[str] | None:
        """Return the path to the id of a row, None if it has none and needs none."""
        if self._id is None or self.columns.needs_id or self._id[0] in row:
            return self._id
        return None

    def are_clean(self, rows: list[Json]) -> bool:
        if self.facts is None and rows:
            self.facts = self._fitting(rows[0])
        if not super().are_clean(rows):
            return False
        if not all({*map(type, values_at(rows, path))} <= kinds for path, kinds in self._values):
            return False
        if not are_full(self.columns, rows):
            return False
        if self._id is None:
            return True
        first = self._id[0]
        with_id = rows if self.columns.needs_id else [row for row in rows if first in row]
        ids = values_at(with_id, self._id)
        return all(ids) if {*map(type, ids)} == {str} else all(map(is_id, ids))

    def record(self, at: Location, row: Json) -> ColumnRecord:
        if self.facts is None:
            self.facts = self._fitting(row)
        return ColumnRecord(at, row, self.required, self.columns, self.id_path(row))

    def _fitting(self, row: Json) -> str | dict[str, dict[str, int]]:
        """Return the name of the profile that the first row of a file fits; tables are compared by their columns."""
        if self.columns.is_table:
            return {}
        row = {name: "" if isinstance(value, EncodedText) else value for name, value in row.items()}
        # Who names a profile knows that it is of the files, whatever they are called.
        is_named = self.options.reading.columns is not None
        if self.columns.name and self.columns.fits(row, None if is_named else _place(self.shard)):
            return self.columns.name
        found = best_columns(row, _place(self.shard))
        return found.name if found else ""

    def note(self, rows: Sequence[Json], line: int) -> None:
        if not isinstance(self.facts, dict):
            return
        for name in dict.fromkeys(chain.from_iterable(rows)):
            if name not in self.facts and len(self.facts) == MOST_COLUMNS:
                return
            kinds = self.facts.setdefault(name, {})
            if name in self._typed:
                continue
            values = [row.get(name) for row in rows]
            for kind in {*map(type, values)}:
                if kind in _KINDS and _KINDS[kind] not in kinds:
                    kinds[_KINDS[kind]] = line + next(place for place, each in enumerate(values) if type(each) is kind)

    def id_of(self, row: Json) -> object:
        path = self.id_path(row)
        return None if path is None else value_at(row, path)

    def key_of(self, row: Json) -> Key | None:
        value = self.id_of(row)
        if not is_id(value):
            return None
        source = row.get("source") if self._has_source else None
        return source if isinstance(source, str) else self._source_of(row), str(value)

    def _source_of(self, row: Json) -> str:
        """Return the source of a row that is not called so."""
        found = value_at(row, self._source_field) if self._source_field is not None else None
        return found if isinstance(found, str) and found else self._source

    def keys_of(self, rows: list[Json]) -> list[bytes | None]:
        with_source = [row for row in rows if "source" in row] if self._has_source else []
        if self._id_name is None or self._source_field is not None or with_source:
            return super().keys_of(rows)
        ids = [row.get(self._id_name) for row in rows]
        if ids.count(None) == len(ids):
            return []
        before = f"{self._source}\t"
        return [None if each is None else f"{before}{each}".encode("utf-8", "surrogatepass") for each in ids]

    def document(self, row: Json, number: int) -> Document:
        """Return a row as a document.

        Strings called source, added and created are fields of it. With an object `metadata`, all other fields stay next
        to it, else they become metadata.
        """
        rest = dict(row)
        text: str = "" if self.text is None else _object_above(rest, self.text_path).pop(self.text_path[-1])
        id_name = self._id_name if self._id_name in rest else None
        identity = self.id_of(row) if id_name is None else rest.pop(id_name)
        named: Json = {}
        metadata: Json = rest
        extra: Json = {}
        displaced: Json = {}
        covered: Json = {}
        if not _SPECIAL.isdisjoint(rest):
            named = {name: rest.pop(name) for name in NAMED if name in rest and isinstance(rest[name], str)}
            if isinstance(rest.get("metadata"), dict):
                metadata, extra = dict(rest.pop("metadata")), rest
                displaced = {name: extra.pop(name) for name in [*extra] if not _may_be_extra(name, extra[name])}
            covered = {name: metadata.pop(name) for name in _OWN if name in metadata}
        is_apart = metadata is not rest
        made = self._make(row, named, metadata)
        shape = (id_name, isinstance(identity, int), made, is_apart)
        mark = self._mark(shape, displaced, covered, bool(metadata))
        if identity is None:
            content = json_line(row) if self.text is None else decoded_text(text).encode()
            identity = f"{self.shard.name}:{number}:{xxh3_64_hexdigest(content)}"
            metadata[SYNTHETIC] = True
        if mark is None:
            metadata |= covered
        else:
            metadata[ROW] = mark
        lang = language_in(metadata)
        whole = metadata if metadata or is_apart else None
        return Document(str(identity), text, **named, lang=lang, metadata=whole, extra=extra)

    def _make(self, row: Json, named: dict[str, str], metadata: Json) -> tuple[str, ...]:
        """Add what the row has by other names; return the names that were added."""
        made = []
        if "source" not in named:
            named["source"] = self._source_of(row)
            made.append("source")
        if (
            self._created is not None
            and "created" not in named
            and isinstance(found := value_at(row, self._created), str)
        ):
            named["created"] = found
            made.append("created")
        if self._url is not None and "url" not in metadata and isinstance(found := value_at(row, self._url), str):
            metadata["url"] = found
            made.append("url")
        if "language" not in metadata:
            label = self._language_of_file
            if self._language is not None:
                label = self.columns.label(value_at(row, self._language)) or label
            if label is not None:
                metadata["language"] = label
                made.append("language")
        return tuple(made)

    def _mark(self, shape: _Shape, displaced: Json, covered: Json, has_metadata: bool) -> str | None:
        """Return what the row was, as JSON text; None if the document is written as the same row anyway."""
        if displaced or covered:
            origin = self._origin(shape, displaced, covered)
            is_plain = not displaced and origin == Origin(id=PLAIN.id, apart=True, covered=covered)
            return None if is_plain else marked(origin)
        key = (shape, has_metadata)
        if key not in self._marks:
            origin = self._origin(shape, {}, {})
            is_plain = origin == PLAIN or (not has_metadata and structs.replace(origin, apart=True) == PLAIN)
            is_plain = is_plain or self.options.reading.no_origin
            self._marks[key] = None if is_plain else marked(origin)
        return self._marks[key]

    def _origin(self, shape: _Shape, displaced: Json, covered: Json) -> Origin:
        # Only the default itself is left out of the JSON text.
        text = PLAIN.text if self.text == PLAIN.text else self.text
        return Origin(text, *shape, displaced, covered)


def _path_to(name: str | None) -> tuple[str, ...] | None:
    return None if name is None else path_to(name)


def _may_be_extra(name: str, value: object) -> bool:
    """Return whether a field may stay next to those of a document: not if it would be taken for one of them."""
    if name in {"id", "text", "metadata", *NAMED}:
        return False
    if name == "attributes":
        return isinstance(value, dict)
    return name != "version" or value is None or isinstance(value, str)


def _place(shard: Shard) -> str:
    """Return the path of a shard's file, with the folders above the root."""
    entry = next(iter(shard.files.values()), None)
    return shard.name if entry is None else entry.url
