"""Internal: JSON paths of RFC 9535: parsed, so that a wrong one is reported and a right one can be followed.

Published descriptions also have Goessner's paths, from before the RFC: without `$`, with `-` and other characters in names,
with names in brackets that are not quoted. They are read as they are meant. A filter that the RFC does not know is kept as
its text: the path has no fault, and is not followed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any
from typing import Literal as OneOf

from msgspec import Struct

_NAME = re.compile(r"[^\s.\[\]()'\"*,:?@$]+")
# Letters, digits, `_` and all beyond ASCII; a class that names those compiles a hundred times as slowly.
_SHORTHAND = re.compile(r"[^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"", re.DOTALL)
_NUMBER = r"(?:0|-?[1-9][0-9]{0,15})"
_INDEX = re.compile(rf"{_NUMBER}(?![0-9])")
_SLICE = re.compile(rf"({_NUMBER}?)[ \t\n\r]*:[ \t\n\r]*({_NUMBER}?)(?:[ \t\n\r]*:[ \t\n\r]*({_NUMBER}?))?")
_BLANK = re.compile(r"[ \t\n\r]*")
_MOST_STEPS = 200
_MOST_VALUES = 5_000_000
# Beyond this, JSON's numbers are not exact.
_MOST_INDEX = (1 << 53) - 1

StepKind = OneOf["name", "index", "slice", "all", "filter", "union"]


class Budget:
    """How many values may still be passed."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, values: int) -> None:
        """Raise `TooMany` where no value may be passed any more."""
        self.left -= values
        if self.left <= 0:
            raise TooMany


class TooMany(Exception):
    """A path passes more values than one may."""


#: What a filter asks of a value, of the document that the value is in, within a budget.
Test = Callable[[Any, Any, Budget], bool]


class Filter(Struct, frozen=True):
    """A parsed filter: its test, and the number of values of any kind that one test looks at."""

    test: Test
    size: int


class Step(Struct, frozen=True):
    """One step of a path. `deep` steps (`..`) apply to everything below; a union's value is its parts.

    The value of a filter that is not followed here is its text; None is that of a slice that selects nothing.
    """

    kind: StepKind
    value: str | int | slice | tuple[Step, ...] | Filter | None = None
    deep: bool = False


class PathFault(ValueError):
    """The path is not a JSON path."""


def parse_path(text: str) -> list[Step]:
    """Return the steps of a path. Raises `PathFault`."""
    if not text.strip():
        raise PathFault("empty")
    steps, position = steps_at(text, 1 if text.startswith("$") else 0, may_begin=not text.startswith("$"))
    if position < len(text):
        raise PathFault(f"`{text[position]}` at character {position + 1}")
    return steps


def steps_at(text: str, position: int, *, may_begin: bool = False, strict: bool = False) -> tuple[list[Step], int]:
    """Return the steps from a place in a text on, and where they end; `may_begin` allows a name without a dot before it.

    `strict` steps are those of the RFC alone. Raises `PathFault`.
    """
    steps: list[Step] = []
    while position < len(text):
        start = space(text, position)
        if len(steps) >= _MOST_STEPS:
            raise PathFault(f"more than {_MOST_STEPS} steps")
        deep = text.startswith("..", start)
        if text[start : start + 1] == "[" and not deep:
            step, position = _bracket(text, start)
        elif deep and text[start + 2 : start + 3] == "[":
            step, position = _bracket(text, start + 2)
        elif deep or text[start : start + 1] == ".":
            step, position = _plain(text, start + 1 + deep, strict=strict)
        elif may_begin and not steps and start == position:
            step, position = _plain(text, start, strict=strict)
        else:
            break
        steps.append(Step(step.kind, step.value, deep))
    return steps, position


def select(value: Any, steps: list[Step]) -> list[Any] | None:
    """Return what a path selects, in document order.

    None for a path that is not followed: one with a filter that RFC 9535 does not have, or that passes more than five
    million values.
    """
    try:
        return selected([value], steps, value, Budget(_MOST_VALUES))
    except TooMany:
        return None


def selected(found: list[Any], steps: Iterable[Step], root: Any, budget: Budget) -> list[Any]:
    """Return what steps select from some values of a document. Raises `TooMany`."""
    for step in steps:
        nodes = (below for each in found for below in _below(each)) if step.deep else iter(found)
        passed = list(islice(nodes, budget.left))
        budget.spend(len(passed))
        children = (child for node in passed for child in _children(node, step, root, budget))
        found = list(islice(children, budget.left))
        budget.spend(len(found))
    return found


def _below(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(list(_inside(node))))


def _children(node: Any, step: Step, root: Any, budget: Budget) -> Iterator[Any]:
    if step.kind == "union" and isinstance(step.value, tuple):
        for part in step.value:
            yield from _children(node, part, root, budget)
    elif step.kind == "all":
        yield from _inside(node)
    elif step.kind == "filter":
        if not isinstance(step.value, Filter):
            raise TooMany
        for each in _inside(node):
            budget.spend(step.value.size)
            if step.value.test(each, root, budget):
                yield each
    elif step.kind == "name" and isinstance(node, dict) and step.value in node:
        yield node[step.value]
    elif isinstance(node, list) and isinstance(step.value, slice):
        yield from node[step.value]
    elif step.kind == "index" and isinstance(node, list) and isinstance(step.value, int):
        yield from node[step.value : step.value + 1 or None]


def _inside(node: Any) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()


def jsonpath_fault(text: str) -> str | None:
    """Return what is wrong with a path, or None."""
    try:
        parse_path(text)
    except PathFault as fault:
        return str(fault)
    return None


def _plain(text: str, position: int, *, strict: bool) -> tuple[Step, int]:
    if text[position : position + 1] == "*":
        return Step("all"), position + 1
    quoted = None if strict else _QUOTED.match(text, position)
    if quoted is not None:
        return Step("name", text_of(quoted.group())), quoted.end()
    name = (_SHORTHAND if strict else _NAME).match(text, position)
    if name is None:
        raise PathFault(f"{_seen(text, position)} at character {position + 1}, expected a name")
    return Step("name", name.group()), name.end()


def _seen(text: str, position: int) -> str:
    return f"`{text[position]}`" if position < len(text) else "the end"


def _bracket(text: str, start: int) -> tuple[Step, int]:
    position = space(text, start + 1)
    if text.startswith("(", position):
        return _unknown_filter(text, start)
    parts: list[Step] = []
    while True:
        part, position = (
            _filter(text, start, position) if text[position : position + 1] == "?" else _selector(text, position)
        )
        if part.kind == "filter" and isinstance(part.value, str):
            return part, position
        parts.append(part)
        position = space(text, position)
        if text[position : position + 1] == "]":
            return (parts[0] if len(parts) == 1 else Step("union", tuple(parts))), position + 1
        if text[position : position + 1] != ",":
            raise PathFault(f"`[` at character {start + 1} is not closed")
        position = space(text, position + 1)


def _selector(text: str, position: int) -> tuple[Step, int]:
    if text[position : position + 1] == "*":
        return Step("all"), position + 1
    quoted = _QUOTED.match(text, position)
    if quoted is not None:
        return Step("name", text_of(quoted.group())), quoted.end()
    span = _SLICE.match(text, position)
    if span is not None:
        first, last, step = (_bound(part) if part else None for part in span.groups())
        return Step("slice", None if step == 0 else slice(first, last, step)), span.end()
    index = _INDEX.match(text, position)
    if index is not None:
        return Step("index", _bound(index.group())), index.end()
    name = _NAME.match(text, position)
    if name is not None and not re.match(r"-?\d", name.group()):
        return Step("name", name.group()), name.end()
    raise PathFault(f"{_seen(text, position)} at character {position + 1}, expected a selector")


def _bound(text: str) -> int:
    number = int(text)
    if abs(number) > _MOST_INDEX:
        raise PathFault(f"`{text}` is beyond what JSON counts exactly")
    return number


def _filter(text: str, start: int, position: int) -> tuple[Step, int]:
    from corpusfmt.formats.croissant.model.filters import FilterFault, filter_at  # noqa: PLC0415 - few paths have one

    try:
        found, end = filter_at(text, position + 1)
    except (FilterFault, PathFault):
        return _unknown_filter(text, start)
    if text[space(text, end) : space(text, end) + 1] not in (",", "]"):
        return _unknown_filter(text, start)
    return Step("filter", found), end


def _unknown_filter(text: str, start: int) -> tuple[Step, int]:
    """Read `[?(…)]` or `[(…)]` to its end: brackets and quotes must balance; what else they say, dialects differ in."""
    position = start
    closing: list[str] = []
    while position < len(text):
        quoted = _QUOTED.match(text, position)
        if quoted is not None:
            position = quoted.end()
            continue
        character = text[position]
        if character in "[(":
            closing.append("]" if character == "[" else ")")
        elif character in "])":
            if closing.pop() != character:
                break
            if not closing:
                return Step("filter", text[start + 1 : position].strip()), position + 1
        position += 1
    raise PathFault(f"the filter at character {start + 1} is not closed")


def text_of(quoted: str) -> str:
    """Return the text of a string in quotes of either kind. Raises `PathFault`."""
    inside = quoted[1:-1]
    if quoted[0] == "'":
        inside = re.sub(
            r'\\.|"',
            lambda found: {"\\'": "'", '"': '\\"', '\\"': "\\x"}.get(found[0], found[0]),
            inside,
            flags=re.DOTALL,
        )
    try:
        text = str(json.loads(f'"{inside}"'))
        text.encode()
    except ValueError:
        raise PathFault(f"`{quoted[:40]}` is not a string of JSON") from None
    return text


def space(text: str, position: int) -> int:
    """Return where something other than white space begins."""
    found = _BLANK.match(text, position)
    return found.end() if found is not None else position
