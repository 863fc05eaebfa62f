"""Internal: Rows of CSV and TSV files, with the line that each starts in."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from corpusfmt.formats.croissant.data.batches import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    Broken,
    Take,
    Trouble,
    bad_line,
    nowhere,
)
from corpusfmt.formats.croissant.data.findings import DATA_ARCHIVE_CORRUPT, DATA_ROW_WIDTH
from corpusfmt.formats.general import too_long
from corpusfmt.io.lines import MAX_LINE_BYTES, Line, LongLine
from corpusfmt.model import Fault, Location, Problem

BOM = b"\xef\xbb\xbf"


def table(path: str, found: Iterable[Line | LongLine], delimiter: str, takes: Sequence[Take]) -> Iterator[Batch]:
    """Yield the rows of a CSV or TSV file. An empty cell is no value; rows of another width than the header are faults."""
    source = TableLines(path, found)
    header = header_of(path, source.text(), delimiter)
    yield from body(source, delimiter, header, takes)


def header_of(path: str, text: Iterator[str], delimiter: str) -> list[str]:
    """Return the first row. Raises `Broken`."""
    csv.field_size_limit(MAX_LINE_BYTES)
    try:
        return next(csv.reader(text, delimiter=delimiter), [])
    except csv.Error as error:
        raise Broken(_unreadable(path, 1, str(error))) from error


def shifted(found: Iterable[Line | LongLine], line: int, byte: int) -> Iterator[Line | LongLine]:
    """Yield the lines of a piece of a file with their places in the file, which the piece starts at."""
    return (replace(each, line=each.line + line - 1, byte=each.byte + byte) for each in found)


def places_of(header: Sequence[str], names: Iterable[str]) -> dict[str, int]:
    """Return the columns of some names, the first of each name."""
    wanted = frozenset(names)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        if name in wanted:
            places.setdefault(name, place)
    return places


def body(source: TableLines, delimiter: str, header: Sequence[str], takes: Sequence[Take]) -> Iterator[Batch]:
    """Yield the rows after the header."""
    place_of = places_of(header, (take.name for take in takes))
    missing = [take for take in takes if take.name not in place_of]
    if missing:
        faults: list[Trouble] = [*source.take_faults(), *nowhere(source.path, missing, header)]
        yield Batch(source.path, 0, {take: [] for take in takes}, [], faults=faults)
    else:
        yield from _batches(source, delimiter, len(header), {take: place_of[take.name] for take in takes})


def _batches(source: TableLines, delimiter: str, width: int, places: Mapping[Take, int]) -> Iterator[Batch]:
    csv.field_size_limit(MAX_LINE_BYTES)
    rows = csv.reader(source.text(), delimiter=delimiter)
    kept: list[list[str]] = []
    starts: list[int] = []
    faults: list[Trouble] = []

    def batch() -> Batch:
        columns = list(zip(*kept, strict=True)) if kept else [()] * width
        picked = {take: [cell or None for cell in columns[place]] for take, place in places.items()}
        return Batch(source.path, len(kept), picked, starts, faults=faults)

    broken = None
    while True:
        source.begin_row()
        try:
            row = next(rows, None)
        except csv.Error as error:
            broken = _unreadable(source.path, source.first_line, str(error))
            row = None
        if row is None:
            break
        lost = source.take_faults()
        if len(kept) >= BATCH_ROWS or source.taken > BATCH_BYTES or len(faults) >= BATCH_ROWS:
            yield batch()
            kept, starts, faults = [], [], []
            source.taken = 0
        faults += lost
        if source.is_open(delimiter):
            broken = _unreadable(source.path, source.first_line, "a quote is not closed")
        elif len(row) == width and not source.is_broken:
            kept.append(row)
            starts.append(source.first_line)
        elif row and not source.is_broken:
            faults.append(_odd_width(Location(source.path, line=source.first_line), len(row), width))
    faults += source.take_faults()
    yield batch()
    if broken is not None:
        raise Broken(broken)


def _odd_width(at: Location, cells: int, width: int) -> Fault:
    message = f"a row of {cells} cells, the header has {width}"
    return Fault(DATA_ROW_WIDTH, Problem(message, at, "quote cells that hold the delimiter or a line end"))


def _unreadable(path: str, line: int, error: str) -> Fault:
    at = Location(path, line=line)
    return Fault(
        DATA_ARCHIVE_CORRUPT,
        Problem(f"the table does not read on: {error}", at, "quote the cell, or write it as UTF-8"),
    )


# What a line takes beyond its text: of a cell with many, that is most.
_LINE_OF_A_ROW_BYTES = 60


class TableLines:
    """The lines of a table for the CSV reader, with their number, and those of them that are no text."""

    def __init__(self, path: str, found: Iterable[Line | LongLine], line: int = 0) -> None:
        self.path = path
        self._found = iter(found)
        #: The line that was read last.
        self.line = line
        #: Bytes since a batch was last made of them.
        self.taken = 0
        #: The lines of the row that is being read, the number of the first, and whether one of them is no text, or lost.
        self.row: list[str] = []
        self.first_line = line
        self.is_broken = False
        self._held = 0
        self._ended = False
        self._faults: list[Trouble] = []

    def text(self) -> Iterator[str]:
        """Yield each line as text with its end; those that are not UTF-8 with marks in place of what is not."""
        for line in self._found:
            self.line = line.line
            if isinstance(line, Line):
                text = self._decoded(line)
            else:
                at = Location(self.path, line=line.line, byte=line.byte)
                self._faults.append(too_long(at, line.length, MAX_LINE_BYTES))
                self.is_broken = self.is_broken or bool(self.row)  # else it was a row of its own
                if line.line > 1:
                    continue
                text = "\n"  # a header of such a length names no column
            if not self.row:
                self.first_line = line.line
            self.row.append(text)
            if self._held > MAX_LINE_BYTES:
                raise csv.Error(f"a quoted cell goes on for {len(self.row)} lines, more than there is memory for")
            yield text
        self._ended = True

    def _decoded(self, line: Line) -> str:
        data = line.data.removeprefix(BOM) if line.line == 1 else line.data
        self.taken += len(data)
        self._held += len(data) + _LINE_OF_A_ROW_BYTES
        try:
            return data.decode("utf-8") + "\n"
        except UnicodeDecodeError:
            self._faults.append(bad_line(self.path, line))
            self.is_broken = True
            return data.decode("utf-8", "replace") + "\n"

    def begin_row(self) -> None:
        """Let go of the lines of the last row."""
        self.row.clear()
        self.is_broken = False
        self._held = 0

    def is_open(self, delimiter: str) -> bool:
        """Tell whether the row that was read last ended only with the file, within quotes."""
        if not self._ended:
            return False
        try:
            list(csv.reader(self.row, delimiter=delimiter, strict=True))
        except csv.Error as error:
            return str(error) == "unexpected end of data"
        return False

    def take_faults(self) -> list[Trouble]:
        """Return what was wrong with the lines since the last call."""
        found, self._faults = self._faults, []
        return found
