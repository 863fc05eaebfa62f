"""Internal: Rows of CSV and TSV files, with the line where each starts."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence

from corpusfmt.formats.croissant.data.batches import (
    BATCH_BYTES,
    BATCH_ROWS,
    Batch,
    Broken,
    Lacking,
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
# The memory that a line takes beyond its text: most of it for a cell with many lines.
_LINE_OF_A_ROW_BYTES = 60


def places_of(header: Sequence[str], names: Iterable[str]) -> dict[str, int]:
    """Return the first column of each name."""
    wanted = frozenset(names)
    places: dict[str, int] = {}
    for place, name in enumerate(header):
        if name in wanted:
            places.setdefault(name, place)
    return places


class CsvRows:
    """The rows of a CSV or TSV file, or of a part after its header."""

    def __init__(self, path: str, found: Iterable[Line | LongLine], delimiter: str) -> None:
        csv.field_size_limit(MAX_LINE_BYTES)
        self.path = path
        #: What is wrong with the lines that were read.
        self.faults: list[Trouble] = []
        self._found = iter(found)
        self._delimiter = delimiter
        self._reader = csv.reader(self._text(), delimiter=delimiter)
        #: Bytes since the last batch.
        self._taken = 0
        #: The lines of the current row, the number of the first, and whether one of them is not text or was skipped.
        self._lines: list[str] = []
        self._first_line = 1
        self._is_bad = False
        self._held = 0
        self._ended = False

    def header(self) -> list[str]:
        """Return the first row. Raises `Broken`."""
        return self._row() or []

    def batches(self, header: Sequence[str], takes: Sequence[Take]) -> Iterator[Batch]:
        """Yield the rows after the header. An empty cell means no value; a row of another width is a fault.

        Raises `Lacking` for missing columns, and `Broken` after the last readable row.
        """
        place_of = places_of(header, (take.name for take in takes))
        missing = [take for take in takes if take.name not in place_of]
        if missing:
            yield Batch(self.path, 0, {take: [] for take in takes}, [], faults=self.faults)
            raise Lacking(nowhere(self.path, missing, header))
        kept: list[list[str]] = []
        starts: list[int] = []
        faults, self.faults = self.faults, []

        def batch() -> Batch:
            columns = list(zip(*kept, strict=True)) if kept else [()] * len(header)
            picked = {take: [cell or None for cell in columns[place_of[take.name]]] for take in takes}
            return Batch(self.path, len(kept), picked, starts, faults=faults)

        broken: Fault | None = None  # not the exception, whose traceback would keep this frame and open files
        while broken is None:
            try:
                row = self._row()
            except Broken as error:
                broken, row = error.fault, []
            if row is None:
                break
            if len(kept) >= BATCH_ROWS or self._taken > BATCH_BYTES or len(faults) >= BATCH_ROWS:
                yield batch()
                kept, starts, faults = [], [], []
                self._taken = 0
            faults += self.faults
            self.faults = []
            if row and not self._is_bad:
                if len(row) == len(header):
                    kept.append(row)
                    starts.append(self._first_line)
                else:
                    message = f"the row has {len(row)} cells, the header {len(header)}"
                    hint = "quote cells that contain the delimiter or a line break"
                    at = Location(self.path, line=self._first_line)
                    faults.append(Fault(DATA_ROW_WIDTH, Problem(message, at, hint)))
        faults += self.faults
        yield batch()
        if broken is not None:
            raise Broken(broken)

    def _row(self) -> list[str] | None:
        """Return the next row, empty for an empty line; None at the end. Raises `Broken`."""
        self._lines.clear()
        self._is_bad = False
        self._held = 0
        try:
            row = next(self._reader, None)
        except csv.Error as error:
            raise self._unreadable(str(error)) from error
        if row is not None and self._ended:
            try:
                list(csv.reader(self._lines, delimiter=self._delimiter, strict=True))
            except csv.Error as error:
                if str(error) == "unexpected end of data":
                    raise self._unreadable("a quote is not closed") from error
        return row

    def _text(self) -> Iterator[str]:
        """Yield each line as text with its line end; bytes that are not UTF-8 become replacement characters."""
        for line in self._found:
            if isinstance(line, Line):
                text = self._decoded(line)
            else:
                at = Location(self.path, line=line.line, byte=line.byte)
                self.faults.append(too_long(at, line.length, MAX_LINE_BYTES))
                self._is_bad = self._is_bad or bool(self._lines)  # else the line was a whole row
                if line.line > 1:
                    continue
                text = "\n"  # a header of this length names no columns
            if not self._lines:
                self._first_line = line.line
            self._lines.append(text)
            if self._held > MAX_LINE_BYTES:
                raise csv.Error(f"a quoted cell has {len(self._lines):,} lines, more than fit in memory")
            yield text
        self._ended = True

    def _decoded(self, line: Line) -> str:
        data = line.data.removeprefix(BOM) if line.line == 1 else line.data
        self._taken += len(data)
        self._held += len(data) + _LINE_OF_A_ROW_BYTES
        try:
            return data.decode("utf-8") + "\n"
        except UnicodeDecodeError:
            self.faults.append(bad_line(self.path, line))
            self._is_bad = True
            return data.decode("utf-8", "replace") + "\n"

    def _unreadable(self, error: str) -> Broken:
        message, hint = f"the table cannot be read further: {error}", "quote the cell, or encode it as UTF-8"
        return Broken(Fault(DATA_ARCHIVE_CORRUPT, Problem(message, Location(self.path, line=self._first_line), hint)))


def table(path: str, found: Iterable[Line | LongLine], delimiter: str, takes: Sequence[Take]) -> Iterator[Batch]:
    """Yield the rows of a CSV or TSV file. An empty cell means no value; a row of another width than the header is a fault."""
    rows = CsvRows(path, found, delimiter)
    yield from rows.batches(rows.header(), takes)
