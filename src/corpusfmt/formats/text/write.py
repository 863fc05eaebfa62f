"""Internal: Write the texts of documents, with a blank line after each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from msgspec.structs import replace

from corpusfmt.formats.columns import columns_names
from corpusfmt.formats.parts import TEXT, Item, Writer
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.text.reading import SOURCE
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.paragraphs import split_at
from corpusfmt.model import Document

_BELOW = "data"
_BLANKS = " \t\r"
_MADE = frozenset({SYNTHETIC, "language"})


class _Texts:
    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._file = GzipWriter(files[0], compression)
        self._splits = False
        self.text_bytes = 0

    def add(self, text: bytes) -> None:
        self._file.write(text)
        self._splits = self._splits or split_at(text.removesuffix(b"\n\n")) >= 0
        self.text_bytes += len(text)

    def finish(self) -> list[FileFacts]:
        return [replace(self._file.finish(), splits=self._splits)]


def _item(document: Document) -> Item[bytes]:
    losses = {}
    if _has_more_than_text(document):
        losses["metadata"] = 1
    if document.attribute_rows:
        losses["attribute sets"] = len(document.attribute_rows)
    lines = document.text.split("\n")
    kept = [line for line in lines if line.strip(_BLANKS)]
    if not kept:
        return Item(b"", losses | {"documents without a text": 1})
    if len(kept) < len(lines):
        losses["blank lines inside a text"] = 1
    return Item("\n".join(kept).encode() + b"\n\n", losses)


def _has_more_than_text(document: Document) -> bool:
    """Return whether a document has anything that reading its text again does not give."""
    metadata = document.metadata or {}
    if metadata.get(SYNTHETIC) is not True or not metadata.keys() <= _MADE:
        return True
    if document.added or document.created or document.attributes or document.extra:
        return True
    return document.source != SOURCE and document.source not in columns_names()


def _names(stem: str, part: int | None) -> list[str]:
    return [f"{stem}.txt.gz" if part is None else f"{stem}_part_{part}.txt.gz"]


TEXTS = Writer(
    item=_item,
    open_part=_Texts,
    names=_names,
    by_language=False,
    folder=lambda name: f"{_BELOW}/{name}" if name else _BELOW,
    loaded=lambda path: TEXT if path.startswith(f"{_BELOW}/") else None,
)
