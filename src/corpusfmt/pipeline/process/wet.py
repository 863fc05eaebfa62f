"""Internal: Read WET files, Common Crawl's WARC files of extracted text.

Canonical records (WARC/1.0, CRLF header lines, exact Content-Length) are read many at a time by the kernel. Every other record
is framed here, and warcio parses its header: warcio's iterator skips the excess of a record that is longer than its
Content-Length, and reads header lines of any length into memory.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

import msgspec
from msgspec import Struct

from corpusfmt.io.streams import ZSTD_MAGIC, Chunks, Reader, StreamFault, codec_of_content, codec_of_name
from corpusfmt.pipeline.hot import Ints, wet_records
from corpusfmt.pipeline.rules import WetDefect

_MOST_HEADER_BYTES = 1024 * 1024
# More of a line that has not ended, no further: a reader may stop before a fault.
_MORE_BYTES = 8 * 1024
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
        size += len(record.headers) + len(record.text)
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


def wet_batches(source: Reader, name: str, forgiven: list[StreamFault] | None = None) -> Iterator[Batch]:
    """Yield the conversion records of a WET file; `name` shows its compression.

    `forgiven` is as for `wet_chunks`. Raises `WetDefect` if the file is not WET, `StreamFault` for a compressed stream
    that cannot be read to its end.
    """
    stream = Stream(wet_chunks(source, name, forgiven))
    stream.fill(_BATCH_BYTES)
    start = stream.data[:16]
    if not start.startswith(b"WARC/"):
        raise WetDefect("not-warc", f"the file starts with {start!r}" if start else "the file is empty")
    if not start.partition(b"\n")[0].endswith(b"\r"):
        raise WetDefect("framing", "header lines end with LF, expected CRLF")
    number = 0
    # Records that the kernel leaves.
    odd: list[WetRecord] = []
    odd_bytes = 0
    while stream.fill(_BATCH_BYTES):
        headers, text, ends, records, stream.at = wet_records(stream.data, stream.at)
        number += records
        if not records:
            number += 1
            for record in _conversion(*_record(stream, number)):
                odd.append(record)
                odd_bytes += len(record.headers) + len(record.text)
        if odd and (records or odd_bytes >= _BATCH_BYTES):
            yield Batch.of(odd)
            odd, odd_bytes = [], 0
        if records:
            yield Batch(headers, text, memoryview(ends).cast("q"))
        _skip_blank_lines(stream, number, some=bool(records))
    if odd:
        yield Batch.of(odd)


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


class Stream:
    """Takes lines and bytes off chunks; `data` from `at` on is what has been read and not taken."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.data = b""
        self.at = 0

    def fill(self, size: int) -> bool:
        """Have at least this many bytes to take, or all up to the end. Return whether there are any."""
        missing = size - (len(self.data) - self.at)
        if missing > 0:
            pieces = [self.data[self.at :]]
            while missing > 0 and (chunk := next(self._chunks, b"")):
                pieces.append(chunk)
                missing -= len(chunk)
            self.data, self.at = b"".join(pieces), 0
        return self.at < len(self.data)

    def read(self, size: int) -> bytes:
        """Take this many bytes, or all up to the end."""
        self.fill(size)
        taken = self.data[self.at : self.at + size]
        self.at += len(taken)
        return taken

    def line(self, most: int) -> bytes:
        """Take a line with its LF, but at most this many bytes; nothing at the end."""
        size = 1
        while True:
            self.fill(min(size, most))
            end = self.data.find(b"\n", self.at, self.at + most) + 1
            left = len(self.data) - self.at
            if end or left >= most or left < size:
                return self.read((end or self.at + most) - self.at)
            size = left + _MORE_BYTES


def _length_in(value: str) -> int | None:
    """Return a Content-Length, or None: Python is slow with thousands of digits, or refuses them."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS else None


def _conversion(headers: dict[str, str], text: bytes) -> Iterator[WetRecord]:
    kind = headers.get("warc-type")
    if kind == "conversion":
        yield WetRecord(msgspec.json.encode(headers), text)
    elif kind in {"response", "resource", "request"}:
        raise WetDefect(
            "not-wet", f"contains `{kind}` records: a WARC file of fetched pages, not a WET file of their text"
        )


def _record(stream: Stream, number: int) -> tuple[dict[str, str], bytes]:
    """Take a record up to the end of its text; return its headers and text. Raises `WetDefect`."""
    lines: list[bytes] = []
    room = _MOST_HEADER_BYTES
    while not lines or lines[-1].strip() or not lines[-1].endswith(b"\n"):
        if not room:
            raise WetDefect("framing", f"record {number} has a header of more than {_MOST_HEADER_BYTES:,} bytes")
        lines.append(stream.line(room))
        room -= len(lines[-1])
        if not lines[-1]:
            raise WetDefect("framing", f"record {number} has a header that does not end: the file is truncated")
    headers, length = _fields(b"".join(lines), number)
    text = stream.read(length)
    if len(text) < length:
        reason = f"record {number} has {len(text):,} bytes, expected {length:,} (Content-Length): the file is truncated"
        raise WetDefect("framing", reason)
    return headers, text


def _skip_blank_lines(stream: Stream, number: int, *, some: bool) -> None:
    """Take the blank lines that end a record, of which there may be `some` before.

    Raises `WetDefect` if anything but another record follows, so that no text is lost.
    """
    room = _MOST_HEADER_BYTES
    line = b""
    while room and (line := stream.line(room)) and not line.strip():
        some = True
        room -= len(line)
    if line and not (some and line.startswith(b"WARC/")):
        raise WetDefect("framing", f"record {number} is followed by {line[:16]!r}: its Content-Length is wrong")
    stream.at -= len(line)


def _fields(header: bytes, number: int) -> tuple[dict[str, str], int]:
    """Return the fields of a header as warcio reads them, and the length of the record. Raises `WetDefect`."""
    from warcio.recordloader import ArcWarcRecordLoader  # noqa: PLC0415 - slow to import, rarely needed
    from warcio.statusandheaders import StatusAndHeadersParser, StatusAndHeadersParserException  # noqa: PLC0415

    lines = io.BytesIO(header)
    try:
        fields: list[tuple[str, str]] = StatusAndHeadersParser(ArcWarcRecordLoader.WARC_TYPES).parse(lines).headers
    except StatusAndHeadersParserException as error:
        raise WetDefect("framing", f"record {number}: {' '.join(str(error).split())}") from error
    if lines.read(1):
        raise WetDefect("framing", f"record {number} has a header line of only white space")
    lengths = {value for name, value in fields if name.lower() == "content-length"}
    length = _length_in(next(iter(lengths), ""))
    if length is None or len(lengths) > 1:
        raise WetDefect("framing", f"record {number} does not have exactly one Content-Length that is a number")
    if length > MOST_RECORD_BYTES:
        raise WetDefect("framing", f"record {number} has {length:,} bytes, expected at most {MOST_RECORD_BYTES:,}")
    return {name.lower(): value for name, value in fields}, length
