"""For formats: Write documents as rows of JSON Lines, with the attribute files of a part, or of CSV; both gzip-compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.parts import EncodedRows, Item, Loaded, Writer, flat_writer
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.jsonlines import EncodedText, decoded_text
from corpusfmt.io.loading import Columns
from corpusfmt.io.text import json_line, json_lines
from corpusfmt.model import Document, Json, UsageError
from corpusfmt.wording import clipped

_decoded = msgspec.json.Decoder(dict[str, Any]).decode


def fields_of(document: Document) -> Json:
    """Return a document as a row: the named fields first, then all others."""
    row: Json = {"id": document.id, "text": document.text}
    if document.source is not None:
        row["source"] = document.source
    if document.added is not None:
        row["added"] = document.added
    if document.created is not None:
        row["created"] = document.created
    if document.metadata is not None:
        row["metadata"] = document.metadata
    if document.attributes is not None:
        row["attributes"] = document.attributes
    if document.extra:
        row.update(document.extra)
    return row


def attributes_row(document: Document, attributes: Json) -> str:
    """Return a row of an attribute set on a document, as in `Document.attribute_rows`."""
    who = {"id": document.id} if document.source is None else {"source": document.source, "id": document.id}
    return json_line(who | {"attributes": attributes})[:-1].decode()


class Row(Struct, frozen=True):
    """A document, and its lines in attribute sets, in the order of the sets."""

    fields: Json
    beside: Sequence[str] = ()


def names(stem: str, part: int | None) -> list[str]:
    """Return the file name of one part of a stem; `part` is None if it is the only one."""
    return [f"{stem}.jsonl.gz" if part is None else f"{stem}_part_{part}.jsonl.gz"]


def text_bytes(row: Row) -> int:
    """Return the bytes that count towards the size of a part."""
    return len(json_line(row.fields))


# More than any date and time, encoded.
_LONG = 400
_ANY_TEXT = "a text"


def _shorten_text(fields: Json) -> None:
    """Put another text in the place of an encoded one, so that the row has the same columns."""
    text = fields.get("text")
    if isinstance(text, EncodedText):
        fields["text"] = _ANY_TEXT if memoryview(text).nbytes > _LONG else decoded_text(text)


def encoded(documents: Iterable[Document]) -> EncodedRows:
    """Return documents without attribute sets, which all have a source, as the rows that are written of them."""
    rows = [*map(fields_of, documents)]
    data = json_lines(rows)
    for row in rows:
        _shorten_text(row)
    return EncodedRows(data, names=[f"{row['source']}\t{row['id']}".encode() for row in rows], like=rows)


class RowsWriter:
    """Writes JSON Lines to open files: documents, and each attribute set."""

    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._documents, *self._sets = [GzipWriter(file, compression) for file in files]
        self._columns, *self._set_columns = [Columns() for _ in files]
        self.text_bytes = 0

    def add(self, row: Row) -> None:
        line = json_line(row.fields)
        self._documents.write(line)
        _shorten_text(row.fields)
        self._columns.note(row.fields, len(line))
        self.text_bytes += len(line)
        if not self._sets:
            return
        for stream, columns, text in zip(self._sets, self._set_columns, row.beside, strict=True):
            data = text.encode() + b"\n"
            stream.write(data)
            columns.note(_decoded(data), len(data))

    def add_batch(self, rows: EncodedRows) -> int:
        """Add documents without attribute sets."""
        self._documents.write_pieces(rows.data)
        self._columns.note_encoded(rows.like, rows.data)
        self.text_bytes += len(rows.data)
        return len(rows.names)

    def finish(self) -> list[FileFacts]:
        """End the streams; return size, digest and columns of each file."""
        streams, columns = (self._documents, *self._sets), (self._columns, *self._set_columns)
        return [replace(stream.finish(), columns=each.finish()) for stream, each in zip(streams, columns, strict=True)]


class CsvWriter:
    """Writes rows to an open file of CSV, whose columns are those of the first row."""

    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._stream = GzipWriter(files[0], compression)
        self._names: list[str] = []
        self.text_bytes = 0

    def add(self, row: Mapping[str, str]) -> None:
        from corpusfmt.io.csvrows import csv_line  # noqa: PLC0415 - imports csv

        if not self._names:
            self._names = [*row]
            self._stream.write(csv_line(row))
        if (odd := row.keys() ^ {*self._names}) or not row:
            names = ", ".join(f"`{clipped(name)}`" for name in sorted(odd)) or "a column"
            raise UsageError(f"the rows do not fit CSV, write them as jsonl or parquet: not all have {names}")
        line = csv_line(row[name] for name in self._names)
        self._stream.write(line)
        self.text_bytes += len(line)

    def finish(self) -> list[FileFacts]:
        """End the stream; return its size and digest."""
        return [self._stream.finish()]


def csv_writer(below: str, row_of: Callable[[Document], Json], *, safe: bool = False) -> Writer[Mapping[str, str]]:
    """Return the writer of rows as CSV in files below a folder; no cell of `safe` ones is a formula."""

    def item(document: Document) -> Item[Mapping[str, str]]:
        from corpusfmt.io.csvrows import cell, inert_cell, is_formula  # noqa: PLC0415 - imports csv

        row = row_of(document)
        losses = {
            "null, written as an empty cell": sum(value is None for value in row.values()),
            "lists and objects, written as JSON texts": sum(isinstance(value, list | dict) for value in row.values()),
            "formulas, written after an apostrophe": sum(map(is_formula, chain(row, row.values()))) if safe else 0,
            "attribute sets": len(document.attribute_rows),
        }
        shown = inert_cell if safe else cell
        cells = {shown(name): shown(value) for name, value in row.items()}
        return Item(cells, {what: count for what, count in losses.items() if count})

    table = Loaded("", below, "a row")
    return flat_writer(item, CsvWriter, ".csv.gz", below=below, table=table, takes_tables=True)


def rows_writer(
    below: str, row_of: Callable[[Document], Json] = fields_of, *, takes_tables: bool = False
) -> Writer[Row]:
    """Return the writer of documents without attribute sets, in files below a folder."""

    def item(document: Document) -> Item[Row]:
        sets = len(document.attribute_rows)
        return Item(Row(row_of(document)), {"attribute sets": sets} if sets else {})

    return flat_writer(item, RowsWriter, ".jsonl.gz", below=below, takes_tables=takes_tables)
