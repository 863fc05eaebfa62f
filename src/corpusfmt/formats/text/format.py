"""Internal: Plain text: documents that blank lines separate, or a document in each file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import BinaryIO

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Detection, Format, Plan, Reader, Shard, by_size
from corpusfmt.formats.columns import ColumnProfile, best_of_text, columns_names
from corpusfmt.formats.describing import Describer, files_of
from corpusfmt.formats.parts import ROOT_FILES, TEXT, Item, flat_writer
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.columned import columns_of
from corpusfmt.formats.rows.files import judge_names
from corpusfmt.formats.rows.format import data_files
from corpusfmt.formats.sniff import first_row, first_text
from corpusfmt.formats.text.reading import SOURCE, check, document_at, read
from corpusfmt.formats.text.ruleset import FILES, RULES, VERSION
from corpusfmt.io.compress import CompressionName, FileFacts, GzipWriter
from corpusfmt.io.lines import split_at
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.model import Document
from corpusfmt.rules import Judge

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
    reader=Reader(read, at=document_at, source_name=SOURCE, has_columns=True),
    writers={VERSION: TEXTS},
    describers={
        VERSION: Describer("Plain text", lambda paths, contents: iter([files_of(paths, contents)]), is_open=True)
    },
    is_general=True,
)
