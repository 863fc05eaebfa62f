"""Internal: Find duplicate keys among billions, in bounded memory and on local disk.

Keys are sorted runs (`io.runs`) of their 64-bit hashes and positions, and a reader takes one range of hashes at a time. Equal hashes are only candidates: the caller re-reads them, so that a collision never becomes a finding.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, groupby
from operator import eq, not_
from pathlib import Path

from msgspec import Struct, field

from corpusfmt.io.runs import Runs, RunWriter, ranges, sorted_columns

#: A shard number and a row in it.
Place = tuple[int, int]

# A position packs a shard number and a row in it, both from 0.
ROW_BITS = 40
_ROW_MASK = (1 << ROW_BITS) - 1
_RUN_KEYS = 1 << 21
# Runs of small shards are small, too.
_FEW_KEYS = 1 << 13
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

    def extend(self, key_hashes: Iterable[int], rows: int | Iterable[int], notes: Iterable[int] = ()) -> None:
        """Add the hashes of some rows, or of consecutive ones from a first on, and what is noted of each."""
        hashes, positions, *noted = self.columns
        start = len(hashes)
        hashes.extend(key_hashes)
        base = self._shard << ROW_BITS
        if isinstance(rows, int):
            positions.extend(range(base + rows, base + rows + len(hashes) - start))
        else:
            positions.extend(map(base.__add__, rows))
        for column in noted:
            column.extend(notes)
        self.spill_if_full()

    def add_few(self, few: FewKeys) -> None:
        """Add the keys of a small shard, which has written none."""
        hashes, positions, *noted = self.columns
        rows = memoryview(few.rows).cast("Q")
        if hashes and len(hashes) + len(rows) > _FEW_KEYS:
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
    for low, high in ranges([runs], _most(memory)):
        if high - low > 1:
            yield from _groups(runs, low, high)
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
    from hashlib import blake2b  # noqa: PLC0415 - slow to import, and most keys are never repeated

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
    runs, wanted = Runs([folder], 2), Runs(targets, 2)
    for low, high in ranges([runs, wanted], max(1, _most(memory) // 3)):  # a number in a set takes 72 bytes
        if high - low == 1:
            if not wanted.number(low, high):
                yield from Many(runs, low)
            continue
        known = set(wanted.read(low, high)[0])
        hashes, positions = runs.read(low, high)
        yield from map(_place, compress(positions, map(not_, map(known.__contains__, hashes))))


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
            yield from Group(rows[1])

    @property
    def notes(self) -> Iterator[int]:
        """The notes of the keys."""
        for rows in self._runs.pieces(self._key, self._key + 1, _MOST_HELD):
            yield from rows[2]

    def __contains__(self, place: object) -> bool:
        return any(each == place for each in self)


def _groups(runs: Runs, low: int, high: int) -> Iterator[Group | Many]:
    columns = b"".join(runs.read(low, high))
    rows = memoryview(sorted_columns(columns, runs.width)).cast("Q")
    keys = len(rows) // (runs.width + 1)
    in_order, *others = (rows[number * keys : (number + 1) * keys] for number in range(runs.width))
    end = 0
    for second in compress(range(1, keys), map(eq, in_order, in_order[1:])):
        if second >= end:
            end = bisect_right(in_order, in_order[second], second)
            is_large = end - second >= _MOST_HELD
            yield Many(runs, in_order[second]) if is_large else Group(*(column[second - 1 : end] for column in others))
