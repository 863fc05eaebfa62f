"""Internal: Read one Parquet file as a stream of documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.parquet.arrow import ID, JSON_COLUMNS, TEXT
from corpusfmt.formats.parquet.rows import Row, TableColumns, Trouble, columns_of, judge_row, opened, rows
from corpusfmt.formats.parquet.ruleset import RULES, SOURCE, VERSION
from corpusfmt.formats.rows.columned import ColumnRecords
from corpusfmt.formats.rows.reading import rejections
from corpusfmt.formats.rows.records import NAMED, language_in
from corpusfmt.formats.whole import Key, encoded
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Fault, Json, Location
from corpusfmt.rules import Grading, Judge


class TableRecords(ColumnRecords):
    """The rows of other writers' tables."""

    source = SOURCE


#: Returns what identifies a row, if anything does.
KeyOf = Callable[[Json], Key | None]
#: Returns what identifies clean rows, encoded.
KeysOf = Callable[[list[Json]], list[bytes | None]]


def identities(columns: TableColumns, shard: Shard, options: CheckOptions) -> tuple[KeyOf, KeysOf]:
    """Return what identifies a row of a table with ids, and the same for clean rows, encoded."""
    if not columns.ours:
        records = TableRecords(shard, options)
        return records.key_of, records.keys_of
    return _own_key, lambda rows: [encoded(_own_key(row)) for row in rows]


def _own_key(row: Json) -> Key | None:
    return (row["source"] or "", row[ID]) if row[ID] else None


def document_at(shard: Shard, options: CheckOptions, _path: str, line: int) -> Document | Rejected | None:
    """Return the row with a number, from 1; None beyond the end. Row groups before it are not read."""
    return next(_documents(shard, options, line), None)


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the rows of a file as documents; unsuitable rows, and a file that breaks off, become `Rejected`.

    Files from corpusfmt give back their original documents. Rows of others are read by their column profile, as those of
    JSON Lines.
    """
    return _documents(shard, options, 1)


def _documents(shard: Shard, options: CheckOptions, first: int) -> Iterator[Document | Rejected]:
    entry = shard.files["table"]
    try:
        with opened(entry) as table:
            columns = columns_of(table, Location(entry.path), options.reading, shard.payload)
            unfit = list(_rejections(columns, _judge(shard)))
            if unfit:
                yield from unfit
                return
            records = TableRecords(shard, options)
            judge = _judge(shard)
            for number, row in enumerate(rows(table, columns, first), first):
                fault = next(_rejections(row, judge), None)
                if judge.tally.findings:
                    judge = _judge(shard)
                if fault is not None:
                    yield fault
                elif isinstance(row, Row):
                    yield _restored(row.fields) if columns.ours else records.document(row.fields, number)
    except Trouble as trouble:
        yield from _rejections(trouble.fault, _judge(shard))


def _judge(shard: Shard) -> Judge:
    return Judge(RULES, Grading(), version=VERSION, path=shard.name)


def _rejections(found: TableColumns | Row | Fault, judge: Judge) -> Iterator[Rejected]:
    """Yield the errors that a judge without findings has about columns, a row, or in place of one."""
    judge_row(found, judge)
    raw = json_line(found.fields) if judge.tally.findings and isinstance(found, Row) else b""
    return rejections(judge, raw)


def _restored(fields: Json) -> Document:
    metadata, attributes, extra = (_parsed(fields[name]) for name in JSON_COLUMNS)
    named = {name: fields[name] for name in NAMED}
    lang = language_in(metadata)
    return Document(
        fields[ID], fields[TEXT], **named, lang=lang, metadata=metadata, attributes=attributes, extra=extra or {}
    )


def _parsed(text: str | None) -> Json | None:
    value: Json | None = None if text is None else json.loads(text)
    return value
