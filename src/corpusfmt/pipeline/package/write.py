"""Internal: Stage `package`: write the documents of one language as the files of a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.formats.parts import Writer, write_parts
from corpusfmt.formats.provenance import ANNOTATIONS_HEADER, metadata_of
from corpusfmt.formats.rows.writing import attributes_row
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import Container
from corpusfmt.io.outputs import Place
from corpusfmt.io.scan import count_lines, count_words
from corpusfmt.model import Document, Json
from corpusfmt.pipeline.dedup.repetitions import first_occurrences
from corpusfmt.pipeline.package.shuffle import shuffled
from corpusfmt.pipeline.package.variants import (
    ATTRIBUTE_SET,
    LANGUAGE_SCORE,
    Form,
    Variant,
    form_of,
    sets_of,
    writer_of,
)
from corpusfmt.pipeline.process.documents import Notes, StoredDocument, stored_documents
from corpusfmt.pipeline.recipe import Output, Step
from corpusfmt.pipeline.size import Size


class PackageTask(Struct, frozen=True):
    """Some languages over all containers, in input order; `aside` is the task's temporary folder.

    `drops` are the containers with the lines to drop, if any; `variant` is the corpus to write.
    """

    labels: tuple[str, ...]
    containers: tuple[Path, ...]
    drops: tuple[Path, ...]
    output: Output
    variant: Variant
    destination: Place
    aside: Path
    steps: tuple[Step, ...] = ()


class Packaged(Struct):
    """Result of a language: files by path below the output, and its size."""

    files: dict[str, FileFacts]
    final: Size


def package(task: PackageTask) -> dict[str, Packaged]:
    """Write the parts of each language and, for OSCAR, its checksum list."""
    form = form_of(task.output.format)
    return {label: _package(task, form, label) for label in task.labels}


def _package(task: PackageTask, form: Form, label: str) -> Packaged:
    output = task.output
    writer = writer_of(form, output, task.variant, task.steps)
    final = Size()
    folder = f"{task.variant.root}/{writer.folder(label)}".strip("/")
    documents = _documents(task, label, final)
    files = write_parts(
        writer,
        _items(writer, form.source, label, documents, task),
        # Next to attribute sets, the folder of a language's documents is part of the stem.
        stem=f"{label}/{label}" if sets_of(output, task.steps) else label,
        part_bytes=output.part_bytes,
        compression=output.compressor,
        folder=task.destination / folder,
        aside=task.aside,
    )
    files |= writer.seal(task.destination / folder, files, task.aside)
    return Packaged({f"{folder}/{name}".lstrip("/"): facts for name, facts in files.items()}, final)


def _items(
    writer: Writer[Any], source: str, label: str, documents: Iterator[StoredDocument], task: PackageTask
) -> Iterator[Any]:
    output = task.output
    if output.shuffle_seed is None:
        sets = sets_of(output, task.steps)
        for stored in documents:
            if stored.notes and not sets:
                stored.headers = _with_notes(stored)
            item = writer.crawled(stored.text[:-1], stored.headers)
            yield item or writer.item(_document(label, stored, source, sets)).value
        return
    assert writer.line is not None
    lines = (line for stored in documents for line in stored.text[:-1].split(b"\n"))
    for line in shuffled(lines, output.shuffle_seed, task.aside):
        yield writer.line(line)


def _documents(task: PackageTask, label: str, final: Size) -> Iterator[StoredDocument]:
    for number, path in enumerate(task.containers):
        stays = first_occurrences(task.drops, label, number)
        first = 0
        with Container(path) as container:
            for documents in stored_documents(container, label):
                for document in _kept(documents, stays, first):
                    final.count(count_lines(document.text), count_words(document.text), len(document.text))
                    yield document
                first += sum(document.lines for document in documents)


def _kept(documents: Sequence[StoredDocument], stays: bytes, first: int) -> Iterator[StoredDocument]:
    """Yield documents with only their kept lines; the first line of the first document has the number `first`."""
    for document in documents:
        following = first + document.lines
        if stays.find(0, first, following) < 0:
            yield document
        elif stays.find(1, first, following) >= 0 or following > len(stays):
            choice = stays[first:following].ljust(document.lines, b"\1")
            yield document.only(choice)
        first = following


def _with_notes(stored: StoredDocument) -> bytes:
    """Return headers with the annotations of a document, for formats without attributes: as JSON text, because OSCAR
    requires strings.
    """
    headers = msgspec.json.decode(stored.headers, type=dict[str, str])
    found = stored.annotations
    notes = {step: found.document.get(step) or found.lines[step] for step in (*found.document, *found.lines)}
    return msgspec.json.encode(headers | {ANNOTATIONS_HEADER: msgspec.json.encode(notes).decode()})


def _document(label: str, stored: StoredDocument, source: str, sets: Sequence[str]) -> Document:
    document = stored.document(label)
    document.source = source
    document.metadata = metadata_of({"version": "1.1", "record": {"headers": document.metadata}}, language=label)
    if sets:
        notes = stored.annotations
        document.attribute_rows = {
            name: attributes_row(document, _attributes(name, document.text, stored, notes)) for name in sets
        }
    return document


def _attributes(name: str, text: str, stored: StoredDocument, notes: Notes) -> Json:
    """Return the attributes of a document in a set, named as in the Dolma toolkit by set, unit and label."""
    if name == ATTRIBUTE_SET:
        return {LANGUAGE_SCORE: _spans(text, stored.probabilities())}
    if name in notes.lines:
        return {f"{name}__line__{label}": _spans(text, values) for label, values in notes.lines[name].items()}
    return {f"{name}__document__{label}": value for label, value in notes.document[name].items()}


def _spans(text: str, scores: Sequence[float | None]) -> list[tuple[int, int, float]]:
    """Return `[start, end, score]` of each line that has a score, half-open, in code points, with its LF.

    Like the spans of the Dolma toolkit's paragraph taggers, they have no gaps, and scores have five digits.
    """
    spans = []
    start = 0
    for line, score in zip(text.split("\n"), scores, strict=True):
        end = min(start + len(line) + 1, len(text))
        if score is not None:
            spans.append((start, end, round(score, 5)))
        start = end
    return spans
