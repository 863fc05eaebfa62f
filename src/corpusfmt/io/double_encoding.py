"""Internal: Detect and repair UTF-8 that was decoded as Windows-1252 or Latin-1 and encoded again (`cafÃ©`).

Each character is mapped back to its byte. A run of characters beyond ASCII is garbled if these bytes are strict UTF-8,
which hardly any run of real words is. The exceptions are accented letters before punctuation (`NESCAFÉ®`, `TÉŽ`,
`Spaß“`), so a run is evidence only if real text would never contain it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from corpusfmt.io.jsonlines import decode_text, is_escaped
from corpusfmt.io.scan import count_lines, double_encoding_at

# Windows-1252 where it differs from Latin-1; its five undefined bytes are decoded as Latin-1.
_READ_FROM = {ord(bytes([byte]).decode("cp1252", "replace")): byte for byte in range(0x80, 0xA0)}
_READ_FROM.pop(ord("\N{REPLACEMENT CHARACTER}"))
_RUN = f"[\x80-\xff{''.join(map(chr, _READ_FROM))}]+"
# Punctuation that follows a letter in real text. Any other character after `Ã` was a letter.
_PUNCTUATION = "\xa0\xad«»®°²³´·¹¿‚„…‘’“”•–—™‹›"
# Not in real text: quotation marks and the like, emoji, a byte order mark, U+FFFD; a capital inside a lower-case word or
# directly after a number or a full stop.
_EVIDENCE = f"(?:â[€\x80]|ð[Ÿ\x9f]|ï»¿|ï¿½|[ÂÃ][^{_PUNCTUATION}]|(?<=[a-z])[Â-ÖØ-Þ]|(?<=[0-9.,;:!?%)])Â|Ã[^’](?=[a-z]))"
_MOST_ROUNDS = 4
_EXCERPT = 150
_BEYOND_ASCII, _AT_THE_END = re.compile(rb"[\x80-\xff]+"), re.compile(rb"[\x80-\xff]+\Z")
# The same runs recur.
_LONGEST_REMEMBERED = 64
_LINE_FEED = rb"\n"


class Repair(Struct, frozen=True):
    """A line that looks double-encoded: as it is, as it was meant, and the offset (in characters) of the first run."""

    found: str
    repaired: str
    start: int


def repair(line: str) -> Repair | None:
    """Return a line with all levels of double encoding undone, or None if it looks right.

    One piece of evidence is enough if every character beyond ASCII belongs to a garbled run; otherwise two are needed.
    """
    first = _undone(line)
    if first is None:
        return None
    start, repaired = first
    for _ in range(_MOST_ROUNDS - 1):
        again = _undone(repaired)
        if again is None:
            break
        repaired = again[1]
    return Repair(_excerpt(line, start), _excerpt(repaired, start), start)


def is_garbled(line: bytes) -> bool:
    """Return whether `repair` would change a line in UTF-8, which is much faster to know."""
    evident = 0
    place = double_encoding_at(line, 0, False)
    while place >= 0:
        after = _BEYOND_ASCII.match(line, place)
        assert after is not None
        before = _AT_THE_END.search(line, max(place - _LONGEST_REMEMBERED, 0), place)
        start, end = before.start() if before else place, after.end()
        if end - start > _LONGEST_REMEMBERED:
            return _undone(line.decode("utf-8", "replace")) is not None
        evident += _evident_in(line[max(start - 1, 0) : end + 1])
        if evident > 1:
            return True
        place = double_encoding_at(line, end, False)
    return evident > 0 and _undone(line.decode("utf-8", "replace")) is not None


@lru_cache(maxsize=1 << 12)
def _evident_in(piece: bytes) -> int:
    """Return how many runs are evidence, given characters beyond ASCII and those next to them."""
    return sum(is_evidence for *_, is_evidence in _runs(piece.decode("utf-8", "replace")))


def _runs(line: str) -> list[tuple[int, int, str | None, bool]]:
    """Return the start and end of each run, what it was meant to be, if it is garbled, and whether that is evidence."""
    found = []
    for match in re.finditer(_RUN, line):
        start, end = match.span()
        read = _read if end - start <= _LONGEST_REMEMBERED else _read.__wrapped__
        found.append((start, end, *read(line[max(start - 1, 0) : start], match[0], line[end : end + 1])))
    return found


def _undone(line: str) -> tuple[int, str] | None:
    found = _runs(line)
    garbled = [each for each in found if each[2] is not None]
    evidence = [each for each in garbled if each[3]]
    if not evidence:
        return None
    beyond_ascii = len(line) - len(line.encode("ascii", "ignore"))
    whole = len(garbled) == len(found) and sum(end - start for start, end, *_ in found) == beyond_ascii
    if len(evidence) == 1 and not whole:
        return None
    parts, begin = [], 0
    for start, end, text, _ in garbled if whole else evidence:
        parts += [line[begin:start], text or ""]
        begin = end
    return evidence[0][0], "".join([*parts, line[begin:]])


@lru_cache(maxsize=1 << 12)
def _read(before: str, run: str, after: str) -> tuple[str | None, bool]:
    """Return what a run was meant to be, if it is garbled, and whether that is evidence, between two characters."""
    try:
        text = run.translate(_READ_FROM).encode("latin-1").decode()
    except UnicodeDecodeError:
        return None, False
    return text, len(text) > 1 or re.compile(_EVIDENCE).match(before + run + after, len(before)) is not None


def _excerpt(line: str, start: int) -> str:
    begin = max(start - _EXCERPT // 3, 0)
    end = begin + _EXCERPT
    return ("…" if begin else "") + line[begin:end].strip() + ("…" if end < len(line) else "")


def suspect_lines(data: bytes, *, escaped: bool = False) -> Iterator[tuple[int, int, bytes]]:
    """Yield the lines of a block that `repair` may change, with number and byte offset, both from 0.

    `escaped`: the lines are JSON, in which characters may be escapes.
    """
    number = counted = 0
    place = double_encoding_at(data, 0, escaped)
    while place >= 0:
        start = data.rfind(b"\n", 0, place) + 1
        end = data.find(b"\n", place)
        if end < 0:
            end = len(data)
        number += count_lines(data[counted:start])
        counted = start
        yield number, start, data[start:end]
        place = double_encoding_at(data, end, escaped)


def suspect_lines_of_json(text: bytes) -> Iterator[bytes]:
    """Yield the lines of a text that `repair` may change, given the text as a JSON string: only these are decoded."""
    start, end = 1, len(text) - 1
    place = double_encoding_at(text, start, True)
    while place >= 0:
        before = place
        while (before := text.rfind(_LINE_FEED, start, before)) >= 0 and is_escaped(text, before):
            pass
        after = place
        while (after := text.find(_LINE_FEED, after, end)) >= 0 and is_escaped(text, after):
            after += 1
        stop = end if after < 0 else after
        decoded = decode_text(b'"%s"' % text[start if before < 0 else before + len(_LINE_FEED) : stop])
        # Several lines, if line feeds are written in another way.
        yield from (line for _, _, line in suspect_lines(decoded.encode()))
        start = min(stop + len(_LINE_FEED), end)
        place = double_encoding_at(text, start, True)
