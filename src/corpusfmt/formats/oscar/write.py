"""Internal: Write OSCAR 1.0 and 1.1: text and metadata together, and the checksum list of a language.

The canonical form has a blank line after every document, including the last, as in the 2021 release
(OSCAR schema v1.1.0, "File formats").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.languages import label_of
from corpusfmt.formats.oscar.keep import (
    BLANK_LINES_HEADER,
    BLANKS,
    CHANGES_HEADER,
    DOCUMENT_HEADER,
    changes,
    compact,
    whole,
    whole_row,
    with_blank_lines,
    without_blank_lines,
)
from corpusfmt.formats.parts import TEXT, Item, Loaded, RowBlock, Writer
from corpusfmt.formats.provenance import OWN_HEADERS, OWN_SOURCE, PROVENANCE, provenance_of, warc_headers_of
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.jsonlines import decoded_lines
from corpusfmt.io.lines import Splits
from corpusfmt.io.loading import TIME, kind_of_text
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import publish_pieces
from corpusfmt.io.scan import count_lines, split_at_empty_lines
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json

try:
    from corpusfmt.formats import _native
except ImportError:  # no wheel for this platform and no compiler: the same bytes, more slowly
    _native = None  # type: ignore[assignment]


#: The end of a document: the end of its last line, and a blank line.
CANONICAL_TAIL = "\n\n"
_TAIL = CANONICAL_TAIL.encode()
#: Other ends of the last document of a 1.1 text: no blank line, or no line end.
SHORT_TAILS = "", "\n"
_DEDUPLICATED = "_dedup"
_OWN_HEADERS = OWN_HEADERS.encode()
_DATE_NAME = b'"warc-date":'
_ENCODED_DATE = re.compile(_DATE_NAME + rb'"([^"\\]*)"')
# In the row of a record, where no JSON has it.
_OFFSET = b"\0"
_decode_rows = msgspec.json.Decoder(dict[str, Any]).decode_lines
# The first characters of a line that may be blank.
_MAY_BE_BLANK = tuple(character.encode() for character in f"\n{BLANKS}")


def _names(stem: str, part: int | None, *, metadata: bool) -> list[str]:
    """Return the names of a part; only a single text without metadata is marked as deduplicated, as in the 2019 release."""
    language = stem.removesuffix(_DEDUPLICATED)
    suffix = "" if part is None else f"_part_{part}"
    if metadata:
        return [f"{language}{suffix}.txt.gz", f"{language}_meta{suffix}.jsonl.gz"]
    return [f"{stem if part is None else language}{suffix}.txt.gz"]


def _names_deduplicated(language: str, part: int | None) -> list[str]:
    return _names(language + _DEDUPLICATED, part, metadata=False)


def _stem_kept(stem: str, text: Path, aside: Path) -> str:
    """Return the stem, without the `_dedup` mark if a line occurs twice in the text."""
    language = stem.removesuffix(_DEDUPLICATED)
    if stem == language:
        return stem
    from corpusfmt.formats.oscar.dataset import repeats_a_line  # noqa: PLC0415 - a check, which few writers need

    return language if repeats_a_line(text, language, aside) else stem


def checksum_list(files: Mapping[str, FileFacts]) -> Iterator[bytes]:
    """Yield the lines of `LL_sha256.txt` for files by name, in natural order and the portable notation."""
    digests = ((name, facts.sha256) for name, facts in files.items())
    return (f"{digest}  {name}\n".encode() for name, digest in sorted(digests, key=lambda each: _natural(each[0])))


def _seal(folder: Place, files: Mapping[str, FileFacts], aside: Path) -> dict[str, FileFacts]:
    """Write the checksum list of a language directory; return the facts of the list by name."""
    name = f"{folder.name}_sha256.txt"
    return {name: publish_pieces(folder / name, checksum_list(files), aside=aside)}


def _natural(name: str) -> list[int | str]:
    return [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", name)]


class OscarText(Struct, frozen=True, array_like=True, gc=False):
    """A document in OSCAR: lines joined by LF, their number, the metadata record, and the bytes after the lines.

    The record is a row with `_OFFSET` where a part writes the offset. A tail that does not separate documents (`separates`)
    may only occur at the end of a part. `has_odd_date`: not all readers accept the date in the record.
    """

    text: bytes
    lines: int
    record: bytes = b""
    tail: bytes = _TAIL
    separates: bool = True
    has_odd_date: bool = False


class PartWriter:
    """One part: text, and for 1.1 its metadata, written to open files. Offsets are set here, at their place in the record."""

    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._text = GzipWriter(files[0], compression)
        self._metadata = GzipWriter(files[1], compression) if len(files) > 1 else None
        self._offset = 0
        self._between = self._at_end = b""
        self._separates = False
        self._has_odd_date = False
        self._splits = Splits()
        self.text_bytes = 0

    def add(self, document: OscarText) -> None:
        text = self._between + document.text
        self._text.write(text)
        self._splits.add(text)
        self._at_end = document.tail
        self._between = document.tail if document.separates else _TAIL
        self._separates = self._separates or len(document.tail) > 1
        if self._metadata is not None:
            self._has_odd_date = self._has_odd_date or document.has_odd_date
            self._metadata.write(document.record.replace(_OFFSET, b"%d" % self._offset, 1))
        self._offset += document.lines + 1
        self.text_bytes += _text_bytes(document)

    def add_batch(self, rows: RowBlock) -> int:
        """Add documents of a 1.1 part, only if all rows were its records, and nothing in them has changed."""
        if self._metadata is None or _native is None:
            return 0
        made = _native.pairs_of_rows(rows.data, rows.language.encode(), self._offset)
        if made is None:
            return 0
        text, records, following = made
        self.text_bytes += len(text) + (0 if self._offset else len(_TAIL))
        self._text.write_pieces(text, _TAIL, 0)
        self._metadata.write_pieces(records)
        self._splits.add(text)
        self._between = self._at_end = _TAIL
        self._separates = True
        self._offset = following
        return count_lines(records)

    def finish(self) -> list[FileFacts]:
        """End the streams; return size and digest of the text file and, for 1.1, of the metadata file."""
        self._text.write(self._at_end)
        self._splits.add(self._at_end)
        text = replace(self._text.finish(), by_line=not self._separates, splits=self._splits.finish())
        if self._metadata is None:
            return [text]
        untyped = ("date",) if self._has_odd_date else ()
        return [text, replace(self._metadata.finish(), by_line=True, untyped=untyped)]


def _has_usual_date(headers: Json | msgspec.Raw | None) -> bool:
    """Return whether headers have a date that all readers accept, or none."""
    if not isinstance(headers, msgspec.Raw):
        date = (headers or {}).get("warc-date")
        return date is None or kind_of_text(date) == TIME
    encoded = bytes(headers)
    start = encoded.find(_DATE_NAME)  # faster than the expression finds it
    match = _ENCODED_DATE.search(encoded, start) if start >= 0 else None
    return kind_of_text(match[1].decode()) == TIME if match else start < 0


def _text_bytes(document: OscarText) -> int:
    return len(document.text) + len(document.tail)


def _with_record(text: bytes, lines: int, record: Json, tail: bytes = _TAIL) -> OscarText:
    row = json_line(record | {"offset": msgspec.Raw(_OFFSET), "nb_sentences": lines})
    return OscarText(text, lines, row, tail, tail == _TAIL, not _has_usual_date(record.get("headers")))


def _item(document: Document) -> Item[OscarText]:
    return Item(_with_record(*_parts_of(document)), _lost_sets(document))


def _lost_sets(document: Document) -> dict[str, int]:
    return {"attribute sets": len(document.attribute_rows)} if document.attribute_rows else {}


def _parts_of(document: Document) -> tuple[bytes, int, Json, bytes]:
    """Return the text of a document, the number of its lines, its record and its tail."""
    own = provenance_of(document)
    text, lines, blank = _lines_of(document.text.encode())
    has_record = _has_record(own)
    if has_record:
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
    tail = own.get("tail", CANONICAL_TAIL).encode() if has_record else _TAIL
    return text, lines, record, tail


def _of_rows(rows: bytes, field: str) -> list[tuple[str, OscarText]] | None:
    found = _native.texts(rows) if _native is not None else None
    if found is None:
        return None
    data, ends, others = found
    decoded = decoded_lines(_decode_rows, others)
    if decoded is None:
        return None
    items = []
    start = 0
    for end, row in zip(memoryview(ends).cast("Q"), decoded, strict=True):
        del row["text"]
        metadata = row.get("metadata") or {}
        language = metadata.get(field)
        if not isinstance(language, str) or label_of(language) != language:
            return None
        if PROVENANCE in metadata or None in row.values():
            return None
        text, lines, blank = _lines_of(data[start:end])
        start = end
        headers = {DOCUMENT_HEADER: whole_row(row)}
        if blank is not None:
            headers[BLANK_LINES_HEADER] = blank
        items.append((language, _with_record(text, lines, {"headers": headers})))
    return items


def _lines_of(data: bytes) -> tuple[bytes, int, str | None]:
    """Return the lines that OSCAR can represent, their number, and the header that lists the others."""
    count = _count_if_none_is_blank(data)
    if count is not None:
        return data, count, None
    lines, blank = without_blank_lines(data.decode())
    return "\n".join(lines).encode(), len(lines), blank


def _count_if_none_is_blank(data: bytes) -> int | None:
    """Return the number of lines if OSCAR takes none of them for a separator, None if that is unknown."""
    if not data or data.startswith(_MAY_BE_BLANK) or data.endswith(b"\n"):
        return None
    pieces = split_at_empty_lines(data)
    return pieces[0][1] if pieces and len(pieces) == 1 else None


def _crawled(text: bytes, headers: bytes, *, metadata: bool) -> OscarText | None:
    """Return what `OSCAR_1_1` and `OSCAR_1_0` make of a crawled text and its headers, a JSON object.

    None if that takes more work: for text that OSCAR cannot represent unchanged, or headers with corpusfmt's names.
    """
    lines = _count_if_none_is_blank(text)
    if not lines or _has_own_names(headers):
        return None
    return _with_record(text, lines, {"headers": msgspec.Raw(headers)}) if metadata else OscarText(text, lines)


def _has_own_names(headers: bytes) -> bool:
    return headers.find(_OWN_HEADERS) >= 0  # `in` would first take bytes for a number


def _item_without_metadata(document: Document) -> Item[OscarText]:
    """Return a document for 1.0, which keeps only the text."""
    own = provenance_of(document)
    text, lines, record, _ = _parts_of(document)
    losses = _lost_sets(document)
    if own.get("synthetic_id") is not True or changes(document, own):
        losses["metadata"] = 1
    if BLANK_LINES_HEADER in record["headers"]:
        losses["blank lines inside a text"] = 1
    text = _around(own, "lead", "1.0", "") + text
    tail = _around(own, "tail", "1.0", CANONICAL_TAIL)
    separates = tail.count(b"\n") > 1 or (tail == b"\n" and own.get("shuffled") is True)
    return Item(OscarText(text, lines, tail=tail, separates=separates), losses)


def _line(text: bytes) -> OscarText:
    return OscarText(text, 1, tail=b"\n")


def _has_record(own: Json) -> bool:
    """Return whether a document still has its original record, and only provenance that corpusfmt wrote."""
    if own.get("version") != "1.1" or not own.keys() <= {"version", "part", "record", "tail", OWN_SOURCE}:
        return False
    if "tail" in own and own["tail"] not in SHORT_TAILS:
        return False
    record = own.get("record")
    headers = record.get("headers") if isinstance(record, dict) else None
    return isinstance(headers, dict) and set(map(type, headers.values())) <= {str}


def _around(own: Json, name: str, version: str, canonical: str) -> bytes:
    """Return the blank lines around a text in its original version of OSCAR."""
    kept = own.get(name) if own.get("version") == version else None
    return (kept if isinstance(kept, str) else canonical).encode()


def _loaded(path: str) -> Loaded | None:
    if path.endswith(".txt.gz"):
        return TEXT
    # Loaders read all tables of a folder in the same way, as lines or as paragraphs of text.
    rows = "the metadata of a document as JSON text, in the order of the documents"
    return Loaded("metadata", "", rows) if path.endswith(".jsonl.gz") else None


_writer = partial(
    Writer[OscarText],
    open_part=PartWriter,
    by_language=True,
    folder=str,
    seal=_seal,
    loaded=_loaded,
    text_bytes=_text_bytes,
    kind=OscarText,
)
OSCAR_1_1 = _writer(
    item=_item,
    names=partial(_names, metadata=True),
    crawled=partial(_crawled, metadata=True),
    of_rows=_of_rows,
    batch=RowBlock,
)
_TEXT_ALONE = _writer(
    item=_item_without_metadata,
    names=partial(_names, metadata=False),
    stem_kept=_stem_kept,
    crawled=partial(_crawled, metadata=False),
    line=_line,
)
OSCAR_1_0 = replace(_TEXT_ALONE, deduplicated=replace(_TEXT_ALONE, names=_names_deduplicated))
