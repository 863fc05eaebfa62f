"""Internal: Digests of files that are read to their end, so that no file is read twice for its digest."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, BinaryIO, Self, cast

from msgspec import Struct

from corpusfmt.io.compress import FileFacts, sha256


class Seen(Struct, frozen=True):
    """A file that was read to its end, by its path below the given path: two roots may have the same paths."""

    path: str
    facts: FileFacts


_SEEN: ContextVar[dict[str, Seen] | None] = ContextVar("seen", default=None)


@contextmanager
def witnessing(wanted: bool = True) -> Iterator[dict[str, Seen]]:
    """Yield a mapping of URL to size and SHA-256 of each file that is read completely in the block, if wanted."""
    seen: dict[str, Seen] = {}
    token = _SEEN.set(seen if wanted else None)
    try:
        yield seen
    finally:
        _SEEN.reset(token)


def witnessed(url: str, path: str, file: BinaryIO) -> BinaryIO:
    """Return a file that records its digest, if inside a `witnessing` block."""
    seen = _SEEN.get()
    return file if seen is None else cast("BinaryIO", Hashed(url, path, file, seen))


class Hashed:
    """An open file that is hashed while it is read; only a seek to the start restarts the hash, any other ends it."""

    def __init__(self, url: str, path: str, file: BinaryIO, seen: dict[str, Seen]) -> None:
        self._url = url
        self._path = path
        self._file = file
        self._seen = seen
        self._straight = True
        self._begin()

    def _begin(self) -> None:
        self.digest = sha256()
        self._size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(size)
        if self._straight:
            self.digest.update(data)
            self._size += len(data)
            if not data and size:
                self._note()
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._straight = offset == whence == 0
        self._begin()
        return self._file.seek(offset, whence)

    def close(self) -> None:
        with suppress(AttributeError, OSError):  # not a file of this system
            if self._straight and not self._file.closed and self._size == os.fstat(self._file.fileno()).st_size:
                self._note()
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note(self) -> None:
        self._seen[self._url] = Seen(self._path, FileFacts(self._size, self.digest.hexdigest()))
