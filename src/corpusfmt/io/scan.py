"""Scans of text that Python has no fast way for, by a native kernel where it is built."""

from __future__ import annotations

import re

try:
    from corpusfmt.io._native import (
        count_lines,
        count_quotes,
        count_words,
        is_certainly_nfc,
        plain_text,
        split_at_empty_lines,
    )
except ImportError:  # no wheel for this platform and no compiler: the same answers, more slowly

    def count_lines(data: bytes, /) -> int:
        """Return how many LFs there are."""
        return data.count(b"\n")

    def count_quotes(data: bytes, /) -> int:
        """Return how many quotation marks are not escaped: in valid JSON twice the number of its strings."""
        return data.count(b'"') - data.replace(rb"\\", b"").count(rb"\"")

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

    _ODD_SEPARATOR = re.compile(rb"\n(?:\n\n|[ \t\r]+(?:\n|\Z))")

    def split_at_empty_lines(data: bytes, /) -> list[tuple[bytes, int]] | None:
        """Return what stands between empty lines, each with its number of lines.

        None where a line but the first has only blanks (space, tab, CR), or where two empty lines follow each other.
        """
        if _ODD_SEPARATOR.search(data):
            return None
        return [(text, text.count(b"\n") + 1) for text in data.split(b"\n\n")]


__all__ = ["count_lines", "count_quotes", "count_words", "is_certainly_nfc", "plain_text", "split_at_empty_lines"]
