"""Internal: Check and read the documents of text files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Rejected, Shard, ShardResult
from corpusfmt.formats.columns import ColumnProfile
from corpusfmt.formats.general import bad_text, report_text, too_long, within_limits
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.files import RowFile
from corpusfmt.formats.rows.reading import rejections
from corpusfmt.formats.text.ruleset import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    ELEMENT_MALFORMED,
    EMPTY_FILE,
    RULES,
    VERSION,
)
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.paths import Entry
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.io.text import utf8_fault
from corpusfmt.model import Document, Fault, Json, Location, Problem
from corpusfmt.rules import Grading, Judge

# What ends a document of these kinds.
_ENDS = {"lines": re.compile(rb"(?P<end>\n)"), "elements": re.compile(rb"(?m)^</doc>(?P<end>[ \t\r]*(?:\n\s*|\Z))")}
_ELEMENT = re.compile(rb"\s*<doc (?P<head>[^\n]*)>[ \t\r]*\n(?P<text>.*?)\n?</doc>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="(.*?)"(?= \w+="|$)')
# A line of these alone separates documents, as in OSCAR.
_BLANK_LINES = re.compile(rb"(?m)(?:^[ \t\r]*\n)+")
_BLANKS = b" \t\r\n"
_MAY_END_A_BLANK_LINE = b" \n", b"\t\n", b"\r\n"


class Piece(Struct, frozen=True):
    """A document without its last LF, at its first line."""

    data: bytes
    at: Location


class Pieces:
    """The documents of a file; longer ones than the limit of a line are faults. Afterwards, `returns` counts CR LF."""

    def __init__(self, file: RowFile, most: int, columns: ColumnProfile) -> None:
        self._file = file
        self._most = most
        self._ends = _ends_of(columns)
        self._parts: list[bytes] = []
        self._size = 0
        self._is_too_long = False
        self._at = Location(file.path, 1, 0)
        self.returns = 0
        self.first_return: Location | None = None

    def __iter__(self) -> Iterator[Piece | Fault]:
        for block in self._file.blocks():
            if isinstance(block, LongLine):
                self._begin(block.line, block.byte)
                self._parts.clear()
                self._size += block.length
                self._is_too_long = True
                continue
            if b"\r\n" in block.data:
                self._note_returns(block)
            yield from self._taken(block)
        yield from self._end()

    def _taken(self, block: Block) -> Iterator[Piece | Fault]:
        data, line, start = block.data, block.line, 0
        for blank_from, blank_to in self._ends(data):
            self._take(data[start:blank_from], line, block.byte + start)
            yield from self._end()
            line += data.count(b"\n", start, blank_to)
            start = blank_to
        self._take(data[start:], line, block.byte + start)

    def _begin(self, line: int, byte: int) -> None:
        if not self._size:
            self._at = Location(self._file.path, line, byte)

    def _take(self, data: bytes, line: int, byte: int) -> None:
        if not data:
            return
        self._begin(line, byte)
        self._size += len(data)
        if self._size > self._most:
            self._is_too_long = True
            self._parts.clear()
        if not self._is_too_long:
            self._parts.append(data)

    def _end(self) -> Iterator[Piece | Fault]:
        if self._is_too_long:
            yield too_long(self._at, self._size, self._most, "document")
        elif (data := b"".join(self._parts)) and data.strip(_BLANKS):
            yield Piece(data.removesuffix(b"\n"), self._at)
        self._parts.clear()
        self._size = 0
        self._is_too_long = False

    def _note_returns(self, block: Block) -> None:
        self.returns += block.data.count(b"\r\n")
        if self.first_return is None:
            place = block.data.index(b"\r\n")
            start = block.data.rfind(b"\n", 0, place) + 1
            line = block.line + block.data.count(b"\n", 0, place)
            self.first_return = Location(self._file.path, line, block.byte + start)


def _ends_of(columns: ColumnProfile) -> Callable[[bytes], Iterable[tuple[int, int]]]:
    """Return what yields in whole lines where a document ends, and what follows begins."""
    if columns.documents == "blank-lines":
        return _blank_lines
    if columns.documents == "files":
        return lambda _data: ()
    by_separator = re.compile(rb"(?P<end>%b\r?\n?)" % re.escape(columns.separator.encode()))
    pattern = _ENDS.get(columns.documents, by_separator)
    return lambda data: (match.span("end") for match in pattern.finditer(data))


def _blank_lines(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the runs of blank lines in whole lines, as first and last offset."""
    if any(end in data for end in _MAY_END_A_BLANK_LINE):
        yield from (match.span() for match in _BLANK_LINES.finditer(data))
        return
    start = 0 if data.startswith(b"\n") else data.find(b"\n\n") + 1
    while start or data.startswith(b"\n"):
        end = start
        while data[end : end + 1] == b"\n":
            end += 1
        yield start, end
        start = data.find(b"\n\n", end) + 1
        if not start:
            return


#: The `source` of documents without a column profile.
SOURCE = "text"
_BOM = b"\xef\xbb\xbf"


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check every document of a shard, and the streams to their ends."""
    judge = Judge(RULES, options.grading, version=VERSION, path=shard.name, cap=options.max_per_rule)
    for entry in shard.files.values():
        with within_limits(judge, entry.path):
            _check_file(entry, shard.payload, judge, options)
    return ShardResult(judge.tally, judge.coverage)


def _check_file(entry: Entry, columns: ColumnProfile, judge: Judge, options: CheckOptions) -> None:
    file = RowFile(entry, judge, options)
    pieces = Pieces(file, options.max_line_bytes, columns)
    count = 0
    for piece in pieces:
        count += 1
        fault = piece if isinstance(piece, Fault) else _fault_of(piece, columns)
        if fault is not None:
            judge.report(*fault)
            continue
        assert isinstance(piece, Piece)
        if count == 1 and piece.data.startswith(_BOM):
            judge.report(BYTE_ORDER_MARK, Problem("begins with a byte order mark", piece.at, "remove three bytes"))
        if double_encoding_at(piece.data, 0, False) >= 0:
            report_text(piece.data.decode(), piece.at, judge)
    judge.coverage.documents += count
    judge.coverage.bytes += file.bytes
    if pieces.first_return is not None:
        problem = Problem("lines end in CR LF", pieces.first_return, "end lines in LF alone", pieces.returns)
        judge.report(CARRIAGE_RETURN, problem)
    if file.whole and not count:
        judge.report(EMPTY_FILE, Problem("no documents", Location(entry.path), "delete the file, or write it again"))


def _fault_of(piece: Piece, columns: ColumnProfile) -> Fault | None:
    """Return the first fault in the UTF-8 of a document, or in what encloses it."""
    try:
        piece.data.decode()
    except UnicodeDecodeError as error:
        start = piece.data.rfind(b"\n", 0, error.start) + 1
        fault = utf8_fault(piece.data[start : piece.data.find(b"\n", error.start) + 1 or None])
        assert fault is not None
        line, byte = (piece.at.line or 1) + piece.data.count(b"\n", 0, start), (piece.at.byte or 0) + start
        return bad_text(replace(piece.at, line=line, byte=byte, column=fault.column), fault.reason)
    element = _ELEMENT.fullmatch(piece.data) if columns.documents == "elements" else None
    if columns.documents != "elements" or (element and b"\n<doc " not in element["text"]):
        return None
    lacks = "<doc …>" if not piece.data.lstrip().startswith(b"<doc ") else "</doc>"
    return Fault(ELEMENT_MALFORMED, Problem(f"expected a line `{lacks}`", piece.at, "extract the file again"))


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the documents of a shard; those that are not UTF-8, and streams that break off, become `Rejected`."""
    columns: ColumnProfile = shard.payload
    for entry in shard.files.values():
        of_file = _fresh_judge(shard)
        for number, piece in _numbered(entry, columns, of_file, options):
            fault = piece if isinstance(piece, Fault) else _fault_of(piece, columns)
            if fault is None:
                assert isinstance(piece, Piece)
                yield _document(piece, number, entry, columns, options)
                continue
            judge = _fresh_judge(shard)
            judge.report(*fault)
            yield from rejections(judge, piece.data if isinstance(piece, Piece) else b"")
        yield from rejections(of_file, b"")


def document_at(shard: Shard, options: CheckOptions, path: str, line: int) -> Document | None:
    """Return the document at a line of a file, None if there is none that can be read."""
    entry = next(each for each in shard.files.values() if each.path == path)
    for number, piece in _numbered(entry, shard.payload, _fresh_judge(shard), options):
        if isinstance(piece, Piece) and 0 <= line - (piece.at.line or 1) <= piece.data.count(b"\n"):
            return None if _fault_of(piece, shard.payload) else _document(piece, number, entry, shard.payload, options)
    return None


def _numbered(
    entry: Entry, columns: ColumnProfile, judge: Judge, options: CheckOptions
) -> Iterator[tuple[int, Piece | Fault]]:
    pieces = Pieces(RowFile(entry, judge, options), options.max_line_bytes, columns)
    return enumerate(pieces, 1)


def _document(piece: Piece, number: int, entry: Entry, columns: ColumnProfile, options: CheckOptions) -> Document:
    language = columns.language_of_path(entry.url)
    metadata: Json = {} if language is None else {"language": language}
    element = _ELEMENT.fullmatch(piece.data) if columns.documents == "elements" else None
    text = element["text"] if element else piece.data
    identity = ""
    if element:
        metadata |= dict(_ATTRIBUTE.findall(element["head"].decode()))
        identity = metadata.pop("id", "")
    if not identity:
        place = entry.path if columns.documents == "files" else f"{entry.path}:{number}"
        identity = f"{place}:{xxh3_64_hexdigest(piece.data)}"
        metadata[SYNTHETIC] = True
    return Document(
        identity,
        text.decode(),
        source=options.reading.source or ("" if columns.shared else columns.name) or SOURCE,
        lang=language,
        metadata=metadata,
    )


def _fresh_judge(shard: Shard) -> Judge:
    return Judge(RULES, Grading(), version=VERSION, path=shard.name)
