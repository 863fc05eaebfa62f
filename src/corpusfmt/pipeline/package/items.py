"""Internal: Documents of a build as the items of its form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from corpusfmt.formats.parts import Writer
from corpusfmt.formats.provenance import ANNOTATIONS_HEADER, metadata_of
from corpusfmt.formats.rows.writing import attributes_row
from corpusfmt.model import Document, Json
from corpusfmt.pipeline.package.variants import ATTRIBUTE_SET, LANGUAGE_SCORE, Variant, sets_of
from corpusfmt.pipeline.process.documents import Notes, StoredDocument
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
