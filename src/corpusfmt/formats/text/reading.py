"""Internal: Check and read the documents of text files."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Rejected, Shard, ShardResult
from corpusfmt.formats.columns import Columns
from corpusfmt.formats.general import bad_text, report_text, within_limits
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.files import RowFile
from corpusfmt.formats.rows.reading import rejections
from corpusfmt.formats.text.pieces import Piece, Pieces
from corpusfmt.formats.text.ruleset import BYTE_ORDER_MARK, CARRIAGE_RETURN, EMPTY_FILE, RULES, VERSION
from corpusfmt.io.paths import Entry
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.io.text import utf8_fault
from corpusfmt.model import Document, Fault, Json, Location, Problem
from corpusfmt.rules import Grading, Judge

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


def _check_file(entry: Entry, columns: Columns, judge: Judge, options: CheckOptions) -> None:
    file = RowFile(entry, judge, options)
    pieces = Pieces(file, options.max_line_bytes, whole=columns.documents == "files")
    count = 0
    for piece in pieces:
        count += 1
        fault = piece if isinstance(piece, Fault) else _fault_of(piece)
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


def _fault_of(piece: Piece) -> Fault | None:
    """Return the first fault in the UTF-8 of a document."""
    try:
        piece.data.decode()
    except UnicodeDecodeError as error:
        start = piece.data.rfind(b"\n", 0, error.start) + 1
        fault = utf8_fault(piece.data[start : piece.data.find(b"\n", error.start) + 1 or None])
        assert fault is not None
        line, byte = (piece.at.line or 1) + piece.data.count(b"\n", 0, start), (piece.at.byte or 0) + start
        return bad_text(replace(piece.at, line=line, byte=byte, column=fault.column), fault.reason)
    return None


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the documents of a shard; those that are not UTF-8, and streams that break off, become `Rejected`."""
    columns: Columns = shard.payload
    for entry in shard.files.values():
        of_file = _fresh_judge(shard)
        for number, piece in _numbered(entry, columns, of_file, options):
            fault = piece if isinstance(piece, Fault) else _fault_of(piece)
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
            return None if _fault_of(piece) else _document(piece, number, entry, shard.payload, options)
    return None


def _numbered(
    entry: Entry, columns: Columns, judge: Judge, options: CheckOptions
) -> Iterator[tuple[int, Piece | Fault]]:
    pieces = Pieces(RowFile(entry, judge, options), options.max_line_bytes, whole=columns.documents == "files")
    return enumerate(pieces, 1)


def _document(piece: Piece, number: int, entry: Entry, columns: Columns, options: CheckOptions) -> Document:
    language = columns.language_of_path(entry.url)
    metadata: Json = {} if language is None else {"language": language}
    metadata[SYNTHETIC] = True
    place = entry.path if columns.documents == "files" else f"{entry.path}:{number}"
    return Document(
        f"{place}:{xxh3_64_hexdigest(piece.data)}",
        piece.data.decode(),
        source=options.reading.source or columns.name or SOURCE,
        lang=language,
        metadata=metadata,
    )


def _fresh_judge(shard: Shard) -> Judge:
    return Judge(RULES, Grading(), version=VERSION, path=shard.name)
