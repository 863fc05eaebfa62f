"""Internal: Patterns that select exactly the files of a set, in all readings of `*`; splits by name."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from corpusfmt.formats.croissant.data.globs import matches, may_match_below
from corpusfmt.formats.describing import patterns

_MOST_LISTED = 200
_SPLITS = {
    "train": "cr:TrainingSplit", "training": "cr:TrainingSplit",
    "val": "cr:ValidationSplit", "valid": "cr:ValidationSplit", "validation": "cr:ValidationSplit",
    "dev": "cr:ValidationSplit",
    "test": "cr:TestSplit", "testing": "cr:TestSplit",
}  # fmt: skip
_NAMES = "|".join(_SPLITS)
#: Finds the split in a path: the last one in it.
SPLIT = rf"^(?:.*[/._-])?({_NAMES})(?:[/._-].*)?$"
_SPLIT = re.compile(SPLIT, re.DOTALL)


def includes_of(wanted: Sequence[str], others: Collection[str], links: Collection[str]) -> list[str] | None:
    """Return patterns that match some paths, none of the others, and nothing behind links; None if there are none."""
    found = patterns(wanted)
    if _selects(found, wanted, others) and not _may_reach(found, links):
        return found
    found = [_literal(path) for path in wanted]
    names = {path for path in wanted if "/" not in path}
    is_elsewhere = any(path.rpartition("/")[2] in names for path in others) if names else False
    if len(found) > _MOST_LISTED or is_elsewhere or any("\\" in path for path in wanted) or _may_reach(found, links):
        return None
    return found


def _literal(path: str) -> str:
    return re.sub(r"[*?[]", r"[\g<0>]", path)


def _selects(found: Sequence[str], wanted: Sequence[str], others: Collection[str]) -> bool:
    if not all(any(matches(each, path) and fnmatchcase(path, each) for each in found) for path in wanted):
        return False
    return not any(matches(each, path) or fnmatchcase(path, each) for path in others for each in found)


def _may_reach(found: Sequence[str], links: Collection[str]) -> bool:
    return any(
        "/" not in each or matches(each, link) or may_match_below(each, link) for link in links for each in found
    )


def split_in(path: str) -> str | None:
    """Return the split in a path, as it is written there."""
    found = _SPLIT.match(path)
    return found[1] if found else None


def split_type(name: str) -> str:
    """Return the Croissant split of a name."""
    return _SPLITS[name]
