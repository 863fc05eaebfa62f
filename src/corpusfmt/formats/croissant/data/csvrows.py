"""Internal: Rows of CSV and TSV files, with the line where each starts."""

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
    """Yield the rows of a CSV or TSV file. An empty cell means no value; a row of another width than the header is a fault."""
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
    """Yield the lines of a piece of a file with their places in the file; the piece starts at `line` and `byte`."""
    return (replace(each, line=each.line + line - 1, byte=each.byte + byte) for each in found)


def places_of(header: Sequence[str], names: Iterable[str]) -> dict[str, int]:
    """Return the first column of each name."""
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
            faults.append(odd_width(Location(source.path, line=source.first_line), len(row), width))
    faults += source.take_faults()
    yield batch()
    if broken is not None:
        raise Broken(broken)


def odd_width(at: Location, cells: int, width: int) -> Fault:
    """Return the fault that a row and the header differ in their number of cells."""
    message = f"the row has {cells} cells, the header {width}"
    return Fault(DATA_ROW_WIDTH, Problem(message, at, "quote cells that contain the delimiter or a line break"))


def _unreadable(path: str, line: int, error: str) -> Fault:
    at = Location(path, line=line)
    return Fault(
        DATA_ARCHIVE_CORRUPT,
        Problem(f"the table cannot be read further: {error}", at, "quote the cell, or encode it as UTF-8"),
    )


# The memory that a line takes beyond its text: most of it for a cell with many lines.
_LINE_OF_A_ROW_BYTES = 60


class TableLines:
    """The lines of a table for the CSV reader, with their numbers and the faults of lines that are not text."""

    def __init__(self, path: str, found: Iterable[Line | LongLine], line: int = 0) -> None:
        self.path = path
        self._found = iter(found)
        #: The last line that was read.
        self.line = line
        #: Bytes since the last batch.
        self.taken = 0
        #: The lines of the current row, the number of the first, and whether one of them is not text or was skipped.
        self.row: list[str] = []
        self.first_line = line
        self.is_broken = False
        self._held = 0
        self._ended = False
        self._faults: list[Trouble] = []

    def text(self) -> Iterator[str]:
        """Yield each line as text with its line end; bytes that are not UTF-8 become replacement characters."""
        for line in self._found:
            self.line = line.line
            if isinstance(line, Line):
                text = self._decoded(line)
            else:
                at = Location(self.path, line=line.line, byte=line.byte)
                self._faults.append(too_long(at, line.length, MAX_LINE_BYTES))
                self.is_broken = self.is_broken or bool(self.row)  # else the line was a whole row
                if line.line > 1:
                    continue
                text = "\n"  # a header of this length names no columns
            if not self.row:
                self.first_line = line.line
            self.row.append(text)
            if self._held > MAX_LINE_BYTES:
                raise csv.Error(f"a quoted cell has {len(self.row):,} lines, more than fit in memory")
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
        """Forget the lines of the last row."""
        self.row.clear()
        self.is_broken = False
        self._held = 0

    def is_open(self, delimiter: str) -> bool:
        """Return whether the last row ended inside quotes at the end of the file."""
        if not self._ended:
            return False
        try:
            list(csv.reader(self.row, delimiter=delimiter, strict=True))
        except csv.Error as error:
            return str(error) == "unexpected end of data"
        return False

    def take_faults(self) -> list[Trouble]:
        """Return the faults of the lines since the last call."""
        found, self._faults = self._faults, []
        return found
