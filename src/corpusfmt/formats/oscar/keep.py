"""Internal: Own headers that keep the fields of a document for which OSCAR has no place."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from msgspec.structs import replace

from corpusfmt.formats.provenance import OWN_HEADERS, OWN_SOURCE, PROVENANCE, document_id, is_place
from corpusfmt.io.text import json_line, json_object
from corpusfmt.model import Document, Json

#: The header with all fields but the text of a document from another format.
DOCUMENT_HEADER = f"{OWN_HEADERS}document"
#: The header with the fields of a document from OSCAR that its record does not give.
CHANGES_HEADER = f"{OWN_HEADERS}changes"
#: The `source` of documents from OSCAR without another source.
SOURCE = "oscar"

_OBJECTS = ("metadata", "attributes", "extra")
_TEXTS = ("source", "added", "created")
_KEPT = ("id", *_TEXTS, "metadata", "attributes")
_CHANGEABLE = frozenset({"id", *_OBJECTS, *_TEXTS})


def whole(document: Document) -> str:
    """Return the `DOCUMENT_HEADER` of a document from another format: all fields but the text."""
    fields: Iterable[tuple[str, object]] = (
        ("id", document.id),
        ("source", document.source),
        ("added", document.added),
        ("created", document.created),
        ("metadata", document.metadata),
        ("attributes", document.attributes),
        ("extra", document.extra or None),
    )
    return compact({name: value for name, value in fields if value is not None})


def whole_row(row: Json) -> str:
    """Return the same of a row of Dolma, without its text and null."""
    fields = {name: row.pop(name) for name in _KEPT if name in row}
    return compact(fields | {"extra": row} if row else fields)


def changes(document: Document, own: Json) -> Json:
    """Return the fields of a document from OSCAR that its record does not give.

    `own` is the nonempty result of `provenance_of`.
    """
    headers = own.get("record", {}).get("headers", {})
    found: Json = {}
    if document.source != own.get(OWN_SOURCE, SOURCE):
        found["source"] = document.source
    if document.created != headers.get("warc-date"):
        found["created"] = document.created
    if document.added is not None:
        found["added"] = document.added
    if document.attributes is not None:
        found["attributes"] = document.attributes
    if document.extra:
        found["extra"] = document.extra
    metadata = {name: value for name, value in (document.metadata or {}).items() if name != PROVENANCE}
    if list(metadata.items()) != [("language", document.lang), ("url", headers.get("warc-target-uri"))]:
        found["metadata"] = metadata
    if not _is_given_id(document, own, headers.get("warc-record-id")):
        found["id"] = document.id
    return found


def _is_given_id(document: Document, own: Json, record_id: str | None) -> bool:
    if record_id and document.id == document_id(record_id, document.lang or ""):
        return True
    return is_place(document.id, own)


def compact(value: Json) -> str:
    """Return a value as JSON on one line."""
    return json_line(value)[:-1].decode()


def kept_document(header: str | None) -> Json | None:
    """Return the fields that `whole` kept; None if the header is missing or not corpusfmt's."""
    kept = _fields(header)
    return kept if kept is not None and isinstance(kept.get("id"), str) else None


def kept_changes(header: str | None) -> Json | None:
    """Return the fields that `changes` kept; None if the header is missing or not corpusfmt's."""
    kept = _fields(header)
    return kept if kept and kept.keys() <= _CHANGEABLE and isinstance(kept.get("id", ""), str) else None


def _fields(header: str | None) -> Json | None:
    if header is None:
        return None
    kept = json_object(header)
    if kept is None:
        return None
    ours = all(isinstance(kept.get(name), dict | None) for name in _OBJECTS) and all(
        isinstance(kept.get(name), str | None) for name in _TEXTS
    )
    return kept if ours else None


def restored(kept: Json, text: str, language: str) -> Document:
    """Return the document from another format that `whole` kept."""
    named: Json = {name: kept.get(name) for name in (*_TEXTS, "metadata", "attributes")}
    extra = dict(kept.get("extra") or {})
    extra.update((name, value) for name, value in kept.items() if name not in {"id", "extra", *named})
    return Document(kept["id"], text, lang=language, extra=extra, **named)


def changed(document: Document, kept: Json) -> Document:
    """Return a document with the fields that `changes` kept."""
    if "metadata" in kept:
        own = (document.metadata or {})[PROVENANCE]
        kept = kept | {"metadata": kept["metadata"] | {PROVENANCE: own}}
    return replace(document, **kept)


#: The header that lists the removed lines: their numbers from 0, comma-separated, and for a line that is not empty, a
#: colon and its UTF-8 bytes in hexadecimal. A leading equals sign means that there was no other line, and that
#: `EMPTY_TEXT` replaces the text.
BLANK_LINES_HEADER = f"{OWN_HEADERS}blank-lines"
#: A line that contains only these separates documents.
BLANKS = " \t\r"
#: Replaces a text of only blank lines: OSCAR cannot represent a document without lines.
EMPTY_TEXT = "\u2205"


def without_blank_lines(text: str) -> tuple[list[str], str | None]:
    """Return the lines that OSCAR can represent, and the header that lists the others, None if there are none."""
    lines = text.split("\n")
    blank = [_left_out(number, line) for number, line in enumerate(lines) if not line.strip(BLANKS)]
    if not blank:
        return lines, None
    nothing_else = "=" if len(blank) == len(lines) else ""
    return [line for line in lines if line.strip(BLANKS)] or [EMPTY_TEXT], nothing_else + ",".join(blank)


def _left_out(number: int, line: str) -> str:
    return f"{number}:{line.encode().hex()}" if line else str(number)


def with_blank_lines(text: str, header: str) -> str:
    """Return a text with the lines in a header restored; unchanged if corpusfmt did not write the header."""
    nothing_else = header.startswith("=") and text == EMPTY_TEXT
    left_out = _left_out_lines(header.removeprefix("=") if nothing_else else header)
    if left_out is None:
        return text
    numbers = [number for number, _ in left_out]
    lines = [] if nothing_else else text.split("\n")
    if numbers != sorted(set(numbers)) or numbers[0] < 0 or numbers[-1] >= len(lines) + len(numbers):
        return text
    whole: list[str] = []
    rest = iter(lines)
    for number, line in left_out:
        whole.extend(islice(rest, number - len(whole)))
        whole.append(line)
    return "\n".join([*whole, *rest])


def _left_out_lines(header: str) -> list[tuple[int, str]] | None:
    """Return number and content of each line in a header; None if corpusfmt did not write the header."""
    try:
        pairs = [entry.partition(":") for entry in header.split(",")]
        lines = [(int(number), bytes.fromhex(content).decode()) for number, _, content in pairs]
    except ValueError:
        return None
    return None if any(line.strip(BLANKS) for _, line in lines) else lines
