"""Compressed outputs whose bytes depend on their content alone: no time, no name; sized and hashed while written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, BinaryIO

_GZIP_WBITS = 31
_BUFFER = 256 * 1024
_SCRATCH_LEVEL = 1


def _fastest_compressor() -> tuple[str, Any, int]:
    try:
        from isal import isal_zlib  # noqa: PLC0415
    except ImportError:  # no wheel for this platform: larger effort, other bytes, the same content
        import zlib  # noqa: PLC0415

        return "zlib", zlib, 6
    return "isal", isal_zlib, isal_zlib.ISAL_BEST_COMPRESSION


_NAME, _LIBRARY, LEVEL = _fastest_compressor()

#: Names the compressor in manifests: another one gives other bytes for the same content.
COMPRESSOR = f"{_NAME}-{LEVEL}"


def scratch_member(data: bytes) -> bytes:
    """Return one gzip member, made fast: for what is soon read again and then thrown away."""
    compressor = _compressor(_SCRATCH_LEVEL)
    return bytes(compressor.compress(data)) + bytes(compressor.flush())


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Size in bytes and SHA-256 (hexadecimal) of a file as it lies on disk."""

    size: int
    sha256: str


class GzipWriter:
    """One gzip member in a file that somebody else opens and closes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._compressor = _compressor()
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


def _compressor(level: int = LEVEL) -> Any:
    return _LIBRARY.compressobj(level, _LIBRARY.DEFLATED, _GZIP_WBITS)
