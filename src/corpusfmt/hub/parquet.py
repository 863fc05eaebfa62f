"""Internal: The columns of a Parquet file, by its schema; only whole numbers are read."""

from __future__ import annotations

from typing import Any

from corpusfmt.formats.parquet.arrow import pyarrow
from corpusfmt.io.loading import BOOL, FLOAT, FRACTION, INT, LIST, OBJECT, TEXT, Seen
from corpusfmt.io.looking import Looked
from corpusfmt.io.parquet import Table
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
