"""Internal: Batches of rows from one file, column by column, with the place of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from corpusfmt.formats.general import bad_text
from corpusfmt.io.lines import Line
from corpusfmt.io.text import utf8_fault
from corpusfmt.model import Fault, Location

#: The size of a batch.
BATCH_ROWS = 4096
BATCH_BYTES = 4 * 1024 * 1024
#: The number of column names in a hint.
NAMES_SHOWN = 20


class Take(NamedTuple):
    """What is read from a source: `column`, `jsonPath`, `fileProperty` or (from a record set) `field`, and its name.

    A `constant` of a record set is read without its records.
    """

    kind: str
    name: str


class NoColumn(Struct, frozen=True):
    """A file lacks a column or path; becomes a fault once the field is known."""

    take: Take
    at: Location
    hint: str


#: What can be wrong with data.
Trouble = Fault | NoColumn


class NotRead(Exception):
    """Data cannot be read although nothing is wrong with it: it is on the web, needs a package or is too large.

    The message says what to do; `path` is the file, if there is one.
    """

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.path = path


class Broken(Exception):
    """A file cannot be read any further because of `fault`."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault


class Lacking(Exception):
    """A file has nothing to read because it lacks columns or paths."""

    def __init__(self, faults: Sequence[NoColumn]) -> None:
        super().__init__(faults)
        self.faults = faults


class Batch(Struct):
    """Some rows: a list of values for each take, all of the same length, and the faults of rejected rows.

    `place` or the line where it starts locates a row; without either, rows are numbered from `first`. `stored` has the
    Arrow types of columns of Parquet; it is empty for JSON, whose values have types, and None for text, which has none.
    """

    path: str
    size: int
    columns: Mapping[Take, Sequence[Any]]
    lines: Sequence[int] | None = None
    first: int = 0
    faults: list[Trouble] = field(default_factory=list)
    place: Callable[[int], Location] | None = None
    stored: Mapping[Take, Any] | None = None

    def at(self, row: int) -> Location:
        """Return the place of a row."""
        if self.place is not None:
            return self.place(row)
        if self.lines is not None:
            return Location(self.path, line=self.lines[row])
        return Location(self.path, record=f"record {self.first + row + 1}")


def nowhere(path: str, takes: Sequence[Take], header: Sequence[str] = ()) -> list[NoColumn]:
    """Return a fault for each take that a file lacks, with the column that was probably meant."""
    names = ", ".join(header[:NAMES_SHOWN])
    columns = f"write one of the columns: {names}" if names else "add the column, or correct its name"
    alike = dict.fromkeys(take.name.lower().strip() for take in takes)
    for each in header:
        if (name := each.lower().strip()) in alike:
            alike[name] = alike[name] or each

    def hint(take: Take) -> str:
        if take.kind != "column":
            return "correct the path"
        likely = alike[take.name.lower().strip()]
        return f"did you mean `{likely}`?" if likely else columns

    return [NoColumn(take, Location(path), hint(take)) for take in takes]


def bad_line(path: str, line: Line) -> Fault:
    """Return the fault that a line is not UTF-8."""
    fault = utf8_fault(line.data)
    assert fault is not None
    return bad_text(Location(path, line.line, line.byte + fault.column - 1, fault.column), fault.reason)
