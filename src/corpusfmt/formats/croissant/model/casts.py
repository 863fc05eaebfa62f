"""Internal: Casts to data types: nothing is truncated, rounded or guessed. A cast raises `ValueError` for other values.

Values are JSON values or bytes; dates and times stay ISO 8601 text. None means no value, of any type.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from math import isinf
from typing import Any

from corpusfmt.formats.croissant.model.arrays import ArrayShape, shape_fault, shown_shape
from corpusfmt.formats.croissant.model.wording import clip
from corpusfmt.io.jsonlines import UNDECODABLE, decode_plain
from corpusfmt.io.text import JsonFault, NumberFault, is_date, parsed_json
from corpusfmt.wording import plural

Cast = Callable[[Any], Any]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_WHOLE = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?")
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_SIDES = 4

#: Why a value does not have a type.
Reason = str | NumberFault
#: How the reason ends if the field should be an array.
NO_ARRAY = "but the field is not an array"


def _fault(value: Any, wanted: str) -> ValueError:
    return ValueError(
        f"`{clip(value) if not isinstance(value, bytes) else f'{len(value):,} bytes'}`, expected {wanted}"
    )


def _text_of(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 from byte {error.start} on, expected text") from error


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises `JsonFault`, and `UnicodeDecodeError` for bytes that are not UTF-8."""
    with suppress(*UNDECODABLE):
        return decode_plain(text)
    return parsed_json(text if isinstance(text, str) else text.decode()).value


def to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return _text_of(value)
    if isinstance(value, list | dict):
        raise _fault(value, "text")
    return json.dumps(value)


def to_boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if (text := _stripped(value).lower()) not in _BOOLEANS:
        raise _fault(value, "a boolean")
    return _BOOLEANS[text]


def to_integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    whole = _WHOLE.fullmatch(text := _stripped(value))
    if whole is None:
        raise _fault(value, "an integer")
    _in_range(text)
    return int(whole.group(1))


def _in_range(digits: str) -> float:
    """Return the number in digits. Raises `NumberFault` if it exceeds the range of floats."""
    value = float(digits)
    if isinf(value):
        raise NumberFault(digits, None, 1)
    return value


def _integer_of(bits: int, *, signed: bool) -> Cast:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def cast(value: Any) -> int:
        found = to_integer(value)
        if not low <= found <= high:
            raise _fault(value, f"an integer from {low} to {high}")
        return found

    return cast


def to_float(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if _NUMBER.fullmatch(text := _stripped(value)):
        return _in_range(text)
    if not _NO_NUMBER.fullmatch(text):
        raise _fault(value, "a number")
    return float(text)


def _float_of(code: str, bits: int) -> Cast:
    def cast(value: Any) -> float:
        found = to_float(value)
        try:
            struct.pack(code, found)
        except OverflowError:
            raise _fault(value, f"a number of {bits} bits") from None
        return found

    return cast


def to_number(value: Any) -> int | float:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return to_integer(value) if _INTEGER.fullmatch(_stripped(value)) else to_float(value)


def _text_that(fits: Callable[[str], object], wanted: str) -> Cast:
    """Return a cast to text of a form, without the white space around it."""

    def cast(value: Any) -> str:
        if not fits(text := _stripped(value)):
            raise _fault(value, wanted)
        return text

    return cast


to_date = _text_that(is_date, "an ISO 8601 date")
to_time = _text_that(_TIME.fullmatch, "an ISO 8601 time")
to_url = _text_that(re.compile(r"\S+").fullmatch, "a URL")


def to_box(value: Any) -> list[float]:
    if isinstance(value, str | bytes):
        value = [part for part in re.split(r"[\s,;]+", _stripped(value).strip("[]()")) if part]
    if not isinstance(value, list) or len(value) != _SIDES:
        raise _fault(value, "a bounding box of 4 numbers")
    return [to_float(each) for each in value]


def unchanged(value: Any) -> Any:
    return value


def _stripped(value: Any) -> str:
    """Return text without the white space around it, "" for any other value."""
    if isinstance(value, bytes):
        value = _text_of(value)
    return value.strip(" \t\r\n") if isinstance(value, str) else ""


#: The cast of each type; other types leave values unchanged.
CASTS: dict[str, Cast] = {
    "sc:Boolean": to_boolean,
    "sc:Integer": to_integer,
    "sc:Float": to_float,
    "sc:Number": to_number,
    "sc:Date": to_date,
    "sc:DateTime": to_date,
    "sc:Time": to_time,
    "sc:Text": to_text,
    "sc:String": to_text,
    "sc:URL": to_url,
    "cr:BoundingBox": to_box,
    "cr:Float16": _float_of("<e", 16),
    "cr:Float32": _float_of("<f", 32),
    "cr:Float64": to_float,
    **{f"cr:Int{bits}": _integer_of(bits, signed=True) for bits in (8, 16, 32, 64)},
    **{f"cr:UInt{bits}": _integer_of(bits, signed=False) for bits in (8, 16, 32, 64)},
}

#: The bits of numbers with a fraction.
FLOAT_BITS = {CASTS[f"cr:Float{bits}"]: bits for bits in (16, 32, 64)}
DATES = frozenset({"sc:Date", "sc:DateTime"})
NUMBERS = frozenset({"sc:Integer", "sc:Float", "sc:Number"})

# Letters of CLDR date patterns and their strptime equivalents; longer runs first.
_CLDR = {
    "yyyy": "%Y", "y": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%m", "dd": "%d", "d": "%d",
    "HH": "%H", "H": "%H", "hh": "%I", "h": "%I", "mm": "%M", "m": "%M", "ss": "%S", "s": "%S", "a": "%p",
    "EEEE": "%A", "EEE": "%a", "E": "%a", "Z": "%z", "ZZZZZ": "%z", "xxx": "%z", "XXX": "%z", "DDD": "%j",
    **{"S" * digits: "%f" for digits in range(1, 7)},
}  # fmt: skip
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']")
_TIMES = re.compile(r"%[HIMSpfzZcX]")


def date_pattern(pattern: str) -> str | None:
    """Return a CLDR or strftime date pattern in the form for strptime; None for an unsupported one."""
    if "%" in pattern:
        return pattern
    pieces = []
    position = 0
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        if match.start() != position or (piece[0].isalpha() and piece not in _CLDR):
            return None
        position = match.end()
        if piece[0] == "'":
            piece = (match.group(1).replace("''", "'") or "'").replace("%", "%%")
        pieces.append(_CLDR.get(match.group(), piece))
    return "".join(pieces) if position == len(pattern) else None


def date_in(pattern: str) -> Cast:
    """Return a cast for dates in a strptime pattern to ISO 8601 text."""
    has_time = _TIMES.search(pattern) is not None

    def cast(value: Any) -> str:
        try:
            found = datetime.strptime(_stripped(value), pattern)  # noqa: DTZ007 - a zone is kept where the text has one
        except ValueError:
            raise _fault(value, f"a date in the format `{pattern}`") from None
        return found.isoformat() if has_time else found.date().isoformat()

    return cast


def grouped(cast: Cast) -> Cast:
    """Return a cast for numbers with commas as thousands separators."""
    return lambda value: cast(value.replace(",", "")) if isinstance(value, str) else cast(value)


def one(cast: Cast, value: Any) -> Any:
    """Cast a single value."""
    if isinstance(value, list) and cast not in (to_box, unchanged):
        raise ValueError(f"a list of {plural(len(value), 'value')}, {NO_ARRAY}")
    return cast(value)


def many(cast: Cast, value: Any) -> list[Any]:
    """Cast each value of a list; text may be a JSON list, and any other value counts as a list of one."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json_value(value)
        except NumberFault:
            raise
        except JsonFault:
            pass
    values = value if isinstance(value, list) else [value]
    return [None if each is None else cast(each) for each in values]


def shaped(shape: ArrayShape, cast: Cast, value: Any, *, may_be_flat: bool = False) -> list[Any]:
    """Cast each value of a list with a given shape; lists are read as in `many`."""
    found = many(unchanged, value)
    fault = shape_fault(found, shape, may_be_flat=may_be_flat)
    if fault is not None:
        raise ValueError(f"a list that {fault} (`arrayShape` {shown_shape(shape)})")
    return _cast_within(cast, found)


def _cast_within(cast: Cast, value: list[Any]) -> list[Any]:
    return [
        None if each is None else _cast_within(cast, each) if isinstance(each, list) else cast(each) for each in value
    ]


def cast_all(
    cast: Cast, values: Sequence[Any], *, repeated: bool, shape: ArrayShape | None = None, may_be_flat: bool = False
) -> tuple[list[Any], dict[int, Reason]]:
    """Return the cast values of a column, and why others cannot be cast, by index."""
    how = partial(shaped, shape, may_be_flat=may_be_flat) if shape is not None else many if repeated else one
    found: list[Any] = []
    faults: dict[int, Reason] = {}
    for index, value in enumerate(values):
        try:
            found.append(None if value is None else how(cast, value))
        except ValueError as error:
            # Without the traceback, which would keep all values of the column.
            faults[index] = error.with_traceback(None) if isinstance(error, NumberFault) else str(error)
            found.append(None)
    return found, faults
