"""Internal: Positions of the protocol: lines, and units of the encoding that client and server agreed on."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
_PIECE = 1024


class Units:
    """The units of an encoding that are before each character of a text, in time that does not depend on its length."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._codec, self._width = _CODECS[encoding]
        self._is_ascii = text.isascii()
        pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
        self._sums = [0, *accumulate(map(self._count, () if self._is_ascii else pieces))]

    def before(self, offset: int) -> int:
        if self._is_ascii:
            return offset
        piece = offset // _PIECE
        return self._sums[piece] + self._count(self.text[piece * _PIECE : offset])

    def offset(self, units: int, start: int = 0, end: int | None = None) -> int:
        """Return the character from `start` to `end` that has at most so many units before it."""
        end = len(self.text) if end is None else end
        return start + bisect_right(range(start, end + 1), units, lo=1, key=self.before) - 1

    def _count(self, text: str) -> int:
        return len(text.encode(self._codec, "surrogatepass")) // self._width


class Positions:
    """The lines of a text. Lines end with LF, CR or both; no other character ends one."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._units = Units(text, encoding)
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def of(self, offset: int) -> tuple[int, int]:
        """Return the line and the units before a character, both from 0."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._units.before(offset) - self._units.before(self._starts[line])

    def offset(self, line: int, units: int) -> int:
        """Return the character at a position; the end of the line or text for one beyond it."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return self._units.offset(self._units.before(start) + units, start, end)
