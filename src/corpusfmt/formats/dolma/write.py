"""Write Dolma documents: one JSON object a line, gzip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from corpusfmt.formats.parts import Item, Writer
from corpusfmt.io.compress import FileFacts, GzipWriter
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json


def _item(document: Document) -> Item[Json]:
    """Return a document as a Dolma row: the named fields first, then whatever else the document came with."""
    row: Json = {"id": document.id, "text": document.text}
    optional = {
        "source": document.source,
        "added": document.added,
        "created": document.created,
        "metadata": document.metadata,
        "attributes": document.attributes,
    }
    row.update({name: value for name, value in optional.items() if value is not None})
    return Item(row | document.extra)


def _names(stem: str, part: int | None) -> list[str]:
    """Return the file name of one part of the rows of a stem; `part` is None where it has a single one."""
    return [f"{stem}.jsonl.gz" if part is None else f"{stem}_part_{part}.jsonl.gz"]


class RowsWriter:
    """JSON Lines into one open file."""

    def __init__(self, files: Sequence[BinaryIO]) -> None:
        (file,) = files
        self._stream = GzipWriter(file)
        self.text_bytes = 0

    def add(self, row: Json) -> None:
        line = json_line(row)
        self._stream.write(line)
        self.text_bytes += len(line)

    def finish(self) -> list[FileFacts]:
        """End the stream; return size and digest of the file."""
        return [self._stream.finish()]


DOLMA = Writer(
    item=_item,
    open_part=RowsWriter,
    names=_names,
    by_language=False,
    folder=lambda name: f"documents/{name}" if name else "documents",
    seal=lambda _folder, _files, _aside: {},
)
