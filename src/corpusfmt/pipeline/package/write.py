"""Internal: Stage `package`: write the documents of one language as the files of a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.formats.parts import Writer, write_parts
from corpusfmt.formats.provenance import metadata_of
from corpusfmt.formats.rows.writing import attributes_row
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import Container
from corpusfmt.io.outputs import Place
from corpusfmt.io.scan import count_lines, count_words
from corpusfmt.model import Document
from corpusfmt.pipeline.dedup.repetitions import first_occurrences
from corpusfmt.pipeline.package.shuffle import shuffled
from corpusfmt.pipeline.package.variants import ATTRIBUTE_SET, LANGUAGE_SCORE, Form, Variant, form_of, writer_of
from corpusfmt.pipeline.process.documents import StoredDocument, stored_documents
from corpusfmt.pipeline.recipe import Output
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
    writer = writer_of(form, output, task.variant)
    final = Size()
    folder = f"{task.variant.root}/{writer.folder(label)}".strip("/")
    documents = _documents(task, label, final)
    files = write_parts(
        writer,
        _items(writer, form.source, label, documents, output, task.aside),
        # Next to attribute sets, the folder of a language's documents is part of the stem.
        stem=f"{label}/{label}" if output.language_scores else label,
        part_bytes=output.part_bytes,
        compression=output.compressor,
        folder=task.destination / folder,
        aside=task.aside,
    )
    files |= writer.seal(task.destination / folder, files, task.aside)
    return Packaged({f"{folder}/{name}".lstrip("/"): facts for name, facts in files.items()}, final)


def _items(
    writer: Writer[Any], source: str, label: str, documents: Iterator[StoredDocument], output: Output, aside: Path
) -> Iterator[Any]:
    if output.shuffle_seed is None:
        for stored in documents:
            item = writer.crawled(stored.text[:-1], stored.headers)
            yield item or writer.item(_document(label, stored, source, with_scores=output.language_scores)).value
        return
    assert writer.line is not None
    lines = (line for stored in documents for line in stored.text[:-1].split(b"\n"))
    for line in shuffled(lines, output.shuffle_seed, aside):
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


def _document(label: str, stored: StoredDocument, source: str, *, with_scores: bool) -> Document:
    headers = msgspec.json.decode(stored.headers, type=dict[str, str])
    record_id = headers.get("warc-record-id", "").strip("<>")
    text = stored.text[:-1].decode()
    document = Document(
        id=f"{record_id}#{label}",
        text=text,
        source=source,
        lang=label,
        created=headers.get("warc-date"),
        metadata=metadata_of({"version": "1.1", "record": {"headers": headers}}, language=label),
    )
    if with_scores:
        attributes = {LANGUAGE_SCORE: _spans(text, stored.probabilities())}
        document.attribute_rows = {ATTRIBUTE_SET: attributes_row(document, attributes)}
    return document


def _spans(text: str, scores: Sequence[float]) -> list[tuple[int, int, float]]:
    """Return `[start, end, score]` of each line, half-open, in code points, with its LF.

    Like the spans of the Dolma toolkit's paragraph taggers, they have no gaps, and scores have five digits.
    """
    spans = []
    start = 0
    for line, score in zip(text.split("\n"), scores, strict=True):
        end = min(start + len(line) + 1, len(text))
        spans.append((start, end, round(score, 5)))
        start = end
    return spans
