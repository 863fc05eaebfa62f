"""Read WET files: Common Crawl's WARC files of extracted text.

Canonical files (WARC/1.0, CRLF header lines, exact Content-Length) are framed here; from the first record on that is
not canonical, warcio reads the rest of the file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from corpusfmt.io.streams import GZIP_MAGIC, Chunks, Reader, codec_of_name
from corpusfmt.pipeline.hot import wet_record
from corpusfmt.pipeline.rules import WetDefect

_VERSION_LINE = b"WARC/1.0\r\n"
_END_OF_HEADER = b"\r\n\r\n"
_END_OF_RECORD = b"\r\n\r\n"
_MOST_HEADER_BYTES = 64 * 1024
#: A record beyond this is no page: Common Crawl cuts pages at 1 MiB.
MOST_RECORD_BYTES = 256 * 1024 * 1024


class WetRecord(NamedTuple):
    """One `conversion` record: its headers with lower-case names, in their order, and its text as bytes."""

    headers: dict[str, str]
    text: bytes


class _NotCanonical(Exception):
    pass


def wet_records(open_source: Callable[[], Reader], name: str) -> Iterator[WetRecord]:
    """Yield the conversion records of a WET file, which may be opened a second time; `name` says if it is compressed.

    Raises `WetDefect` for what is no WET, `StreamFault` for a compressed stream that does not read to its end.
    """
    seen = 0
    try:
        for headers, text in _canonical(_Stream(wet_chunks(open_source(), name))):
            seen += 1
            yield from _conversion(headers, text)
    except _NotCanonical:
        yield from _by_warcio(wet_chunks(open_source(), name), skip=seen)
    else:
        if not seen:
            raise WetDefect("not-warc", "it is empty")


def wet_chunks(source: Reader, name: str) -> Chunks:
    """Return the chunks of a file: compressed where its name says so, or where its content does."""
    head = source.read(len(GZIP_MAGIC))
    compressed = codec_of_name(name) == "gzip" or head == GZIP_MAGIC
    return Chunks(_Prefixed(head, source), "gzip" if compressed else "plain")


@dataclass(slots=True)
class _Prefixed:
    """A source whose first bytes were read to see what it is."""

    head: bytes
    source: Reader

    def read(self, size: int = -1, /) -> bytes:
        head, self.head = self.head, b""
        return head + self.source.read(size)


class _Stream:
    """Takes lines and lengths off a stream of chunks."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._start = 0

    def _fill(self) -> bool:
        chunk = next(self._chunks, b"")
        self._buffer = self._buffer[self._start :] + chunk
        self._start = 0
        return bool(chunk)

    def whole_record(self) -> tuple[dict[str, str], bytes] | None:
        """Take a record that is canonical and stands in the buffer as a whole. None says nothing."""
        if self._start == len(self._buffer):
            self._fill()
        found = wet_record(self._buffer, self._start)
        if found is None:
            return None
        headers, text, self._start = found
        return headers, text

    def until(self, mark: bytes, limit: int) -> bytes | None:
        """Take up to and including a mark; None at the end of the stream. Raises where it is not within the limit."""
        while (end := self._buffer.find(mark, self._start)) < 0:
            if len(self._buffer) - self._start > limit:
                raise _NotCanonical
            if not self._fill():
                if self._start < len(self._buffer):
                    raise _NotCanonical
                return None
        return self._take(end + len(mark) - self._start)

    def exactly(self, length: int) -> bytes:
        """Take a number of bytes. Raises where the stream ends before."""
        while len(self._buffer) - self._start < length:
            if not self._fill():
                raise _NotCanonical
        return self._take(length)

    def _take(self, length: int) -> bytes:
        taken = self._buffer[self._start : self._start + length]
        self._start += length
        return taken


def _canonical(stream: _Stream) -> Iterator[tuple[dict[str, str], bytes]]:
    while True:
        while (record := stream.whole_record()) is not None:
            yield record
        header = stream.until(_END_OF_HEADER, _MOST_HEADER_BYTES)
        if header is None:
            return
        headers = _header_fields(header)
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > MOST_RECORD_BYTES:
            raise _NotCanonical
        text = stream.exactly(int(length))
        if stream.exactly(len(_END_OF_RECORD)) != _END_OF_RECORD:
            raise _NotCanonical
        yield headers, text


def _header_fields(header: bytes) -> dict[str, str]:
    if not header.startswith(_VERSION_LINE):
        raise _NotCanonical
    try:
        lines = header[len(_VERSION_LINE) : -len(_END_OF_HEADER)].decode("utf-8").split("\r\n")
    except UnicodeDecodeError:
        raise _NotCanonical from None
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name = name.lower()
        if not colon or name in headers or line[0] in " \t" or "\n" in line:
            raise _NotCanonical
        headers[name] = value.strip(" \t")
    return headers


def _conversion(headers: dict[str, str], text: bytes) -> Iterator[WetRecord]:
    kind = headers.get("warc-type")
    if kind == "conversion":
        yield WetRecord(headers, text)
    elif kind in {"response", "resource", "request"}:
        raise WetDefect(
            "not-wet", f"it holds `{kind}` records: a WARC file of fetched pages, not a WET file of their text"
        )


class ChunkFile(io.RawIOBase):
    """Chunks as a file, for readers that want one."""

    def __init__(self, chunks: Chunks) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        if not self._rest:
            self._rest = next(self._chunks, b"")
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


def _by_warcio(chunks: Chunks, skip: int) -> Iterator[WetRecord]:
    from warcio.archiveiterator import ArchiveIterator  # noqa: PLC0415 - slow to import, rarely needed
    from warcio.exceptions import ArchiveLoadFailed  # noqa: PLC0415

    stream = io.BufferedReader(ChunkFile(chunks))
    start = stream.peek(len(_VERSION_LINE))[:16]
    if not start.startswith(b"WARC/"):
        raise WetDefect("not-warc", f"it starts with {start[:16]!r}" if start else "it is empty")
    if not start.partition(b"\n")[0].endswith(b"\r"):
        raise WetDefect("framing", "its header lines end with LF: the WARC format asks for CRLF")
    taken = 0
    try:
        for record in ArchiveIterator(stream):
            taken += 1
            headers = {name.lower(): value for name, value in record.rec_headers.headers}
            text = _whole_text(record, headers.get("content-length", ""), taken)
            if taken > skip:
                yield from _conversion(headers, text)
    except (ArchiveLoadFailed, ValueError) as error:
        reason = " ".join(str(error).split())
        raise WetDefect("framing", f"after {taken} records: {reason}") from error


def _whole_text(record: Any, declared: str, number: int) -> bytes:
    text: bytes = record.content_stream().read(MOST_RECORD_BYTES + 1)
    if len(text) > MOST_RECORD_BYTES:
        raise WetDefect("framing", f"record {number} has more than {MOST_RECORD_BYTES} bytes")
    if not declared.isdigit():
        raise WetDefect("framing", f"record {number} has no Content-Length: the file is cut short, or not WARC")
    if len(text) < int(declared):
        reason = f"record {number} has {len(text)} bytes, its Content-Length says {declared}: the file is cut short"
        raise WetDefect("framing", reason)
    return text
