"""For formats: The documents of a text, which blank lines, line ends, elements or a separator tell apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal, NamedTuple

from msgspec import Struct, field

from corpusfmt.formats.general import bad_text
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.scan import split_at_empty_lines
from corpusfmt.io.text import utf8_fault
from corpusfmt.model import Fault, Location

#: How the documents of text are told apart; `elements` are those of WikiExtractor.
DividedBy = Literal["blank-lines", "files", "lines", "elements", "separator"]

#: A line of these alone separates documents.
BLANKS = b" \t\r"
_LINE_END = re.compile(rb"(?P<end>\n)")
#: The end of a document of WikiExtractor.
_ELEMENT_END = re.compile(rb"(?m)^</doc>(?P<end>[ \t\r]*(?:\n\s*|\Z))")
_LEADING_BLANK_LINES = re.compile(rb"(?:[ \t\r]*+\n)*+")
_BLANK_LINES = re.compile(rb"\n(?:(?:[ \t\r]*+\n)++(?:[ \t\r]++\Z)?|[ \t\r]++\Z)")

# The first and last document of a block may continue in other blocks, or have other separators around them.
_FIRST, _LAST = 2, 2


class Piece(Struct):
    """A document: its first line (from 1) and byte, the number of its lines, and its bytes without the last LF.

    `lead` is what separates the first document from the beginning of the file; `tail` is the LF of the last line, and what
    separates it from the next document; `gap` is the number of blank lines before it, and one more for the first. A document
    that `is_too_long` has a size, and no data.
    """

    line: int
    byte: int
    lines: int = 0
    size: int = 0
    lead: bytes = b""
    tail: bytes = b""
    gap: int = 1
    is_too_long: bool = False
    chunks: list[bytes] = field(default_factory=list)

    @property
    def data(self) -> bytes:
        return self.chunks[0] if len(self.chunks) == 1 else b"".join(self.chunks)


def pieces(
    found: Iterable[Block | LongLine],
    limit: int,
    divided_by: DividedBy,
    separator: str = "",
    *,
    is_whole: Callable[[], bool] = lambda: True,
    keeps_separators: bool = True,
) -> Iterator[Piece]:
    """Yield the documents of a file that are not blank; those of more than `limit` bytes are too long.

    The last one is dropped if the file is not whole. Without `keeps_separators`, which may have any length, `lead` and
    `tail` have no meaning.
    """
    ends = _ends_of(divided_by, separator)
    # A blank line at the beginning of a document may otherwise belong to it.
    skips_blanks = divided_by in ("blank-lines", "lines")
    piece: Piece | None = None
    around, gap, has_ended = bytearray(), 1, False
    for block in _divided(found, limit) if divided_by == "blank-lines" else found:
        if isinstance(block, Piece):
            if piece is not None:
                piece.tail = bytes(around)
                yield piece
            yield block
            piece, gap, has_ended = None, 1, False
            around.clear()
            continue
        for part in _parts(block, ends, each_line=divided_by == "lines"):
            if part.text is None or (part.text.strip(BLANKS) if skips_blanks else part.lines):
                if piece is not None and has_ended:
                    piece.tail = bytes(around)
                    around.clear()
                    if skips_blanks or not _is_blank(piece):
                        yield piece
                    piece = None
                if piece is None:
                    piece = Piece(part.line, part.byte, lead=bytes(around), gap=gap)
                elif around:
                    piece.chunks.append(b"\n")
                    piece.size += 1
                piece.lines += part.lines
                piece.size += part.size
                if part.text is None or piece.is_too_long or piece.size > limit:
                    piece.chunks.clear()
                    piece.is_too_long = True
                else:
                    piece.chunks.append(part.text)
                around.clear()
                gap, has_ended = 0, False
            elif part.text:
                around += part.text
                has_ended = True
            around += part.after
            if not keeps_separators:
                del around[1:]
            gap += part.blank_lines
            has_ended = has_ended or part.is_end
    if piece is not None and is_whole() and not _is_blank(piece):
        piece.tail = bytes(around)
        yield piece


def _divided(found: Iterable[Block | LongLine], limit: int) -> Iterator[Block | LongLine | Piece]:
    """Yield blocks, with the documents in the middle of one if each is followed by one empty line, which is faster."""
    for block in found:
        texts = split_at_empty_lines(block.data) if isinstance(block, Block) and len(block.data) <= limit else None
        if texts is None or isinstance(block, LongLine) or len(texts) <= _FIRST + _LAST:
            yield block
            continue
        before = sum(len(text) + 2 for text, _ in texts[:_FIRST])
        line = block.line + sum(count + 1 for _, count in texts[:_FIRST])
        yield Block(block.data[:before], block.line, block.byte)
        byte = block.byte + before
        for text, count in texts[_FIRST:-_LAST]:
            yield Piece(line, byte, count, len(text), tail=b"\n\n", chunks=[text])
            line, byte = line + count + 1, byte + len(text) + 2
        yield Block(block.data[byte - block.byte :], line, byte)


def _is_blank(piece: Piece) -> bool:
    return not piece.is_too_long and not piece.data.strip(BLANKS + b"\n")


def utf8_fault_in(piece: Piece, at: Location) -> Fault | None:
    """Return the fault of the first line that is not UTF-8, given the place of the document."""
    data = piece.data
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        fault = utf8_fault(data[start : data.find(b"\n", error.start) + 1 or None].removesuffix(b"\n"))
        assert fault is not None
        line = piece.line + data.count(b"\n", 0, start)
        return bad_text(Location(at.path, line, piece.byte + start + fault.column - 1, fault.column), fault.reason)
    return None


class _Part(NamedTuple):
    """Bytes of one document in a block without their last LF (None for a line that is too long), and what follows them."""

    text: bytes | None
    line: int
    byte: int
    lines: int
    size: int
    after: bytes
    blank_lines: int
    is_end: bool


def _parts(
    block: Block | LongLine, ends: Callable[[bytes], Iterable[tuple[int, int]]], *, each_line: bool
) -> Iterator[_Part]:
    if isinstance(block, LongLine):
        yield _Part(None, block.line, block.byte, 1, block.length, b"\n", 0, each_line)
        return
    data, line, start = block.data, block.line, 0
    for end, following in chain(ends(data), [(len(data), len(data))]):
        has_line_end = data.endswith(b"\n", start, end)
        text, after = data[start : end - has_line_end], data[end - has_line_end : following]
        more, around = text.count(b"\n"), after.count(b"\n")
        is_end = following > end
        lines = more + (end > start)
        yield _Part(text, line, block.byte + start, lines, len(text), after, around - has_line_end, is_end)
        line, start = line + more + around, following


def _ends_of(divided_by: DividedBy, separator: str) -> Callable[[bytes], Iterable[tuple[int, int]]]:
    """Return what yields in whole lines where a document ends, and what follows begins."""
    if divided_by == "blank-lines":
        return blank_lines
    if divided_by == "files":
        return lambda _data: ()
    by_separator = re.compile(rb"(?P<end>%b\r?\n?)" % re.escape(separator.encode()))
    pattern = {"lines": _LINE_END, "elements": _ELEMENT_END}.get(divided_by, by_separator)
    return lambda data: (match.span("end") for match in pattern.finditer(data))


def blank_lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the runs of blank lines in whole lines, as first and last offset."""
    leading = _LEADING_BLANK_LINES.match(data)
    if leading and leading.end():
        yield leading.span()
    for match in _BLANK_LINES.finditer(data, leading.end() if leading else 0):
        yield match.start() + 1, match.end()
