"""Internal: Inputs on local disk instead of in memory, because a snapshot has a hundred thousand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")

_CACHE_KIB = 256


class Ranked(Mapping[str, T], Generic[T]):
    """Items by key, in the order of their ranks (name, path, key), in a temporary database."""

    def __init__(self, kind: type[T], rank_of: Callable[[T], tuple[str, str, str]], items: Iterable[T] = ()) -> None:
        import sqlite3  # noqa: PLC0415 - only builds need it

        self._kind, self._rank_of = kind, rank_of
        # Without a name it is a file that ends with this process. Shared with no other, it needs no journal.
        self._table = sqlite3.connect("", isolation_level=None)
        self._table.execute("PRAGMA journal_mode = OFF")
        # Neither many pages nor a sort is kept in memory: a run has several of these.
        self._table.execute(f"PRAGMA cache_size = {-_CACHE_KIB}")
        self._table.execute("CREATE TABLE item (key BLOB PRIMARY KEY, name BLOB, path BLOB, item BLOB) WITHOUT ROWID")
        # Those with names that are not UTF-8.
        self._odd: dict[str, T] = {}
        with _on_disk():
            self._table.execute("BEGIN")
            self._table.executemany("INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?)", map(self._row, items))
            self._table.execute("COMMIT")
            self._number: int = self._table.execute("SELECT count(*) FROM item").fetchone()[0]

    def put(self, item: T) -> None:
        """Add an item, or replace the one with the same key."""
        row = self._row(item)
        self._number += self._found(row[0]) is None
        with _on_disk():
            self._table.execute("INSERT OR REPLACE INTO item VALUES (?, ?, ?, ?)", row)

    def ranked(self) -> Iterator[T]:
        """Yield the items in order."""
        with _on_disk():
            for key, item in self._table.execute("SELECT key, item FROM item ORDER BY name, path, key"):
                yield self._item(key, item)

    def __iter__(self) -> Iterator[str]:
        with _on_disk():
            for (key,) in self._table.execute("SELECT key FROM item ORDER BY name, path, key"):
                yield _text(key)

    def __len__(self) -> int:
        return self._number

    def __getitem__(self, key: str) -> T:
        found = self._found(_bytes(key))
        if found is None:
            raise KeyError(key)
        return self._item(_bytes(key), found)

    def _found(self, key: bytes) -> bytes | None:
        with _on_disk():
            row = self._table.execute("SELECT item FROM item WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def _row(self, item: T) -> tuple[bytes, bytes, bytes, bytes]:
        name, path, key = self._rank_of(item)
        try:
            encoded = msgspec.msgpack.encode(item)
        except UnicodeEncodeError:
            self._odd[key], encoded = item, b""
        return _bytes(key), _bytes(name), _bytes(path), encoded

    def _item(self, key: bytes, encoded: bytes) -> T:
        return msgspec.msgpack.decode(encoded, type=self._kind) if encoded else self._odd[_text(key)]


@contextmanager
def _on_disk() -> Iterator[None]:
    """Raise `OSError` where the database does not, like when the disk is full."""
    import sqlite3  # noqa: PLC0415

    try:
        yield
    except sqlite3.OperationalError as error:
        raise OSError(f"inputs cannot be stored in a temporary file ({error}): make room, or set TMPDIR") from error


def _bytes(text: str) -> bytes:
    """Return bytes that sort like the text."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
