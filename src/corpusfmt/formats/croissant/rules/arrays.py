"""Internal: Arrays and constants (version 1.1): `isArray`, `arrayShape`, `value`, and arrays in inline records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.model.arrays import ANY_LIST, items, parsed_shape, shape_fault
from corpusfmt.formats.croissant.model.graph import Field, RecordSet
from corpusfmt.formats.croissant.model.wording import clip, typed
from corpusfmt.formats.croissant.rules.data import type_fault
from corpusfmt.formats.croissant.rules.dataset import mistyped
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.model import Fault, Location, Problem, Severity

_FIELD = "croissant-1.1#field"


def array_shape_faults(field: Field) -> Iterator[Fault]:
    """Yield the faults of a field's arrayShape."""
    for literal in field.texts("cr:arrayShape"):
        where = f"{field.title}: `{field.key('cr:arrayShape')}`"
        if parsed_shape(literal.value) is None:
            wanted = "sizes separated by commas, -1 for any"
            yield mistyped(where, f"`{clip(literal.value)}`", wanted, field.place_of(literal))
        elif not field.is_true("cr:isArray"):
            yield mistyped(where, "given without `isArray`", '`"isArray": true`', field.place_of(literal))


class Constant(Struct):
    """A field with a constant value."""

    field: Field

    @property
    def at(self) -> Location:
        return self.field.at


@RULES.rule("CRO429", "value-and-source", on=Constant, spec=_FIELD)
def value_and_source(constant: Constant) -> Iterator[Problem]:
    """A field has both a constant value and a source.

    Why: the value is either the same in all records or read for each; readers cannot know which one is meant.
    Example: `"value": "1-5 stars"` next to `"source": {"fileObject": …}`.
    Fix: keep one of them.
    """
    field = constant.field
    if field.all("cr:source"):
        message = f"{field.title}: both `{field.key('cr:value')}` and `{field.key('cr:source')}`, expected one of them"
        yield Problem(message, field.place("cr:value"), "keep one of them")


@RULES.rule("CRO430", "constant-value-type", on=Constant, spec=_FIELD)
def constant_value_type(constant: Constant) -> Iterator[Problem]:
    """The constant value of a field does not have its data type or shape, or is not an object for subfields.

    Why: readers cannot load the value as that type.
    Example: `"value": "seven"` in a field of type sc:Integer; `"value": 7` in a field with `subField`.
    Fix: correct the value or the data type. The value of a field with subfields may be an object or JSON text.
    """
    field = constant.field
    fault = _constant_fault(field, field.constant)
    if fault is not None:
        message = f"{field.title}: `{field.key('cr:value')}` is `{typed(field.constant)}`, {fault}"
        hint = (
            f'add `"{field.array_term}": true`' if "is not an array" in fault else "correct the value or the data type"
        )
        yield Problem(message, field.place("cr:value"), hint)


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


@RULES.rule(
    "CRO431", "annotation-without-value", on=RecordSet, severity=Severity.WARNING, spec="croissant-1.1#annotating-data"
)
def annotation_without_value(record_set: RecordSet) -> Iterator[Problem]:
    """An annotation has neither a source nor a value, in a record set without inline data.

    Why: the annotation has no value.
    Example: `"annotation": {"@type": "cr:Field", "@id": "images/image/label", "dataType": "cr:Label"}`.
    Fix: add `source` or `value`.
    """
    for field in record_set.every_annotation if record_set.lacks("cr:data") else ():
        given = field.sub_fields or field.is_in_constant or field.sources or field.references or field.all("cr:source")
        if not given:
            yield Problem(f"{field.title}: `source` or `value` is missing", field.at, "add one of them")


@RULES.rule("CRO512", "data-array-shape", on=RecordSet, spec=_FIELD)
def data_array_shape(record_set: RecordSet) -> Iterator[Problem]:
    """A list in an inline record or example does not have the shape of its field.

    Why: readers create arrays of that shape, and fail or mix up values.
    Example: `[1, 2, 3]` in a field with `"arrayShape": "2"`; `[1, 2, 3, 4]` in a field with `"2,2"`.
    Fix: correct the list or the shape.
    """
    for name in ("cr:data", "cr:examples"):
        columns = record_set.columns(name)
        for each in record_set.fields if columns else ():
            shape = each.array_shape
            wrong = []
            for pointer, value in record_set.column(each, name).items() if shape else ():
                values = value if isinstance(value, list) else [value]
                fault = shape_fault(values, shape or ANY_LIST) if value is not None else None
                wrong += [(pointer, fault)] if fault is not None else []
            if wrong:
                message = f"{each.title}: a list in `{record_set.key(name)}` {wrong[0][1]}"
                at = record_set.description.places.of(wrong[0][0])
                yield Problem(message, at, "correct the list or `arrayShape`", count=len(wrong))
