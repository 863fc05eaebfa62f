"""Internal: The documents of one file, as bytes with their places: between blank lines, or all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from corpusfmt.formats.general import too_long
from corpusfmt.formats.rows.files import RowFile
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.model import Fault, Location

# A line of these alone separates documents, as in OSCAR.
_BLANK_LINES = re.compile(rb"(?m)(?:^[ \t\r]*\n)+")
_BLANKS = b" \t\r\n"
_MAY_END_A_BLANK_LINE = b" \n", b"\t\n", b"\r\n"


class Piece(Struct, frozen=True):
    """A document without its last LF, at its first line."""

    data: bytes
    at: Location


class Pieces:
    """The documents of a file; longer ones than the limit of a line are faults. Afterwards, `returns` counts CR LF."""

    def __init__(self, file: RowFile, most: int, *, whole: bool) -> None:
        self._file = file
        self._most = most
        self._whole = whole
        self._parts: list[bytes] = []
        self._size = 0
        self._is_too_long = False
        self._at = Location(file.path, 1, 0)
        self.returns = 0
        self.first_return: Location | None = None

    def __iter__(self) -> Iterator[Piece | Fault]:
        for block in self._file.blocks():
            if isinstance(block, LongLine):
                self._begin(block.line, block.byte)
                self._parts.clear()
                self._size += block.length
                self._is_too_long = True
                continue
            if b"\r\n" in block.data:
                self._note_returns(block)
            yield from self._taken(block)
        yield from self._end()

    def _taken(self, block: Block) -> Iterator[Piece | Fault]:
        data, line, start = block.data, block.line, 0
        for blank_from, blank_to in () if self._whole else _blank_lines(data):
            self._take(data[start:blank_from], line, block.byte + start)
            yield from self._end()
            line += data.count(b"\n", start, blank_to)
            start = blank_to
        self._take(data[start:], line, block.byte + start)

    def _begin(self, line: int, byte: int) -> None:
        if not self._size:
            self._at = Location(self._file.path, line, byte)

    def _take(self, data: bytes, line: int, byte: int) -> None:
        if not data:
            return
        self._begin(line, byte)
        self._size += len(data)
        if self._size > self._most:
            self._is_too_long = True
            self._parts.clear()
        if not self._is_too_long:
            self._parts.append(data)

    def _end(self) -> Iterator[Piece | Fault]:
        if self._is_too_long:
            yield too_long(self._at, self._size, self._most, "document")
        elif (data := b"".join(self._parts)) and data.strip(_BLANKS):
            yield Piece(data.removesuffix(b"\n"), self._at)
        self._parts.clear()
        self._size = 0
        self._is_too_long = False

    def _note_returns(self, block: Block) -> None:
        self.returns += block.data.count(b"\r\n")
        if self.first_return is None:
            place = block.data.index(b"\r\n")
            start = block.data.rfind(b"\n", 0, place) + 1
            line = block.line + block.data.count(b"\n", 0, place)
            self.first_return = Location(self._file.path, line, block.byte + start)


def _blank_lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the runs of blank lines in whole lines, as first and last offset."""
    if any(end in data for end in _MAY_END_A_BLANK_LINE):
        yield from (match.span() for match in _BLANK_LINES.finditer(data))
        return
    start = 0 if data.startswith(b"\n") else data.find(b"\n\n") + 1
    while start or data.startswith(b"\n"):
        end = start
        while data[end : end + 1] == b"\n":
            end += 1
        yield start, end
        start = data.find(b"\n\n", end) + 1
        if not start:
            return
