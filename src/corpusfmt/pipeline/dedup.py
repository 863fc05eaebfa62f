"""Internal: Stages `compact` and `dedup`: join many containers into few, and find repeated lines of a language over all inputs.

Without `compact` every language would open the container of every input: millions of times for the 60,000 files of a snapshot.

The first occurrence in input order stays. Lines are compared by hash. With xxh64, as in the release (Ortiz Suarez, Sagot
and Romary 2019, with runiq), expect 0.03 false repetitions among 10^9 lines of a language; with siphash_128, none. Its key is
secret, so that nobody can write a line that deletes another one, and its length lets no result depend on the key.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import xxhash
from msgspec import Struct

from corpusfmt.io.containers import Container, ContainerWriter, Section
from corpusfmt.io.publish import publish
from corpusfmt.io.runs import sorted_columns
from corpusfmt.pipeline import hot
from corpusfmt.pipeline.hot import KeyedLineSet, LineSet
from corpusfmt.pipeline.recipe import HashName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Columns = npt.NDArray[np.uint64]

_WORD_BYTES = 8
_KEYS = " keys"
# Fewest containers that are joined.
_SMALLEST_GROUP = 64
# Most lines of a section of keys: sorting takes about 100 bytes per line.
_LINES_A_SECTION = 1_000_000
# Most lines of all languages whose keys are in memory.
_LINES_HELD = 2_000_000
# Most lines of a bucket: sorting takes about 64 bytes per line.
_LINES_A_BUCKET = 2_000_000
_FIRST_WORDS = 1 << 64


class Hash(NamedTuple):
    """A hash of lines: a function that makes a set of about this many lines by a key, and the hash's big-endian 64-bit words."""

    line_set: Callable[[bytes, int], KeyedLineSet | LineSet]
    words: int


HASHES: Mapping[HashName, Hash] = {
    "siphash_128": Hash(KeyedLineSet, 2),
    "xxh64": Hash(lambda _, most: LineSet(xxhash.xxh64_digest, most), 1),
}


def keys_of(label: str) -> str:
    """Return the container key of the hashes and numbers of a language's lines, sorted by hash."""
    return f"{label}{_KEYS}"


def label_of_keys(key: str) -> str | None:
    """Return the language of a key made by `keys_of`, None for other keys."""
    label = key.removesuffix(_KEYS)
    return None if label == key else label


def sorted_keys(hashes: bytes | bytearray, name: HashName) -> bytes:
    """Return the value of `keys_of`: the words of the hashes, then the line numbers, each as a column.

    `hashes` are the big-endian digests of consecutive lines. Columns are native 64-bit integers, stably sorted by first word.
    """
    words = HASHES[name].words
    digits = array("Q")
    digits.frombytes(hashes)
    if sys.byteorder == "little":
        digits.byteswap()
    return sorted_columns(b"".join(digits[word::words] for word in range(words)), words)


def keys_between(section: Section, low: int, high: int, words: int) -> bytes:
    """Return the columns of `sorted_keys`, of the hashes whose first word is from `low` to `high`, both included.

    Only what is near is compared with its checksums, so the two ends are looked at again once that is done.
    """
    lines = len(section.unchecked) // (_WORD_BYTES * (words + 1))
    column = section.unchecked[: lines * _WORD_BYTES].cast("Q")
    start, end = bisect_left(column, low), bisect_right(column, high)
    section.checked(max(start - 1, 0) * _WORD_BYTES, min(end + 1, lines) * _WORD_BYTES)
    before, after = column[:start][-1:].tolist(), column[end : end + 1].tolist()
    inside = column[start:end]
    ends = [inside[0], inside[-1]] if start < end else []
    in_order = all(each < low for each in before) and all(each > high for each in after)
    if start > end or not in_order or not all(low <= each <= high for each in ends):
        raise section.damaged("its keys are not in order")
    columns = range(0, len(section.unchecked), lines * _WORD_BYTES) if lines else ()
    return b"".join(section.checked(at + start * _WORD_BYTES, at + end * _WORD_BYTES) for at in columns)


class CompactTask(Struct, frozen=True):
    """Containers in a folder, by name, in input order."""

    folder: Path
    names: tuple[str, ...]
    compacted: Path
    hash: HashName


class Compacted(Struct):
    """The number of joined containers."""

    containers: int


def groups(containers: int) -> list[int]:
    """Return the sizes of groups of containers, in input order: about as many groups as each has members.

    They depend only on the number of containers.
    """
    size = max(_SMALLEST_GROUP, math.isqrt(containers))
    return [min(size, containers - first) for first in range(0, containers, size)]


def compact(task: CompactTask) -> Compacted:
    """Join containers as if their inputs had been one: line numbers continue from one to the next."""
    with publish(task.compacted, sync="data") as file:
        joined = ContainerWriter(file)
        keys = _Keys(joined, HASHES[task.hash].words)
        for name in task.names:
            with Container(task.folder / name) as container:
                for key in container:
                    label = label_of_keys(key)
                    for section in container.sections(key):
                        if label is None:
                            joined.add(key, section)
                        else:
                            keys.add(label, section)
                    container.forget()
        keys.finish()
        joined.finish()
    return Compacted(len(task.names))


def remove_joined(task: CompactTask) -> None:
    """Remove the containers that have been joined."""
    for name in task.names:
        (task.folder / name).unlink(missing_ok=True)


class _Keys:
    """Writes the keys of each language, with continued line numbers, as few sorted sections.

    Stage `dedup` searches each section for every hash range.
    """

    def __init__(self, joined: ContainerWriter, words: int) -> None:
        self._joined = joined
        self._words = words
        self._following = Counter[str]()
        self._held: dict[str, list[Columns]] = {}
        self._lines = Counter[str]()

    def add(self, label: str, section: memoryview) -> None:
        import numpy as np  # noqa: PLC0415 - slow to import, and help pages do not need it

        columns = np.frombuffer(section, dtype=np.uint64).reshape(self._words + 1, -1).copy()
        lines = columns.shape[1]
        columns[-1] += np.uint64(self._following[label])
        self._following[label] += lines
        if self._lines[label] + lines > _LINES_A_SECTION:
            self._write(label)
        self._held.setdefault(label, []).append(columns)
        self._lines[label] += lines
        if self._lines.total() > _LINES_HELD:
            self._write(self._lines.most_common(1)[0][0])

    def finish(self) -> None:
        for label in sorted(self._held):
            self._write(label)

    def _write(self, label: str) -> None:
        if label in self._held:
            del self._lines[label]
            self._joined.add(keys_of(label), _in_order(self._held.pop(label)).tobytes())


def _in_order(parts: Sequence[Columns]) -> Columns:
    """Return the columns of consecutive parts, stably sorted by first word."""
    import numpy as np  # noqa: PLC0415

    columns: Columns = np.concatenate(parts, axis=1)
    return columns[:, np.argsort(columns[0], kind="stable")]


class Bucket(Struct, frozen=True):
    """Hash range `number` of `of` of one language, with about `lines` lines."""

    label: str
    number: int
    of: int
    lines: int


def buckets(label: str, lines: int) -> list[Bucket]:
    """Return the hash ranges of a language. They depend only on its number of lines."""
    of = max(1, -(-lines // _LINES_A_BUCKET))
    return [Bucket(label, number, of, lines // of) for number in range(of)]


class DedupTask(Struct, frozen=True):
    """Some buckets over all containers, given in input order."""

    buckets: tuple[Bucket, ...]
    containers: tuple[Path, ...]
    drops: Path
    hash: HashName


class Deduplicated(Struct):
    """The number of repeated lines in some buckets."""

    dropped: int


def dedup(task: DedupTask) -> Deduplicated:
    """Write the numbers of the lines to drop, by language and input, as sections of sorted 64-bit integers."""
    dropped = 0
    found = _keys_of_buckets(task)
    with publish(task.drops, sync="data") as file:
        drops = ContainerWriter(file)
        for bucket, keys in zip(task.buckets, found, strict=True):
            for number, positions in hot.repetitions(keys, HASHES[task.hash].words):
                drops.add(drops_key(bucket.label, number), positions)
                dropped += len(positions) // _WORD_BYTES
        drops.finish()
    return Deduplicated(dropped)


def drops_key(label: str, number: int) -> str:
    return f"{label} {number}"


def _keys_of_buckets(task: DedupTask) -> list[list[tuple[int, bytes]]]:
    """Return the keys of each bucket, with the numbers of their containers. One container is open at a time."""
    words = HASHES[task.hash].words
    found: list[list[tuple[int, bytes]]] = [[] for _ in task.buckets]
    for number, path in enumerate(task.containers):
        with Container(path) as container:
            for bucket, keys in zip(task.buckets, found, strict=True):
                low, high = (_FIRST_WORDS * edge // bucket.of for edge in (bucket.number, bucket.number + 1))
                for section in container.unread_sections(keys_of(bucket.label)):
                    keys.append((number, keys_between(section, low, high - 1, words)))
    return found


def first_occurrences(drops: Sequence[Path], label: str, number: int) -> bytes:
    """Return a byte per line of an input, up to its last repetition: 1 to keep the line, 0 to drop it.

    A large language has thousands of files with drops: one is open at a time.
    """
    key = drops_key(label, number)
    found = []
    for path in drops:
        with Container(path) as container:
            found += [array("Q", bytes(section)) for section in container.sections(key)]
    stays = bytearray(b"\1") * max((section[-1] + 1 for section in found), default=0)
    for section in found:
        for line in section:
            stays[line] = 0
    return bytes(stays)
