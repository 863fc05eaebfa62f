"""Internal: Read one documents file, with its attribute sets, as a stream of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Rejected, Shard, Tables, Texts
from corpusfmt.formats.dolma.alignment import other_count, other_id, other_source
from corpusfmt.formats.dolma.glance import UNCLEAR, clean_attributes, clean_documents, clean_texts
from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS
from corpusfmt.formats.dolma.rowfiles import DolmaFile, judged_attributes, judged_document, located_lines, shared_by
from corpusfmt.formats.dolma.rows import DocumentRow
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.formats.parts import RowBlock
from corpusfmt.formats.rows.files import pieces
from corpusfmt.formats.rows.reading import rejections
from corpusfmt.formats.rows.records import Row, language_in
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.jsonlines import decoded_value
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.paths import Entry
from corpusfmt.io.scan import count_lines
from corpusfmt.io.text import json_line
from corpusfmt.model import BadInput, Document, Finding, Json, Location, Severity, UsageError
from corpusfmt.rules import Grading, Judge, finding_of

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
    judge = _judge(shard.name)
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
    judge = _judge(shard.name)
    file = DolmaFile(shard.files[DOCUMENTS], judge, options)
    for block in file.blocks():
        yield from _rows_of(block, file, shard) if isinstance(block, LongLine) else convert(block, file)
    yield from rejections(judge, b"")


def _rows_of(block: Block | LongLine, file: DolmaFile, shard: Shard) -> Iterator[Document | Rejected]:
    if isinstance(block, LongLine):
        alone = _judge(shard.name)
        alone.report(*file.too_long(block))
        yield from rejections(alone, b"")
        return
    clean = clean_documents(block.data)
    if clean is not None:
        yield from map(_document, clean)
        return
    for line, at in located_lines(block, file.path):
        yield _document_or_rejected(line, at, shard)


def _document_or_rejected(line: bytes, at: Location, shard: Shard) -> Document | Rejected:
    clean = clean_documents(line)
    if clean is not None:
        return _document(clean[0])
    judge = _judge(shard.name)
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


class _AttributesRow(Struct, frozen=True):
    """One row: its bytes, the values that pair it, the reach of its spans, and its faults."""

    at: Location
    line: bytes
    id: str | None
    source: object
    reach: int
    fault: Finding | None = None


def _judge(path: str) -> Judge:
    return Judge(RULES, Grading(), version=VERSION, path=path)


def _first_error(judge: Judge) -> Finding | None:
    return next((finding for finding in judge.tally.findings if finding.severity is Severity.ERROR), None)


class _AttributesFile:
    """The rows of one attributes file."""

    def __init__(self, name: str, entry: Entry, options: CheckOptions) -> None:
        self.name = name
        self.judge = _judge(entry.path)
        self.file = DolmaFile(entry, self.judge, options)
        self.rows = self._rows()
        self.taken = 0

    def _rows(self) -> Iterator[_AttributesRow]:
        for block in self.file.blocks():
            if isinstance(block, LongLine):
                judge = _judge(self.file.path)
                judge.report(*self.file.too_long(block))
                yield _AttributesRow(Location(self.file.path, block.line), b"", None, None, 0, _first_error(judge))
                continue
            values = clean_attributes(block.data)
            if values is None:
                yield from (_judged(line, at) for line, at in located_lines(block, self.file.path))
                continue
            places = located_lines(block, self.file.path)
            columns = zip(places, values.ids, values.sources, values.sizes, strict=True)
            for (line, at), identity, source, reach in columns:
                yield _AttributesRow(at, line, identity, source, reach)

    def next(self) -> _AttributesRow | None:
        """Return the next row, None after the last one. Raises `BadInput` if the file breaks off."""
        row = next(self.rows, None)
        if row is not None:
            self.taken += 1
            return row
        broken = _first_error(self.judge)
        if broken is not None:
            raise BadInput(broken)
        return None


def _judged(line: bytes, at: Location) -> _AttributesRow:
    values = clean_attributes(line)
    if values is not None:
        return _AttributesRow(at, line, values.ids[0], values.sources[0], values.sizes[0])
    judge = _judge(at.path)
    row = judged_attributes(line, at, judge) or {}
    identity = row.get("id")
    return _AttributesRow(
        at,
        line,
        identity if isinstance(identity, str) else None,
        row.get("source"),
        UNCLEAR,
        _first_error(judge),
    )


class Beside:
    """All attribute sets of a shard, and how many documents they were joined with."""

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        shared = shared_by(len(shard.files) - 1, options)
        self._files = [
            _AttributesFile(role.removeprefix(f"{ATTRIBUTES}/"), entry, shared)
            for role, entry in shard.files.items()
            if role != DOCUMENTS
        ]
        self._documents = 0
        self._ended: _AttributesFile | None = None

    def joined(self, items: Iterable[Document | Rejected]) -> Iterator[Document | Rejected]:
        """Yield documents with their rows, rejected if one of these is wrong. Raises `BadInput` for rows out of step.

        After the end of a set, the remaining documents are only counted: `finish` reports the difference.
        """
        for item in items:
            self._documents += 1
            rows = self._next_rows()
            if rows is not None:
                yield self._with_rows(item, rows)

    def _next_rows(self) -> list[_AttributesRow] | None:
        rows = []
        for file in self._files if self._ended is None else ():
            row = file.next()
            if row is None:
                self._ended = file
                return None
            rows.append(row)
        return rows or None

    def _with_rows(self, item: Document | Rejected, rows: list[_AttributesRow]) -> Document | Rejected:
        if isinstance(item, Rejected):
            return replace(item, raw=_together(item.raw, rows))
        for row in rows:
            _hold_to(item, row)
            fault = row.fault or _wrong_span(item, row)
            if fault is not None:
                return Rejected(fault, _together(json_line(fields_of(item))[:-1], rows))
        item.attribute_rows = {
            file.name: row.line.strip(b" \t\r").decode() for file, row in zip(self._files, rows, strict=True)
        }
        return item

    def finish(self, *, whole: bool) -> None:
        """Compare the numbers of rows, if all documents could be read. Raises `BadInput`."""
        for file in self._files if self._ended is None else [self._ended]:
            while file is not self._ended and file.next() is not None:
                pass
            if whole and file.taken != self._documents:
                fault = other_count(Location(file.file.path), self._documents, file.taken)
                raise BadInput(finding_of(fault, RULES, VERSION))


def _together(document: bytes, rows: list[_AttributesRow]) -> bytes:
    return b"\n".join([document, *(row.line for row in rows)])


def _hold_to(document: Document, row: _AttributesRow) -> None:
    """Raise `BadInput` if a row of attributes belongs to another document."""
    if row.id is not None and row.id != document.id:
        fault = other_id(row.at, f"row {row.at.line} has the id `{row.id}`, the document there `{document.id}`")
    elif None not in (row.source, document.source) and row.source != document.source:
        fault = other_source(replace(row.at, record=document.id), document.source, row.source)
    else:
        return
    raise BadInput(finding_of(fault, RULES, VERSION))


def _wrong_span(document: Document, row: _AttributesRow) -> Finding | None:
    if row.reach <= len(document.text):
        return None
    judge = _judge(row.at.path)
    fields = fields_of(document)
    for key, value in decoded_value(row.line)["attributes"].items():
        if isinstance(value, list):
            judge.check(
                Spans(replace(row.at, record=document.id), key, value, fields, has_source=row.source is not None)
            )
    return _first_error(judge)
