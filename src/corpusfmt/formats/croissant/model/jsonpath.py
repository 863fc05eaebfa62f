"""Internal: JSON paths (Goessner's, with filters): parsed, so that a wrong one is told of and a right one can be
followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any
from typing import Literal as OneOf

from msgspec import Struct

_NAME = re.compile(r"[^\s.\[\]()'\"*,:?@$]+")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_INDEX = re.compile(r"-?\d+")
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d*))?")
_MOST_STEPS = 200
_MOST_VALUES = 5_000_000

StepKind = OneOf["name", "index", "slice", "all", "filter", "union"]


#: What a filter asks of a value, and the document that the value is in.
Test = Callable[[Any, Any], bool]


class Filter(Struct, frozen=True):
    """A parsed filter: its test, and the number of values that one test looks at."""

    test: Test
    size: int


class Step(Struct, frozen=True):
    """One step of a path. `deep` steps (`..`) apply to everything below; a union's value is its parts.

    The value of a filter that is not followed here is its text.
    """

    kind: StepKind
    value: str | int | slice | tuple[Step, ...] | Filter | None = None
    deep: bool = False


class PathFault(ValueError):
    """What is wrong with a path."""


def parse_path(text: str) -> list[Step]:
    """Return the steps of a path. Raises `PathFault`."""
    position = 1 if text.startswith("$") else 0
    if not text.strip():
        raise PathFault("it is empty")
    steps: list[Step] = []
    while position < len(text):
        if len(steps) >= _MOST_STEPS:
            raise PathFault(f"more than {_MOST_STEPS} steps")
        deep = text.startswith("..", position)
        if deep:
            position += 2
        elif text[position] == ".":
            position += 1
        elif text[position] != "[" and (steps or text.startswith("$")):
            raise PathFault(f"`{text[position]}` at character {position + 1}")
        if text[position : position + 1] == "[":
            step, position = _bracket(text, position)
        else:
            step, position = _plain(text, position)
        steps.append(Step(step.kind, step.value, deep))
    return steps


def select(value: Any, steps: list[Step]) -> list[Any] | None:
    """Return what a path selects, in document order.

    None for a path that is not followed: one with a filter of another kind, or that passes more than five million values.
    """
    found = [value]
    budget = _MOST_VALUES
    for step in steps:
        nodes = (below for each in found for below in _below(each)) if step.deep else iter(found)
        passed = list(islice(nodes, budget))
        budget -= len(passed)
        if step.kind == "filter":
            size = step.value.size if isinstance(step.value, Filter) else budget
            budget -= size * sum(len(node) for node in passed if isinstance(node, dict | list))
            if budget <= 0 or not isinstance(step.value, Filter):
                return None
        found = list(islice((child for node in passed for child in _children(node, step, value)), budget))
        budget -= len(found)
        if budget <= 0:
            return None
    return found


def _below(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(list(_inside(node))))


def _children(node: Any, step: Step, root: Any) -> Iterator[Any]:
    if step.kind == "union" and isinstance(step.value, tuple):
        for part in step.value:
            yield from _children(node, part, root)
    elif step.kind == "all":
        yield from _inside(node)
    elif isinstance(step.value, Filter):
        yield from (each for each in _inside(node) if step.value.test(each, root))
    elif step.kind == "name" and isinstance(node, dict) and step.value in node:
        yield node[step.value]
    elif isinstance(node, list) and isinstance(step.value, slice):
        yield from node[step.value]
    elif step.kind == "index" and isinstance(node, list) and isinstance(step.value, int):
        yield from node[step.value : step.value + 1 or None]


def _inside(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def jsonpath_fault(text: str) -> str | None:
    """Return what is wrong with a path, None for a good one."""
    try:
        parse_path(text)
    except PathFault as fault:
        return str(fault)
    return None


def _plain(text: str, position: int) -> tuple[Step, int]:
    if text[position : position + 1] == "*":
        return Step("all"), position + 1
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        return Step("name", quoted.group(1) or quoted.group(2) or ""), quoted.end()
    name = _NAME.match(text, position)
    if name is None:
        seen = f"`{text[position]}`" if position < len(text) else "the end"
        raise PathFault(f"{seen} at character {position + 1}, expected a name")
    return Step("name", name.group()), name.end()


def _bracket(text: str, position: int) -> tuple[Step, int]:
    start = position
    position = _space(text, position + 1)
    if text.startswith(("?", "("), position):
        return _filter(text, start)
    parts: list[Step] = []
    while True:
        part, position = _selector(text, position)
        parts.append(part)
        position = _space(text, position)
        if text[position : position + 1] == "]":
            return (parts[0] if len(parts) == 1 else Step("union", tuple(parts))), position + 1
        if text[position : position + 1] != ",":
            raise PathFault(f"`[` at character {start + 1} is not closed")
        position = _space(text, position + 1)


def _selector(text: str, position: int) -> tuple[Step, int]:
    if text[position : position + 1] == "*":
        return Step("all"), position + 1
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        return Step("name", quoted.group(1) or quoted.group(2) or ""), quoted.end()
    span = _SLICE.match(text, position)
    if span is not None:
        bounds = [int(part) if part and part != "-" and len(part) < 19 else None for part in span.groups()]
        if bounds[2] == 0:
            raise PathFault("a slice of step 0")
        return Step("slice", slice(*bounds)), span.end()
    index = _INDEX.match(text, position)
    if index is not None and len(index.group()) < 19:
        return Step("index", int(index.group())), index.end()
    name = _NAME.match(text, position)
    if name is not None:
        return Step("name", name.group()), name.end()
    seen = f"`{text[position]}`" if position < len(text) else "the end"
    raise PathFault(f"{seen} at character {position + 1}, expected a selector")


def _filter(text: str, start: int) -> tuple[Step, int]:
    """Read `[?(…)]` or `[(…)]` to its end: brackets and quotes must balance; what else they say, dialects differ in."""
    depth, position = 0, start
    closing: list[str] = []
    while position < len(text):
        quoted = _QUOTED.match(text, position)
        if quoted is not None:
            position = quoted.end()
            continue
        character = text[position]
        if character in "[(":
            closing.append("]" if character == "[" else ")")
            depth += 1
        elif character in "])":
            if closing.pop() != character:
                break
            depth -= 1
            if depth == 0:
                return Step("filter", _followed(text[start + 1 : position].strip())), position + 1
        position += 1
    raise PathFault(f"the filter at character {start + 1} is not closed")


def _followed(text: str) -> Filter | str:
    from corpusfmt.formats.croissant.model.filters import FilterFault, parse_filter  # noqa: PLC0415 - few paths have one

    try:
        return parse_filter(text[1:]) if text.startswith("?") else text
    except FilterFault:
        return text


def _space(text: str, position: int) -> int:
    while text[position : position + 1] == " ":
        position += 1
    return position
