"""Internal: The distributions that this one requires, and which of them are installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires, version

_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:;(?P<marker>.*))?")


def requirements() -> list[tuple[str, str]]:
    """Return the distributions that this one requires, each with its extra ("" for none)."""
    try:
        listed = requires("corpusfmt") or []
    except PackageNotFoundError:
        return []
    found = []
    for each in listed:
        match = _REQUIREMENT.match(each)
        assert match is not None
        extra = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", match["marker"] or "")
        found.append((match["name"], extra.group(1) if extra else ""))
    return found


def version_of(distribution: str) -> str | None:
    """Return the version of a distribution, None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
