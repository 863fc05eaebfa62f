"""Internal: Fast scans of text, native if the kernel is built."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import accumulate
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
    _CONTROLS = bytes(range(0x20))
    _C1_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")
    _OTHER_CONTROL = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]|\xc2[\x80-\x9f]")
    # Bytes of UTF-8 that continue a sequence: the others are as many as code points.
    _CONTINUING = bytes(range(0x80, 0xC0))
    _LONGEST_SEQUENCE, _MOST_ODD = 4, 10_000

    def _survey(
        data: bytes,
        least: int,
        state: tuple[int, ...],
        keeps: bool,
        is_nfc: Callable[[bytes], bool],
        /,
    ) -> tuple[Any, ...]:
        del is_nfc
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        lengths = [len(each) for each in lines]
        starts = list(accumulate((length + 1 for length in lengths), initial=0))
        odd = {number for number, each in enumerate(lines) if each.isspace() and not each.strip(_BLANKS)}
        bad, not_nfc = _unreadable(data, lines)
        runs, documents, after = _cut(lengths, starts, odd, state)
        left_out = odd.union(bad)
        short = [
            number
            for number, length in enumerate(lengths)
            if 0 < length < least * _LONGEST_SEQUENCE
            and number not in left_out
            and (length < least or len(lines[number].translate(None, _CONTINUING)) < least)
        ]
        seen = [_first(each, starts) for each in (sorted(odd), runs, short)]
        seen += [*_controls(data, lines, starts, odd), _first(not_nfc, starts)]
        columns = tuple(map(list, zip(*documents, strict=True))) if keeps and documents else ([], [], [], [])
        remembered = [state[0] + number for number in sorted(odd)[:_MOST_ODD]]
        filled = len(lines) - lengths.count(0) - len(odd)
        return len(lines), filled, len(documents), after, columns, remembered, [starts[number] for number in bad], seen

    def _cut(
        lengths: list[int], starts: list[int], odd: set[int], state: tuple[int, ...]
    ) -> tuple[list[int], list[tuple[int, int, int, int]], Before]:
        """Return the empty lines that make a run of several, the documents that end, and what is before the next lines."""
        line, byte, open_line, open_byte, separators, blanks = state
        runs, documents = [], []
        previous = -1
        for number in sorted(odd.union(number for number, length in enumerate(lengths) if not length)):
            if number in odd or number != previous + 1:
                blanks = 0
            if number not in odd:
                if blanks == 1:
                    runs.append(number)
                blanks = 2 if blanks else 1
            count = line + number - open_line
            if count > 0:
                documents.append((open_line, count, byte + starts[number] - 1 - open_byte, separators))
                separators = 0
            separators += 1
            open_line, open_byte = line + number + 1, byte + starts[number + 1]
            previous = number
        if lengths and lengths[-1]:
            blanks = 0
        return runs, documents, (open_line, open_byte, separators, blanks)

    def _first(numbers: list[int], starts: list[int]) -> Sight:
        return len(numbers), starts[numbers[0]] if numbers else 0

    def _unreadable(data: bytes, lines: list[bytes]) -> tuple[list[int], list[int]]:
        """Return the numbers of the lines that are not UTF-8, and of those that are not in Normalisation Form C."""
        try:
            if data.isascii() or unicodedata.is_normalized("NFC", data.decode()):
                return [], []
        except UnicodeDecodeError:
            pass
        bad, not_nfc = [], []
        for number, line in enumerate(lines):
            try:
                if not line.isascii() and not unicodedata.is_normalized("NFC", line.decode()):
                    not_nfc.append(number)
            except UnicodeDecodeError:
                bad.append(number)
        return bad, not_nfc

    def _controls(data: bytes, lines: list[bytes], starts: list[int], odd: set[int]) -> list[Sight]:
        low = len(data) - len(data.translate(None, _CONTROLS)) - data.count(b"\n")
        returns, nuls, tabs = map(data.count, (b"\r", b"\0", b"\t"))
        others = low - returns - nuls - tabs + (len(_C1_CONTROL.findall(data)) if b"\xc2" in data else 0)
        match = _OTHER_CONTROL.search(data) if others else None
        first = 0
        if returns:
            returns -= sum(lines[number].count(b"\r") for number in odd)
            if returns:
                numbers = (number for number, line in enumerate(lines) if b"\r" in line and number not in odd)
                first = data.index(b"\r", starts[next(numbers)])
        return [(returns, first), (nuls, max(data.find(b"\0"), 0)), (others, match.start() if match else 0)]

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
