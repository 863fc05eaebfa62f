"""Internal: Read one documents file, with its attribute sets, as a stream of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.dolma.alignment import other_count, other_id, other_source
from corpusfmt.formats.dolma.glance import UNCLEAR, clean_attributes, clean_documents
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
    documents = chain.from_iterable(_rows_of(block, file, shard) for block in file.blocks())
    yield from documents if len(shard.files) == 1 else _with_sets(documents, file, shard, options)
    yield from rejections(judge, b"")


def blocks(shard: Shard, options: CheckOptions) -> Iterator[RowBlock | Document | Rejected]:
    """Yield the same as `read`, in blocks of rows if there are no attribute sets."""
    if len(shard.files) > 1 or DOCUMENTS not in shard.files or not RULES.accepts_unseen(Row, DocumentRow):
        yield from read(shard, options)
        return
    judge = _judge(shard.name)
    file = DolmaFile(shard.files[DOCUMENTS], judge, options)
    for block in file.blocks():
        if isinstance(block, LongLine):
            yield from _rows_of(block, file, shard)
            continue
        line = block.line
        for start, data in pieces(block.data, _PIECE):
            piece = Block(data, line, block.byte + start)
            yield RowBlock(data, each=partial(_rows_of, piece, file, shard))
            line += count_lines(data)
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


def _attributes(entry: Entry, options: CheckOptions) -> Iterator[_AttributesRow]:
    """Yield the rows of an attributes file. Raises `BadInput` at its end if it breaks off."""
    of_file = _judge(entry.path)
    file = DolmaFile(entry, of_file, options)
    for block in file.blocks():
        if isinstance(block, LongLine):
            judge = _judge(entry.path)
            judge.report(*file.too_long(block))
            yield _AttributesRow(Location(entry.path, block.line), b"", None, None, 0, _first_error(judge))
            continue
        values = clean_attributes(block.data)
        for index, (line, at) in enumerate(located_lines(block, entry.path)):
            clean, place = (values, index) if values is not None else (clean_attributes(line), 0)
            if clean is not None:
                yield _AttributesRow(at, line, clean.ids[place], clean.sources[place], clean.sizes[place])
                continue
            judge = _judge(entry.path)
            row = judged_attributes(line, at, judge) or {}
            identity = row["id"] if isinstance(row.get("id"), str) else None
            yield _AttributesRow(at, line, identity, row.get("source"), UNCLEAR, _first_error(judge))
    broken = _first_error(of_file)
    if broken is not None:
        raise BadInput(broken)


def _with_sets(
    documents: Iterable[Document | Rejected], file: DolmaFile, shard: Shard, options: CheckOptions
) -> Iterator[Document | Rejected]:
    """Yield documents with their rows of all attribute sets, rejected if one of these is wrong.

    Raises `BadInput` for rows out of step, and for more or fewer rows than documents if all of these could be read.
    """
    shared = shared_by(len(shard.files) - 1, options)
    sets = {name: _attributes(shard.files[f"{ATTRIBUTES}/{name}"], shared) for name in attribute_sets(shard)}
    lengths: dict[str, int] = {}
    count = 0
    for count, item in enumerate(documents, 1):
        rows: dict[str, _AttributesRow] = {}
        for name, each in sets.items() if not lengths else ():
            row = next(each, None)
            if row is None:
                lengths[name] = count - 1
                break
            rows[name] = row
        if lengths:
            continue  # the others are only counted
        lines = [row.line for row in rows.values()]
        if isinstance(item, Rejected):
            yield replace(item, raw=b"\n".join([item.raw, *lines]))
        elif fault := next(filter(None, (_fault(item, row) for row in rows.values())), None):
            yield Rejected(fault, b"\n".join([json_line(fields_of(item))[:-1], *lines]))
        else:
            item.attribute_rows = {name: row.line.strip(b" \t\r").decode() for name, row in rows.items()}
            yield item
    if not lengths:
        lengths = {name: count + sum(1 for _ in rows) for name, rows in sets.items()}
    for name, length in lengths.items() if file.whole else ():
        if length != count:
            at = Location(shard.files[f"{ATTRIBUTES}/{name}"].path)
            raise BadInput(finding_of(other_count(at, count, length), RULES, VERSION))


def _hold_to(document: Document, row: _AttributesRow) -> None:
    """Raise `BadInput` if a row of attributes belongs to another document."""
    if row.id is not None and row.id != document.id:
        fault = other_id(row.at, f"row {row.at.line} has the id `{row.id}`, the document there `{document.id}`")
    elif None not in (row.source, document.source) and row.source != document.source:
        fault = other_source(replace(row.at, record=document.id), document.source, row.source)
    else:
        return
    raise BadInput(finding_of(fault, RULES, VERSION))


def _fault(document: Document, row: _AttributesRow) -> Finding | None:
    """Return the fault of a row of attributes, or of its spans of the text. Raises `BadInput` if it is of another document."""
    _hold_to(document, row)
    if row.fault is not None or row.reach <= len(document.text):
        return row.fault
    judge = _judge(row.at.path)
    fields = fields_of(document)
    for key, value in decoded_value(row.line)["attributes"].items():
        if isinstance(value, list):
            judge.check(
                Spans(replace(row.at, record=document.id), key, value, fields, has_source=row.source is not None)
            )
    return _first_error(judge)
