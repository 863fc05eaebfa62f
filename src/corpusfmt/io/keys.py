"""Which keys occur twice among billions, in bounded memory and on local disk.

Writers collect (64-bit hash, position) pairs and spill them as sorted runs; a reader takes one range of hashes at a time
from all runs. Equal hashes are candidates only: the caller re-reads them, so a collision never becomes a finding.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# A position packs the number of a shard and a row of it, counted from 0.
ROW_BITS = 40
_RUN_KEYS = 1 << 21
_PAIR_BYTES = 16
# What sorting one range of pairs costs at its peak: the pairs, the permutation and the sorted copies.
_BYTES_A_KEY_WHILE_SORTING = 64
DEFAULT_MEMORY = 96 * 1024 * 1024


class KeyWriter:
    """Spills the keys of one shard as runs sorted by hash, named so that no two shards meet."""

    def __init__(self, folder: Path, shard: int) -> None:
        self._folder = folder
        self._shard = shard
        self._hashes = array("Q")
        self._positions = array("Q")
        self._runs = 0

    def add(self, key_hash: int, row: int) -> None:
        """Take the hash of one row's key; `row` counts from 0 within the shard."""
        self._hashes.append(key_hash)
        self._positions.append(self._shard << ROW_BITS | row)
        if len(self._hashes) >= _RUN_KEYS:
            self._spill()

    def extend(self, key_hashes: Iterable[int], first_row: int) -> None:
        """Take the hashes of consecutive rows."""
        start = len(self._hashes)
        self._hashes.extend(key_hashes)
        base = self._shard << ROW_BITS | first_row
        self._positions.extend(range(base, base + len(self._hashes) - start))
        if len(self._hashes) >= _RUN_KEYS:
            self._spill()

    def close(self) -> None:
        """Write out what is left."""
        if self._hashes:
            self._spill()

    def _spill(self) -> None:
        run = self._folder / f"{self._shard:09d}-{self._runs:05d}.keys"
        run.write_bytes(sorted_pairs(self._hashes, self._positions))
        self._runs += 1
        self._hashes = array("Q")
        self._positions = array("Q")


def sorted_pairs(hashes: array[int], positions: array[int]) -> bytes:
    """Return a run: the hashes in order, then the position of each, all little-endian 64-bit; ties keep their order."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    column = np.frombuffer(hashes, dtype=np.uint64)
    order = np.argsort(column, kind="stable")
    return column[order].tobytes() + np.frombuffer(positions, dtype=np.uint64)[order].tobytes()


def repeated(folder: Path, memory: int = DEFAULT_MEMORY) -> Iterator[list[tuple[int, int]]]:
    """Yield the groups of places, as (shard, row), whose keys have equal hashes; places are in order within a group.

    `memory` bounds what is sorted at a time, in bytes.
    """
    import numpy as np  # noqa: PLC0415

    runs = sorted(folder.glob("*.keys"))
    total = sum(run.stat().st_size for run in runs) // _PAIR_BYTES
    ranges = max(1, -(-total * _BYTES_A_KEY_WHILE_SORTING // memory))
    bounds = [(1 << 64) * part // ranges for part in range(ranges)] + [1 << 64]
    for low, high in pairwise(bounds):
        slices = [_slice(run, low, high) for run in runs]
        hashes = np.concatenate([part[0] for part in slices]) if slices else np.empty(0, np.uint64)
        positions = np.concatenate([part[1] for part in slices]) if slices else np.empty(0, np.uint64)
        yield from _groups(hashes, positions)


def _slice(run: Path, low: int, high: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    import numpy as np  # noqa: PLC0415

    columns = np.memmap(run, dtype=np.uint64, mode="r").reshape(2, -1)
    start = int(np.searchsorted(columns[0], np.uint64(low)))
    end = columns.shape[1] if high == 1 << 64 else int(np.searchsorted(columns[0], np.uint64(high)))
    return np.array(columns[0, start:end]), np.array(columns[1, start:end])


def _groups(hashes: npt.NDArray[np.uint64], positions: npt.NDArray[np.uint64]) -> Iterator[list[tuple[int, int]]]:
    import numpy as np  # noqa: PLC0415

    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    equal = hashes[1:] == hashes[:-1]
    if not equal.any():
        return
    edges = np.flatnonzero(np.diff(np.concatenate(([False], equal, [False])).astype(np.int8)))
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        group = sorted(positions[order[start : end + 1]].tolist())
        yield [(position >> ROW_BITS, position & ((1 << ROW_BITS) - 1)) for position in group]
