"""Internal: The files in a folder that a manifest lists: roles come from the plan of the format, or else from names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from corpusfmt.formats import CheckOptions, Shard, named_format
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import entry_of
from corpusfmt.io.publish import publish_pieces
from corpusfmt.manifest.model import NAME, ListedFile, RuleSetOf, manifest_pieces, rule_set_of
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


def listed(files: Mapping[str, FileFacts], shards: Iterable[Shard]) -> dict[str, ListedFile]:
    """Return the entries of files with known sizes and digests; documents are those of the first file of a shard."""
    planned = {entry.path: (role, shard.corpus) for shard in shards for role, entry in shard.files.items()}
    entries = {}
    for path, facts in files.items():
        role, corpus = planned.get(path, ("", ""))
        entries[path] = ListedFile(facts.size, facts.sha256, role or _role(path, facts), facts.documents, corpus)
    return entries


def _role(path: str, facts: FileFacts) -> str:
    named = next((kind for pattern, kind in _ROLES if pattern.fullmatch(path)), "other")
    return "data" if facts.documents is not None else named


def publish_manifest(
    root: Place, target: str, files: Mapping[str, FileFacts], made_of: Json, *, aside: Path | None = None
) -> None:
    """Write the manifest of the files written below a folder, in a format like `oscar-1.1` or an unknown one.

    The inputs in `made_of` may be any iterable.
    """
    name, version, shards = _planned(root, target)
    entries = listed(files, shards)
    del shards  # a plan takes as much memory as all the rest
    pieces = manifest_pieces(entries, made_of, name, version, rules_of(name, version))
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
