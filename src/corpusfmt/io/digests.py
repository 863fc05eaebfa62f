"""Internal: Size and SHA-256 of existing files."""

from __future__ import annotations

from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import DigestReader


def facts_of(entry: Entry) -> FileFacts:
    """Return size and SHA-256 of a file. Raises `OSError`."""
    with entry.open() as file:
        reader = DigestReader(file)
        reader.drain()
        return FileFacts(reader.size, reader.sha256)
