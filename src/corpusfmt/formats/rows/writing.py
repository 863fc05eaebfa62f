"""For formats: Documents as rows of JSON Lines: one object a line, gzip; the files of one part in step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from msgspec import Struct

from corpusfmt.formats.parts import Item, Writer
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json


def fields_of(document: Document) -> Json:
    """Return a document as a row: the named fields first, then whatever else the document came with."""
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
    row.update(document.extra)
    return row


def attributes_row(document: Document, attributes: Json) -> str:
    """Return a row of an attribute set about a document, as `Document.attribute_rows` holds it."""
    who = {"id": document.id} if document.source is None else {"source": document.source, "id": document.id}
    return json_line(who | {"attributes": attributes})[:-1].decode()


class Row(Struct, frozen=True):
    """A document, and the lines of attribute sets beside it, in the order of the sets."""

    fields: Json
    beside: Sequence[str] = ()


def names(stem: str, part: int | None) -> list[str]:
    """Return the file name of one part of the rows of a stem; `part` is None where it has a single one."""
    return [f"{stem}.jsonl.gz" if part is None else f"{stem}_part_{part}.jsonl.gz"]


class RowsWriter:
    """JSON Lines into open files: documents, and each attribute set."""

    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._documents, *self._sets = [GzipWriter(file, compression) for file in files]
        self.text_bytes = 0

    def add(self, row: Row) -> None:
        line = json_line(row.fields)
        self._documents.write(line)
        self.text_bytes += len(line)
        for stream, text in zip(self._sets, row.beside, strict=True):
            stream.write(text.encode() + b"\n")

    def finish(self) -> list[FileFacts]:
        """End the streams; return size and digest of each file."""
        return [stream.finish() for stream in (self._documents, *self._sets)]


def rows_writer(below: str) -> Writer[Row]:
    """Return the writer of documents alone, in files below a folder."""

    def item(document: Document) -> Item[Row]:
        sets = len(document.attribute_rows)
        return Item(Row(fields_of(document)), {"attribute sets": sets} if sets else {})

    return Writer(
        item=item,
        open_part=RowsWriter,
        names=names,
        by_language=False,
        folder=lambda name: f"{below}/{name}" if name else below,
        seal=lambda _folder, _files, _aside: {},
    )
