"""How much text there is: in documents, lines, words and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import msgspec


class Size(msgspec.Struct):
    """Documents, lines, words (runs without ASCII white space) and bytes of text, line ends included."""

    documents: int = 0
    lines: int = 0
    words: int = 0
    text_bytes: int = 0

    def __iadd__(self, other: Self) -> Self:
        self.documents += other.documents
        self.lines += other.lines
        self.words += other.words
        self.text_bytes += other.text_bytes
        return self


class Sizes(msgspec.Struct):
    """The size of a language before and after deduplication."""

    original: Size
    final: Size


def size_of(texts: Sequence[bytes]) -> Size:
    """Return the size of documents; each line of a document ends with LF."""
    text = b"".join(texts)
    return Size(len(texts), text.count(b"\n"), words(text), len(text))


def words(text: bytes) -> int:
    """Return the number of runs without ASCII white space."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    data = np.frombuffer(text, dtype=np.uint8)
    # Tab, LF, VT, FF and CR stand in a row; a difference below zero wraps around to a large one.
    outside = (data == ord(" ")) | (data - np.uint8(ord("\t")) < 5)
    starts = np.count_nonzero(outside[:-1] & ~outside[1:])
    return int(starts) + int(len(data) > 0 and not outside[0])
