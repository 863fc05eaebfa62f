"""Internal: Stage `divide`: find where the parts of a large language begin, so that several tasks package it.

Where a part ends depends on the kept text of all documents before. Reading that takes a fraction of compressing it, and each
container can be read on its own: a task writes the sizes of the documents of one, and adding these up gives the parts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.formats.parts import Writer
from corpusfmt.formats.provenance import ANNOTATIONS_HEADER, metadata_of
from corpusfmt.formats.rows.writing import attributes_row
from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish
from corpusfmt.model import Document, Json
from corpusfmt.pipeline.dedup import first_occurrences
from corpusfmt.pipeline.package.variants import ATTRIBUTE_SET, LANGUAGE_SCORE, Variant, form_of, sets_of, writer_of
from corpusfmt.pipeline.process.documents import Notes, StoredDocument, stored_documents
from corpusfmt.pipeline.recipe import Output, Step


def items_of(
    writer: Writer[Any],
    source: str,
    label: str,
    documents: Iterable[StoredDocument],
    output: Output,
    steps: Sequence[Step],
) -> Iterator[Any]:
    """Yield what a writer makes of documents of one language."""
    sets = sets_of(output, steps)
    for stored in documents:
        if stored.notes and not sets:
            stored.headers = _with_notes(stored)
        item = writer.crawled(stored.text[:-1], stored.headers)
        yield item or writer.item(_document(label, stored, source, sets)).value


def folder_of(writer: Writer[Any], variant: Variant, label: str) -> str:
    """Return the folder of a language below the output."""
    return f"{variant.root}/{writer.folder(label)}".strip("/")


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


# Text of one task: smaller tasks would read the drops of their language more often.
_BYTES_A_TASK = 256_000_000
_SIZES = "sizes"
_DROPPED = -1
# Numbers before the sizes.
_HEAD = 2


class Position(Struct, frozen=True):
    """A document of a language: its container, the section there, its number in that, and the lines before the section."""

    container: int
    section: int = 0
    document: int = 0
    lines: int = 0

    @property
    def place(self) -> tuple[int, int]:
        """The container and the section."""
        return self.container, self.section


class Span(Struct, frozen=True):
    """Consecutive parts of a language: the first document, that after the last (None: to the end), and the parts before."""

    start: Position
    end: Position | None
    before: int


class DivideTask(Struct, frozen=True):
    """A language in one container, which has a number; `drops` are the containers with the lines to drop, if any."""

    label: str
    number: int
    container: Path
    drops: tuple[Path, ...]
    output: Output
    variant: Variant
    steps: tuple[Step, ...]
    sizes: Path


class Divided(Struct):
    """The number of documents that stay."""

    documents: int


def divide(task: DivideTask) -> Divided:
    """Write the lines of each section, the bytes of text that stay of it, and those of each document."""
    form = form_of(task.output.format)
    writer = writer_of(form, task.output, task.variant, task.steps)
    assert writer.text_bytes is not None
    count = 0
    with publish(task.sizes, sync="data") as file:
        container = ContainerWriter(file)
        start = Position(task.number)
        for lines, documents in sections_of(task.container, task.number, task.label, task.drops, start):
            kept = [each for each in documents if each is not None]
            found = iter(items_of(writer, form.source, task.label, kept, task.output, task.steps))
            sizes = [_DROPPED if each is None else writer.text_bytes(next(found)) for each in documents]
            count += len(kept)
            whole = sum(each for each in sizes if each != _DROPPED)
            container.add(_SIZES, array("q", (lines, whole, *sizes)).tobytes())
        container.finish()
    return Divided(count)


def sections_of(
    path: Path, number: int, label: str, drops: Sequence[Path], start: Position
) -> Iterator[tuple[int, list[StoredDocument | None]]]:
    """Yield the number of lines of each section of a language, and what is kept of its documents, None for nothing.

    They begin with the section of `start`.
    """
    stays = first_occurrences(drops, label, number)
    first = start.lines
    with Container(path) as container:
        for documents in stored_documents(container, label, start.section):
            lines = sum(document.lines for document in documents)
            yield lines, list(_kept(documents, stays, first))
            first += lines


def _kept(documents: Sequence[StoredDocument], stays: bytes, first: int) -> Iterator[StoredDocument | None]:
    """Yield documents with only their kept lines; the first line of the first document has the number `first`."""
    for document in documents:
        following = first + document.lines
        if stays.find(0, first, following) < 0:
            yield document
        elif stays.find(1, first, following) >= 0 or following > len(stays):
            choice = stays[first:following].ljust(document.lines, b"\1")
            yield document.only(choice)
        else:
            yield None
        first = following


def spans(sizes: Sequence[Path], part_bytes: int) -> list[Span | None]:
    """Return the parts of a language that each task writes, given the files of `divide` in order; None for all of them."""
    starts = list(_starts(sizes, part_bytes))
    if len(starts) < 2:
        return [None]
    step = max(1, _BYTES_A_TASK // part_bytes)
    firsts = range(0, len(starts), step)
    return [Span(starts[each], starts[each + step] if each + step < len(starts) else None, each) for each in firsts]


def _starts(sizes: Sequence[Path], part_bytes: int) -> Iterator[Position]:
    """Yield the first document of each part: as in `write_parts`, a part ends with the document that fills it."""
    missing = 0
    for number, path in enumerate(sizes):
        before = 0
        with Container(path) as container:
            for section, data in enumerate(container.sections(_SIZES)):
                values = data.cast("q")
                lines, whole = values[:_HEAD]
                if whole < missing:
                    missing -= whole
                else:
                    for document, size in enumerate(values[_HEAD:]):
                        if size != _DROPPED:
                            if missing <= 0:
                                yield Position(number, section, document, before)
                                missing = part_bytes
                            missing -= size
                before += lines
