"""Internal: Which files are text, and which of them are read together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard, by_size
from corpusfmt.formats.columns import ColumnProfile, best_of_text
from corpusfmt.formats.parts import ROOT_FILES
from corpusfmt.formats.rows.columned import columns_of
from corpusfmt.formats.rows.files import judge_names
from corpusfmt.formats.rows.format import data_files
from corpusfmt.formats.sniff import first_row
from corpusfmt.formats.text.ruleset import RULES, VERSION
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Judge

_NAME = re.compile(r".*\.txt(?:\.(?:gz|zst|zstd|xz|bz2|lz4))?", re.DOTALL)
_COMPANION = re.compile(rf"{ROOT_FILES}|.*\.md", re.IGNORECASE | re.DOTALL)
# Limits of a shard of files that are documents.
_MOST_FILES = 10_000
_MOST_BYTES = 256 * 1024 * 1024

NO_TEXT_FILE = RULES.finding(
    "TXT101",
    "no-text-file",
    """The path contains no text file.

    Why: there is nothing to check or read; usually the path is wrong.
    Example: an empty folder, a folder of packed archives.
    Fix: pass the folder that contains the files, or one of them.
    """,
)

UNREAD_FILE = RULES.finding(
    "TXT104",
    "unread-file",
    """A file looks like data, but does not have a name of the format.

    Why: readers skip the file, and it was not checked.
    Example: `de.jsonl.gz` next to `en.txt.gz`; a leftover of an unfinished run.
    Fix: name and compress it like the other files, or move it elsewhere.
    """,
    severity=Severity.WARNING,
)


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
    columns = best_of_text(first.url)
    corpus = f"{columns.summary} (column profile {columns.name})" if columns else "text"
    return Detection(VERSION, f"{corpus}; blank lines separate documents")


def _is_data(entry: Entry) -> bool:
    if entry.kind != "file" or is_hidden(entry.path) or _COMPANION.fullmatch(entry.name):
        return False
    return _NAME.fullmatch(entry.name) is not None


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the files below a path. Raises `UsageError` for an unusable column profile."""
    judge = Judge(RULES, options.grading, version=VERSION, path=".", cap=options.max_per_rule)
    files = data_files(entry, _is_data, UNREAD_FILE, judge)
    if not files:
        hint = "pass the folder that contains the files, or one of them"
        judge.report(NO_TEXT_FILE, Problem("no text file found", Location("."), hint))
    judge_names(files, judge)
    columns = columns_of(options.reading, "text")
    if columns is None:
        columns = (best_of_text(files[0].url) if files else None) or ColumnProfile(format="text")
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
