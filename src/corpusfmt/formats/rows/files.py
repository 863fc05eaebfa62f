"""For formats: One file of rows or of text: open it, decompress it to its end, and split it into blocks of whole lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from msgspec import Struct

from corpusfmt.formats import CheckOptions
from corpusfmt.formats.general import CSV_MALFORMED, barred, broken_stream, too_long
from corpusfmt.io.jsonlines import csv_separator
from corpusfmt.io.lines import Block, LongLine, blocks
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, Codec, StreamFault, codec_of_content, codec_of_name
from corpusfmt.model import Fault, FindingType, Location, Problem, Severity
from corpusfmt.rules import Judge, RuleSet

_HEAD = 4096
# The size of a block: many attribute sets are open at once, each with one block in memory.
_STEP = 64 * 1024


class Content(Struct, frozen=True):
    """The compression in a file's suffix, and the one of its first bytes."""

    at: Location
    announced: Codec
    found: str


def compression_rule(rules: RuleSet, code: str, spec: str = "") -> None:
    """Register the rule on files whose compression does not match their suffix."""

    @rules.rule(code, "unsupported-compression", on=Content, spec=spec)
    def unsupported_compression(content: Content) -> Iterator[Problem]:
        """The compression of a file does not match its suffix.

        Why: readers rely on the suffix; some stop, others see an empty file, with exit status 0.
        Example: plain JSON Lines named `.jsonl.gz`, gzip named `.jsonl`, zstd named `.gz`.
        Fix: rename the file to match its content, or compress it to match its name.
        """
        if content.announced != content.found:
            hint = f"rename the file, or write it as {content.announced}"
            yield Problem(f"the content is {content.found}, the suffix says {content.announced}", content.at, hint)


class DataPath(Struct, frozen=True):
    """The path of a data file."""

    at: Location


_PATTERN = re.compile(r"[*?\[\]]")


def path_rule(rules: RuleSet, code: str) -> None:
    """Register the rule on paths that are patterns."""

    @rules.rule(code, "glob-character-in-path", on=DataPath, severity=Severity.WARNING)
    def glob_character_in_path(path: DataPath) -> Iterator[Problem]:
        """The path of a data file contains `*`, `?`, `[` or `]`.

        Why: loaders take such a path for a pattern, which matches other files, or none.
        Example: `data/part[1].jsonl.gz`.
        Fix: rename the file or folder.
        """
        if found := sorted(set(_PATTERN.findall(path.at.path))):
            yield Problem(f"the path contains `{'`, `'.join(found)}`", path.at, "rename the file or folder")


def judge_names(files: Iterable[Entry], judge: Judge) -> None:
    """Judge the paths of data files."""
    for file in files:
        judge.check(DataPath(Location(file.path)))


class RowFile:
    """One file of rows, read to its end once.

    Afterwards, `whole` is whether every row was read; `bytes` is the size of the file.
    """

    def __init__(self, entry: Entry, judge: Judge, options: CheckOptions) -> None:
        self.path = entry.path
        self.whole = True
        self.bytes = 0
        self.is_csv = csv_separator(entry.name) != ""
        self._returns = 0
        self._first_return: Location | None = None
        self._entry = entry
        self._judge = judge
        self._max_line_bytes = options.max_line_bytes

    def blocks(self) -> Iterator[Block | LongLine]:
        """Yield the blocks of the file; a corrupt stream is reported, never raised."""
        for block in self._all_blocks():
            # One byte is searched for several times as fast as two.
            if isinstance(block, Block) and b"\r" in block.data and (returns := block.data.count(b"\r\n")):
                self._returns += returns
                if self._first_return is None:
                    start = block.data.rfind(b"\n", 0, block.data.index(b"\r\n")) + 1
                    line = block.line + block.data.count(b"\n", 0, start)
                    self._first_return = Location(self.path, line, block.byte + start)
            yield block

    def judge_returns(self, rule: FindingType) -> None:
        """Report that lines end in CR LF, once, with their number so far."""
        if self._first_return is not None:
            problem = Problem("lines end in CR LF", self._first_return, "end lines in LF alone", self._returns)
            self._judge.report(rule, problem)

    def _all_blocks(self) -> Iterator[Block | LongLine]:
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
        chunks = Chunks(source, codec, self.path, size=self._entry.size)
        found = blocks(chunks, self._max_line_bytes)
        try:
            yield from self._rows_of(found) if self.is_csv else found
        except StreamFault as fault:
            self.whole = self.whole and not fault.is_broken
            self._judge.report(*broken_stream(at, fault))
        self.bytes += chunks.bytes

    def _rows_of(self, found: Iterable[Block | LongLine]) -> Iterator[Block | LongLine]:
        from corpusfmt.io.csvrows import CsvFault, rows_of_csv  # noqa: PLC0415 - imports csv

        faults: dict[str, CsvFault] = {}
        try:
            yield from rows_of_csv(found, csv_separator(self._entry.name), self._max_line_bytes, faults)
        finally:
            for reason, fault in faults.items():
                self.whole = self.whole and fault.is_minor
                hint = "write the file again with a CSV writer"
                problem = Problem(reason, self.at(fault.row, 0), hint, fault.count, minor=fault.is_minor)
                self._judge.report(CSV_MALFORMED, problem)

    def at(self, line: int, byte: int) -> Location:
        """Return the place of a line, or of a row of CSV by its number."""
        return Location(self.path, line) if self.is_csv else Location(self.path, line, byte)

    def too_long(self, line: LongLine) -> Fault:
        """Return the fault of a line that exceeds the limit."""
        return too_long(self.at(line.line, line.byte), line.length, self._max_line_bytes)


class _Source:
    """A file whose first bytes are known, read in steps of a few kilobytes."""

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
        return announced  # damaged, not misnamed: decompression reports it
    return found


def pieces(data: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Split whole lines into pieces of about `size` bytes, also of whole lines; yield each with its offset."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        yield start, data[start:end]
        start = end
