"""Internal: What a corpus was made of, and by what, as its manifest says, in the terms of PROV-O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from corpusfmt.description.owner import activity
from corpusfmt.io.paths import Entry, is_uri
from corpusfmt.io.revisions import revision_of
from corpusfmt.model import Json

_MANIFEST = "MANIFEST.json"
_MOST_BYTES = 64 * 1024 * 1024
# With more inputs only their folders are named.
_MOST_INPUTS = 1000


def provenance_of(corpus: Entry) -> Json:
    """Return `wasDerivedFrom` and `wasGeneratedBy` for a folder with a manifest of corpusfmt.

    Of any other, nothing, or its commit if it is on the Hub.
    """
    manifest = _manifest(corpus)
    tool, inputs, recipe = (manifest.get(name) for name in ("tool", "inputs", "recipe"))
    if not isinstance(tool, dict) or not isinstance(inputs, list):
        return _derived([corpus.url] if revision_of(corpus.url) else [])
    names = list(_names(inputs))
    if len(names) > _MOST_INPUTS:
        names = sorted({name.rpartition("/")[0] or name for name in names})[:_MOST_INPUTS]
    made = _derived([*_repositories(manifest.get("conversion")), *names])
    label = f"{tool.get('name', 'corpusfmt')} {tool.get('version', '')}".strip()
    by = f", recipe {recipe['name']}" if isinstance(recipe, dict) and isinstance(recipe.get("name"), str) else ""
    return made | {"prov:wasGeneratedBy": [activity({"label": f"{label}{by}"})]}


def _derived(names: list[str]) -> Json:
    return {"prov:wasDerivedFrom": [{"@id": _iri(name)} for name in names]} if names else {}


def _repositories(conversion: Any) -> Iterator[str]:
    """Yield the repositories on the Hub that were converted, with their commits."""
    revisions = conversion.get("revisions") if isinstance(conversion, dict) else None
    for repository, commit in revisions.items() if isinstance(revisions, dict) else ():
        yield f"{repository}@{commit}"


def _manifest(corpus: Entry) -> Mapping[str, Any]:
    entry = corpus.child(_MANIFEST) if corpus.kind == "directory" else None
    if entry is None or entry.kind != "file" or entry.size > _MOST_BYTES:
        return {}
    try:
        with entry.open() as file:
            found: Any = msgspec.json.decode(b"".join(iter(lambda: file.read(1 << 20), b"")))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names(inputs: list[Any]) -> Iterator[str]:
    """Yield the names of the inputs that were taken."""
    for each in inputs:
        if isinstance(each, dict) and isinstance(each.get("name"), str) and "sha256" in each:
            yield each["name"]


def _iri(name: str) -> str:
    """Return an input as an IRI: a URL as it is, a path as a relative one."""
    return quote(name, safe="/:?&=%#+@,;~") if is_uri(name) else quote(name, safe="/")
