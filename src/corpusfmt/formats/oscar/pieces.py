"""Internal: Split a text into documents at separators, many at a time in clean text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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

    def add(self, line: bytes | LongLine, limit: int, count: int) -> None:
        self.count += count
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
        if found is None:
            yield from self._line_by_line(block.data, number, byte)
            return
        if len(found) <= _FIRST + _LAST:
            yield from self._documents([document for document, _ in found], number, byte)
            return
        first = [document for document, _ in found[:_FIRST]]
        yield from self._documents([*first, b""], number, byte)
        yield from self.end()
        number += sum(count + 1 for _, count in found[:_FIRST])
        byte += sum(len(document) + len(_TAIL) for document in first)
        for document, count in found[_FIRST:-_LAST]:
            size = len(document) + 1
            yield Piece(number, byte, [document], count, size, tail=_TAIL)
            number, byte = number + count + 1, byte + size + 1
        yield from self._documents([document for document, _ in found[-_LAST:]], number, byte)

    def end(self) -> Iterator[Piece]:
        """Yield the last document, if there is one."""
        if self._piece is not None:
            self._piece.tail = bytes(self._blank)
            yield self._piece
            self._piece = None
            self._blank.clear()

    def _documents(self, texts: Sequence[bytes], number: int, byte: int) -> Iterator[Piece]:
        """Take texts with an empty line between each two; only the first line of all may be blank."""
        for index, text in enumerate(texts, 1 - len(texts)):
            if not (index or text):
                return
            # The line end of the last one is within it, if it has one.
            end = b"\n" if index or text.endswith(b"\n") else b""
            head, feed, rest = (text if index else text.removesuffix(b"\n")).partition(b"\n")
            yield from self._line(head, number, byte, feed or end)
            number, byte = number + 1, byte + len(head) + 1
            if feed:
                count = rest.count(b"\n") + 1
                yield from self._line(rest, number, byte, end, count)
                number, byte = number + count, byte + len(rest) + 1
            if index:
                yield from self._line(b"", number, byte, b"\n")
                number, byte = number + 1, byte + 1

    def _line_by_line(self, data: bytes, number: int, byte: int) -> Iterator[Piece]:
        *whole, rest = data.split(b"\n")
        for line in whole:
            yield from self._line(line, number, byte, b"\n")
            number, byte = number + 1, byte + len(line) + 1
        if rest:
            yield from self._line(rest, number, byte, b"")

    def _line(self, line: bytes | LongLine, number: int, byte: int, end: bytes, count: int = 1) -> Iterator[Piece]:
        """Take a line, or several of which none is blank."""
        if isinstance(line, bytes) and not line.strip(_BLANKS):
            self._blank += line + end
            self._gap += 1
            return
        if self._piece is not None and (self._blank != b"\n" or self._shuffled):
            yield from self.end()
        if self._piece is None:
            self._piece = Piece(number, byte, lead=bytes(self._blank), gap=self._gap)
        self._piece.add(line, self._limit, count)
        self._blank[:] = end
        self._gap = 0
