"""Internal: Read WET files as goclassy does, the program of Ortiz Suarez, Sagot and Romary (2019).

Where goclassy ends with an error (a damaged gzip stream, a file without kept lines), this reader reports the file or
reads nothing from it, and the other files are used.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from corpusfmt.pipeline.process.wet import MOST_RECORD_BYTES, ChunkFile, WetRecord

_VERSION_LINE = b"WARC/1.0\r\n"
_LENGTH_NAME = b"content-length:"
_LENGTH = re.compile(rb"[+-]?[0-9]{1,18}")
_MOST_LINE_BYTES = 1024 * 1024


class _Unreadable(Exception):
    """A record at which goclassy stops reading the file."""


@dataclass(slots=True)
class GoclassyReader:
    """Reads records of every type, up to the end or to the first unreadable one.

    Afterwards `cut` says why the rest of the file was not read, if it was not, and `unended` counts the last lines of
    records that have no line feed: they are not read either.
    """

    chunks: Iterable[bytes]
    cut: str | None = None
    unended: int = 0
    _file: io.BufferedReader = field(init=False)

    def __post_init__(self) -> None:
        self._file = io.BufferedReader(ChunkFile(self.chunks))

    def records(self) -> Iterator[WetRecord]:
        """Yield the records without headers, which goclassy drops."""
        number = 0
        try:
            while version := self._file.readline(_MOST_LINE_BYTES):
                number += 1
                text, _, rest = self._body(version).rpartition(b"\n")
                self.unended += bool(rest)
                yield WetRecord(b"{}", text)
                # With any content: goclassy takes them for the empty lines that end a record.
                self._skip_line()
                self._skip_line()
        except _Unreadable as reason:
            self.cut = f"record {number} {reason}"

    def _body(self, version: bytes) -> bytes:
        if version != _VERSION_LINE:
            raise _Unreadable("does not start with the line WARC/1.0, ended by CR LF")
        length = -1
        while (line := self._file.readline(_MOST_LINE_BYTES)) != b"\r\n":
            if not line.endswith(b"\n"):
                raise _Unreadable("has a header that does not end")
            if line.lower().startswith(_LENGTH_NAME):
                value = line[len(_LENGTH_NAME) :].strip()
                if length > 0 or not _LENGTH.fullmatch(value):
                    raise _Unreadable("does not have exactly one Content-Length that is a number")
                length = int(value)
        if not 0 <= length <= MOST_RECORD_BYTES:
            raise _Unreadable(f"does not have a Content-Length from 0 to {MOST_RECORD_BYTES:,}")
        body = self._file.read(length)
        if len(body) < length:
            raise _Unreadable(f"has {len(body):,} bytes, expected {length:,} (Content-Length)")
        return body

    def _skip_line(self) -> None:
        while (piece := self._file.readline(_MOST_LINE_BYTES)) and not piece.endswith(b"\n"):
            pass
