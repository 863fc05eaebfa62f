"""Internal: Fast accept: decide in a few vectorised steps that a block of rows is certainly clean.

A decoder in C reads the values; names that occur twice in one object, and unexpected names, are found by
counting strings (`io.jsonlines`). Since every string is then decoded, every string is strict UTF-8.

Other blocks may still be correct: the rules judge them, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from corpusfmt.formats.dolma.rows import is_timestamp
from corpusfmt.io.jsonlines import AnyJson, Integer, decode_objects, decoded_lines
from corpusfmt.io.scan import count_quotes
from corpusfmt.model import Json

_Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Span(Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    start: _Offset
    end: _Offset
    score: Integer | float


_Attribute: Any = list[_Span] | str | Integer | float | bool | dict[str, AnyJson]


_AttributesRow: Any = msgspec.defstruct(
    "_AttributesRow",
    [("id", str), ("attributes", dict[str, _Attribute]), ("source", str | UnsetType, UNSET)],
    gc=False,
)

_decode_attributes = msgspec.json.Decoder(_AttributesRow).decode_lines
_encode = msgspec.json.Encoder().encode


class Values(Struct):
    """What pairs rows, a column each; None where a row lacks it.

    `sizes` are the lengths of texts in code points; of attributes, what a text must have, the greatest end of each row's spans,
    or `UNCLEAR` if they need a closer look.
    """

    ids: list[str | None] = []
    sources: list[Any] = []
    sizes: list[int] = []

    def extend(self, others: Values) -> None:
        self.ids += others.ids
        self.sources += others.sources
        self.sizes += others.sizes


class CleanDocuments(Struct, frozen=True):
    """Rows of documents on which no rule can fire. The texts are not in the rows, but in a column."""

    rows: list[Json]
    ids: list[str]
    sources: list[str]
    texts: list[str]


class CleanAttributes(Struct, frozen=True):
    """Rows of attributes on which only rules on spans can fire.

    `shapes` has the names of attributes that occur together in consecutive rows, each with the first of these rows (from 0).
    """

    values: Values
    shapes: list[tuple[int, tuple[str, ...]]]


UNCLEAR = 1 << 63


def clean_documents(data: bytes) -> CleanDocuments | None:
    """Return the rows of a block of whole lines, or None if a rule may fire."""
    rows = decoded_lines(decode_objects, data)
    if rows is None:
        return None
    try:
        texts = [row.pop("text") for row in rows]
        ids = [row["id"] for row in rows]
        sources = [row["source"] for row in rows]
    except KeyError:
        return None
    if not (_all_of(str, texts) and _all_of(str, ids) and _all_of(str, sources) and all(ids)):
        return None
    if not all(accepts([row[name] for row in rows if name in row]) for name, accepts in _OPTIONAL_FIELDS.items()):
        return None
    quotes_of_texts = 4 * len(rows)  # `"text"` and its value
    if count_quotes(data) != count_quotes(_encode(rows)) + quotes_of_texts:
        return None
    return CleanDocuments(rows, ids, sources, texts)


def clean_attributes(data: bytes) -> CleanAttributes | None:
    """Return the values that pair a block of whole lines, or None if a rule may fire."""
    rows = decoded_lines(_decode_attributes, data)
    if rows is None:
        return None
    strings = 0
    reaches = []
    for row in rows:
        reach = 0
        for value in row.attributes.values():
            if type(value) is list:
                previous = 0
                for span in value:
                    start = span.start
                    if start < previous or span.end <= start:
                        reach = UNCLEAR
                    previous = span.end
                if previous > reach:  # noqa: PLR1730 - `max` costs a call for each attribute
                    reach = previous
            elif type(value) is str:
                strings += 1
            elif type(value) is dict:
                strings += count_quotes(_encode(value)) // 2
        reaches.append(reach)
    sources = [None if row.source is UNSET else row.source for row in rows]
    keys = [tuple(row.attributes) for row in rows]
    firsts = [row for row, (names, before) in enumerate(zip(keys, [None, *keys], strict=False)) if names != before]
    strings += 3 * len(rows) + 2 * (len(rows) - sources.count(None)) + sum(map(len, keys))
    if count_quotes(data) != 2 * strings:
        return None
    return CleanAttributes(Values([row.id for row in rows], sources, reaches), [(row, keys[row]) for row in firsts])


def _all_of(kind: type, values: list[Any]) -> bool:
    return set(map(type, values)) <= {kind}


def _are_timestamps(values: list[Any]) -> bool:
    return _all_of(str, values) and all(map(is_timestamp, values))


def _are_versions(values: list[Any]) -> bool:
    return set(map(type, values)) <= {str, type(None)}


def _are_objects(values: list[Any]) -> bool:
    return _all_of(dict, values)


_OPTIONAL_FIELDS: dict[str, Callable[[list[Any]], bool]] = {
    "added": _are_timestamps,
    "created": _are_timestamps,
    "version": _are_versions,
    "metadata": _are_objects,
    "attributes": _are_objects,
}
