"""Internal: Read WET files as goclassy does, the program of Ortiz Suarez, Sagot and Romary (2019), and write what it writes: one plain
text file per language.

Where goclassy ends with an error (a damaged gzip stream, a file without kept lines), the reader reports the file or
reads nothing from it, and the other files are used.
"""

from __future__ import annotations

import hashlib
import re
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
from corpusfmt.pipeline.process.wet import MOST_RECORD_BYTES, Stream, WetRecord


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


_VERSION_LINE = b"WARC/1.0\r\n"
_LENGTH_NAME = b"content-length:"
_LENGTH = re.compile(rb"[+-]?[0-9]{1,18}")
_MOST_LINE_BYTES = 1024 * 1024


class _Unreadable(Exception):
    """A record at which goclassy stops reading the file."""


class GoclassyReader:
    """Reads records of every type, up to the end or to the first unreadable one.

    Afterwards `cut` says why the rest of the file was not read, if it was not, and `unended` counts the last lines of
    records that have no line feed: they are not read either.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.cut: str | None = None
        self.unended = 0
        self._stream = Stream(chunks)

    def records(self) -> Iterator[WetRecord]:
        """Yield the records without headers, which goclassy drops."""
        number = 0
        try:
            while version := self._stream.line(_MOST_LINE_BYTES):
                number += 1
                text, _, rest = self._body(version).rpartition(b"\n")
                self.unended += bool(rest)
                yield WetRecord(b"{}", text)
                # With any content: goclassy takes them for the empty lines that end a record.
                self._skip_line()
                self._skip_line()
        except _Unreadable as reason:
            self.cut = f"record {number} {reason}"

    def _body(self, version: bytes) -> bytes:
        if version != _VERSION_LINE:
            raise _Unreadable("does not start with the line WARC/1.0, ended by CR LF")
        length = -1
        while (line := self._stream.line(_MOST_LINE_BYTES)) != b"\r\n":
            if not line.endswith(b"\n"):
                raise _Unreadable("has a header that does not end")
            if line.lower().startswith(_LENGTH_NAME):
                value = line[len(_LENGTH_NAME) :].strip()
                if length > 0 or not _LENGTH.fullmatch(value):
                    raise _Unreadable("does not have exactly one Content-Length that is a number")
                length = int(value)
        if not 0 <= length <= MOST_RECORD_BYTES:
            raise _Unreadable(f"does not have a Content-Length from 0 to {MOST_RECORD_BYTES:,}")
        body = self._stream.read(length)
        if len(body) < length:
            raise _Unreadable(f"has {len(body):,} bytes, expected {length:,} (Content-Length)")
        return body

    def _skip_line(self) -> None:
        while (piece := self._stream.line(_MOST_LINE_BYTES)) and not piece.endswith(b"\n"):
            pass
