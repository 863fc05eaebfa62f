"""Internal: Sizes of text in documents, lines, words and bytes."""

from __future__ import annotations

from typing import Self

from msgspec import Struct


class Size(Struct):
    """Documents, lines, words (runs without ASCII white space) and bytes of text, line ends included."""

    documents: int = 0
    lines: int = 0
    words: int = 0
    text_bytes: int = 0

    def count(self, lines: int, words: int, text_bytes: int) -> None:
        """Count a document."""
        self.documents += 1
        self.lines += lines
        self.words += words
        self.text_bytes += text_bytes

    def __iadd__(self, other: Self) -> Self:
        self.documents += other.documents
        self.lines += other.lines
        self.words += other.words
        self.text_bytes += other.text_bytes
        return self


class Sizes(Struct):
    """The size of a language before and after deduplication."""

    original: Size
    final: Size
