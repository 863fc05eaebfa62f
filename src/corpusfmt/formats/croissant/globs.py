"""Glob patterns over paths: `*` and `?` stay within a path segment, `**` as a whole segment crosses them.

A pattern without a slash is about names, as in `.gitignore`: it matches at any depth.

Matching is by segments and without regular expressions, so that no pattern takes more than the product of its length
and that of the path.
"""

from __future__ import annotations

import re

_STARS = re.compile(r"\*+")


def matches(pattern: str, path: str) -> bool:
    """Tell whether a path (POSIX, relative) matches a pattern."""
    if "/" not in pattern:
        return _segment(pattern, path.rpartition("/")[2])
    wanted = pattern.removeprefix("./").lstrip("/").split("/")
    collapsed = [part for index, part in enumerate(wanted) if part != "**" or wanted[index - 1 : index] != ["**"]]
    return _segments(collapsed, path.split("/"))


def may_match_below(pattern: str, folder: str) -> bool:
    """Tell whether a pattern can match something in a folder, whatever that holds."""
    wanted = pattern.removeprefix("./").lstrip("/").split("/")
    parts = folder.split("/")
    for part, of_path in zip(wanted, parts, strict=False):
        if part == "**":
            return True
        if not _segment(part, of_path):
            return False
    return len(wanted) > len(parts)


def _segments(pattern: list[str], parts: list[str]) -> bool:
    at, position, star, resume = 0, 0, -1, 0
    while position < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and _segment(pattern[at], parts[position]):
            at, position = at + 1, position + 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(part == "**" for part in pattern[at:])


def _segment(pattern: str, text: str) -> bool:
    pattern = _STARS.sub("*", pattern)
    at, position, star, resume = 0, 0, -1, 0
    while position < len(text):
        if pattern[at : at + 1] == "*":
            star, resume = at, position
            at += 1
            continue
        length = _one(pattern, at, text[position])
        if length:
            at, position = at + length, position + 1
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return pattern[at:] in ("", "*")


def _one(pattern: str, at: int, character: str) -> int:
    """Return how much of a pattern one character takes, 0 where it does not match."""
    piece = pattern[at : at + 1]
    if piece == "?":
        return 1
    end = pattern.find("]", at + 2) if piece == "[" else -1
    if end > 0:
        inside = pattern[at + 1 : end]
        negated = inside[:1] in ("!", "^")
        return end - at + 1 if _in_class(inside[negated:], character) != negated else 0
    if piece == "\\" and at + 1 < len(pattern):
        return 2 if pattern[at + 1] == character else 0
    return 1 if piece == character else 0


def _in_class(inside: str, character: str) -> bool:
    position = 0
    while position < len(inside):
        if inside[position + 1 : position + 2] == "-" and position + 2 < len(inside):
            if inside[position] <= character <= inside[position + 2]:
                return True
            position += 3
        else:
            if inside[position] == character:
                return True
            position += 1
    return False
