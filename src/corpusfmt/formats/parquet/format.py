"""Internal: Parquet: a table with a column of texts as a source, documents as columns as a target."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from corpusfmt.formats import CheckOptions, Detection, Format, Plan, Reader, Shard
from corpusfmt.formats.columns import ColumnProfile
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, patterns
from corpusfmt.formats.general import barred, report_barred
from corpusfmt.formats.parquet.arrow import pyarrow, unreadable_columns
from corpusfmt.formats.parquet.check import check, finish
from corpusfmt.formats.parquet.read import document_at, read
from corpusfmt.formats.parquet.rows import Trouble, column_types, first_row, has_text, profile_of
from corpusfmt.formats.parquet.ruleset import RULES, SOURCE, VERSION
from corpusfmt.formats.parquet.write import PARQUET
from corpusfmt.formats.rows.columned import column_shards, columns_of
from corpusfmt.formats.sniff import DESCRIPTIONS, has_name_of_rows, hint_of_text, is_pointer
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.parquet import ParquetTable
from corpusfmt.io.paths import Entry, PointerFile, is_hidden, walk
from corpusfmt.model import Location, Problem, UsageError
from corpusfmt.rules import Judge

_SUFFIX = ".parquet"
_OTHER_DATA = (".jsonl", ".txt.gz")
# Files that are looked at for a text.
_MOST_FILES = 16


NO_PARQUET_FILE = RULES.finding(
    "PQT101",
    "no-parquet-file",
    """The path contains no file with the suffix `.parquet`.

    Why: there is nothing to check or read; usually the path is wrong.
    Example: an empty folder.
    Fix: pass the folder that contains the files, or one of them.
    """,
)


def detect(entry: Entry) -> Detection | None:
    """Claim a Parquet file, and a folder most of whose data are Parquet files.

    Next to a description, tables without a text belong to the description.
    """
    if entry.kind != "directory":
        return Detection(VERSION, _evidence([entry]) or f"the suffix {_SUFFIX}") if _is_data(entry) else None
    first: Entry | None = None
    described = False
    tables = others = 0
    for each in walk(entry):
        if each.path == "documents":
            return None
        others += each.size if any(suffix in each.name for suffix in _OTHER_DATA) else 0
        described = described or each.path in DESCRIPTIONS
        if _is_data(each):
            first = first or each
            tables += each.size
    if first is None or others >= tables or (described and not has_text(first)):
        return None
    return Detection(VERSION, _evidence(each for each in walk(entry) if _is_data(each)) or "Parquet files")


def _evidence(files: Iterable[Entry]) -> str:
    columns = _profile(files)
    if columns is None or not (columns.name or columns.is_table):
        return ""
    return f"rows of {columns.summary} (column profile {columns.name})" if columns.name else "tables without a text"


def _profile(files: Iterable[Entry]) -> ColumnProfile | None:
    """Return the column profile of the first file that is not a pointer, if any; of a table only if no other has a text.

    Of many files, the first ones are looked at.
    """
    first = None
    for file in islice((each for each in files if not is_pointer(each)), _MOST_FILES):
        try:
            profile = profile_of(file)
        except UsageError:
            return None  # without pyarrow, formats are told apart by names
        if profile and not profile.is_table:
            return profile
        first = first or profile
    return first


def _is_data(entry: Entry) -> bool:
    return entry.kind == "file" and entry.name.endswith(_SUFFIX) and not is_hidden(entry.path)


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the files below a path. Raises `UsageError` without pyarrow, and for an unusable column profile."""
    pyarrow()
    judge = Judge(RULES, options.grading, version=VERSION, path=".", cap=options.max_per_rule)
    files: list[Entry] = []
    for each in walk(entry) if entry.kind == "directory" else [entry]:
        if _is_data(each):
            files.append(each)
        elif not is_hidden(each.path) and not report_barred(each, judge) and has_name_of_rows(each):
            try:
                each.open().close()
            except PointerFile as pointer:
                judge.report(*barred(pointer, Location(each.path)))
    if not files:
        hint = "pass the folder that contains the files, or one of them"
        judge.report(NO_PARQUET_FILE, Problem("no Parquet file found", Location("."), hint))
    columns = columns_of(options.reading, "parquet") or _profile(files) or ColumnProfile()
    lacks = hint_of_text([first_row(files[0]) or {}]) if columns.is_table and files else ""
    return Plan(VERSION, list(column_shards(files, "table", columns)), judge.tally, judge.coverage, lacks_text=lacks)


def left_unread(shard: Shard) -> Mapping[str, int]:
    """Return the columns that cannot become JSON, each with the number of rows; none for a corrupt file."""
    try:
        with shard.files["table"].open() as file:
            table = ParquetTable(file, shard.files["table"].path)
            rows = table.file.metadata.num_rows
            return {f"column `{name}`": rows for name in unreadable_columns(table) if rows}
    except (OSError, pyarrow().ArrowException, UnicodeDecodeError):
        return {}


_TYPES = {"string": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}


def _rows(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    fields = [
        FieldOf(name, _TYPES[kind], {"column": name}, f"Column {name}")
        for name, kind in (contents.columns or {}).items()
    ]
    yield RecordSetOf("documents", "The documents", patterns(paths), "application/x-parquet", fields)


def _columns(files: Mapping[str, Entry]) -> Mapping[str, str] | None:
    try:
        return column_types(files["table"])
    except Trouble:
        return None  # the reader reports it


DESCRIBERS: Mapping[str, Describer] = {
    VERSION: Describer("Documents as rows of Parquet files", _rows, columns=_columns, is_open=True)
}


FORMAT = Format(
    name="parquet",
    summary="Parquet: tables with a column of texts",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    finish=finish,
    facts=tuple[str, list[tuple[str, str]], FewKeys | None],
    reader=Reader(
        read,
        at=document_at,
        by_row=True,
        left_unread=left_unread,
        source_name=SOURCE,
        names_fields=True,
        has_columns=True,
    ),
    writers={VERSION: PARQUET},
    describers=DESCRIBERS,
)
