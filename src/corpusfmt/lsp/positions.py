"""Internal: Positions of the protocol: lines, and units of the encoding that client and server agreed on."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Positions:
    """The lines of a text. Lines end with LF, CR or both; no other character ends one."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._codec, self._width = _CODECS[encoding]
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def of(self, offset: int) -> tuple[int, int]:
        """Return the line and the units before a character, both from 0."""
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.text[self._starts[line] : offset])

    def offset(self, line: int, units: int) -> int:
        """Return the character at a position; the end of the line or text for one beyond it."""
        if line >= len(self._starts):
            return len(self.text)
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        whole = self.text[start:end].rstrip("\r\n")
        before = whole.encode(self._codec, "surrogatepass")[: units * self._width]
        return start + len(before.decode(self._codec, "ignore"))

    def _units(self, text: str) -> int:
        return len(text.encode(self._codec, "surrogatepass")) // self._width
