"""Internal: Rows of digests on local disk, in sorted runs; any range can be read without the rest.

A row is seven 64-bit numbers. The first one is uniformly distributed. A run is sorted by its first bits; its index has
the start of each bucket, which is one of many equal ranges of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import FileIO
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from corpusfmt.io.limits import meter

Rows = npt.NDArray[np.uint64]

COLUMNS = 7
ROW_BYTES = 8 * COLUMNS
_BUCKET_BITS = 12
BUCKETS = 1 << _BUCKET_BITS
_SHIFT = 64 - _BUCKET_BITS
_INDEX_BYTES = 4 * (BUCKETS + 1)
# Sorting 16-bit numbers is much faster than sorting longer ones.
_DIGIT = 16
#: The number of rows in a run, except the last one of a file.
RUN_ROWS = 1 << 18
#: The number of rows of two releases that are matched at a time, if uniformly distributed.
RANGE_ROWS = 1 << 17


class Range(Struct, frozen=True):
    """The rows whose first number is at least `low` and below `high`."""

    low: int
    high: int

    @property
    def buckets(self) -> tuple[int, int]:
        return self.low >> _SHIFT, ((self.high - 1) >> _SHIFT) + 1

    @property
    def is_whole(self) -> bool:
        """Whether it begins and ends at the bounds of buckets."""
        first, last = self.buckets
        return self.low == first << _SHIFT and self.high == last << _SHIFT

    def halves(self) -> tuple[Range, Range]:
        middle = (self.low + self.high) // 2
        return Range(self.low, middle), Range(middle, self.high)


EVERYTHING = Range(0, 1 << 64)


def empty_rows() -> Rows:
    """Return no rows."""
    return np.empty((0, COLUMNS), np.uint64)


class RunWriter:
    """Collects rows and writes them as consecutive runs to `path`, with an index next to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # A task is retried if its worker died.
        for each in (path, index_of(path)):
            each.unlink(missing_ok=True)
        self._rows = empty_rows()
        self._count = 0

    def add(self, rows: Rows) -> None:
        """Add rows."""
        while len(rows):
            if self._count == len(self._rows):
                self._make_room()
            taken = rows[: len(self._rows) - self._count]
            self._rows[self._count : self._count + len(taken)] = taken
            self._count += len(taken)
            rows = rows[len(taken) :]

    def _make_room(self) -> None:
        if self._count >= RUN_ROWS:
            self.close()
        else:  # few rows need little memory
            larger = np.empty((min(max(4 * self._count, 1024), RUN_ROWS), COLUMNS), np.uint64)
            larger[: self._count] = self._rows
            self._rows = larger

    def close(self) -> None:
        """Write the rest."""
        if not self._count:
            return
        rows = self._rows[: self._count]
        digits = (rows[:, 0] >> np.uint64(64 - _DIGIT)).astype(np.uint16)
        sizes = np.bincount(digits >> np.uint16(_DIGIT - _BUCKET_BITS), minlength=BUCKETS)
        with self._path.open("ab") as file:
            rows.take(np.argsort(digits, kind="stable"), axis=0).tofile(file)
        with index_of(self._path).open("ab") as file:
            file.write(np.concatenate(([0], np.cumsum(sizes))).astype("<u4").tobytes())
        self._count = 0


def index_of(path: Path) -> Path:
    """Return the path of the index of a file of runs."""
    return path.with_name(f"{path.name}.index")


def order_of(rows: Rows) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the order of rows by their first numbers, and these numbers in that order; the sort is stable."""
    numbers = np.ascontiguousarray(rows[:, 0])
    # 48 bits nearly always distinguish all numbers.
    order = np.argsort((numbers >> np.uint64(16)).astype(np.uint16), kind="stable")
    for shift in (32, 48):
        digits = (numbers >> np.uint64(shift)).astype(np.uint16)
        order = order.take(np.argsort(digits.take(order), kind="stable"))
    ordered = numbers.take(order)
    if (ordered[1:] < ordered[:-1]).any():
        order = np.argsort(numbers, kind="stable")
        ordered = numbers.take(order)
    return order, ordered


def bucket_sizes(files: Sequence[Path]) -> npt.NDArray[np.int64]:
    """Return the number of rows of some files in each bucket."""
    total = np.zeros(BUCKETS, np.int64)
    for path in files:
        if path.exists():
            starts = np.fromfile(index_of(path), dtype="<u4").reshape(-1, BUCKETS + 1)
            total += np.diff(starts.astype(np.int64), axis=1).sum(axis=0)
    return total


def ranges(sizes: npt.NDArray[np.int64], most: int = RANGE_ROWS) -> list[Range]:
    """Return ranges with about `most` rows each, given the number of rows in each bucket."""
    found: list[Range] = []
    low = held = 0
    for bucket, size in enumerate(sizes.tolist()):
        start, end = bucket << _SHIFT, (bucket + 1) << _SHIFT
        if held and held + size > most:
            found.append(Range(low, start))
            low, held = start, 0
        held += size
        if held > most:
            parts = -(-held // most)
            edges = [low + (end - low) * part // parts for part in range(parts)] + [end]
            found.extend(Range(one, other) for one, other in pairwise(edges))
            low, held = end, 0
    if low < 1 << 64:
        found.append(Range(low, 1 << 64))
    return found


def read_range(files: Sequence[Path], wanted: Range, most: int | None = None) -> Rows | None:
    """Return the rows of some files within a range, run by run; None if there are more than `most`."""
    if not wanted.is_whole:
        return _read_part(files, wanted, most)
    slices = {path: _slices(path, wanted) for path in files if path.exists()}
    count = sum(number for found in slices.values() for _, number in found)
    if most is not None and count > most:
        return None
    rows = np.empty((count, COLUMNS), np.uint64)
    filled = 0
    for path, found in slices.items():
        with path.open("rb", buffering=0) as file:
            for first, number in found:
                _read_into(rows[filled : filled + number], file, first)
                filled += number
    return rows


def _read_part(files: Sequence[Path], wanted: Range, most: int | None) -> Rows | None:
    parts, count = [empty_rows()], 0
    for part in parts_of(files, wanted):
        count += len(part)
        if most is not None and count > most:
            return None
        parts.append(part)
    return np.concatenate(parts)


def parts_of(files: Sequence[Path], wanted: Range) -> Iterator[Rows]:
    """Yield the rows of each run within a range."""
    for path in files:
        if not path.exists():
            continue
        with path.open("rb", buffering=0) as file:
            for first, number in _slices(path, wanted):
                part = np.empty((number, COLUMNS), np.uint64)
                _read_into(part, file, first)
                if not wanted.is_whole:
                    part = part[_within(part, wanted)]
                if len(part):
                    yield part


def _slices(path: Path, wanted: Range) -> list[tuple[int, int]]:
    """Return the first row, and the number of rows, of each run with rows in the buckets of a range."""
    with index_of(path).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as index:
        starts = np.ndarray((len(index) // _INDEX_BYTES, BUCKETS + 1), "<u4", index)
        first, last = wanted.buckets
        bounds = starts[:, [first, last, BUCKETS]].tolist()
        del starts  # a map with views cannot be closed
    found, base = [], 0
    for start, end, count in bounds:
        if end > start:
            found.append((base + start, end - start))
        base += count
    return found


def _read_into(rows: Rows, file: FileIO, first: int) -> None:
    meter().add(0, 0)
    file.seek(first * ROW_BYTES)
    if file.readinto(rows.data) != rows.nbytes:
        raise OSError(f"{file.name}: rows are missing")


def _within(rows: Rows, wanted: Range) -> npt.NDArray[np.bool_]:
    numbers = rows[:, 0]
    inside: npt.NDArray[np.bool_] = (numbers >= np.uint64(wanted.low)) & (numbers <= np.uint64(wanted.high - 1))
    return inside
