"""Scans of text that Python has no fast way for, by a native kernel where it is built."""

from __future__ import annotations

try:
    from corpusfmt.io._native import count_lines, is_certainly_nfc
except ImportError:  # no wheel for this platform and no compiler: the same answers, more slowly

    def count_lines(data: bytes, /) -> int:
        """Return how many LFs there are."""
        return data.count(b"\n")

    def is_certainly_nfc(data: bytes, /) -> bool:
        """Return whether data is UTF-8 in Normalisation Form C, as far as can be told at once: False says nothing."""
        return data.isascii()


__all__ = ["count_lines", "is_certainly_nfc"]
