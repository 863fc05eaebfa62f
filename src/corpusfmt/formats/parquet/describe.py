"""Internal: How tables of documents are described."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, patterns
from corpusfmt.formats.parquet.rows import Trouble, column_types
from corpusfmt.formats.parquet.ruleset import VERSION
from corpusfmt.io.paths import Entry

_TYPES = {"string": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}


def _rows(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    fields = [
        FieldOf(name, _TYPES[kind], {"column": name}, f"Column {name}")
        for name, kind in (contents.columns or {}).items()
    ]
    yield RecordSetOf("documents", "The documents", patterns(paths), "application/x-parquet", fields)


def _columns(files: Mapping[str, Entry]) -> Mapping[str, str] | None:
    try:
        return column_types(files["table"])
    except Trouble:
        return None  # the reader reports it


DESCRIBERS: Mapping[str, Describer] = {
    VERSION: Describer("Documents as rows of Parquet files", _rows, columns=_columns, is_open=True)
}
