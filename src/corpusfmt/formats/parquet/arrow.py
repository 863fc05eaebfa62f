"""Internal: pyarrow, imported where it is used; which columns become JSON, and how."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from corpusfmt.formats.rows.records import NAMED
from corpusfmt.io.parquet import MOST_ROWS, ParquetTable
from corpusfmt.model import Json, UsageError

TEXT, ID = "text", "id"
#: Columns of corpusfmt's own files that contain JSON, and all of them.
JSON_COLUMNS = ("metadata", "attributes", "extra")
OWN_COLUMNS = (ID, TEXT, *NAMED, *JSON_COLUMNS)
#: A key in the schema metadata of files from corpusfmt: their columns are documents, some with JSON.
MARK = {b"corpusfmt": b"documents-1"}

T = TypeVar("T")


def pyarrow() -> Any:
    """Return the package. Raises `UsageError` if it is not installed."""
    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError as error:
        raise UsageError("Parquet needs a package: pip install 'corpusfmt[parquet]'") from error


def is_ours(table: ParquetTable) -> bool:
    """Return whether the writer of this project made a file, and nobody has changed its columns."""
    if not MARK.items() <= (table.file.schema_arrow.metadata or {}).items():
        return False
    found = readable_columns(table)
    return found.keys() == set(OWN_COLUMNS) and all(map(is_text, found.values()))


def readable_columns(table: ParquetTable) -> Mapping[str, Any]:
    """Return the columns that become JSON, each with the type for reading it."""
    readable = ((field.name, _readable(field.type)) for field in table.file.schema_arrow)
    return {name: kind for name, kind in readable if kind is not None}


def unreadable_columns(table: ParquetTable) -> list[str]:
    """Return the columns of types that JSON cannot represent, such as bytes."""
    readable = readable_columns(table)
    return [name for name in table.file.schema_arrow.names if name not in readable]


def _readable(kind: Any) -> Any:
    """Return the type whose values become JSON without a loss; None if there is none.

    Dates, times and decimal numbers become texts; dictionary-encoded values are read as the values themselves.
    """
    pa = pyarrow()
    types = pa.types
    if types.is_dictionary(kind):
        return _readable(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = _readable(kind.value_type)
        return None if inner is None else pa.list_(inner)
    if types.is_struct(kind):
        fields = [(field.name, _readable(field.type)) for field in kind]
        names = {name for name, _ in fields}
        return pa.struct(fields) if len(names) == len(fields) and all(inner for _, inner in fields) else None
    is_time = types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)
    if is_time or types.is_decimal(kind) or str(kind) == "string_view":
        return pa.string()
    if types.is_string(kind) or types.is_large_string(kind):
        return kind
    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
    return kind if plain else None


def is_text(kind: Any) -> bool:
    """Return whether a column, as it is read, contains strings."""
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_integer(kind: Any) -> bool:
    """Return whether a column contains whole numbers."""
    return bool(pyarrow().types.is_integer(kind))


def kind_at(kinds: Mapping[str, Any], path: Sequence[str]) -> Any:
    """Return the type of a column, or of a field in one of objects; that of nulls if it is not there."""
    kind = kinds.get(path[0], pyarrow().null())
    for step in path[1:]:
        index = kind.get_field_index(step) if pyarrow().types.is_struct(kind) else -1
        kind = kind.field(index).type if index >= 0 else pyarrow().null()
    return kind


def batches(
    table: ParquetTable,
    columns: Mapping[str, Any],
    convert: Callable[[Any], T],
    first: int = 0,
    most_rows: int = MOST_ROWS,
) -> Iterator[T]:
    """Yield the rows from row `first` (from 0) on, converted from tables of some columns, each of a few megabytes."""
    pa = pyarrow()
    schema = pa.schema(list(columns.items()))

    def converted(part: Any) -> T:
        found = pa.Table.from_batches([part]).select(list(columns))
        # Even a cast that changes nothing imports all functions of Arrow.
        return convert(found if found.schema.types == schema.types else found.cast(schema))

    return table.batches(list(columns), converted, most_rows, first)


def json_rows(table: Any) -> list[Json]:
    """Return rows as JSON objects. Raises `UnicodeDecodeError` for a string that is not UTF-8."""
    rows: list[Json] = table.to_pylist()
    types = pyarrow().types
    odd = [field.name for field in table.schema if types.is_floating(field.type) or types.is_nested(field.type)]
    for name in odd:
        for row in rows:
            row[name] = _json(row[name])
    return rows


def _json(value: Any) -> Any:
    """Return a value with texts for the numbers that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_json(each) for each in value]
    if isinstance(value, dict):
        return {name: _json(each) for name, each in value.items()}
    return value
