"""Internal: Own headers that keep the fields of a document for which OSCAR has no place."""

from __future__ import annotations

from collections.abc import Iterable

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
