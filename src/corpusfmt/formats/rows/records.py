"""For formats: Rows as objects: what holds for those of every format, and how a format takes its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.general import json_of, report_text
from corpusfmt.io.jsonlines import AnyJson, decoded_lines
from corpusfmt.io.scan import count_quotes, double_encoding_at
from corpusfmt.io.text import StrictJson, json_type, pointer
from corpusfmt.model import Document, Json, Location, Problem
from corpusfmt.rules import Judge, RuleSet


class Row(Struct, frozen=True):
    """One decoded line of any kind of file."""

    at: Location
    json: StrictJson


class Record(Struct, frozen=True):
    """The object on a row, and the names under which it must have a string."""

    at: Location
    fields: Json
    required: Sequence[str]


def object_rules(rules: RuleSet, not_an_object_code: str, duplicate_json_key_code: str, spec: str = "") -> None:
    """Give a format the rules about what any row is: an object, each of its names once."""

    @rules.rule(not_an_object_code, "not-an-object", on=Row, spec=spec)
    def not_an_object(row: Row) -> Iterator[Problem]:
        """A row is JSON, but not an object.

        Why: what a row holds is found by names; readers stop here.
        Example: `["a", "b"]` on a line of its own.
        Fix: write one object a line.
        """
        if not isinstance(row.json.value, dict):
            yield Problem(f"the row is {json_type(row.json.value)}, not an object", row.at, "write one object a line")

    @rules.rule(duplicate_json_key_code, "duplicate-json-key", on=Row, spec=spec)
    def duplicate_json_key(row: Row) -> Iterator[Problem]:
        """A name occurs twice in one object.

        Why: readers keep the last value without a word, so the others are lost; some keep the first.
        Example: `{"id": "1", "text": "a", "text": "b"}`.
        Fix: keep one of them.
        """
        if row.json.duplicate_keys:
            names = ", ".join(f"`{name}`" for name in row.json.duplicate_keys[:3])
            yield Problem(f"{names} occurs more than once in one object", row.at, "keep one value for each name")


def field_rule(rules: RuleSet, code: str) -> None:
    """Give a format the rule about the strings that each row must have."""

    @rules.rule(code, "field-missing", on=Record)
    def field_missing(record: Record) -> Iterator[Problem]:
        """A row lacks a field that makes a document, such as its text, or has no string there. The empty string is one.

        Why: there is no document to make of the row; typed readers stop here.
        Example: `{"content": "…"}`, `{"text": null}`.
        Fix: write the field as one string, or leave the row out; `convert --text-field` names a text that is called otherwise.
        """
        for name in record.required:
            if not isinstance(record.fields.get(name), str):
                found = json_type(record.fields[name]) if name in record.fields else "absent"
                yield Problem(f"`{name}` is {found}, not a string", record.at, "write it as one string")


def judged_row(
    line: bytes,
    at: Location,
    judge: Judge,
    subject: Callable[[Location, Json], Struct],
    *,
    text: str | None,
    times: int = 1,
    id_of: Callable[[Json], Any] = lambda row: row.get("id"),
) -> Json | None:
    """Judge a line, which follows itself so many times, as a row and as a subject of its format; return its object, if any.

    `text` is the name of a text that may be encoded twice.
    """
    decoded = json_of(line, at, judge, times)
    if decoded is None:
        return None
    row = decoded.value
    name = id_of(row) if isinstance(row, dict) else None
    at = replace(at, record=name if isinstance(name, str) else None)
    judge.check(Row(at, decoded), times)
    if not isinstance(row, dict):
        return None
    judge.check(subject(at, row), times)
    if text is not None and isinstance(found := row.get(text), str):
        report_text(found, replace(at, pointer=pointer(text)), judge, times)
    return row


_decode = msgspec.json.Decoder(dict[str, AnyJson]).decode_lines
_encode = msgspec.json.Encoder().encode


class Records(ABC):
    """How a format takes the rows of one file: which are clean, what its rules judge, which document each is."""

    #: The name of the text.
    text = "text"
    #: Names under which each row has a string.
    required: Sequence[str] = (text,)

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        self.shard = shard
        self.options = options

    def are_clean(self, rows: list[Json]) -> bool:
        """Tell whether no rule of the format has anything to say of these rows."""
        return all(isinstance(row.get(name), str) for name in self.required for row in rows)

    @abstractmethod
    def document(self, row: Json, number: int) -> Document:
        """Return the document that a row without errors is, the `number`th of its file from 1."""

    def record(self, at: Location, row: Json) -> Struct:
        """Return what the rules of the format judge."""
        return Record(at, row, self.required)

    def id_of(self, row: Json) -> Any:
        """Return what names the record of a row in findings, where it is a string."""
        return row.get("id")

    def clean(self, data: bytes) -> list[Json] | None:
        """Return the rows of whole lines, None where a rule may have something to say."""
        if double_encoding_at(data, 0, True) >= 0:
            return None
        rows = decoded_lines(_decode, data)
        if rows is None or not self.are_clean(rows) or count_quotes(data) != count_quotes(_encode(rows)):
            return None
        return rows

    def judged(self, line: bytes, at: Location, judge: Judge, times: int = 1) -> Json | None:
        """Judge a line, which follows itself so many times; return its object where it has one."""
        return judged_row(line, at, judge, self.record, text=self.text, times=times, id_of=self.id_of)


def are_of(schema: Any, rows: list[Json]) -> bool:
    """Tell whether rows are all of a type that msgspec knows, such as a `TypedDict`."""
    try:
        msgspec.convert(rows, list[schema])
    except msgspec.ValidationError:
        return False
    return True


def language_in(metadata: Json | None) -> str | None:
    """Return the language that a document is filed under, by its own word."""
    language = (metadata or {}).get("language")
    return language if isinstance(language, str) else None


#: Strings that are fields of a document by their names.
NAMED = ("source", "added", "created")


def document_of(fields: Json, text: str, identity: str | None, place: str, *, source: str) -> Document:
    """Return a record as a document, given the names of its text and its id.

    Strings called source, added and created are fields of the document, every other value is an entry of its metadata. An id
    that is not there is made of place and text, and marked so.
    """
    rest = dict(fields)
    content: str = rest.pop(text)
    named = {"source": source} | {name: rest.pop(name) for name in NAMED if isinstance(rest.get(name), str)}
    if identity is not None:
        name = str(fields[identity])
        rest.pop(identity, None)
    else:
        name = f"{place}:{xxh3_64_hexdigest(content.encode())}"
        rest["corpusfmt_synthetic_id"] = True
    return Document(name, content, **named, lang=language_in(rest), metadata=rest)
