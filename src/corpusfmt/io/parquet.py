"""Internal: Read Parquet files in batches of bounded memory, with pyarrow."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO, TypeVar

from corpusfmt.io.limits import Account, bounded_memory

T = TypeVar("T")

_BATCH_BYTES = 16 * 1024 * 1024
#: Rows in a batch, unless more are asked for.
MOST_ROWS = 4096
_LENGTH_BYTES, _MOST_DICTIONARY_BYTES = 4, 64 * 1024
# A value stored once may occur in every row: if a batch does not fit, this many times fewer rows may.
_FEWER = 16
#: Memory of a file in addition to the current batch.
MOST_MEMORY = 192 * 1024 * 1024
# Each column takes up to 10 kB of small objects. Arrow aborts the process if one of them does not fit into memory, and
# reports only buffers that do not.
MOST_COLUMNS = 10_000
#: Row groups, and columns with their groups, in a footer.
_MOST_IN_A_LIST = 2 * MOST_COLUMNS


class ParquetTable:
    """An open Parquet file, read page by page with checksums verified. Raises `ArrowException`, also for equal names.

    With `keep_dictionaries`, columns of few different texts stay dictionaries, as they are stored.
    """

    def __init__(self, file: BinaryIO, path: str, *, keep_dictionaries: bool = False) -> None:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._arrow = pa
        self._file = _Counted(file)
        self._account = Account(path, file=file)
        if (begins := file.read(4)) != b"PAR1":  # which Arrow asks only of the end
            raise pa.ArrowInvalid(f"the file begins with {begins!r}, expected b'PAR1'")
        with bounded_memory(MOST_MEMORY):
            opened = partial(
                pq.ParquetFile,
                self._file,
                pre_buffer=False,
                buffer_size=1 << 20,
                page_checksum_verification=True,
                thrift_container_size_limit=_MOST_IN_A_LIST,
            )
            self.file = opened()
            if (columns := self.file.metadata.num_columns) > MOST_COLUMNS:
                raise pa.ArrowInvalid(f"{columns:,} columns, expected at most {MOST_COLUMNS:,}")
            twice = [name for name, count in Counter(self.file.schema_arrow.names).items() if count > 1]
            if twice:
                raise pa.ArrowInvalid(f"two columns are called `{twice[0]}`")
            self._kept = self._few_texts(opened) if keep_dictionaries else []
            if self._kept:
                self.file = opened(metadata=self.file.metadata, read_dictionary=self._kept)

    def batches(
        self, columns: Sequence[str], convert: Callable[[Any], T], most_rows: int = MOST_ROWS, first: int = 0
    ) -> Iterator[T]:
        """Yield converted record batches of some columns, with at most `most_rows` rows, from row `first` (from 0) on.

        Raises `ArrowException`, also if a row is too large.
        """
        size, done = self._rows_at_once(most_rows), first
        while done < self.file.metadata.num_rows:
            try:
                for rows, converted in self._from(done, size, columns, convert):
                    done += rows
                    yield converted
                    del converted  # before the next batch takes memory
            except MemoryError as error:
                if size == 1:
                    reason = f"row {done + 1:,} does not fit in {MOST_MEMORY:,} bytes of memory"
                    raise self._arrow.ArrowInvalid(reason) from error
                size = max(size // _FEWER, 1)
                self._arrow.default_memory_pool().release_unused()  # or the next attempt may take as much again
            else:
                return

    def _from(
        self, first: int, size: int, columns: Sequence[str], convert: Callable[[Any], T]
    ) -> Iterator[tuple[int, T]]:
        groups = list(range(self.file.metadata.num_row_groups))
        start = 0
        while first and start + (rows := self.file.metadata.row_group(groups[0]).num_rows) <= first:
            start += rows
            del groups[0]
        parts = self.file.iter_batches(size, row_groups=groups, columns=list(columns), use_threads=False)
        while True:
            with bounded_memory(MOST_MEMORY):
                part = next(parts, None)
                if part is None:
                    return
                start += part.num_rows
                if start <= first:
                    continue
                part = self._decoded(part.slice(max(part.num_rows - (start - first), 0)))
                converted = convert(part)
            self._account.upto(self._file.taken, self._account.read + part.nbytes)
            yield part.num_rows, converted
            del part, converted

    def _few_texts(self, opened: Callable[..., Any]) -> list[str]:
        """Return the columns of texts whose first values are few, from a small dictionary.

        What the footer says of the pages of a column is not asked: Arrow ends the process if that is malformed.
        """
        schema, kind = self.file.schema_arrow, self._arrow.string()
        texts = [name for name, stored in zip(schema.names, schema.types, strict=True) if stored == kind]
        if not texts:
            return []
        file = opened(metadata=self.file.metadata, read_dictionary=texts)
        try:
            first = next(file.iter_batches(self._rows_at_once(MOST_ROWS), columns=texts, use_threads=False), None)
        except (MemoryError, OSError, self._arrow.ArrowException):  # which reading tells again
            return []
        stored = zip(texts, first.columns, strict=True) if first is not None else ()
        return [name for name, column in stored if _is_of_few(column.dictionary, len(column))]

    def _decoded(self, part: Any) -> Any:
        """Return a record batch with dictionaries expanded, unless they are kept."""
        kinds = self._arrow.types
        arrays = [
            each.dictionary_decode() if kinds.is_dictionary(each.type) and name not in self._kept else each
            for name, each in zip(part.schema.names, part.columns, strict=True)
        ]
        return self._arrow.RecordBatch.from_arrays(arrays, part.schema.names)

    def _rows_at_once(self, most: int) -> int:
        metadata = self.file.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        a_row = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        return int(min(max(_BATCH_BYTES // max(a_row, 1), 1), most))


def values_in(column: Any) -> list[Any]:
    """Return the values of an Arrow array: texts if some are times that Python cannot represent.

    Raises `UnicodeDecodeError` and `ArrowException`.
    """
    from pyarrow import types  # noqa: PLC0415 - large, and an extra

    try:
        # Where pandas is installed, Arrow makes nanoseconds objects of it, and else refuses them.
        return list((column.cast(_changed(column.type, _coarser)) if "[ns" in str(column.type) else column).to_pylist())
    except UnicodeDecodeError:
        raise
    except (OverflowError, ValueError):  # nanoseconds, years beyond 9999, unknown time zones
        texts: list[Any] = column.cast(_changed(column.type, _in_utc)).cast(_changed(column.type, _text)).to_pylist()
        if not types.is_timestamp(column.type):
            return texts
        return [each if each is None or each.startswith("<") else each.replace(" ", "T") for each in texts]


def _changed(kind: Any, change: Callable[[Any], Any]) -> Any:
    """Return an Arrow type with its innermost types changed."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_dictionary(kind):
        return _changed(kind.value_type, change)
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _changed(field.type, change)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_changed(kind.key_type, change), _changed(kind.item_type, change))
    return pa.list_(_changed(kind.value_type, change)) if pa.types.is_nested(kind) else change(kind)


def _in_utc(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.timestamp(kind.unit, "UTC") if pa.types.is_timestamp(kind) and kind.tz else kind


def _coarser(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    return pa.duration("us") if pa.types.is_duration(kind) and kind.unit == "ns" else kind


def _text(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.string() if pa.types.is_temporal(kind) else kind


def _is_of_few(dictionary: Any, rows: int) -> bool:
    # A text that stands for itself takes four bytes for its length alone.
    return bool(dictionary.nbytes <= min(_MOST_DICTIONARY_BYTES, _LENGTH_BYTES * rows))


class _Counted(io.RawIOBase):
    """A file that counts the bytes read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.taken = 0

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        self.taken += len(data)
        return data
