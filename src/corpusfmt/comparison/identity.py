"""Internal: The name of a document and the parts of it that are compared, for every format."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.formats.provenance import lasting
from corpusfmt.io.keys import digest_of
from corpusfmt.model import Document, Json

_ATTRIBUTES = "attributes"
_NOTHING = bytes(8)
_encode = msgspec.json.Encoder(order="sorted").encode


class Compared(Struct, frozen=True):
    """The compared parts of a document: 48 bytes of digests, its fields by name, and its attributes by name."""

    digests: bytes
    fields: Json
    attributes: Json


def compared(document: Document, source: str) -> Compared:
    """Return the compared parts of a document of a source.

    A document is named by source and id, or by source and text where its id is only its place. The digests are of its name
    (16 bytes), its text (16), its other fields (8) and its attributes (8). It makes no difference in which order fields are
    written, nor whether they are part of `metadata` or next to it: formats differ in that.
    """
    text = digest_of(document.text)
    identity, metadata = lasting(document)
    name = digest_of("id", source, identity) if identity is not None else digest_of("text", source, text.hex())
    fields, embedded = _fields(document, metadata)
    attributes = _attributes(document, embedded)
    return Compared(name + text + _digest(fields) + _digest(attributes), fields, attributes)


def _fields(document: Document, metadata: Json) -> tuple[Json, Json]:
    """Return all fields but id, text and source, and the attributes that are embedded."""
    named = {"added": document.added, "created": document.created}
    parts: list[Json] = [metadata, document.extra, {name: value for name, value in named.items() if value is not None}]
    fields: Json = {}
    for part in parts:
        for name, value in part.items():
            # The same name occurs twice: in `metadata`, and next to it.
            fields[f"metadata.{name}" if name in fields else name] = value
    if fields.get("metadata", document) is None:
        del fields["metadata"]
    embedded = document.attributes
    if embedded is None and isinstance(fields.get(_ATTRIBUTES), dict):
        embedded = fields.pop(_ATTRIBUTES)
    return fields, embedded or {}


def _attributes(document: Document, embedded: Json) -> Json:
    """Return embedded attributes by name, and the rows of attribute sets by the name of the set, with a slash in front."""
    if not document.attribute_rows:
        return embedded
    rows: Json = {}
    for name, text in document.attribute_rows.items():
        row: Any = msgspec.json.decode(text)
        rows[f"/{name}"] = {key: value for key, value in row.items() if key not in ("id", "source")}
    return embedded | rows


def _digest(value: Json) -> bytes:
    return blake2b(_encode(value), digest_size=8).digest() if value else _NOTHING
