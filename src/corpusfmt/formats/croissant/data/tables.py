"""Internal: CSV and TSV files for checking: whole blocks that the kernel finds valid, and rows for all others."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from corpusfmt.formats.croissant.data import plain
from corpusfmt.formats.croissant.data.batches import Batch, Broken
from corpusfmt.formats.croissant.data.csvrows import BOM, TableLines, body, places_of, shifted, table
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.leaves import Leaf, takes_of
from corpusfmt.formats.croissant.data.plain import Accepted, KeyOf, Uneven, plainly
from corpusfmt.io.lines import Block, Line, LongLine, blocks, lines

# A quoted cell may cross blocks; a longer one is left to the reader of rows.
_MOST_PENDING = 16 * 1024 * 1024
# Larger than the blocks of other readers: a block costs a few dozen calls, regardless of its size.
_BLOCK = 1024 * 1024


def judged(opened: Opened, delimiter: str, leaves: Sequence[Leaf], keys: Sequence[KeyOf]) -> Iterator[Accepted | Batch]:
    """Yield the rows of a table: `Accepted` if they are clearly valid, else a batch to evaluate.

    `leaves` are columns without transformations; `keys` consist of some of them. Raises `Broken` like `rows.batches`.
    """
    takes = takes_of(leaves)
    if plain.native is None:
        yield from table(opened.path, lines(opened.contents), delimiter, takes)
        return
    pieces = _pieces(opened)
    first = next(pieces, None)
    if first is None:
        return
    head, newline, rest = (first.data.removeprefix(BOM) if isinstance(first, Block) else b"").partition(b"\n")
    header = _header(head, delimiter)
    if isinstance(first, LongLine) or not newline or not {take.name for take in takes} <= set(header):
        yield from table(opened.path, _lines_of(chain([first], pieces)), delimiter, takes)
        return
    begun = Block(rest, 2, first.byte + len(first.data) - len(rest))
    place_of = places_of(header, (leaf.take.name for leaf in leaves))
    places = [place_of[leaf.take.name] for leaf in leaves]
    pending = b""
    for piece in chain([begun] if rest else [], pieces):
        if isinstance(piece, LongLine):
            yield from _slowly(opened, Block(pending, begun.line, begun.byte), pieces, delimiter, header, leaves, piece)
            return
        if not pending:
            begun = piece
        data = pending + piece.data
        pending = b""
        try:
            accepted = plainly(data, delimiter, len(header), places, leaves, keys)
        except (ValueError, Uneven):
            yield from _slowly(opened, Block(data, begun.line, begun.byte), iter(()), delimiter, header, leaves)
            continue
        if accepted is not None:
            yield accepted
        elif data.count(b'"') % 2 and len(data) < _MOST_PENDING:
            pending = data
        else:
            # A row may cross the end of the block where a quote or CR is in a place that only the reader can interpret.
            crosses = b'"' in data or b"\r" in data
            rest_of_all = pieces if crosses else iter(())
            yield from _slowly(opened, Block(data, begun.line, begun.byte), rest_of_all, delimiter, header, leaves)
            if crosses:
                return
    if pending:
        yield from _slowly(opened, Block(pending, begun.line, begun.byte), iter(()), delimiter, header, leaves)


def _pieces(opened: Opened) -> Iterator[Block | LongLine]:
    gathered: list[bytes] = []
    size = 0

    def larger() -> Iterator[bytes]:
        nonlocal gathered, size
        try:
            for chunk in opened.contents:
                gathered.append(chunk)
                size += len(chunk)
                if size >= _BLOCK:
                    yield b"".join(gathered)
                    gathered, size = [], 0
        except Broken:
            yield b"".join(gathered)
            raise
        yield b"".join(gathered)

    return blocks(larger())


def _header(head: bytes, delimiter: str) -> list[str]:
    """Return the names of the columns, or none if only the reader of rows can parse them."""
    try:
        text = head.decode()
    except UnicodeDecodeError:
        return []
    if '"' in text and (text.count('"') % 2 or "\r" in text.rstrip("\r")):
        return []
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _lines_of(pieces: Iterable[Block | LongLine]) -> Iterator[Line | LongLine]:
    for piece in pieces:
        if isinstance(piece, Block):
            yield from shifted(lines([piece.data]), piece.line, piece.byte)
        else:
            yield piece


def _slowly(
    opened: Opened,
    begun: Block,
    rest: Iterator[Block | LongLine],
    delimiter: str,
    header: Sequence[str],
    leaves: Sequence[Leaf],
    long_line: LongLine | None = None,
) -> Iterator[Batch]:
    takes = takes_of(leaves)
    found = _lines_of(chain([begun] if begun.data else [], [long_line] if long_line is not None else [], rest))
    yield from body(TableLines(opened.path, found, begun.line - 1), delimiter, header, takes)
