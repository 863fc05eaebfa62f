"""Internal: Write records as a stream: JSON Lines, CSV, Parquet and Arrow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from corpusfmt.formats.recordsets import Column, Record
from corpusfmt.io.csvrows import cell, csv_line, inert_cell, printable
from corpusfmt.model import UsageError
from corpusfmt.wording import clipped, json_text

if TYPE_CHECKING:
    import pyarrow as pa

# Size of a batch.
_ROWS, _BYTES = 4096, 16 * 1024 * 1024


def json_lines(_columns: Sequence[Column], records: Iterable[Record], out: BinaryIO) -> None:
    """Write records as JSON Lines: bytes as Base64, NaN and infinities as null."""
    for each in records:
        text = json.dumps(printable(each), ensure_ascii=False, separators=(",", ":"))
        out.write(json_text(text).encode() + b"\n")


def csv_lines(
    columns: Sequence[Column], records: Iterable[Record], out: BinaryIO, *, for_spreadsheets: bool = False
) -> None:
    """Write records as CSV with a header: missing values as empty cells, lists and objects as JSON, bytes as Base64.

    With `for_spreadsheets`, texts that a spreadsheet would run as formulas begin with an apostrophe.
    """
    shown = inert_cell if for_spreadsheets else cell
    rows = chain([[each.name for each in columns]], (each.values() for each in records))
    out.writelines(csv_line(map(shown, cells)) for cells in rows)


def parquet_file(columns: Sequence[Column], records: Iterable[Record], out: BinaryIO) -> None:
    """Write records as a Parquet file."""
    _needs_arrow()
    import pyarrow.parquet as pq  # noqa: PLC0415 - large, and an extra

    _write_batches(columns, records, partial(pq.ParquetWriter, out))


def arrow_stream(columns: Sequence[Column], records: Iterable[Record], out: BinaryIO) -> None:
    """Write records as an Arrow IPC stream."""
    pa = _needs_arrow()
    _write_batches(columns, records, partial(pa.ipc.new_stream, out))


def table_of(columns: Sequence[Column], records: Iterable[Record]) -> pa.Table:
    """Return records as an Arrow table. Raises `UsageError` without pyarrow, and for a column of several types."""
    return _needs_arrow().Table.from_batches(list(_batches(columns, records)))


#: Writers of records by format name.
WRITERS: Mapping[str, Callable[[Sequence[Column], Iterable[Record], BinaryIO], None]] = {
    "jsonl": json_lines,
    "csv": csv_lines,
    "csv-safe": partial(csv_lines, for_spreadsheets=True),
    "parquet": parquet_file,
    "arrow": arrow_stream,
}
#: Formats that are not text.
BINARY = ("parquet", "arrow")


def _needs_arrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415
    except ImportError:
        raise UsageError("pyarrow is not installed: run `pip install 'corpusfmt[parquet]'`") from None
    return pa


def _write_batches(columns: Sequence[Column], records: Iterable[Record], writer_of: Callable[[Any], Any]) -> None:
    batches = _batches(columns, records)
    first = next(batches)
    with writer_of(first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _batches(columns: Sequence[Column], records: Iterable[Record]) -> Iterator[pa.RecordBatch]:
    """Yield record batches, at least one; the first decides undeclared types."""
    import pyarrow as pa  # noqa: PLC0415

    types = [_type_of(each) for each in columns]
    for rows in _some_at_a_time(records):
        arrays = []
        for index, column in enumerate(columns):
            array = _array(column, rows, types[index])
            if types[index] is None:
                # A column without any value so far gets type text.
                types[index] = pa.string() if pa.types.is_null(array.type) else array.type
                array = array.cast(types[index])
            arrays.append(array)
        yield pa.RecordBatch.from_arrays(arrays, [each.name for each in columns])


def _some_at_a_time(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield records in lists that fit in memory, at least one."""
    rows: list[Record] = []
    size = 0
    for each in records:
        if len(rows) >= _ROWS or size > _BYTES:
            yield rows
            rows, size = [], 0
        rows.append(each)
        size += sum(len(value) for value in each.values() if isinstance(value, str | bytes | list))
    yield rows


def _array(column: Column, rows: Sequence[Record], kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    try:
        return pa.array([row[column.name] for row in rows], kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        reason = f"column {clipped(column.name)!r}: {clipped(str(error))}"
        raise UsageError(f"{reason}: write jsonl or choose other --fields") from error


def _type_of(column: Column) -> Any:
    """Return the Arrow type of a column, or None if it is not declared."""
    import pyarrow as pa  # noqa: PLC0415

    known = {
        "text": pa.string(),
        "integer": pa.int64(),
        "float": pa.float64(),
        "boolean": pa.bool_(),
        "bytes": pa.binary(),
    }
    inner = [(each.name, _type_of(each)) for each in column.inner]
    found = known.get(column.type)
    if inner:
        found = pa.struct(inner) if all(kind is not None for _, kind in inner) else None
    return pa.list_(found) if column.is_list and found is not None else found
