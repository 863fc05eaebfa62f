"""Internal: Rows of digests on local disk, in sorted runs; any range can be read without the rest.

A row is seven 64-bit numbers. The first one is uniformly distributed. A run is sorted by its first bits; its index has
the start of each bucket, which is one of many equal ranges of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from corpusfmt.io.limits import meter

Rows = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int64]
# For each run and range, its first row and the number of its rows.
_Bounds = tuple[_Numbers, _Numbers]

COLUMNS = 7
ROW_BYTES = 8 * COLUMNS
_BUCKET_BITS = 12
BUCKETS = 1 << _BUCKET_BITS
_SHIFT = 64 - _BUCKET_BITS
_INDEX_BYTES = 4 * (BUCKETS + 1)
# Sorting 16-bit numbers is much faster than sorting longer ones.
_DIGIT = 16
#: The number of rows in a run, except the last one of a file. Rows are reordered several times faster in a processor's cache.
RUN_ROWS = 1 << 16
#: The number of rows of two releases that are matched at a time, if uniformly distributed.
RANGE_ROWS = 1 << 18
# Opening an index takes longer than reading it for one range.
_RANGES_AHEAD = 16


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
        self._rows = self._sorted = empty_rows()
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
        if len(self._sorted) < self._count:
            self._sorted = np.empty_like(self._rows)
        rows = self._rows[: self._count]
        digits = (rows[:, 0] >> np.uint64(64 - _DIGIT)).astype(np.uint16)
        sizes = np.bincount(digits >> np.uint16(_DIGIT - _BUCKET_BITS), minlength=BUCKETS)
        with self._path.open("ab") as file:
            order = np.argsort(digits, kind="stable")
            # In another mode, numpy would copy `out`.
            rows.take(order, axis=0, out=self._sorted[: self._count], mode="clip").tofile(file)
        with index_of(self._path).open("ab") as file:
            file.write(np.concatenate(([0], np.cumsum(sizes))).astype("<u4").tobytes())
        self._count = 0


def index_of(path: Path) -> Path:
    """Return the path of the index of a file of runs."""
    return path.with_name(f"{path.name}.index")


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


class BothRuns:
    """The runs of an old and a new release, read one range at a time."""

    def __init__(self, old: Sequence[Path], new: Sequence[Path], in_turn: Sequence[Range] = ()) -> None:
        self.old, self.new = old, new
        self._in_turn = in_turn
        self._bounds: list[tuple[Path, _Bounds]] = []
        self._column: dict[Range, int] = {}
        self._rows = empty_rows()

    def read(self, wanted: Range, most: int) -> tuple[Rows, int] | None:
        """Return the rows of a range, the old ones first, and the number of these; None if there are more than `most`.

        The next call overwrites the rows.
        """
        if not wanted.is_whole:
            return self._read_part(wanted, most)
        if wanted not in self._column:
            self._look_up(wanted)
        column = self._column[wanted]
        sizes = [int(numbers[:, column].sum()) for _, (_, numbers) in self._bounds]
        count = sum(sizes)
        if count > most:
            return None
        if count > len(self._rows):
            self._rows = np.empty((count, COLUMNS), np.uint64)
        filled = 0
        for (path, (firsts, numbers)), size in zip(self._bounds, sizes, strict=True):
            if size:
                _read_into(self._rows[filled : filled + size], path, firsts[:, column], numbers[:, column])
                filled += size
        return self._rows[:count], sum(sizes[: len(self.old)])

    def _read_part(self, wanted: Range, most: int) -> tuple[Rows, int] | None:
        parts, count, olds = [empty_rows()], 0, 0
        for files in (self.old, self.new):
            olds = count
            for part in parts_of(files, wanted):
                count += len(part)
                if count > most:
                    return None
                parts.append(part)
        return np.concatenate(parts), olds

    def _look_up(self, wanted: Range) -> None:
        """Look up the rows of a range and of the next ones."""
        place = self._in_turn.index(wanted) if wanted in self._in_turn else None
        several = [wanted] if place is None else self._in_turn[place : place + _RANGES_AHEAD]
        self._column = {each: column for column, each in enumerate(several)}
        self._bounds = [(path, _bounds(path, several)) for path in (*self.old, *self.new)]


def parts_of(files: Sequence[Path], wanted: Range) -> Iterator[Rows]:
    """Yield the rows of each run within a range."""
    for path in files:
        firsts, numbers = _bounds(path, [wanted])
        for first, number in zip(firsts, numbers, strict=True):
            part = np.empty((int(number[0]), COLUMNS), np.uint64)
            _read_into(part, path, first, number)
            if not wanted.is_whole:
                part = part[_within(part, wanted)]
            if len(part):
                yield part


def _bounds(path: Path, wanted: Sequence[Range]) -> _Bounds:
    if not path.exists():
        nothing = np.zeros((0, len(wanted)), np.int64)
        return nothing, nothing
    with index_of(path).open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as index:
        starts = np.ndarray((len(index) // _INDEX_BYTES, BUCKETS + 1), "<u4", index)
        low, high = np.array([each.buckets for each in wanted]).T
        first, end, size = (starts[:, buckets].astype(np.int64) for buckets in (low, high, [BUCKETS]))
        del starts  # a map with views cannot be closed
    return first + np.cumsum(size, axis=0) - size, end - first


def _read_into(rows: Rows, path: Path, firsts: _Numbers, numbers: _Numbers) -> None:
    """Read consecutive rows from several places of a file."""
    meter().add(0, 0)
    filled = 0
    with path.open("rb", buffering=0) as file:
        for first, number in zip(firsts.tolist(), numbers.tolist(), strict=True):
            if number:
                part = rows[filled : filled + number]
                file.seek(first * ROW_BYTES)
                if file.readinto(part.data) != part.nbytes:
                    raise OSError(f"{path}: rows are missing")
                filled += number


def _within(rows: Rows, wanted: Range) -> npt.NDArray[np.bool_]:
    numbers = rows[:, 0]
    inside: npt.NDArray[np.bool_] = (numbers >= np.uint64(wanted.low)) & (numbers <= np.uint64(wanted.high - 1))
    return inside
