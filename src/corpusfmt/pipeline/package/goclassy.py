"""Internal: Output like goclassy's: one plain text file per language."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from corpusfmt.formats.describing import BCP_47, Contents, Describer, RecordSetOf, files_of, language_in
from corpusfmt.formats.languages import LABELS
from corpusfmt.formats.parts import TEXT, Item, Writer
from corpusfmt.io.compress import CompressionName, FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import Document


class PlainWriter:
    """Writes text to one open file."""

    def __init__(self, files: Sequence[BinaryIO], _compression: CompressionName) -> None:
        (self._file,) = files
        self._digest = hashlib.sha256()
        self.text_bytes = 0

    def add(self, text: bytes) -> None:
        self._file.write(text)
        self._digest.update(text)
        self.text_bytes += len(text)

    def finish(self) -> list[FileFacts]:
        """Return the size and digest of the file."""
        return [FileFacts(self.text_bytes, self._digest.hexdigest(), by_line=True)]


def empty_files(destination: Place, present: Collection[str], aside: Path) -> dict[str, FileFacts]:
    """Write empty files for the languages without text: goclassy opens all 176 before it reads anything."""
    facts = FileFacts(0, hashlib.sha256().hexdigest())
    absent = {f"classified/{label}.txt": facts for label in sorted(LABELS) if label not in present}
    for path in absent:
        publish_bytes(destination / path, b"", aside=aside)
    return absent


def _item(document: Document) -> Item[bytes]:
    return Item(f"{document.text}\n".encode())


GOCLASSY = Writer(
    item=_item,
    open_part=PlainWriter,
    names=lambda stem, _part: [f"{stem}.txt"],
    by_language=False,
    folder=lambda _label: "classified",
    loaded=lambda path: replace(TEXT, root="classified", rows="a line") if path.startswith("classified/") else None,
)


def _files(paths: Iterable[str], contents: Contents) -> Iterator[RecordSetOf]:
    yield files_of(paths, contents, language_in)


GOCLASSY_DESCRIBER = Describer("Text by language as goclassy writes it", _files, language_in, BCP_47)
