"""Internal: Read the documents of one release once: the parts that are compared, for every format, as digests, and counts."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.comparison.matching import COLUMNS, RUN_ROWS, place_of
from corpusfmt.comparison.result import FURTHER
from corpusfmt.conversion.documents import CUT, refuse_unread
from corpusfmt.formats import CheckOptions, LeftOut, Rejected, Shard, named_format
from corpusfmt.formats.provenance import lasting
from corpusfmt.io.keys import digest_of
from corpusfmt.io.runs import RunWriter
from corpusfmt.model import BadInput, Document, Finding, Json
from corpusfmt.wording import clipped

OnBadRecord = Literal["stop", "skip"]
#: The maximum numbers of names of languages, of sources and of fields that are distinguished.
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
    number: int
    #: Beyond this number of labels, the documents of a shard are counted together.
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


def read_task(task: ReadTask) -> TaskResult:
    """Read the documents of some shards; write a row for each of them, and its id. Raises `BadInput`, `Incomplete`."""
    fmt, _ = named_format(task.format)
    reader = fmt.reader
    assert reader is not None
    result = TaskResult()
    kinds: dict[tuple[str, type], None] = {}
    languages, sources = set[str](), set[str]()
    rows = bytearray()
    runs = RunWriter(task.folder, f"{task.number:09d}", COLUMNS, RUN_ROWS)
    task.folder.mkdir(exist_ok=True)
    documents = 0
    with _ids_file(task).open("wb") as ids:
        for number, shard in task.shards:
            result.first_rows.append(documents)
            labels: dict[tuple[str, str], int] = {}
            for each in reader.read(shard, task.options):
                if isinstance(each, LeftOut):
                    result.left_out[each.what] += 1
                    continue
                if isinstance(each, Rejected):
                    _reject(each, task, result)
                    continue
                source = each.source or ""
                if task.side_by_side and shard.corpus and source == reader.source_name:
                    source = f"{source}/{shard.corpus}"
                digests, fields, attributes = compared(each, source)
                name = _listed(each.lang or "", languages), _listed(source, sources)
                label = labels.get(name)
                if label is None:
                    label = _new_label(result, Label(number, *name), task.most_labels)
                    if len(labels) < task.most_labels:
                        labels[name] = label
                result.counts[label] += 1
                rows += digests
                rows += place_of(task.number, documents, label).to_bytes(8, sys.byteorder)
                ids.write(json.dumps(clipped(each.id)).encode() + b"\n")
                documents += 1
                if len(kinds) < MOST_NAMES:
                    kinds.update(dict.fromkeys(zip(fields, map(type, fields.values()), strict=True)))
                    kinds.update({(_attribute(name), type(value)): None for name, value in attributes.items()})
                if len(rows) >= _ROWS_AT_A_TIME * COLUMNS * 8:
                    _add_rows(rows, runs)
    _add_rows(rows, runs)
    runs.close()
    for field_name, kind in islice(kinds, MOST_NAMES):
        result.fields.setdefault(clipped(field_name), set()).add(_JSON_TYPES.get(kind, kind.__name__))
    return result


def _add_rows(rows: bytearray, runs: RunWriter) -> None:
    if rows:
        numbers = memoryview(rows).cast("Q")
        runs.add_columns(numbers[column::COLUMNS].tobytes() for column in range(COLUMNS))
        numbers.release()
        rows.clear()


def _listed(name: str, names: set[str]) -> str:
    """Return the clipped name of a language or source; beyond a thousand of a task, they are counted together."""
    name = clipped(name)
    if name not in names and len(names) >= MOST_NAMES:
        return FURTHER
    names.add(name)
    return name


def _new_label(result: TaskResult, label: Label, most: int) -> int:
    """Return the number of a label of the last shard; beyond `most` labels, those of a shard are counted together."""
    if len(result.labels) >= most:
        label = Label(label.shard, FURTHER, FURTHER)
    if label not in result.labels[-1:]:
        result.labels.append(label)
        result.counts.append(0)
    return len(result.labels) - 1


def _reject(rejected: Rejected, task: ReadTask, result: TaskResult) -> None:
    """Count a record that cannot be compared. Raises if such records stop the run, or if the rest is unknown."""
    finding = rejected.finding
    refuse_unread(finding)
    if task.on_bad_record == "stop":
        raise BadInput(replace(finding, problem=replace(finding.problem, hint=finding.hint + OR_SKIP)))
    if finding.code in CUT and not rejected.raw:
        result.cut.append(finding.location.path)
    else:
        result.rejected += 1
    if len(result.findings) < MOST_FINDINGS:
        result.findings.append(finding)


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


def ids_of(task: ReadTask, numbers: Collection[int]) -> dict[int, str]:
    """Return the clipped ids of documents, given their task and their numbers there."""
    with _ids_file(task).open("rb") as ids:
        return {
            number: json.loads(line).encode("utf-8", "backslashreplace").decode()
            for number, line in enumerate(islice(ids, max(numbers, default=-1) + 1))
            if number in numbers
        }


def _ids_file(task: ReadTask) -> Path:
    return task.folder / f"{task.number}.ids"


_JSON_TYPES: dict[type, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
    type(None): "null",
}
