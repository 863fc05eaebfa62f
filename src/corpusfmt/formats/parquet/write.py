"""Internal: Write documents as Parquet: their fields as columns, JSON texts for objects, zstd, row groups of
bounded size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain
from typing import Any, BinaryIO

from msgspec import Struct

from corpusfmt.formats.parquet.arrow import ID, MARK, OWN_COLUMNS, TEXT, pyarrow
from corpusfmt.formats.parts import Item, flat_writer
from corpusfmt.formats.rows.columned import table_row
from corpusfmt.io.compress import CompressionName, FileFacts
from corpusfmt.io.text import json_line
from corpusfmt.model import Document, Json, UsageError

_ROWS_A_GROUP = 16 * 1024
_BYTES_A_GROUP = 32 * 1024 * 1024
# pyarrow 15 and 26 differ in these defaults; with them, the output depends on the version only by its name.
_SETTINGS: Json = {
    "version": "2.6",
    "data_page_version": "1.0",
    "compression": "zstd",
    "compression_level": 3,
    "use_dictionary": ["source"],
    "write_statistics": False,
    "write_page_checksum": True,
    "store_schema": True,
}


class TableRow(Struct, frozen=True):
    """A row of a table without a text."""

    fields: Json


def _item(document: Document) -> Item[Json | TableRow]:
    if (row := table_row(document)) is not None:
        return Item(TableRow(row))
    return Item(
        {
            ID: document.id,
            TEXT: document.text,
            "source": document.source,
            "added": document.added,
            "created": document.created,
            "metadata": _json(document.metadata),
            "attributes": _json(document.attributes),
            "extra": _json(document.extra or None),
        },
        {"attribute sets": len(document.attribute_rows)} if document.attribute_rows else {},
    )


def _json(value: Json | None) -> str | None:
    return None if value is None else json_line(value)[:-1].decode()


class _Sink:
    """A file that its caller opens and closes, counted and hashed while it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0
        self.closed = False

    def write(self, data: Any) -> int:
        # pyarrow ends its file when the writer is collected, even an abandoned one with a closed file.
        if self._file.closed:
            return len(data)
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._file.flush()

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        self.closed = True

    def facts(self) -> FileFacts:
        return FileFacts(self.size, self._digest.hexdigest())


class TableWriter:
    """Rows into one open file; one row group is kept in memory."""

    def __init__(self, files: Sequence[BinaryIO], _compression: CompressionName) -> None:
        pa = pyarrow()
        (file,) = files
        self._sink = _Sink(file)
        required = (ID, TEXT)
        fields = [pa.field(name, pa.string(), nullable=name not in required) for name in OWN_COLUMNS]
        self._schema = pa.schema(fields, metadata=MARK)
        self._is_table = False
        self._writer: Any = None
        self._rows: list[Json] = []
        self._waiting = 0
        self.text_bytes = 0

    def add(self, row: Json | TableRow) -> None:
        if isinstance(row, TableRow):
            self._is_table = True
            self._rows.append(row.fields)
            size = len(json_line(row.fields))
            self._waiting += size
            self.text_bytes += size
        else:
            self._add_document(row)
        if self._waiting >= _BYTES_A_GROUP or len(self._rows) >= _ROWS_A_GROUP:
            self._flush()

    def _add_document(self, row: Json) -> None:
        size = sum(len(value) for value in row.values() if value is not None)
        self._rows.append(row)
        self._waiting += size
        self.text_bytes += len(row[TEXT].encode())

    def _flush(self) -> None:
        pa = pyarrow()
        try:
            if self._rows and self._is_table:
                self._write(self._table(), use_dictionary=False)
            elif self._rows or self._writer is None:
                self._write(pa.Table.from_pylist(self._rows, schema=self._schema))
        except (pa.ArrowException, OverflowError) as error:
            if not self._is_table:
                raise
            raise UsageError(f"the rows do not fit a table, write them as jsonl: {error}") from error
        self._rows.clear()
        self._waiting = 0

    def _write(self, table: Any, **own: Any) -> None:
        if self._writer is None:
            self._schema = table.schema
            self._writer = pyarrow().parquet.ParquetWriter(self._sink, self._schema, **_SETTINGS | own)
        if self._rows:
            self._writer.write_table(table, row_group_size=len(self._rows))

    def _table(self) -> Any:
        """Return rows with the columns of the first group, whose types are those of its values."""
        pa = pyarrow()
        names = dict.fromkeys(chain.from_iterable(self._rows))
        kinds = {field.name: field.type for field in self._schema} if self._writer else dict.fromkeys(names)
        if further := [name for name in names if name not in kinds]:
            raise pa.ArrowInvalid(f"column `{further[0]}` is not in the first {_ROWS_A_GROUP:,} rows")
        return pa.table({name: pa.array([row.get(name) for row in self._rows], kind) for name, kind in kinds.items()})

    def finish(self) -> list[FileFacts]:
        """End the file; return its size and digest."""
        self._flush()
        self._writer.close()
        return [self._sink.facts()]


PARQUET = flat_writer(_item, TableWriter, ".parquet", gzip=False, takes_tables=True)
