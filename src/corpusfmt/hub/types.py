"""Internal: The types of columns as `datasets` infers them, and what becomes of values of other types."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from corpusfmt.hub.rules import KEY_MISSING, READ_AS_TIME, TYPE_DIFFERS, VALUE_CHANGED
from corpusfmt.io.loading import (
    BIG,
    BOOL,
    DECIMALS,
    FLOAT,
    FRACTION,
    HUGE,
    INEXACT,
    INT,
    LIST,
    LONG,
    NUMBERS,
    OBJECT,
    OFFSET,
    QUOTING,
    RAGGED,
    TEXT,
    TEXTS,
    TIME,
    TIMES,
    WIDE,
    YEAR_0,
    Seen,
)
from corpusfmt.model import FindingType


class Type(Struct, frozen=True):
    """The type of a column: a name of Arrow, `json`, `list` with `items`, `struct` with `members`, or `other`.

    A list may have a fixed `length`, and `class_label` has the names of its numbers.
    """

    name: str
    items: Type | None = None
    members: Mapping[str, Type] = {}
    length: int = -1
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.items is not None:
            return f"list<{self.items}>"
        return f"struct<{', '.join(self.members)}>" if self.name == "struct" else self.name

    @property
    def has_json(self) -> bool:
        return self.name == "json" or any(each.has_json for each in self._inner)

    @property
    def is_narrow(self) -> bool:
        """Whether values of the right kind may not fit."""
        own = self.length >= 0 or self.name in {*_RANGES, *_PACKED, "class_label"} or _is_finer(self.name)
        return own or any(each.is_narrow for each in self._inner)

    @property
    def _inner(self) -> list[Type]:
        return [*self.members.values(), *([self.items] if self.items else [])]


class Misfit(Struct, frozen=True):
    """Why values do not fit a column: the rule, the column, what was found, what was expected and what happens.

    `hint` is needed where another type would not help; `wanted` is the type of values that are expected to be null, and `added`
    the name of a key that the type does not have.
    """

    type: FindingType
    column: str
    found: str
    expected: str
    effect: str
    hint: str = ""
    wanted: str = ""
    added: str = ""


# Whole numbers of 64 bits with a sign have a kind; floats of 64 bits are those of Python.
_RANGES = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32)} | {
    f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)
}
_PACKED = {"float16": "e", "float32": "f"}
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d(?:\.(\d+))?)?)?(Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_CLASSES = (BOOL, NUMBERS, TEXTS, LIST, OBJECT)
JSON = Type("json")
FAILS, CHANGES, LAST_DIGITS = (
    "`load_dataset` fails",
    "values are changed silently",
    "its last digits are changed silently",
)
# Smaller numbers are written without an exponent.
_PLAINLY_WRITTEN = 1e16


def inferred(seen: Seen, *, begins: bool = True) -> Type:
    """Return the type of a column by the first block of a table.

    `begins` is whether the block begins the first file: only there does the library look for objects of many kinds.
    """
    kinds = seen.settled & ~RAGGED
    if not kinds:
        return Type("null")
    if sum(bool(kinds & each) for each in _CLASSES) > 1:
        return JSON
    if kinds & LIST:
        return Type("list", inferred(seen.items or Seen(), begins=begins))
    if kinds & OBJECT:
        if begins and (seen.kinds & RAGGED or not seen.members):
            return JSON
        return Type("struct", members={name: inferred(each, begins=begins) for name, each in seen.members.items()})
    if kinds & TEXTS:
        return Type("string" if kinds & TEXT else "timestamp[s]")
    if kinds & NUMBERS:
        return Type("double" if kinds & (FLOAT | BIG) else "int64")
    return Type("bool")


def shown(seen: Seen) -> str:
    """Return the kinds of values in a column for a message."""
    kinds = seen.settled
    names = {
        BOOL: "`true` or `false`",
        INT: "whole numbers",
        BIG: "whole numbers above 2^63 - 1",
        FLOAT: "numbers with decimals or above 2^63 - 1" if kinds & FRACTION else "floats",
        YEAR_0: "times in the year 0",
        TIME | OFFSET: "times",
        TEXT: "text",
        LIST: "lists",
        OBJECT: "objects",
    }
    return " and ".join(name for kind, name in names.items() if kinds & kind) or "null"


def misfits(column: str, expected: Type, seen: Seen, *, rounds: bool) -> Iterator[Misfit]:
    """Yield how the values of a block do not fit the type of their column.

    `rounds` is whether a column of the table is JSON, because then floats keep ten decimals in all columns.
    """
    kinds = seen.settled
    if not kinds or expected.name == "other":
        return
    if rounds and (seen.has(LONG) if expected.name == "json" else kinds & LONG):
        yield Misfit(VALUE_CHANGED, column, "floats of more than ten decimals", "ten decimals next to `json`", CHANGES)
    fits = _FITS.get(expected.name)
    if expected.name.startswith("timestamp["):
        fits = TIME | OFFSET | (TEXT if _is_finer(expected.name) else 0)
    if expected.name == "json":
        yield from _in_json(column, seen)
    elif expected.name == "list" and expected.items is not None and kinds == LIST:
        yield from misfits(f"{column}[]", expected.items, seen.items or Seen(), rounds=rounds)
    elif expected.name == "struct" and not kinds & ~(OBJECT | RAGGED):
        yield from _in_struct(column, expected, seen, rounds=rounds)
    elif fits is None or kinds & ~fits:
        wanted = str(inferred(seen, begins=False)) if expected.name == "null" else ""
        yield Misfit(TYPE_DIFFERS, column, shown(seen), str(expected), _effect(expected.name, kinds), wanted=wanted)
    else:
        yield from _values(column, expected, kinds)


_WHOLE = INT | WIDE | INEXACT | FLOAT  # a float without decimals equals its whole number
_FITS = {
    "bool": BOOL,
    **dict.fromkeys(("int64", *_RANGES), _WHOLE),
    "uint64": _WHOLE | BIG | HUGE,
    **dict.fromkeys(("double", *_PACKED), NUMBERS),
    "string": TEXTS,
    "class_label": INT | WIDE | INEXACT,
}


def _effect(expected: str, kinds: int) -> str:
    """Return what happens to values of other kinds."""
    if expected == "string":
        return FAILS if kinds & LIST else CHANGES
    if expected == "bool":
        return FAILS if kinds & ~NUMBERS else CHANGES
    if expected == "class_label" or expected.startswith(("binary", "large_binary", "date", "decimal")):
        return f"`load_dataset` fails, or {CHANGES}"
    return FAILS


def unfit_value(column: str, expected: Type, value: Any) -> Misfit | None:
    """Return how a value of the right kind does not fit a narrow type; values of other kinds are left to `misfits`."""
    if expected.name == "json":
        changed = next((each for each in _short_floats_in(value) if not is_kept_in_json(each)), None)
        return None if changed is None else Misfit(VALUE_CHANGED, column, f"`{changed}`", "json", LAST_DIGITS)
    kind = type(value)
    if kind is list and expected.items is not None:
        if expected.length not in {-1, len(value)}:
            return Misfit(TYPE_DIFFERS, column, f"a list of {len(value):,}", f"a list of {expected.length:,}", FAILS)
        items = expected.items
        return next((found for each in value if (found := unfit_value(f"{column}[]", items, each))), None)
    if kind is dict:
        parts = ((name, each, expected.members.get(name)) for name, each in value.items())
        inner = (unfit_value(f"{column}.{name}", own, each) for name, each, own in parts if own is not None)
        return next((found for found in inner if found), None)
    if kind is str and _is_finer(expected.name):
        return _unfit_time(column, expected.name, value)
    if kind not in {int, float}:
        return None
    name = expected.name
    if name in _PACKED and not _is_exact(value, _PACKED[name]):
        return Misfit(VALUE_CHANGED, column, f"`{value}`", name, FAILS if kind is int else CHANGES)
    low, high = _RANGES.get(name, (value, len(expected.labels) - 1 if name == "class_label" else value))
    return None if low <= value <= high else Misfit(TYPE_DIFFERS, column, f"`{value}`", str(expected), FAILS)


def _short_floats_in(value: Any) -> Iterator[float]:
    """Yield the floats of at most ten decimals, at any depth."""
    if isinstance(value, float):
        yield from [value] if round(value, DECIMALS) == value else []
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _short_floats_in(each)


def is_kept_in_json(value: float) -> bool:
    """Return whether a finite float comes back from a `json` column as the same.

    `datasets` writes and reads these columns with pandas, which adds the digits after the point times a power of ten to the
    whole number, and rounds each of these.
    """
    text = f"{abs(value):.{DECIMALS}f}".rstrip("0") if abs(value) < _PLAINLY_WRITTEN else f"{abs(value):.{DECIMALS}g}"
    mantissa, _, exponent = text.partition("e")
    whole, _, decimals = mantissa.partition(".")
    read = float(whole) + float(decimals or 0) * float(f"1e-{len(decimals)}")
    return (read * 10.0 ** int(exponent) if exponent else read) == abs(value)


def _is_finer(name: str) -> bool:
    """Return whether a type is that of times with a zone, or with parts of seconds."""
    return name.startswith("timestamp[") and name != "timestamp[s]"


def _unfit_time(column: str, name: str, text: str) -> Misfit | None:
    match = _MOMENT.fullmatch(text)
    digits = _DIGITS.get(re.split(r"[\[\],]", name)[1], 0)
    fraction, zone = (match[1] or "", match[2] or "") if match else ("", "")
    if match is None or len(fraction) > digits or (fraction and zone):
        return Misfit(TYPE_DIFFERS, column, f"`{text}`", name, FAILS)
    if "tz=" in name and not zone:
        return Misfit(VALUE_CHANGED, column, "times without a zone", name, "they get the zone of the column")
    return None


def _is_exact(value: float, code: str) -> bool:
    try:
        return bool(struct.unpack(code, struct.pack(code, value))[0] == value)
    except OverflowError:
        return False


def _values(column: str, expected: Type, kinds: int) -> Iterator[Misfit]:
    name = str(expected)
    # The numbers of a block are floats if one of them is, or has more than 64 bits.
    if kinds & (FLOAT | BIG):
        if kinds & INEXACT:
            found = "whole numbers above 2^63 - 1" if kinds & BIG else "whole numbers above 2^53 next to floats"
            yield Misfit(VALUE_CHANGED, column, found, name, CHANGES)
    elif expected.name == "double" and kinds & WIDE:
        yield Misfit(VALUE_CHANGED, column, "whole numbers above 2^53", name, FAILS)
    if expected.name == "string" and not kinds & TEXT and kinds & TIMES:
        yield Misfit(VALUE_CHANGED, column, "a block of times alone", name, "the times are written in another way")
    if expected.name.startswith("timestamp["):
        if kinds & OFFSET and "tz=" not in name:
            yield Misfit(VALUE_CHANGED, column, "times with an offset from UTC", name, "the offset is lost")
        else:
            is_text = column in {"id", "text"}
            yield Misfit(
                VALUE_CHANGED if is_text else READ_AS_TIME, column, "times", name, "they are no texts any more"
            )


def _in_json(column: str, seen: Seen) -> Iterator[Misfit]:
    if seen.kinds & QUOTING:
        yield Misfit(VALUE_CHANGED, column, "texts that are JSON, like digits", "json", CHANGES)
    if seen.has(HUGE):
        yield Misfit(TYPE_DIFFERS, column, "whole numbers of more than 64 bits", "json", FAILS)


def _in_struct(column: str, expected: Type, seen: Seen, *, rounds: bool) -> Iterator[Misfit]:
    added = [name for name in seen.members if name not in expected.members]
    if added:
        found = f"objects with the key `{added[0]}`"
        yield Misfit(TYPE_DIFFERS, column, found, str(expected), FAILS, added=added[0])
        return
    if seen.kinds & RAGGED or len(seen.members) < len(expected.members):
        yield Misfit(KEY_MISSING, column, "objects with fewer keys", str(expected), "missing keys become null")
    for name, member in seen.members.items():
        yield from misfits(f"{column}.{name}", expected.members[name], member, rounds=rounds)


_NAMES = {"large_string": "string", "float64": "double", "bool_": "bool"}
_KNOWN = ("timestamp[", "time32[", "time64[", "duration[", "decimal128(", "decimal256(")
_MOST_LABELS = 100_000
_OPAQUE = frozenset({"json", "null", "date32", "date64", "binary", "large_binary"})


def _is_named(feature: Any) -> bool:
    return isinstance(feature, dict) and isinstance(feature.get("name"), str)


def declared(feature: Any) -> Type:
    """Return the type of a feature in a card; `other` for those that are not judged."""
    if isinstance(feature, str):
        name = _NAMES.get(feature, feature)
        return Type(name if name in _FITS or name in _OPAQUE or name.startswith(_KNOWN) else "other")
    if isinstance(feature, list):
        return Type("struct", members={each["name"]: declared(each) for each in feature if _is_named(each)})
    if not isinstance(feature, dict):
        return Type("other")
    for key in ("list", "sequence", "large_list"):
        if key in feature:
            return _declared_list(feature[key], feature.get("length"), is_sequence=key == "sequence")
    if "class_label" in feature:
        return Type("class_label", labels=_labels(feature["class_label"]))
    return declared(feature["struct"] if "struct" in feature else feature.get("dtype", ""))


def _declared_list(items: Any, length: Any, *, is_sequence: bool) -> Type:
    size = length if isinstance(length, int) else -1
    inner = declared(items)
    if is_sequence and isinstance(items, list):
        # A sequence of objects is an object of lists.
        return Type("struct", members={name: Type("list", each, length=size) for name, each in inner.members.items()})
    return Type("list", inner, length=size)


def _labels(feature: Any) -> tuple[str, ...]:
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict | list):
        return tuple(map(str, names.values() if isinstance(names, dict) else names))
    number = feature.get("num_classes") if isinstance(feature, dict) else None
    return tuple(map(str, range(number if isinstance(number, int) and number <= _MOST_LABELS else 0)))
