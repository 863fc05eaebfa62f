"""Internal: Read the documents of one release once: the parts that are compared, for every format, as digests, and counts."""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.comparison.matching import COLUMNS, RUN_ROWS, place_of
from corpusfmt.conversion.documents import CUT, refuse_unread
from corpusfmt.formats import CheckOptions, LeftOut, Rejected, Shard, named_format
from corpusfmt.formats.provenance import lasting
from corpusfmt.io.keys import digest_of
from corpusfmt.io.runs import RunWriter
from corpusfmt.model import BadInput, Document, Finding, Json
from corpusfmt.wording import clipped

OnBadRecord = Literal["stop", "skip"]
#: Replaces further languages or sources if there are too many to list.
FURTHER = "…"
#: The maximum number of languages, sources or names of fields that are distinguished.
MOST_NAMES = 1_000
MOST_FINDINGS = 10
_ROWS_AT_A_TIME = 1 << 14
#: The end of the hint of a finding that stops the run.
OR_SKIP = ", or compare the rest with --on-bad-record skip"
_ATTRIBUTES = "attributes"
_NOTHING = bytes(8)
_encode = msgspec.json.Encoder(order="sorted").encode


class Label(Struct, frozen=True, array_like=True):
    """The key of a count: the number of the shard in its release, language and source ("" for none)."""

    shard: int
    language: str
    source: str


class ReadTask(Struct, frozen=True):
    """Shards of one release that one task reads, each with its number."""

    format: str
    options: CheckOptions
    shards: Sequence[tuple[int, Shard]]
    task: int
    #: Beyond this number of labels, sources are counted together; a thousand later, languages too.
    most_labels: int
    #: There are several corpora, whose documents have the same ids.
    side_by_side: bool
    on_bad_record: OnBadRecord
    #: For runs of rows, and next to them the ids, which are only displayed.
    folder: Path


class TaskResult(Struct):
    """The result of a task: the number of documents of each label, and the number of rows before each shard."""

    labels: list[Label] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    first_rows: list[int] = field(default_factory=list)
    rejected: int = 0
    #: Files that could not be read to their end.
    cut: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    #: Types of JSON by the name of a field, of an attribute (`attributes.NAME`) or of an attribute set (`attributes/SET`).
    fields: dict[str, set[str]] = field(default_factory=dict)


def read_task(part: ReadTask) -> TaskResult:
    """Read the documents of some shards; write a row for each of them, and its id. Raises `BadInput`, `Incomplete`."""
    fmt, _ = named_format(part.format)
    reader = fmt.reader
    assert reader is not None
    found = _Reading(part, reader.source_name)
    for number, shard in part.shards:
        found.begin(number, shard.corpus if part.side_by_side else "")
        for each in reader.read(shard, part.options):
            if isinstance(each, Document):
                found.take(each)
            elif isinstance(each, LeftOut):
                found.result.left_out[each.what] += 1
            else:
                found.reject(each)
    return found.end()


class _Names:
    """Distinguished names, up to a maximum number."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        known = self._known.get(name)
        if known is None:
            known = clipped(name) if len(self._known) < MOST_NAMES else FURTHER
            if known is not FURTHER:
                self._known[name] = known
        return known


class _Reading:
    def __init__(self, part: ReadTask, default_source: str | None) -> None:
        self.result = TaskResult()
        self._part = part
        self._default_source = default_source
        self._runs = RunWriter(part.folder, f"{part.task:09d}", COLUMNS, RUN_ROWS)
        self._ids = IdWriter(part)
        self._rows = bytearray()
        self._languages, self._sources = _Names(), _Names()
        self._labels: dict[tuple[str, str], int] = {}
        self._kinds: dict[tuple[str, type], None] = {}
        self._number = 0
        self._shard, self._corpus = 0, ""

    def begin(self, number: int, corpus: str) -> None:
        """Record the start of the next shard."""
        self._shard, self._corpus = number, corpus
        self._labels.clear()
        self.result.first_rows.append(self._number)

    def take(self, document: Document) -> None:
        """Store the row of a document."""
        source = document.source or ""
        if self._corpus and source == self._default_source:
            source = f"{source}/{self._corpus}"
        digests, fields, attributes = compared(document, source)
        label = self._label(self._languages.of(document.lang or ""), self._sources.of(source))
        self.result.counts[label] += 1
        self._rows += digests
        self._rows += place_of(self._part.task, self._number, label).to_bytes(8, sys.byteorder)
        self._ids.add(document.id)
        self._number += 1
        if len(self._kinds) < MOST_NAMES:
            self._kinds.update(dict.fromkeys(zip(fields, map(type, fields.values()), strict=True)))
            if attributes:
                self._kinds.update({(_attribute(name), type(each)): None for name, each in attributes.items()})
        if len(self._rows) >= _ROWS_AT_A_TIME * COLUMNS * 8:
            self._pass_on()

    def _label(self, language: str, source: str) -> int:
        """Return the label of documents of this shard, a language and a source."""
        label = self._labels.get((language, source))
        if label is None:
            result = self.result
            if len(result.labels) >= self._part.most_labels:
                source = FURTHER
            if len(result.labels) >= self._part.most_labels + MOST_NAMES:
                language = FURTHER
            label = self._labels.setdefault((language, source), len(result.labels))
            if label == len(result.labels):
                result.labels.append(Label(self._shard, language, source))
                result.counts.append(0)
        return label

    def reject(self, rejected: Rejected) -> None:
        """Count a record that cannot be compared. Raises if such records stop the run, or if the rest is unknown."""
        found = rejected.finding
        refuse_unread(found)
        if self._part.on_bad_record == "stop":
            raise BadInput(replace(found, problem=replace(found.problem, hint=found.hint + OR_SKIP)))
        if found.code in CUT and not rejected.raw:
            self.result.cut.append(found.location.path)
        else:
            self.result.rejected += 1
        if len(self.result.findings) < MOST_FINDINGS:
            self.result.findings.append(found)

    def _pass_on(self) -> None:
        if self._rows:
            self._runs.add_columns(np.frombuffer(bytes(self._rows), np.uint64).reshape(-1, COLUMNS).T)
            self._rows.clear()

    def end(self) -> TaskResult:
        """Write the rest."""
        self._pass_on()
        self._runs.close()
        self._ids.close()
        for name, kind in islice(self._kinds, MOST_NAMES):
            self.result.fields.setdefault(clipped(name), set()).add(_JSON_TYPES.get(kind, kind.__name__))
        return self.result


def _attribute(name: str) -> str:
    return f"attributes{name}" if name.startswith("/") else f"attributes.{name}"


def compared(document: Document, source: str) -> tuple[bytes, Json, Json]:
    """Return 48 bytes of digests of a document of a source, its fields by name, and its attributes by name.

    A document is named by source and id, or by source and text where its id is only its place. The digests are of its name
    (16 bytes), its text (16), its other fields (8) and its attributes (8). It makes no difference in which order fields are
    written, nor whether they are part of `metadata` or next to it: formats differ in that.
    """
    text = digest_of(document.text)
    identity, metadata = lasting(document)
    name = digest_of("id", source, identity) if identity is not None else digest_of("text", source, text.hex())
    fields, embedded = _fields(document, metadata)
    attributes = _attributes(document, embedded)
    return name + text + _digest(fields) + _digest(attributes), fields, attributes


def _fields(document: Document, metadata: Json) -> tuple[Json, Json]:
    """Return all fields but id, text and source, and the attributes that are embedded."""
    named = {"added": document.added, "created": document.created}
    parts: list[Json] = [metadata, document.extra, {name: value for name, value in named.items() if value is not None}]
    fields: Json = {}
    for part in parts:
        for name, value in part.items():
            # The same name occurs twice: in `metadata`, and next to it.
            fields[f"metadata.{name}" if name in fields else name] = value
    if fields.get("metadata", document) is None:
        del fields["metadata"]
    embedded = document.attributes
    if embedded is None and isinstance(fields.get(_ATTRIBUTES), dict):
        embedded = fields.pop(_ATTRIBUTES)
    return fields, embedded or {}


def _attributes(document: Document, embedded: Json) -> Json:
    """Return embedded attributes by name, and the rows of attribute sets by the name of the set, with a slash in front."""
    if not document.attribute_rows:
        return embedded
    rows: Json = {}
    for name, text in document.attribute_rows.items():
        row: Any = msgspec.json.decode(text)
        rows[f"/{name}"] = {key: value for key, value in row.items() if key not in ("id", "source")}
    return embedded | rows


def _digest(value: Json) -> bytes:
    return blake2b(_encode(value), digest_size=8).digest() if value else _NOTHING


class IdWriter:
    """Writes clipped ids consecutively, and their ends to a second file."""

    def __init__(self, part: ReadTask) -> None:
        self._paths = _id_files(part)
        part.folder.mkdir(exist_ok=True)
        for path in self._paths:
            path.write_bytes(b"")
        self._text = bytearray()
        self._ends = array("Q")
        self._written = 0

    def add(self, identity: str) -> None:
        self._text += clipped(identity).encode("utf-8", "backslashreplace")
        self._ends.append(self._written + len(self._text))
        if len(self._ends) >= _ROWS_AT_A_TIME:
            self.close()

    def close(self) -> None:
        """Write the rest."""
        texts, ends = self._paths
        with texts.open("ab") as file:
            file.write(self._text)
        with ends.open("ab") as file:
            file.write(self._ends.tobytes())
        self._written += len(self._text)
        self._text.clear()
        self._ends = array("Q")


def id_of(part: ReadTask, number: int) -> str:
    """Return the clipped id of a document, given its task and its number there."""
    texts, ends = _id_files(part)
    with ends.open("rb") as file:
        file.seek(max(number - 1, 0) * 8)
        found = array("Q", file.read(16 if number else 8))
    start = found[0] if number else 0
    with texts.open("rb") as file:
        file.seek(start)
        return file.read(found[-1] - start).decode()


def _id_files(part: ReadTask) -> tuple[Path, Path]:
    return part.folder / f"{part.task}.ids", part.folder / f"{part.task}.ends"


_JSON_TYPES: dict[type, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}
