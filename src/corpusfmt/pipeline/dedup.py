"""Stage `dedup`: which lines of one language are repetitions, over all inputs, in bounded memory.

The first occurrence in input order stays. Lines are compared by xxh64 of their bytes, as the release was
(Ortiz Suarez, Sagot and Romary 2019, with runiq): at 10^9 lines of a language expect 0.03 false repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.uint64]

# How many lines a bucket may have: sorting costs some 64 bytes each.
_LINES_A_BUCKET = 2_000_000
_HASHES = 1 << 64


def buckets(lines: int) -> int:
    """Return into how many ranges of hashes the lines of a language are cut: it depends on their number alone."""
    return max(1, -(-lines // _LINES_A_BUCKET))


@dataclass(frozen=True, slots=True)
class DedupTask:
    """One range of hashes of one language over all containers, given in input order."""

    label: str
    bucket: int
    buckets: int
    containers: tuple[Path, ...]
    drops: Path


class Deduplicated(msgspec.Struct):
    """How many lines of a bucket are repetitions."""

    dropped: int


def dedup(task: DedupTask) -> Deduplicated:
    """Write, by input, the numbers of the lines to drop: sections of sorted little-endian 64-bit integers."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    hashes, positions, owners = [], [], []
    for number, path in enumerate(task.containers):
        with Container(path) as container:
            for section in container.sections(f"{task.label} keys"):
                run_hashes, run_positions = _range(section, task)
                hashes.append(run_hashes)
                positions.append(run_positions)
                owners.append(np.full(len(run_hashes), number, dtype=np.uint32))
    # Runs stand in input order and positions in order within equal hashes, so a stable sort keeps first things first.
    all_hashes = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
    order = np.argsort(all_hashes, kind="stable")
    repeated = order[1:][np.diff(all_hashes[order]) == 0] if len(order) else order
    all_positions, all_owners = (
        np.concatenate([np.empty(0, np.uint64), *positions]),
        np.concatenate([np.empty(0, np.uint32), *owners]),
    )
    with publish(task.drops) as file:
        container_writer = ContainerWriter(file)
        for number in range(len(task.containers)):
            mine = np.sort(all_positions[repeated[all_owners[repeated] == number]])
            if len(mine):
                container_writer.add(str(number), mine.tobytes())
        container_writer.finish()
    return Deduplicated(len(repeated))


def _range(section: bytes, task: DedupTask) -> tuple[Column, Column]:
    import numpy as np  # noqa: PLC0415

    columns = np.frombuffer(section, dtype=np.uint64).reshape(2, -1)
    low, high = (_HASHES * edge // task.buckets for edge in (task.bucket, task.bucket + 1))
    start = int(np.searchsorted(columns[0], np.uint64(low)))
    end = columns.shape[1] if high == _HASHES else int(np.searchsorted(columns[0], np.uint64(high)))
    return columns[0, start:end].copy(), columns[1, start:end].copy()


def first_occurrences(drops: Sequence[Container], number: int) -> bytes:
    """Return, for the lines of one input up to its last repetition, 1 for each that stays and 0 for each that goes."""
    import numpy as np  # noqa: PLC0415

    found = [
        np.frombuffer(section, dtype=np.uint64) for container in drops for section in container.sections(str(number))
    ]
    if not found:
        return b""
    stays = np.ones(max(int(section[-1]) for section in found) + 1, dtype=np.uint8)
    for section in found:
        stays[section] = 0
    return stays.tobytes()
