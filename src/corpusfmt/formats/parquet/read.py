"""Read one Parquet file as a stream of documents."""

from __future__ import annotations

import json
from collections.abc import Iterator

from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.parquet.rows import (
    ID,
    JSON_COLUMNS,
    NAMED,
    TEXT,
    Columns,
    Row,
    Trouble,
    columns_of,
    judge_row,
    opened,
    rows,
)
from corpusfmt.formats.parquet.ruleset import RULES, SOURCE, VERSION
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Fault, Json, Location, Severity
from corpusfmt.rules import Grading, Judge


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the rows of a file as documents; one that cannot be one, and a file that breaks off, as `Rejected`.

    Files that corpusfmt wrote give back the documents that they were written from. Of others, the columns of text and id
    are those that `options.reading` names; strings called source, added and created are fields of the document, every
    other column is an entry of its metadata. Without ids, they are made of file, row and text, and marked so.
    """
    entry = shard.files["table"]
    try:
        with opened(entry) as table:
            columns = columns_of(table, Location(entry.path), options.reading)
            unfit = list(_rejections(columns, shard))
            if unfit:
                yield from unfit
                return
            for number, row in enumerate(rows(table, columns), 1):
                fault = next(_rejections(row, shard), None)
                if fault is not None:
                    yield fault
                elif isinstance(row, Row):
                    yield _restored(row.fields) if columns.ours else _document(row, f"{shard.name}:{number}")
    except Trouble as trouble:
        yield from _rejections(trouble.fault, shard)


def _rejections(found: Columns | Row | Fault, shard: Shard) -> Iterator[Rejected]:
    judge = Judge(RULES, Grading(), version=VERSION, path=shard.name)
    judge_row(found, judge)
    errors = [finding for finding in judge.tally.findings if finding.severity is Severity.ERROR]
    raw = json_line(found.fields) if errors and isinstance(found, Row) else b""
    yield from (Rejected(finding, raw) for finding in errors)


def _restored(fields: Json) -> Document:
    metadata, attributes, extra = (_parsed(fields[name]) for name in JSON_COLUMNS)
    named = {name: fields[name] for name in NAMED}
    language = (metadata or {}).get("language")
    lang = language if isinstance(language, str) else None
    return Document(
        fields[ID], fields[TEXT], **named, lang=lang, metadata=metadata, attributes=attributes, extra=extra or {}
    )


def _parsed(text: str | None) -> Json | None:
    value: Json | None = None if text is None else json.loads(text)
    return value


def _document(row: Row, place: str) -> Document:
    columns, fields = row.columns, dict(row.fields)
    text: str = fields.pop(columns.text)
    named = {"source": SOURCE} | {name: fields.pop(name) for name in NAMED if isinstance(fields.get(name), str)}
    if columns.id is not None:
        identity = str(fields.pop(columns.id))
    else:
        identity = f"{place}:{xxh3_64_hexdigest(text.encode())}"
        fields["corpusfmt_synthetic_id"] = True
    language = fields.get("language")
    lang = language if isinstance(language, str) else None
    return Document(identity, text, **named, lang=lang, metadata=fields)
