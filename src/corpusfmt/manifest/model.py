"""Internal: The content of a manifest: every file of a release with size, SHA-256, role and documents, and a digest of the tree.

Nothing in a manifest depends on the name of a folder, on the machine or on the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from corpusfmt.io.compress import sha256
from corpusfmt.io.paths import is_hidden
from corpusfmt.io.text import pretty_pieces
from corpusfmt.model import Json, Rule

NAME = "MANIFEST.json"
SCHEMA: Literal["corpusfmt-manifest/1"] = "corpusfmt-manifest/1"
#: Statements about a release, and the bundle that signs it, all next to the manifest. None is called `.jsonl`: loaders read
#: files of that name as data.
PROVENANCE = "MANIFEST.provenance.json"
VERIFICATION = "MANIFEST.verification.json"
#: The name that model-signing gives to signatures.
SIGNATURE = "model.sig"
#: Names that no manifest lists: these in the folder of the manifest, and hidden ones anywhere. Each manifest states them.
UNLISTED = (NAME, PROVENANCE, VERIFICATION, "*.sig", "*.asc", "*.sigstore", "*.sigstore.json", "**/.*")
#: What no path in a manifest has.
NOT_IN_PATHS = re.compile(r"[\x00-\x1f\x7f\\]")
_SIGNATURES = re.compile(r"[^/]+\.(?:sig|asc|sigstore(?:\.json)?)")

_HEX = r"[0-9a-f]{64}"
_Digest = Annotated[str, Meta(pattern=rf"^{_HEX}\Z")]
_Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ListedFile(Struct, frozen=True, omit_defaults=True, gc=False):
    """A file of a release. `documents` are counted at one file of each shard; `corpus` is the folder of its variant."""

    size: _Count
    sha256: _Digest
    role: str = ""
    documents: _Count | None = None
    corpus: str = ""


class Tree(Struct, frozen=True):
    """The whole of a release: a digest over names and contents, and sums over its files."""

    sha256: _Digest
    files: _Count
    bytes: _Count
    documents: _Count


class RuleSetOf(Struct, frozen=True):
    """The rules that a version of corpusfmt has for a format, by number and digest: both change with any rule or grade."""

    count: _Count
    sha256: _Digest


class Head(Struct, frozen=True, omit_defaults=True):
    """The head of a manifest: everything except its files and its provenance."""

    schema: Literal["corpusfmt-manifest/1"]
    tree: Tree
    format: str = ""
    version: str = ""
    unlisted: tuple[str, ...] = ()
    rules: RuleSetOf | None = None


class Manifest(Struct, frozen=True):
    """A manifest: its head, its files in the order of their paths, and all of it but these; `unusable` are names of wrong entries."""

    head: Head
    files: Mapping[str, ListedFile]
    whole: Json
    unusable: frozenset[str] = frozenset()


def is_unlisted(path: str) -> bool:
    """Return whether no manifest lists a path: the manifest itself, its signatures, and hidden names."""
    return path in {NAME, PROVENANCE, VERIFICATION} or is_hidden(path) or _SIGNATURES.fullmatch(path) is not None


def is_sha256(text: str) -> bool:
    """Return whether a text is a SHA-256 in hexadecimal digits, in lower case."""
    return re.fullmatch(_HEX, text) is not None


def by_bytes(paths: Iterable[str]) -> list[str]:
    """Return paths in the order of their bytes in UTF-8, which is that of their characters."""
    return sorted(paths)


def tree_of(files: Iterable[tuple[str, ListedFile]]) -> Tree:
    """Return the digest of files, given in the order of their paths, and their sums.

    The digest is the SHA-256 of the output of `sha256sum` for all files, sorted by the bytes of their paths: it covers names
    and contents, and common tools can compute it.
    """
    whole = sha256()
    number = size = documents = 0
    for path, each in files:
        escaped = path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        whole.update(f"{chr(92) if escaped != path else ''}{each.sha256}  {escaped}\n".encode())
        number += 1
        size += each.size
        documents += each.documents or 0
    return Tree(whole.hexdigest(), number, size, documents)


def rule_set_of(rules: Iterable[Rule], version: str) -> RuleSetOf:
    """Return number and digest of the rules that apply to a version of a format: SHA-256 of a line `CODE SEVERITY` for each."""
    grades = {rule.code: rule.severity_for(version=version) for rule in rules}
    lines = [f"{code} {grade}\n" for code, grade in sorted(grades.items()) if grade is not None]
    return RuleSetOf(len(lines), sha256("".join(lines).encode()).hexdigest())


def manifest_pieces(
    files: Mapping[str, ListedFile], made_of: Json, format_name: str, version: str, rules: RuleSetOf | None = None
) -> Iterator[bytes]:
    """Return a manifest in its written form: `files` in the order of their paths, and in `made_of` what else it says, by name."""
    head = Head(SCHEMA, tree_of(files.items()), format_name, version, UNLISTED, rules)
    return pretty_pieces({**msgspec.to_builtins(head), **made_of, "files": files})
