"""How much text there is: in documents, lines, words and bytes."""

from __future__ import annotations

from typing import Self

import msgspec

from corpusfmt.io.scan import count_lines, count_words


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


def size_of(text: bytes) -> Size:
    """Return the size of one document, each of its lines with an LF."""
    return Size(1, count_lines(text), count_words(text), len(text))
