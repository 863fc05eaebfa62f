"""Internal: Write Dolma documents and attribute sets: one JSON object a line, gzip, the files of one part in step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from corpusfmt.formats.dolma.layout import ATTRIBUTES, DOCUMENTS
from corpusfmt.formats.parts import EncodedRows, Item, Loaded, Writer
from corpusfmt.formats.rows.writing import Row, RowsWriter, fields_of, names, text_bytes
from corpusfmt.model import Document


def _item(document: Document, *, sets: Sequence[str]) -> Item[Row]:
    rows = document.attribute_rows
    return Item(Row(fields_of(document), [rows[name] for name in sets] if sets else ()))


def _paths(stem: str, part: int | None, *, sets: Sequence[str]) -> list[str]:
    """Return the paths of one part: documents, then each attribute set."""
    (name,) = names(stem, part)
    return [f"{DOCUMENTS}/{name}", *(f"{ATTRIBUTES}/{each}/{name}" for each in sets)]


def _with_sets(sets: Sequence[str]) -> Writer[Row]:
    with_names = replace(DOLMA, item=partial(_item, sets=sets), names=partial(_paths, sets=sets), batch=None)
    return replace(with_names, folder=lambda _: "")


def _loaded(path: str) -> Loaded | None:
    top, _, rest = path.partition("/")
    if top == DOCUMENTS:
        return Loaded("", DOCUMENTS, "a document")
    if top != ATTRIBUTES:
        return None
    name = rest.partition("/")[0]
    return Loaded(f"attributes-{name}", f"{ATTRIBUTES}/{name}", f"the attributes `{name}` of a document, by its id")


def _key(document: Document) -> tuple[str, str]:
    return document.source or "", document.id


DOLMA = Writer(
    item=partial(_item, sets=()),
    open_part=RowsWriter,
    names=names,
    by_language=False,
    folder=lambda name: f"{DOCUMENTS}/{name}" if name else DOCUMENTS,
    loaded=_loaded,
    with_sets=_with_sets,
    key=_key,
    text_bytes=text_bytes,
    batch=EncodedRows,
)
