"""Documents as rows of JSON Lines: as Dolma has them, and as those are kept that a conversion rejects."""

from __future__ import annotations

from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json


def fields_of(document: Document) -> Json:
    """Return a document as a row: the named fields first, then whatever else the document came with."""
    row: Json = {"id": document.id, "text": document.text}
    if document.source is not None:
        row["source"] = document.source
    if document.added is not None:
        row["added"] = document.added
    if document.created is not None:
        row["created"] = document.created
    if document.metadata is not None:
        row["metadata"] = document.metadata
    if document.attributes is not None:
        row["attributes"] = document.attributes
    row.update(document.extra)
    return row


def attributes_row(document: Document, attributes: Json) -> str:
    """Return a row of an attribute set about a document, as `Document.attribute_rows` holds it."""
    who = {"id": document.id} if document.source is None else {"source": document.source, "id": document.id}
    return json_line(who | {"attributes": attributes})[:-1].decode()
