"""Internal: Read WET files, Common Crawl's WARC files of extracted text.

Canonical records (WARC/1.0, CRLF header lines, exact Content-Length) are read in one go. From the first other record on,
warcio parses the headers, record by record. Records are always framed here: warcio's iterator skips the excess of a
record that is longer than its Content-Length, and reads header lines of any length into memory.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

import msgspec
from msgspec import Struct

from corpusfmt.io.streams import ZSTD_MAGIC, ChunkFile, Chunks, Reader, StreamFault, codec_of_content, codec_of_name
from corpusfmt.pipeline.hot import Ints, wet_records
from corpusfmt.pipeline.rules import WetDefect

_VERSION_LINE = b"WARC/1.0\r\n"
_END_OF_HEADER = b"\r\n\r\n"
_END_OF_RECORD = b"\r\n\r\n"
_MOST_HEADER_BYTES = 64 * 1024
_MOST_ODD_HEADER_BYTES = 1024 * 1024
_MOST_DIGITS = 18
#: A larger record is not a page: Common Crawl truncates pages at 1 MiB.
MOST_RECORD_BYTES = 32 * 1024 * 1024
# Records are passed on in batches of this size: a call per page would cost more than its work.
_BATCH_BYTES = 256 * 1024


class WetRecord(NamedTuple):
    """One `conversion` record: its headers, a JSON object with lower-case names in their order, and its text."""

    headers: bytes
    text: bytes


class Batch(NamedTuple):
    """Consecutive records as columns: headers, concatenated texts, and the end of each text.

    A text that is not empty ends with LF here.
    """

    headers: list[bytes]
    text: bytes
    ends: Ints

    @classmethod
    def of(cls, records: Iterable[WetRecord]) -> Batch:
        records = list(records)
        texts = [text if text.endswith(b"\n") or not text else text + b"\n" for _, text in records]
        return cls([headers for headers, _ in records], b"".join(texts), array("q", accumulate(map(len, texts))))

    def records(self) -> Iterator[WetRecord]:
        for headers, start, end in zip(self.headers, (0, *self.ends), self.ends, strict=False):
            yield WetRecord(headers, self.text[start:end])


def batches(records: Iterable[WetRecord]) -> Iterator[Batch]:
    """Yield records in batches."""
    batch: list[WetRecord] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.text)
        if size >= _BATCH_BYTES:
            yield Batch.of(batch)
            batch, size = [], 0
    if batch:
        yield Batch.of(batch)


_DIGEST = re.compile(rb'"warc-(?:block|payload)-digest":"([^":]+):([^"]*)"')
_LENGTH = re.compile(rb'"content-length":"(\d+)"')
_ALGORITHMS = {b"md5", b"sha1", b"sha224", b"sha256", b"sha384", b"sha512"}


class Digests(Struct):
    """Compares records with the digests in their headers (WARC 1.1, sections 5.8 and 5.9), in hexadecimal or base32.

    The payload of a conversion record is its block. Algorithms that `hashlib` does not know are not judged.
    """

    #: The number of records with a false digest, and of the first of them, from 1.
    false: int = 0
    first: int = 0
    _seen: int = 0

    def pages(self, batches: Iterable[Batch], dropped: Counter[str]) -> Iterator[Batch]:
        """Yield the records whose digests are true or missing, and count the lines of the others."""
        for batch in batches:
            kept = []
            for number, record in enumerate(batch.records(), self._seen + 1):
                if _is_false(record):
                    self.first = self.first or number
                    self.false += 1
                    dropped["of a false digest"] += record.text.count(b"\n")
                else:
                    kept.append(record)
            self._seen += len(batch.headers)
            yield batch if len(kept) == len(batch.headers) else Batch.of(kept)


def _is_false(record: WetRecord) -> bool:
    digests = set(_DIGEST.findall(record.headers))
    length = _LENGTH.search(record.headers) if digests else None
    for algorithm, value in digests:
        name = algorithm.lower().replace(b"-", b"")
        if length is None or name not in _ALGORITHMS:
            continue
        # Without the LF that a batch may have added.
        digest = hashlib.new(name.decode(), record.text[: int(length[1])], usedforsecurity=False)
        said = value.rstrip(b"=").lower()
        if said != digest.hexdigest().encode() and said != base64.b32encode(digest.digest()).rstrip(b"=").lower():
            return True
    return False


class _NotCanonical(Exception):
    pass


def wet_batches(
    open_source: Callable[[], Reader], name: str, forgiven: list[StreamFault] | None = None
) -> Iterator[Batch]:
    """Yield the conversion records of a WET file, which may be opened twice; `name` shows its compression.

    `forgiven` is as for `wet_chunks`. Raises `WetDefect` if the file is not WET, `StreamFault` for a compressed stream
    that cannot be read to its end.
    """
    seen = 0
    try:
        for records, batch in _canonical(_Stream(wet_chunks(open_source(), name, forgiven))):
            seen += records
            yield batch
    except _NotCanonical:
        yield from batches(_by_warcio(wet_chunks(open_source(), name, forgiven), skip=seen))
    else:
        if not seen:
            raise WetDefect("not-warc", "the file is empty")


def wet_chunks(source: Reader, name: str, forgiven: list[StreamFault] | None = None) -> Iterator[bytes]:
    """Yield the chunks of a file, decompressed if its name or its content shows compression.

    Zero bytes after the last member, as block devices pad files, are harmless: they are added to `forgiven`.
    """
    head = source.read(len(ZSTD_MAGIC))
    shown = codec_of_content(head)
    try:
        yield from Chunks(_Prefixed(head, source), codec_of_name(name) if shown == "plain" else shown, name)
    except StreamFault as fault:
        if fault.kind != "padding":
            raise
        if forgiven is not None:
            forgiven[:] = [fault]


class _Prefixed(Struct):
    """A source whose first bytes were read to detect compression."""

    head: bytes
    source: Reader

    def read(self, size: int = -1, /) -> bytes:
        head, self.head = self.head, b""
        return head + self.source.read(size)


class _Stream:
    """Takes lines and byte counts off a stream of chunks."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._buffer = b""
        self._start = 0

    def _fill(self, least: int = 1) -> bool:
        """Read at least `least` more bytes, up to the end of the stream. Return whether there were any."""
        pieces = [self._buffer[self._start :]]
        while least > 0 and (chunk := next(self._chunks, b"")):
            pieces.append(chunk)
            least -= len(chunk)
        self._buffer = b"".join(pieces)
        self._start = 0
        return len(pieces) > 1

    def whole_records(self) -> tuple[int, Batch]:
        """Take the complete canonical records of the buffer, with their number. None are taken if the next is not one."""
        missing = _BATCH_BYTES - (len(self._buffer) - self._start)
        if missing > 0:
            self._fill(missing)
        headers, text, ends, records, self._start = wet_records(self._buffer, self._start)
        return records, Batch(headers, text, memoryview(ends).cast("q"))

    def until(self, mark: bytes, limit: int) -> bytes | None:
        """Take up to and including a mark; None at the end of the stream. Raises if it is not within the limit."""
        while (end := self._buffer.find(mark, self._start)) < 0:
            if len(self._buffer) - self._start > limit:
                raise _NotCanonical
            if not self._fill():
                if self._start < len(self._buffer):
                    raise _NotCanonical
                return None
        return self._take(end + len(mark) - self._start)

    def exactly(self, length: int) -> bytes:
        """Take this many bytes. Raises if the stream ends before."""
        pieces = [self._take(min(length, len(self._buffer) - self._start))]
        missing = length - len(pieces[0])
        while missing:
            if not self._fill():
                raise _NotCanonical
            pieces.append(self._take(min(missing, len(self._buffer))))
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def _take(self, length: int) -> bytes:
        taken = self._buffer[self._start : self._start + length]
        self._start += length
        return taken


def _canonical(stream: _Stream) -> Iterator[tuple[int, Batch]]:
    """Yield the number of records taken and the pages among them."""
    while True:
        while (taken := stream.whole_records())[0]:
            yield taken
        header = stream.until(_END_OF_HEADER, _MOST_HEADER_BYTES)
        if header is None:
            return
        headers = _header_fields(header)
        length = _length_in(headers.get("content-length", ""))
        if length is None or length > MOST_RECORD_BYTES:
            raise _NotCanonical
        text = stream.exactly(length)
        if stream.exactly(len(_END_OF_RECORD)) != _END_OF_RECORD:
            raise _NotCanonical
        yield 1, Batch.of(_conversion(headers, text))


def _length_in(value: str) -> int | None:
    """Return a Content-Length, or None: Python is slow with thousands of digits, or refuses them."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS else None


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
        yield WetRecord(msgspec.json.encode(headers), text)
    elif kind in {"response", "resource", "request"}:
        raise WetDefect(
            "not-wet", f"contains `{kind}` records: a WARC file of fetched pages, not a WET file of their text"
        )


def _by_warcio(chunks: Iterable[bytes], skip: int) -> Iterator[WetRecord]:
    stream = io.BufferedReader(ChunkFile(chunks))
    start = stream.peek(len(_VERSION_LINE))[:16]
    if not start.startswith(b"WARC/"):
        raise WetDefect("not-warc", f"the file starts with {start[:16]!r}" if start else "the file is empty")
    if not start.partition(b"\n")[0].endswith(b"\r"):
        raise WetDefect("framing", "header lines end with LF, expected CRLF")
    number = 1
    header = _odd_header(stream, number)
    while header:
        headers, length = _odd_fields(header, number)
        text = stream.read(length)
        if len(text) < length:
            reason = (
                f"record {number} has {len(text):,} bytes, expected {length:,} (Content-Length): the file is truncated"
            )
            raise WetDefect("framing", reason)
        if number > skip:
            yield from _conversion(headers, text)
        header = _after_record(stream, number)
        number += 1


def _odd_header(stream: io.BufferedReader[ChunkFile], number: int, first: bytes = b"") -> bytes:
    """Take the lines of a header up to the blank one. Raises `WetDefect` if it is too long or does not end."""
    lines = [first]
    room = _MOST_ODD_HEADER_BYTES - len(first)
    while room > 0:
        line = stream.readline(room)
        lines.append(line)
        room -= len(line)
        if not line:
            raise WetDefect("framing", f"record {number} has a header that does not end: the file is truncated")
        if line.endswith(b"\n") and not line.strip():
            return b"".join(lines)
    raise WetDefect("framing", f"record {number} has a header of more than {_MOST_ODD_HEADER_BYTES:,} bytes")


def _odd_fields(header: bytes, number: int) -> tuple[dict[str, str], int]:
    """Return the fields of a header as warcio reads them, and the length of the record."""
    from warcio.recordloader import ArcWarcRecordLoader  # noqa: PLC0415 - slow to import, rarely needed
    from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException  # noqa: PLC0415

    lines = io.BytesIO(header)
    try:
        fields = StatusAndHeadersParser(ArcWarcRecordLoader.WARC_TYPES).parse(lines).headers
    except StatusAndHeadersParserException as error:
        raise WetDefect("framing", f"record {number}: {' '.join(str(error).split())}") from error
    lengths = {value for name, value in fields if name.lower() == "content-length"}
    length = _length_in(next(iter(lengths), ""))
    if length is None or len(lengths) > 1:
        raise WetDefect("framing", f"record {number} does not have exactly one Content-Length that is a number")
    if lines.read(1):
        raise WetDefect("framing", f"record {number} has a header line of only white space")
    if length > MOST_RECORD_BYTES:
        raise WetDefect("framing", f"record {number} has {length:,} bytes, expected at most {MOST_RECORD_BYTES:,}")
    return {name.lower(): value for name, value in fields}, length


def _after_record(stream: io.BufferedReader[ChunkFile], number: int) -> bytes:
    """Take the blank lines that end a record and the header of the next one, or nothing at the end of the file.

    Raises `WetDefect` if anything else follows, so that no text is lost.
    """
    room = _MOST_ODD_HEADER_BYTES
    blank = False
    while room > 0:
        line = stream.readline(room)
        if not line:
            return b""
        if line.strip():
            break
        blank = True
        room -= len(line)
    if not blank or not line.startswith(b"WARC/"):
        raise WetDefect("framing", f"record {number} is followed by {line[:16]!r}: its Content-Length is wrong")
    return _odd_header(stream, number + 1, line)
