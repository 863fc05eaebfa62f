"""Internal: The types of columns as `datasets` infers them, and what becomes of values of other types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from corpusfmt.hub.rules import KEY_MISSING, READ_AS_TIME, TYPE_DIFFERS, VALUE_CHANGED
from corpusfmt.io.loading import (
    BIG,
    BOOL,
    FLOAT,
    FRACTION,
    HUGE,
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
    WIDE,
    Seen,
)
from corpusfmt.model import FindingType


class Type(Struct, frozen=True):
    """The type of a column: a name of Arrow, `json`, `list` with `items`, `struct` with `members`, or `other`."""

    name: str
    items: Type | None = None
    members: Mapping[str, Type] = {}

    def __str__(self) -> str:
        if self.items is not None:
            return f"list<{self.items}>"
        return f"struct<{', '.join(self.members)}>" if self.name == "struct" else self.name

    @property
    def has_json(self) -> bool:
        inner = [*self.members.values(), *([self.items] if self.items else [])]
        return self.name == "json" or any(each.has_json for each in inner)


class Misfit(Struct, frozen=True):
    """Why values do not fit a column: the rule, the column, what was found, what was expected and what happens."""

    type: FindingType
    column: str
    found: str
    expected: str
    effect: str


_CLASSES = (BOOL, NUMBERS, TEXTS, LIST, OBJECT)
JSON = Type("json")
FAILS, CHANGES = "`load_dataset` fails", "values are changed silently"


def inferred(seen: Seen) -> Type:
    """Return the type of a column by the first block of a table."""
    kinds = seen.settled & ~RAGGED
    if not kinds:
        return Type("null")
    if sum(bool(kinds & each) for each in _CLASSES) > 1:
        return JSON
    if kinds & LIST:
        return Type("list", inferred(seen.items or Seen()))
    if kinds & OBJECT:
        if seen.kinds & RAGGED or not seen.members:
            return JSON
        return Type("struct", members={name: inferred(member) for name, member in seen.members.items()})
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
        FLOAT: "numbers with decimals" if kinds & FRACTION else "floats",
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
    if kinds & LONG and rounds:
        yield Misfit(VALUE_CHANGED, column, "floats of more than ten decimals", "ten decimals next to `json`", CHANGES)
    fits = _FITS.get(expected.name)
    if expected.name == "json":
        yield from _in_json(column, seen)
    elif expected.name == "list" and expected.items is not None and kinds == LIST:
        yield from misfits(f"{column}[]", expected.items, seen.items or Seen(), rounds=rounds)
    elif expected.name == "struct" and not kinds & ~(OBJECT | RAGGED):
        yield from _in_struct(column, expected, seen, rounds=rounds)
    elif fits is None or kinds & ~fits:
        effect = CHANGES if _is_silent(expected.name, kinds) else FAILS
        yield Misfit(TYPE_DIFFERS, column, shown(seen), str(expected), effect)
    else:
        yield from _values(column, expected, kinds)


_FITS = {
    "bool": BOOL,
    # A float without decimals equals its whole number.
    "int64": INT | WIDE | FLOAT,
    "double": INT | WIDE | BIG | HUGE | FLOAT | FRACTION | LONG,
    "string": TEXT | QUOTING | TIME | OFFSET,
    "timestamp[s]": TIME | OFFSET,
}


def _is_silent(expected: str, kinds: int) -> bool:
    if expected == "string":
        return not kinds & LIST
    return expected == "bool" and not kinds & ~NUMBERS


def _values(column: str, expected: Type, kinds: int) -> Iterator[Misfit]:
    name = str(expected)
    if expected.name == "double" and kinds & (WIDE | BIG):
        found = "whole numbers above 2^63 - 1" if kinds & BIG else "whole numbers above 2^53"
        effect = CHANGES if kinds & (FLOAT | BIG) else FAILS
        yield Misfit(VALUE_CHANGED, column, found, name, effect)
    if expected.name == "string" and not kinds & TEXT and kinds & (TIME | OFFSET):
        yield Misfit(VALUE_CHANGED, column, "a block of times alone", name, "the times are written in another way")
    if expected.name == "timestamp[s]":
        if kinds & OFFSET:
            yield Misfit(VALUE_CHANGED, column, "times with an offset from UTC", name, "the offset is lost")
        else:
            is_text = column in {"id", "text"}
            yield Misfit(
                VALUE_CHANGED if is_text else READ_AS_TIME, column, "times", name, "they are no texts any more"
            )


def _in_json(column: str, seen: Seen) -> Iterator[Misfit]:
    if seen.kinds & QUOTING:
        yield Misfit(VALUE_CHANGED, column, "texts that are JSON, like digits", "json", CHANGES)
    if seen.kinds & HUGE:
        yield Misfit(TYPE_DIFFERS, column, "whole numbers of more than 64 bits", "json", FAILS)


def _in_struct(column: str, expected: Type, seen: Seen, *, rounds: bool) -> Iterator[Misfit]:
    added = [name for name in seen.members if name not in expected.members]
    if added:
        yield Misfit(TYPE_DIFFERS, column, f"objects with the key `{added[0]}`", str(expected), FAILS)
        return
    if seen.kinds & RAGGED or len(seen.members) < len(expected.members):
        yield Misfit(KEY_MISSING, column, "objects with fewer keys", str(expected), "missing keys become null")
    for name, member in seen.members.items():
        yield from misfits(f"{column}.{name}", expected.members[name], member, rounds=rounds)


_NAMES = {"string": "string", "large_string": "string", "json": "json", "null": "null", "bool": "bool"}
_INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
_FLOATS = frozenset({"float16", "float32", "float64"})


def _is_named(feature: Any) -> bool:
    return isinstance(feature, dict) and isinstance(feature.get("name"), str)


def declared(feature: Any) -> Type:
    """Return the type of a feature in a card; `other` for those that are not judged."""
    if isinstance(feature, str):
        if feature in _INTEGERS | _FLOATS:
            return Type("int64" if feature in _INTEGERS else "double")
        return Type("timestamp[s]" if feature.startswith("timestamp") else _NAMES.get(feature, "other"))
    if isinstance(feature, list):
        members = {each["name"]: declared(each) for each in feature if _is_named(each)}
        return Type("struct", members=members)
    if isinstance(feature, dict):
        for key in ("list", "sequence", "large_list"):
            if key in feature:
                return Type("list", declared(feature[key]))
        return declared(feature["struct"] if "struct" in feature else feature.get("dtype", ""))
    return Type("other")
