"""Internal: Plain text: documents that blank lines separate, or a document in each file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from typing import BinaryIO

from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Detection, Format, Plan, Reader, Rejected, Shard, ShardResult, by_size
from corpusfmt.formats.columns import ColumnProfile, best_of_text, columns_names
from corpusfmt.formats.describing import Describer, files_of
from corpusfmt.formats.general import report_text, too_long, within_limits
from corpusfmt.formats.parts import ROOT_FILES, TEXT, Item, flat_writer
from corpusfmt.formats.pieces import Piece, pieces, utf8_fault_in
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.columned import columns_of
from corpusfmt.formats.rows.files import RowFile, judge_names
from corpusfmt.formats.rows.format import data_files
from corpusfmt.formats.rows.reading import rejections, repetition
from corpusfmt.formats.sniff import first_row, first_text
from corpusfmt.formats.text.ruleset import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    ELEMENT_MALFORMED,
    FILES,
    RULES,
    VERSION,
)
from corpusfmt.formats.whole import Key, UniqueKeys, encoded, judge_repeated
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.lines import split_at
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.model import Document, Fault, Json, Location, Problem
from corpusfmt.rules import Grading, Judge, finding_of

_START = rb"\s*<doc (?P<head>[^\n]*)>[ \t\r]*\n"
_ELEMENT = re.compile(_START + rb"(?P<text>.*?)\n?</doc>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="(.*?)"(?= \w+="|$)')


#: The `source` of documents without a column profile.
SOURCE = "text"
_BOM = b"\xef\xbb\xbf"


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check every document of a shard, and the streams to their ends."""
    judge = Judge(RULES, options.grading, version=VERSION, path=shard.name, cap=options.max_per_rule)
    columns: ColumnProfile = shard.payload
    with closing(UniqueKeys(options.scratch if columns.documents == "elements" else None, shard.index)) as keys:
        for entry in shard.files.values():
            with within_limits(judge, entry.path):
                _check_file(entry, columns, judge, options, keys)
    return ShardResult(judge.tally, judge.coverage, keys.few)


def _check_file(entry: Entry, columns: ColumnProfile, judge: Judge, options: CheckOptions, keys: UniqueKeys) -> None:
    file = RowFile(entry, judge, options)
    count = 0
    for count, piece in _numbered(file, columns, options):
        at = Location(entry.path, piece.line, piece.byte)
        fault = _fault_of(piece, at, columns, options)
        if fault is not None:
            judge.report(*fault)
            continue
        if columns.documents == "elements":
            keys.note([encoded(_key_of(piece))], piece.line - 1)
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


def finish(plan: Plan, facts: Sequence[FewKeys | None], judge: Judge, options: CheckOptions) -> None:
    """Judge whether each id occurs once."""
    if options.scratch is not None:
        few = (keys for keys in facts if keys is not None)
        judge_repeated(plan.shards, few, options.scratch, partial(_keys_at, options), judge, repetition)


def _keys_at(options: CheckOptions, shard: Shard, lines: Iterable[int]) -> Iterator[tuple[int, Key]]:
    """Yield the keys of the documents at some lines, counted from 0."""
    wanted = set(lines)
    for entry in shard.files.values():
        for _, piece in _numbered(RowFile(entry, _fresh_judge(shard), options), shard.payload, options):
            if piece.line - 1 in wanted and (key := _key_of(piece)):
                yield piece.line - 1, key


def _key_of(piece: Piece) -> Key | None:
    """Return the key of a document without a fault."""
    start = re.match(_START, piece.data)
    identity = _attributes(start).get("id") if start else None
    return ("", identity) if identity else None


def _attributes(element: re.Match[bytes]) -> Json:
    return dict(_ATTRIBUTE.findall(element["head"].decode()))


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
        metadata |= _attributes(element)
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


_BLANKS = " \t\r"
_MADE = frozenset({SYNTHETIC, "language"})


class _Texts:
    def __init__(self, files: Sequence[BinaryIO], compression: CompressionName) -> None:
        self._file = GzipWriter(files[0], compression)
        self._splits = False
        self.text_bytes = 0

    def add(self, text: bytes) -> None:
        self._file.write(text)
        self._splits = self._splits or split_at(text.removesuffix(b"\n\n")) >= 0
        self.text_bytes += len(text)

    def finish(self) -> list[FileFacts]:
        return [replace(self._file.finish(), splits=self._splits)]


def _item(document: Document) -> Item[bytes]:
    losses = {}
    if _has_more_than_text(document):
        losses["metadata"] = 1
    if document.attribute_rows:
        losses["attribute sets"] = len(document.attribute_rows)
    lines = document.text.split("\n")
    kept = [line for line in lines if line.strip(_BLANKS)]
    if not kept:
        return Item(b"", losses | {"documents without a text": 1})
    if len(kept) < len(lines):
        losses["blank lines inside a text"] = 1
    return Item("\n".join(kept).encode() + b"\n\n", losses)


def _has_more_than_text(document: Document) -> bool:
    """Return whether a document has anything that reading its text again does not give."""
    metadata = document.metadata or {}
    if metadata.get(SYNTHETIC) is not True or not metadata.keys() <= _MADE:
        return True
    if document.added or document.created or document.attributes or document.extra:
        return True
    return document.source != SOURCE and document.source not in columns_names()


TEXTS = flat_writer(_item, _Texts, ".txt.gz", table=TEXT)


_NAME = re.compile(r".*\.txt(?:\.(?:gz|zst|zstd|xz|bz2|lz4))?", re.DOTALL)
_COMPANION = re.compile(rf"{ROOT_FILES}|.*\.md", re.IGNORECASE | re.DOTALL)
# Limits of a shard of files that are documents.
_MOST_FILES = 10_000
_MOST_BYTES = 256 * 1024 * 1024


def detect(entry: Entry) -> Detection | None:
    """Claim a text file, and a folder of text files without other data, unless they begin with an object of JSON."""
    first = None
    for each in walk(entry) if entry.kind == "directory" else [entry]:
        if each.kind != "file" or is_hidden(each.path) or _COMPANION.fullmatch(each.name):
            continue
        if not _is_data(each):
            return None
        first = first or each
    if first is None or first_row(first):
        return None
    columns = best_of_text(first.url, first_text(first))
    if columns is None:
        return Detection(VERSION, "text; blank lines separate documents")
    return Detection(VERSION, f"{columns.summary} (column profile {columns.name})")


def _is_data(entry: Entry) -> bool:
    if entry.kind != "file" or is_hidden(entry.path) or _COMPANION.fullmatch(entry.name):
        return False
    return _NAME.fullmatch(entry.name) is not None or best_of_text(entry.url) is not None


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the files below a path. Raises `UsageError` for an unusable column profile."""
    judge = Judge(RULES, options.grading, version=VERSION, path=".", cap=options.max_per_rule)
    files = data_files(entry, _is_data, FILES, judge)
    judge_names(files, judge)
    columns = columns_of(options.reading, "text")
    if columns is None:
        columns = (best_of_text(files[0].url, first_text(files[0])) if files else None) or ColumnProfile(format="text")
    shards = list(_together(files, columns) if columns.documents == "files" else _apart(files, columns))
    return Plan(VERSION, shards, judge.tally, judge.coverage)


def _apart(files: Iterable[Entry], columns: ColumnProfile) -> Iterator[Shard]:
    for number, file in enumerate(files):
        yield Shard(number, file.path, {file.path: file}, columns, read_as=f"{columns.name}:{columns.digest}")


def _together(files: Iterable[Entry], columns: ColumnProfile) -> Iterator[Shard]:
    """Yield shards of the files of a folder, each a document."""
    index = 0
    for folder, inside in groupby(files, lambda file: file.parent):
        parts = list(by_size(inside, _MOST_BYTES, _MOST_FILES))
        above = f"{folder}/" if folder else ""
        for number, part in enumerate(parts, 1):
            name = f"{above}files_part_{number}.txt" if len(parts) > 1 else f"{above}files.txt"
            by_path = {file.path: file for file in part}
            yield Shard(index, name, by_path, columns, name, read_as=f"{columns.name}:{columns.digest}")
            index += 1


FORMAT = Format(
    name="text",
    summary="Plain text: documents between blank lines, or one in each file",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    finish=finish,
    facts=FewKeys,
    reader=Reader(read, at=document_at, source_name=SOURCE, has_columns=True),
    writers={VERSION: TEXTS},
    describers={
        VERSION: Describer("Plain text", lambda paths, contents: iter([files_of(paths, contents)]), is_open=True)
    },
    is_general=True,
)
