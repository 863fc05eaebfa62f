"""Internal: Stage `dedup`: find repeated lines of a language over all inputs, in bounded memory.

The first occurrence in input order stays. Lines are compared by hash. With xxh64, as in the release (Ortiz Suarez, Sagot
and Romary 2019, with runiq), expect 0.03 false repetitions among 10^9 lines of a language; with siphash_128, none. Its key is
secret, so that nobody can write a line that deletes another one, and its length lets no result depend on the key.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish
from corpusfmt.pipeline import hot
from corpusfmt.pipeline.dedup.keys import HASHES, keys_between, keys_of
from corpusfmt.pipeline.recipe import HashName

#: Memory of a line while its bucket is sorted.
BYTES_OF_A_SORTED_LINE = 64
# Most lines of a bucket.
_LINES_A_BUCKET = 2_000_000
_FIRST_WORDS = 1 << 64
#: Bytes of a repeated line in `DedupTask.drops`: its number.
DROP_BYTES = 8


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
                dropped += len(positions) // DROP_BYTES
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
