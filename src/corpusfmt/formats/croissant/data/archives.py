"""Internal: Archives read in place to their end, in bounded memory: nothing is ever written to disk."""

from __future__ import annotations

import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, BinaryIO, Self, cast

from msgspec import Struct

from corpusfmt.formats.croissant.data.batches import NotRead
from corpusfmt.io.limits import Account, meter
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_content

READ_SIZE = 256 * 1024
# Limits of what must be in memory at once: names and their extensions, and the directory of a zip archive.
_MOST_HEADER_BYTES = 1024 * 1024
_MOST_DIRECTORY_BYTES = 16 * 1024 * 1024

# The standard library's readers raise various exceptions for damage.
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error,
    EOFError, OSError, RuntimeError, ValueError, OverflowError, IndexError,
)  # fmt: skip


class ArchiveFault(Exception):
    """An archive is corrupt; `minor` if all members could be read and only the data around them is wrong."""

    def __init__(self, reason: str, *, minor: bool = False) -> None:
        super().__init__(reason)
        self.minor = minor


class Member(Struct, frozen=True):
    """One regular file in an archive: its path as in the archive, without `./`."""

    path: str
    #: May also raise `ArchiveFault` and `NotRead`.
    chunks: Iterator[bytes]


def is_archive(head: bytes) -> bool:
    """Return whether the first 512 bytes of a file belong to a supported archive."""
    is_zip = head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
    return is_zip or head[257:262] == b"ustar" or codec_of_content(head) != "plain"


def members(
    open_file: Callable[[], BinaryIO], path: str, selects: Callable[[str], bool] = lambda _path: True
) -> Iterator[Member]:
    """Yield the files of a zip or tar (plain, gz, bz2, xz, zst). The rest of a member is read before the next one.

    `selects` tests the paths of members; the others are skipped and not checked. Raises `ArchiveFault` at the damage, after
    the members before it; `NotRead` for a method of compression that is not read; `LimitReached` for `path` at a limit of
    the run.
    """
    with open_file() as file:
        head = file.read(8)
        file.seek(0)
        found = _zip_members(file, path, selects) if head.startswith(b"PK") else _tar_members(file, head, path, selects)
        yield from _whole(found)


def _whole(found: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of a reader, and convert its exceptions to `ArchiveFault`."""
    try:
        yield from found
    except StreamFault as fault:
        raise ArchiveFault(fault.reason) from fault
    except _DAMAGE as error:
        raise ArchiveFault(f"{type(error).__name__}: {error}") from error


def _read_to_its_end(chunks: Iterator[bytes]) -> None:
    for _ in chunks:
        pass


def _path_in(name: str) -> str:
    return name.removeprefix("./")


# --- zip ---


class _Directory:
    """A zip archive as a file that limits the size of the directory, which is read at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1, /) -> bytes:
        data = self._file.read(min(size, _MOST_DIRECTORY_BYTES + 1) if size >= 0 else _MOST_DIRECTORY_BYTES + 1)
        if len(data) > _MOST_DIRECTORY_BYTES:
            raise ArchiveFault(f"the directory has more than {_MOST_DIRECTORY_BYTES:,} bytes")
        return data


def _zip_members(file: BinaryIO, path: str, selects: Callable[[str], bool]) -> Iterator[Member]:
    account = Account(path, file=file)
    with zipfile.ZipFile(cast("BinaryIO", _Directory(file))) as archive:
        stored = sorted(archive.infolist(), key=attrgetter("header_offset"))
        ends = [*(info.header_offset for info in stored[1:]), archive.start_dir]
        end_of = dict(zip(map(id, stored), ends, strict=False))
        for info in archive.infolist():
            if not info.is_dir() and selects(_path_in(info.filename)):
                chunks = _whole(_content(file, archive, info, end_of[id(info)], account))
                yield Member(_path_in(info.filename), chunks)
                _read_to_its_end(chunks)
        _check_frame(file, archive)


_DIRECTORY_END = b"PK\x05\x06"
_DIRECTORY_END_BYTES = 22
# Including the longest possible comment.
_MOST_DIRECTORY_END = _DIRECTORY_END_BYTES + 65_535


def _check_frame(file: BinaryIO, archive: zipfile.ZipFile) -> None:
    """Raise a minor `ArchiveFault` for bytes before the first member or after the comment that ends an archive."""
    before = min((info.header_offset for info in archive.infolist()), default=0)
    if before:
        raise ArchiveFault(f"has data before its first member ({before} B)", minor=True)
    size = file.seek(0, os.SEEK_END)
    file.seek(-min(size, _MOST_DIRECTORY_END), os.SEEK_END)
    end = file.read()
    found = end.rfind(_DIRECTORY_END)
    after = len(end) - found - _DIRECTORY_END_BYTES - int.from_bytes(end[found + 20 : found + 22], "little")
    if after > 0:
        raise ArchiveFault(f"has data after its end ({after} B)", minor=True)


_LOCAL_HEADER = struct.Struct("<26xHH")
_ENCRYPTED = 0x1
_MOST_CONTENT = 1 << 60


def _content(
    file: BinaryIO, archive: zipfile.ZipFile, info: zipfile.ZipInfo, end: int, account: Account
) -> Iterator[bytes]:
    """Yield the content of a member that ends before `end`; the standard library checks its CRC.

    It decodes other methods than deflate without a bound on memory.
    """
    if info.flag_bits & _ENCRYPTED:
        raise ArchiveFault(f"`{info.filename}` is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        reason = f"`{info.filename}` has the compression method {info.compress_type}: pack it with deflate"
        raise NotRead(f"`{account.path}` is not read: {reason}", account.path)
    file.seek(info.header_offset)
    name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if file.tell() + name + extra + info.compress_size > end:
        raise zipfile.BadZipFile(f"`{info.filename}` overlaps the next member")
    account.add(info.compress_size, 0)
    size = 0
    # The standard library stops at the size in the directory, even if there is more.
    stated, info.file_size = info.file_size, _MOST_CONTENT
    with archive.open(info) as stream:
        while data := stream.read(READ_SIZE):
            size += len(data)
            account.add(0, len(data))
            yield data
        decoder = getattr(stream, "_decompressor", None)  # None for a stored member
    if decoder is not None and not decoder.eof:
        raise ArchiveFault(f"`{info.filename}` is truncated")
    if size != stated:
        raise ArchiveFault(f"`{info.filename}` has {size:,} bytes, the directory says {stated:,}")


# --- tar ---


# These exceptions are public, but missing from the stubs.
_TARFILE: Any = tarfile


class _Info(tarfile.TarInfo):
    """A member with a header of limited size, not a sparse file.

    A damaged header is a fault; `tarfile` takes it for the end of the archive unless it is the first.
    """

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(archive)
        except (_TARFILE.InvalidHeaderError, _TARFILE.TruncatedHeaderError) as error:
            raise ArchiveFault(f"{error} at byte {archive.offset}") from error
        except _TARFILE.EOFHeaderError:
            cast("_Archive", archive).ended = True
            raise

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        assert isinstance(archive, _Archive)
        archive.hold(self)
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise ArchiveFault(_SPARSE)
        return cast("tarfile.TarInfo", super()._proc_member(archive))  # type: ignore[misc]

    def _refuse_sparse(self, *_: object) -> None:
        raise ArchiveFault(_SPARSE)

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


class _Archive(tarfile.TarFile):
    """An archive with limited headers: the global ones, and the ones before each member."""

    tarinfo = _Info
    #: Whether the blocks of zeros at the end of the archive were found.
    ended = False
    _global = _held = 0

    def hold(self, info: tarfile.TarInfo) -> None:
        self._held = self._held + info.size if info.type in _EXTENSIONS else self._global
        self._global += info.size if info.type == tarfile.XGLTYPE else 0
        if self._held > _MOST_HEADER_BYTES:
            raise ArchiveFault(f"headers of {self._held:,} bytes, the limit is {_MOST_HEADER_BYTES:,}")


_SPARSE = "a member is a sparse file; pack it without --sparse"
_EXTENSIONS = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip


class _Unpacked:
    """Chunks as a sequential file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int = READ_SIZE, /) -> bytes:
        pieces = []
        while size and (self._rest or (rest := next(self._chunks, b""))):
            data = self._rest or rest
            pieces.append(data[:size])
            self._rest = data[size:]
            size -= len(pieces[-1])
        return b"".join(pieces)


def _tar_members(file: BinaryIO, head: bytes, path: str, selects: Callable[[str], bool]) -> Iterator[Member]:
    chunks = iter(Chunks(file, codec_of_content(head), path))
    with _Archive.open(fileobj=cast("Any", _Unpacked(chunks)), mode="r|", bufsize=READ_SIZE) as archive:
        while (info := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]
            if info.isreg() and selects(_path_in(info.name)):  # links and devices have no content
                found = _whole(_pieces(archive.extractfile(info)))
                yield Member(_path_in(info.name), found)
                _read_to_its_end(found)
        ended = archive.ended
    _read_to_its_end(chunks)
    if not ended:
        raise ArchiveFault("ends without an end-of-archive block: members may be missing", minor=True)


def _pieces(stream: Any) -> Iterator[bytes]:
    while data := stream.read(READ_SIZE):
        meter().check()
        yield data
