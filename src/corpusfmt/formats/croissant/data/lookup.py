"""Internal: Rows by key, on local disk, so that the memory of a join does not grow with the data."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from corpusfmt.formats.croissant.data.batches import NotRead

# The memory that a row of values takes, and each byte of it as stored.
_ROW_BYTES, _EXPANSION = 128, 4


def key_of(value: Any) -> bytes | None:
    """Return the key of a value for comparison: 1, 1.0 and the text `1` have the same key. None for no value."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is int:
        return b"%d" % value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr).encode("utf-8", "surrogatepass")


class Lookup:
    """A table of rows by key; rows with the same key keep their order."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16384"):
            self._connection.execute(f"PRAGMA {setting}")
        self._connection.execute("CREATE TABLE found (key BLOB NOT NULL, row BLOB NOT NULL)")

    def add(self, rows: Iterable[tuple[Any, Sequence[Any]]]) -> None:
        """Add rows with their keys; rows without a key can never be found and are skipped."""
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO found VALUES (?, ?)",
            ((key, _packed(row)) for value, row in rows if (key := key_of(value)) is not None),
        )
        self._connection.execute("COMMIT")

    def ready(self) -> None:
        """Sort the rows, so that they can be found."""
        self._connection.execute("CREATE INDEX by_key ON found (key)")

    def find(self, value: Any) -> Iterator[tuple[list[Any], int]]:
        """Yield the rows with the key of a value, each with its approximate size in memory."""
        key = key_of(value)
        if key is not None:
            for (row,) in self._connection.execute("SELECT row FROM found WHERE key = ? ORDER BY rowid", (key,)):
                yield msgspec.msgpack.decode(row), _ROW_BYTES + _EXPANSION * len(row)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _packed(row: Sequence[Any]) -> bytes:
    try:
        return msgspec.msgpack.encode(list(row))
    except OverflowError:
        raise NotRead("integers beyond 64 bits cannot be joined") from None
