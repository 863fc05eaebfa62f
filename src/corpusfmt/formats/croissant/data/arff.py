"""Internal: Rows of ARFF files (Weka's attribute-relation format), dense and sparse, with the line of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from corpusfmt.formats.croissant.data.batches import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    Broken,
    NotRead,
    Take,
    Trouble,
    bad_line,
    nowhere,
)
from corpusfmt.formats.croissant.data.csvrows import BOM, odd_width, places_of
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.findings import DATA_ARCHIVE_CORRUPT, DATA_ROW_WIDTH
from corpusfmt.formats.general import too_long
from corpusfmt.io.lines import MAX_LINE_BYTES, Line, LongLine, lines
from corpusfmt.model import Fault, Location, Problem

_QUOTED = r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\""
_DECLARATION = re.compile(
    rf"@attribute\s+(?P<name>{_QUOTED}|[^\s'\"{{}},%]+)\s*(?P<type>.*)", re.IGNORECASE | re.DOTALL
)
_CELL = re.compile(rf"\s*+(?:(?P<quoted>{_QUOTED})|(?P<plain>[^,'\"]*+))\s*+(?P<end>,|\Z)", re.DOTALL)
_SPARSE = re.compile(r"\s*+(?P<index>[0-9]{1,9})\s++(?P<rest>.*)", re.DOTALL)
_WEIGHT = re.compile(r"\{[^{}]*\}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_NUMBERS = ("numeric", "real", "integer")
# As many attributes as a wide table has columns; a file with a million is not a table.
_MOST_ATTRIBUTES = 1_000_000


class _Attribute(Struct, frozen=True):
    """A column, and its value in a sparse row that omits it; None for a text."""

    name: str
    zero: str | None


def arff(opened: Opened, takes: Sequence[Take]) -> Iterator[Batch]:
    """Yield the rows of an ARFF file; `?` means no value, and rows that do not fit the attributes are faults.

    Raises `Broken` if there is no data section, `NotRead` for relational attributes.
    """
    found = _texts(opened)
    attributes = _header(opened.path, found)
    place_of = places_of([each.name for each in attributes], (take.name for take in takes))
    missing = [take for take in takes if take.name not in place_of]
    if missing:
        faults: list[Trouble] = [*nowhere(opened.path, missing, [each.name for each in attributes])]
        yield Batch(opened.path, 0, {take: [] for take in takes}, [], faults=faults)
        return
    yield from _rows(opened.path, found, attributes, {take: place_of[take.name] for take in takes})


class _Text(Struct, frozen=True):
    """A line with content, or its fault."""

    text: str
    line: int
    fault: Fault | None = None


def _texts(opened: Opened) -> Iterator[_Text]:
    for line in lines(opened.contents):
        if isinstance(line, LongLine):
            at = Location(opened.path, line=line.line, byte=line.byte)
            yield _Text("", line.line, too_long(at, line.length, MAX_LINE_BYTES))
            continue
        try:
            text = _decoded(line).strip()
        except UnicodeDecodeError:
            yield _Text("", line.line, bad_line(opened.path, line))
            continue
        if text and not text.startswith("%"):
            yield _Text(text, line.line)


def _decoded(line: Line) -> str:
    return (line.data.removeprefix(BOM) if line.line == 1 else line.data).decode()


def _header(path: str, found: Iterator[_Text]) -> list[_Attribute]:
    attributes: list[_Attribute] = []
    for each in found:
        if each.fault is not None:
            raise Broken(each.fault)
        word = each.text.partition(" ")[0].partition("\t")[0].lower()
        if word == "@data":
            return attributes
        if word == "@attribute":
            attributes.append(_attribute(path, each))
        elif word != "@relation":
            raise _unreadable(path, each.line, f"`{word[:40]}` is not a declaration")
        if len(attributes) > _MOST_ATTRIBUTES:
            raise NotRead(f"`{path}` has more than {_MOST_ATTRIBUTES:,} attributes", path)
    raise _unreadable(path, None, "it has no line `@data`")


def _attribute(path: str, declared: _Text) -> _Attribute:
    match = _DECLARATION.fullmatch(declared.text)
    if match is None:
        raise _unreadable(path, declared.line, "an attribute has no name")
    kind = match["type"]
    if kind.lower().startswith("relational"):
        raise NotRead(f"`{path}`: attributes that are relations are not read", path)
    zero = "0" if kind.lower().startswith(_NUMBERS) else None
    if kind.startswith("{"):
        first = _CELL.match(kind, 1) if not kind.endswith("}") else _CELL.match(kind[1:-1])
        zero = _value(first) if first is not None else None
    return _Attribute(_unquoted(match["name"]), zero)


def _unreadable(path: str, line: int | None, reason: str) -> Broken:
    problem = Problem(
        f"the ARFF file does not read on: {reason}",
        Location(path, line=line),
        "declare each column with `@attribute NAME TYPE`, then write `@data`",
    )
    return Broken(Fault(DATA_ARCHIVE_CORRUPT, problem))


def _rows(
    path: str, found: Iterator[_Text], attributes: Sequence[_Attribute], places: dict[Take, int]
) -> Iterator[Batch]:
    kept: list[list[str | None]] = []
    starts: list[int] = []
    faults: list[Trouble] = []
    size = 0

    def batch() -> Batch:
        return Batch(
            path,
            len(kept),
            {take: [row[place] for row in kept] for take, place in places.items()},
            starts,
            faults=faults,
        )

    for each in found:
        if len(kept) >= BATCH_ROWS or size > BATCH_BYTES or len(faults) >= BATCH_ROWS:
            yield batch()
            kept, starts, faults, size = [], [], [], 0
        size += len(each.text)
        row = _row(each.text, attributes) if each.fault is None else each.fault
        at = Location(path, line=each.line)
        if isinstance(row, list) and len(row) == len(attributes):
            kept.append(row)
            starts.append(each.line)
        elif isinstance(row, list):
            faults.append(odd_width(at, len(row), len(attributes)))
        elif isinstance(row, str):
            faults.append(
                Fault(DATA_ROW_WIDTH, Problem(row, at, "quote texts, and put a backslash before quotes in them"))
            )
        else:
            faults.append(row)
    yield batch()


def _row(text: str, attributes: Sequence[_Attribute]) -> list[str | None] | str:
    """Return the cells of a row, or its fault."""
    if text.startswith("{"):
        return _sparse(text, attributes)
    cells = _cells(text)
    if cells is None:
        return "a quote of the row is not closed, or not at the border of a cell"
    if len(cells) == len(attributes) + 1 and _WEIGHT.fullmatch(cells[-1] or ""):
        del cells[-1]  # the weight of the row, which is not one of its values
    return cells


def _cells(text: str) -> list[str | None] | None:
    cells: list[str | None] = []
    position = 0
    while True:
        match = _CELL.match(text, position)
        if match is None:
            return None
        cells.append(_value(match))
        position = match.end()
        if not match["end"]:
            return cells


def _sparse(text: str, attributes: Sequence[_Attribute]) -> list[str | None] | str:
    closing = text.rfind("}")
    row = [each.zero for each in attributes]
    inside = text[1:closing].strip()
    position = 0
    while position < len(inside):
        index = _SPARSE.match(inside, position)
        cell = _CELL.match(inside, index.start("rest")) if index is not None else None
        if index is None or cell is None or closing < 0:
            return "a sparse row is not a list of index and value, as in `{0 1.5, 3 'a'}`"
        if int(index["index"]) >= len(row):
            return f"index {index['index']} of a sparse row, and the last attribute is {len(row) - 1}"
        row[int(index["index"])] = _value(cell)
        position = cell.end()
    return row


def _value(cell: re.Match[str]) -> str | None:
    """Return the text of a cell; None for `?` and for an empty cell."""
    if cell["quoted"] is not None:
        return _unquoted(cell["quoted"])
    plain = cell["plain"].strip()
    return None if plain in ("?", "") else plain


def _unquoted(text: str) -> str:
    if text[:1] not in ("'", '"'):
        return text
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1], flags=re.DOTALL)
