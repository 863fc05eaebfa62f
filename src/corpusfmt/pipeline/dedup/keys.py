"""Internal: The hashes of lines: which there are, and how a container keeps those of a language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import xxhash

from corpusfmt.pipeline import hot
from corpusfmt.pipeline.hot import LineSet, Xxh64LineSet
from corpusfmt.pipeline.recipe import HashName


class Hash(NamedTuple):
    """A hash of lines: what makes a set of about so many lines, and how many 64-bit words it gives, big-endian."""

    line_set: Callable[[int], LineSet | Xxh64LineSet]
    words: int


HASHES: Mapping[HashName, Hash] = {
    "xxh64": Hash(Xxh64LineSet, 1),
    "xxh3_128": Hash(partial(LineSet, xxhash.xxh3_128_digest), 2),
}


def keys_of(label: str) -> str:
    """Return the key of a container under which the hashes and numbers of a language's lines stand, sorted by hash."""
    return f"{label} keys"


def sorted_keys(hashes: bytes | bytearray, name: HashName) -> bytes:
    """Return what stands under `keys_of`: the words of the hashes, then the lines' numbers, each as a column.

    `hashes` are those of consecutive lines. All are native 64-bit integers, in the order of the first word, ties in order.
    """
    return hot.sorted_keys(hashes, HASHES[name].words)
