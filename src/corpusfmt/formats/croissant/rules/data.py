"""Internal: CRO5xx: records, examples, arrays (`isArray`, `arrayShape`) and constants (`value`) in the description."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.model.arrays import ANY_LIST, items, parsed_shape, shape_fault
from corpusfmt.formats.croissant.model.casts import CASTS
from corpusfmt.formats.croissant.model.graph import Field, RecordSet, Reference, identity_of
from corpusfmt.formats.croissant.model.nodes import Literal, local_name
from corpusfmt.formats.croissant.model.vocabulary import ATOMIC_TYPES
from corpusfmt.formats.croissant.model.wording import clip, typed
from corpusfmt.formats.croissant.rules.dataset import mistyped
from corpusfmt.formats.croissant.rules.document import several_lost
from corpusfmt.formats.croissant.ruleset import RULES, WARNING
from corpusfmt.model import Fault, Problem

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
                hint = f'map it as `{{"@id": "{name}", "@type": "@json"}}` in the context'
                yield record_set.problem(f"the context does not map `{key}` as JSON", hint, value)
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
        message = f"a record is `{clip(stray[0][1])}`, expected an object"
        hint = "write an object with the `@id` of each field as key"
        yield record_set.problem(message, hint, stray[0][0], count=len(stray))


@RULES.rule("CRO503", "data-empty", on=RecordSet, spec=_DATA)
def data_empty(record_set: RecordSet) -> Iterator[Problem]:
    """The inline data contains no record.

    Why: a record set without records is likely a mistake; mlcroissant refuses it.
    Example: `"data": []`.
    Fix: add the records, or remove `data`.
    """
    if record_set.rows == [] and record_set.all("cr:data"):
        yield record_set.problem("`data` is empty", "add the records, or remove `data`", "cr:data")


@RULES.rule("CRO504", "data-missing-field", on=RecordSet, spec=_DATA)
def data_missing_field(record_set: RecordSet) -> Iterator[Problem]:
    """Inline records lack a field.

    Why: an unknown value is written as null, which distinguishes it from a forgotten one.
    Example: fields `a/id` and `a/name`, and a record `{"a/id": 1}`.
    Fix: add the key, with null if there is no value.
    """
    pointers = [pointer for pointer, row in record_set.rows or () if isinstance(row, dict)]
    for field in record_set.fields if pointers else ():
        present = record_set.column(field)
        lacking = [pointer for pointer in pointers if pointer not in present]
        named = field.id is not None or field.node.written_id is not None
        if named and lacking and not field.sources and not field.sub_fields and not field.all("cr:value"):
            message = f"missing from {len(lacking)} of the records in `data`"
            hint = "add the key, with null if there is no value"
            yield field.problem(message, hint, lacking[0], count=len(lacking))


def _unknown_keys(record_set: RecordSet, name: str) -> Iterator[Problem]:
    unknown: dict[str, list[str]] = {}
    for pointer, row in record_set.inline(name) or ():
        for key in row if isinstance(row, dict) else ():
            if record_set.field_named(key) is None and not key.startswith("@"):
                unknown.setdefault(key, []).append(pointer)
    for key, pointers in unknown.items():
        ids = (field.id for field in record_set.every_field if field.id is not None)
        hint = "write the `@id` of a field of this record set"
        hint = record_set.description.near_misses.hint(key, ids, hint, as_tail=True)
        message = f"the key `{key}` in `{local_name(name)}` is not a field"
        yield record_set.problem(message, hint, pointers[0], count=len(pointers))


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
    for field in record_set.fields if record_set.columns(name) else ():
        types = field.data_types
        wrong: list[tuple[str, Any]] = []
        for pointer, value in record_set.column(field, name).items() if types and not field.sub_fields else ():
            several = field.is_array and isinstance(value, list)
            values = (items(value) if field.array_shape else value) if several else [value]
            wrong += [(pointer, item) for item in values if type_fault(item, types)]
        if wrong:
            pointer, value = wrong[0]
            message = f"`{typed(value)}` in `{record_set.key(name)}`, {type_fault(value, types)}"
            several = isinstance(value, list) and not field.is_array and "cr:BoundingBox" not in types
            hint = f'add `"{field.array_term}": true`' if several else "correct the value or the data type"
            yield field.problem(message, hint, pointer, count=len(wrong))


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
        message = f"the key `{shown}` is repeated, first on line {line}"
        yield record_set.problem(message, "correct one of the records, or the key", pointer, count=len(again))


@RULES.rule("CRO508", "key-null", on=RecordSet, spec="croissant-1.0#recordset")
def key_null(record_set: RecordSet) -> Iterator[Problem]:
    """The key of an inline record is null.

    Why: null identifies nothing.
    Example: `{"a/id": null, "a/name": "x"}` with key `a/id`.
    Fix: give the record a key.
    """
    for field in record_set.key_fields:
        if nulls := [pointer for pointer, value in record_set.column(field).items() if value is None]:
            yield field.problem("the key is null", "give the record a key", nulls[0], count=len(nulls))


@RULES.rule("CRO509", "foreign-key-violation", on=RecordSet, spec=_JOINS)
def foreign_key_violation(record_set: RecordSet) -> Iterator[Problem]:
    """A constant, or a value of an inline record, does not occur in the field that it references.

    Why: the "values in the Field that contains the reference are taken from the values of the target Field".
    Example: a planet `"mars"` that the record set of planets lacks.
    Fix: correct the value, or add the missing record.
    """
    for field in chain(record_set.every_field, record_set.every_annotation):
        for target in (view for reference in field.references for view in reference.target_views):
            other = target.record_set if isinstance(target, Field) else None
            if not isinstance(target, Field) or other is None or other is record_set:
                continue
            if not (other.rows or target.is_in_constant):
                continue
            known = other.values_of(target)
            stray: list[tuple[str, Any]] = []
            for pointer, value in record_set.given(field).items():
                values = value if isinstance(value, list) else [value]
                stray += [(pointer, item) for item in values if item is not None and identity_of(item) not in known]
            if stray:
                message = f"`{clip(stray[0][1])}` is not a value of `{target.node.written_id}`"
                hint = "correct the value, or add the missing record"
                yield field.problem(message, hint, stray[0][0], count=len(stray))


@RULES.rule("CRO510", "examples-unknown-field", on=RecordSet, spec="croissant-1.0#examples", severity=WARNING)
def examples_unknown_field(record_set: RecordSet) -> Iterator[Problem]:
    """A key of an example is not a field of the record set.

    Why: examples are records, as in `data`.
    Example: `{"name": "red"}` where the field is `colours/name`.
    Fix: write the `@id` of the field.
    """
    yield from _unknown_keys(record_set, "cr:examples")


@RULES.rule("CRO511", "examples-value-type", on=RecordSet, spec="croissant-1.0#examples", severity=WARNING)
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


_FIELD = "croissant-1.1#field"


def array_shape_faults(field: Field) -> Iterator[Fault]:
    """Yield the faults of a field's arrayShape."""
    for literal in field.texts("cr:arrayShape"):
        where = f"{field.title}: `{field.key('cr:arrayShape')}`"
        if parsed_shape(literal.value) is None:
            wanted = "sizes separated by commas, -1 for any"
            yield mistyped(where, f"`{clip(literal.value)}`", wanted, field.place(literal))
        elif not field.is_true("cr:isArray"):
            yield mistyped(where, "given without `isArray`", '`"isArray": true`', field.place(literal))


class Constant(Struct):
    """A field with a constant value."""

    field: Field


@RULES.rule("CRO429", "value-and-source", on=Constant, spec=_FIELD)
def value_and_source(constant: Constant) -> Iterator[Problem]:
    """A field has both a constant value and a source.

    Why: the value is either the same in all records or read for each; readers cannot know which one is meant.
    Example: `"value": "1-5 stars"` next to `"source": {"fileObject": …}`.
    Fix: keep one of them.
    """
    field = constant.field
    if field.all("cr:source"):
        message = f"both `{field.key('cr:value')}` and `{field.key('cr:source')}`, expected one of them"
        yield field.problem(message, "keep one of them", "cr:value")


@RULES.rule("CRO430", "constant-value-type", on=Constant, spec=_FIELD)
def constant_value_type(constant: Constant) -> Iterator[Problem]:
    """The constant value of a field does not match its data type, shape or subfields.

    Why: readers cannot load the value as that type.
    Example: `"value": "seven"` in a field of type sc:Integer; `"value": 7` in a field with `subField`.
    Fix: correct the value or the data type. The value of a field with subfields may be an object or JSON text.
    """
    field = constant.field
    if fault := _constant_fault(field, field.constant):
        message = f"`{field.key('cr:value')}` is `{typed(field.constant)}`, {fault}"
        is_array = "is not an array" in fault
        hint = f'add `"{field.array_term}": true`' if is_array else "correct the value or the data type"
        yield field.problem(message, hint, "cr:value")


def _constant_fault(field: Field, value: Any) -> str | None:
    """Return the fault of a constant, as part of a message."""
    if field.sub_fields:
        return _object_fault(field, value)
    if field.is_array:
        fault = shape_fault(value, field.array_shape or ANY_LIST, may_be_flat=True)
        if fault is not None:
            return f"which {fault}"
    elif isinstance(value, list) and "cr:BoundingBox" not in field.data_types:
        return "expected one value because the field is not an array"
    each = items(value) if field.is_array else [value]
    return next(filter(None, (type_fault(item, field.data_types) for item in each)), None)


def _object_fault(field: Field, value: Any) -> str | None:
    for each in value if field.is_array else [value]:
        if not isinstance(each, dict):
            return "expected an object with the subfields as keys"
        for inner in field.sub_fields:
            name = inner.key_in(each)
            fault = _constant_fault(inner, each[name]) if name is not None else None
            if fault is not None:
                return f"in which `{name}` is `{clip(each[name or ''])}`, {fault}"
    return None


@RULES.rule("CRO431", "annotation-without-value", on=RecordSet, severity=WARNING, spec="croissant-1.1#annotating-data")
def annotation_without_value(record_set: RecordSet) -> Iterator[Problem]:
    """An annotation has neither a source nor a value, in a record set without inline data.

    Why: the annotation says nothing.
    Example: `"annotation": {"@type": "cr:Field", "@id": "images/image/label", "dataType": "cr:Label"}`.
    Fix: add `source` or `value`.
    """
    for field in record_set.every_annotation if record_set.lacks("cr:data") else ():
        given = field.sub_fields or field.is_in_constant or field.sources or field.references or field.all("cr:source")
        if not given:
            yield field.problem("`source` or `value` is missing", "add one of them")


@RULES.rule("CRO512", "data-array-shape", on=RecordSet, spec=_FIELD)
def data_array_shape(record_set: RecordSet) -> Iterator[Problem]:
    """A list in an inline record or example does not have the shape of its field.

    Why: readers create arrays of that shape, and fail or mix up values.
    Example: `[1, 2, 3]` in a field with `"arrayShape": "2"`; `[1, 2, 3, 4]` in a field with `"2,2"`.
    Fix: correct the list or the shape.
    """
    for name in _INLINE:
        for field in record_set.fields if record_set.columns(name) else ():
            shape = field.array_shape
            wrong = []
            for pointer, value in record_set.column(field, name).items() if shape else ():
                values = value if isinstance(value, list) else [value]
                fault = shape_fault(values, shape or ANY_LIST) if value is not None else None
                wrong += [(pointer, fault)] if fault is not None else []
            if wrong:
                message = f"a list in `{record_set.key(name)}` {wrong[0][1]}"
                yield field.problem(message, "correct the list or `arrayShape`", wrong[0][0], count=len(wrong))
