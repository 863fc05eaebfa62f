"""Internal: SHA-256. OpenSSL takes long to load, and many runs hash nothing: it is imported at the first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash


def sha256(data: bytes = b"") -> _Hash:
    """Return the SHA-256 of data, to which more can be added."""
    import hashlib  # noqa: PLC0415

    return hashlib.sha256(data)
