"""Internal: Decode blocks of JSON Lines in C, and find the duplicate names in objects that such a decoder hides.

They are found by counting. In strict JSON every unescaped quotation mark opens or closes a string, so the bytes of a
block show its number of strings, and the decoded values show how many were kept. Of a duplicate name only one is kept. If
the two counts agree for a block, they agree for each of its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, NewType

import msgspec
from msgspec import Meta

from corpusfmt.io.scan import count_quotes
from corpusfmt.io.text import MOST_VALUES, StrictJson, has_too_many_values, strict_json

#: Integers that all readers accept; those up to 2**64 - 1 are valid, too, but take the slow path through the rules.
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_LEVELS = 6
#: Errors of decoding.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_OPEN, _CLOSE = b"{}"
_BACKSLASH = ord("\\")

#: A text as a JSON string, as msgspec encodes it.
EncodedText = msgspec.Raw
#: Decodes a JSON string.
decode_text = msgspec.json.Decoder(str).decode
_encoder = msgspec.json.Encoder()


def _any_json(levels: int) -> Any:
    """Return the type of any JSON value of this many levels, without integers beyond 64 bits."""
    value: Any = str | Integer | float | bool | None
    # A new type hashes by its identity, others by all that they consist of, again and again.
    new_type: Any = NewType
    for _ in range(levels):
        inner: Any = new_type("inner", value)
        value = str | Integer | float | bool | list[inner] | dict[str, inner] | None
    return value


#: Any value of a few levels.
AnyJson: Any = _any_json(_LEVELS)
#: Decodes a JSON value of a few levels, keeping the last of duplicate names; raises one of `UNDECODABLE` for any doubt.
decode_plain = msgspec.json.Decoder(AnyJson).decode
#: Decodes lines of objects in the same way, for `decoded_lines`.
decode_objects = msgspec.json.Decoder(dict[str, AnyJson]).decode_lines


_DIGITS_ALIKE = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
_MORE_THAN_A_FLOAT_KEEPS = b"0" * 18


def may_lose_digits(data: bytes) -> bool:
    """Return whether a number has more digits than a decoder keeps, or a text has an unusually long run of them."""
    return _MORE_THAN_A_FLOAT_KEEPS in data.translate(_DIGITS_ALIKE, b".")


def strict_row(line: bytes) -> StrictJson:
    """Return what `strict_json` does, decoded in C where nothing is in doubt. Raises as that does."""
    # A longer one may have too many values, and what it decodes to would be in memory twice.
    if len(line) <= MOST_VALUES and not may_lose_digits(line):
        try:
            value = decode_plain(line)
            if count_quotes(_encoder.encode(value)) == count_quotes(line):
                return StrictJson(value)
        except UNDECODABLE:
            pass
    return strict_json(line)


def decoded_value(data: bytes) -> Any:
    """Return the JSON value of a row, decoded in C where nothing is in doubt. Raises as `strict_json` does."""
    try:
        if not has_too_many_values(data):
            return decode_plain(data)
    except UNDECODABLE:
        pass
    return strict_json(data).value


def decoded_lines(decode_lines: Callable[[bytes], list[Any]], data: bytes) -> list[Any] | None:
    """Return one value per line, or None if any line is not exactly one object."""
    if has_too_many_values(data):
        return None
    try:
        rows = decode_lines(data)
    except UNDECODABLE:
        return None
    return rows if _one_each_line(data, len(rows)) else None


def decoded_text(text: str | EncodedText) -> str:
    """Return a text that may be encoded."""
    return text if isinstance(text, str) else decode_text(text)


def json_string_around(data: bytes, place: int) -> bytes:
    """Return the JSON string that a place is inside of, with its quotation marks."""
    start, end = data.rfind(b'"', 0, place), data.find(b'"', place)
    while is_escaped(data, start):
        start = data.rfind(b'"', 0, start)
    while is_escaped(data, end):
        end = data.find(b'"', end + 1)
    return data[start : end + 1]


def is_escaped(text: bytes, place: int) -> bool:
    """Return whether an odd number of backslashes precedes a place."""
    first = place
    while text[first - 1] == _BACKSLASH:
        first -= 1
    return (place - first) % 2 == 1


def _one_each_line(data: bytes, values: int) -> bool:
    """Return whether the block's JSON objects, `values` in number, are one per line, with nothing else on it.

    Between two objects there are a closing brace, an LF and an opening brace, a sequence that cannot occur inside one. If
    every LF is in such a sequence, and their number fits, each line is one object.
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


_CSV_NAME = re.compile(r".*\.(csv|tsv)(?:\.(?:gz|zst|zstd|xz|bz2|lz4))?", re.DOTALL)


def csv_separator(name: str) -> str:
    """Return what separates the fields in a file of this name, if it is CSV or TSV; else an empty string."""
    match = _CSV_NAME.fullmatch(name)
    return {"csv": ",", "tsv": "\t"}[match[1]] if match else ""


def rows_before(path: str) -> int:
    """Return how many rows of a file are before those of its data: one is the header of CSV."""
    return 1 if csv_separator(path) else 0
