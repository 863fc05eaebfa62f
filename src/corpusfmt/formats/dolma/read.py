"""Internal: Read one documents file, with its attribute sets, as a stream of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from corpusfmt.formats import CheckOptions, Rejected, Shard, Tables, Texts
from corpusfmt.formats.dolma.beside import Beside
from corpusfmt.formats.dolma.glance import clean_documents, clean_texts
from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS
from corpusfmt.formats.dolma.rowfiles import DolmaFile, judged_document, located_lines
from corpusfmt.formats.dolma.rows import DocumentRow
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.parts import RowBlock
from corpusfmt.formats.rows.files import pieces
from corpusfmt.formats.rows.reading import rejections
from corpusfmt.formats.rows.records import Row, language_in
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.scan import count_lines
from corpusfmt.model import Document, Finding, Json, Location, Severity, UsageError
from corpusfmt.rules import Grading, Judge

_FIELDS = ("id", "text", "source", "added", "created", "metadata", "attributes")
Item = TypeVar("Item")

# Bytes of rows in one batch: what is made of them fits a processor's cache.
_PIECE = 256 * 1024
# A document without a source may still be given one.
_BEARABLE = {"DOL306"}


def attribute_sets(shard: Shard) -> list[str]:
    """Return the names of the attribute sets next to the documents."""
    return [role.removeprefix(f"{ATTRIBUTES}/") for role in shard.files if role not in {DOCUMENTS, ATTRIBUTES}]


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the documents of a shard in order; unsuitable rows, and a stream that breaks off, become `Rejected`.

    Embedded attributes remain unchanged. `extra` has every other field in its order, including `version`, and metadata
    that is null rather than absent. The rows of attribute sets come with their documents.
    Raises `BadInput` if the rows of a set do not line up with the documents: nothing in the shard can then be trusted.
    """
    if DOCUMENTS not in shard.files:
        raise UsageError(f"{shard.name} holds attributes, and no documents: name the dataset that it belongs to")
    judge = _fresh_judge(shard)
    file = DolmaFile(shard.files[DOCUMENTS], judge, options)
    sets = Beside(shard, options) if len(shard.files) > 1 else None
    for block in file.blocks():
        rows = _rows_of(block, file, shard)
        yield from rows if sets is None else sets.joined(rows)
    yield from rejections(judge, b"")
    if sets is not None:
        sets.finish(whole=file.whole)


def texts(shard: Shard, options: CheckOptions, tables: Tables) -> Iterator[Texts | Document | Rejected]:
    """Yield the same as `read`, without making documents of clean rows if there are no attribute sets."""

    def counted(block: Block, file: DolmaFile) -> Iterator[Texts | Document | Rejected]:
        clean = clean_texts(block.data, tables)
        return _rows_of(block, file, shard) if clean is None else iter([clean])

    return _by_block(shard, options, counted)


def blocks(shard: Shard, options: CheckOptions) -> Iterator[RowBlock | Document | Rejected]:
    """Yield the same as `read`, in blocks of rows if there are no attribute sets."""

    def divided(block: Block, file: DolmaFile) -> Iterator[RowBlock]:
        line = block.line
        for start, data in pieces(block.data, _PIECE):
            piece = Block(data, line, block.byte + start)
            yield RowBlock(data, each=partial(_rows_of, piece, file, shard))
            line += count_lines(data)

    return _by_block(shard, options, divided)


def _by_block(
    shard: Shard, options: CheckOptions, convert: Callable[[Block, DolmaFile], Iterator[Item | Document | Rejected]]
) -> Iterator[Item | Document | Rejected]:
    """Yield what is made of each block of whole lines, or what `read` yields if there are attribute sets."""
    if len(shard.files) > 1 or DOCUMENTS not in shard.files or not RULES.accepts_unseen(Row, DocumentRow):
        yield from read(shard, options)
        return
    judge = _fresh_judge(shard)
    file = DolmaFile(shard.files[DOCUMENTS], judge, options)
    for block in file.blocks():
        yield from _rows_of(block, file, shard) if isinstance(block, LongLine) else convert(block, file)
    yield from rejections(judge, b"")


def _rows_of(block: Block | LongLine, file: DolmaFile, shard: Shard) -> Iterator[Document | Rejected]:
    if isinstance(block, LongLine):
        alone = _fresh_judge(shard)
        alone.report(*file.too_long(block))
        yield from rejections(alone, b"")
        return
    clean = _clean(block.data)
    if clean is not None:
        yield from map(_document, clean)
        return
    for line, at in located_lines(block, file.path):
        yield _document_or_rejected(line, at, shard)


def _clean(data: bytes) -> list[Json] | None:
    return clean_documents(data) if RULES.accepts_unseen(Row, DocumentRow) else None


def _fresh_judge(shard: Shard) -> Judge:
    return Judge(RULES, Grading(), version=VERSION, path=shard.name)


def _document_or_rejected(line: bytes, at: Location, shard: Shard) -> Document | Rejected:
    clean = _clean(line)
    if clean is not None:
        return _document(clean[0])
    judge = _fresh_judge(shard)
    row = judged_document(line, at, judge)
    fault = next(filter(_unbearable, judge.tally.findings), None)
    if fault is not None:
        return Rejected(fault, line)
    assert row is not None
    return _document(row)


def _unbearable(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR and finding.code not in _BEARABLE


def _document(row: Json) -> Document:
    extra = {name: value for name, value in row.items() if name not in _FIELDS}
    metadata = row.get("metadata")
    if metadata is None and "metadata" in row:
        extra["metadata"] = None
    return Document(
        id=row["id"],
        text=row["text"],
        source=row.get("source"),
        lang=language_in(metadata),
        added=row.get("added"),
        created=row.get("created"),
        metadata=metadata,
        attributes=row.get("attributes"),
        extra=extra,
    )
