"""Internal: Glob patterns over paths: `*` and `?` stay within a path segment, `**` as a whole segment crosses them.

A pattern without a slash is about names, as in `.gitignore`: it matches at any depth.

A pattern becomes a regular expression that never goes back behind a star, so that no pattern takes more than the product
of its length and that of the path.
"""

from __future__ import annotations

import re
from functools import lru_cache

_STARS = re.compile(r"\*+")
_CROSSING = r"(?:[^/]*+/)*?"


def matches(pattern: str, path: str) -> bool:
    """Tell whether a path (POSIX, relative) matches a pattern."""
    if "/" not in pattern:
        path = path.rpartition("/")[2]
    return _expression(pattern).fullmatch(f"{path}/") is not None


def may_match_below(pattern: str, folder: str) -> bool:
    """Tell whether a pattern can match something in a folder, whatever that holds."""
    wanted = pattern.removeprefix("./").lstrip("/").split("/")
    parts = folder.split("/")
    for part, of_path in zip(wanted, parts, strict=False):
        if part == "**":
            return True
        if not _expression(part).fullmatch(f"{of_path}/"):
            return False
    return len(wanted) > len(parts)


def literal_in(pattern: str) -> str:
    """Return a piece of text that every path has which matches a pattern."""
    if "[" in pattern or "\\" in pattern:
        return ""
    return max(re.split(r"[*?/]+", pattern.removeprefix("./")), key=len)


@lru_cache(maxsize=1 << 14)
def _expression(pattern: str) -> re.Pattern[str]:
    """Return what matches paths with a slash behind them."""
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
    """Return as regular expressions what stands between the stars of a segment."""
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
    """Return what matches one character, and where the pattern goes on."""
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
    """Return the members of a class of characters; a range that ends before it begins has none."""
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
