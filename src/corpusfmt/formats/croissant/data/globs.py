"""Internal: Glob patterns over paths: `*` and `?` stay within a path segment, `**` as a whole segment crosses them.

A pattern without a slash matches names at any depth, as in `.gitignore`.

A pattern becomes a regular expression that never backtracks across a star, so matching takes at most the product of the
lengths of pattern and path.
"""

from __future__ import annotations

import re
from functools import lru_cache

_STARS = re.compile(r"\*+")
_CROSSING = r"(?:[^/]*+/)*?"


def matches(pattern: str, path: str) -> bool:
    """Return whether a path (POSIX, relative) matches a pattern."""
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    return _expression(pattern).fullmatch(f"{path}/") is not None


def may_match_below(pattern: str, folder: str) -> bool:
    """Return whether a pattern can match any path in a folder."""
    wanted = pattern.removeprefix("./").lstrip("/").split("/")
    parts = folder.split("/")
    for part, of_path in zip(wanted, parts, strict=False):
        if part == "**":
            return True
        if not _expression(part).fullmatch(f"{of_path}/"):
            return False
    return len(wanted) > len(parts)


def literal_in(pattern: str) -> str:
    """Return a text that every path matching the pattern contains."""
    if "[" in pattern or "\\" in pattern:
        return ""
    return max(re.split(r"[*?/]+", pattern.removeprefix("./")), key=len)


@lru_cache(maxsize=1 << 14)
def _expression(pattern: str) -> re.Pattern[str]:
    """Return the expression that matches paths with a trailing slash."""
    groups: list[str] = [""]
    for segment in pattern.removeprefix("./").lstrip("/").split("/"):
        if segment == "**":
            groups += [""] if groups[-1] or len(groups) == 1 else []
        else:
            groups[-1] += _segment(segment)
    first, *others = groups
    if not others:
        return re.compile(first)
    *inner, last = others
    crossing = "".join(f"(?>{_CROSSING}{group})" for group in inner)
    return re.compile(f"{first}{crossing}{_CROSSING}{last}" if last else f"{first}{crossing}(?:[^/]*+/)*+")


def _segment(pattern: str) -> str:
    first, *others = _pieces(_STARS.sub("*", pattern))
    if not others:
        return f"{first}/"
    *inner, last = others
    crossing = "".join(f"(?>[^/]*?{piece})" for piece in inner)
    return f"{first}{crossing}[^/]*{last}/" if last else f"{first}{crossing}[^/]*+/"


def _pieces(pattern: str) -> list[str]:
    """Return the parts of a segment between its stars, as regular expressions."""
    pieces = [""]
    position = 0
    while position < len(pattern):
        if pattern[position] == "*":
            pieces.append("")
            position += 1
        else:
            piece, position = _one(pattern, position)
            pieces[-1] += piece
    return pieces


def _one(pattern: str, position: int) -> tuple[str, int]:
    """Return the expression for one character, and the position after it in the pattern."""
    piece = pattern[position]
    if piece == "?":
        return "[^/]", position + 1
    end = pattern.find("]", position + 2) if piece == "[" else -1
    if end > 0:
        inside = pattern[position + 1 : end]
        negated = inside[:1] in ("!", "^")
        members = _members(inside[negated:])
        found = f"[{members}]" if members else "(?!)"
        return f"(?:(?!{found})[^/])" if negated else f"(?!/){found}", end + 1
    if piece == "\\" and position + 1 < len(pattern):
        return re.escape(pattern[position + 1]), position + 2
    return re.escape(piece), position + 1


def _members(inside: str) -> str:
    """Return the members of a character class; a reversed range is empty."""
    found = ""
    position = 0
    while position < len(inside):
        if inside[position + 1 : position + 2] == "-" and position + 2 < len(inside):
            low, high = inside[position], inside[position + 2]
            found += f"{re.escape(low)}-{re.escape(high)}" if low <= high else ""
            position += 3
        else:
            found += re.escape(inside[position])
            position += 1
    return found
