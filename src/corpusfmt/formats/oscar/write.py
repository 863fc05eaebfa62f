"""Write OSCAR 1.0 and 1.1: text and metadata in step, and the checksum list of a language.

Canonical form: every document is its lines and one blank line, the last one too, as the 2021 release has it
(OSCAR schema v1.1.0, "File formats").
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from corpusfmt.formats.parts import Item, Writer
from corpusfmt.formats.provenance import provenance_of, warc_headers_of
from corpusfmt.io.compress import FileFacts, GzipWriter
from corpusfmt.io.publish import publish_bytes
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json

#: What follows the last line of a document: its line end, and a blank line.
CANONICAL_TAIL = "\n\n"
#: The header under which a document that is not of OSCAR origin keeps all but its text.
DOCUMENT_HEADER = "corpusfmt-document"
#: The header that says which lines of the original text were left out because OSCAR takes them for separators: their
#: numbers from 0, comma-separated, each with a colon and its UTF-8 bytes in hexadecimal where it is not empty. An equals
#: sign in front says that there was no other line, and that `EMPTY_TEXT` stands for the text.
BLANK_LINES_HEADER = "corpusfmt-blank-lines"
#: A line of nothing else separates documents.
BLANKS = " \t\r"
#: Stands for a text without any line that is not empty: OSCAR cannot hold a document of no lines.
EMPTY_TEXT = "\u2205"


def _names(stem: str, part: int | None, *, metadata: bool) -> list[str]:
    suffix = "" if part is None else f"_part_{part}"
    names = [f"{stem}{suffix}.txt.gz"]
    if metadata:
        names.append(f"{stem}_meta{suffix}.jsonl.gz")
    return names


def checksum_list(files: Mapping[str, FileFacts]) -> bytes:
    """Return `LL_sha256.txt` for files by name, in the two-space form that every tool reads, in natural order."""
    lines = (f"{files[name].sha256}  {name}\n" for name in sorted(files, key=_natural))
    return "".join(lines).encode()


def _seal(folder: Path, files: Mapping[str, FileFacts], aside: Path) -> dict[str, FileFacts]:
    """Write the checksum list of a language directory over its data files; return the list's own facts by name."""
    name = f"{folder.name}_sha256.txt"
    data = checksum_list(files)
    publish_bytes(folder / name, data, aside=aside)
    return {name: FileFacts(len(data), hashlib.sha256(data).hexdigest())}


def _natural(name: str) -> list[int | str]:
    return [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", name)]


@dataclass(frozen=True, slots=True)
class OscarText:
    """A document as OSCAR holds it: lines joined by LF, their number, the metadata record, and what follows the lines."""

    text: bytes
    lines: int
    record: Json
    tail: bytes = CANONICAL_TAIL.encode()


class PartWriter:
    """One part: text, and for 1.1 its metadata, written in step into open files.

    `offset` and `nb_sentences` of a record are set here; they keep the place that they have in it.
    """

    def __init__(self, files: Sequence[BinaryIO]) -> None:
        self._text = GzipWriter(files[0])
        self._metadata = GzipWriter(files[1]) if len(files) > 1 else None
        self._offset = 0
        self.text_bytes = 0

    def add(self, document: OscarText) -> None:
        self._text.write(document.text + document.tail)
        if self._metadata is not None:
            self._metadata.write(json_line(document.record | {"offset": self._offset, "nb_sentences": document.lines}))
        self._offset += document.lines + 1
        self.text_bytes += len(document.text) + len(document.tail)

    def finish(self) -> list[FileFacts]:
        """End the streams; return size and digest of the text file and, for 1.1, of the metadata file."""
        return [writer.finish() for writer in (self._text, self._metadata) if writer is not None]


def _item(document: Document) -> Item[OscarText]:
    own = provenance_of(document)
    record = own["record"] if _is_record(own.get("record")) else _foreign(document)
    lines = document.text.split("\n")
    blank = [_left_out(number, line) for number, line in enumerate(lines) if not line.strip(BLANKS)]
    if blank:
        nothing_else = "=" if len(blank) == len(lines) else ""
        record["headers"] = {**record["headers"], BLANK_LINES_HEADER: nothing_else + ",".join(blank)}
        lines = [line for line in lines if line.strip(BLANKS)] or [EMPTY_TEXT]
    return Item(OscarText("\n".join(lines).encode(), len(lines), record, _around(own, "tail", "1.1", CANONICAL_TAIL)))


def _item_without_metadata(document: Document) -> Item[OscarText]:
    """Return a document for 1.0, which has no room but for the text."""
    own, value = provenance_of(document), _item(document).value
    losses = {} if own.get("synthetic_id") is True else {"metadata": 1}
    if BLANK_LINES_HEADER in value.record.get("headers", {}):
        losses["blank lines inside a text"] = 1
    text = _around(own, "lead", "1.0", "") + value.text
    return Item(replace(value, text=text, tail=_around(own, "tail", "1.0", CANONICAL_TAIL)), losses)


def _is_record(value: object) -> bool:
    headers = value.get("headers") if isinstance(value, dict) else None
    return isinstance(headers, dict) and all(isinstance(header, str) for header in headers.values())


def _left_out(number: int, line: str) -> str:
    return f"{number}:{line.encode().hex()}" if line else str(number)


def _around(own: Json, name: str, version: str, canonical: str) -> bytes:
    """Return the blank lines around a text as its own version of OSCAR had them."""
    kept = own.get(name) if own.get("version") == version else None
    return (kept if isinstance(kept, str) else canonical).encode()


def _foreign(document: Document) -> Json:
    fields: Iterable[tuple[str, object]] = (
        ("id", document.id),
        ("source", document.source),
        ("added", document.added),
        ("created", document.created),
        ("metadata", document.metadata),
        ("attributes", document.attributes),
        ("extra", document.extra or None),
    )
    kept = {name: value for name, value in fields if value is not None}
    own = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    return {"headers": {**warc_headers_of(document), DOCUMENT_HEADER: own}}


OSCAR_1_0 = Writer(
    item=_item_without_metadata,
    open_part=PartWriter,
    names=partial(_names, metadata=False),
    by_language=True,
    folder=str,
    seal=_seal,
)
OSCAR_1_1 = replace(OSCAR_1_0, item=_item, names=partial(_names, metadata=True))
