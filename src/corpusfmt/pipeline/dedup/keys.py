"""Internal: Hashes of lines, and their form in a container."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import NamedTuple

import xxhash

from corpusfmt.io.containers import Section
from corpusfmt.io.runs import sorted_columns
from corpusfmt.pipeline.hot import KeyedLineSet, LineSet
from corpusfmt.pipeline.recipe import HashName

_WORD_BYTES = 8
_KEYS = " keys"


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
