"""Internal: Documents in a container: those of a caller, which are then converted like a corpus, and sorted ones."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct, field

from corpusfmt.formats import CheckOptions, Format, Plan, Reader, Shard, ShardResult
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.languages import LABEL
from corpusfmt.io.compress import scratch_member
from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks
from corpusfmt.io.text import json_line
from corpusfmt.model import Coverage, Document, Tally, UsageError
from corpusfmt.rules import RuleSet

_SECTION_BYTES = 1024 * 1024
_MOST_WAITING = 64 * 1024 * 1024
# What bytes in a list take besides their length.
_OVERHEAD = 48
#: The files of documents without a folder of their own.
_STEM = "corpus"

_decoded = msgspec.json.Decoder(Document).decode


class Sections:
    """Writes what is encoded to a container by key; a few megabytes wait in memory. `bytes` counts those of each key."""

    def __init__(self, file: BinaryIO, join: Callable[[list[bytes]], bytes] = b"".join) -> None:
        self._join = join
        self.bytes: Counter[str] = Counter()
        self._container = ContainerWriter(file)
        self._waiting: dict[str, list[bytes]] = {}
        self._sizes: Counter[str] = Counter()
        self._total = 0

    def add(self, key: str, encoded: bytes) -> None:
        self._waiting.setdefault(key, []).append(encoded)
        size = len(encoded) + _OVERHEAD
        self._sizes[key] += size
        self._total += size
        self.bytes[key] += len(encoded)
        if self._sizes[key] >= _SECTION_BYTES:
            self._end(key)
        elif self._total >= _MOST_WAITING:
            self._end(max(self._sizes, key=self._sizes.__getitem__))

    def finish(self) -> None:
        """Write the rest."""
        for key in sorted(self._waiting):
            self._end(key)
        self._container.finish()

    def _end(self, key: str) -> None:
        self._container.add(key, scratch_member(self._join(self._waiting.pop(key))))
        self._total -= self._sizes.pop(key)


def stored_sections(path: Path, key: str) -> Iterator[bytes]:
    """Yield the sections of a key in a container, as they were joined."""
    with Container(path) as container:
        for section in container.sections(key):
            yield b"".join(Chunks(io.BytesIO(section), "gzip"))


def as_array(encoded: list[bytes]) -> bytes:
    """Return an array in MessagePack of what is encoded in it."""
    return b"".join([b"\xdd", len(encoded).to_bytes(4, "big"), *encoded])


class _Part(Struct, frozen=True):
    """A part of the documents: its key in the container, and the names of their attribute sets."""

    key: str
    sets: tuple[str, ...]


class Storing(Struct):
    """Stores documents so that each shard is one part of about `part_bytes`, by language if asked.

    `same_sets`: all documents must have the same attribute sets.
    """

    sections: Sections
    by_language: bool
    same_sets: bool
    part_bytes: int
    documents: int = 0
    _parts: dict[str, int] = field(default_factory=dict)
    _sets: set[str] = field(default_factory=set)

    def add(self, given: Document | Mapping[str, Any]) -> None:
        """Store a document. Raises `UsageError` for anything else."""
        self.documents += 1
        try:
            document = given if isinstance(given, Document) else Document(**given)
            _refuse_wrong_types(document)
            self._note_sets(document)
            language, stem = document.lang, _STEM
            if self.by_language and language is not None and LABEL.fullmatch(language):
                stem = f"{language}/{language}"
            part = self._parts.setdefault(stem, 0)
            if self.sections.bytes[_key(stem, part)] >= self.part_bytes:
                part = self._parts[stem] = part + 1
            self.sections.add(_key(stem, part), json_line(document))
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"document {self.documents:,}: {error}") from error

    def _note_sets(self, document: Document) -> None:
        names = document.attribute_rows.keys()
        if self.documents > 1 and self.same_sets and names != self._sets:
            found, expected = (", ".join(sorted(each)) or "none" for each in (names, self._sets))
            raise ValueError(f"attribute sets: {found}, expected those of the first document: {expected}")
        self._sets.update(names)

    def plan(self, container: Path) -> Plan:
        """Return the shards, once all documents are stored."""
        shards: list[Shard] = []
        for stem, last in sorted(self._parts.items()):
            for number in range(last + 1):
                path = f"{stem}_part_{number + 1}" if last else stem
                part = _Part(_key(stem, number), tuple(sorted(self._sets)))
                entry = Entry(path, str(container), "file", self.sections.bytes[part.key])
                shards.append(Shard(len(shards), path, {"documents": entry}, payload=part))
        return Plan("", shards, Tally(), Coverage())


def _key(stem: str, part: int) -> str:
    return f"{stem}/{part}"


_REQUIRED = {"id", "text", "attribute_rows"}
_NAMED = ("source", "lang", "added", "created")
_OBJECTS = ("metadata", "attributes", "attribute_rows")


class _Row(Struct):
    attributes: dict[str, Any]


_decoded_row = msgspec.json.Decoder(_Row).decode


def _refuse_wrong_types(document: Document) -> None:
    for name in ("id", "text", *_NAMED, *_OBJECTS):
        value = getattr(document, name)
        kind = dict if name in _OBJECTS else str
        if not isinstance(value, kind) and (value is not None or name in _REQUIRED):
            raise TypeError(f"`{name}` is {type(value).__name__}, expected {kind.__name__}")
    for name, row in document.attribute_rows.items():
        _refuse_wrong_row(name, row)


def _refuse_wrong_row(name: object, row: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"attribute set: {type(name).__name__}, expected str")
    # The name becomes a folder.
    if "\0" in name or not {"", ".", ".."}.isdisjoint(name.split("/")):
        raise ValueError(f"attribute set {name!r}: not a name")
    if not isinstance(row, str):
        raise TypeError(f"attribute set {name!r}: {type(row).__name__}, expected str")
    if "\n" in row:
        raise ValueError(f"attribute set {name!r}: not a row: more than one line")
    try:
        _decoded_row(row)
    except msgspec.DecodeError as error:
        raise ValueError(f"attribute set {name!r}: not a row: {error}") from error


def _read(shard: Shard, _options: CheckOptions) -> Iterator[Document]:
    (entry,) = shard.files.values()
    for section in stored_sections(Path(entry.url), shard.payload.key):
        for document in map(_decoded, section.split(b"\n")[:-1]):
            if document.source is None:
                document.source = STORED.name
            yield document


def _unchecked(shard: Shard, _options: CheckOptions) -> ShardResult:
    return ShardResult(Tally(), Coverage(1, 1, bytes=shard.size))


#: Documents of a caller as the source of a conversion. It is not in the registry, since no path has this format.
STORED = Format(
    name="documents",
    summary="Documents in memory",
    versions=("",),
    rules=RuleSet(GENERAL),
    detect=lambda _entry: None,
    plan=lambda _entry, _options: Plan("", (), Tally()),
    check=_unchecked,
    reader=Reader(_read, attribute_sets=lambda shard: shard.payload.sets, source_name="documents"),
)
