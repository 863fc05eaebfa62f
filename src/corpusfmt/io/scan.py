"""Scans of text that Python has no fast way for, by a native kernel where it is built."""

from __future__ import annotations

try:
    from corpusfmt.io._native import count_lines, count_words, is_certainly_nfc, plain_text
except ImportError:  # no wheel for this platform and no compiler: the same answers, more slowly

    def count_lines(data: bytes, /) -> int:
        """Return how many LFs there are."""
        return data.count(b"\n")

    def count_words(data: bytes, /) -> int:
        """Return the number of runs without ASCII white space."""
        return len(data.split())

    def is_certainly_nfc(data: bytes, /) -> bool:
        """Return whether data is UTF-8 in Normalisation Form C, as far as can be told at once: False says nothing."""
        return data.isascii()

    def plain_text(data: bytes, least: int, /) -> tuple[int, list[int], list[int]] | None:
        """Return how many lines there are, and numbers and places (bytes) of the empty ones, both from 0.

        Only where all others have at least `least` code points, are UTF-8 in Normalisation Form C, do not begin with
        white space and have no control characters but tabs, no two empty ones follow each other and all end with LF.
        None says nothing.
        """
        del data, least
        return None


__all__ = ["count_lines", "count_words", "is_certainly_nfc", "plain_text"]
