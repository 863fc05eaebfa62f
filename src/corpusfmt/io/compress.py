"""Internal: Compressed outputs without time or name, so that bytes depend only on content; measured while written."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast, get_args

from msgspec import Struct

from corpusfmt.io.loading import Seen
from corpusfmt.model import UsageError
from corpusfmt.wording import unknown

if TYPE_CHECKING:
    from hashlib import _Hash

_isal: Any
try:
    from isal import isal_zlib as _isal
except ImportError:  # no wheel for this platform: slower, other bytes, same content
    _isal = None

_GZIP_WBITS = 31
_BUFFER = 256 * 1024

#: A compressor and its level as in manifests. Compressors give different bytes for the same content.
CompressionName = Literal[
    "isal-0", "isal-1", "isal-2", "isal-3",
    "zlib-1", "zlib-2", "zlib-3", "zlib-4", "zlib-5", "zlib-6", "zlib-7", "zlib-8", "zlib-9",
]  # fmt: skip

#: The default: the fastest available.
COMPRESSION: CompressionName = "isal-3" if _isal else "zlib-6"
_SCRATCH: CompressionName = "isal-1" if _isal else "zlib-1"


def scratch_member(data: bytes) -> bytes:
    """Return one gzip member, compressed fast, for temporary data."""
    compressor = compressor_of(_SCRATCH)
    return bytes(compressor.compress(data)) + bytes(compressor.flush())


class FileFacts(Struct, frozen=True, omit_defaults=True, gc=False):
    """Size in bytes and SHA-256 (hexadecimal) of a file on disk.

    `documents` are counted at one of the files that were written in step. `columns` are those of rows, as loaders read them;
    `by_line` is whether each line of a text is a document. `untyped` are fields of a description whose values may have
    another type than is usual; None if nobody looked. `splits` is whether loaders make several rows of a text.
    """

    size: int
    sha256: str
    documents: int | None = None
    columns: Seen | None = None
    by_line: bool = False
    splits: bool = False
    untyped: tuple[str, ...] | None = None


class GzipWriter:
    """Writes one gzip member to an open file."""

    def __init__(self, file: BinaryIO, compression: CompressionName = COMPRESSION) -> None:
        self._file = file
        self._compressor = compressor_of(compression)
        self._digest = sha256()
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._size = 0

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self._waiting_size += len(data)
        if self._waiting_size >= _BUFFER:
            self._compress()

    def write_pieces(self, data: bytes, separator: bytes = b"\n", kept: int = 1) -> None:
        """Write pieces at once: the compressor gets the same bytes at a time as if each was written.

        They end after `kept` bytes of each separator, the last one at the end of `data`.
        """
        start = 0
        while self._waiting_size + len(data) - start >= _BUFFER:
            found = data.find(separator, start + _BUFFER - self._waiting_size - kept)
            end = len(data) if found < 0 else found + kept
            self._waiting.append(data[start:end])
            self._compress()
            start = end
        self._waiting.append(data[start:])
        self._waiting_size += len(data) - start

    def finish(self) -> FileFacts:
        """End the member; return the size and digest of the compressed bytes."""
        self._compress()
        self._emit(self._compressor.flush())
        return FileFacts(self._size, self._digest.hexdigest())

    def _compress(self) -> None:
        self._emit(self._compressor.compress(b"".join(self._waiting)))
        self._waiting.clear()
        self._waiting_size = 0

    def _emit(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self._size += len(data)


def compression_named(name: str) -> CompressionName:
    """Return a compressor's name. Raises `UsageError` if it is unknown or not available on this platform."""
    known = get_args(CompressionName)
    if name not in known:
        raise UsageError(unknown("compression", name, known))
    found = cast("CompressionName", name)
    compressor_of(found)
    return found


def compressor_of(name: CompressionName) -> Any:
    """Return a new compressor of one gzip member. Raises `UsageError` if it is not available on this platform."""
    library, _, level = name.partition("-")
    if library == "isal" and _isal is None:
        raise UsageError(f"isal is not available on this platform: use a zlib level instead of {name}")
    module = _isal if library == "isal" else zlib
    return module.compressobj(int(level), module.DEFLATED, _GZIP_WBITS)


def sha256(data: bytes = b"") -> _Hash:
    """Return the SHA-256 of data, to which more can be added."""
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(data)
