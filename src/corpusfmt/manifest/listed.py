"""Internal: The files in a folder that a manifest lists: roles come from the plan of the format, or else from names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from corpusfmt.formats import CheckOptions, Shard, named_format
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.ondisk import ByName, joined
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import entry_of
from corpusfmt.io.publish import publish_pieces
from corpusfmt.manifest.model import NAME, ListedFile, RuleSetOf, pieces_of, rule_set_of
from corpusfmt.manifest.rules import RULES
from corpusfmt.model import Json, UsageError

_ROLES = (
    (re.compile(r"croissant\.json"), "description"),
    (re.compile(r"stats\.(?:json|md)"), "statistics"),
    (re.compile(r"README([.-].*)?", re.IGNORECASE), "card"),
    (re.compile(r"LICEN[CS]E([.-].*)?", re.IGNORECASE), "licence"),
    (re.compile(r"(?:.*/)?[^/]*sha-?256[^/]*", re.IGNORECASE), "checksums"),
    (re.compile(r"(?:.*/)?[^/]*schema\.json"), "schema"),
)


def listed(files: ByName[FileFacts], shards: Iterable[Shard]) -> ByName[ListedFile]:
    """Return the entries of files with known sizes and digests; documents are those of the first file of a shard."""
    planned = ByName((entry.path, (role, each.corpus)) for each in shards for role, entry in each.files.items())
    return ByName(
        (
            path,
            ListedFile(facts.size, facts.sha256, _role(path, facts, place), facts.documents, place[1] if place else ""),
        )
        for path, facts, place in joined(files.items(), planned.items())
    )


def _role(path: str, facts: FileFacts, place: tuple[str, str] | None) -> str:
    if place is not None and place[0]:
        return place[0]
    named = next((kind for pattern, kind in _ROLES if pattern.fullmatch(path)), "other")
    return "data" if facts.documents is not None else named


def publish_manifest(
    root: Place, target: str, files: ByName[FileFacts], made_of: Json, *, aside: Path | None = None
) -> None:
    """Write the manifest of the files written below a folder, in a format like `oscar-1.1` or an unknown one.

    The inputs in `made_of` may be an iterable, since there may be a hundred thousand.
    """
    name, version, shards = _planned(root, target)
    pieces = pieces_of(listed(files, shards), made_of, name, version, rules_of(name, version))
    publish_pieces(root / NAME, pieces, aside=aside)


def rules_of(name: str, version: str) -> RuleSetOf | None:
    """Return the rules that releases in a format are checked by; None for an unknown format."""
    try:
        fmt, _ = named_format(name)
    except UsageError:
        return None
    return rule_set_of((*RULES, *fmt.rules), version)


def _planned(root: Place, target: str) -> tuple[str, str, Iterable[Shard]]:
    """Return the name and version of a format, and its shards in a folder; none for an unknown format."""
    try:
        fmt, version = named_format(target)
    except UsageError:
        return target, "", ()
    version = version or fmt.versions[-1]
    return fmt.name, version, fmt.plan(entry_of(str(root), begun=True), CheckOptions(version=version)).shards
