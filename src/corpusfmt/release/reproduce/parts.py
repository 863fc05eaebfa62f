"""Internal: The lines of a release, and those of a rebuilt input, in the form in which they are compared.

A *unit* is what the build writes of one record into one file: a document of several lines, or a row. Its place is its
number among the units of a language in the same kind of file, over all parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import xxhash
from msgspec import Struct

from corpusfmt.io.lines import Line, LongLine, lines
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Reader, StreamFault, open_chunks

#: What a file contains: documents, each followed by a blank line; rows of metadata with the offset of a document in its
#: part; or lines that are compared as they are.
Kind = Literal["documents", "metadata", "lines"]

# A longer document is compared in pieces. None that a build writes is.
_MOST_UNIT_BYTES = 128 * 1024 * 1024
_PLACE = re.compile(rb'"offset":([0-9]{1,18}),"nb_sentences":([0-9]{1,18})\}\Z')


class Piece(Struct, frozen=True, gc=False):
    """A line at its place; of a line that is too long to be compared, only its beginning is known."""

    path: str
    line: int
    byte: int
    data: bytes


class Unit(Struct, frozen=True, gc=False):
    """Lines that are compared as one, and a hash of what is compared."""

    pieces: Sequence[Piece]
    key: bytes
    record: str = ""


class Stream(Struct, frozen=True):
    """One kind of file of a language: its parts, in order."""

    kind: Kind
    parts: Sequence[Entry]


class Broken(Exception):
    """A compressed file of the release cannot be read to its end."""

    def __init__(self, path: str, fault: StreamFault) -> None:
        super().__init__(path)
        self.path, self.fault = path, fault


def chunks_of(entry: Entry, file: Reader) -> Iterator[bytes]:
    """Yield the uncompressed content of an open file, by the compression in its name. Raises `Broken`."""
    try:
        yield from open_chunks(file, entry.name, entry.path)
    except StreamFault as fault:
        raise Broken(entry.path, fault) from fault


def units(stream: Stream, *, skip: int = 0, sizes: Sequence[int] = ()) -> Iterator[Unit]:
    """Yield the units of a stream, without the first `skip`; parts whose `sizes` show that they are skipped are not read."""
    for number, entry in enumerate(stream.parts):
        if number < len(sizes) and sizes[number] <= skip:
            skip -= sizes[number]
            continue
        for unit in units_of(stream.kind, entry):
            if skip:
                skip -= 1
            else:
                yield unit


def units_of(kind: Kind, entry: Entry) -> Iterator[Unit]:
    """Yield the units of one part."""
    with entry.open() as file:
        found = (_piece(entry.path, each) for each in lines(chunks_of(entry, file)))
        if kind == "documents":
            yield from _documents(found)
        elif kind == "metadata":
            yield from _metadata(found)
        else:
            yield from (_unit([piece], piece.data) for piece in found)


def line_by_line(found: Iterator[Unit]) -> Iterator[Unit]:
    """Yield each line of documents as a unit."""
    for unit in found:
        for piece in unit.pieces:
            yield _unit([piece], piece.data, unit.record)


def _piece(path: str, line: Line | LongLine) -> Piece:
    if isinstance(line, LongLine):
        return Piece(path, line.line, line.byte, b"(a line of %d bytes)" % line.length)
    return Piece(path, line.line, line.byte, line.data)


def _unit(pieces: Sequence[Piece], data: bytes, record: str = "") -> Unit:
    return Unit(pieces, xxhash.xxh3_128_digest(data), record)


def _documents(found: Iterator[Piece]) -> Iterator[Unit]:
    """Yield documents; a blank line without a document before it is a unit as well."""
    held: list[Piece] = []
    size = 0
    for piece in found:
        if piece.data:
            held.append(piece)
            size += len(piece.data)
            if size <= _MOST_UNIT_BYTES:
                continue
        yield _unit(held or [piece], b"\n".join(each.data for each in held))
        held, size = [], 0
    if held:
        yield _unit(held, b"\n".join(each.data for each in held))


def _metadata(found: Iterator[Piece]) -> Iterator[Unit]:
    """Yield rows of metadata: a right offset, which depends on what is before it in the part, is left out."""
    following = 0
    for piece in found:
        place = _PLACE.search(piece.data)
        if place is None:
            yield _unit([piece], piece.data)
            continue
        compared = piece.data
        if int(place[1]) == following:
            compared = piece.data[: place.start(1)] + piece.data[place.end(1) :]
        following = int(place[1]) + int(place[2]) + 1
        yield _unit([piece], compared)
