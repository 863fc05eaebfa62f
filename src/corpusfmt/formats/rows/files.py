"""Internal: One file of rows: opened, decompressed to its end, and cut into blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from corpusfmt.formats import CheckOptions
from corpusfmt.formats.general import barred, broken_stream, too_long
from corpusfmt.io.lines import Block, LongLine, blocks
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, Codec, StreamFault, codec_of_content, codec_of_name
from corpusfmt.model import Fault, Location, Problem
from corpusfmt.rules import Judge, RuleSet

_HEAD = 4096
# Bytes read of a file at a time: many attribute sets are open at once, and each holds one block.
_STEP = 64 * 1024


class Content(Struct, frozen=True):
    """What a file's suffix announces, and what its first bytes show."""

    at: Location
    announced: Codec
    found: str


def compression_rule(rules: RuleSet, code: str, spec: str = "") -> None:
    """Give a format the rule about files whose content is not compressed as their names say."""

    @rules.rule(code, "unsupported-compression", on=Content, spec=spec)
    def unsupported_compression(content: Content) -> Iterator[Problem]:
        """A file's suffix and its content disagree about its compression.

        Why: every reader goes by the suffix; some stop, others see an empty file, with exit status 0.
        Example: plain JSON Lines named `.jsonl.gz`, gzip named `.jsonl`, zstd named `.gz`.
        Fix: rename the file after its content, or compress it as its name says.
        """
        if content.announced != content.found:
            hint = f"rename it, or write it as {content.announced}"
            yield Problem(f"the content is {content.found}, the suffix says {content.announced}", content.at, hint)


class RowFile:
    """One file of rows, read to its end once.

    `whole` tells afterwards whether every row was seen; `bytes` counts them as they are in the file.
    """

    def __init__(self, entry: Entry, judge: Judge, options: CheckOptions) -> None:
        self.path = entry.path
        self.whole = True
        self.bytes = 0
        self._entry = entry
        self._judge = judge
        self._max_line_bytes = options.max_line_bytes

    def blocks(self) -> Iterator[Block | LongLine]:
        """Yield the blocks of the file; what breaks off the stream is judged, never raised."""
        try:
            with self._entry.open() as file:
                yield from self._blocks_of(file)
        except OSError as error:
            self.whole = False
            self._judge.report(*barred(error, Location(self.path)))

    def _blocks_of(self, file: BinaryIO) -> Iterator[Block | LongLine]:
        at = Location(self.path)
        codec = codec_of_name(self._entry.name)
        source = _Source(file)
        if not self._judge.check(Content(at, codec, _found_codec(source.head, codec))):
            self.whole = False
            return
        chunks = Chunks(source, codec, self.path)
        try:
            yield from blocks(chunks, self._max_line_bytes)
        except StreamFault as fault:
            self.whole = self.whole and fault.kind != "corrupt"
            self._judge.report(*broken_stream(at, fault))
        self.bytes += chunks.bytes

    def too_long(self, line: LongLine) -> Fault:
        """Return what is to be said of a line that was too long to hold."""
        return too_long(Location(self.path, line.line, line.byte), line.length, self._max_line_bytes)


class _Source:
    """A file, its first bytes known, read in steps of a few kilobytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.head = file.read(_HEAD)
        self._given = False

    def read(self, _size: int = -1, /) -> bytes:
        if not self._given:
            self._given = True
            return self.head or b""
        return self._file.read(_STEP)


def _found_codec(head: bytes, announced: Codec) -> str:
    found = codec_of_content(head)
    if found == "plain" and announced != "plain" and head.lstrip()[:1] != b"{":
        return announced  # damaged, not misnamed: the stream itself will tell
    return found


def pieces(data: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Split whole lines into pieces of about so many bytes, of whole lines too; yield their offsets with them."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        yield start, data[start:end]
        start = end
