"""Internal: Blocks of JSON Lines decoded by a decoder in C, and what such a decoder hides: names that stand twice
in one object.

They are found by counting: in strict JSON every quotation mark that no backslash escapes opens or closes a string, so the
bytes of a block tell how many strings it has, and what was decoded tells how many were kept. A name that stood twice was
kept once: if the two counts agree for a block, they agree for each of its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from corpusfmt.io.text import has_too_many_values

#: What all readers agree on; integers up to 2**64 - 1 are fine as well, and pass by way of the rules.
Integer = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
_LEVELS = 6
#: What decoding raises for what it does not take.
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_OPEN, _CLOSE = b"{}"


def _any_json(levels: int) -> Any:
    """Return the type of any JSON value of so many levels, without integers beyond 64 bits."""
    value: Any = str | Integer | float | bool | None
    for _ in range(levels):
        value = str | Integer | float | bool | list[value] | dict[str, value] | None
    return value


#: Any value of a few levels.
AnyJson: Any = _any_json(_LEVELS)
#: Decodes a JSON value of a few levels with the last of equal names; raises one of `UNDECODABLE` for others, and for any doubt.
decode_plain = msgspec.json.Decoder(AnyJson).decode


def decoded_lines(decode_lines: Callable[[bytes], list[Any]], data: bytes) -> list[Any] | None:
    """Return one value for each line, or None where a line is not just one object."""
    if has_too_many_values(data):
        return None
    try:
        rows = decode_lines(data)
    except UNDECODABLE:
        return None
    return rows if _one_each_line(data, len(rows)) else None


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
