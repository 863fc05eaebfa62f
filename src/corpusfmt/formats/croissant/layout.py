"""Internal: Find descriptions, and plan which of them are checked."""

from __future__ import annotations

import re
from itertools import islice

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.croissant.model.version import version_in_text
from corpusfmt.formats.sniff import DESCRIPTIONS
from corpusfmt.io.paths import Entry, walk
from corpusfmt.model import Tally, UsageError

_SUFFIXES = (".json", ".jsonld", ".html", ".htm")
#: What rdflib calls the syntaxes of RDF, by suffix. N-Triples are Turtle.
RDF_SYNTAXES = {".ttl": "turtle", ".nt": "turtle", ".rdf": "xml", ".xml": "xml"}

# What identifies the bytes of a description.
_CLAIM = re.compile(
    rb'mlcommons\.org/(croissant|schema)\b|"@type"\s*:\s*(\[[^\]]{0,200})?"([a-z]+:|https?://schema\.org/)?Dataset"',
)
# In RDF, a dataset has any prefix.
_CLAIM_IN_RDF = re.compile(rb"mlcommons\.org/(croissant|schema)\b|\bDataset\b")
_MAX_SNIFFED = 8 * 1024 * 1024
_MOST_LISTED = 10_000


def syntax_of(entry: Entry) -> str:
    """Return what rdflib calls the syntax of a description in RDF, "" for one in JSON-LD."""
    return RDF_SYNTAXES.get(entry.name[entry.name.rfind(".") :].lower(), "")


def content_of(entry: Entry, most: int) -> bytes:
    """Return the first bytes of a file."""
    with entry.open() as file:
        parts = []
        while most and (part := file.read(most)):
            parts.append(part)
            most -= len(part)
        return b"".join(parts)


def _claims(entry: Entry) -> Detection | None:
    syntax = syntax_of(entry)
    if not syntax and not entry.name.endswith(_SUFFIXES):
        return None
    if entry.is_barred:
        return Detection("", f"the name {entry.name}")
    try:
        data = content_of(entry, _MAX_SNIFFED)
    except OSError:
        return None
    if b"\0" in data[:64]:
        data = data.replace(b"\0", b"")  # UTF-16, which the check reports
    found = (_CLAIM_IN_RDF if syntax else _CLAIM).search(data)
    marks = (b"schema.org/", b"mlcommons.org/croissant/") if syntax else (b"@context", b"@type")
    is_other = not any(mark in data for mark in marks)
    if found is None or is_other or (entry.name.endswith(".xml") and b"22-rdf-syntax-ns#" not in data):
        return None
    return Detection(version_in_text(data), f"`{found.group().decode('utf-8', 'replace')}` in {entry.name}")


def detect(entry: Entry) -> Detection | None:
    """Recognise a description: a file by its content, a folder by a description in it."""
    if entry.kind == "file":
        return _claims(entry)
    if entry.kind != "directory":
        return None
    documents = (entry.child(name) for name in DESCRIPTIONS)
    found = next((each for each in documents if each is not None and each.kind != "directory"), None)
    return _claims(found) if found is not None else None


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the descriptions at a path: the file itself, or those in a folder. Raises `UsageError` if there are none."""
    if entry.kind == "directory":
        listed = islice(walk(entry), _MOST_LISTED)
        files = {each.path: each for each in listed if each.kind != "directory" and "/" not in each.path}
        found = [files[name] for name in DESCRIPTIONS if name in files][:1]
        found = found or [each for each in files.values() if each.kind == "file" and _claims(each) is not None]
        if not found:
            raise UsageError(f"{entry.path} contains no croissant.json or metadata.json")
    else:
        found = [entry]
    if options.maps:
        from corpusfmt.formats.croissant.data.stream import refuse_unknown  # noqa: PLC0415 - a check needs no reader

        refuse_unknown(found, options.maps)
    version = options.version or _version(found[0])
    shards = [Shard(index, each.path, {"description": each}) for index, each in enumerate(found)]
    return Plan(version, shards, Tally(options.max_per_rule, options.grading.known))


def _version(entry: Entry) -> str:
    try:
        return version_in_text(content_of(entry, _MAX_SNIFFED))
    except OSError:
        return "1.0"
