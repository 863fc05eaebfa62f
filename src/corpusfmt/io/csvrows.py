"""Internal: CSV: its rows as JSON Lines, and values as its cells."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.streams import StreamFault

# What a cell begins with that spreadsheets run (https://owasp.org/www-community/attacks/CSV_Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_CSV_BLOCK = 64 * 1024
# A cell with a character of these is quoted: CR in every version of Python, and what would be taken for the mark of a file.
_QUOTED = "\r\n\ufeff"
_encoder = msgspec.json.Encoder()


def cell(value: Any) -> str:
    """Return a value as a cell: a text as it is, null as an empty cell, bytes as Base64, any other value as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return json.dumps(printable(value), ensure_ascii=False, separators=(",", ":"))


def is_formula(value: Any) -> bool:
    """Return whether a spreadsheet would run the cell of a value."""
    return isinstance(value, str | bytes) and cell(value).startswith(_FORMULA)


def inert_cell(value: Any) -> str:
    """Return a value as a cell, with an apostrophe before a formula."""
    return f"'{cell(value)}" if is_formula(value) else cell(value)


def csv_line(cells: Iterable[str]) -> bytes:
    """Return cells as a row of CSV that ends in LF."""
    row = io.StringIO()
    csv.writer(row, lineterminator=_QUOTED).writerow(cells)
    return (row.getvalue().removesuffix(_QUOTED) + "\n").encode("utf-8", "backslashreplace")


def printable(value: Any) -> Any:
    """Return a value for JSON: bytes as Base64, NaN and infinities as null."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    if isinstance(value, list):
        return [printable(each) for each in value]
    if isinstance(value, dict):
        return {name: printable(each) for name, each in value.items()}
    return value


class CsvFault(Struct):
    """What is wrong with rows of CSV: the number of the first of them, and how many there are."""

    row: int
    count: int = 1
    is_minor: bool = False


def rows_of_csv(
    found: Iterable[Block | LongLine], separator: str, most: int, faults: dict[str, CsvFault]
) -> Iterator[Block | LongLine]:
    """Yield the rows of CSV, read as by pandas, as JSON Lines with texts; their lines are the numbers of rows, from 1 for the header.

    A row with too few fields has nulls; one with too many, or longer than `most`, is an array of its fields. Bytes that are not
    UTF-8 stay as they are. `faults` gets what else is wrong.
    """
    csv.field_size_limit(most)
    is_at_end = False
    characters = 0  # of the current row

    def lines() -> Iterator[str]:
        nonlocal is_at_end, characters
        first = True
        for block in found:
            if isinstance(block, LongLine):
                raise csv.Error(f"a line has {block.length:,} bytes, expected at most {most:,}")
            text = block.data.decode("utf-8", "surrogateescape")
            for line in text.removeprefix("\ufeff" if first else "").removesuffix("\n").split("\n"):
                characters += len(line) + 1
                if characters > most:
                    raise csv.Error(f"a row has more than {most:,} characters")
                yield f"{line}\n"
            first = False
        is_at_end = True

    reader = csv.reader(lines(), delimiter=separator)
    names: list[str] = []
    rows: list[bytes] = []
    number = size = 0
    broken: StreamFault | None = None
    record: list[str] | None = []
    while record is not None:
        try:
            record = next(reader, None)
            if record and is_at_end:
                faults["a quoted field has no end"] = CsvFault(number + 1)
        except csv.Error as error:
            faults[f"{error}: the rows from here on are not read"] = CsvFault(number + 1)
            record = None
        except StreamFault as error:
            broken, record = error, None
        characters = 0
        if record:
            number += 1
            if number == 1:
                names = _unique(record, faults)
            else:
                if len(record) < len(names):
                    faults.setdefault(_SHORT, CsvFault(number, 0, is_minor=True)).count += 1
                row = dict.fromkeys(names) | dict(zip(names, record, strict=False))
                rows.append(_csv_row(record if len(record) > len(names) else row))
                size += len(rows[-1])
        if rows and (record is None or size >= _CSV_BLOCK):
            yield Block(b"".join(rows), number - len(rows) + 1, 0)
            rows, size = [], 0
    if broken is not None:
        raise broken


_SHORT = "the row has fewer fields than the header; the rest are null"


def _unique(names: list[str], faults: dict[str, CsvFault]) -> list[str]:
    """Return the names of a header, those that are repeated with a number, as pandas does."""
    known, numbers = set(names), Counter[str]()
    unique: list[str] = []
    for name in names:
        own = name
        while (numbers[name] and own in known) or own in unique[-1:]:
            own = f"{name}.{numbers[name]}"
            numbers[name] += 1
        numbers[name] = numbers[name] or 1
        known.add(own)
        unique.append(own)
    if unique != names:
        faults["a name occurs twice in the header"] = CsvFault(1, is_minor=True)
    return unique


def _csv_row(row: Any) -> bytes:
    try:
        return _encoder.encode(row) + b"\n"
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"
