"""Stage `dedup`: which lines of one language are repetitions, over all inputs, in bounded memory.

The first occurrence in input order stays. Lines are compared by hashes of their bytes: by xxh64, as the release was
(Ortiz Suarez, Sagot and Romary 2019, with runiq), at 10^9 lines of a language expect 0.03 false repetitions; by xxh3_128,
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import xxhash

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish
from corpusfmt.pipeline.recipe import HashName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Columns = npt.NDArray[np.uint64]

# How many lines a bucket may have: sorting costs some 64 bytes each.
_LINES_A_BUCKET = 2_000_000
_FIRST_WORDS = 1 << 64
#: What a line takes in `DedupTask.drops`, where it is a repetition: its number.
DROP_BYTES = 8


class Hash(NamedTuple):
    """A hash of lines: its function, big-endian as bytes, and how many 64-bit words it gives."""

    function: Callable[[bytes], bytes]
    words: int


HASHES: Mapping[HashName, Hash] = {
    "xxh64": Hash(xxhash.xxh64_digest, 1),
    "xxh3_128": Hash(xxhash.xxh3_128_digest, 2),
}


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


def sorted_keys(hashes: bytes, name: HashName) -> bytes:
    """Return what stands under `keys_of`: the words of the hashes, then the lines' numbers, each as a column.

    `hashes` are those of consecutive lines. All are native 64-bit integers, in the order of the first word, ties in order.
    """
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    columns = np.frombuffer(hashes, dtype=">u8").reshape(-1, HASHES[name].words).T.astype(np.uint64)
    return in_order([np.vstack((columns, np.arange(columns.shape[1], dtype=np.uint64)))]).tobytes()


def in_order(parts: Sequence[Columns]) -> Columns:
    """Return the columns of all parts, which go on from one another, in the order of the first word, ties in order."""
    import numpy as np  # noqa: PLC0415

    columns: Columns = np.concatenate(parts, axis=1)
    return columns[:, np.argsort(columns[0], kind="stable")]


def columns_of(section: memoryview, name: HashName) -> Columns:
    """Return the columns of a section of `sorted_keys`, a view of it."""
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(section, dtype=np.uint64).reshape(HASHES[name].words + 1, -1)


@dataclass(frozen=True, slots=True)
class DedupTask:
    """Some buckets over all containers, given in input order."""

    buckets: tuple[Bucket, ...]
    containers: tuple[Path, ...]
    drops: Path
    hash: HashName


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
            for number, positions in _repeated(bucket, containers, task.hash):
                drops.add(_drops_key(bucket.label, number), positions.tobytes())
                dropped += len(positions)
        drops.finish()
    return Deduplicated(dropped)


def _drops_key(label: str, number: int) -> str:
    return f"{label} {number}"


def _repeated(bucket: Bucket, containers: Sequence[Container], name: HashName) -> Iterator[tuple[int, Columns]]:
    """Yield the numbers of inputs with the numbers, in order, of their lines that are repetitions."""
    import numpy as np  # noqa: PLC0415

    runs = []
    for number, container in enumerate(containers):
        sections = container.sections(keys_of(bucket.label))
        runs += [(number, _range(columns_of(section, name), bucket)) for section in sections]
        container.forget()
    if not runs:
        return
    hashes = [np.concatenate([run[word] for _, run in runs]) for word in range(HASHES[name].words)]
    # Runs stand in input order and positions in order within equal hashes, so a stable sort keeps first things first.
    order = np.argsort(hashes[0], kind="stable")
    same = _neighbours_agree(hashes[0][order])
    if len(hashes) > 1 and same.any():
        agreeing = [_neighbours_agree(column[order]) for column in hashes]
        if (same & ~np.logical_and.reduce(agreeing)).any():
            # Different hashes share their first word, and may stand between equal ones.
            order = np.lexsort(hashes[::-1])
            agreeing = [_neighbours_agree(column[order]) for column in hashes]
        same = np.logical_and.reduce(agreeing)
    if not same.any():
        return
    repeated = order[1:][same]
    positions = np.concatenate([run[-1] for _, run in runs])[repeated]
    owners = np.repeat(np.array([number for number, _ in runs], np.uint32), [run.shape[1] for _, run in runs])[repeated]
    order = np.lexsort((positions, owners))
    positions, owners = positions[order], owners[order]
    edges = np.flatnonzero(owners[1:] != owners[:-1]) + 1
    yield from zip([int(each[0]) for each in np.split(owners, edges)], np.split(positions, edges), strict=True)


def _neighbours_agree(column: Columns) -> npt.NDArray[np.bool_]:
    agree: npt.NDArray[np.bool_] = column[1:] == column[:-1]
    return agree


def _range(columns: Columns, bucket: Bucket) -> Columns:
    import numpy as np  # noqa: PLC0415

    low, high = (_FIRST_WORDS * edge // bucket.of for edge in (bucket.number, bucket.number + 1))
    start = int(np.searchsorted(columns[0], np.uint64(low)))
    end = columns.shape[1] if high == _FIRST_WORDS else int(np.searchsorted(columns[0], np.uint64(high)))
    return columns[:, start:end].copy()


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
