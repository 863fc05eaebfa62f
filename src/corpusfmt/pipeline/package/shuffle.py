"""Internal: Shuffle any number of lines by a seed, in bounded memory and on local disk.

A line's key is the xxh64, with the seed, of its number; lines are written in the order of their keys. The order depends
only on the seed and the number of lines.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

import xxhash

_MEMORY = 64 * 1024 * 1024
# Memory of a line in addition to its bytes.
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
    """Yield the lines, shuffled by `seed` (64 bits).

    About `memory` bytes of lines are kept in memory at one time; more lines go through files in `folder`.
    """
    rows = (_Row(xxhash.xxh64_intdigest(_NUMBER.pack(number), seed), line) for number, line in enumerate(lines))
    return _ordered(rows, 0, folder, memory)


def _ordered(rows: Iterator[_Row], depth: int, folder: Path, memory: int) -> Iterator[bytes]:
    """Yield the lines of rows whose keys share the first `depth` bytes, sorted by key."""
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
    # Another worker may run the same task at the same time.
    with TemporaryDirectory(dir=folder) as own:
        paths = _scattered(chain(held, rows), depth, Path(own))
        held.clear()
        for path in paths:
            yield from _ordered(_rows(path), depth + 1, folder, memory)
            path.unlink()


def _scattered(rows: Iterable[_Row], depth: int, folder: Path) -> list[Path]:
    """Write rows to one file per value of the next byte of their keys; rows keep their order within a file."""
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
