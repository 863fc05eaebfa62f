"""For formats: Rows as objects: the shared rules, and the base class of a format's own records."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.general import json_of, report_encoded_text, report_json_text, report_text
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.whole import Key, encoded
from corpusfmt.io.jsonlines import EncodedText, csv_separator, decode_objects, decode_text, decoded_lines
from corpusfmt.io.scan import count_quotes
from corpusfmt.io.text import StrictJson, has_at, json_type, path_to, pointer, value_at, values_at
from corpusfmt.model import Document, Json, Location, Problem
from corpusfmt.rules import Judge, RuleSet

try:
    from corpusfmt.formats._native import texts_apart
except ImportError:  # no wheel for this platform and no compiler: texts are decoded
    texts_apart = None  # type: ignore[assignment]


class Row(Struct, frozen=True):
    """One decoded line of any file."""

    at: Location
    json: StrictJson


class Record(Struct, frozen=True):
    """The object on a row, and the names of its required strings."""

    at: Location
    fields: Json
    required: Sequence[str]


def object_rules(rules: RuleSet, not_an_object_code: str, duplicate_json_key_code: str, spec: str = "") -> None:
    """Register the rules on every row: it is an object, without duplicate names."""

    @rules.rule(not_an_object_code, "not-an-object", on=Row, accepted_by="are_clean", spec=spec)
    def not_an_object(row: Row) -> Iterator[Problem]:
        """A row is JSON, but not an object.

        Why: readers look up the fields of a row by name, and stop here.
        Example: a line `["a", "b"]`.
        Fix: write one object per line.
        """
        if not isinstance(row.json.value, dict):
            message, hint = f"the row is {json_type(row.json.value)}, expected an object", "write one object per line"
            if csv_separator(row.at.path) and isinstance(row.json.value, list):
                message = f"the row has {len(row.json.value):,} fields, more than the header"
                hint = "quote fields that contain the separator"
            yield Problem(message, row.at, hint)

    @rules.rule(duplicate_json_key_code, "duplicate-json-key", on=Row, accepted_by="are_clean", spec=spec)
    def duplicate_json_key(row: Row) -> Iterator[Problem]:
        """A name occurs twice in one object.

        Why: most readers silently keep the last value, some the first.
        Example: `{"id": "1", "text": "a", "text": "b"}`.
        Fix: keep one value.
        """
        if row.json.duplicate_keys:
            names = ", ".join(f"`{name}`" for name in row.json.duplicate_keys[:3])
            yield Problem(f"{names} occurs more than once in one object", row.at, "keep one value for each name")


def field_rule(rules: RuleSet, code: str) -> None:
    """Register the rule on required strings."""

    @rules.rule(code, "field-missing", on=Record, accepted_by="are_clean")
    def field_missing(record: Record) -> Iterator[Problem]:
        """A required field of a row, such as its text, is missing or not a string. The empty string is accepted.

        Why: the row cannot become a document, and typed readers stop here.
        Example: `{"content": "…"}`, `{"text": null}`.
        Fix: write the field as a string, or remove the row; `convert --field text=FIELD` names a text field with another name.
        """
        for name in record.required:
            path = path_to(name)
            if not isinstance(value := value_at(record.fields, path), str):
                found = json_type(value) if has_at(record.fields, path) else "missing"
                yield Problem(f"`{name}` is {found}, expected a string", record.at, f"write `{name}` as a string")


def judged_row(
    line: bytes,
    at: Location,
    judge: Judge,
    subject: Callable[[Location, Json], Struct],
    *,
    times: int = 1,
    id_of: Callable[[Json], Any] = lambda row: row.get("id"),
) -> Json | None:
    """Check a line, which is repeated `times` times, as a row and as a subject of its format; return its object, if any."""
    decoded = json_of(line, at, judge, times)
    if decoded is None:
        return None
    row = decoded.value
    at = _named(at, id_of(row) if isinstance(row, dict) else None)
    judge.check(Row(at, decoded), times)
    if not isinstance(row, dict):
        return None
    judge.check(subject(at, row), times)
    return row


def _named(at: Location, name: Any) -> Location:
    return replace(at, record=name if isinstance(name, str) else None)


_STRINGS = {str, EncodedText}
# Escapes that msgspec does not write.
_ODD_ESCAPE = re.compile(rb'\\(?!u00(?:0[0-7bef]|1[0-9a-f]))[^bfnrt"\\]')
_EMPTY = EncodedText(b'""')
_encode = msgspec.json.Encoder().encode


class Records(ABC):
    """The rows of one file in a format: whether they are clean, the subjects of its rules, and their documents."""

    #: The name of the text, or the JSON pointer to it; rows of a table have none.
    text: str | None = "text"
    #: The names of required strings.
    required: Sequence[str] = ("text",)
    #: The type of subject that `record` returns.
    subject: type = Record

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        self.shard = shard
        self.options = options
        #: What a check leaves for the judgement of all files.
        self.facts: Any = None
        #: Whether rows have ids by which documents are identified.
        self.has_ids = False
        #: Whether rows are clean, and are documents, whatever the texts are.
        self.leaves_texts = False

    @cached_property
    def text_path(self) -> Sequence[str]:
        """The names that lead to the text, none in a table."""
        return () if self.text is None else path_to(self.text)

    def are_clean(self, rows: list[Json]) -> bool:
        """Return whether none of the rules that are `accepted_by="are_clean"` fires on these rows."""
        return all({*map(type, values_at(rows, path_to(name)))} <= _STRINGS for name in self.required)

    @abstractmethod
    def document(self, row: Json, number: int) -> Document:
        """Return the document of a row without errors, the `number`th of its file from 1."""

    def record(self, at: Location, row: Json) -> Struct:
        """Return the subject of the format's rules."""
        return Record(at, row, self.required)

    def id_of(self, row: Json) -> Any:
        """Return the name of a row's record in findings, if it is a string."""
        return row.get("id")

    def key_of(self, row: Json) -> Key | None:
        """Return what identifies the document of a row, None if nothing does, or it is malformed."""
        del row
        return None

    def keys_of(self, rows: list[Json]) -> list[bytes | None]:
        """Return the same for rows that are clean, encoded; an empty list if none has one."""
        return [encoded(self.key_of(row)) for row in rows]

    def note(self, rows: Sequence[Json], line: int) -> None:
        """Take rows that are whole, of which the first is on a line, for what is judged of all files."""
        del rows, line

    def fit(self, data: bytes) -> list[Json] | None:
        """Return the rows of whole lines, None if a rule may fire that is not only about what texts say."""
        if self.options.encoded_texts:
            return self._if_clean(self._around_texts(data, written=True) or self._decoded(data))
        return self._if_clean(self._decoded(data))

    def passed(self, data: bytes) -> list[Json] | None:
        """Return the same, with texts as they are encoded where nothing needs them."""
        return self._if_clean(self._around_texts(data, written=False) or self._decoded(data))

    def _decoded(self, data: bytes) -> list[Json] | None:
        """Return the objects on lines, None for any doubt, such as a name that occurs twice in an object."""
        rows = decoded_lines(decode_objects, data)
        if rows is None:
            return None
        # Most bytes are those of texts, which are strings with one name each: two pairs of quotes.
        if len(self.text_path) != 1:
            return rows if count_quotes(_encode(rows)) == count_quotes(data) else None
        (name,) = self.text_path
        texts = [row.pop(name, None) for row in rows]
        if count_quotes(_encode(rows)) + 4 * len(rows) != count_quotes(data):
            return None
        for row, text in zip(rows, texts, strict=True):
            row[name] = text
        return rows

    def _around_texts(self, data: bytes, *, written: bool) -> list[Json] | None:
        """Return the same with texts as they are encoded; with `written`, as msgspec encodes them.

        To decode and encode them takes longer than all other fields together.
        """
        if not self.leaves_texts or texts_apart is None:
            return None
        # A name that is not UTF-8 is in no row.
        (name,) = self.text_path
        found = texts_apart(data, name.encode("utf-8", "surrogatepass"))
        if found is None:
            return None
        texts, rest, may_be_odd = found
        rows = decoded_lines(decode_objects, rest)
        if rows is None:
            return None
        if written and may_be_odd:
            texts = [_encode(decode_text(text)) if _ODD_ESCAPE.search(text) else text for text in texts]
        for row, text in zip(rows, map(EncodedText, texts), strict=True):
            row[name] = text
        return rows

    def _if_clean(self, rows: list[Json] | None) -> list[Json] | None:
        return rows if rows is not None and self.are_clean(rows) else None

    def empty_texts(self, rows: list[Json]) -> list[int]:
        """Return the numbers of clean rows, from 0, whose texts are empty."""
        if self.text is None:
            return []
        texts = values_at(rows, self.text_path)
        empty = "" if isinstance(texts[0], str) else _EMPTY
        return [number for number, text in enumerate(texts) if text == empty] if empty in texts else []

    def place(self, row: Json, at: Location) -> Location:
        """Return the place of a row with the name of its record."""
        return _named(at, self.id_of(row))

    def judged(self, line: bytes, at: Location, judge: Judge, times: int = 1) -> Json | None:
        """Check a line, which is repeated `times` times; return its object, if any."""
        row = judged_row(line, at, judge, self.record, times=times, id_of=self.id_of)
        if row is not None:
            self.judge_text(row, at, judge, times)
        return row

    def judge_text(self, row: Json, at: Location, judge: Judge, times: int) -> None:
        """Check what the text of an object says, which is repeated `times` times."""
        at = self.place(row, at)
        if self.text is None:
            report_encoded_text(_encode(row), at, judge, times)
            return
        text, at = value_at(row, self.text_path), replace(at, pointer=pointer(*self.text_path))
        if isinstance(text, str):
            report_text(text, at, judge, times)
        elif isinstance(text, EncodedText):
            report_json_text(bytes(text), at, judge, times)


def are_of(schema: Any, rows: list[Json]) -> bool:
    """Return whether all rows have a type that msgspec supports, such as a `TypedDict`."""
    try:
        msgspec.convert(rows, list[schema])
    except msgspec.ValidationError:
        return False
    return True


def language_in(metadata: Mapping[str, Any] | None) -> str | None:
    """Return the language in the metadata of a document."""
    language = (metadata or {}).get("language")
    return language if isinstance(language, str) else None


#: Names of strings that become fields of a document.
NAMED = ("source", "added", "created")


def document_of(fields: Json, text: str, identity: str | None, place: str, *, source: str) -> Document:
    """Return a record as a document, given the names of its text and its id, for formats of other distributions.

    Strings called source, added and created become fields of the document, other values become metadata. A missing id is
    made from place and text, and marked as such.
    """
    rest = dict(fields)
    content: str = rest.pop(text)
    named = {"source": source} | {name: rest.pop(name) for name in NAMED if isinstance(rest.get(name), str)}
    if identity is not None:
        name = str(fields[identity])
        rest.pop(identity, None)
    else:
        name = f"{place}:{xxh3_64_hexdigest(content.encode())}"
        rest[SYNTHETIC] = True
    return Document(name, content, **named, lang=language_in(rest), metadata=rest)
