"""Internal: Split a text into documents at separators, many at a time in clean text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from corpusfmt.formats.oscar.check import Source
from corpusfmt.formats.oscar.write import CANONICAL_TAIL
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.scan import split_at_empty_lines

_TAIL = CANONICAL_TAIL.encode()
_BLANKS = b" \t\r"
# The first and last document of a block may continue in other blocks, or have other separators around them.
_FIRST, _LAST = 2, 2


class Piece(Struct):
    """A document of a text file: first line (from 0), number of lines, and the separators around it.

    `chunks` are its lines, one or more in each; they are dropped if it is `too_long`. `size` is in bytes, including
    every LF.
    """

    start: int
    byte: int
    chunks: list[bytes] = field(default_factory=list)
    count: int = 0
    size: int = 0
    lead: bytes = b""
    tail: bytes = b""
    gap: int = 1
    too_long: bool = False

    @property
    def data(self) -> bytes:
        return self.chunks[0] if len(self.chunks) == 1 else b"\n".join(self.chunks)

    def add(self, line: bytes | LongLine, limit: int) -> None:
        self.count += 1
        self.size += (line.length if isinstance(line, LongLine) else len(line)) + 1
        if self.too_long or isinstance(line, LongLine) or self.size - 1 > limit:
            self.chunks.clear()
            self.too_long = True
        else:
            self.chunks.append(line)


def pieces(blocks: Iterable[Block | LongLine], source: Source, limit: int, *, shuffled: bool) -> Iterator[Piece]:
    """Split text into documents; the last document of a truncated stream is dropped."""
    cutter = _Cutter(limit, shuffled=shuffled)
    for block in blocks:
        yield from cutter.feed(block)
    if not source.cut:
        yield from cutter.end()


class _Cutter:
    """Splits lines into documents, and keeps the document that the next line may belong to."""

    def __init__(self, limit: int, *, shuffled: bool) -> None:
        self._limit = limit
        self._shuffled = shuffled
        self._piece: Piece | None = None
        # The separators before the first document, or after the current one.
        self._blank = bytearray()
        self._gap = 1

    def feed(self, block: Block | LongLine) -> Iterator[Piece]:
        """Yield the documents that end in a block, except one that may continue in the next."""
        if isinstance(block, LongLine):
            yield from self._line(block, block.line - 1, block.byte, b"\n")
            return
        number, byte = block.line - 1, block.byte
        plain = not self._shuffled and len(block.data) <= self._limit
        found = split_at_empty_lines(block.data) if plain else None
        if found is None or len(found) <= _FIRST + _LAST:
            yield from self._line_by_line(block.data, number, byte)
            return
        first = b"".join(document + _TAIL for document, _ in found[:_FIRST])
        yield from self._line_by_line(first, number, byte)
        yield from self.end()
        number, byte = number + first.count(b"\n"), byte + len(first)
        for document, count in found[_FIRST:-_LAST]:
            size = len(document) + 1
            yield Piece(number, byte, [document], count, size, tail=_TAIL)
            number, byte = number + count + 1, byte + size + 1
        yield from self._line_by_line(_TAIL.join(document for document, _ in found[-_LAST:]), number, byte)

    def end(self) -> Iterator[Piece]:
        """Yield the last document, if there is one."""
        if self._piece is not None:
            self._piece.tail = bytes(self._blank)
            yield self._piece
            self._piece = None
            self._blank.clear()

    def _line_by_line(self, data: bytes, number: int, byte: int) -> Iterator[Piece]:
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield from self._line(line, number, byte, b"\n")
            number, byte = number + 1, byte + len(line) + 1
        if rest:
            yield from self._line(rest, number, byte, b"")

    def _line(self, line: bytes | LongLine, number: int, byte: int, end: bytes) -> Iterator[Piece]:
        if isinstance(line, bytes) and not line.strip(_BLANKS):
            self._blank += line + end
            self._gap += 1
            return
        if self._piece is not None and (self._blank != b"\n" or self._shuffled):
            yield from self.end()
        if self._piece is None:
            self._piece = Piece(number, byte, lead=bytes(self._blank), gap=self._gap)
        self._piece.add(line, self._limit)
        self._blank[:] = end
        self._gap = 0
