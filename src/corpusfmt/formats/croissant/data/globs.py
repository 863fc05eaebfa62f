"""Internal: Glob patterns over paths: `*` and `?` stay within a path segment, `**` as a whole segment crosses them.

A pattern without a slash matches names at any depth, as in `.gitignore`. Croissant does not say
which glob patterns it means; segments are those of `fnmatch`, as in mlcroissant, where `^` and a backslash are characters like others.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache


def matches(pattern: str, path: str) -> bool:
    """Return whether a path (POSIX, relative) matches a pattern, in time proportional to the product of their lengths."""
    names = path.split("/") if "/" in pattern else [path.rpartition("/")[2]]
    places = {0}
    for segment in _segments(pattern):
        if segment is None:
            places = set(range(min(places), len(names) + 1))
        else:
            places = {place + 1 for place in places if place < len(names) and segment.match(names[place])}
        if not places:
            return False
    return len(names) in places


def may_match_below(pattern: str, folder: str) -> bool:
    """Return whether a pattern can match any path in a folder."""
    segments, names = _segments(pattern), folder.split("/")
    for segment, name in zip(segments, names, strict=False):
        if segment is None:
            return True
        if not segment.match(name):
            return False
    return len(segments) > len(names)


@lru_cache(maxsize=1 << 14)
def _segments(pattern: str) -> list[re.Pattern[str] | None]:
    """Return the expression of each segment, None for `**`."""
    return [
        None if segment == "**" else _expression(segment)
        for segment in pattern.removeprefix("./").lstrip("/").split("/")
    ]


@lru_cache(maxsize=1 << 14)
def _expression(segment: str) -> re.Pattern[str]:
    # For each bracket that is not closed, `translate` would search the rest of the segment.
    end = 0
    while (start := segment.find("[", end)) >= 0:
        end = segment.find("]", start + (3 if segment.startswith("[!", start) else 2)) + 1
        if not end:
            segment = segment[:start] + segment[start:].replace("[", "[[]")
            break
    return re.compile(translate(segment))
