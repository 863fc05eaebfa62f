"""Internal: Compressed streams, read in bounded memory to the very end.

A truncated member, a wrong CRC or bytes after the end raise `StreamFault`, after everything readable was yielded.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct

from corpusfmt.io.compress import FileFacts, sha256
from corpusfmt.io.limits import Account, processor_time
from corpusfmt.io.paths import Entry
from corpusfmt.io.witness import Hashed
from corpusfmt.model import UsageError

_isal: Any
try:
    from isal import igzip_lib as _isal
except ImportError:  # no wheel for this platform: the standard library gives the same bytes, more slowly
    _isal = None

Codec = Literal["plain", "gzip", "zstd", "bzip2", "xz", "lz4"]
FaultKind = Literal["corrupt", "twice", "trailing", "padding"]

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"
_BZIP2_MAGIC = b"BZh"
_BZIP2_BLOCK = b"1AY&SY"
_XZ_MAGIC = b"\xfd7zXZ"
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_GZIP_WBITS = 31
# `RuntimeError` is that of lz4.
_ERRORS = (zlib.error, lzma.LZMAError, OSError, RuntimeError, *([_isal.error] if _isal else ()))
# Bytes that identify a member and its memory.
_HEAD_BYTES = 18
# Most bytes of the name and comment in a gzip header.
_MOST_HEADER_BYTES = 1024 * 1024
# The largest preset uses 64 MiB.
_MOST_XZ_MEMORY = 128 * 1024 * 1024
_SUFFIXES: Mapping[str, Codec] = {
    ".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".xz": "xz", ".bz2": "bzip2", ".lz4": "lz4"
}  # fmt: skip
_MAGICS: Mapping[bytes, Codec] = {
    GZIP_MAGIC: "gzip", ZSTD_MAGIC: "zstd", _XZ_MAGIC: "xz", _BZIP2_MAGIC: "bzip2", _LZ4_MAGIC: "lz4"
}  # fmt: skip
READ_SIZE = 64 * 1024
# A decoder copies input beyond the end of a member, which for many small members is most of it.
_FIRST_WINDOW = 8 * 1024
MAX_OUTPUT = 1024 * 1024
# What a decoder has put out, and the bytes of the file up to there; and the memory of such a pair next to its bytes.
_Step = tuple[bytes, int]
_STEP_BYTES = 150
# A thread that reads ahead ends sooner, unless the system holds it up.
_MOST_SECONDS_TO_END = 5.0
# glibc returns freed memory to the system unless a larger block was freed before. Freeing an untouched block first lets
# chunks be decoded into memory that is already mapped.
bytes(4 * MAX_OUTPUT)


class StreamFault(Exception):
    """A compressed stream is damaged or not of its type.

    `offset` is the position in the compressed file at which the fault was noticed; `readable` is the number of
    uncompressed bytes before it.
    """

    def __init__(self, kind: FaultKind, reason: str, *, offset: int, readable: int, truncated: bool = False) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.offset = offset
        self.readable = readable
        self.truncated = truncated

    @property
    def is_broken(self) -> bool:
        """Whether content is missing, rather than followed by other bytes."""
        return self.kind in {"corrupt", "twice"}

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, which keyword-only arguments break."""
        return _stream_fault, (self.kind, self.reason, self.offset, self.readable, self.truncated)


def _stream_fault(kind: FaultKind, reason: str, offset: int, readable: int, truncated: bool) -> StreamFault:
    return StreamFault(kind, reason, offset=offset, readable=readable, truncated=truncated)


class Reader(Protocol):
    """Any binary file object."""

    def read(self, size: int = -1, /) -> bytes: ...


class DigestReader(Struct):
    """Counts and hashes (SHA-256) the bytes that are read through it, so that no file is read twice."""

    source: Reader
    size: int = 0
    _sha256: Any = None
    _is_hashed: bool = False

    def __post_init__(self) -> None:
        self._is_hashed = isinstance(self.source, Hashed)
        self._sha256 = self.source.digest if isinstance(self.source, Hashed) else sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self.source.read(size)
        if not self._is_hashed:
            self._sha256.update(data)
        self.size += len(data)
        return data

    def drain(self) -> None:
        """Read to the end, to complete the digest."""
        account = Account()
        while data := self.read(READ_SIZE):
            account.add(len(data), len(data))

    @property
    def sha256(self) -> str:
        digest: str = self._sha256.hexdigest()
        return digest


def codec_of_name(name: str) -> Codec:
    """Return the compression of a file name's suffix, as all common readers do."""
    return next((codec for suffix, codec in _SUFFIXES.items() if name.endswith(suffix)), "plain")


def codec_of_content(head: bytes) -> Codec:
    """Return the compression that the first bytes of a file show."""
    return next((codec for magic, codec in _MAGICS.items() if head.startswith(magic)), "plain")


def _compressed_again(content: bytes) -> str:
    """Return the compression of decompressed bytes, empty for text, which may begin with the `BZh` of bzip2."""
    codec = codec_of_content(content)
    return "" if codec == "plain" or (codec == "bzip2" and content[4:10] != _BZIP2_BLOCK) else codec


class Chunks:
    """The uncompressed bytes of a stream, in chunks of at most 1 MiB.

    After the iteration, `members` is the number of gzip members or zstd frames, `bytes` the uncompressed size.
    Raises `StreamFault` at a fault, `OSError` if the file cannot be read, and `LimitReached` with `path` if a limit of the
    run is reached. A source `inside` another file was accounted for there. A thread may read ahead in a file that has a
    `size`, if the meter allows it.
    """

    def __init__(self, source: Reader, codec: Codec, path: str = "", *, inside: bool = False, size: int = 0) -> None:
        self._source = source
        self._size = size
        self._codec = codec
        self._account = Account(path, inside=inside, file=source)
        # The last bytes read, their offset in the file, and how many of them were taken.
        self._data = b""
        self._start = 0
        self._taken = 0
        self.members = 0
        self.bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        return self._plain() if self._codec == "plain" else self._compressed()

    def _plain(self) -> Iterator[bytes]:
        while data := self._take(READ_SIZE):
            self.bytes += len(data)
            self._account.upto(self.bytes, self.bytes)
            yield data

    @property
    def _offset(self) -> int:
        return self._start + self._taken

    def _take(self, most: int) -> bytes:
        """Take the next bytes of the file, or nothing at its end."""
        if self._taken == len(self._data):
            self._start += self._taken
            self._data = self._source.read(READ_SIZE)
            self._taken = 0
        piece = self._data[self._taken : self._taken + most]
        self._taken += len(piece)
        return piece

    def _head(self) -> bytes:
        """Return, without taking them, enough bytes to identify the next member; fewer at the end of the file."""
        while len(self._data) - self._taken < _HEAD_BYTES and (more := self._source.read(READ_SIZE)):
            self._start += self._taken
            self._data = self._data[self._taken :] + more
            self._taken = 0
        return self._data[self._taken : self._taken + _HEAD_BYTES]

    def _compressed(self) -> Iterator[bytes]:
        """Yield what was decoded, accounted for here, whichever thread has decoded it."""
        read = 0
        with self._account.spare_thread(self._size) as is_spare:
            steps = self._steps()
            with closing(_ahead(steps, self._account) if is_spare else steps) as taken:
                for output, stored in taken:
                    read += len(output)
                    self._account.upto(stored, read)
                    if output:
                        yield output

    def _steps(self) -> Generator[_Step]:
        framing = _FRAMINGS[self._codec]
        while head := self._head():
            if not framing.starts(head):
                self._refuse_rest()
            self.members += 1
            memory = framing.memory(head)
            if memory and not self._account.take_memory(memory):
                reason = (
                    f"{self._unit} {self.members:,} needs a window of {memory:,} bytes, which does not fit into memory"
                )
                raise self._fault("corrupt", reason)
            try:
                yield from self._member(framing)
            finally:
                if memory:
                    self._account.release_memory(memory)
        if not self.members:
            raise self._fault("corrupt", f"a 0-byte file is not a {self._codec} stream", truncated=True)

    def _member(self, framing: _Framing) -> Iterator[_Step]:
        decoder = framing.open_decoder()
        start, before = self._offset, self.bytes
        window = _FIRST_WINDOW
        data = self._take(window)
        while True:
            try:
                output = decoder.decompress(data, MAX_OUTPUT)
            except (*_ERRORS, _zstd().ZstdError) as error:
                raise self._fault("corrupt", f"{self._unit} {self.members:,} cannot be decoded: {error}") from error
            if not self.bytes and (inner := _compressed_again(output)):
                raise self._fault("twice", f"the file is compressed twice: {inner} within {self._codec}")
            self.bytes += len(output)
            yield output, self._offset
            if decoder.eof:
                self._taken -= len(decoder.unused_data or b"")
                return
            left = framing.left_in(decoder, output)
            if left is None:
                if self.bytes == before and self._offset - start > _MOST_HEADER_BYTES:
                    reason = f"{self._unit} {self.members:,} has a header of more than {_MOST_HEADER_BYTES:,} bytes"
                    raise self._fault("corrupt", reason)
                window = min(2 * window, READ_SIZE)
                left = self._take(window)
                if not left:
                    reason = f"{self._unit} {self.members:,} has no end mark: the file is truncated"
                    raise self._fault("corrupt", reason, truncated=True)
            data = left

    def _refuse_rest(self) -> None:
        start = self._offset
        if not self.members:
            head = self._head()[: len(ZSTD_MAGIC)]
            found = codec_of_content(head)
            seen = f"starts with {head.hex(' ')}" + (f", which is {found}" if found != "plain" else "")
            raise self._fault("corrupt", f"not a {self._codec} stream: the file {seen}")
        only_zeros = True
        while data := self._take(READ_SIZE):
            only_zeros = only_zeros and not data.strip(b"\0")
        length = self._offset - start
        if only_zeros:
            raise self._fault("padding", f"{length:,} zero bytes after the last {self._unit}", at=start)
        raise self._fault("trailing", f"{length:,} bytes after the last {self._unit}", at=start)

    @property
    def _unit(self) -> str:
        return f"{self._codec} frame" if self._codec in {"zstd", "lz4"} else f"{self._codec} member"

    def _fault(self, kind: FaultKind, reason: str, *, at: int | None = None, truncated: bool = False) -> StreamFault:
        offset = self._offset if at is None else at
        return StreamFault(kind, reason, offset=offset, readable=self.bytes, truncated=truncated)


def _ahead(steps: Generator[_Step], account: Account) -> Generator[_Step]:
    """Yield steps that another thread takes meanwhile, a few megabytes ahead, and raise where these do."""
    from queue import SimpleQueue  # noqa: PLC0415 - few files are that large
    from threading import Thread  # noqa: PLC0415

    wanted, found = SimpleQueue[bool](), SimpleQueue[tuple[list[_Step], Exception | None, float]]()

    def take() -> None:
        with closing(steps):
            while wanted.get():
                found.put(_some(steps))

    # A read that hangs in the system must not keep a run that was told to end.
    thread = Thread(target=take, daemon=True)
    try:
        thread.start()
        wanted.put(True)
        while True:
            wanted.put(True)
            some, end, seconds = found.get()
            account.add_time(seconds)
            yield from some
            if isinstance(end, StopIteration):
                return
            if end is not None:
                raise end
    finally:
        wanted.put(False)
        with suppress(RuntimeError):  # a limit was reached while the thread started
            thread.join(_MOST_SECONDS_TO_END)


def _some(steps: Iterator[_Step]) -> tuple[list[_Step], Exception | None, float]:
    """Return the next steps, about a megabyte, what ended them, and the seconds of the processor that they took."""
    some: list[_Step] = []
    left, began = MAX_OUTPUT, processor_time()
    try:
        while left > 0:
            some.append(next(steps))
            left -= len(some[-1][0]) + _STEP_BYTES
    except Exception as end:
        return some, end, processor_time() - began
    return some, None, processor_time() - began


class ChunkFile(io.RawIOBase):
    """Chunks as a file."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        # An empty chunk is not the end.
        self._rest = self._rest or next(filter(None, self._chunks), b"")
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


class _Framing(NamedTuple):
    """How to decode streams of one compression, member by member. The decoder verifies checksums."""

    #: Return a decoder of one member, with `decompress(data, max_length)`, `eof` and `unused_data`.
    open_decoder: Callable[[], Any]
    #: Return whether a member begins with these bytes.
    starts: Callable[[bytes], bool]
    #: Return the input that a decoder still has to decode after an output, or None if it needs more input.
    left_in: Callable[[Any, bytes], bytes | None]
    #: Return the memory that a member with this beginning needs, if it may be large.
    memory: Callable[[bytes], int] = lambda _head: 0


def left_in_zlib(decoder: Any, output: bytes) -> bytes | None:
    """Return the rest of the input of zlib's decoder after an output of at most `MAX_OUTPUT` bytes; None: needs more."""
    left: bytes = decoder.unconsumed_tail
    return left if left or len(output) >= MAX_OUTPUT else None


def left_in(decoder: Any, output: bytes) -> bytes | None:
    """Like `left_in_zlib`, for decoders that keep undecoded input."""
    return None if decoder.needs_input and len(output) < MAX_OUTPUT else b""


def _lz4() -> Any:
    try:
        return import_module("lz4.frame")
    except ImportError as error:
        raise UsageError("LZ4 needs a package: pip install 'corpusfmt[lz4]'") from error


def _zstd() -> Any:
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _starts_zstd_frame(head: bytes) -> bool:
    skippable = b"\x50" <= head[:1] <= b"\x5f" and head[1:4] == _SKIPPABLE_MAGIC
    return skippable or head.startswith(ZSTD_MAGIC)


def _zstd_window(head: bytes) -> int:
    """Return the size of the window of a frame (RFC 8878, section 3.1.1.1)."""
    if not head.startswith(ZSTD_MAGIC) or len(head) < _HEAD_BYTES:
        return 0  # a short frame has short content
    descriptor = head[4]
    if not descriptor & 0x20:
        base = 1 << (10 + (head[5] >> 3))
        return base + base // 8 * (head[5] & 7)
    start = 5 + (0, 1, 2, 4)[descriptor & 3]
    return int.from_bytes(head[start : start + (1, 2, 4, 8)[descriptor >> 6]], "little")


def _starts_gzip_member(head: bytes) -> bool:
    return head.startswith(GZIP_MAGIC)


_GZIP = _Framing(lambda: zlib.decompressobj(_GZIP_WBITS), _starts_gzip_member, left_in_zlib)
_FASTER_GZIP = _Framing(lambda: _isal.IgzipDecompressor(_isal.DECOMP_GZIP), _starts_gzip_member, left_in)
_FRAMINGS: Mapping[Codec, _Framing] = {
    "gzip": _FASTER_GZIP if _isal else _GZIP,
    "zstd": _Framing(lambda: _zstd().ZstdDecompressor(), _starts_zstd_frame, left_in, _zstd_window),
    "bzip2": _Framing(bz2.BZ2Decompressor, lambda head: head.startswith(_BZIP2_MAGIC), left_in),
    "xz": _Framing(
        lambda: lzma.LZMADecompressor(memlimit=_MOST_XZ_MEMORY), lambda head: head.startswith(_XZ_MAGIC), left_in
    ),
    "lz4": _Framing(lambda: _lz4().LZ4FrameDecompressor(), lambda head: head.startswith(_LZ4_MAGIC), left_in),
}


def facts_of(entry: Entry) -> FileFacts:
    """Return size and SHA-256 of a file. Raises `OSError`."""
    with entry.open() as file:
        reader = DigestReader(file)
        reader.drain()
        return FileFacts(reader.size, reader.sha256)
