"""Internal: Lines and blocks of lines with their positions. Only LF ends a line: real text contains the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct

from corpusfmt.io.scan import count_lines
from corpusfmt.io.streams import StreamFault

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

    Raises `StreamFault` as the chunks do: of bytes after the stream, when all of its lines have been yielded; of a corrupt stream
    without the line that it breaks off in.
    """
    behind: list[StreamFault] = []
    head: list[bytes] = []
    head_size = 0
    overlong = False
    line, byte = 1, 0
    for chunk in _to_the_end(chunks, behind):
        end = chunk.rfind(b"\n") + 1
        if not end:
            head_size += len(chunk)
            overlong = overlong or head_size > max_line_bytes
            if overlong:
                head.clear()
            else:
                head.append(chunk)
            continue
        start = 0
        if overlong or head_size + chunk.find(b"\n") > max_line_bytes:
            start = chunk.find(b"\n") + 1
            yield LongLine(line, byte, head_size + start - 1)
            line, byte = line + 1, byte + head_size + start
            head.clear()
            overlong = False
        if end > start or head:
            data = b"".join((*head, memoryview(chunk)[start:end])) if head else chunk[start:end]
            yield from _within(Block(data, line, byte), max_line_bytes)
            line, byte = line + count_lines(data), byte + len(data)
        head = [chunk[end:]] if end < len(chunk) else []
        head_size = len(chunk) - end
    if overlong:
        yield LongLine(line, byte, head_size)
    elif head:
        yield from _within(Block(b"".join(head), line, byte), max_line_bytes)
    if behind:
        raise behind[0]


def _to_the_end(chunks: Iterable[bytes], behind: list[StreamFault]) -> Iterator[bytes]:
    """Yield the chunks of a stream; keep the fault of what follows its end."""
    try:
        yield from chunks
    except StreamFault as fault:
        if fault.is_broken:
            raise
        behind.append(fault)


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
