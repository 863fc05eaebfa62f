"""pyarrow, imported where it is used; which columns become JSON, and how."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from corpusfmt.model import Json, UsageError

#: Stands in the metadata of the schema of files that we write: their columns are documents, with JSON in some of them.
MARK = {b"corpusfmt": b"documents-1"}
_BATCH_BYTES = 16 * 1024 * 1024
_MOST_ROWS = 4096


def pyarrow() -> Any:
    """Return the package. Raises `UsageError` where it is not installed."""
    try:
        import_module("pyarrow.parquet")
        return import_module("pyarrow")
    except ImportError as error:
        raise UsageError("Parquet needs a package: pip install 'corpusfmt[parquet]'") from error


def open_table(file: Any) -> Any:
    """Return an open file as a Parquet file whose pages are read one by one, their checksums verified."""
    return pyarrow().parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True)


def is_ours(table: Any) -> bool:
    """Tell whether the writer of this project made a file."""
    return MARK.items() <= (table.schema_arrow.metadata or {}).items()


def readable_columns(table: Any) -> Mapping[str, Any]:
    """Return the columns that become JSON, each with the type that it is read as. Raises `ArrowInvalid` for equal names."""
    names = table.schema_arrow.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise pyarrow().ArrowInvalid(f"two columns are called `{twice}`")
    readable = ((field.name, _readable(field.type)) for field in table.schema_arrow)
    return {name: kind for name, kind in readable if kind is not None}


def unreadable_columns(table: Any) -> list[str]:
    """Return the columns of types that JSON cannot hold, such as bytes."""
    readable = readable_columns(table)
    return [name for name in table.schema_arrow.names if name not in readable]


def _readable(kind: Any) -> Any:
    """Return the type whose values become JSON without a loss; None where there is none.

    Dates, times and decimal numbers become texts; what a dictionary encodes is read as it is meant.
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
    if types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind) or types.is_decimal(kind):
        return pa.string()
    if types.is_string(kind) or types.is_large_string(kind):
        return kind
    plain = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
    return kind if plain else None


def is_text(kind: Any) -> bool:
    """Tell whether a column, as it is read, holds strings."""
    types = pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_integer(kind: Any) -> bool:
    """Tell whether a column holds whole numbers."""
    return bool(pyarrow().types.is_integer(kind))


def batches(table: Any, columns: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the rows as tables of some columns, each of a few megabytes."""
    pa = pyarrow()
    schema = pa.schema(list(columns.items()))
    for batch in table.iter_batches(_rows_at_once(table), columns=list(columns), use_threads=False):
        yield pa.Table.from_batches([batch]).select(list(columns)).cast(schema)


def _rows_at_once(table: Any) -> int:
    groups = (table.metadata.row_group(number) for number in range(table.metadata.num_row_groups))
    a_row = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
    return int(min(max(_BATCH_BYTES // max(a_row, 1), 1), _MOST_ROWS))


def json_rows(table: Any) -> list[Json]:
    """Return rows as JSON objects. Raises `UnicodeDecodeError` where a string of one is not UTF-8."""
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
