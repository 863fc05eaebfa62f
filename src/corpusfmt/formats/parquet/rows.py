"""Internal: Tables and their rows: the contents of columns, and the values that a row must have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import ReadOptions
from corpusfmt.formats.columns import TABLE, ColumnProfile, columns_of_rows
from corpusfmt.formats.general import bad_text, barred, out_of_range
from corpusfmt.formats.parquet.arrow import (
    JSON_COLUMNS,
    batches,
    is_integer,
    is_ours,
    is_text,
    json_rows,
    kind_at,
    pyarrow,
    readable_columns,
    unreadable_columns,
)
from corpusfmt.formats.parquet.ruleset import RULES
from corpusfmt.formats.rows.columned import ColumnRecord, field_type_rule, is_id, names_columns, table_rules
from corpusfmt.io.jsonlines import decoded_value
from corpusfmt.io.parquet import ParquetTable
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import JsonFault, NumberFault, json_type, path_to, value_at
from corpusfmt.model import Fault, Json, Location, Problem, Severity, UsageError
from corpusfmt.rules import Judge


class TableColumns(Struct, frozen=True):
    """The columns of a file with the types for reading them, and the names of those that make a document."""

    at: Location
    names: tuple[str, ...]
    kinds: Mapping[str, Any]
    unreadable: tuple[str, ...]
    text: str | None
    id: Sequence[str] | None
    ours: bool
    profile: ColumnProfile

    @property
    def text_path(self) -> Sequence[str]:
        return () if self.text is None else path_to(self.text)


class Row(Struct, frozen=True):
    """One row as JSON, with the columns of its file."""

    at: Location
    fields: Json
    columns: TableColumns


PARQUET_BROKEN = RULES.finding(
    "PQT102",
    "parquet-broken",
    """A file is not a Parquet file, or is corrupt.

    Why: all further rows are lost.
    Example: a truncated download without the footer; a flipped bit under a page checksum.
    Fix: download or write the file again.
    """,
)


@RULES.rule("PQT201", "column-missing", on=TableColumns)
def column_missing(columns: TableColumns) -> Iterator[Problem]:
    """The text column, or the requested id column, is missing.

    Why: a document needs a text. A column of ids is needed only if `--field id` names it.
    Example: the text is called `content`.
    Fix: name the columns with --field text=COLUMN and --field id=COLUMN when converting.
    """
    there = ", ".join(f"`{each}`" for each in columns.names[:10])
    wanted = (
        ("text", columns.text and columns.text_path[0]),
        ("id", columns.id and columns.id[0]),
    )
    for role, name in wanted:
        if name is not None and name not in columns.names:
            yield Problem(
                f"column `{name}` is missing; the columns are {there}",
                columns.at,
                f"name the column with --field {role}=COLUMN",
            )


@RULES.rule("PQT202", "column-type", on=TableColumns)
def column_type(columns: TableColumns) -> Iterator[Problem]:
    """The text column does not contain strings, or the id column neither strings nor whole numbers.

    Why: only strings are text, and other numbers have several spellings as ids.
    Example: a text as bytes, ids as floating-point numbers.
    Fix: write the column as strings.
    """
    path = columns.text_path
    if path and path[0] in columns.names and not is_text(kind_at(columns.kinds, path)):
        yield Problem(f"column `{columns.text}` does not hold strings", columns.at, "write it as strings")
    if columns.id is not None and columns.id[0] in columns.names:
        kind = kind_at(columns.kinds, columns.id)
        if not (is_text(kind) or is_integer(kind)):
            message = f"column `{columns.profile.fields.id}` holds neither strings nor whole numbers"
            yield Problem(message, columns.at, "write it as strings")


@RULES.rule("PQT203", "column-not-read", on=TableColumns, severity=Severity.WARNING)
def column_not_read(columns: TableColumns) -> Iterator[Problem]:
    """A column has a type that JSON cannot represent.

    Why: a conversion drops it, and reports the loss.
    Example: an image as bytes.
    Fix: remove the column, or write it as strings.
    """
    for name in columns.unreadable:
        yield Problem(f"column `{name}` cannot become JSON", columns.at, "leave it out, or write it as strings")


@RULES.rule("PQT301", "text-null", on=Row, accepted_by="clean_rows")
def text_null(row: Row) -> Iterator[Problem]:
    """The text of a row is null. The empty string is accepted.

    Why: the row cannot become a document.
    Example: a text that was lost in a join.
    Fix: add the text, or remove the row.
    """
    if row.columns.text is not None and value_at(row.fields, row.columns.text_path) is None:
        yield Problem("the text is null", row.at, "add the text, or remove the row")


@RULES.rule("PQT302", "id-null", on=Row, accepted_by="clean_rows", grades={"minor": Severity.WARNING})
def id_null(row: Row) -> Iterator[Problem]:
    """The id of a row is null or empty, in a file with ids. A warning in tables without a text.

    Why: the document cannot be identified.
    Example: an id that was lost in a join.
    Fix: give the row a unique id.
    """
    if row.columns.id is not None and not is_id(value_at(row.fields, row.columns.id)):
        minor = row.columns.profile.may_lack_ids
        yield Problem("the id is null or empty", row.at, "give the row a unique id", minor=minor)


JSON_COLUMN_MALFORMED = RULES.finding(
    "PQT303",
    "json-column-malformed",
    """A column that corpusfmt writes as JSON (metadata, attributes, extra) does not contain a JSON object.

    Why: the fields of the document cannot be restored from it.
    Example: a file that another tool changed while keeping corpusfmt's mark.
    Fix: write the file again from its source.
    """,
)

field_type_rule(RULES, "PQT304")
table_rules(RULES, "PQT305", "PQT306")


def judge_row(row: TableColumns | Row | Fault, judge: Judge) -> None:
    """Judge the columns of a file, or a row and the content of its JSON columns; report a fault in place of one."""
    if isinstance(row, Fault):
        judge.report(*row)
        return
    judge.check(row)
    if isinstance(row, Row):
        columns = row.columns
        if columns.profile.values and not columns.ours:
            required = () if columns.text is None else (columns.text,)
            judge.check(ColumnRecord(row.at, row.fields, required, columns.profile, columns.id))
        for fault in _faults_of_json(row):
            judge.report(*fault)


def _faults_of_json(row: Row) -> Iterator[Fault]:
    """Yield the faults of the columns that corpusfmt writes as JSON."""
    for name in JSON_COLUMNS if row.columns.ours else ():
        text = row.fields.get(name)
        try:
            value = {} if text is None else decoded_value(text.encode())
        except NumberFault as fault:
            yield out_of_range(replace(row.at, pointer=f"/{name}"), fault)
            continue
        except JsonFault as fault:
            reason = fault.reason
        else:
            if isinstance(value, dict):
                continue
            reason = f"it is {json_type(value)}"
        message = f"column `{name}` does not hold a JSON object: {reason}"
        yield Fault(JSON_COLUMN_MALFORMED, Problem(message, row.at, "write the file again"))


def columns_of(table: ParquetTable, at: Location, reading: ReadOptions, found: ColumnProfile) -> TableColumns:
    """Return the columns of a file, read by the profile that options name, or else by the one that was found."""
    names = tuple(table.file.schema_arrow.names)
    ours = is_ours(table) and not names_columns(reading)
    profile = ColumnProfile() if ours else found
    kinds = readable_columns(table)
    path = None if profile.fields.id is None else path_to(profile.fields.id)
    if path and profile.may_lack_ids and not (is_text(kind := kind_at(kinds, path)) or is_integer(kind)):
        path = None
    return TableColumns(
        at,
        names,
        kinds,
        tuple(unreadable_columns(table)),
        profile.fields.text,
        path if path and (profile.needs_id or path[0] in names) else None,
        ours,
        profile,
    )


def first_row(entry: Entry) -> Json | None:
    """Return the first row of a file, or its columns if it has none, if corpusfmt did not write it."""
    try:
        with opened(entry) as table:
            if is_ours(table):
                return None
            first = next(batches(table, readable_columns(table), json_rows, most_rows=1), [])
            return next(iter(first), dict.fromkeys(table.file.schema_arrow.names))
    except Trouble:
        return None  # the check reports it


def profile_of(entry: Entry) -> ColumnProfile | None:
    """Return the column profile of a file by its first row, if corpusfmt did not write it."""
    row = first_row(entry)
    return None if row is None else columns_of_rows([row], entry.url)


def has_text(entry: Entry) -> bool:
    """Return whether a table is one of a corpus: with a text, or written by corpusfmt; or cannot be read, which the check reports."""
    try:
        with opened(entry) as table:
            if is_ours(table):
                return True
        return not (profile_of(entry) or TABLE).is_table
    except (Trouble, UsageError):  # the latter without pyarrow, which the plan asks for
        return True


def column_types(entry: Entry) -> dict[str, str]:
    """Return the columns of a file with single values: "string", "integer", "number" or "boolean" by name.

    Raises `Trouble` for a file that cannot be read.
    """
    types = pyarrow().types
    with opened(entry) as table:
        found = readable_columns(table)
    tests = {
        "string": is_text,
        "integer": types.is_integer,
        "number": types.is_floating,
        "boolean": types.is_boolean,
    }
    return {name: kind for name, column in found.items() for kind, test in tests.items() if test(column)}


@contextmanager
def opened(entry: Entry) -> Iterator[ParquetTable]:
    """Open a file as a table. Raises `Trouble` for an unreadable one, also while it is being read."""
    at = Location(entry.path)
    try:
        file = entry.open()
    except OSError as error:
        raise Trouble(barred(error, at)) from error
    with file:
        try:
            pyarrow()
            yield ParquetTable(file, entry.path)
        except (pyarrow().ArrowException, OSError, UnicodeDecodeError) as error:  # the last: names not in UTF-8
            if isinstance(error, OSError) and error.errno is not None:
                raise Trouble(barred(error, at)) from error
            reason = str(error).partition("\n")[0].rstrip(".")
            problem = Problem(f"not readable as Parquet: {reason}", at, "copy or write the file again")
            raise Trouble(Fault(PARQUET_BROKEN, problem)) from error


class Trouble(Exception):
    """A file cannot be read further; has the finding about it."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


def rows(table: ParquetTable, columns: TableColumns, first: int = 1) -> Iterator[Row | Fault]:
    """Yield the rows of a file with correct columns from a number on, and a fault for one with a string that is not UTF-8."""
    found = batches(table, columns.kinds, lambda batch: list(decoded(batch)), first - 1)
    return (row_of(fields, columns, number) for number, fields in enumerate(chain.from_iterable(found), first))


def decoded(batch: Any) -> Iterator[Json | UnicodeDecodeError]:
    """Yield the rows of a table in memory, and an error for one with a string that is not UTF-8."""
    try:
        yield from json_rows(batch)
    except UnicodeDecodeError:
        for index in range(batch.num_rows):
            try:
                yield json_rows(batch.slice(index, 1))[0]
            except UnicodeDecodeError as error:
                yield error


def row_of(fields: Json | UnicodeDecodeError, columns: TableColumns, number: int) -> Row | Fault:
    """Return a decoded row, given its number in the file from 1."""
    if isinstance(fields, UnicodeDecodeError):
        at = replace(columns.at, line=number)
        return bad_text(at, f"{fields.reason} (byte {fields.object[fields.start]:02x})")
    return Row(place_of(fields, columns, number), fields, columns)


def place_of(fields: Json, columns: TableColumns, number: int) -> Location:
    """Return where a row is, given its number in the file from 1."""
    name = value_at(fields, columns.id) if columns.id else None
    return replace(columns.at, line=number, record=None if name is None else str(name))
