"""For formats: Strict UTF-8 and JSON, with the location of the first fault."""

from __future__ import annotations

import codecs
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import accumulate
from math import isinf
from typing import Any

import msgspec
from msgspec import Struct

#: Most levels of arrays and objects in a JSON text. Published ones have up to 17, and recursion stays far below its limit.
MAX_DEPTH = 128
#: Integers that fit in 64 bits, signed or unsigned.
INTEGER_RANGE = range(-(2**63), 2**64)

_DIGITS_OF_INTEGERS = len(str(INTEGER_RANGE.stop)) - 1
_DIGITS_OF_DOUBLES = 17
_encoder = msgspec.json.Encoder()
# No float has more digits.
_MOST_DIGITS = 767

_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_ESCAPE = f"{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}"
# A string without its end reaches to the end: nothing within it is tried again.
_BRACKET = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]'
_NUMBER = r'(?s)"(?:[^"\\]++|\\.)*+"|-?[0-9][0-9.eE+-]*'
_STRING_OR_CONSTANT = r'(?s)"(?:[^"\\]++|\\.)*+"|NaN|-?Infinity'
# A leap second, which `datetime` cannot represent: 23:59:60 in UTC, shifted by the offset of the time zone elsewhere.
_LEAP_SECOND = r"(?<=\d[T ])(\d\d(:?)(?:29|44|59)\2)60(?!\d)"


def is_date(text: str) -> bool:
    """Return whether a text is an ISO 8601 date or date and time, including a year or month alone."""
    if re.fullmatch(r"\d{4}(-\d{2})?", text):
        return text[5:] == "" or "01" <= text[5:] <= "12"
    try:
        datetime.fromisoformat(re.sub(_LEAP_SECOND, r"\g<1>59", text))
    except ValueError:
        return False
    return True


class TextFault(Struct, frozen=True):
    """A fault in bytes; `column` counts bytes from 1 within the line."""

    reason: str
    column: int


def utf8_fault(line: bytes) -> TextFault | None:
    """Return the first fault in UTF-8 (overlong forms, surrogates and truncated characters are faults)."""
    try:
        codecs.utf_8_decode(line, "strict", True)
    except UnicodeDecodeError as error:
        shown = line[error.start : max(error.end, error.start + 1)].hex(" ")
        return TextFault(f"{error.reason} (bytes {shown})", error.start + 1)
    return None


def pretty(value: object) -> bytes:
    """Return JSON for people to read, indented by two; any iterable is an array."""
    return b"".join(pretty_pieces(value))


def pretty_pieces(value: object) -> Iterator[bytes]:
    """Yield the same in pieces: the members of mappings and iterables one by one, down to the second level."""
    yield from _pretty(value, b"\n", 2)
    yield b"\n"


def _pretty(value: object, line: bytes, levels: int) -> Iterator[bytes]:
    if not levels or isinstance(value, str) or not isinstance(value, Iterable):
        encoded = msgspec.json.encode(
            value, enc_hook=lambda each: dict(each) if isinstance(each, Mapping) else list(each)
        )
        yield msgspec.json.format(encoded, indent=2).replace(b"\n", line)
        return
    before, end = (b"{", b"}") if isinstance(value, Mapping) else (b"[", b"]")
    inner = line + b"  "
    for each in value:
        if isinstance(value, Mapping):
            yield before + inner + msgspec.json.encode(each) + b": "
            yield from _pretty(value[each], inner, levels - 1)
        else:
            yield before + inner
            yield from _pretty(each, inner, levels - 1)
        before = b","
    yield line + end if before == b"," else before + end


def json_line(value: Any) -> bytes:
    """Return a value as a row of JSON Lines, in UTF-8 and with LF."""
    return _encoder.encode(value) + b"\n"


def json_lines(values: Sequence[Any]) -> bytes:
    """Return values as rows of JSON Lines."""
    return _encoder.encode_lines(values)


class JsonFault(ValueError):
    """A text is not one strict JSON value; `column` counts characters from 1, or is None if there is no single place."""

    def __init__(self, reason: str, column: int | None = None, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.column = column
        self.hint = hint


class DepthFault(JsonFault):
    """A JSON text is nested deeper than `MAX_DEPTH`, or has too many values for memory."""


class NumberFault(JsonFault):
    """A JSON text has `count` numbers that are infinite as a 64-bit float; `number` is the first."""

    def __init__(self, number: str, column: int | None, count: int) -> None:
        super().__init__(f"number `{number}` is too large for a 64-bit float", column)
        self.number = number
        self.count = count


class StrictJson(Struct, frozen=True):
    """A decoded JSON value, with faults that a lenient decoder hides.

    `duplicate_keys` are names that occur twice in one object, `inexact` numbers that 64 bits cannot represent exactly.
    """

    value: Any
    duplicate_keys: tuple[str, ...] = ()
    inexact: tuple[str, ...] = ()


#: Most values of a JSON text: every value takes 30 to 250 bytes of memory, even a short one.
MOST_VALUES = 1_000_000
#: What precedes each value of a JSON text but the first, outside of strings.
SEPARATORS = b",", b"[", b"{"
_PIECE = 256 * 1024


def has_too_many_values(data: bytes, most: int = MOST_VALUES) -> bool:
    """Return whether JSON has too many values for memory, before decoding it."""
    if len(data) <= most or sum(map(data.count, SEPARATORS)) <= most:
        return False
    # Commas within strings do not count.
    data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    values = inside = 0
    for start in range(0, len(data), _PIECE):
        pieces = data[start : start + _PIECE].split(b'"')
        outside = b"".join(pieces[inside::2])
        values += sum(map(outside.count, SEPARATORS))
        inside ^= len(pieces) % 2 == 0
    return values > most


def strict_json(line: bytes) -> StrictJson:
    """Decode a row of JSON Lines strictly by RFC 8259.

    Raises `JsonFault` for a BOM, a blank line, and as `parsed_json` does, and `UnicodeDecodeError` for bytes that are not
    UTF-8, which are another rule's subject.
    """
    text = line.decode("utf-8")
    if text.startswith("\ufeff"):
        raise JsonFault("starts with a byte order mark", 1)
    if not text.strip(" \t\r"):
        raise JsonFault("blank line")
    return parsed_json(text)


def json_object(text: str | bytes) -> dict[str, Any] | None:
    """Return the object in a JSON text, or None if `parsed_json` does not give an object."""
    try:
        value = parsed_json(text if isinstance(text, str) else text.decode()).value
    except (JsonFault, UnicodeDecodeError):
        return None
    return value if isinstance(value, dict) else None


def parsed_json(text: str, most: int = MOST_VALUES) -> StrictJson:
    """Decode a JSON text of at most `most` values strictly by RFC 8259.

    Raises `JsonFault` for NaN, Infinity, lone surrogates and raw control characters, `DepthFault` for more than
    `MAX_DEPTH` levels or too many values, and `NumberFault` for a number beyond the range of 64-bit floats.
    """
    if len(text) > most and has_too_many_values(text.encode("utf-8", "surrogatepass"), most):
        reason = f"more than {most:,} values, which do not fit into memory"
        raise DepthFault(reason, hint="write the records as JSON Lines")
    _refuse_depth(text)
    try:
        found = _decoding.decoded(text)
    except json.JSONDecodeError as error:
        raise _syntax_fault(error, text) from error
    if ("\\ud" in text or "\\uD" in text) and _has_surrogates(found.value):
        escape = re.search(_LONE_ESCAPE, text)  # much slower than to encode the strings
        if escape is not None:
            reason = "a lone surrogate escape is not a character"
            raise JsonFault(reason, escape.start() + 1, "write the character itself")
    if infinite := _decoding.infinite:
        columns = (match.start() + 1 for match in re.finditer(_NUMBER, text) if match.group() == infinite[0])
        raise NumberFault(infinite[0], next(columns, None), len(infinite))
    return found


class _Decoding(threading.local):
    """A decoder, reused because creating one takes longer than decoding a short line, with its state for one text."""

    def __init__(self) -> None:
        self._text = ""
        self._duplicates: list[str] = []
        self._inexact: list[str] = []
        self.infinite: list[str] = []
        self._decode = json.JSONDecoder(
            object_pairs_hook=self._collect,
            parse_constant=self._refuse_constant,
            parse_int=self._integer,
            parse_float=self._fraction,
        ).decode

    def decoded(self, text: str) -> StrictJson:
        """Decode a text as the standard library does; infinite numbers are searched for afterwards."""
        self._text = text
        self._duplicates, self._inexact, self.infinite = [], [], []
        value = self._decode(text)
        self._text = ""  # which may be as long as a manifest
        return StrictJson(value, tuple(self._duplicates), tuple(self._inexact))

    def _collect(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                if name in seen:
                    self._duplicates.append(name)
                seen.add(name)
        return found

    def _refuse_constant(self, name: str) -> Any:
        found = (match.start() for match in re.finditer(_STRING_OR_CONSTANT, self._text) if match.group() == name)
        raise JsonFault(f"`{name}` is not a JSON number", next(found) + 1, "write null or a number")

    def _integer(self, digits: str) -> int | float:
        if len(digits) < _DIGITS_OF_INTEGERS:
            return int(digits)
        if isinf(float(digits)):
            self.infinite.append(digits)
            return 0
        value = int(digits)
        if value not in INTEGER_RANGE:
            self._inexact.append(digits)
        return value

    def _fraction(self, digits: str) -> float:
        value = float(digits)
        if isinf(value):
            self.infinite.append(digits)
        elif value and len(digits) > _DIGITS_OF_DOUBLES + 1 and not _is_exact(digits, value):
            self._inexact.append(digits)
        return value


_decoding = _Decoding()


def _is_exact(digits: str, value: float) -> bool:
    """Return whether a float equals its digits, at the precision at which they were written."""
    written = Decimal(digits)
    significant = len(written.as_tuple().digits)
    if significant <= _DIGITS_OF_DOUBLES or written == Decimal(repr(value)):
        return True
    return written == (Decimal(value) if significant > _MOST_DIGITS else Decimal(f"{value:.{significant - 1}e}"))


#: What Python before 3.13 says where a comma precedes the end, and what that is the end of.
_AFTER_COMMA = {"}": ("Expecting property name enclosed in double quotes", "object"), "]": ("Expecting value", "array")}


def _syntax_fault(error: json.JSONDecodeError, text: str) -> JsonFault:
    expected, ended = _AFTER_COMMA.get(text[error.pos : error.pos + 1], ("", ""))
    before = text[: error.pos].rstrip(" \t\r\n")
    if error.msg == expected and before.endswith(","):
        return JsonFault(f"illegal trailing comma before end of {ended}", len(before))
    if error.msg == "Extra data":
        return JsonFault("text after the end of the JSON value", error.pos + 1)
    reason = (error.msg[:1].lower() + error.msg[1:]).removesuffix(" starting at").removesuffix(" at")
    return JsonFault(f"{reason}: the text ends here" if error.pos >= len(text.rstrip()) else reason, error.pos + 1)


# What each bracket adds to the depth, and all bytes that are neither brackets nor quotation marks.
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_PLAIN = bytes(byte for byte in range(256) if byte not in {*_STEPS, ord('"')})


def _refuse_depth(text: str) -> None:
    # Before decoding, because an interpreter in a browser has no stack for thousands of levels.
    if text.count("{") + text.count("[") <= MAX_DEPTH or _depth(text) <= MAX_DEPTH:
        return
    depth = 0
    for match in re.finditer(_BRACKET, text):
        piece = match.group()
        if piece in "{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise DepthFault(f"nested deeper than {MAX_DEPTH} levels", match.start() + 1, "flatten the value")
        elif piece in "}]":
            depth -= 1


def _depth(text: str) -> int:
    """Return how deep the brackets outside of strings are nested."""
    data = text.encode("utf-8", "surrogatepass").replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _PLAIN)
    return max(accumulate(map(_STEPS.__getitem__, b"".join(data.split(b'"')[::2]))), default=0)


def _has_surrogates(value: Any) -> bool:
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            try:
                node.encode()
            except UnicodeEncodeError:
                return True
        elif isinstance(node, dict):
            pending.extend(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return False


def json_type(value: object) -> str:
    """Return the JSON name of a value's type."""
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


def escaped(name: str) -> str:
    """Return a name as a token of a JSON pointer (RFC 6901, section 3)."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def pointer(*names: str | int) -> str:
    """Return the JSON pointer to a value."""
    return "".join(f"/{escaped(str(name))}" for name in names)


def path_to(name: str) -> tuple[str, ...]:
    """Return the names that lead to a field: one, or the steps of a JSON pointer."""
    if not name.startswith("/"):
        return (name,)
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in name[1:].split("/"))


def value_at(row: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the value of a field, None if it is absent."""
    value: Any = row.get(path[0]) if path else row
    for step in path[1:]:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def values_at(rows: Iterable[Mapping[str, Any]], path: Sequence[str]) -> list[Any]:
    """Return the values of a field in rows, as `value_at` does."""
    if len(path) == 1:  # most are, and the function would be called for each
        (name,) = path
        return [row.get(name) for row in rows]
    return [value_at(row, path) for row in rows]


def has_at(row: Mapping[str, Any], path: Sequence[str]) -> bool:
    """Return whether a row has a field, which may be null."""
    above = value_at(row, path[:-1])
    return isinstance(above, Mapping) and path[-1] in above
