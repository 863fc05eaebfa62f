"""Internal: Attribute sets read in step with their documents: row by row, with the same ids and sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.dolma.alignment import other_count, other_id, other_source
from corpusfmt.formats.dolma.glance import UNCLEAR, Values, clean_attributes
from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS
from corpusfmt.formats.dolma.rowfiles import DolmaFile, judged_attributes, located_lines, shared_by
from corpusfmt.formats.dolma.rows import AttributesRow
from corpusfmt.formats.dolma.ruleset import RULES, VERSION
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.formats.rows.records import Row
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.jsonlines import decoded_value
from corpusfmt.io.lines import LongLine
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import json_line
from corpusfmt.model import BadInput, Document, Finding, Location, Severity
from corpusfmt.rules import Grading, Judge, finding_of


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


def _clean(data: bytes) -> Values | None:
    return clean_attributes(data) if RULES.accepts_unseen(Row, AttributesRow, Spans) else None


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
            values = _clean(block.data)
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
    values = _clean(line)
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
