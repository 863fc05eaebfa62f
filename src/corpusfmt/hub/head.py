"""Internal: Fast accept: the head of a card in the plain YAML that corpusfmt writes, without a parser for all of YAML."""

from __future__ import annotations

import re
from typing import Any

# Texts without escapes, and words that YAML takes for texts, apart from those below.
_LINE = re.compile(
    r'( *)(- )?(?:([A-Za-z_]\w{1,99}):(?: |$))?(?:"([^"\\]*)"|([A-Za-z][\w/+-]*(?:\.[\w/+-]+)*))?', re.ASCII
)
_NO_TEXTS = frozenset({"yes", "no", "true", "false", "on", "off", "null", "y", "n"})


class _NotPlainError(Exception):
    """Only a parser for all of YAML can tell what this is."""


def plain_head(text: str) -> dict[str, Any] | None:
    """Return the properties in the head of a card; None if it has anything but lists, objects, texts and `true`."""
    lines = text.split("\n")
    if not "".join(lines).isprintable():
        return None
    try:
        entries = [entry for line in lines for entry in _entries(line)]
        entries.reverse()
        head = _object(entries, 0)
    except _NotPlainError:
        return None
    return head if not entries else None


# Where it begins, whether it is an item of a list, its key and its value; the key is empty if it is a text.
_Entry = tuple[int, bool, str, str | bool | None]


def _entries(line: str) -> list[_Entry]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise _NotPlainError
    spaces, dash, key, quoted, word = match.groups()
    value = quoted if word is None else word
    if (key or "").lower() in _NO_TEXTS:
        raise _NotPlainError
    if word is not None and word.lower() in _NO_TEXTS:
        if word != "true":
            raise _NotPlainError
        value = True
    place = len(spaces)
    if not dash:
        return [(place, False, key or "", value)]
    return [(place, True, "", None), (place + 2, False, key or "", value)]


def _object(entries: list[_Entry], place: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while entries and entries[-1][0] == place and not entries[-1][1]:
        _, _, key, value = entries.pop()
        if not key or key in found:
            raise _NotPlainError
        found[key] = _inside(entries, place) if value is None else value
    return found


def _inside(entries: list[_Entry], place: int) -> Any:
    """Return what belongs to a key without a value: a list may begin where the key does."""
    inner, is_item, *_ = entries[-1] if entries else (-1, False)
    if inner > place or (is_item and inner == place):
        return _list(entries, inner) if is_item else _object(entries, inner)
    raise _NotPlainError


def _list(entries: list[_Entry], place: int) -> list[Any]:
    found: list[Any] = []
    while entries and entries[-1][:2] == (place, True):
        entries.pop()
        _, _, key, value = entries[-1]
        if key:
            found.append(_object(entries, place + 2))
        elif value is None:
            raise _NotPlainError
        else:
            entries.pop()
            found.append(value)
    return found
