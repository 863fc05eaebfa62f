"""Internal: The inner loops of a build, native if the kernel is built."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from functools import partial
from itertools import compress
from typing import TypeAlias

#: A sequence of integers.
Ints: TypeAlias = "array[int] | memoryview[int]"


class LineSet:
    """A set of about `most` lines, by hash; then it is emptied. With `most` 0 every line is new."""

    def __init__(self, function: Callable[[bytes], bytes], most: int) -> None:
        self._function = function
        self._most = most
        self._seen: set[bytes] = set()

    def add(self, text: bytes, /) -> tuple[bytes, bytes, bytes]:
        """Return the new lines of a text, their digests, and per line 1 if it is new, else 0. Each line ends with LF."""
        if len(self._seen) > self._most:
            self._seen.clear()
        lines = text.split(b"\n")[:-1]
        digests = list(map(self._function, lines))
        new = bytes(map(self._is_new, digests)) if self._most else b"\1" * len(lines)
        if 0 not in new:
            return text, b"".join(digests), new
        return b"\n".join((*compress(lines, new), b"")), b"".join(compress(digests, new)), new

    def _is_new(self, digest: bytes) -> bool:
        before = len(self._seen)
        self._seen.add(digest)
        return len(self._seen) > before


try:
    from corpusfmt.pipeline._native import documents, line_set, new_lines, repetitions, wet_records
except ImportError:  # no wheel for this platform and no compiler: same results, more slowly
    _WORD = (1 << 64) - 1

    def _mixed(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
        a, c = a + b & _WORD, c + d & _WORD
        b, d = (b << 13 | b >> 51) & _WORD ^ a, (d << 16 | d >> 48) & _WORD ^ c
        a, c = (a << 32 | a >> 32) + d & _WORD, c + b & _WORD
        b, d = (b << 17 | b >> 47) & _WORD ^ c, (d << 21 | d >> 43) & _WORD ^ a
        return a, b, (c << 32 | c >> 32) & _WORD, d

    def _siphash(key: bytes, text: bytes) -> bytes:
        """Return the SipHash-1-3 of a text, of 128 bits."""
        first, second = struct.unpack("<QQ", key)
        a, b, c, d = (
            first ^ 0x736F6D6570736575,
            second ^ 0x646F72616E646F83,
            first ^ 0x6C7967656E657261,
            second ^ 0x7465646279746573,
        )
        padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 255])
        for word in struct.unpack(f"<{len(padded) // 8}Q", padded):
            a, b, c, d = _mixed(a, b, c, d ^ word)
            a ^= word
        words = []
        for b_mark, c_mark in ((0, 0xEE), (0xDD, 0)):
            b, c = b ^ b_mark, c ^ c_mark
            for _ in range(3):
                a, b, c, d = _mixed(a, b, c, d)
            words.append(a ^ b ^ c ^ d)
        return struct.pack(">QQ", *words)

    def line_set(key: bytes, most: int, /) -> LineSet:  # type: ignore[misc]
        """Return a set of lines by their SipHash."""
        return LineSet(partial(_siphash, key), most)

    new_lines = LineSet.add  # type: ignore[assignment]

    def wet_records(data: bytes, start: int, /) -> tuple[list[bytes], bytes, bytes, int, int]:
        """Return the columns of a `Batch` (ends as int64), the number of records taken, and the offset of the next one.

        Records are taken from `start` up to the first that is incomplete, not canonical, or of a type that WET files do
        not have. If none is taken, the next record needs the slow reader or more data.
        """
        del data
        return [], b"", b"", 0, start

    def documents(
        text: bytes,
        record_ends: Ints,
        starts: Ints,
        ends: Ints,
        labels: Ints,
        scores: memoryview[float],
        least: float,
        adjacent: bool,
        /,
    ) -> list[tuple[int, int, bytes, int, bytes]]:
        """Group lines by record and label, in the order of first lines; with `adjacent`, only adjacent lines.

        `record_ends` (int64) are the offsets in `text` where records end. The other columns are per line, in order:
        offset (int64), label number (int32), and score (float32). Lines with a score below `least` are dropped.

        Returns for each document the numbers of its record and label, its lines with LFs, their number, and the scores
        (float32).
        """
        found: list[tuple[int, int, list[bytes], array[float]]] = []
        places: dict[tuple[int, int], int] = {}
        record = 0
        for start, end, label, score in zip(starts, ends, labels, scores, strict=True):
            if score < least:
                continue
            while start >= record_ends[record]:
                record += 1
            key = (record, label)
            if adjacent and found and found[-1][:2] != key:
                places.clear()
            if key not in places:
                places[key] = len(found)
                found.append((*key, [], array("f")))
            _, _, lines, own_scores = found[places[key]]
            lines.append(text[start:end])
            own_scores.append(score)
        joined = [b"\n".join((*lines, b"")) for _, _, lines, _ in found]
        return [
            (record, label, whole, len(lines), own_scores.tobytes())
            for (record, label, lines, own_scores), whole in zip(found, joined, strict=True)
        ]

    def repetitions(sections: list[tuple[int, bytes]], words: int, /) -> list[tuple[int, bytes]]:
        """Return the numbers of inputs, each with the sorted numbers of its lines that repeat an earlier line.

        `sections` are results of `dedup.sorted_keys` in input order; line numbers continue within an input.
        """
        import numpy as np  # noqa: PLC0415 - of an extra, and this module is imported for help, too

        ranges = [(number, np.frombuffer(each, dtype=np.uint64).reshape(words + 1, -1)) for number, each in sections]
        if not ranges:
            return []
        owners = np.repeat([number for number, _ in ranges], [columns.shape[1] for _, columns in ranges])
        *hashes, positions = np.concatenate([columns for _, columns in ranges], axis=1)
        order = np.lexsort(hashes[::-1])
        ordered = [column[order] for column in hashes]
        repeated = order[1:][np.logical_and.reduce([column[1:] == column[:-1] for column in ordered])]
        positions, owners = positions[repeated], owners[repeated]
        order = np.lexsort((positions, owners))
        positions, owners = positions[order], owners[order]
        edges = np.flatnonzero(owners[1:] != owners[:-1]) + 1
        found = zip(np.split(owners, edges), np.split(positions, edges), strict=True)
        return [(int(each[0]), lines.tobytes()) for each, lines in found if len(each)]


class KeyedLineSet:
    """A `LineSet` by a hash with a key of 16 bytes."""

    def __init__(self, key: bytes, most: int) -> None:
        self.add: Callable[[bytes], tuple[bytes, bytes, bytes]] = partial(new_lines, line_set(key, most))


__all__ = ["KeyedLineSet", "LineSet", "documents", "repetitions", "wet_records"]
