"""Internal: CRO5xx: records and examples in the description."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from corpusfmt.formats.croissant.model.arrays import items
from corpusfmt.formats.croissant.model.casts import CASTS
from corpusfmt.formats.croissant.model.graph import DataSource, Field, RecordSet, Reference, identity_of
from corpusfmt.formats.croissant.model.nodes import Literal, local_name
from corpusfmt.formats.croissant.model.vocabulary import ATOMIC_TYPES
from corpusfmt.formats.croissant.model.wording import clip, typed
from corpusfmt.formats.croissant.rules.document import several_lost
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Problem, Severity

_DATA = "croissant-1.0#data"
_JOINS = "croissant-1.0#joins"

_INLINE = ("cr:data", "cr:examples")


@RULES.rule("CRO501", "data-not-json", on=RecordSet, spec="croissant-1.0#appendix-1-json-ld-context")
def data_not_json(record_set: RecordSet) -> Iterator[Problem]:
    """The context does not map `data` or `examples` as JSON.

    Why: JSON-LD then reads the records as nodes and drops all keys that the context does not know.
    Example: `"data": "cr:data"` in the context.
    Fix: map it as `{"@id": "cr:data", "@type": "@json"}`.
    """
    for name in _INLINE:
        if name not in record_set.node.values and several_lost(record_set.description):
            continue
        for value in record_set.all(name):
            is_url = name == "cr:examples" and isinstance(value, Literal) and isinstance(value.value, str)
            if not is_url and not (isinstance(value, Literal) and value.type == "@json"):
                key = record_set.key(name)
                message = f"{record_set.title}: the context does not map `{key}` as JSON"
                hint = f'map it as `{{"@id": "{name}", "@type": "@json"}}` in the context'
                yield Problem(message, record_set.place_of(value), hint)
                break


@RULES.rule("CRO502", "data-not-records", on=RecordSet, spec=_DATA)
def data_not_records(record_set: RecordSet) -> Iterator[Problem]:
    """The inline data is not a list of objects. A single object is accepted, as published descriptions have it.

    Why: "each element corresponds to a record".
    Example: `"data": ["a", "b"]`.
    Fix: write each record as an object with the `@id` of its fields as keys.
    """
    stray = [(pointer, row) for pointer, row in record_set.rows or () if not isinstance(row, dict)]
    if stray:
        message = f"{record_set.title}: a record is `{clip(stray[0][1])}`, expected an object"
        at = record_set.description.places.of(stray[0][0])
        yield Problem(message, at, "write an object with the `@id` of each field as key", count=len(stray))


@RULES.rule("CRO503", "data-empty", on=RecordSet, spec=_DATA)
def data_empty(record_set: RecordSet) -> Iterator[Problem]:
    """The inline data contains no record.

    Why: a record set without records is likely a mistake; mlcroissant refuses it.
    Example: `"data": []`.
    Fix: add the records, or remove `data`.
    """
    if record_set.rows == [] and record_set.all("cr:data"):
        hint = "add the records, or remove `data`"
        yield Problem(f"{record_set.title}: `data` is empty", record_set.place("cr:data"), hint)


def _objects(record_set: RecordSet) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((pointer, row) for pointer, row in record_set.rows or () if isinstance(row, dict))


@RULES.rule("CRO504", "data-missing-field", on=RecordSet, spec=_DATA)
def data_missing_field(record_set: RecordSet) -> Iterator[Problem]:
    """Inline records lack a field.

    Why: an unknown value is written as null, which distinguishes it from a forgotten one.
    Example: fields `a/id` and `a/name`, and a record `{"a/id": 1}`.
    Fix: add the key, with null if there is no value.
    """
    pointers = [pointer for pointer, _ in _objects(record_set)]
    for each in record_set.fields if pointers else ():
        present = record_set.column(each)
        lacking = len(pointers) - len(present)
        named = each.id is not None or each.node.written_id is not None
        if named and lacking and not each.sources and not each.sub_fields and not each.all("cr:value"):
            message = f"{each.title}: missing from {lacking} of the records in `data`"
            at = record_set.description.places.of(next(pointer for pointer in pointers if pointer not in present))
            yield Problem(message, at, "add the key, with null if there is no value", count=lacking)


def _unknown_keys(record_set: RecordSet, name: str) -> Iterator[Problem]:
    found: dict[str, list[str]] = {}
    for pointer, row in record_set.inline(name) or ():
        for key in row if isinstance(row, dict) else ():
            if record_set.field_named(key) is None and not key.startswith("@"):
                found.setdefault(key, []).append(pointer)
    if not found:
        return
    for key, pointers in found.items():
        ids = (each.id for each in record_set.every_field if each.id is not None)
        likely = record_set.description.near_misses.of(key, ids, as_tail=True)
        hint = f"did you mean `{likely}`?" if likely else "write the `@id` of a field of this record set"
        at = record_set.description.places.of(pointers[0])
        message = f"{record_set.title}: the key `{key}` in `{local_name(name)}` is not a field"
        yield Problem(message, at, hint, count=len(pointers))


@RULES.rule("CRO505", "data-unknown-field", on=RecordSet, spec=_DATA)
def data_unknown_field(record_set: RecordSet) -> Iterator[Problem]:
    """A key of an inline record is not a field of the record set.

    Why: each record "uses keys that correspond to the fields of the RecordSet"; other values are ignored.
    Example: `{"name": "red"}` where the field is `colours/name`.
    Fix: write the `@id` of the field.
    """
    yield from _unknown_keys(record_set, "cr:data")


def type_fault(value: Any, types: list[str]) -> str | None:
    """Return the plain data types that a JSON value should have, None if it has one; other types accept any value."""
    atomic = {name: ATOMIC_TYPES[name] for name in types if name in ATOMIC_TYPES}
    if value is None or not atomic or any(_is_a(value, name) for name in atomic):
        return None
    return f"expected {' or '.join(atomic.values())}"


def _is_a(value: Any, name: str) -> bool:
    # Casts also take numbers and booleans that a file has as text.
    is_text = ATOMIC_TYPES[name] not in ("a boolean", "an integer", "a number") and not name.startswith("cr:")
    if isinstance(value, str) is not is_text and name != "cr:BoundingBox":
        return False
    try:
        CASTS[name](value)
    except ValueError:
        return False
    return True


@RULES.rule("CRO506", "data-value-type", on=RecordSet, spec=_DATA)
def data_value_type(record_set: RecordSet) -> Iterator[Problem]:
    """A value of an inline record does not have its field's data type.

    Why: readers cannot load it as that type.
    Example: a field of type sc:Integer with the value `"7"` or `2.5`.
    Fix: correct the value or the data type.
    """
    yield from _wrong_values(record_set, "cr:data")


def _wrong_values(record_set: RecordSet, name: str) -> Iterator[Problem]:
    columns = record_set.columns(name)
    for each in record_set.fields if columns else ():
        types = each.data_types
        if each.sub_fields or not types:
            continue
        wrong: list[tuple[str, Any]] = []
        for pointer, value in record_set.column(each, name).items():
            several = each.is_array and isinstance(value, list)
            values = (items(value) if each.array_shape else value) if several else [value]
            wrong += [(pointer, item) for item in values if type_fault(item, types)]
        if wrong:
            found = wrong[0][1]
            message = f"{each.title}: `{typed(found)}` in `{record_set.key(name)}`, {type_fault(found, types)}"
            at = record_set.description.places.of(wrong[0][0])
            several = isinstance(found, list) and not each.is_array and "cr:BoundingBox" not in types
            hint = f'add `"{each.array_term}": true`' if several else "correct the value or the data type"
            yield Problem(message, at, hint, count=len(wrong))


@RULES.rule("CRO507", "key-not-unique", on=RecordSet, spec="croissant-1.0#recordset")
def key_not_unique(record_set: RecordSet) -> Iterator[Problem]:
    """Two inline records have the same key.

    Why: the values of the key "uniquely identify each record".
    Example: two records with id 1.
    Fix: correct one of the records, or the key.
    """
    fields = record_set.key_fields
    seen: dict[str, str] = {}
    again: list[tuple[str, str, list[Any]]] = []
    columns = [record_set.column(each) for each in fields]
    for pointer in min(columns, key=len, default={}):
        values = [column.get(pointer) for column in columns]
        if None in values:
            continue
        identity = identity_of(values)
        if identity in seen:
            again.append((pointer, seen[identity], values))
        seen.setdefault(identity, pointer)
    if again:
        pointer, first, values = again[0]
        line = record_set.description.places.of(first).line
        shown = clip(values[0] if len(values) == 1 else values)
        message = f"{record_set.title}: the key `{shown}` is repeated, first on line {line}"
        at = record_set.description.places.of(pointer)
        yield Problem(message, at, "correct one of the records, or the key", count=len(again))


@RULES.rule("CRO508", "key-null", on=RecordSet, spec="croissant-1.0#recordset")
def key_null(record_set: RecordSet) -> Iterator[Problem]:
    """The key of an inline record is null.

    Why: null identifies nothing.
    Example: `{"a/id": null, "a/name": "x"}` with key `a/id`.
    Fix: give the record a key.
    """
    for each in record_set.key_fields:
        nulls = [pointer for pointer, value in record_set.column(each).items() if value is None]
        if nulls:
            at = record_set.description.places.of(nulls[0])
            yield Problem(f"{each.title}: the key is null", at, "give the record a key", count=len(nulls))


def _referenced(reference: DataSource) -> Iterator[Field]:
    return (view for view in reference.target_views if isinstance(view, Field))


@RULES.rule("CRO509", "foreign-key-violation", on=RecordSet, spec=_JOINS)
def foreign_key_violation(record_set: RecordSet) -> Iterator[Problem]:
    """A constant, or a value of an inline record, does not occur in the field that it references.

    Why: the "values in the Field that contains the reference are taken from the values of the target Field".
    Example: a planet `"mars"` that the record set of planets lacks.
    Fix: correct the value, or add the missing record.
    """
    for each in chain(record_set.every_field, record_set.every_annotation):
        for target in (field for reference in each.references for field in _referenced(reference)):
            other = target.record_set
            if other is None or other is record_set or not (other.rows or target.is_in_constant):
                continue
            known = other.values_of(target)
            stray: list[tuple[str, Any]] = []
            for pointer, value in record_set.given(each).items():
                values = value if isinstance(value, list) else [value]
                stray += [(pointer, item) for item in values if item is not None and identity_of(item) not in known]
            if stray:
                message = f"{each.title}: `{clip(stray[0][1])}` is not a value of `{target.node.written_id}`"
                at = record_set.description.places.of(stray[0][0])
                yield Problem(message, at, "correct the value, or add the missing record", count=len(stray))


@RULES.rule(
    "CRO510", "examples-unknown-field", on=RecordSet, spec="croissant-1.0#examples",
    severity=Severity.WARNING,
)  # fmt: skip
def examples_unknown_field(record_set: RecordSet) -> Iterator[Problem]:
    """A key of an example is not a field of the record set.

    Why: examples are records, as in `data`.
    Example: `{"name": "red"}` where the field is `colours/name`.
    Fix: write the `@id` of the field.
    """
    yield from _unknown_keys(record_set, "cr:examples")


@RULES.rule(
    "CRO511", "examples-value-type", on=RecordSet, spec="croissant-1.0#examples",
    severity=Severity.WARNING,
)  # fmt: skip
def examples_value_type(record_set: RecordSet) -> Iterator[Problem]:
    """A value of an example does not have its field's data type.

    Why: examples are records, as in `data`; readers infer the type of the field from them.
    Example: a field of type sc:Integer with the example `"seven"`, `2.5` or `[1, 2]`.
    Fix: correct the value or the data type; a list needs `"isArray": true` (in version 1.0, `"repeated": true`).
    """
    yield from _wrong_values(record_set, "cr:examples")


def references_of_examples(record_set: RecordSet) -> Iterator[Reference]:
    """Yield the references in `examples`, which may replace records."""
    for pointer, row in record_set.inline("cr:examples") or ():
        if isinstance(row, dict) and set(row) == {"@id"} and isinstance(row["@id"], str):
            allowed = ("cr:FileObject", "cr:FileSet", "cr:RecordSet")
            yield Reference(record_set, "cr:examples", Literal(row["@id"], pointer), allowed)
