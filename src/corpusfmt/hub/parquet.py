"""Internal: The columns of a Parquet file, by its schema; values are read only if types differ from those expected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from math import isfinite
from typing import Any

from corpusfmt.formats.parquet.arrow import pyarrow
from corpusfmt.hub.rules import KEY_MISSING, TYPE_DIFFERS, VALUE_CHANGED
from corpusfmt.hub.types import CHANGES, FAILS, Misfit, Type, is_kept_in_json
from corpusfmt.io.loading import Seen
from corpusfmt.io.looking import Looked
from corpusfmt.io.parquet import Table, values_in
from corpusfmt.io.paths import Entry

# Texts with longer offsets are the same texts.
_NAMES = {
    "large_string": "string",
    "halffloat": "float16",
    "float": "float32",
    "date32[day]": "date32",
    "date64[ms]": "date64",
}
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns),\s*tz=([\w/+:-]+)\]", re.ASCII)
_DECIMAL = re.compile(r"(decimal128|decimal256)\((\d{1,2}),\s*(-?\d{1,2})\)", re.ASCII)


def look_at_table(entry: Entry) -> Looked:
    """Return the names of the columns of a file, and the number of its rows."""
    try:
        with entry.open() as file:
            table = Table(file, entry.path)
            columns = Seen(members={name: Seen() for name in table.file.schema_arrow.names})
            return Looked((columns,), table.file.metadata.num_rows)
    except (OSError, pyarrow().ArrowException, UnicodeDecodeError) as error:
        return Looked(gap=str(error))


def recast(first: Entry, others: Iterable[Entry], declared: Mapping[str, Type] | None) -> dict[str, list[Misfit]]:
    """Return, by file, what becomes of columns whose types differ from those declared, or else of the first file.

    A loader casts them to that type, and so does this.
    """
    found: dict[str, list[Misfit]] = {}
    expected = declared
    if expected is None:
        with first.open() as file:
            table = Table(file, first.path)
            schema = table.file.schema_arrow
            expected = {each.name: _type(each.type) for each in schema}
            found[first.path] = [
                Misfit(TYPE_DIFFERS, each.name, f"`{each.type}`", "no type of `datasets`", FAILS)
                for each in schema
                if _is_unknown(each.type)
            ]
            found[first.path] += _beyond_python(table, {each.name: each.type for each in schema})
    return found | {each.path: _recast(each, expected) for each in others}


def _recast(entry: Entry, expected: Mapping[str, Type]) -> list[Misfit]:
    try:
        with entry.open() as file:
            table = Table(file, entry.path)
            kinds = {each.name: each.type for each in table.file.schema_arrow if each.name in expected}
            fitting = {name: kind for name, kind in kinds.items() if _is_as_expected(kind, expected[name])}
            found = list(_beyond_python(table, fitting))
            return found + [
                each for name in kinds if name not in fitting for each in _column(table, name, expected[name])
            ]
    except (OSError, pyarrow().ArrowException, UnicodeDecodeError):
        return []  # `look_at_table` has the reason


def _beyond_python(table: Table, kinds: Mapping[str, Any]) -> Iterator[Misfit]:
    """Yield the columns with times in years that Python does not have."""
    for name, kind in kinds.items():
        if _has_times(kind) and any(table.batches([name], lambda part: _is_beyond_python(part.column(0)))):
            message, hint = "times outside of the years 1 to 9999", f"write `{name}` as text"
            yield Misfit(TYPE_DIFFERS, name, message, str(_type(kind)), FAILS, hint)


def _has_times(kind: Any) -> bool:
    """Return whether a type, or one inside it, has times that are not in nanoseconds: those are no more than 600 years."""
    if _is_list(kind):
        return _has_times(kind.value_type)
    types = pyarrow().types
    if types.is_struct(kind):
        return any(_has_times(each.type) for each in kind)
    return bool(types.is_date(kind) or (types.is_timestamp(kind) and kind.unit != "ns"))


def _is_beyond_python(array: Any) -> bool:
    if _is_list(array.type):
        return _is_beyond_python(array.flatten())
    if pyarrow().types.is_struct(array.type):
        return any(map(_is_beyond_python, array.flatten()))
    if not _has_times(array.type):
        return False
    try:
        import_module("pyarrow.compute").min_max(array).as_py()
    except OverflowError:
        return True
    return False


def _is_as_expected(kind: Any, expected: Type) -> bool:
    """Return whether values of a type need no cast. Texts of a dictionary are written as JSON, other texts are read as such."""
    found = _type(kind)
    is_written = expected.name == "json" and found.name == "string" and pyarrow().types.is_dictionary(kind)
    return is_written or found == expected


def _column(table: Table, name: str, expected: Type) -> Iterable[Misfit]:
    found: dict[str, Misfit] = {}
    for misfits in table.batches([name], lambda part: list(_misfits(part.column(0), expected, name))):
        for each in misfits:
            if each.effect == FAILS or each.column not in found:
                found[each.column] = each
    return found.values()


def _type(kind: Any) -> Type:
    types = pyarrow().types
    if types.is_dictionary(kind):
        return _type(kind.value_type)
    if types.is_fixed_size_list(kind):
        return Type("list", _type(kind.value_type), length=kind.list_size)
    if _is_list(kind):
        return Type("list", _type(kind.value_type))
    if types.is_struct(kind):
        return Type("struct", members={field.name: _type(field.type) for field in kind})
    return Type("other" if types.is_nested(kind) else _NAMES.get(str(kind), str(kind)))


def _is_list(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_unknown(kind: Any) -> bool:
    """Return whether a type, or one inside it, is not known to a loader."""
    if _is_list(kind):
        return _is_unknown(kind.value_type)
    types = pyarrow().types
    return any(_is_unknown(each.type) for each in kind) if types.is_struct(kind) else bool(types.is_map(kind))


def _misfits(array: Any, expected: Type, column: str) -> Iterator[Misfit]:
    types = pyarrow().types
    kind = array.type
    if types.is_null(kind) or expected.name == "other":
        return
    if expected.name == "json":
        if (types.is_string(kind) or types.is_large_string(kind)) and array.null_count < len(array):
            yield Misfit(VALUE_CHANGED, column, "texts", "json", "they are read as JSON")
        elif not _is_kept_as_json(array):
            yield Misfit(VALUE_CHANGED, column, f"`{kind}`", "json", CHANGES)
    elif _is_list(kind) and expected.items is not None:
        yield from _in_list(array, expected, column)
    elif types.is_struct(kind) and expected.name == "struct":
        yield from _in_struct(array, expected, column)
    elif types.is_nested(kind) or expected.name in {"list", "struct", "null"}:
        wanted = str(_type(kind)) if expected.name == "null" else ""
        yield Misfit(TYPE_DIFFERS, column, f"`{kind}`", str(expected), FAILS, wanted=wanted)
    elif expected.name == "class_label":
        yield from _as_label(array, expected, column)
    else:
        yield from _cast(array, expected, column)


def _is_kept_as_json(array: Any) -> bool:
    """Return whether values are the same once a loader has written them as JSON, with ten decimals."""
    try:
        return all(map(_is_json, array.to_pylist()))
    except ValueError:  # times of nanoseconds are no values of Python
        return False


def _is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_json, value.values()))
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return isfinite(value) and is_kept_in_json(value)
    return value is None or isinstance(value, str | int)


def _in_list(array: Any, expected: Type, column: str) -> Iterator[Misfit]:
    assert expected.items is not None
    if expected.length >= 0:
        lengths = {len(each) for each in array.to_pylist() if each is not None}
        if lengths - {expected.length}:
            found = f"lists of {max(lengths - {expected.length}):,}"
            yield Misfit(TYPE_DIFFERS, column, found, f"lists of {expected.length:,}", FAILS)
            return
    yield from _misfits(array.flatten(), expected.items, f"{column}[]")


def _in_struct(array: Any, expected: Type, column: str) -> Iterator[Misfit]:
    members = dict(zip((field.name for field in array.type), array.flatten(), strict=True))
    added = [name for name in members if name not in expected.members]
    if added:
        found = f"objects with the key `{added[0]}`"
        yield Misfit(TYPE_DIFFERS, column, found, str(expected), FAILS, added=added[0])
        return
    if len(members) < len(expected.members):
        yield Misfit(KEY_MISSING, column, "objects with fewer keys", str(expected), "missing keys become null")
    for name, member in members.items():
        yield from _misfits(member, expected.members[name], f"{column}.{name}")


def _as_label(array: Any, expected: Type, column: str) -> Iterator[Misfit]:
    texts = {each for each in values_in(array) if isinstance(each, str)}
    if texts:
        fails = not texts <= {*expected.labels, *map(str, range(len(expected.labels)))}
        yield Misfit(VALUE_CHANGED, column, "names of classes", "class_label", FAILS if fails else CHANGES)


def _cast(array: Any, expected: Type, column: str) -> Iterator[Misfit]:
    leaf = _leaf(expected.name)
    if leaf is None or _type(array.type) == expected:
        return
    types = pyarrow().types
    try:
        cast = array.cast(leaf)
        if types.is_timestamp(leaf) and (types.is_string(array.type) or types.is_large_string(array.type)):
            if leaf.unit != "ns":  # 64 bits of these are no more than 600 years
                cast.to_pylist()
            return
        # For Python, `True` and `Decimal("1.0")` are 1.
        is_other = any(test(array.type) != test(leaf) for test in (types.is_boolean, types.is_decimal))
        is_same = array.null_count == len(array) if is_other else values_in(array) == values_in(cast)
        effect = "" if is_same else CHANGES
    except (pyarrow().ArrowException, UnicodeDecodeError, OverflowError):  # the last: years that Python does not have
        effect = FAILS
    if effect:
        yield Misfit(TYPE_DIFFERS, column, f"`{array.type}`", str(expected), effect)


def _leaf(name: str) -> Any:
    """Return the type that a card names; None if there is none."""
    arrow = pyarrow()
    if match := _ZONED.fullmatch(name):
        return arrow.timestamp(match[1], match[2])
    try:
        if match := _DECIMAL.fullmatch(name):
            return getattr(arrow, match[1])(int(match[2]), int(match[3]))
        return arrow.type_for_alias(name)
    except ValueError:
        return None
