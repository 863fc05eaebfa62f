"""Internal: What a row was before it became a document, so that a conversion back gives the same row.

`Document.metadata` contains it as JSON text, as `provenance` does for records of OSCAR.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.text import json_object
from corpusfmt.model import Document, Json

#: The name in `Document.metadata`.
ROW = "corpusfmt_row"


class Origin(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The names of text and id in the row; what the row does not have; and where its other fields were.

    `id` is None if the row has no field for it. `number`: the id is an integer. `made` are names of the document and of its
    metadata that are not in the row. `apart`: the row has an object `metadata`, and other fields next to it. `displaced`
    are fields, and in `covered` entries of `metadata`, whose place in the document is taken.
    """

    text: str = "text"
    id: str | None = None
    number: bool = False
    made: tuple[str, ...] = ()
    apart: bool = False
    displaced: Json = {}
    covered: Json = {}


_IN_METADATA = frozenset({"url", "language"})
#: The origin of a row that already is as documents are written.
PLAIN = Origin(id="id", apart=True)


def marked(origin: Origin) -> str:
    """Return the entry of the metadata."""
    return msgspec.json.encode(origin).decode()


def restored(document: Document) -> Json:
    """Return the row that became a document, with everything that was added since; else the document as a row."""
    origin = _origin_of(document)
    if origin is None:
        return fields_of(document)
    row = _Unique()
    if origin.id is not None:
        row.add({origin.id: _number(document.id) if origin.number else document.id})
    row.add({origin.text: document.text})
    named = {"source": document.source, "added": document.added, "created": document.created}
    row.add({name: value for name, value in named.items() if value is not None and name not in origin.made})
    leave_out = {ROW, SYNTHETIC, *_IN_METADATA.intersection(origin.made)}
    rest = {name: value for name, value in (document.metadata or {}).items() if name not in leave_out}
    rest |= origin.covered
    row.add({"metadata": rest} if origin.apart else rest)
    if document.attributes is not None:
        row.add({"attributes": document.attributes})
    row.add(document.extra)
    row.add(origin.displaced)
    return row.fields if row.is_whole else fields_of(document)


def _number(text: str) -> int | str:
    """Return an id that was an integer; it remains a string if it no longer looks like one."""
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 4000 else text


def _origin_of(document: Document) -> Origin | None:
    text = (document.metadata or {}).get(ROW)
    try:
        return msgspec.convert(json_object(text), Origin) if isinstance(text, str) else None
    except msgspec.ValidationError:
        return None


class _Unique:
    """Fields of a row; it is not whole once a name occurs twice, which would lose a value."""

    def __init__(self) -> None:
        self.fields: Json = {}
        self.is_whole = True

    def add(self, fields: Json) -> None:
        self.is_whole = self.is_whole and self.fields.keys().isdisjoint(fields)
        self.fields |= fields
