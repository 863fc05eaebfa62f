"""Internal: One file that holds many streams, by key: what a task leaves for the tasks of the next stage.

Instead of a file for each (input, language) there is one container for each input: sections one after the other, each at
a multiple of eight bytes, and an index at the end. A reader takes the sections of one key without touching the others.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from corpusfmt.io.streams import StreamFault
from corpusfmt.model import Incomplete

_FOOTER = struct.Struct("<Q8s")
_MAGIC = b"CFMTBOX2"
# So that a section of 64-bit integers can be used where it lies.
_ALIGNMENT = 8


class ContainerWriter:
    """Appends sections to an open file; `finish` writes the index that makes it a container."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._position = 0
        self._index: dict[str, list[tuple[int, int]]] = {}

    def add(self, key: str, data: bytes | memoryview) -> None:
        padding = -len(data) % _ALIGNMENT
        self._file.write(data)
        self._file.write(bytes(padding))
        self._index.setdefault(key, []).append((self._position, len(data)))
        self._position += len(data) + padding

    def finish(self) -> None:
        index = json.dumps(self._index, sort_keys=True, separators=(",", ":")).encode()
        self._file.write(index)
        self._file.write(_FOOTER.pack(len(index), _MAGIC))


class Container:
    """Reads a container: keys, and the sections of a key in the order of their writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self.intact():
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self._data = memoryview(self._map)
            end = len(self._data) - _FOOTER.size
            length, magic = _FOOTER.unpack(self._data[end:])
            if magic != _MAGIC:
                raise ValueError("it has no end")
            self._index: dict[str, list[tuple[int, int]]] = json.loads(bytes(self._data[end - length : end]))

    @contextmanager
    def intact(self) -> Iterator[None]:
        """Raise `Incomplete`, which says what to do, where what is read from here in the block is not what was written."""
        try:
            yield
        except (FileNotFoundError, ValueError, struct.error, StreamFault) as error:
            wrong = "missing:" if isinstance(error, FileNotFoundError) else f"damaged ({error}): remove it and"
            raise Incomplete(f"{self._path} is {wrong} run the same command again, which makes it anew") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._data.release()

    def keys(self) -> list[str]:
        return list(self._index)

    def sections(self, key: str) -> Iterator[memoryview]:
        """Yield the sections of a key, to be used while the container is open."""
        for offset, length in self._index.get(key, ()):
            yield self._data[offset : offset + length]

    def forget(self) -> None:
        """Give back the memory of what was read so far; it is read again where it is still in use."""
        if hasattr(mmap, "MADV_DONTNEED"):  # Windows counts such memory otherwise
            self._map.madvise(mmap.MADV_DONTNEED)


def is_container(path: Path) -> bool:
    """Tell whether a file is there, and a container to its end; its sections are not looked at."""
    try:
        with Container(path):
            return True
    except (Incomplete, OSError):
        return False
