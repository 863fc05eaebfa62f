"""Internal: The outline of a JSON text that may be incomplete: its values with their places, as far as they are written.

A description that is being edited is rarely correct JSON. Every token is kept where it most likely belongs: a name without a
value, a string without its closing quote, a bracket that is never closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from msgspec import Struct, field

Kind = Literal["object", "array", "string", "other"]

# A string that is not closed ends with its line.
_TOKEN = re.compile(r'"(?:[^"\\\n\r]++|\\[^\n\r])*+"?|[{}\[\],:]|[^\s{}\[\],:"]++')
_OPENING: dict[str, Kind] = {"{": "object", "[": "array"}
_CLOSING: dict[str, Kind] = {"}": "object", "]": "array"}
# What is nested deeper is left out.
_MOST_DEPTH = 100


class Value(Struct, eq=False):
    """A value from offset `start` up to `end`, which is beyond the end of the text for a bracket that is never closed."""

    kind: Kind
    start: int
    end: int
    text: str = ""
    members: list[Member] = field(default_factory=list)
    items: list[Value] = field(default_factory=list)

    def member(self, name: str) -> Value | None:
        """Return the first value of a name in an object."""
        return next((each.value for each in self.members if each.name.text == name), None)

    def string(self, name: str) -> str:
        """Return the string of a name in an object, "" without one."""
        value = self.member(name)
        return value.text if value is not None and value.kind == "string" else ""

    def holds(self, offset: int) -> bool:
        """Return whether a cursor at an offset is inside."""
        return self.start < offset < self.end or (offset == self.end and self.kind in ("string", "other"))


class Member(Struct, eq=False):
    """A name in an object; `colon` is the offset after its colon and `comma` that of the comma, None before they are written."""

    name: Value
    colon: int | None = None
    value: Value | None = None
    comma: int | None = None

    def expects_value(self, offset: int) -> bool:
        """Return whether a cursor is where the value is or should be."""
        if self.colon is None or offset < self.colon:
            return False
        end = self.comma if self.value is None else self.value.end
        return end is None or offset <= end


class Place(Struct):
    """Where a cursor is: in the last of `path`, at the name or value `token`, or where one could be written.

    `path` has each container on the way with the name of the value in it ("" in an array). `is_name` is true where an object
    expects a name; `member` is the member whose value it would be, or whose name it is.
    """

    path: list[tuple[Value, str]]
    is_name: bool
    token: Value | None = None
    member: Member | None = None

    @property
    def container(self) -> Value:
        return self.path[-1][0]


@lru_cache(1)
def outline(text: str) -> Value | None:
    """Return the first value of a text; None if there is none."""
    reading = _Reading(len(text) + 1)
    for match in _TOKEN.finditer(text):
        reading.take(match[0], match.start(), match.end())
    return reading.root


def values(root: Value) -> Iterator[Value]:
    """Yield a value and all in it, in order."""
    waiting = [root]
    while waiting:
        value = waiting.pop()
        yield value
        inner = [each.value for each in value.members if each.value is not None]
        waiting += reversed([*value.items, *inner])


def place_at(root: Value, offset: int) -> Place | None:
    """Return where a cursor is; None outside of the outermost brackets."""
    if root.kind not in ("object", "array") or not root.holds(offset):
        return None
    path: list[tuple[Value, str]] = []
    value = root
    while True:
        if value.kind == "array":
            path.append((value, ""))
            inner = next((each for each in value.items if each.holds(offset)), None)
            member = None
        else:
            member = next((each for each in reversed(value.members) if each.name.start < offset), None)
            if member is None or not member.expects_value(offset):
                at_name = member if member is not None and member.name.holds(offset) else None
                return Place([*path, (value, "")], True, at_name.name if at_name else None, at_name)
            path.append((value, member.name.text))
            inner = member.value if member.value is not None and member.value.holds(offset) else None
        if inner is None or inner.kind in ("string", "other"):
            return Place(path, False, inner, member)
        value = inner


class _Reading:
    def __init__(self, end: int) -> None:
        self.end = end
        self.root: Value | None = None
        self.open: list[Value] = []
        self.too_deep = 0

    def take(self, piece: str, start: int, end: int) -> None:
        if self.too_deep or (piece in _OPENING and len(self.open) == _MOST_DEPTH):
            self.too_deep += (piece in _OPENING) - (piece in _CLOSING)
        elif piece in _OPENING:
            value = Value(_OPENING[piece], start, self.end)
            self._attach(value)
            self.open.append(value)
        elif piece in _CLOSING:
            self._close(_CLOSING[piece], end)
        elif piece == ":":
            self._colon(end)
        elif piece == ",":
            self._comma(start)
        else:
            is_string = piece.startswith('"')
            self._attach(
                Value("string" if is_string else "other", start, end, _unquoted(piece) if is_string else piece)
            )

    def _close(self, kind: str, end: int) -> None:
        if not any(each.kind == kind for each in self.open):
            return
        while self.open:
            value = self.open.pop()
            value.end = end
            if value.kind == kind:
                break
            value.end = end - 1

    def _last(self) -> Member | None:
        top = self.open[-1] if self.open else None
        return top.members[-1] if top is not None and top.members else None

    def _colon(self, end: int) -> None:
        last = self._last()
        if last is None or last.comma is not None:
            return
        if last.colon is None:
            last.colon = end
        elif last.value is not None and last.value.kind == "string":
            # The value is not written yet, and the next name was taken for it.
            self.open[-1].members.append(Member(last.value, end))
            last.value = None

    def _comma(self, start: int) -> None:
        last = self._last()
        if last is not None and last.comma is None:
            last.comma = start

    def _attach(self, value: Value) -> None:
        if not self.open:
            self.root = self.root or value
            return
        top, last = self.open[-1], self._last()
        if top.kind == "array":
            top.items.append(value)
        elif last is not None and last.colon is not None and last.value is None and last.comma is None:
            last.value = value
        elif value.kind == "string":
            top.members.append(Member(value))


def _unquoted(piece: str) -> str:
    closed = piece if len(piece) > 1 and piece.endswith('"') else f'{piece}"'
    try:
        return str(json.loads(closed, strict=False))
    except ValueError:
        return piece.strip('"')
