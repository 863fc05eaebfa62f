"""Internal: Lines and blocks of lines with their positions. Only LF ends a line: real text contains the others.

Also the end of a text, where loaders of text by paragraph split a document, and lists of a user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

from corpusfmt.io.paths import Entry, open_named, printable, reason_of
from corpusfmt.io.scan import count_lines
from corpusfmt.io.streams import READ_SIZE, Chunks, Codec, DigestReader, StreamFault, codec_of_name
from corpusfmt.model import UsageError

#: Several copies of a line's text, with four bytes per character, must fit in 512 MiB.
MAX_LINE_BYTES = 32 * 1024 * 1024


class Block(Struct, frozen=True):
    """Whole lines: `data` ends with LF (except at the end of a file); `line` counts from 1, `byte` from 0."""

    data: bytes
    line: int
    byte: int


class LongLine(Struct, frozen=True):
    """A line over the limit: measured, not stored. `length` is in bytes, without the LF."""

    line: int
    byte: int
    length: int


class Line(Struct, frozen=True):
    """One line without its LF. `terminated` is false for a last line without one."""

    data: bytes
    line: int
    byte: int
    terminated: bool = True


def blocks(
    chunks: Iterable[bytes],
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[Block | LongLine]:
    """Regroup chunks of any size into blocks of whole lines; memory is bounded by chunk size and `max_line_bytes`.

    Raises `StreamFault` as the chunks do, when all lines have been yielded. The line in which a corrupt stream breaks off is
    yielded only if it exceeds the limit already.
    """
    faults: list[StreamFault] = []
    head: list[bytes] = []
    head_size = 0
    line, byte = 1, 0
    for chunk in _to_the_end(chunks, faults):
        end = chunk.rfind(b"\n") + 1
        if not end:
            head_size += len(chunk)
            if head_size > max_line_bytes:
                head.clear()
            else:
                head.append(chunk)
            continue
        start = 0
        if head_size + chunk.find(b"\n") > max_line_bytes:
            start = chunk.find(b"\n") + 1
            yield LongLine(line, byte, head_size + start - 1)
            line, byte = line + 1, byte + head_size + start
            head.clear()
        if end > start or head:
            data = b"".join((*head, memoryview(chunk)[start:end])) if head else chunk[start:end]
            yield from _within(Block(data, line, byte), max_line_bytes)
            line, byte = line + count_lines(data), byte + len(data)
        head = [chunk[end:]] if end < len(chunk) else []
        head_size = len(chunk) - end
    if head_size > max_line_bytes:
        yield LongLine(line, byte, head_size)
    elif head and not any(fault.is_broken for fault in faults):
        yield Block(b"".join(head), line, byte)
    for fault in faults:
        raise fault


def _to_the_end(chunks: Iterable[bytes], faults: list[StreamFault]) -> Iterator[bytes]:
    try:
        yield from chunks
    except StreamFault as fault:
        faults.append(fault)


def _within(block: Block, max_line_bytes: int) -> Iterator[Block | LongLine]:
    if len(block.data) <= max_line_bytes:
        yield block
        return
    line, byte = block.line, block.byte
    *whole, rest = block.data.split(b"\n")
    for data in chain((each + b"\n" for each in whole), [rest] if rest else []):
        length = len(data) - data.endswith(b"\n")
        yield LongLine(line, byte, length) if length > max_line_bytes else Block(data, line, byte)
        line, byte = line + 1, byte + len(data)


class Run(Struct, frozen=True):
    """A number of equal consecutive lines without LF, at the position of the first."""

    data: bytes
    line: int
    byte: int
    count: int


def runs(block: Block) -> Iterator[Run]:
    """Yield the lines of a block, with equal neighbours as one run."""
    line, start = block.line, 0
    while start < len(block.data):
        run = first_run(block, line, start)
        yield run
        line, start = line + run.count, start + run.count * (len(run.data) + 1)


def first_run(block: Block, line: int, start: int) -> Run:
    """Return the run that begins at an offset of a block, with a line."""
    data = block.data
    end = data.find(b"\n", start) + 1 or len(data) + 1
    size, text = end - start, data[start : end - 1]
    again = data[start:end]
    while data.startswith(again, end):  # twice as many at a time
        end += len(again)
        again += again
    while len(again) > size:
        again = again[: len(again) // 2]
        if data.startswith(again, end):
            end += len(again)
    if len(data) - end == size - 1 > 0 and data.endswith(text):  # the last line of a file
        end += size
    return Run(text, line, block.byte + start, (end - start) // size)


def lines(chunks: Iterable[bytes], max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Line | LongLine]:
    """Yield every line with its position."""
    for block in blocks(chunks, max_line_bytes):
        if isinstance(block, LongLine):
            yield block
            continue
        number, byte = block.line, block.byte
        *whole, rest = block.data.split(b"\n")
        for data in whole:
            yield Line(data, number, byte)
            number, byte = number + 1, byte + len(data) + 1
        if rest:
            yield Line(rest, number, byte, terminated=False)


# LF alone: a gzip member without time or name (RFC 1952), and a zstd frame (RFC 8878).
_LF: dict[Codec, bytes] = {
    "plain": b"\n",
    "gzip": bytes.fromhex("1f8b0800000000000003 e30200 9306d732 01000000"),
    "zstd": bytes.fromhex("28b52ffd 2001 090000 0a"),
}


def open_line(entry: Entry) -> bytes:
    """Return the last line of a text, plain or in gzip or zstd, if it does not end with LF and the text is whole.

    Of a line that is too long to be read, only the end is returned.
    """
    if codec_of_name(entry.name) not in _LF:
        return b""
    parts: list[bytes] = []
    held = 0
    try:
        with entry.open() as file:
            for chunk in Chunks(file, codec_of_name(entry.name), entry.path):
                _, ended, rest = chunk.rpartition(b"\n")
                if ended or held > MAX_LINE_BYTES:
                    parts.clear()
                    held = 0
                parts.append(rest)
                held += len(rest)
    except (OSError, StreamFault):
        return b""
    return b"".join(parts)


def with_newline(entry: Entry) -> Iterator[bytes]:
    """Yield the bytes of a file as they are, and then LF, in a member or frame of its own if it is compressed."""
    with entry.open() as file:
        yield from iter(lambda: file.read(READ_SIZE), b"")
    yield _LF[codec_of_name(entry.name)]


_ENDS = re.compile(rb"[\r\n]+")
# Two line ends in a row that are not LF LF.
_EMPTY_LINE = re.compile(rb"[\r\n]\r")
# A document of carriage returns alone, which becomes no row.
_ONLY_RETURNS = re.compile(rb"\n\n\r[\r\n]*\n\n")


def split_at(documents: bytes) -> int:
    """Return the place where a document is split, -1 if each of them becomes one row; LF LF separates documents.

    An empty line at the end counts, because it may become a row if no other document follows.
    """
    if b"\r" not in documents:
        return -1
    for ends in _ENDS.finditer(documents, len(documents) - len(documents.lstrip(b"\r\n"))):
        pattern = _ONLY_RETURNS if b"\n\n" in ends[0] and ends.end() < len(documents) else _EMPTY_LINE
        if found := pattern.search(ends[0]):
            return ends.start() + found.start() + (2 if pattern is _ONLY_RETURNS else 1)
    return -1 if documents.strip(b"\r\n") else 0


class Splits:
    """Whether a document is split in a text that is written in pieces, which end anywhere."""

    def __init__(self) -> None:
        self._found = False
        self._held = b""

    def add(self, data: bytes) -> None:
        """Look at the next piece."""
        if self._found or not data:
            return
        # The line ends at the end of a piece may go on in the next one, and the byte before them says that a text has begun.
        size = len(data.rstrip(b"\r\n"))
        if size and b"\r" not in data and b"\r" not in self._held:
            self._held = data[size - 1 :]
            return
        data = self._held + data
        size = len(data.rstrip(b"\r\n"))
        self._found = split_at(data[:size]) >= 0
        self._held = data[max(size - 1, 0) :]

    def finish(self) -> bool:
        """Return whether a document is split, now that no other piece follows."""
        return self._found or split_at(self._held) >= 0


def first_split(chunks: Iterable[bytes]) -> tuple[int, int] | None:
    """Return the line, from 1, and its first byte at which a text of documents is first split; None if nowhere."""
    line, byte, held = 1, 0, b""
    for chunk in chain(chunks, [b""]):
        data = held + chunk
        # The line ends at the end of a chunk may go on in the next one.
        size = len(data.rstrip(b"\r\n")) if chunk else len(data)
        if (place := split_at(data[:size])) >= 0:
            return line + data.count(b"\n", 0, place), byte + data.rfind(b"\n", 0, place) + 1
        start = max(size - 1, 0)
        line, byte, held = line + data.count(b"\n", 0, start), byte + start, data[start:]
    return None


_MOST_ENTRY_BYTES = 16 * 1024
# Memory overhead of an entry, and memory for all entries: about three million paths, or five million URLs.
_ENTRY_BYTES = 60
_MOST_HELD_BYTES = 320 * 1024 * 1024
# The share of a text that counts if only its digest is kept: what is read is bounded, too.
_DIGESTED_SHARE = 4


class Entries:
    """The entries of a list, which may be compressed, one by one; `sha256` is that of its file once all are read.

    `what` names the entries in messages. Raises `UsageError` that names the list and the wrong line, also if the caller
    could not keep the entries in memory; `digested` is whether it keeps only digests of them.
    """

    def __init__(self, source: str | Entry, what: str, *, digested: bool = False) -> None:
        self._source = source
        self._what = what
        self._share = _DIGESTED_SHARE if digested else 1
        self.sha256 = ""

    def __iter__(self) -> Iterator[str]:
        source, what, held = self._source, self._what, 0
        path = source.url if isinstance(source, Entry) else source
        shown = printable(path)
        try:
            with source.open() if isinstance(source, Entry) else open_named(source) as file:
                reader = DigestReader(file)
                for line in lines(Chunks(reader, codec_of_name(path), shown), _MOST_ENTRY_BYTES):
                    try:
                        entry = line.data.decode().strip() if isinstance(line, Line) else "\0"
                    except UnicodeDecodeError:
                        entry = "\0"
                    if "\0" in entry:
                        raise UsageError(f"{shown}:{line.line}: not a line of text; expected a list of {what}")
                    if entry:
                        held += len(entry) // self._share + _ENTRY_BYTES
                        if held > _MOST_HELD_BYTES:
                            raise UsageError(
                                f"{shown}:{line.line}: the list of {what} needs more than {_MOST_HELD_BYTES:,} bytes of "
                                "memory: split it"
                            )
                        yield entry
                reader.drain()
        except OSError as error:
            raise UsageError(f"cannot read the list of {what} {shown}: {reason_of(error)}") from error
        except StreamFault as fault:
            raise UsageError(f"cannot read the list of {what} {shown}: {fault.reason}") from fault
        if not held:
            raise UsageError(f"the list of {what} {shown} is empty")
        self.sha256 = reader.sha256
