"""Internal: Fast scans of text, native if the kernel is built."""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate

try:
    from corpusfmt.io._native import (
        count_lines,
        count_quotes,
        double_encoding_at,
        is_utf8,
        nfc_doubts,
        plain_text,
        split_at_empty_lines,
    )
except ImportError:  # no wheel for this platform and no compiler: same results, more slowly

    def count_lines(data: bytes, /) -> int:
        """Return the number of LFs."""
        return data.count(b"\n")

    def is_utf8(data: bytes, /) -> int:
        """Return whether data is UTF-8."""
        try:
            data.decode()
        except UnicodeDecodeError:
            return False
        return True

    def count_quotes(data: bytes, /) -> int:
        """Return the number of unescaped quotation marks: in valid JSON, twice the number of strings."""
        return data.count(b'"') - data.replace(rb"\\", b"").count(rb"\"")

    def nfc_doubts(data: bytes, settled: set[bytes], /) -> list[tuple[int, bytes]] | None:
        """Return places and bytes of lines that may not be in Normalisation Form C, or None if data is not UTF-8."""
        del settled
        try:
            if data.isascii() or unicodedata.is_normalized("NFC", data.decode()):
                return []
        except UnicodeDecodeError:
            return None
        lines = data.split(b"\n")
        starts = accumulate((len(line) + 1 for line in lines), initial=0)
        return [(start, line) for start, line in zip(starts, lines, strict=False) if not line.isascii()]

    def plain_text(data: bytes, least: int, /) -> tuple[int, list[int], list[int]] | None:
        """Return the number of lines, and the numbers and byte offsets of the empty ones, both from 0.

        Returns None (unknown) unless all other lines have at least `least` code points, are UTF-8 in Normalisation Form
        C, do not begin with white space, have no control characters except tabs and are certainly not double-encoded, no
        two empty lines are adjacent, and all lines end with LF.
        """
        del data, least
        return None

    _ODD_SEPARATOR = re.compile(rb"\n(?:\n\n|[ \t\r]+(?:\n|\Z))")

    def split_at_empty_lines(data: bytes, /) -> list[tuple[bytes, int]] | None:
        """Return the texts between empty lines, each with its number of lines.

        Returns None if a line other than the first has only blanks (space, tab, CR), or if two empty lines are adjacent.
        """
        if _ODD_SEPARATOR.search(data):
            return None
        return [(text, text.count(b"\n") + 1) for text in data.split(b"\n\n")]

    # Characters of Windows-1252 where Latin-1 has control characters.
    _OTHERS = [bytes([byte]).decode("cp1252") for byte in range(0x80, 0xA0) if byte not in b"\x81\x8d\x8f\x90\x9d"]
    _FOLLOWING = b"(?:\xc2[\x80-\xbf]|%s)" % "|".join(_OTHERS).encode()
    _ESCAPED = rb"(?i:\\u(?:00[89ab][0-9a-f]|%s))" % b"|".join(b"%04x" % ord(other) for other in _OTHERS)
    _TWICE = (
        rb"\xc3(?=.[\xc2-\xff])(?:[\x82\x83]@|[\xa2\xaf]@{2}|\xb0@{3}|(?<=[a-z]\xc3)[\x82-\x96\x98-\x9e]@"
        rb"|(?:[\x82-\x9f]@|[\xa0-\xaf]@{2}|[\xb0-\xb4]@{3})(?=\xc3[\x82-\xbf]))"
    ).replace(b"@", _FOLLOWING)
    _ESCAPED_TWICE = (
        rb"\\u00(?=[c-fC-F].\\)(?:(?i:c[23])@|(?i:e[2f])@{2}|(?i:f0)@{3}|(?<=[a-z]\\u00)(?i:c[2-9a-f]|d[0-689a-e])@"
        rb"|(?:(?i:c[2-9a-f]|d[0-9a-f])@|(?i:e[0-9a-f])@{2}|(?i:f[0-4])@{3})(?=\\u00(?i:c[2-9a-f]|[d-f][0-9a-f])))"
    ).replace(b"@", _ESCAPED)
    _IN_TEXT, _IN_JSON = re.compile(_TWICE), re.compile(_TWICE + b"|" + _ESCAPED_TWICE)

    def double_encoding_at(data: bytes, start: int, escaped: bool, /) -> int:
        """Return the first offset from `start` on where text may be UTF-8 that was encoded twice, or -1.

        It is the offset of a character beyond ASCII or, with `escaped`, of a JSON escape.
        """
        match = (_IN_JSON if escaped else _IN_TEXT).search(data, start)
        return match.start() if match else -1


# Stretches of text that are in Normalisation Form C though each code point alone does not show it. The same ones recur.
_SETTLED: set[bytes] = set()
_MOST_SETTLED, _LONGEST_SETTLED = 1 << 16, 64


def not_nfc(data: bytes) -> list[int] | None:
    """Return at least one offset for each line that is not in Normalisation Form C, in order, or None if data is not UTF-8."""
    doubts = nfc_doubts(data, _SETTLED)
    if not doubts:
        return doubts if doubts is None else []
    found = []
    for start, piece in doubts:
        if piece in _SETTLED:
            continue
        if not unicodedata.is_normalized("NFC", piece.decode()):
            found.append(start)
        elif len(piece) <= _LONGEST_SETTLED and len(_SETTLED) < _MOST_SETTLED:
            _SETTLED.add(piece)
    return found


__all__ = [
    "count_lines",
    "count_quotes",
    "double_encoding_at",
    "is_utf8",
    "not_nfc",
    "plain_text",
    "split_at_empty_lines",
]
