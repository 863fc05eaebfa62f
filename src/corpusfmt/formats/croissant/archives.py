"""Archives read in place, to their end and in bounded memory: nothing is ever written to disk."""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

READ_SIZE = 256 * 1024
#: An archive that grows beyond this many bytes for each of its own, and beyond the size below, is taken for a bomb.
MAX_RATIO = 200
MIN_BOMB = 256 * 1024 * 1024

# What the readers of the standard library raise for damage, each in its own way.
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, RuntimeError, NotImplementedError, ValueError, OverflowError, IndexError,
)  # fmt: skip


class ArchiveFault(Exception):
    """An archive does not read to its end."""


@dataclass(frozen=True, slots=True)
class Member:
    """One regular file in an archive: its path as the archive has it, without `./`."""

    path: str
    #: Raises `ArchiveFault` too, as they are read before their archive goes on.
    chunks: Iterator[bytes]


def is_archive(head: bytes) -> bool:
    """Tell whether the first 512 bytes of a file are those of an archive that can be read here."""
    return (
        head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b", b"BZh", b"\xfd7zXZ")) or head[257:262] == b"ustar"
    )


def _any(_path: str) -> bool:
    return True


def members(open_file: Callable[[], BinaryIO], size: int, selects: Callable[[str], bool] = _any) -> Iterator[Member]:
    """Yield the files of a zip or tar (plain, gz, bz2, xz). What is not read of a member is read before the next.

    `selects` says by their path which members are wanted; the others are passed over, and not judged.
    Raises `ArchiveFault` at the damage, after the members before it.
    """
    budget = _Budget(max(size * MAX_RATIO, MIN_BOMB))
    with open_file() as file:
        head = file.read(4)
        file.seek(0)
        try:
            if head.startswith(b"PK"):
                yield from _zip_members(file, budget, selects)
            else:
                yield from _tar_members(file, budget, selects)
        except _DAMAGE as error:
            raise ArchiveFault(f"{type(error).__name__}: {error}") from error


class _Budget:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._read = 0

    def chunks(self, stream: Any) -> Iterator[bytes]:
        while data := _read(stream):
            self._read += len(data)
            if self._read > self._limit:
                raise ArchiveFault(f"it grows to more than {self._limit} bytes, {MAX_RATIO} times its size")
            yield data


def _read(stream: Any) -> bytes:
    try:
        data: bytes = stream.read(READ_SIZE)
    except _DAMAGE as error:
        raise ArchiveFault(f"{type(error).__name__}: {error}") from error
    return data


def _read_to_its_end(chunks: Iterator[bytes]) -> None:
    for _ in chunks:
        pass


def _path_in(name: str) -> str:
    return name.removeprefix("./")


def _zip_members(file: BinaryIO, budget: _Budget, selects: Callable[[str], bool]) -> Iterator[Member]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            if not info.is_dir() and selects(_path_in(info.filename)):
                with archive.open(info) as stream:  # its CRC is checked where it ends
                    chunks = budget.chunks(stream)
                    yield Member(_path_in(info.filename), chunks)
                    _read_to_its_end(chunks)


def _tar_members(file: BinaryIO, budget: _Budget, selects: Callable[[str], bool]) -> Iterator[Member]:
    with tarfile.open(fileobj=cast("Any", file), mode="r|*") as archive:
        for info in archive:
            if info.isreg() and selects(_path_in(info.name)):  # links and devices hold nothing
                stream = archive.extractfile(info)
                chunks = budget.chunks(stream)
                yield Member(_path_in(info.name), chunks)
                _read_to_its_end(chunks)
