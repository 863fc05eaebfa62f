"""Internal: Find duplicate keys among billions, in bounded memory and on local disk.

Writers collect (64-bit hash, position) pairs and spill them as sorted runs; a reader takes one range of hashes at a time
from all runs. Equal hashes are only candidates: the caller re-reads them, so that a collision never becomes a finding.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import groupby, pairwise
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash
from msgspec import Struct, field

from corpusfmt.io.limits import meter
from corpusfmt.io.ondisk import Blocks, in_order
from corpusfmt.io.sorting import FEW_TO_SORT, has_numpy, sorted_columns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    _Pairs = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]

#: A shard number and a row in it.
Place = tuple[int, int]

# A position packs a shard number and a row in it, both from 0.
ROW_BITS = 40
_RUN_KEYS = 1 << 21
_PAIR_BYTES = 16
_FEW_KEYS = 1 << 20
# Bits of the largest table of hashes.
_MOST_BITS = 21
# Beyond this many places of one hash, they stay on disk.
_MOST_HELD = 1 << 14
# Peak memory of sorting, per key: the pairs, the permutation and the sorted copies.
_BYTES_A_KEY_WHILE_SORTING = 64
DEFAULT_MEMORY = 96 * 1024 * 1024
#: Most candidates in memory, at 8 bytes each: callers re-read the data once per batch.
CANDIDATES_AT_A_TIME = 1 << 22
#: Most hashes in memory, each counted once per shard that has it; this many keys are compared at one time.
HASHES_AT_A_TIME = 200_000
#: For so few keys of a shard, making a file takes longer than finding them.
FEW_OF_A_SHARD = 16
# Fewer keys are searched in less time than importing numpy takes.
_FEW_TO_SEARCH = 1 << 19


class FewKeys(Struct, frozen=True):
    """The hashes of the keys of a small shard and their rows: arrays of 64-bit integers, as bytes, in memory until a run ends."""

    shard: int
    hashes: bytes
    rows: bytes


class KeyWriter:
    """Spills the keys of one shard as runs sorted by hash, named for the shard, the run's number and its XXH3."""

    def __init__(self, folder: Path, shard: int) -> None:
        self._folder = folder
        self._shard = shard
        self._hashes = array("Q")
        self._positions = array("Q")
        self._runs = 0

    def add(self, key_hash: int, row: int) -> None:
        """Add the hash of a row's key; `row` counts from 0 within the shard."""
        self._hashes.append(key_hash)
        self._positions.append(self._shard << ROW_BITS | row)
        if len(self._hashes) >= _RUN_KEYS:
            self._spill()

    def extend(self, key_hashes: Iterable[int], first_row: int) -> None:
        """Add the hashes of consecutive rows."""
        start = len(self._hashes)
        self._hashes.extend(key_hashes)
        base = self._shard << ROW_BITS | first_row
        self._positions.extend(range(base, base + len(self._hashes) - start))
        if len(self._hashes) >= _RUN_KEYS:
            self._spill()

    def add_few(self, few: FewKeys) -> None:
        """Add the keys of a small shard, which has written none. Runs are small, too, so that none needs numpy."""
        rows = memoryview(few.rows).cast("Q")
        if self._hashes and len(self._hashes) + len(rows) > FEW_TO_SORT:
            self._spill()
        self._hashes.frombytes(few.hashes)
        self._positions.extend(few.shard << ROW_BITS | row for row in rows)

    def take_few(self) -> FewKeys | None:
        """Return all keys if they are only few, which are then not written."""
        if self._runs or not 0 < len(self._positions) <= FEW_OF_A_SHARD:
            return None
        rows = array("Q", (position & ((1 << ROW_BITS) - 1) for position in self._positions))
        few = FewKeys(self._shard, self._hashes[: len(rows)].tobytes(), rows.tobytes())
        self._hashes, self._positions = array("Q"), array("Q")
        return few

    def extend_array(self, key_hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.uint64]) -> None:
        """Add the hashes of rows as arrays, without a loop."""
        import numpy as np  # noqa: PLC0415 - slow to import, and help pages do not need it

        self._hashes.frombytes(key_hashes.tobytes())
        self._positions.frombytes((rows | np.uint64(self._shard << ROW_BITS)).tobytes())
        if len(self._hashes) >= _RUN_KEYS:
            self._spill()

    def close(self) -> None:
        """Write the remaining keys."""
        # An interrupt may have come after a hash, before its position.
        del self._hashes[len(self._positions) :]
        if self._hashes:
            self._spill()

    def _spill(self) -> None:
        pairs = _sorted_pairs(self._hashes, self._positions)
        run = self._folder / f"{self._shard:09d}-{self._runs:05d}-{xxhash.xxh3_64_hexdigest(pairs)}.keys"
        self._folder.mkdir(parents=True, exist_ok=True)
        run.write_bytes(pairs)
        self._runs += 1
        self._hashes = array("Q")
        self._positions = array("Q")


def damaged_runs(folder: Path) -> Iterator[Path]:
    """Yield the runs below a folder whose bytes are not those that were written."""
    for run in map(Path, _runs_in([folder])):
        if xxhash.xxh3_64_hexdigest(run.read_bytes()) != run.stem.rpartition("-")[2]:
            yield run


def _sorted_pairs(hashes: array[int], positions: array[int]) -> memoryview:
    """Return a run: the hashes, stably sorted, then their positions, all little-endian 64-bit integers."""
    return memoryview(sorted_columns(b"".join((hashes, positions)), 2))[: _PAIR_BYTES * len(hashes)]


def repeated(folder: Path, memory: int = DEFAULT_MEMORY) -> Iterator[Collection[Place]]:
    """Yield the groups of places (shard, row) whose keys have equal hashes; places are sorted within a group.

    `memory` bounds sorting, in bytes. Shards are in the order of their runs' paths.
    """
    runs = _runs_in([folder])
    if _number(runs) <= _FEW_TO_SEARCH or not has_numpy():
        yield from _groups_of_few(runs)
        return
    for low, high in _ranges(runs, memory):
        if high - low == 1:
            many = _Many(runs, low)
            if len(many) > 1:
                yield many
        else:
            pairs = _joined([_slice(run, low, high) for run in runs])
            meter().add(len(pairs[0]) * _PAIR_BYTES, 0)
            yield from _groups(runs, *pairs)


class Batch(Struct):
    """Candidates. If a batch `continues` the previous one, its first candidates have the hash of the previous last ones."""

    continues: bool
    positions: array[int] = field(default_factory=lambda: array("Q"))

    def rows_by_shard(self) -> Iterator[tuple[int, array[int]]]:
        """Yield the shards and their candidate rows, both in order."""
        for shard, positions in groupby(sorted(self.positions), key=lambda position: position >> ROW_BITS):
            yield shard, array("Q", (position & ((1 << ROW_BITS) - 1) for position in positions))


def repeated_in_batches(folder: Path) -> Iterator[Batch]:
    """Yield the groups of `repeated` in batches that fit into memory."""
    batch = Batch(continues=False)
    hashes = 0
    for group in repeated(folder):
        last_shard = None
        for shard, row in group:
            hashes += shard != last_shard
            last_shard = shard
            batch.positions.append(shard << ROW_BITS | row)
            if len(batch.positions) >= CANDIDATES_AT_A_TIME:
                yield batch
                batch = Batch(continues=True)
        if batch.continues or hashes >= HASHES_AT_A_TIME:
            if batch.positions:
                yield batch
            batch = Batch(continues=False)
            hashes = 0
    if batch.positions:
        yield batch


def digest_of(*parts: str) -> bytes:
    """Return a digest that identifies a key of any length."""
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def unmatched(folder: Path, targets: Iterable[Path], memory: int = DEFAULT_MEMORY) -> Iterator[Place]:
    """Yield the places (shard, row), in no order, of keys whose hash no key in the folders `targets` has.

    A key among the targets is never yielded; a missing one is not noticed if its hash collides.
    """
    import numpy as np  # noqa: PLC0415

    runs, wanted = _runs_in([folder]), _runs_in(targets)
    for low, high in _ranges([*runs, *wanted], memory):
        if high - low == 1:
            if not len(_Many(wanted, low)):
                yield from _Many(runs, low)
            continue
        known = np.sort(_joined([_slice(run, low, high) for run in wanted])[0])
        hashes, positions = _joined([_slice(run, low, high) for run in runs])
        for position in positions[~among(hashes, known)].tolist():
            yield position >> ROW_BITS, position & ((1 << ROW_BITS) - 1)


def few_hashes(folders: Iterable[Path]) -> Hashes | None:
    """Return the hashes of all keys in some folders, or None if they are too many for memory."""
    runs = _runs_in(folders)
    if _number(runs) > _FEW_KEYS:
        return None
    import numpy as np  # noqa: PLC0415

    return Hashes(np.sort(_joined([_slice(run, 0, 1 << 64) for run in runs])[0]))


class Hashes:
    """Hashes in which others are looked up: most are found, or missed, at the place that their first bits name."""

    def __init__(self, hashes: npt.NDArray[np.uint64]) -> None:
        import numpy as np  # noqa: PLC0415

        self._sorted = hashes
        bits = min(max((16 * len(hashes)).bit_length(), 1), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, dtype=np.uint64)
        self._table[hashes >> self._shift] = hashes

    def have(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Tell which of some hashes are among these."""
        import numpy as np  # noqa: PLC0415

        found: npt.NDArray[np.bool_] = (self._table[hashes >> self._shift] == hashes) & (hashes != 0)
        others = np.flatnonzero(~found)
        if len(others):
            found[others] = among(hashes[others], self._sorted)
        return found


def among(hashes: npt.NDArray[np.uint64], known: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Return which hashes are among `known`, which is sorted."""
    import numpy as np  # noqa: PLC0415

    if not len(known):
        return np.zeros(len(hashes), dtype=np.bool_)
    found: npt.NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, hashes), len(known) - 1)] == hashes
    return found


def _runs_in(folders: Iterable[Path]) -> Blocks[str]:
    """Return the runs below folders in order: there may be as many as files."""
    return Blocks(in_order((run for folder in folders for run in _runs_below(str(folder))), str))


def _runs_below(folder: str) -> Iterator[str]:
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for each in found:
            if each.is_dir(follow_symlinks=False):
                yield from _runs_below(each.path)
            elif each.name.endswith(".keys"):
                yield each.path


def _number(runs: Iterable[str]) -> int:
    return sum(os.stat(run).st_size for run in runs) // _PAIR_BYTES  # noqa: PTH116


def _ranges(runs: Sequence[str], memory: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of hashes whose keys fit into memory, assuming evenly distributed hashes apart from equal ones.

    A range of a single hash may have any number of keys.
    """
    most = max(1, memory // _BYTES_A_KEY_WHILE_SORTING)
    parts = max(1, -(-_number(runs) // most))
    for low, high in pairwise([(1 << 64) * part // parts for part in range(parts)] + [1 << 64]):
        yield from _halved(runs, low, high, 2 * most)


def _halved(runs: Sequence[str], low: int, high: int, most: int) -> Iterator[tuple[int, int]]:
    if (
        high - low == 1
        or sum(end - start for start, end in (_bounds(_columns(run), low, high) for run in runs)) <= most
    ):
        yield low, high
        return
    middle = (low + high) // 2
    yield from _halved(runs, low, middle, most)
    yield from _halved(runs, middle, high, most)


def _joined(slices: Sequence[_Pairs]) -> _Pairs:
    import numpy as np  # noqa: PLC0415

    if not slices:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    return np.concatenate([part[0] for part in slices]), np.concatenate([part[1] for part in slices])


def _groups_of_few(runs: Sequence[str]) -> Iterator[Collection[Place]]:
    hashes, positions = array("Q"), array("Q")
    for run in runs:
        written = Path(run).read_bytes()
        hashes.frombytes(written[: len(written) // 2])
        positions.frombytes(written[len(written) // 2 :])
    pairs = _sorted_pairs(hashes, positions).cast("Q")
    in_order, places = pairs[: len(hashes)], pairs[len(hashes) :]
    end = 0
    for key, equal in groupby(in_order) if any(map(eq, in_order, in_order[1:])) else ():
        start, end = end, end + sum(1 for _ in equal)
        if end - start > 1:
            yield _Many(runs, key) if end - start > _MOST_HELD and has_numpy() else _places(places[start:end])


def _places(group: Iterable[int]) -> list[Place]:
    return [(position >> ROW_BITS, position & ((1 << ROW_BITS) - 1)) for position in sorted(group)]


class _Many:
    """The sorted places of a hash with too many keys for memory."""

    def __init__(self, runs: Sequence[str], key: int) -> None:
        self._slices = [(run, *_bounds(_columns(run), key, key + 1)) for run in runs]

    def __len__(self) -> int:
        return sum(end - start for _, start, end in self._slices)

    def __iter__(self) -> Iterator[Place]:
        for run, start, end in self._slices:
            for first in range(start, end, _MOST_HELD):
                yield from _places(_columns(run)[1, first : min(first + _MOST_HELD, end)].tolist())

    def __contains__(self, place: object) -> bool:
        return any(each == place for each in self)


def _columns(run: str | Path) -> npt.NDArray[np.uint64]:
    import numpy as np  # noqa: PLC0415

    columns: npt.NDArray[np.uint64] = np.memmap(run, dtype=np.uint64, mode="r").reshape(2, -1)
    return columns


def _bounds(columns: npt.NDArray[np.uint64], low: int, high: int) -> tuple[int, int]:
    """Return the range of a run's hashes from `low` on and below `high`."""
    import numpy as np  # noqa: PLC0415

    start = int(np.searchsorted(columns[0], np.uint64(low)))
    return start, columns.shape[1] if high == 1 << 64 else int(np.searchsorted(columns[0], np.uint64(high)))


def _slice(run: str | Path, low: int, high: int) -> _Pairs:
    import numpy as np  # noqa: PLC0415

    columns = _columns(run)
    start, end = _bounds(columns, low, high)
    return np.array(columns[0, start:end]), np.array(columns[1, start:end])


def _groups(
    runs: Sequence[str], hashes: npt.NDArray[np.uint64], positions: npt.NDArray[np.uint64]
) -> Iterator[Collection[Place]]:
    import numpy as np  # noqa: PLC0415

    in_order = np.sort(hashes)
    if not (in_order[1:] == in_order[:-1]).any():
        return
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    equal = hashes[1:] == hashes[:-1]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], equal, [False])).astype(np.int8)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if end - start < _MOST_HELD:
            yield _places(positions[order[start : end + 1]].tolist())
        else:
            yield _Many(runs, int(hashes[start]))
