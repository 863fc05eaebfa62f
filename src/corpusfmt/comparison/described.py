"""Internal: Statements of descriptions and manifests about two releases, and the step between their versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.comparison.reading import MOST_NAMES
from corpusfmt.comparison.result import Change, Counts, VersionBump
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import json_object
from corpusfmt.model import Json
from corpusfmt.wording import clipped

_DESCRIPTION, _MANIFEST = "croissant.json", "MANIFEST.json"
_MOST_BYTES = 64 * 1024 * 1024
# As Semantic Versioning 2.0.0 has it; Croissant takes 1 to 3 numbers.
_VERSION = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+][0-9A-Za-z.+-]*)?")
_NULL = {"null"}
_STEPS = ("major", "minor", "patch")
# Above the number and digest of a rule set: its format and version.
_RULES_OF = "rules of"
_PREFIX = re.compile(r"(?:https?://schema\.org/|sc:|schema:|cr:)")


class _Manifest(Struct):
    """The compared part of a manifest: not its files, since their documents are compared one by one."""

    tool: Any = None
    recipe: Any = None
    model: Any = None
    rules: Any = None
    format: Any = None
    version: Any = None


class Stated(Struct, frozen=True):
    """Statements about a release: by kind, one value or several by name. `notes` name what could not be read."""

    version: str | None
    values: Mapping[str, Mapping[str, str]]
    notes: Sequence[str] = ()
    #: Whether all fields are known.
    has_schema: bool = True


def stated(release: Entry, fields: Mapping[str, set[str]]) -> Stated:
    """Return the statements of a release's description and manifest, and the fields of its documents."""
    notes: list[str] = []
    description = _json(release, _DESCRIPTION, notes) or {}
    plain = {_PREFIX.sub("", name, count=1): value for name, value in description.items()}
    version = plain.get("version")
    values: dict[str, dict[str, str]] = {
        # A field without a value in any document is equivalent to an absent one.
        "schema": {name: " or ".join(sorted(kinds - _NULL)) for name, kinds in fields.items() if kinds != _NULL},
        "licence": {"": ", ".join(sorted(_names(plain.get("license"))))} if plain.get("license") else {},
        **_made(release, notes),
    }
    has_schema = len(fields) < MOST_NAMES
    if not has_schema:
        notes.append(f"{MOST_NAMES:,} fields and attributes, or more: the schema is not compared")
    return Stated(None if version is None else _shown(version), values, notes, has_schema)


def _json(release: Entry, name: str, notes: list[str]) -> Json | None:
    data = _bytes(release, name, notes)
    found = None if data is None else json_object(data)
    if data is not None and found is None:
        notes.append(f"{name} is not a JSON object: not compared")
    return found


def _made(release: Entry, notes: list[str]) -> dict[str, dict[str, str]]:
    """Return how a release was made, according to its manifest."""
    data = _bytes(release, _MANIFEST, notes)
    try:
        found = _Manifest() if data is None else msgspec.json.decode(data, type=_Manifest)
        # Builds and conversions number the forms of their scratch apart: `format` says nothing about rules.
        tool = {name: value for name, value in _flat(found.tool).items() if name != "format"}
        rules = tool | _flat(found.rules, f"{_RULES_OF} {_shown(found.format)} {_shown(found.version)}")
        return {"recipe": _flat(found.recipe), "rules": rules, "model": _flat(found.model)}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        notes.append(f"{_MANIFEST} is not a JSON object, or is nested too deeply: not compared")
        return {"recipe": {}, "rules": {}, "model": {}}


def _bytes(release: Entry, name: str, notes: list[str]) -> bytes | None:
    entry = release.child(name) if release.kind == "directory" else release if release.name == name else None
    if entry is None or entry.kind != "file":
        return None
    try:
        with entry.open() as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        notes.append(f"{name} cannot be read ({error.strerror}): not compared")
        return None
    if len(data) > _MOST_BYTES:
        notes.append(f"{name} has more than {_MOST_BYTES >> 20} MiB: not compared")
        return None
    return data


def _names(value: Any) -> Iterator[str]:
    """Yield the values of a property: texts, or the names and addresses of objects."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            each = next((each[key] for key in ("@id", "url", "name") if key in each), each)  # noqa: PLW2901
        yield _shown(each)


def _flat(value: Any, above: str = "") -> dict[str, str]:
    """Return the values in nested objects by their names, joined with dots."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {above: _shown(value)}
    found: dict[str, str] = {}
    for name, each in value.items():
        if len(found) < MOST_NAMES:
            found |= _flat(each, f"{above}.{name}" if above else name)
    return found


def _shown(value: Any) -> str:
    return clipped(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def changes(old: Stated, new: Stated) -> list[Change]:
    """Return the statements that differ; a statement of only one release counts if the other states anything."""
    found: list[Change] = []
    for what, values in old.values.items():
        others = new.values[what]
        if what == "schema" and not (old.has_schema and new.has_schema):
            continue
        if what == "rules":
            values, others = _comparable(values, others)  # noqa: PLW2901
        if what in ("recipe", "rules", "model") and not (values and others):
            continue
        found.extend(
            Change(what, clipped(name), values.get(name), others.get(name))
            for name in sorted(values.keys() | others.keys())
            if values.get(name) != others.get(name)
        )
    return found


def _comparable(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the rule sets of two manifests, if both have that of the same format; else the tools, whose rules they were."""
    sets = [{name: value for name, value in each.items() if name.startswith(_RULES_OF)} for each in (old, new)]
    if sets[0] and sets[0].keys() == sets[1].keys():
        return sets[0], sets[1]
    tools = [{name: value for name, value in each.items() if not name.startswith(_RULES_OF)} for each in (old, new)]
    return tools[0], tools[1]


def bump(old: Stated, new: Stated, documents: Counts, changed: Sequence[Change], *, differ: bool) -> VersionBump:
    """Return the step between two versions and the required step; `differ` is whether any file differs."""
    needed = _needed(documents, changed, differ=differ)
    return VersionBump(old.version, new.version, _step(old.version, new.version), needed)


def _needed(documents: Counts, changed: Sequence[Change], *, differ: bool) -> str:
    schema = [each for each in changed if each.what == "schema"]
    extended = any(each.old is None for each in schema)
    narrowed = any(each.old is not None for each in schema)
    edited = documents.changed_metadata + documents.changed_attributes
    # A field that is added to all documents changes each of them, but no existing value.
    if documents.removed or documents.changed_text or documents.renamed or narrowed or (edited and not extended):
        return "major"
    if documents.added or extended:
        return "minor"
    return "patch" if differ or changed or documents.moved else "none"


def _step(old: str | None, new: str | None) -> str:
    before, after = (_VERSION.fullmatch(each) if each else None for each in (old, new))
    if before is None or after is None:
        return "unknown"
    one, other = ([int(number or 0) for number in each.groups()] for each in (before, after))
    if other < one:
        return "down"
    return next((step for step, a, b in zip(_STEPS, one, other, strict=True) if a != b), "none")
