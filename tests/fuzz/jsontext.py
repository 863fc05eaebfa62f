"""JSON as it is written: names that occur twice, numbers of any size and texts of any character stay what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


class Members(list[tuple[str, Any]]):
    """An object: its names in order, each as often as it occurs."""


@dataclass(frozen=True)
class Literally:
    """Text that stands for a value, whether or not it is JSON."""

    text: str


def parse(text: str | bytes) -> Any:
    """Return a value in which numbers are as they were written. Raises `ValueError`, `RecursionError`."""
    return json.loads(
        text, object_pairs_hook=Members, parse_int=Literally, parse_float=Literally, parse_constant=Literally
    )


def dump(value: Any, *, ascii_only: bool = False, blank: str = "") -> str:
    """Return the text of a value; `blank` follows each colon and comma."""
    pieces: list[str] = []
    pending: list[Any] = [value]  # no recursion: values are nested by the thousand
    while pending:
        each = pending.pop()
        if isinstance(each, _Piece):
            pieces.append(each.text)
        elif isinstance(each, Members):
            pending.append(_Piece("}"))
            for number, (name, inner) in reversed(list(enumerate(each))):
                comma = f",{blank}" if number else ""
                pending += [inner, _Piece(f"{comma}{json.dumps(name, ensure_ascii=ascii_only)}:{blank}")]
            pending.append(_Piece("{"))
        elif isinstance(each, list):
            pending.append(_Piece("]"))
            for number, inner in reversed(list(enumerate(each))):
                pending += [inner, _Piece(f",{blank}" if number else "")]
            pending.append(_Piece("["))
        elif isinstance(each, Literally):
            pieces.append(each.text)
        else:
            pieces.append(json.dumps(each, ensure_ascii=ascii_only))
    return "".join(pieces)


def encode(value: Any, *, ascii_only: bool = False, blank: str = "") -> bytes:
    """Return the bytes of a value; what UTF-8 cannot hold is written as an escape."""
    return dump(value, ascii_only=ascii_only, blank=blank).encode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class _Piece:
    text: str


@dataclass(slots=True)
class Place:
    """Where a value is: in `holder` at `index`."""

    holder: list[Any]
    index: int

    @property
    def value(self) -> Any:
        found = self.holder[self.index]
        return found[1] if isinstance(self.holder, Members) else found

    @value.setter
    def value(self, new: Any) -> None:
        self.holder[self.index] = (self.holder[self.index][0], new) if isinstance(self.holder, Members) else new


def places(value: Any) -> Iterator[Place]:
    """Yield the place of every value inside a value, outermost first."""
    pending = [value]
    while pending:
        holder = pending.pop()
        if isinstance(holder, list):
            for index in range(len(holder)):
                place = Place(holder, index)
                yield place
                pending.append(place.value)


def copied(value: Any) -> Any:
    """Return a copy that shares no list with the value. Raises `RecursionError` for one that is nested too deeply."""
    if isinstance(value, Members):
        return Members((name, copied(inner)) for name, inner in value)
    if isinstance(value, list):
        return [copied(inner) for inner in value]
    return value
