"""Describe a corpus as a Croissant document: its files with sizes and SHA-256, and its records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from corpusfmt.formats import CheckOptions, detect
from corpusfmt.formats.croissant.write import FieldOf, RecordSetOf, description
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import entry_of, open_input
from corpusfmt.io.streams import DigestReader
from corpusfmt.model import Json, UsageError

_LINE = FieldOf("line", "sc:Text", {"fileProperty": "lines"}, "One line of text; an empty line ends a document")
_METADATA_FIELDS = (
    FieldOf("record_id", "sc:Text", {"jsonPath": "$.headers.warc-record-id"}, "Identifier of the crawled record"),
    FieldOf("url", "sc:URL", {"jsonPath": "$.headers.warc-target-uri"}, "Address of the page"),
    FieldOf("offset", "sc:Integer", {"jsonPath": "$.offset"}, "First line of the document in its part, counted from 0"),
    FieldOf("nb_sentences", "sc:Integer", {"jsonPath": "$.nb_sentences"}, "Number of lines of the document"),
)
_DOCUMENT_FIELDS = (
    FieldOf("id", "sc:Text", {"jsonPath": "$.id"}, "Identifier, unique within its source"),
    FieldOf("text", "sc:Text", {"jsonPath": "$.text"}, "Text of the document"),
    FieldOf("source", "sc:Text", {"jsonPath": "$.source"}, "Where the document comes from"),
)
_LINES = RecordSetOf("lines", "The text, line by line", "**/*.txt.gz", "text/plain", (_LINE,))
_METADATA = RecordSetOf(
    "metadata", "The metadata, one record a document", "**/*_meta*.jsonl.gz", "application/jsonlines", _METADATA_FIELDS
)


@dataclass(frozen=True, slots=True)
class _Kind:
    summary: str
    record_sets: tuple[RecordSetOf, ...]


_KINDS: Mapping[str, _Kind] = {
    "oscar-1.0": _Kind("Text by language in the layout of OSCAR 1.0", (_LINES,)),
    "oscar-1.1": _Kind("Text by language with metadata in the layout of OSCAR 1.1", (_LINES, _METADATA)),
    "dolma": _Kind(
        "Documents in the Dolma format",
        (RecordSetOf("documents", "The documents", "documents/**", "application/jsonlines", _DOCUMENT_FIELDS),),
    ),
}


def describe(path: str | Path, **details: object) -> Json:
    """Return the Croissant description of an OSCAR or Dolma corpus, ready to be written as JSON.

    `details` are properties of the dataset: name, description, license, creator, url, version, datePublished, inLanguage,
    as the specification has them. Every data file is read once, for its digest. Raises `UsageError` where `path` is no
    corpus, `OSError` where a file cannot be read.
    """
    entry = entry_of(str(path))
    fmt, detection = detect(entry)
    kind = fmt.name if fmt.name in _KINDS else f"{fmt.name}-{detection.version}"
    if kind not in _KINDS:
        raise UsageError(f"{path} is {fmt.name}: only OSCAR and Dolma corpora can be described")
    plan = fmt.plan(entry, CheckOptions(version=detection.version))
    found = {file.path: _facts(file.url) for shard in plan.shards for file in shard.files.values()}
    name = str(details.pop("name", Path(entry.url).resolve().name))
    return described(kind, found, name=name, **details)


def described(kind: str, files: Mapping[str, FileFacts], *, name: str, **details: object) -> Json:
    """Return the description of files whose sizes and digests are known; `kind` is a name like `oscar-1.1` or `dolma`."""
    known = _KINDS[kind]
    record_sets = known.record_sets
    suffixes = {path.rpartition(".")[2] for path in files if path.startswith("documents/")}
    if kind == "dolma" and len(suffixes) == 1:
        record_sets = (replace(record_sets[0], includes=f"documents/**/*.{suffixes.pop()}"),)
    summary = str(details.pop("description", known.summary))
    return description(name=name, summary=summary, files=files, record_sets=record_sets, details=details)


def _facts(url: str) -> FileFacts:
    with open_input(url) as file:
        reader = DigestReader(file)
        reader.drain()
        return FileFacts(reader.size, reader.sha256)
