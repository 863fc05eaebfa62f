"""Internal: Write OSCAR 1.0 and 1.1: text and metadata in step, and the checksum list of a language.

Canonical form: every document is its lines and one blank line, the last one too, as the 2021 release has it
(OSCAR schema v1.1.0, "File formats").
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.oscar.blanks import (
    BLANK_LINES_HEADER,
    BLANKS,
    OWN_HEADERS,
    with_blank_lines,
    without_blank_lines,
)
from corpusfmt.formats.oscar.keep import CHANGES_HEADER, DOCUMENT_HEADER, changes, compact, whole
from corpusfmt.formats.parts import Item, Writer
from corpusfmt.formats.provenance import OWN_SOURCE, provenance_of, warc_headers_of
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.publish import publish_bytes
from corpusfmt.io.scan import split_at_empty_lines
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json

#: What follows the last line of a document: its line end, and a blank line.
CANONICAL_TAIL = "\n\n"
_TAIL = CANONICAL_TAIL.encode()
#: What the last document of a 1.1 text may end with as well: no blank line, or not even an end of its line.
SHORT_TAILS = "", "\n"
_DEDUPLICATED = "_dedup"
_OWN_HEADERS = OWN_HEADERS.encode()
# What a first line may begin with that has to be looked at.
_MAY_BE_BLANK = tuple(character.encode() for character in f"\n{BLANKS}")


def _names(stem: str, part: int | None, *, metadata: bool) -> list[str]:
    """Return the names of a part; that it is deduplicated says a single one of text alone, as in the 2019 release."""
    language = stem.removesuffix(_DEDUPLICATED)
    suffix = "" if part is None else f"_part_{part}"
    if metadata:
        return [f"{language}{suffix}.txt.gz", f"{language}_meta{suffix}.jsonl.gz"]
    return [f"{stem if part is None else language}{suffix}.txt.gz"]


def _names_deduplicated(language: str, part: int | None) -> list[str]:
    return _names(language + _DEDUPLICATED, part, metadata=False)


def _stem_kept(stem: str, text: Path, aside: Path) -> str:
    """Return the stem without the word that the text is deduplicated, where a line occurs twice in it."""
    language = stem.removesuffix(_DEDUPLICATED)
    if stem == language:
        return stem
    from corpusfmt.formats.oscar.dataset import repeats_a_line  # noqa: PLC0415 - a check, which few writers need

    return language if repeats_a_line(text, language, aside) else stem


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


class OscarText(Struct, frozen=True, gc=False):
    """A document as OSCAR holds it: lines joined by LF, their number, the metadata record, and what follows the lines.

    A tail that does not separate (`separates`) may only stand at the end of a part.
    """

    text: bytes
    lines: int
    record: Json
    tail: bytes = _TAIL
    separates: bool = True


class PartWriter:
    """One part: text, and for 1.1 its metadata, written in step into open files.

    `offset` and `nb_sentences` of a record are set here; they keep the place that they have in it.
    """

    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._text = GzipWriter(files[0], compression)
        self._metadata = GzipWriter(files[1], compression) if len(files) > 1 else None
        self._offset = 0
        self._between = self._at_end = b""
        self.text_bytes = 0

    def add(self, document: OscarText) -> None:
        self._text.write(self._between + document.text)
        self._at_end = document.tail
        self._between = document.tail if document.separates else _TAIL
        if self._metadata is not None:
            self._metadata.write(json_line(document.record | {"offset": self._offset, "nb_sentences": document.lines}))
        self._offset += document.lines + 1
        self.text_bytes += len(document.text) + len(document.tail)

    def finish(self) -> list[FileFacts]:
        """End the streams; return size and digest of the text file and, for 1.1, of the metadata file."""
        self._text.write(self._at_end)
        return [writer.finish() for writer in (self._text, self._metadata) if writer is not None]


def _item(document: Document) -> Item[OscarText]:
    own = provenance_of(document)
    text, lines, blank = _lines_of(document.text)
    if _has_record(own):
        record = own["record"]
        found = changes(document, own)
        if found:
            record["headers"][CHANGES_HEADER] = compact(found)
    else:
        record = {"headers": {**warc_headers_of(document), DOCUMENT_HEADER: whole(document)}}
    headers = record["headers"]
    stale = headers.get(BLANK_LINES_HEADER)
    if blank is not None:
        headers[BLANK_LINES_HEADER] = blank
    elif stale is not None and with_blank_lines(document.text, stale) != document.text:
        del headers[BLANK_LINES_HEADER]
    tail = own.get("tail", CANONICAL_TAIL).encode() if _has_record(own) else _TAIL
    value = OscarText(text, lines, record, tail, tail == _TAIL)
    return Item(value, {"attribute sets": len(document.attribute_rows)} if document.attribute_rows else {})


def _lines_of(text: str) -> tuple[bytes, int, str | None]:
    """Return the lines that OSCAR can hold, how many they are, and the header that lists the others."""
    data = text.encode()
    count = _count_if_none_is_blank(data)
    if count is not None:
        return data, count, None
    lines, blank = without_blank_lines(text)
    return "\n".join(lines).encode(), len(lines), blank


def _count_if_none_is_blank(data: bytes) -> int | None:
    """Return how many lines a text has, where OSCAR takes none of them for a separator. None says nothing."""
    if not data or data.startswith(_MAY_BE_BLANK) or data.endswith(b"\n"):
        return None
    pieces = split_at_empty_lines(data)
    return pieces[0][1] if pieces and len(pieces) == 1 else None


def _crawled(text: bytes, headers: bytes) -> OscarText | None:
    """Return what `OSCAR_1_1` and `OSCAR_1_0` make of a crawled text and its headers, a JSON object, as they stand.

    None where there is more to do: for text that OSCAR cannot hold as it is, or headers with names of ours.
    """
    lines = _count_if_none_is_blank(text)
    if not lines or headers.find(_OWN_HEADERS) >= 0:  # `in` would first take bytes for a number
        return None
    return OscarText(text, lines, {"headers": msgspec.Raw(headers)})


def _item_without_metadata(document: Document) -> Item[OscarText]:
    """Return a document for 1.0, which has no room but for the text."""
    own, item = provenance_of(document), _item(document)
    value = item.value
    losses = dict(item.losses)
    if own.get("synthetic_id") is not True or changes(document, own):
        losses["metadata"] = 1
    if BLANK_LINES_HEADER in value.record.get("headers", {}):
        losses["blank lines inside a text"] = 1
    text = _around(own, "lead", "1.0", "") + value.text
    tail = _around(own, "tail", "1.0", CANONICAL_TAIL)
    separates = tail.count(b"\n") > 1 or (tail == b"\n" and own.get("shuffled") is True)
    return Item(replace(value, text=text, tail=tail, separates=separates), losses)


def _line(text: bytes) -> OscarText:
    return OscarText(text, 1, {}, tail=b"\n")


def _has_record(own: Json) -> bool:
    """Tell whether a document still has the record that it was made of, and nothing there that we did not write."""
    if own.get("version") != "1.1" or not own.keys() <= {"version", "part", "record", "tail", OWN_SOURCE}:
        return False
    if "tail" in own and own["tail"] not in SHORT_TAILS:
        return False
    record = own.get("record")
    headers = record.get("headers") if isinstance(record, dict) else None
    return isinstance(headers, dict) and set(map(type, headers.values())) <= {str}


def _around(own: Json, name: str, version: str, canonical: str) -> bytes:
    """Return the blank lines around a text as its own version of OSCAR had them."""
    kept = own.get(name) if own.get("version") == version else None
    return (kept if isinstance(kept, str) else canonical).encode()


OSCAR_1_1 = Writer(
    item=_item,
    open_part=PartWriter,
    names=partial(_names, metadata=True),
    by_language=True,
    folder=str,
    seal=_seal,
    crawled=_crawled,
)
_TEXT_ALONE = replace(
    OSCAR_1_1, item=_item_without_metadata, names=partial(_names, metadata=False), stem_kept=_stem_kept, line=_line
)
OSCAR_1_0 = replace(_TEXT_ALONE, deduplicated=replace(_TEXT_ALONE, names=_names_deduplicated))
