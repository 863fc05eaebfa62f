"""Internal: Shapes of arrays: parse `arrayShape`, and compare lists with it."""

from __future__ import annotations

import re
from math import prod
from typing import Any

from corpusfmt.wording import plural

#: The size of each dimension; -1 is any.
ArrayShape = tuple[int, ...]
ANY_LIST: ArrayShape = (-1,)

#: The pattern of `arrayShape`, in the common syntax of Python and SHACL.
SHAPE_PATTERN = (
    r"(\(\s*(-1|[0-9]{1,18})\s*(,\s*(-1|[0-9]{1,18})\s*)*,?\s*\)|\s*(-1|[0-9]{1,18})\s*(,\s*(-1|[0-9]{1,18})\s*)*,?\s*)"
)
_MOST_DIMENSIONS = 64


def parsed_shape(text: str) -> ArrayShape | None:
    """Return the shape in a text, None if it is not a comma-separated list of sizes."""
    if len(text) > 2000 or not re.fullmatch(SHAPE_PATTERN, text):
        return None
    sizes = tuple(int(each) for each in re.findall(r"-1|\d+", text))
    return sizes if len(sizes) <= _MOST_DIMENSIONS else None


def shown_shape(shape: ArrayShape) -> str:
    """Return a shape for a message."""
    return ",".join(map(str, shape))


def shape_fault(value: list[Any], shape: ArrayShape, *, may_be_flat: bool = False) -> str | None:
    """Return how a list differs from a shape: "has 3 values, expected 2".

    If it `may_be_flat`, its values fill an array of several dimensions row by row: JSON-LD flattens nested lists, and
    split text gives one list.
    """
    if may_be_flat and len(shape) > 1 and not any(isinstance(each, list) for each in value):
        return _flat_fault(len(value), shape)
    level = [value]
    for number, size in enumerate(shape):
        for each in level:
            if size >= 0 and len(each) != size:
                return f"has {plural(len(each), 'value')} in dimension {number + 1}, expected {size}"
        if number < len(shape) - 1:
            inner = [each for items in level for each in items]
            if not all(isinstance(each, list) for each in inner):
                return f"has {plural(number + 1, 'dimension')}, expected {len(shape)}"
            level = inner
    if any(isinstance(each, list) for items in level for each in items):
        return f"has more than {plural(len(shape), 'dimension')}"
    return None


def _flat_fault(count: int, shape: ArrayShape) -> str | None:
    known = prod(size for size in shape if size >= 0)
    fits = count % known == 0 if -1 in shape and known else count == known
    return None if fits else f"has {plural(count, 'value')}, expected {'a multiple of ' if -1 in shape else ''}{known}"


def items(value: Any) -> list[Any]:
    """Return the values in nested lists, flattened."""
    found: list[Any] = []
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending.extend(reversed(each))
        else:
            found.append(each)
    return found
