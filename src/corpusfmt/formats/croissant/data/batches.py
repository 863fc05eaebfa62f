"""Internal: Batches of rows from one file, column by column, with the place of each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    """A file has nothing to read because it lacks a column or path."""

    def __init__(self, fault: NoColumn) -> None:
        super().__init__(fault)
        self.fault = fault


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


class Absent:
    """Columns that no file of a source has: rows of one file may lack a member that another file has.

    JSON shows this only after its rows; a table that lacks a column is not read at all.
    """

    def __init__(self, empty: Mapping[Take, Sequence[Any]]) -> None:
        self._empty = empty
        self._files = 0
        self._first: dict[Take, NoColumn] = {}
        self._times: Counter[Take] = Counter()

    def of_file(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches of one file, and keep the faults of missing columns."""
        has_content = False
        for batch in batches:
            has_content = has_content or batch.size > 0
            for fault in batch.faults:
                if isinstance(fault, NoColumn):
                    self._first.setdefault(fault.take, fault)
                    self._times[fault.take] += 1
                    has_content = True
            batch.faults = [fault for fault in batch.faults if not isinstance(fault, NoColumn)]
            yield batch
        self._files += has_content

    def rest(self) -> Iterator[Batch]:
        """Yield the faults of columns that no file has, in a batch without rows, after the last file."""
        faults: list[Trouble] = [fault for take, fault in self._first.items() if self._times[take] == self._files]
        if faults:
            yield Batch("", 0, self._empty, faults=faults)


def nowhere(path: str, takes: Sequence[Take], header: Sequence[str] = ()) -> list[NoColumn]:
    """Return a fault for each take that a file lacks, with the column that was probably meant."""
    columns = f"the columns are {', '.join(header[:NAMES_SHOWN])}"
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
