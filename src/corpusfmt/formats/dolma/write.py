"""Write Dolma documents and attribute sets: one JSON object a line, gzip, the files of one part in step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS
from corpusfmt.formats.parts import Item, Writer
from corpusfmt.formats.rows import fields_of
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json


class Row(Struct, frozen=True):
    """A document as Dolma has it, and the lines of attribute sets beside it, in the order of the sets."""

    fields: Json
    beside: Sequence[str] = ()


def _item(document: Document, *, sets: Sequence[str]) -> Item[Row]:
    rows = document.attribute_rows
    return Item(Row(fields_of(document), [rows[name] for name in sets]))


def _names(stem: str, part: int | None) -> list[str]:
    """Return the file name of one part of the rows of a stem; `part` is None where it has a single one."""
    return [f"{stem}.jsonl.gz" if part is None else f"{stem}_part_{part}.jsonl.gz"]


def _paths(stem: str, part: int | None, *, sets: Sequence[str]) -> list[str]:
    """Return the paths of one part: documents, then each attribute set."""
    (name,) = _names(stem, part)
    return [f"{DOCUMENTS}/{name}", *(f"{ATTRIBUTES}/{each}/{name}" for each in sets)]


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


def _with_sets(sets: Sequence[str]) -> Writer[Row]:
    return replace(DOLMA, item=partial(_item, sets=sets), names=partial(_paths, sets=sets), folder=lambda _: "")


def _key(document: Document) -> tuple[str, str]:
    return document.source or "", document.id


DOLMA = Writer(
    item=partial(_item, sets=()),
    open_part=RowsWriter,
    names=_names,
    by_language=False,
    folder=lambda name: f"{DOCUMENTS}/{name}" if name else DOCUMENTS,
    seal=lambda _folder, _files, _aside: {},
    with_sets=_with_sets,
    key=_key,
)
