"""Internal: Check and read the documents of text files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Rejected, Shard, ShardResult
from corpusfmt.formats.columns import ColumnProfile
from corpusfmt.formats.general import report_text, too_long, within_limits
from corpusfmt.formats.pieces import Piece, pieces, utf8_fault_in
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.files import RowFile
from corpusfmt.formats.rows.reading import rejections
from corpusfmt.formats.text.ruleset import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    ELEMENT_MALFORMED,
    FILES,
    RULES,
    VERSION,
)
from corpusfmt.io.paths import Entry
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.model import Document, Fault, Json, Location, Problem
from corpusfmt.rules import Grading, Judge, finding_of

_ELEMENT = re.compile(rb"\s*<doc (?P<head>[^\n]*)>[ \t\r]*\n(?P<text>.*?)\n?</doc>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="(.*?)"(?= \w+="|$)')


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
    count = 0
    for count, piece in _numbered(file, columns, options):
        at = Location(entry.path, piece.line, piece.byte)
        fault = _fault_of(piece, at, columns, options)
        if fault is not None:
            judge.report(*fault)
            continue
        if count == 1 and piece.data.startswith(_BOM):
            judge.report(
                BYTE_ORDER_MARK, Problem("the file begins with a byte order mark", at, "remove its first three bytes")
            )
        if double_encoding_at(piece.data, 0, False) >= 0:
            report_text(piece.data.decode(), at, judge)
    judge.coverage.documents += count
    judge.coverage.bytes += file.bytes
    file.judge_returns(CARRIAGE_RETURN)
    if file.whole and not count:
        judge.report(FILES.empty, Problem("no documents", Location(entry.path), "delete the file, or write it again"))


def _numbered(file: RowFile, columns: ColumnProfile, options: CheckOptions) -> Iterator[tuple[int, Piece]]:
    limit, divided_by = options.max_line_bytes, columns.documents
    return enumerate(pieces(file.blocks(), limit, divided_by, columns.separator, keeps_separators=False), 1)


def _fault_of(piece: Piece, at: Location, columns: ColumnProfile, options: CheckOptions) -> Fault | None:
    """Return the fault of a document that is too long, not UTF-8, or not in an element of its own."""
    if piece.is_too_long:
        return too_long(at, piece.size, options.max_line_bytes, "document")
    if fault := utf8_fault_in(piece, at):
        return fault
    element = _ELEMENT.fullmatch(piece.data) if columns.documents == "elements" else None
    if columns.documents != "elements" or (element and b"\n<doc " not in element["text"]):
        return None
    lacks = "<doc …>" if not piece.data.lstrip().startswith(b"<doc ") else "</doc>"
    return Fault(ELEMENT_MALFORMED, Problem(f"expected a line `{lacks}`", at, "extract the file again"))


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the documents of a shard; those that are not UTF-8, and streams that break off, become `Rejected`."""
    columns: ColumnProfile = shard.payload
    for entry in shard.files.values():
        of_file = _fresh_judge(shard)
        for number, piece in _numbered(RowFile(entry, of_file, options), columns, options):
            fault = _fault_of(piece, Location(entry.path, piece.line, piece.byte), columns, options)
            if fault is None:
                yield _document(piece, number, entry, columns, options)
            else:
                yield Rejected(finding_of(fault, RULES, VERSION), piece.data)
        yield from rejections(of_file, b"")


def document_at(shard: Shard, options: CheckOptions, path: str, line: int) -> Document | None:
    """Return the document at a line of a file, None if there is none that can be read."""
    entry = next(each for each in shard.files.values() if each.path == path)
    columns: ColumnProfile = shard.payload
    for number, piece in _numbered(RowFile(entry, _fresh_judge(shard), options), columns, options):
        if line in range(piece.line, piece.line + piece.lines):
            is_faulty = _fault_of(piece, Location(path), columns, options) is not None
            return None if is_faulty else _document(piece, number, entry, columns, options)
    return None


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
