"""Internal: Archives read in place to their end, in bounded memory: nothing is ever written to disk."""

from __future__ import annotations

import bz2
import lzma
import os
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, BinaryIO, NamedTuple, Self, cast

from msgspec import Struct

from corpusfmt.io.limits import Account, meter
from corpusfmt.io.streams import MAX_OUTPUT, Chunks, Codec, StreamFault, codec_of_content, left_in, left_in_zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

READ_SIZE = 256 * 1024
# Limits of what must be in memory at once: names and their extensions, and the directory of a zip archive.
_MOST_HEADER_BYTES = 1024 * 1024
_MOST_DIRECTORY_BYTES = 16 * 1024 * 1024
_MOST_DICTIONARY_BYTES = 128 * 1024 * 1024

# The standard library's readers raise various exceptions for damage.
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, zstd.ZstdError, struct.error,
    EOFError, OSError, RuntimeError, NotImplementedError, ValueError, OverflowError, IndexError,
)  # fmt: skip


class ArchiveFault(Exception):
    """An archive is corrupt; `minor` if all members could be read and only the data around them is wrong."""

    def __init__(self, reason: str, *, minor: bool = False) -> None:
        super().__init__(reason)
        self.minor = minor


class Member(Struct, frozen=True):
    """One regular file in an archive: its path as in the archive, without `./`."""

    path: str
    #: May also raise `ArchiveFault`.
    chunks: Iterator[bytes]


def is_archive(head: bytes) -> bool:
    """Return whether the first 512 bytes of a file belong to a supported archive."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06")) or head[257:262] == b"ustar" or _codec(head) != "plain"


def _codec(head: bytes) -> Codec:
    return "bzip2" if head.startswith(b"BZh") else "xz" if head.startswith(b"\xfd7zXZ") else codec_of_content(head)


def _any(_path: str) -> bool:
    return True


def members(open_file: Callable[[], BinaryIO], path: str, selects: Callable[[str], bool] = _any) -> Iterator[Member]:
    """Yield the files of a zip or tar (plain, gz, bz2, xz, zst). The rest of a member is read before the next one.

    `selects` tests the paths of members; the others are skipped and not checked.
    Raises `ArchiveFault` at the damage, after the members before it; `LimitReached` for `path` at a limit of the run.
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
                chunks = _whole(_content(file, info, end_of[id(info)], account))
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


_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1


def _content(file: BinaryIO, info: zipfile.ZipInfo, end: int, account: Account) -> Iterator[bytes]:
    """Yield the content of a member that ends before `end` in chunks of bounded size, unlike the standard library's, and
    check its CRC.
    """
    if info.flag_bits & _ENCRYPTED:
        raise zipfile.BadZipFile(f"`{info.filename}` is encrypted")
    file.seek(info.header_offset)
    magic, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    if magic != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"`{info.filename}` is not at its offset in the directory")
    if file.seek(name + extra, 1) + info.compress_size > end:
        raise zipfile.BadZipFile(f"`{info.filename}` overlaps the next member")
    checksum = size = before = 0
    for output, taken in _decoded(file, info):
        checksum = zlib.crc32(output, checksum)
        size += len(output)
        account.add(taken - before, len(output))
        before = taken
        if output:
            yield output
    if (checksum, size) != (info.CRC, info.file_size):
        raise zipfile.BadZipFile(f"`{info.filename}` has the wrong CRC-32 or size")


def _decoded(file: BinaryIO, info: zipfile.ZipInfo) -> Iterator[tuple[bytes, int]]:
    """Yield the content of a member, each chunk with the number of compressed bytes consumed."""
    method = _method(file, info)
    left = info.compress_size - method.head
    while taken := file.read(min(left, READ_SIZE)):
        left -= len(taken)
        data: bytes | None = taken
        while data is not None:
            output = method.decoder.decompress(data, MAX_OUTPUT)
            yield output, info.compress_size - left
            if method.decoder.eof:
                return
            data = method.left_in(method.decoder, output)
    if left or not method.needs_no_end:
        raise EOFError(f"`{info.filename}` is truncated")


class _Method(NamedTuple):
    """How a member is decoded: the length of its header, and a decoder as in `io.streams`."""

    decoder: Any
    left_in: Callable[[Any, bytes], bytes | None] = left_in
    head: int = 0
    needs_no_end: bool = False


class _Stored:
    """The decoder of an uncompressed member."""

    needs_input = True
    eof = False

    def decompress(self, data: bytes, _most: int) -> bytes:
        return data


_ZSTANDARD = 93


def _method(file: BinaryIO, info: zipfile.ZipInfo) -> _Method:
    """Return how to decode a member. The file is positioned after its header."""
    if info.compress_type == zipfile.ZIP_STORED:
        return _Method(_Stored(), needs_no_end=True)
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return _Method(zlib.decompressobj(-15), left_in_zlib)
    if info.compress_type == zipfile.ZIP_BZIP2:
        return _Method(bz2.BZ2Decompressor())
    if info.compress_type == _ZSTANDARD:
        return _Method(zstd.ZstdDecompressor())
    if info.compress_type == zipfile.ZIP_LZMA:
        return _lzma(file, ends=bool(info.flag_bits & 0x02))
    raise NotImplementedError(f"`{info.filename}` has the compression method {info.compress_type}")


def _lzma(file: BinaryIO, *, ends: bool) -> _Method:
    """Return how to decode a member with the header of a raw LZMA stream (APPNOTE 5.8.8)."""
    head = file.read(9)
    (properties,) = struct.unpack("<2xH", head[:4])
    dictionary = int.from_bytes(head[5:], "little")
    if properties != 5 or dictionary > _MOST_DICTIONARY_BYTES:
        raise ArchiveFault(f"the LZMA dictionary has {dictionary:,} bytes, the limit is {_MOST_DICTIONARY_BYTES:,}")
    rest, lc = divmod(head[4], 9)
    pb, lp = divmod(rest, 5)
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": max(dictionary, 4096), "lc": lc, "lp": lp, "pb": pb}]
    decoder = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
    return _Method(decoder, head=len(head), needs_no_end=not ends)


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
    chunks = iter(Chunks(file, _codec(head), path))
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
