"""Internal: Parquet files read in batches of bounded memory, with pyarrow, which its callers import."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeVar

from corpusfmt.io.limits import Account, bounded_memory

T = TypeVar("T")

_BATCH_BYTES = 16 * 1024 * 1024
_MOST_ROWS = 4096
# Values that stand once in a file may stand in every row: where a batch does not fit, so many times fewer rows may.
_FEWER = 16
#: As much a file may take beside the batch that is in use.
MOST_MEMORY = 256 * 1024 * 1024


class Table:
    """An open Parquet file, whose pages are read one by one and their checksums verified."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._arrow = pa
        self._file = _Counted(file)
        self._account = Account(path, file=file)
        with bounded_memory(MOST_MEMORY):
            self.file = pq.ParquetFile(
                self._file, pre_buffer=False, buffer_size=1 << 20, page_checksum_verification=True
            )

    def batches(self, columns: Sequence[str], convert: Callable[[Any], T]) -> Iterator[T]:
        """Yield the rows, converted from record batches of some columns. Raises `ArrowException`, also where a row is too large."""
        size, done = self._rows_at_once(), 0
        while done < self.file.metadata.num_rows:
            try:
                for rows, converted in self._from(done, size, columns, convert):
                    done += rows
                    yield converted
            except MemoryError as error:
                if size == 1:
                    reason = f"row {done + 1} does not fit in {MOST_MEMORY} bytes of memory"
                    raise self._arrow.ArrowInvalid(reason) from error
                size = max(size // _FEWER, 1)
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

    def _decoded(self, part: Any) -> Any:
        """Return a record batch without dictionaries, as large as it is meant."""
        kinds = self._arrow.types
        arrays = [each.dictionary_decode() if kinds.is_dictionary(each.type) else each for each in part.columns]
        return self._arrow.RecordBatch.from_arrays(arrays, part.schema.names)

    def _rows_at_once(self) -> int:
        metadata = self.file.metadata
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        a_row = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
        return int(min(max(_BATCH_BYTES // max(a_row, 1), 1), _MOST_ROWS))


class _Counted(io.RawIOBase):
    """A file that counts what is read of it."""

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
