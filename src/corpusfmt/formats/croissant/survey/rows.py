"""Internal: The rows of one file, as a stream: its columns, and whether all readers can read it as a table."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import time
from functools import partial
from itertools import islice, pairwise
from typing import Any

from msgspec import Struct

from corpusfmt.formats.croissant.data.batches import BATCH_ROWS, Batch, Take, Trouble
from corpusfmt.formats.croissant.data.csvrows import CsvRows
from corpusfmt.formats.croissant.data.files import Opened, split_codec
from corpusfmt.formats.croissant.data.rows import MAX_JSON
from corpusfmt.formats.croissant.model.jsontree import EncodingFault, decode, parse
from corpusfmt.formats.croissant.survey.columns import ABSENT, Column, Keys, is_spelt_as
from corpusfmt.formats.general import bad_json
from corpusfmt.io import text as judged
from corpusfmt.io.jsonlines import decoded_value
from corpusfmt.io.lines import MAX_LINE_BYTES, Line, LongLine, lines
from corpusfmt.io.parquet import ParquetTable, values_in
from corpusfmt.io.paths import Entry
from corpusfmt.model import Fault, Location
from corpusfmt.wording import clipped

_MOST_COLUMNS = 5000
# The compression that mlcroissant 1.1.1 reads.
_READ_BY_ALL = ("plain", "gzip")
_OTHER_DELIMITERS = ";\t|"


class NoRows(Exception):
    """A file that is named like a table cannot be read as one by all readers."""


class Rows(Struct):
    """The rows of a file: columns by name, and their number.

    `path` is the JSON path to the rows of a JSON document; `notes` say what is left out.
    """

    columns: dict[str, Column]
    records: int
    path: str = ""
    notes: Sequence[str] = ()


def rows_of(opened: Opened, encoding: str, keys: Keys) -> list[Rows]:
    """Return the tables in a file: one, or those of a JSON document. Raises `NoRows` and `Broken`."""
    codec = split_codec(opened.name.lower())[1]
    if codec not in _READ_BY_ALL:
        raise NoRows(f"mlcroissant 1.1.1 reads no tables in {codec}; compress it with gzip")
    if encoding == "application/json":
        return _json(opened, keys)
    if encoding == "application/jsonlines":
        return [_json_lines(opened, keys)]
    if encoding == "application/x-parquet":
        return [_parquet(opened, keys)]
    return [_table(opened, "," if encoding == "text/csv" else "\t", keys)]


# The beginning of a number with at least as many digits as one of more than 64 bits, maybe in a string.
_LONG_NUMBER = re.compile(rb"[:,\[\s]-?[0-9]{19}")


# --- tables ---


def _table(opened: Opened, delimiter: str, keys: Keys) -> Rows:
    rows = CsvRows(opened.path, lines(opened.contents), delimiter)
    header = rows.header()
    _refuse(rows.faults)
    _refuse_header(header, delimiter)
    named, notes = _named(header)
    takes = [Take("column", name) for name in named]
    columns = [Column(name, keys, is_table=True) for name in named]
    records = 0
    for batch in rows.batches(header, takes):
        _refuse(batch.faults)
        for take, column in zip(takes, columns, strict=True):
            column.add(batch.columns[take], partial(_row_of, batch))
        records += batch.size
    if _is_row(header, columns):
        raise NoRows("no header: the first row has the types of the others; add a row of names")
    return Rows(dict(zip(named, columns, strict=True)), records, notes=notes)


def _is_row(header: Sequence[str], columns: Sequence[Column]) -> bool:
    """Return whether the first row of a table is like the others: of the same type wherever that is not text.

    Rising whole numbers are names, such as years.
    """
    typed = [column for column in columns if column.there and column.verdict.type != "sc:Text"]
    numbers = [int(name) for name in header if is_spelt_as("sc:Integer", name)]
    if len(numbers) > 1 and all(one < other for one, other in pairwise(numbers)):
        return False
    return bool(typed) and all(is_spelt_as(column.verdict.type, column.name) for column in typed)


def _refuse_header(header: Sequence[str], delimiter: str) -> None:
    if not any(header):
        raise NoRows("no header")
    if len(header) > _MOST_COLUMNS:
        raise NoRows(f"{len(header)} columns, more than {_MOST_COLUMNS}")
    other = next((each for each in _OTHER_DELIMITERS if each in header[0]), "") if len(header) == 1 else ""
    if other and other != delimiter:
        raise NoRows(f"the header has {other!r} in it, which readers do not split at")


def _named(header: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the columns that have the same names for all readers, and notes about the others."""
    names = list(dict.fromkeys(name for name in header if name.strip()))
    notes = [f"column {number} has no name" for number, name in enumerate(header, 1) if not name.strip()]
    notes += [f"column {number} is named `{clipped(name)}` like an earlier one"
              for number, name in enumerate(header, 1) if name.strip() and name in header[: number - 1]]  # fmt: skip
    if names and all(name.strip().lstrip("+-").replace(".", "", 1).isdigit() for name in names):
        notes.append("the first row has only numbers, and is read as the header")
    return names, notes[:10]


def _refuse(faults: Sequence[Trouble]) -> None:
    """Raise `NoRows` for the first fault of rows."""
    for fault in faults:
        if isinstance(fault, Fault):
            raise NoRows(_why(fault))


def _why(fault: Fault) -> str:
    return f"{fault.problem.message} ({_said(fault.problem.at)})"


def _said(at: Location) -> str:
    return f"{at.path}:{at.line}" if at.line is not None else f"{at.path}: {at.record}" if at.record else at.path


def _row_of(batch: Batch, row: int) -> str:
    return _said(batch.at(row))


def _line_of(path: str, group: Sequence[Line | LongLine], row: int) -> str:
    return f"{path}:{group[row].line}"


def _record_at(path: str, first: int, row: int) -> str:
    return f"{path}: record {first + row + 1}"


# --- JSON ---


def _json_lines(opened: Opened, keys: Keys) -> Rows:
    columns = _Columns(keys)
    source = lines(opened.contents)
    while group := list(islice(source, BATCH_ROWS // 8)):
        rows = [_decoded(opened.path, line) for line in group]
        columns.add(rows, partial(_line_of, opened.path, group))
    for column in columns.found.values():
        column.is_json_line = True
    return Rows(columns.found, columns.records)


def _decoded(path: str, line: Line | LongLine) -> dict[str, Any]:
    if isinstance(line, LongLine):
        raise NoRows(f"line {line.line} is longer than {MAX_LINE_BYTES} bytes")
    at = Location(path, line.line, line.byte)
    try:
        value = decoded_value(line.data)
    except UnicodeDecodeError as error:
        raise NoRows(f"not UTF-8 ({_said(at)})") from error
    except judged.JsonFault as fault:
        raise NoRows(_why(bad_json(at, fault))) from fault
    if not isinstance(value, dict):
        raise NoRows(f"a row is {judged.json_type(value)}, expected an object ({path}:{line.line})")
    if _LONG_NUMBER.search(line.data) and _has_huge(value):
        raise NoRows(f"mlcroissant 1.1.1 reads no number of more than 64 bits; write it as a text ({_said(at)})")
    return value


def _has_huge(value: Any) -> bool:
    """Return whether a number in a value has more than 64 bits."""
    if isinstance(value, dict | list):
        return any(map(_has_huge, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not -(2**63) <= value < 2**64


class _Columns:
    """The columns of rows that are objects."""

    def __init__(self, keys: Keys) -> None:
        self.found: dict[str, Column] = {}
        self.records = 0
        self._keys = keys

    def add(self, rows: Sequence[dict[str, Any]], place: Callable[[int], str]) -> None:
        for name in dict.fromkeys(name for row in rows for name in row):
            if name not in self.found:
                if len(self.found) >= _MOST_COLUMNS:
                    raise NoRows(f"more than {_MOST_COLUMNS} names in {place(0)}")
                column = self.found[name] = Column(name, self._keys)
                column.rows = column.absent = self.records
        for name, column in self.found.items():
            column.add([row.get(name, ABSENT) for row in rows], place)
        self.records += len(rows)


def _json(opened: Opened, keys: Keys) -> list[Rows]:
    data = bytearray()
    for chunk in opened.contents:
        data += chunk
        if len(data) > MAX_JSON:
            raise NoRows(f"JSON of more than {MAX_JSON:,} bytes is not read; write JSON Lines")
    try:
        text, _ = decode(bytes(data))
        tree, repeated = parse(text)
    except (EncodingFault, judged.JsonFault) as fault:
        raise NoRows(f"the JSON does not read to its end: {fault}") from fault
    if repeated:
        raise NoRows("a name occurs twice in one object")
    found = []
    for path, rows in _tables_in(tree):
        columns = _Columns(keys)
        columns.add(rows, partial(_record_at, opened.path, 0))
        found.append(Rows(columns.found, len(rows), path))
    return found


def _tables_in(tree: Any) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the lists of objects at the top of a document, or one step below, or else the document as one record."""
    if isinstance(tree, list):
        if not tree or not all(isinstance(each, dict) for each in tree):
            raise NoRows("a list of other things than objects" if tree else "an empty list")
        return [("$[*]", tree)]
    if not isinstance(tree, dict) or not tree:
        raise NoRows(f"the document is {judged.json_type(tree)} without records")
    found = [
        (f"${step_to(name)}[*]", each)
        for name, each in tree.items()
        if isinstance(each, list) and each and all(isinstance(row, dict) for row in each) and step_to(name)
    ]
    return found or [("$", [tree])]


def step_to(name: str) -> str:
    """Return the step of a JSON path to a member, "" if readers disagree on how to write it."""
    if name.isascii() and name.isidentifier():
        return f".{name}"
    return f"['{name}']" if name and not set(name) & set("'\"\\") and name.isprintable() else ""


# --- Parquet ---


def _parquet(opened: Opened, keys: Keys) -> Rows:
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
    except ImportError:
        raise NoRows("Parquet needs pyarrow: pip install 'corpusfmt[parquet]'") from None
    if opened.entry is None:
        raise NoRows("Parquet in an archive is not read")
    try:
        with opened.entry.open() as file:
            return _of_table(ParquetTable(file, opened.path), opened.entry, keys)
    # `ValueError` for names that are not UTF-8, and for nanoseconds.
    except (pa.ArrowException, OSError, ValueError) as error:
        raise NoRows(f"the Parquet file does not read to its end: {str(error)[:200]}") from error


def _of_table(table: ParquetTable, entry: Entry, keys: Keys) -> Rows:
    columns: dict[str, Column] = {}
    notes = []
    for field in table.file.schema_arrow:
        if not _is_plain(field.type):
            notes.append(f"column `{clipped(field.name)}` is {field.type}")
        else:
            columns[field.name] = Column(field.name, keys)
    done = 0
    for part in table.batches(list(columns), _values) if columns else ():
        size = len(next(iter(part.values())))
        for name, column in columns.items():
            column.add(part[name], partial(_record_at, entry.path, done))
        done += size
        del part  # before the next takes memory
    return Rows(columns, done, notes=notes)


def _is_plain(kind: Any) -> bool:
    """Return whether values of an Arrow type are JSON values, dates or bytes to all readers."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(field.type) for field in kind)
    return not (types.is_duration(kind) or types.is_nested(kind) or types.is_interval(kind))


def _values(part: Any) -> dict[str, list[Any]]:
    for name in part.schema.names:
        if _has_nanoseconds(part.column(name)):
            raise NoRows(
                f"`{clipped(name)}` has times that mlcroissant 1.1.1 does not read; round them to microseconds"
            )
    return {name: [_plain(each) for each in values_in(part.column(name))] for name in part.schema.names}


def _has_nanoseconds(column: Any) -> bool:
    """Return whether an Arrow array has times below a microsecond: pandas then reads no column of the file."""
    import pyarrow as pa  # noqa: PLC0415

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        return _has_nanoseconds(column.dictionary)
    if types.is_struct(kind):
        return any(map(_has_nanoseconds, column.flatten()))
    if types.is_nested(kind):
        return _has_nanoseconds(column.flatten())
    return kind == pa.time64("ns") and not column.equals(column.cast("time64[us]", safe=False).cast(kind))


def _plain(value: Any) -> Any:
    """Return a value as JSON, except times: dates as text, decimal numbers as floats."""
    if value is None or isinstance(value, bool | int | float | str | bytes | time):
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else float(value)
