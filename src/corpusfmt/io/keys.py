"""Internal: Find duplicate keys among billions, in bounded memory and on local disk.

Keys are sorted runs (`io.runs`) of their 64-bit hashes and positions, and a reader takes one range of hashes at a time. Equal hashes are only candidates: the caller re-reads them, so that a collision never becomes a finding.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import chain, groupby
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from corpusfmt.io.runs import END, FEW_TO_SORT, Runs, RunWriter, has_numpy, ranges, sorted_columns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corpusfmt.io.runs import Rows

#: A shard number and a row in it.
Place = tuple[int, int]

# A position packs a shard number and a row in it, both from 0.
ROW_BITS = 40
_ROW_MASK = (1 << ROW_BITS) - 1
_RUN_KEYS = 1 << 21
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


class FewKeys(Struct, frozen=True, gc=False):
    """The hashes of the keys of a small shard, their rows, and what is noted of each, if anything: arrays of 64-bit integers, as
    bytes, in memory until a run ends.
    """

    shard: int
    hashes: bytes
    rows: bytes
    notes: bytes = b""


class KeyWriter(RunWriter):
    """Writes the keys of one shard as runs of hashes and positions, and of a number that is `noted` of each."""

    def __init__(self, folder: Path, shard: int, *, noted: bool = False) -> None:
        super().__init__(folder, f"{shard:09d}", 3 if noted else 2, _RUN_KEYS // (1 + noted))
        self._shard = shard

    def add(self, key_hash: int, row: int) -> None:
        """Add the hash of a row's key; `row` counts from 0 within the shard."""
        hashes, positions = self.columns
        hashes.append(key_hash)
        positions.append(self._shard << ROW_BITS | row)
        if len(hashes) >= self._most:  # often asked, so without a call
            self.close()

    def extend(self, key_hashes: Iterable[int], first_row: int, notes: Iterable[int] = ()) -> None:
        """Add the hashes of consecutive rows, and what is noted of each."""
        hashes, positions, *noted = self.columns
        start = len(hashes)
        hashes.extend(key_hashes)
        base = self._shard << ROW_BITS | first_row
        positions.extend(range(base, base + len(hashes) - start))
        for column in noted:
            column.extend(notes)
        self.spill_if_full()

    def extend_array(self, key_hashes: npt.NDArray[np.uint64], rows: npt.NDArray[np.uint64]) -> None:
        """Add the hashes of rows as arrays, without a loop."""
        import numpy as np  # noqa: PLC0415 - slow to import, and help pages do not need it

        self.add_columns((key_hashes, rows | np.uint64(self._shard << ROW_BITS)))

    def add_few(self, few: FewKeys) -> None:
        """Add the keys of a small shard, which has written none. Runs are small, too, so that none needs numpy."""
        hashes, positions, *noted = self.columns
        rows = memoryview(few.rows).cast("Q")
        if hashes and len(hashes) + len(rows) > FEW_TO_SORT:
            self.close()
        hashes.frombytes(few.hashes)
        positions.extend(few.shard << ROW_BITS | row for row in rows)
        for column in noted:
            column.frombytes(few.notes)

    def finish(self) -> FewKeys | None:
        """Write the remaining keys; return all keys if they are only few, which are then not written."""
        number = min(map(len, self.columns))  # an interrupt may have come within a row
        if self.runs or not 0 < number <= FEW_OF_A_SHARD:
            self.close()
            return None
        hashes, positions, *noted = (column[:number] for column in self.columns)
        rows = array("Q", (position & _ROW_MASK for position in positions))
        few = FewKeys(self._shard, hashes.tobytes(), rows.tobytes(), b"".join(noted))
        for column in self.columns:
            del column[:]
        return few


def repeated(folder: Path, memory: int = DEFAULT_MEMORY, *, noted: bool = False) -> Iterator[Group | Many]:
    """Yield the groups of places (shard, row) whose keys have equal hashes; places are sorted within a group.

    `memory` bounds sorting, in bytes. Shards are in the order of their runs' paths. With `noted`, each key has a note.
    """
    runs = Runs([folder], 3 if noted else 2)
    if len(runs) <= _FEW_TO_SEARCH or not has_numpy():
        yield from _groups_of_few(runs)
        return
    for low, high in ranges([runs], _most(memory)):
        if high - low > 1:
            yield from _groups(runs, runs.read(low, high))
        elif len(many := Many(runs, low)) > 1:
            yield many


class Batch(Struct):
    """Candidates. If a batch `continues` the previous one, its first candidates have the hash of the previous last ones."""

    continues: bool
    positions: array[int] = field(default_factory=lambda: array("Q"))

    def rows_by_shard(self) -> Iterator[tuple[int, array[int]]]:
        """Yield the shards and their candidate rows, both in order."""
        for shard, positions in groupby(sorted(self.positions), key=lambda position: position >> ROW_BITS):
            yield shard, array("Q", (position & _ROW_MASK for position in positions))


def repeated_in_batches(
    folder: Path, wanted: Callable[[Group | Many], bool] = lambda _: True, *, noted: bool = False
) -> Iterator[Batch]:
    """Yield the groups of `repeated` that are `wanted`, in batches that fit into memory."""
    batch = Batch(continues=False)
    hashes = 0
    for group in filter(wanted, repeated(folder, noted=noted)):
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

    runs, wanted = Runs([folder], 2), Runs(targets, 2)
    for low, high in ranges([runs, wanted], _most(memory)):
        if high - low == 1:
            if not wanted.number(low, high):
                yield from Many(runs, low)
            continue
        known = np.sort(wanted.read(low, high)[0])
        hashes, positions = runs.read(low, high)
        yield from map(_place, positions[~among(hashes, known)].tolist())


def few_hashes(folders: Iterable[Path]) -> Hashes | None:
    """Return the hashes of all keys in some folders, or None if they are too many for memory."""
    runs = Runs(folders, 2)
    if len(runs) > _FEW_KEYS:
        return None
    import numpy as np  # noqa: PLC0415

    return Hashes(np.sort(runs.read(0, END)[0]))


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


def _most(memory: int) -> int:
    return max(1, memory // _BYTES_A_KEY_WHILE_SORTING)


def _place(position: int) -> Place:
    return position >> ROW_BITS, position & _ROW_MASK


class Group(list[Place]):
    """The sorted places of a hash, given as positions, and the notes of their keys, in no order."""

    def __init__(self, positions: Iterable[int], *notes: Iterable[int]) -> None:
        super().__init__(map(_place, sorted(positions)))
        self.notes: Iterable[int] = chain.from_iterable(notes)


class Many:
    """The sorted places of a hash with too many keys for memory."""

    def __init__(self, runs: Runs, key: int) -> None:
        self._runs, self._key = runs, key

    def __len__(self) -> int:
        return self._runs.number(self._key, self._key + 1)

    def __iter__(self) -> Iterator[Place]:
        for rows in self._runs.pieces(self._key, self._key + 1, _MOST_HELD):
            yield from Group(rows[1].tolist())

    @property
    def notes(self) -> Iterator[int]:
        """The notes of the keys."""
        for rows in self._runs.pieces(self._key, self._key + 1, _MOST_HELD):
            yield from rows[2].tolist()

    def __contains__(self, place: object) -> bool:
        return any(each == place for each in self)


def _groups_of_few(runs: Runs) -> Iterator[Group | Many]:
    columns = [array("Q") for _ in range(runs.width)]
    for run in runs.paths:
        written = Path(run).read_bytes()
        size = len(written) // runs.width
        for number, column in enumerate(columns):
            column.frombytes(written[number * size : (number + 1) * size])
    rows = memoryview(sorted_columns(b"".join(columns), runs.width)).cast("Q")
    keys = len(columns[0])
    in_order, *others = (rows[number * keys : (number + 1) * keys] for number in range(runs.width))
    end = 0
    for key, equal in groupby(in_order) if any(map(eq, in_order, in_order[1:])) else ():
        start, end = end, end + sum(1 for _ in equal)
        if end - start > 1:
            is_large = end - start > _MOST_HELD and has_numpy()
            yield Many(runs, key) if is_large else Group(*(column[start:end] for column in others))


def _groups(runs: Runs, rows: Rows) -> Iterator[Group | Many]:
    import numpy as np  # noqa: PLC0415

    hashes, *others = rows
    in_order = np.sort(hashes)
    if not (in_order[1:] == in_order[:-1]).any():
        return
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    equal = hashes[1:] == hashes[:-1]
    edges = np.flatnonzero(np.diff(np.concatenate(([False], equal, [False])).astype(np.int8)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if end - start < _MOST_HELD:
            yield Group(*(column[order[start : end + 1]].tolist() for column in others))
        else:
            yield Many(runs, int(hashes[start]))
