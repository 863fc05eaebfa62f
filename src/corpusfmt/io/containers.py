"""Internal: Containers: files with many streams by key, from the tasks of one stage for the tasks of the next.

Each input has one container instead of a file per language. It consists of

- sections in the order of writing, each at a multiple of eight bytes and followed by the XXH3 of each of its blocks,
- the index: for each key, in order, columns with the offsets and lengths of its sections,
- the keys: `_KEY` for each, then their names and extent; and a footer with the XXH3 of that.

A reader searches the keys in place and reads only the sections it needs. Nothing is used before its checksum was
compared, because a changed bit would otherwise become part of a corpus.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import xxhash

from corpusfmt.model import Incomplete

_MAGIC = b"CFMTBOX3"
# Offset and number of the keys.
_EXTENT = struct.Struct("<QQ")
# The XXH3 of keys, names and extent.
_FOOTER = struct.Struct("<Q8s")
# Offset and length of the name; offset, number of sections and XXH3 of the key's index.
_KEY = struct.Struct("<IIQQQ")
_HASH_BYTES = 8
# Lets a section of 64-bit integers be used without copying.
_ALIGNMENT = 8
# Bytes per checksum: a reader of a few kilobytes need not read a whole section.
_BLOCK_BYTES = 64 * 1024


def _hashes(data: bytes | memoryview) -> bytes:
    blocks = memoryview(data)
    return b"".join(
        xxhash.xxh3_64_digest(blocks[start : start + _BLOCK_BYTES]) for start in range(0, len(blocks), _BLOCK_BYTES)
    )


def removed_as_damaged(path: Path, reason: str) -> Incomplete:
    """Remove a file of an unfinished run, so that the next run recreates it, and return the error."""
    try:
        path.unlink(missing_ok=True)
    except OSError:  # Windows keeps files that are open
        return Incomplete(f"{path} is damaged ({reason}); remove it and run the same command again to make it anew")
    return Incomplete(f"{path} was damaged ({reason}) and has been removed; run the same command again to make it anew")


class ContainerWriter:
    """Appends sections to an open file; `finish` writes the index that makes it a container."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._position = 0
        self._index: dict[str, list[tuple[int, int]]] = {}

    def add(self, key: str, data: bytes | memoryview) -> None:
        self._index.setdefault(key, []).append((self._position, len(data)))
        self._write(data)
        self._write(bytes(-len(data) % _ALIGNMENT) + _hashes(data))

    def finish(self) -> None:
        keys, names = b"", b""
        for key in sorted(self._index):
            name, columns = key.encode(), list(zip(*self._index[key], strict=True))
            index = struct.pack(f"<{2 * len(columns[0])}Q", *columns[0], *columns[1])
            keys += _KEY.pack(len(names), len(name), self._position, len(columns[0]), xxhash.xxh3_64_intdigest(index))
            names += name
            self._write(index)
        table = keys + names + _EXTENT.pack(self._position, len(self._index))
        self._write(table + _FOOTER.pack(xxhash.xxh3_64_intdigest(table), _MAGIC))

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._position += len(data)


class Section:
    """One section of a container, read block by block."""

    def __init__(self, container: Container, data: memoryview, hashes: memoryview) -> None:
        self._container = container
        self._hashes = hashes
        #: All of it, whether its checksums are right or not.
        self.unchecked = data

    def checked(self, start: int = 0, end: int | None = None) -> memoryview:
        """Return the bytes of a range, to be used while the container is open. Raises `Incomplete` if they are damaged."""
        end = len(self.unchecked) if end is None else end
        for block in range(start // _BLOCK_BYTES, -(-end // _BLOCK_BYTES)):
            data = self.unchecked[block * _BLOCK_BYTES : (block + 1) * _BLOCK_BYTES]
            if xxhash.xxh3_64_digest(data) != self._hashes[block * _HASH_BYTES : (block + 1) * _HASH_BYTES]:
                raise self.damaged("a section has another checksum")
        return self.unchecked[start:end]

    def damaged(self, reason: str) -> Incomplete:
        """Like `Container.damaged`."""
        return self._container.damaged(reason)


class Container:
    """Reads a container. Raises `Incomplete` with a hint if it is missing or damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError as error:
            raise Incomplete(f"{path} is missing; run the same command again to make it anew") from error
        except ValueError as error:
            raise self.damaged("it is empty") from error
        self._data = memoryview(self._map)
        self._keys, self._number = self._checked_keys()
        self._names = self._keys + self._number * _KEY.size

    def _checked_keys(self) -> tuple[int, int]:
        """Return the offset and number of the keys."""
        end = len(self._data) - _FOOTER.size
        names_end = end - _EXTENT.size
        if names_end < 0:
            raise self.damaged("it is too short")
        checksum, magic = _FOOTER.unpack(self._data[end:])
        start, number = _EXTENT.unpack(self._data[names_end:end])
        if magic != _MAGIC or start + number * _KEY.size > names_end:
            raise self.damaged("it has no end")
        if xxhash.xxh3_64_intdigest(self._data[start:end]) != checksum:
            raise self.damaged("its keys have another checksum")
        return start, number

    def damaged(self, reason: str) -> Incomplete:
        """Remove the file, so that the next run recreates it, and return the error."""
        return removed_as_damaged(self._path, reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._data.release()

    def sections(self, key: str) -> Iterator[memoryview]:
        """Yield the sections of a key in the order of writing; they are valid while the container is open."""
        for section in self.unread_sections(key):
            yield section.checked()

    def unread_sections(self, key: str) -> Iterator[Section]:
        """Yield the sections of a key, for reading parts of each."""
        name = key.encode()
        found = bisect_left(range(self._number), name, key=self._name)
        if found == self._number or self._name(found) != name:
            return
        _, _, start, number, checksum = self._record(found)
        index = self._data[start : start + number * 16]
        if xxhash.xxh3_64_intdigest(index) != checksum:
            raise self.damaged("its index has another checksum")
        columns = struct.unpack(f"<{2 * number}Q", index)
        for offset, length in zip(columns[:number], columns[number:], strict=True):
            end = offset + length
            hashes = end + -length % _ALIGNMENT
            blocks = -(-length // _BLOCK_BYTES)
            yield Section(self, self._data[offset:end], self._data[hashes : hashes + blocks * _HASH_BYTES])

    def __iter__(self) -> Iterator[str]:
        """Yield the keys, in order."""
        return (self._name(number).decode() for number in range(self._number))

    def _record(self, number: int) -> tuple[int, int, int, int, int]:
        return _KEY.unpack_from(self._data, self._keys + number * _KEY.size)

    def _name(self, number: int) -> bytes:
        start, length, *_ = self._record(number)
        return bytes(self._data[self._names + start : self._names + start + length])

    def forget(self) -> None:
        """Free the memory of sections read so far; sections still in use are read again."""
        if hasattr(mmap, "MADV_DONTNEED"):  # Windows counts such memory differently
            self._map.madvise(mmap.MADV_DONTNEED)


def is_container(path: Path) -> bool:
    """Return whether a file is a container with a valid end; sections are not read. A damaged one is removed."""
    try:
        with Container(path):
            return True
    except (Incomplete, OSError):
        return False
