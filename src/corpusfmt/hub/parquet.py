"""Internal: The columns of a Parquet file, by its schema; values are read only if types differ between files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from corpusfmt.formats.parquet.arrow import pyarrow
from corpusfmt.hub.rules import TYPE_DIFFERS
from corpusfmt.hub.types import CHANGES, FAILS, Misfit
from corpusfmt.io.loading import BOOL, FLOAT, FRACTION, INT, LIST, OBJECT, TEXT, Seen
from corpusfmt.io.looking import Looked
from corpusfmt.io.parquet import Table, values_in
from corpusfmt.io.paths import Entry


def look_at_table(entry: Entry) -> Looked:
    """Return the columns of a file."""
    try:
        with entry.open() as file:
            table = Table(file, entry.path)
            schema, rows = table.file.schema_arrow, table.file.metadata.num_rows
            columns = Seen(members={field.name: _seen(field.type) for field in schema})
    except (OSError, pyarrow().ArrowException, UnicodeDecodeError) as error:
        return Looked(gap=str(error))
    return Looked((columns,), rows)


def recast(first: Entry, others: Iterable[Entry]) -> dict[str, dict[str, Misfit | None]]:
    """Return, by file, the columns of single values whose types differ from the first file, and what becomes of them.

    A loader casts them to the type of the first file, and so does this.
    """
    with first.open() as file:
        expected = _single(Table(file, first.path))
    return {each.path: _recast(each, expected) for each in others}


def _recast(entry: Entry, expected: Mapping[str, Any]) -> dict[str, Misfit | None]:
    try:
        with entry.open() as file:
            table = Table(file, entry.path)
            kinds = _single(table)
            differ = [name for name in kinds if name in expected and kinds[name] != expected[name]]
            return {name: _cast(table, name, kinds[name], expected[name]) for name in differ}
    except (OSError, pyarrow().ArrowException, UnicodeDecodeError):
        return {}  # `look_at_table` has the reason


def _single(table: Table) -> dict[str, Any]:
    types = pyarrow().types
    kinds = {
        each.name: each.type.value_type if types.is_dictionary(each.type) else each.type
        for each in table.file.schema_arrow
    }
    return {name: kind for name, kind in kinds.items() if not (types.is_nested(kind) or types.is_null(kind))}


def _cast(table: Table, name: str, found: Any, expected: Any) -> Misfit | None:
    def is_same(part: Any) -> bool:
        column = part.column(0)
        return values_in(column) == values_in(column.cast(expected))

    try:
        effect = "" if all(table.batches([name], is_same)) else CHANGES
    except (pyarrow().ArrowException, UnicodeDecodeError):
        effect = FAILS
    return Misfit(TYPE_DIFFERS, name, f"`{found}`", str(expected), effect) if effect else None


def _seen(kind: Any) -> Seen:
    types = pyarrow().types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return Seen(LIST, _seen(kind.value_type))
    if types.is_struct(kind):
        return Seen(OBJECT, members={field.name: _seen(field.type) for field in kind})
    if types.is_dictionary(kind):
        return _seen(kind.value_type)
    known = (
        (types.is_boolean, BOOL),
        (types.is_integer, INT),
        (types.is_floating, FLOAT | FRACTION),
        (types.is_string, TEXT),
        (types.is_large_string, TEXT),
    )
    return Seen(next((found for test, found in known if test(kind)), 0))
