"""For formats: What a loader infers from a file of JSON Lines, found while its rows are read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.io.jsonlines import UNDECODABLE
from corpusfmt.io.loading import Columns, Looking, Seen

#: Rows in a block, each with its shape, its start and its end. Of rows of one shape, one tells all; shape 0 is unknown.
Samples = Sequence[tuple[int, int, int]]
# The places of numbers in a sampler.
_ROOM, _ROWS, _RECENT = 0, 1, slice(2, 18)
_NO_SHAPES = array("Q", bytes(16 * 8))
_MOST_SHAPES = 1 << 16
# Columns by the shapes of their rows, in the order of their first occurrence: most blocks have the same few.
_known: dict[tuple[int, ...], Looking] = {}
_FEW, _MOST_KNOWN, _MOST_BYTES_KNOWN = 8, 64, 16 * 1024
_TOO_DEEP = "rows are nested too deeply"
#: Decodes a row: an object.
decode_row = msgspec.json.Decoder(dict[str, Any]).decode


class Looked(Struct, frozen=True):
    """The columns of a file by block, and its number of rows; `gap` says why they are unknown.

    Of a text, `split` is the line and the byte at which paragraphs first make several rows of a document.
    """

    blocks: tuple[Seen, ...] = ()
    rows: int = 0
    gap: str = ""
    split: tuple[int, int] | None = None


class Look:
    """Notes the columns of a file from its rows, in order."""

    def __init__(self) -> None:
        self._columns = Columns(Looking)
        self._shapes: set[int] = set()
        #: What a sampler reads and changes: the bytes that the loader still reads into its current block, of which the row of the
        #: last one ends it; the number of rows that it passed because it had seen their shapes; 16 of the shapes in the block.
        self.sampler = array("Q", [self._columns.room, 0, *_NO_SHAPES])
        # The shapes of all rows of the block; None once they are unknown or many.
        self._few: tuple[int, ...] | None = ()
        self._rows = 0
        self._gap = ""

    def note(self, lines: bytes, first: int) -> None:
        """Add lines, of which the first has this number. Empty lines are no rows."""
        self._columns.room = self.sampler[_ROOM]
        for number, line in enumerate(lines.split(b"\n"), first):
            if self._gap:
                return
            if line and not line.isspace():
                self._few = None
                self._note_row(line, number)
                self._rows += 1
                self._end_row(len(line) + 1)

    def note_samples(self, lines: bytes, first: int, rows: int, samples: Samples) -> None:
        """Add whole rows by samples of them, those of shapes that were not recent. Rows without samples are in the sampler.

        A sample tells about the rows of its block of the loader alone. At most one block ends before the last row.
        """
        self._columns.room = self.sampler[_ROOM]
        self._rows += rows
        begin = 0
        end_of_block = lines.find(b"\n", self._columns.room) + 1
        for shape, start, end in samples:
            if 0 < end_of_block <= start:
                self._end_row(end_of_block)
                begin, end_of_block = end_of_block, 0
            if shape in self._shapes or self._gap:
                continue
            if shape and len(self._shapes) < _MOST_SHAPES:
                self._shapes.add(shape)
            if not (shape and end - start <= _MOST_BYTES_KNOWN and self._note_shape(shape, lines[start:end])):
                self._few = None
                self._note_row(lines[start:end], first)
        self._end_row(len(lines) + (not lines.endswith(b"\n")) - begin)

    def _note_shape(self, shape: int, line: bytes) -> bool:
        """Add a row by its shape and return True, if the shapes of the block are few: most such columns have been found before."""
        if self._few is None or len(self._few) == _FEW:
            return False
        self._few = (*self._few, shape)
        seen = _known.get(self._few)
        if seen is None:
            seen = _known.get((shape,)) or _kept((shape,), _columns_of(line))
            if len(self._few) > 1:
                together = Looking()
                together.add(self._columns.current)
                together.add(seen, in_block=True)
                seen = _kept(self._few, together)
        self._columns.share(seen)
        return True

    def _note_row(self, line: bytes, number: int) -> None:
        try:
            self._columns.note(decode_row(line))
        except UNDECODABLE as error:
            self._gap = _TOO_DEEP if isinstance(error, RecursionError) else f"line {number:,} is no JSON object"

    def _end_row(self, size: int) -> None:
        try:
            ends_block = self._columns.pass_by(size)
            self.sampler[_ROOM] = self._columns.room
            if ends_block:
                self._shapes.clear()
                self.sampler[_RECENT] = _NO_SHAPES
                self._few = ()
        except RecursionError:
            self._gap = _TOO_DEEP

    def finish(self) -> Looked:
        """Return what was found."""
        self._columns.room = self.sampler[_ROOM]
        try:
            self._columns.end()
        except RecursionError:
            self._gap = self._gap or _TOO_DEEP
        if self._gap:
            return Looked(gap=self._gap)
        return Looked(tuple(self._columns.blocks), self._rows + self.sampler[_ROWS])


def each_row(lines: bytes) -> Samples:
    """Return whole lines, none of them empty, as samples of unknown shapes."""
    ends = accumulate(len(line) + 1 for line in lines.removesuffix(b"\n").split(b"\n"))
    return [(0, start, end - 1) for start, end in pairwise(chain([0], ends))]


def _columns_of(line: bytes) -> Looking:
    columns = Looking()
    columns.note_rows([decode_row(line)])
    return columns


def _kept(shapes: tuple[int, ...], columns: Looking) -> Looking:
    """Keep the columns of rows of some shapes."""
    if len(_known) == _MOST_KNOWN:
        _known.clear()
    _known[shapes] = columns
    return columns
