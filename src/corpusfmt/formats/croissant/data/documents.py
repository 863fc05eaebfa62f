"""Internal: A record set as a source of documents: which records, and which fields contain their text and id."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, LeftOut, Plan, ReadOptions, Rejected, Shard
from corpusfmt.formats.croissant.data import SOURCE
from corpusfmt.formats.croissant.data.files import Files
from corpusfmt.formats.croissant.data.findings import RECORD_TOO_DEEP, RECORD_WITHOUT_ID, RECORD_WITHOUT_TEXT
from corpusfmt.formats.croissant.data.patterns import TIME_LIMIT, Patterns
from corpusfmt.formats.croissant.data.reader import name_of
from corpusfmt.formats.croissant.data.stream import (
    description_at,
    named,
    record_sets,
    records_of,
    understood,
)
from corpusfmt.formats.croissant.model.graph import Description, Field, RecordSet, Resource
from corpusfmt.formats.croissant.model.nodes import Literal
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.recordsets import Record
from corpusfmt.formats.rows.records import language_in
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import MAX_DEPTH, json_line, json_type
from corpusfmt.model import Document, Fault, Finding, Json, Problem, Tally, UsageError
from corpusfmt.rules import finding_of

_TEXTS, _ID = ("text", "content"), "id"
# The depth of a record's lists and objects, which become a member of the document's object.
_MOST_LEVELS = MAX_DEPTH - 1
# Names of fields that become fields of the document if they contain text.
_NAMED = ("source", "added", "created")
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 48


class Chosen(Struct, frozen=True):
    """A record set by its name, its text field, and the fields of its id: none, one, or the fields of a key."""

    name: str
    record_set: RecordSet
    text: Field
    id: tuple[Field, ...]


def plan_reading(entry: Entry, options: CheckOptions) -> Plan:
    """List a record set's only shard: the description, and all of its files on disk.

    Raises `UsageError` if the record set or a field is ambiguous or missing, `BadInput` if the description is invalid.
    """
    entry = description_at(entry)
    description = understood(entry)
    chosen = _chosen(description, options.reading)
    resources = (view for view in description.views.values() if isinstance(view, Resource))
    with Patterns(TIME_LIMIT) as patterns:
        files = Files(description, entry.folder(), options.maps, patterns)
        data = {each.url: each for view in resources for each in files.local(view)}
    roles = {"description": entry, **{f"data {number}": each for number, each in enumerate(data.values())}}
    target = _NOT_IN_FILE_NAMES.sub("_", chosen.name)[:_LONGEST_NAME].strip("._") or "records"
    shard = Shard(0, f"{entry.path} {chosen.name}", roles, target=target)
    return Plan(description.version, [shard], Tally(options.max_per_rule, options.grading.known))


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected | LeftOut]:
    """Yield the records of a record set as documents; faults in the data and unsuitable records become `Rejected`.

    Text called source, added or created becomes a field of the document. Other values become metadata, named by the field's
    identifier without the record set's. Missing ids are made from record set, number and text, and marked as such. Raises
    `UsageError` if the data cannot be read.
    """
    entry = shard.files["description"]
    description = understood(entry)
    chosen = _chosen(description, options.reading)
    text_field, id_fields = name_of(chosen.text), [name_of(each) for each in chosen.id]
    names = _Names(chosen.record_set.fields, chosen.name)
    number = 0
    for record in records_of(description, entry.folder(), chosen.record_set, options.maps):
        if isinstance(record, Finding):
            yield Rejected(record, b"")
            continue
        number += 1
        text, identity = record[text_field], [record[name] for name in id_fields]
        fault = _unfit(record, text_field, id_fields)
        left: list[str] = []
        if fault is None:
            given = {name: value for name, value in record.items() if name != text_field and [name] != id_fields}
            try:
                fields = _held(names.renamed(given), "", left, _MOST_LEVELS)
            except _TooDeep:
                message = f"nested deeper than {_MOST_LEVELS} levels"
                hint = "flatten the value, or remove the field from the description"
                fault = Fault(RECORD_TOO_DEEP, Problem(message, record.at, hint))
        if fault is not None:
            yield _rejected(record, fault)
            continue
        yield from (LeftOut(what, record.at) for what in left)
        if not identity:
            fields[SYNTHETIC] = True
            document_id = f"{chosen.name}:{number}:{xxh3_64_hexdigest(text.encode())}"
        else:
            document_id = str(identity[0]) if len(identity) == 1 else json_line(identity)[:-1].decode()
        own: dict[str, str | None] = {
            name: fields.pop(name) for name in _NAMED if isinstance(fields.get(name, 0), str | None)
        }
        yield Document(
            document_id,
            text,
            source=own.get("source") or SOURCE,
            added=own.get("added"),
            created=own.get("created"),
            lang=language_in(fields),
            metadata=fields or None,
        )


# --- choose a record set and its fields ---


def _chosen(description: Description, reading: ReadOptions) -> Chosen:
    known, wanted = record_sets(description), reading.field.get("text")
    if reading.record_set is not None:
        record_set = named(description, reading.record_set)
        text = _text_field(record_set, wanted)
        if text is None:
            asked = f"no field `{wanted}`" if wanted else "no field `text` or `content`"
            raise UsageError(
                f"{record_set.title} has {asked}: name one with --field text=FIELD ({_listed(record_set)})"
            )
    else:
        found = [(each, text) for each in known.values() if (text := _text_field(each, wanted)) is not None]
        if len(found) != 1:
            what = f"{'several record sets have' if found else 'no record set has'} a text field"
            option = "--record-set" if found else "--record-set and --field text=FIELD"
            raise UsageError(f"{what}: name one with {option} ({', '.join(known) or 'there are no record sets'})")
        record_set, text = found[0]
    name = next(name for name, each in known.items() if each is record_set)
    ids = _fields_called(record_set, reading.field.get("id", _ID))
    if len(ids) == 1:
        return Chosen(name, record_set, text, (ids[0],))
    if "id" in reading.field:
        what = "no field" if not ids else "several fields"
        raise UsageError(
            f"{record_set.title} has {what} `{reading.field['id']}` for --field id ({_listed(record_set)})"
        )
    names = (value.value if isinstance(value, Literal) else value.id for value in record_set.keys)
    keys = [record_set.field_named(each) if isinstance(each, str) else None for each in names]
    whole = tuple(each for each in keys if each is not None and each in record_set.fields)
    # Part of a key does not identify a record.
    return Chosen(name, record_set, text, whole if len(whole) == len(keys) else ())


def _listed(record_set: RecordSet) -> str:
    return ", ".join(map(name_of, record_set.fields)) or "there are no fields"


def _text_field(record_set: RecordSet, name: str | None) -> Field | None:
    """Return the field with this name, else the one with a usual name; None if there are none or several."""
    for each in (name,) if name is not None else _TEXTS:
        found = _fields_called(record_set, each)
        if len(found) == 1:
            return found[0]
    return None


def _fields_called(record_set: RecordSet, name: str) -> list[Field]:
    """Return the fields with this `@id` or name, else the ones whose `@id` ends with it."""
    fields = record_set.fields
    exact = [each for each in fields if name in (each.node.written_id, each.id, each.text("sc:name"))]
    return exact or [each for each in fields if re.split("[/#]", name_of(each))[-1] == name]


# --- documents ---


class _Names:
    """The names of fields and nested fields in metadata: without their parent's name."""

    def __init__(self, fields: Sequence[Field], above: str) -> None:
        short = {name_of(each): name_of(each).removeprefix(f"{above}/") for each in fields}
        times = Counter(short.values())
        self._names = {name: key if times[key] == 1 else name for name, key in short.items()}
        self._inside = {name_of(each): _Names(each.sub_fields, name_of(each)) for each in fields if each.sub_fields}

    def renamed(self, values: Json) -> Json:
        return {self._names[name]: self._value(name, value) for name, value in values.items()}

    def _value(self, name: str, value: Any) -> Any:
        inside = self._inside.get(name)
        if inside is None:
            return value
        if isinstance(value, list):
            return [inside.renamed(each) if isinstance(each, dict) else each for each in value]
        return inside.renamed(value) if isinstance(value, dict) else value


class _TooDeep(Exception):
    """A value nests deeper than documents can."""


def _held(value: Any, name: str, left: list[str], levels: int) -> Any:
    """Return a value as JSON: the names of numbers that JSON lacks, and null for bytes, which are added to `left`.

    Raises `_TooDeep` for a value of more than `levels` levels.
    """
    if isinstance(value, dict | list) and not levels:
        raise _TooDeep
    if isinstance(value, dict):
        held = {key: _held(each, f"{name}/{key}" if name else key, left, levels - 1) for key, each in value.items()}
        return {key: each for key, each in held.items() if not isinstance(value[key], bytes)}
    if isinstance(value, list):
        return [_held(each, name, left, levels - 1) for each in value]
    if isinstance(value, bytes):
        left.append(f"bytes in `{name}`")
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def _unfit(record: Record, text_field: str, id_fields: Sequence[str]) -> Fault | None:
    """Return why a record is no document: its text is not text, or a field of its id has no id."""
    if type(record[text_field]) is not str:
        hint = "add the text, remove the record, or name another field with --field text=FIELD"
        message = f"`{text_field}` is {_kind(record[text_field])}, expected text"
        return Fault(RECORD_WITHOUT_TEXT, Problem(message, record.at, hint))
    for name in id_fields:
        value = record[name]
        if value is None or value == "":
            message = f"`{name}` is {'null' if value is None else 'empty'}"
            return Fault(RECORD_WITHOUT_ID, Problem(message, record.at, "give the record an id"))
        if type(value) not in (str, int):
            message = f"`{name}` is {_kind(value)}, expected text or a whole number"
            return Fault(RECORD_WITHOUT_ID, Problem(message, record.at, "name another field with --field id=FIELD"))
    return None


def _kind(value: Any) -> str:
    return "bytes" if isinstance(value, bytes) else json_type(value)


def _rejected(record: Record, fault: Fault) -> Rejected:
    """Return a record as one line of JSON (bytes as Base64) with its fault."""
    try:
        raw = json_line(record)[:-1]
    except RecursionError:
        raw = b""
    return Rejected(finding_of(fault, RULES, ""), raw)
