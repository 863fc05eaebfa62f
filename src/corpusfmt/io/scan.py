"""Internal: Fast scans of text, native if the kernel is built."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from msgspec import Struct

# The open document (its first line and byte, the number of separators before it), and whether an empty line (1) or several
# (2) are directly before. The beginning of a text counts as one.
Before = tuple[int, int, int, int]
BEGINNING: Before = (0, 0, 1, 1)
# A number of occurrences, and the offset of the first.
Sight = tuple[int, int]

try:
    from corpusfmt.io._native import (
        count_lines,
        count_quotes,
        double_encoding_at,
        is_utf8,
        split_at_empty_lines,
    )
    from corpusfmt.io._native import survey as _survey
except ImportError:  # no wheel for this platform and no compiler: same results, more slowly

    def count_lines(data: bytes, /) -> int:
        """Return the number of LFs."""
        return data.count(b"\n")

    def is_utf8(data: bytes, /) -> int:
        """Return whether data is UTF-8."""
        try:
            str(data, "utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def count_quotes(data: bytes, /) -> int:
        """Return the number of unescaped quotation marks: in valid JSON, twice the number of strings."""
        return data.count(b'"') - data.replace(rb"\\", b"").count(rb"\"")

    _BLANKS = b" \t\r"
    # CR, NUL, and other controls than tab and LF, of C0 and C1.
    _CONTROLS = [re.compile(each) for each in (rb"\r", rb"\0", rb"[\x01-\x08\x0b\x0c\x0e-\x1f]|\xc2[\x80-\x9f]")]
    _ANY_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f]|\xc2[\x80-\x9f]")
    _ODD, _RUN, _SHORT, _CONTROL, _NOT_NFC = 0, 1, 2, 3, 6
    _MOST_ODD = 10_000

    def _survey(
        data: bytes,
        least: int,
        state: tuple[int, ...],
        keeps: bool,
        is_nfc: Callable[[bytes], bool],
        /,
    ) -> tuple[Any, ...]:
        line, byte, open_line, open_byte, separators, blanks = state
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        seen: list[Sight] = [(0, 0)] * (_NOT_NFC + 1)

        def see(kind: int, at: int, times: int = 1) -> None:
            count, first = seen[kind]
            seen[kind] = count + times, first if count else at

        odd, bad, documents = [], [], []
        offset = filled = 0
        for number, text in enumerate(lines, line):
            if text.strip(_BLANKS):
                filled += 1
                blanks = 0
                if _ANY_CONTROL.search(text):
                    for kind, pattern in enumerate(_CONTROLS, _CONTROL):
                        if found := [match.start() for match in pattern.finditer(text)]:
                            see(kind, offset + found[0], len(found))
                try:
                    if len(text.decode()) < least:
                        see(_SHORT, offset)
                    if not text.isascii() and not is_nfc(text):
                        see(_NOT_NFC, offset)
                except UnicodeDecodeError:
                    bad.append(offset)
            else:
                if text:
                    odd.append(number)
                    see(_ODD, offset)
                elif blanks == 1:
                    see(_RUN, offset)
                blanks = 0 if text else 2 if blanks else 1
                if number > open_line:
                    documents.append((open_line, number - open_line, byte + offset - 1 - open_byte, separators))
                    separators = 0
                separators += 1
                open_line, open_byte = number + 1, byte + offset + len(text) + 1
            offset += len(text) + 1
        after = (open_line, open_byte, separators, blanks)
        columns = tuple(map(list, zip(*documents, strict=True))) if keeps and documents else ([], [], [], [])
        return len(lines), filled, len(documents), after, columns, odd[:_MOST_ODD], bad, seen

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


def _is_nfc(stretch: bytes) -> bool:
    return unicodedata.is_normalized("NFC", stretch.decode())


class Survey(Struct):
    """What a text of whole lines has.

    `filled` lines are not blank. `found` documents end in it; `documents` has their first lines, lines, bytes without the last
    LF, and separators before them. `odd` lines have only spaces, tabs and CRs; at most 10,000 are listed. `bad` lines begin
    at these offsets and are not UTF-8. Controls are those of C0 and C1 without tabs, LFs, CRs and NULs.
    """

    lines: int
    filled: int
    found: int
    after: Before
    documents: tuple[list[int], list[int], list[int], list[int]]
    odd: list[int]
    bad: list[int]
    odd_separators: Sight
    blank_runs: Sight
    short: Sight
    returns: Sight
    nuls: Sight
    controls: Sight
    not_nfc: Sight


def survey(
    data: bytes, least: int, line: int = 0, byte: int = 0, before: Before = BEGINNING, *, keeps_documents: bool = True
) -> Survey:
    """Survey whole lines from a line and byte (both from 0) of a text; those with fewer than `least` code points are short."""
    *found, seen = _survey(data, least, (line, byte, *before), keeps_documents, _is_nfc)
    return Survey(*found, *seen)


def is_nfc(data: bytes) -> bool:
    """Return whether bytes are UTF-8 in Normalisation Form C."""
    found = survey(data, 0, keeps_documents=False)
    return not found.bad and not found.not_nfc[0]


__all__ = [
    "BEGINNING",
    "Before",
    "Sight",
    "Survey",
    "count_lines",
    "count_quotes",
    "double_encoding_at",
    "is_nfc",
    "is_utf8",
    "split_at_empty_lines",
    "survey",
]
