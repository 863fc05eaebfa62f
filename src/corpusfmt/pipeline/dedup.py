"""Stage `dedup`: which lines of one language are repetitions, over all inputs, in bounded memory.

The first occurrence in input order stays. Lines are compared by xxh64 of their bytes, as the release was
(Ortiz Suarez, Sagot and Romary 2019, with runiq): at 10^9 lines of a language expect 0.03 false repetitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
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


@dataclass(frozen=True, slots=True)
class Bucket:
    """One range of hashes of one language, number `number` of `of`, with about so many lines."""

    label: str
    number: int
    of: int
    lines: int


def buckets(label: str, lines: int) -> list[Bucket]:
    """Return the ranges of hashes into which the lines of a language are cut: it depends on their number alone."""
    of = max(1, -(-lines // _LINES_A_BUCKET))
    return [Bucket(label, number, of, lines // of) for number in range(of)]


def keys_of(label: str) -> str:
    """Return the key of a container under which the hashes and numbers of a language's lines stand, sorted by hash."""
    return f"{label} keys"


@dataclass(frozen=True, slots=True)
class DedupTask:
    """Some buckets over all containers, given in input order."""

    buckets: tuple[Bucket, ...]
    containers: tuple[Path, ...]
    drops: Path


class Deduplicated(msgspec.Struct):
    """How many lines of some buckets are repetitions."""

    dropped: int


def dedup(task: DedupTask) -> Deduplicated:
    """Write, by language and input, the numbers of the lines to drop: sections of sorted 64-bit integers."""
    dropped = 0
    with ExitStack() as stack:
        containers = [stack.enter_context(Container(path)) for path in task.containers]
        drops = ContainerWriter(stack.enter_context(publish(task.drops)))
        for bucket in task.buckets:
            for number, positions in _repeated(bucket, containers):
                drops.add(_drops_key(bucket.label, number), positions.tobytes())
                dropped += len(positions)
        drops.finish()
    return Deduplicated(dropped)


def _drops_key(label: str, number: int) -> str:
    return f"{label} {number}"


def _repeated(bucket: Bucket, containers: Sequence[Container]) -> Iterator[tuple[int, Column]]:
    """Yield the numbers of inputs with the numbers, in order, of their lines that are repetitions."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    runs = [
        (number, *_range(section, bucket))
        for number, container in enumerate(containers)
        for section in container.sections(keys_of(bucket.label))
    ]
    if not runs:
        return
    hashes = np.concatenate([run[1] for run in runs])
    positions = np.concatenate([run[2] for run in runs])
    owners = np.repeat(np.array([run[0] for run in runs], np.uint32), [len(run[1]) for run in runs])
    # Runs stand in input order and positions in order within equal hashes, so a stable sort keeps first things first.
    order = np.argsort(hashes, kind="stable")
    repeated = order[1:][np.diff(hashes[order]) == 0]
    if not len(repeated):
        return
    positions, owners = positions[repeated], owners[repeated]
    order = np.lexsort((positions, owners))
    positions, owners = positions[order], owners[order]
    edges = np.flatnonzero(np.diff(owners)) + 1
    for group in np.split(np.arange(len(owners)), edges):
        yield int(owners[group[0]]), positions[group]


def _range(section: memoryview, bucket: Bucket) -> tuple[Column, Column]:
    import numpy as np  # noqa: PLC0415

    columns = np.frombuffer(section, dtype=np.uint64).reshape(2, -1)
    low, high = (_HASHES * edge // bucket.of for edge in (bucket.number, bucket.number + 1))
    start = int(np.searchsorted(columns[0], np.uint64(low)))
    end = columns.shape[1] if high == _HASHES else int(np.searchsorted(columns[0], np.uint64(high)))
    return columns[0, start:end], columns[1, start:end]


def first_occurrences(drops: Sequence[Container], label: str, number: int) -> bytes:
    """Return, for the lines of one input up to its last repetition, 1 for each that stays and 0 for each that goes."""
    import numpy as np  # noqa: PLC0415

    found = [
        np.frombuffer(section, dtype=np.uint64)
        for container in drops
        for section in container.sections(_drops_key(label, number))
    ]
    if not found:
        return b""
    stays = np.ones(max(int(section[-1]) for section in found) + 1, dtype=np.uint8)
    for section in found:
        stays[section] = 0
    return stays.tobytes()
