"""UTF-8 and JSON judged to the letter, with the place of the first fault."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class TextFault:
    """Where bytes stop to be what they should be: `column` counts bytes from 1 within the line."""

    reason: str
    column: int


def utf8_fault(line: bytes) -> TextFault | None:
    """Return the first place where a line is not strict UTF-8 (overlong forms, surrogates and cut tails are not)."""
    try:
        codecs.utf_8_decode(line, "strict", True)
    except UnicodeDecodeError as error:
        shown = line[error.start : max(error.end, error.start + 1)].hex(" ")
        return TextFault(f"{error.reason} (bytes {shown})", error.start + 1)
    return None


def json_line(value: Any) -> bytes:
    """Return a value as one line of JSON Lines, UTF-8, its LF included."""
    try:
        return msgspec.json.encode(value) + b"\n"
    except OverflowError:  # integers beyond 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class JsonFault(ValueError):
    """A line is not one strict JSON value; `column` counts characters from 1, None where no single place is at fault."""

    def __init__(self, reason: str, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column


@dataclass(frozen=True, slots=True)
class StrictJson:
    """A decoded JSON value, with what a lenient decoder would have hidden: names that stand twice in one object."""

    value: Any
    duplicate_keys: tuple[str, ...] = ()


#: What one JSON text may hold: every value takes some 30 to 250 bytes of memory, however short it is written.
MOST_VALUES = 1_000_000
_SEPARATORS = b",", b"[", b"{"
_PIECE = 256 * 1024


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Tell whether JSON holds more values than there is memory for: to be asked before it is decoded."""
    if len(data) <= most or sum(map(data.count, _SEPARATORS)) <= most:
        return False
    # Text is full of commas: those within strings do not count.
    data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    values = inside = 0
    for start in range(0, len(data), _PIECE):
        pieces = data[start : start + _PIECE].split(b'"')
        outside = b"".join(pieces[inside::2])
        values += sum(map(outside.count, _SEPARATORS))
        inside ^= len(pieces) % 2 == 0
    return values > most


def strict_json(line: bytes) -> StrictJson:
    """Decode one JSON Lines line to the letter of RFC 8259; raise `JsonFault` for what JSON is not.

    Rejected: a BOM, a blank line, NaN and Infinity, lone surrogates, raw control characters, nesting beyond what the
    decoder can follow, more values than there is memory for. Bytes that are not UTF-8 raise `UnicodeDecodeError`: they are another rule's business.
    """
    text = line.decode("utf-8")
    if has_too_many_values(line):
        raise JsonFault(f"it holds more than {MOST_VALUES} values, which would have to be in memory at once")
    if text.startswith("\ufeff"):
        raise JsonFault("starts with a byte order mark", 1)
    if not text.strip(" \t\r"):
        raise JsonFault("blank line")
    duplicates: list[str] = []

    def collect(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    duplicates.append(name)
                seen.add(name)
        return found

    def refuse_constant(name: str) -> Any:
        raise JsonFault(f"{name} is no JSON number")

    try:
        value = json.loads(text, object_pairs_hook=collect, parse_constant=refuse_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise JsonFault(error.msg, error.pos + 1) from error
    except RecursionError as error:
        raise JsonFault("nested too deep to be decoded") from error
    surrogate = _first_lone_surrogate(text, value)
    if surrogate is not None:
        raise JsonFault(*surrogate)
    return StrictJson(value, tuple(duplicates))


def _integer(digits: str) -> int | float:
    # Python refuses to convert integers of more than some thousand digits; as a number it is beyond any reader anyway.
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _first_lone_surrogate(text: str, value: Any) -> tuple[str, int | None] | None:
    if "\\u" not in text and "\\U" not in text:
        return None
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            if _LONE_SURROGATE.search(node):
                where = re.search(r"\\u[dD][89a-fA-F]", text)
                return "a lone surrogate escape is no character", where.start() + 1 if where else None
        elif isinstance(node, dict):
            pending.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return None


def json_type(value: object) -> str:
    """Return the name that JSON has for the type of a value."""
    if value is None:
        return "null"
    for types, name in _JSON_TYPES:
        if isinstance(value, types):
            return name
    raise TypeError(type(value))


_JSON_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    (str, "a string"),
    ((int, float), "a number"),
    (list, "an array"),
    (dict, "an object"),
)
