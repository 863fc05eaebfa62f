"""Internal: The files in a folder that a manifest lists: roles come from the plan of the format, or else from names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from corpusfmt.formats import CheckOptions, Shard, named_format
from corpusfmt.io.compress import FileFacts
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


def listed(
    files: Mapping[str, FileFacts], shards: Sequence[Shard], documents: Mapping[str, int | None]
) -> dict[str, ListedFile]:
    """Return the entries of files with known sizes and digests; `documents` are by the first file of a shard."""
    data = {path: (role, corpus) for path, role, corpus in _of_shards(shards)}
    return {
        path: ListedFile(facts.size, facts.sha256, *_role(path, data, documents.get(path)))
        for path, facts in files.items()
    }


def _role(path: str, data: Mapping[str, tuple[str, str]], documents: int | None) -> tuple[str, int | None, str]:
    role, corpus = data.get(path) or ("", "")
    named = next((kind for pattern, kind in _ROLES if pattern.fullmatch(path)), "other")
    return role or ("data" if documents is not None else named), documents, corpus


def _of_shards(shards: Sequence[Shard]) -> Iterator[tuple[str, str, str]]:
    for shard in shards:
        for role, entry in shard.files.items():
            yield entry.path, role, shard.corpus


def publish_manifest(
    root: Place, target: str, files: Mapping[str, FileFacts], made_of: Json, *, aside: Path | None = None
) -> None:
    """Write the manifest of the files written below a folder, in a format like `oscar-1.1` or an unknown one.

    The inputs in `made_of` may be an iterable, since there may be a hundred thousand.
    """
    name, version, shards = _planned(root, target)
    documents = {path: facts.documents for path, facts in files.items()}
    pieces = pieces_of(listed(files, shards, documents), made_of, name, version, rules_of(name, version))
    publish_pieces(root / NAME, pieces, aside=aside)


def rules_of(name: str, version: str) -> RuleSetOf | None:
    """Return the rules that releases in a format are checked by; None for an unknown format."""
    try:
        fmt, _ = named_format(name)
    except UsageError:
        return None
    return rule_set_of((*RULES, *fmt.rules), version)


def _planned(root: Place, target: str) -> tuple[str, str, Sequence[Shard]]:
    """Return the name and version of a format, and its shards in a folder; none for an unknown format."""
    try:
        fmt, version = named_format(target)
    except UsageError:
        return target, "", ()
    version = version or fmt.versions[-1]
    return fmt.name, version, fmt.plan(entry_of(str(root), begun=True), CheckOptions(version=version)).shards
