"""Internal: Where loaders of text by paragraph split a document: for them, LF, CR and CR LF all end a line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

_ENDS = re.compile(rb"[\r\n]+")
# Two line ends in a row that are not LF LF.
_EMPTY_LINE = re.compile(rb"[\r\n]\r")
# A document of carriage returns alone, which becomes no row.
_ONLY_RETURNS = re.compile(rb"\n\n\r[\r\n]*\n\n")


def split_at(documents: bytes) -> int:
    """Return the place where a document is split, -1 if each of them becomes one row; LF LF separates documents.

    An empty line at the end counts, because it may become a row if no other document follows.
    """
    if b"\r" not in documents:
        return -1
    for ends in _ENDS.finditer(documents, len(documents) - len(documents.lstrip(b"\r\n"))):
        pattern = _ONLY_RETURNS if b"\n\n" in ends[0] and ends.end() < len(documents) else _EMPTY_LINE
        if found := pattern.search(ends[0]):
            return ends.start() + found.start() + (2 if pattern is _ONLY_RETURNS else 1)
    return -1 if documents.strip(b"\r\n") else 0


class Splits:
    """Whether a document is split in a text that is written in pieces, which end anywhere."""

    def __init__(self) -> None:
        self._found = False
        self._held = b""

    def add(self, data: bytes) -> None:
        """Look at the next piece."""
        if self._found or not data:
            return
        # The line ends at the end of a piece may go on in the next one, and the byte before them says that a text has begun.
        size = len(data.rstrip(b"\r\n"))
        if size and b"\r" not in data and b"\r" not in self._held:
            self._held = data[size - 1 :]
            return
        data = self._held + data
        size = len(data.rstrip(b"\r\n"))
        self._found = split_at(data[:size]) >= 0
        self._held = data[max(size - 1, 0) :]

    def finish(self) -> bool:
        """Return whether a document is split, now that no other piece follows."""
        return self._found or split_at(self._held) >= 0


def first_split(chunks: Iterable[bytes]) -> tuple[int, int] | None:
    """Return the line, from 1, and its first byte at which a text of documents is first split; None if nowhere."""
    line, byte, held = 1, 0, b""
    for chunk in chain(chunks, [b""]):
        data = held + chunk
        # The line ends at the end of a chunk may go on in the next one.
        size = len(data.rstrip(b"\r\n")) if chunk else len(data)
        if (place := split_at(data[:size])) >= 0:
            return line + data.count(b"\n", 0, place), byte + data.rfind(b"\n", 0, place) + 1
        start = max(size - 1, 0)
        line, byte, held = line + data.count(b"\n", 0, start), byte + start, data[start:]
    return None
