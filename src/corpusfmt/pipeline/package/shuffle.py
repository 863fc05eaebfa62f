"""Internal: Put any number of lines in an order that a seed alone decides, in bounded memory and on local disk.

A line's key is the xxh64, under the seed, of its number in the order in which lines come; lines are written in the order
of their keys. So the order depends on the seed and on how many lines there are, and on nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

import xxhash

_MEMORY = 64 * 1024 * 1024
# What a line in memory costs besides its bytes.
_ROW_BYTES = 150
_KEY_BYTES = 8
# For each of up to 256 files.
_BUFFER = 32 * 1024
_HEAD = struct.Struct("<QI")
_NUMBER = struct.Struct("<Q")


class _Row(NamedTuple):
    key: int
    line: bytes


def shuffled(lines: Iterable[bytes], seed: int, folder: Path, memory: int = _MEMORY) -> Iterator[bytes]:
    """Yield the lines in the order that `seed` (64 bits) decides.

    About `memory` bytes of lines are held at a time; what is more goes through files in `folder`.
    """
    rows = (_Row(xxhash.xxh64_intdigest(_NUMBER.pack(number), seed), line) for number, line in enumerate(lines))
    return _ordered(rows, 0, folder, memory)


def bytes_on_disk(text_bytes: int, lines: int) -> int:
    """Return what lines take in files until they are in order, by their bytes with line ends and by their number.

    One file of some 256 may lie there twice for a while, where it is too large to be sorted at once.
    """
    return text_bytes + lines * (_HEAD.size - 1)


def _ordered(rows: Iterator[_Row], depth: int, folder: Path, memory: int) -> Iterator[bytes]:
    """Yield the lines of rows whose keys agree in the first `depth` bytes, in the order of their keys."""
    held = []
    size = 0
    for row in rows:
        held.append(row)
        size += len(row.line) + _ROW_BYTES
        if size > memory and len(held) > 1 and depth < _KEY_BYTES:
            break
    else:
        held.sort(key=itemgetter(0))
        yield from map(itemgetter(1), held)
        return
    paths = _scattered(chain(held, rows), depth, folder)
    held.clear()
    for path in paths:
        yield from _ordered(_rows(path), depth + 1, folder, memory)
        path.unlink()


def _scattered(rows: Iterable[_Row], depth: int, folder: Path) -> list[Path]:
    """Write rows into a file for each value of the next byte of their keys; rows keep their order within a file."""
    shift = 8 * (_KEY_BYTES - 1 - depth)
    files: dict[int, BinaryIO] = {}
    with ExitStack() as stack:
        for key, line in rows:
            value = key >> shift & 0xFF
            if value not in files:
                files[value] = stack.enter_context(_bucket(folder, depth, value).open("wb", buffering=_BUFFER))
            files[value].write(_HEAD.pack(key, len(line)) + line)
    return [_bucket(folder, depth, value) for value in sorted(files)]


def _bucket(folder: Path, depth: int, value: int) -> Path:
    return folder / f"shuffle-{depth}-{value}.rows"


def _rows(path: Path) -> Iterator[_Row]:
    with path.open("rb") as file:
        while head := file.read(_HEAD.size):
            key, length = _HEAD.unpack(head)
            yield _Row(key, file.read(length))
