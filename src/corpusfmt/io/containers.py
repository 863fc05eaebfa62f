"""One file that holds many streams, by key: what a task leaves for the tasks of the next stage.

Instead of a file for each (input, language) there is one container for each input: sections one after the other, and
an index at the end. A reader takes the sections of one key without touching the others.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

_FOOTER = struct.Struct("<Q8s")
_MAGIC = b"CFMTBOX1"


class ContainerWriter:
    """Appends sections to an open file; `finish` writes the index that makes it a container."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._position = 0
        self._index: dict[str, list[tuple[int, int]]] = {}

    def add(self, key: str, data: bytes) -> None:
        self._file.write(data)
        self._index.setdefault(key, []).append((self._position, len(data)))
        self._position += len(data)

    def finish(self) -> None:
        index = json.dumps(self._index, sort_keys=True, separators=(",", ":")).encode()
        self._file.write(index)
        self._file.write(_FOOTER.pack(len(index), _MAGIC))


class Container:
    """Reads a container: keys, and the sections of a key in the order of their writing."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        end = self._file.seek(-_FOOTER.size, 2)
        length, magic = _FOOTER.unpack(self._file.read(_FOOTER.size))
        if magic != _MAGIC:
            raise ValueError(f"{path} is no container")
        self._file.seek(end - length)
        self._index: dict[str, list[tuple[int, int]]] = json.loads(self._file.read(length))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._index

    def sections(self, key: str) -> Iterator[bytes]:
        for offset, length in self._index.get(key, ()):
            self._file.seek(offset)
            yield self._file.read(length)
