"""Internal: Compressed outputs whose bytes depend on their content alone: no time, no name; sized and hashed while
written.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast, get_args

from msgspec import Struct

from corpusfmt.model import UsageError
from corpusfmt.wording import clipped

_isal: Any
try:
    from isal import isal_zlib as _isal
except ImportError:  # no wheel for this platform: larger effort, other bytes, the same content
    _isal = None

_GZIP_WBITS = 31
_BUFFER = 256 * 1024

#: A compressor and its level, as manifests name it: another one gives other bytes for the same content.
CompressionName = Literal[
    "isal-0", "isal-1", "isal-2", "isal-3",
    "zlib-1", "zlib-2", "zlib-3", "zlib-4", "zlib-5", "zlib-6", "zlib-7", "zlib-8", "zlib-9",
]  # fmt: skip

#: What is used where nothing else is asked for: the fastest there is.
COMPRESSION: CompressionName = "isal-3" if _isal else "zlib-6"
_SCRATCH: CompressionName = "isal-1" if _isal else "zlib-1"


def scratch_member(data: bytes) -> bytes:
    """Return one gzip member, made fast: for what is soon read again and then thrown away."""
    compressor = compressor_of(_SCRATCH)
    return bytes(compressor.compress(data)) + bytes(compressor.flush())


class FileFacts(Struct, frozen=True):
    """Size in bytes and SHA-256 (hexadecimal) of a file as it lies on disk."""

    size: int
    sha256: str


def all_there(root: Path, files: Mapping[str, FileFacts]) -> bool:
    """Tell whether files below a folder are there, in the sizes that they are said to have."""
    paths = ((root / path, facts.size) for path, facts in files.items())
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


class GzipWriter:
    """One gzip member in a file that somebody else opens and closes."""

    def __init__(self, file: BinaryIO, compression: CompressionName = COMPRESSION) -> None:
        self._file = file
        self._compressor = compressor_of(compression)
        self._digest = hashlib.sha256()
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._size = 0

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self._waiting_size += len(data)
        if self._waiting_size >= _BUFFER:
            self._compress()

    def finish(self) -> FileFacts:
        """End the member; return size and digest of the compressed bytes."""
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
    """Return a compressor's name. Raises `UsageError` for an unknown one, and for one that this platform does not have."""
    known = get_args(CompressionName)
    if name not in known:
        raise UsageError(f"unknown compression {clipped(name)!r}; known: {', '.join(known)}")
    found = cast("CompressionName", name)
    compressor_of(found)
    return found


def compressor_of(name: CompressionName) -> Any:
    """Return a new compressor into one gzip member. Raises `UsageError` where this platform does not have it."""
    library, _, level = name.partition("-")
    if library == "isal" and _isal is None:
        raise UsageError(f"there is no isal on this platform: use a zlib level instead of {name}")
    module = _isal if library == "isal" else zlib
    return module.compressobj(int(level), module.DEFLATED, _GZIP_WBITS)
