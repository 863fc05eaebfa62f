"""Internal: Repairs of a description that is not yet JSON, or has a name twice: its bytes and tokens."""

from __future__ import annotations

import codecs
import json
import re
from itertools import islice

from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.model import Edit, Finding, Fix

_MOST_BYTES = 1024 * 1024
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UTF8_MARKS = re.compile(rb"(?:\xef\xbb\xbf)+")
_MOST_SLIPS = 1_000
# Strings are matched to be passed over.
_SLIP = re.compile(r'"(?:[^"\\]++|\\.)*+"|(?P<comma>,)\s*+[}\]]|(?P<constant>NaN|-?Infinity)', re.DOTALL)


def fix_of_bytes(data: bytes) -> Fix | None:
    """Return how to write a description as UTF-8 without a byte order mark: safely, if a mark shows its encoding."""
    if mark := _UTF8_MARKS.match(data):
        return Fix((Edit(0, mark.end(), ""),))
    if len(data) > _MOST_BYTES:
        return None
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "cp1252")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    return Fix((Edit(0, len(data), text),), safe=encoding != "cp1252")


def fix_of_syntax(finding: Finding, text: str, places: Places) -> Fix | None:
    """Return the repair of a common JSON mistake: a comma before a closing bracket, a malformed number.

    It includes all mistakes of that kind that precede another error.
    """
    slips = (found for found in _SLIP.finditer(text) if found.lastgroup)
    first = next((found for found in slips if _is_at(found, finding, places)), None)
    if first is None:
        return None
    alike = [first, *islice((found for found in slips if found.lastgroup == first.lastgroup), _MOST_SLIPS)]
    kind = first.lastgroup or ""
    new = "null" if kind == "constant" else ""
    end = _end_of_json(_SLIP.sub(lambda found: _blanked(found, kind), text))
    spans = [found.span(kind) for found in alike if found is first or found.start() < end]
    edits = (Edit(places.byte_at(start), places.byte_at(stop), new) for start, stop in spans)
    return Fix(tuple(edits), safe=kind == "comma")


def _is_at(found: re.Match[str], finding: Finding, places: Places) -> bool:
    # Versions of Python report a comma too many at the comma or at the bracket behind it.
    start, end = places.byte_at(found.start()), places.byte_at(found.end())
    byte = finding.location.byte
    return byte is not None and (start == byte or (found.lastgroup == "comma" and start <= byte <= end))


def _blanked(found: re.Match[str], kind: str) -> str:
    """Return a text of the same length, without a mistake of this kind."""
    piece = found.group()
    if found.lastgroup != kind:
        return piece
    return f" {piece[1:]}" if kind == "comma" else "0".ljust(len(piece))


def _end_of_json(text: str) -> int:
    try:
        json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return 0
    return len(text)


def repetitions(places: Places) -> dict[int, Fix]:
    """Return the repairs of names that are repeated with the same value, by the bytes of the later names."""
    text = places.text
    found: dict[int, list[int]] = {}
    for each in places.duplicates():
        found.setdefault(each.first, []).append(each.again)
    fixes = {}
    for first, others in found.items():
        members = [_member(text, at) for at in (first, *others)]
        spans = [each for each in members if each is not None]
        if len(spans) < len(members) or len({text[slice(*each)] for each in spans}) > 1:
            continue  # readers take the first value, or the last
        for start, end in spans[1:]:
            comma = text.rindex(",", 0, start)
            fixes[places.byte_at(start)] = Fix((Edit(places.byte_at(comma), places.byte_at(end), ""),))
    return fixes


_SCALAR = re.compile(r'"(?:[^"\\]|\\.)*"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^\s{}\[\],:"]+)')


def _member(text: str, start: int) -> tuple[int, int] | None:
    found = _SCALAR.match(text, start)
    return found.span() if found else None
