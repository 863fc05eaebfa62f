"""Fast accept: tell in a few vectorised steps that a block of rows is clean beyond doubt.

A decoder in C reads the values, but hides names that stand twice in one object. They are found by counting: in strict
JSON every quotation mark that no backslash escapes opens or closes a string, so the bytes of a block tell how many
strings it has, and what was decoded tells how many were kept. A name that stood twice was kept once, a name that no one
asked for was not kept at all: if the two counts agree for a block, they agree for each of its rows. As every string was
then decoded, every string is strict UTF-8.

Whatever is not accepted here is not wrong yet: it is judged by the rules, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from corpusfmt.formats.dolma.rows import is_timestamp
from corpusfmt.model import Json

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# What all readers agree on; integers up to 2**64 - 1 are fine as well, and pass by way of the rules.
_Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_Offset = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_LEVELS = 6


class _Span(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    start: _Offset
    end: _Offset
    score: _Integer | float


def _any_json(levels: int) -> Any:
    """Return the type of any JSON value of so many levels, without integers beyond 64 bits."""
    value: Any = str | _Integer | float | bool | None
    for _ in range(levels):
        value = str | _Integer | float | bool | list[value] | dict[str, value] | None
    return value


_Value: Any = _any_json(_LEVELS)
_Attribute: Any = list[_Span] | str | _Integer | float | bool | dict[str, _Value]


_AttributesRow: Any = msgspec.defstruct(
    "_AttributesRow",
    [("id", str), ("attributes", dict[str, _Attribute]), ("source", str | UnsetType, UNSET)],
    gc=False,
)

_decode_documents = msgspec.json.Decoder(dict[str, _Value]).decode_lines
_decode_attributes = msgspec.json.Decoder(_AttributesRow).decode_lines
_encode = msgspec.json.Encoder().encode
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = b'"\\{}'
_LONGEST_RUN_OF_BACKSLASHES = 64
_UNCOUNTED = -1


@dataclass(frozen=True, slots=True)
class CleanDocuments:
    """Rows of documents on which no rule can fire. The rows have lost their texts, which stand in a column."""

    rows: list[Json]
    ids: list[str]
    sources: list[str]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class CleanAttributes:
    """Rows of attributes on which no rule can fire but those about spans.

    `reaches` has the greatest end of each row's spans, `UNCLEAR` where a look at them is needed.
    """

    ids: list[str]
    sources: list[str | None]
    reaches: list[int]
    keys: list[tuple[str, ...]]


UNCLEAR = 1 << 63


def clean_documents(data: bytes) -> CleanDocuments | None:
    """Return the rows of a block of whole lines, or None where a rule may have something to say."""
    decoded = _decoded(_decode_documents, data)
    if decoded is None:
        return None
    rows, codes = decoded
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
    if _quotes(codes) != _quotes(_codes(_encode(rows))) + quotes_of_texts:
        return None
    return CleanDocuments(rows, ids, sources, texts)


def clean_attributes(data: bytes) -> CleanAttributes | None:
    """Return what pairing needs of a block of whole lines, or None where a rule may have something to say."""
    decoded = _decoded(_decode_attributes, data)
    if decoded is None:
        return None
    rows, codes = decoded
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
                strings += _quotes(_codes(_encode(value))) // 2
        reaches.append(reach)
    sources = [None if row.source is UNSET else row.source for row in rows]
    keys = [tuple(row.attributes) for row in rows]
    strings += 3 * len(rows) + 2 * (len(rows) - sources.count(None)) + sum(map(len, keys))
    if _quotes(codes) != 2 * strings:
        return None
    return CleanAttributes([row.id for row in rows], sources, reaches, keys)


def _decoded(decode_lines: Callable[[bytes], list[Any]], data: bytes) -> tuple[list[Any], npt.NDArray[np.uint8]] | None:
    """Return one value for each line and the block as an array, or None where a line is not just one object."""
    try:
        rows = decode_lines(data)
    except _UNDECODABLE:
        return None
    return (rows, _codes(data)) if _one_each_line(data, len(rows)) else None


def _one_each_line(data: bytes, values: int) -> bool:
    """Tell whether so many JSON objects stand on a line each, with nothing else on it.

    Between two values stands a closing brace, an LF and an opening one; within a value these three cannot follow each
    other. So where every LF stands like this, and there are as many as there are borders, each line is one value.
    """
    if not data.startswith(b"{") or not data.endswith((b"}", b"}\n")):
        return False
    lines, end, last = 1, data.find(b"\n"), len(data) - 1
    while 0 <= end < last:
        if data[end - 1] != _CLOSE or data[end + 1] != _OPEN:
            return False
        lines += 1
        end = data.find(b"\n", end + 1)
    return lines == values


def _codes(data: bytes) -> npt.NDArray[np.uint8]:
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    return np.frombuffer(data, np.uint8)


def _quotes(codes: npt.NDArray[np.uint8]) -> int:
    """Return how many quotation marks of valid JSON are not escaped, which is twice the number of its strings."""
    quotes = (codes == _QUOTE).nonzero()[0]
    count = len(quotes)
    # A quotation mark is escaped where an odd number of backslashes stands before it.
    behind = quotes[codes[quotes - 1] == _BACKSLASH]
    for run in range(1, _LONGEST_RUN_OF_BACKSLASHES):
        if not len(behind):
            return count
        count += -len(behind) if run % 2 else len(behind)
        behind = behind[codes[behind - run - 1] == _BACKSLASH]
    return _UNCOUNTED


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
