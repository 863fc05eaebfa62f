"""Internal: Sorted runs on local disk: rows of 64-bit integers, of which any range is read without the rest.

A run is a file of one column after another, sorted by the first, which is a hash. Its name ends in the XXH3 of its bytes.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import xxhash

from corpusfmt.io.limits import meter

#: After the last hash.
END = 1 << 64
_SUFFIX = ".keys"
_BYTES = 8


try:
    from corpusfmt.io._native import sorted_columns
except ImportError:  # no wheel for this platform and no compiler: same results, more slowly

    def sorted_columns(columns: bytes, width: int, /) -> bytes:
        """Return the columns of a table, its rows stably sorted by the first, and then the numbers that they had.

        Columns follow each other, as native 64-bit integers.
        """
        values = array("Q", columns)
        rows = len(values) // width
        order = sorted(range(rows), key=values.__getitem__)
        starts = range(0, width * rows, max(rows, 1))
        sorted_values = (map(values[start : start + rows].__getitem__, order) for start in starts)
        return b"".join(array("Q", column).tobytes() for column in (*sorted_values, order))


class RunWriter:
    """Writes rows as runs below a folder, as soon as there are `most`; `name` has the same length for all writers."""

    def __init__(self, folder: Path, name: str, width: int, most: int) -> None:
        self._folder, self._name, self._most = folder, name, most
        self.columns = [array("Q") for _ in range(width)]
        self.runs = 0

    def add_columns(self, columns: Iterable[bytes]) -> None:
        """Add rows, given as the bytes of each column."""
        for column, numbers in zip(self.columns, columns, strict=True):
            column.frombytes(numbers)
        self.spill_if_full()

    def spill_if_full(self) -> None:
        """Write the rows in `columns` if they fill a run."""
        if len(self.columns[0]) >= self._most:
            self.close()

    def close(self) -> None:
        """Write the remaining rows."""
        # An interrupt may have come after the first number of a row, before the last one.
        for column in self.columns:
            del column[min(map(len, self.columns)) :]
        if self.columns[0]:
            data = b"".join(self.columns)
            rows = memoryview(sorted_columns(data, len(self.columns)))[: len(data)]
            self._folder.mkdir(parents=True, exist_ok=True)
            name = f"{self._name}-{self.runs:05d}-{xxhash.xxh3_64_hexdigest(rows)}{_SUFFIX}"
            (self._folder / name).write_bytes(rows)
            self.runs += 1
            for column in self.columns:
                del column[:]


def damaged_runs(folder: Path) -> Iterator[Path]:
    """Yield the runs below a folder whose bytes are not those that were written."""
    for run in map(Path, sorted(_runs_below(str(folder)))):
        if xxhash.xxh3_64_hexdigest(run.read_bytes()) != run.stem.rpartition("-")[2]:
            yield run


class Runs:
    """The runs below some folders, in the order of their paths."""

    def __init__(self, folders: Iterable[Path], width: int) -> None:
        self.width = width
        self.paths = sorted(path for folder in folders for path in _runs_below(str(folder)))

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(os.path.getsize, self.paths)) // (_BYTES * self.width)

    def number(self, low: int, high: int) -> int:
        """Return the number of rows whose hashes are at least `low` and below `high`."""
        return sum(end - start for _, start, end in self._within(low, high))

    def read(self, low: int, high: int) -> list[array[int]]:
        """Return the columns of the rows whose hashes are at least `low` and below `high`, those of one run after those of another."""
        columns = [array("Q") for _ in range(self.width)]
        for piece in self.pieces(low, high, END):
            for column, numbers in zip(columns, piece, strict=True):
                column.frombytes(numbers.cast("B"))
        meter().add(len(columns[0]) * self.width * _BYTES, 0)
        return columns

    def pieces(self, low: int, high: int, most: int) -> Iterator[list[memoryview[int]]]:
        """Yield the rows of `read`, at most some at a time."""
        for columns, start, end in self._within(low, high):
            for first in range(start, end, most):
                yield [column[first : min(first + most, end)] for column in columns]

    def _within(self, low: int, high: int) -> Iterator[tuple[list[memoryview[int]], int, int]]:
        for path in self.paths:
            with open(path, "rb") as run:
                values = memoryview(mmap(run.fileno(), 0, access=ACCESS_READ)).cast("Q")
            rows = len(values) // self.width
            columns = [values[start : start + rows] for start in range(0, len(values), rows)]
            start = bisect_left(columns[0], low)
            yield columns, start, bisect_left(columns[0], high, start)


def _runs_below(folder: str) -> Iterator[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _runs_below(entry.path)
            elif entry.name.endswith(_SUFFIX):
                yield entry.path


def ranges(runs: Sequence[Runs], most: int, low: int = 0, high: int = END) -> Iterator[tuple[int, int]]:
    """Yield ranges of hashes, of about `most` rows each and at most twice as many.

    A range of a single hash may have any number of rows.
    """
    total = sum(map(len, runs)) * (high - low) // END
    parts = max(1, -(-total // most))
    for start, end in pairwise([low + (high - low) * part // parts for part in range(parts)] + [high]):
        yield from _halved(runs, start, end, 2 * most)


def _halved(runs: Sequence[Runs], low: int, high: int, most: int) -> Iterator[tuple[int, int]]:
    if high - low == 1 or sum(each.number(low, high) for each in runs) <= most:
        yield low, high
        return
    middle = (low + high) // 2
    yield from _halved(runs, low, middle, most)
    yield from _halved(runs, middle, high, most)


__all__ = ["END", "RunWriter", "Runs", "damaged_runs", "ranges", "sorted_columns"]
