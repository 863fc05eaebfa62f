"""Internal: The rows of one file, block by block: clean blocks are accepted as a whole, the others judged by the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions
from corpusfmt.formats.dolma.glance import (
    PIECE,
    UNCLEAR,
    Glance,
    Kept,
    Values,
    empty_texts,
    glance_at,
    values_of,
)
from corpusfmt.formats.dolma.rows import (
    CARRIAGE_RETURN,
    AttributesRow,
    DocumentRow,
    odd_key,
    other_key,
)
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.formats.general import EmptyTexts, report_json_text, report_text
from corpusfmt.formats.rows.files import RowFile, compression_rule, pieces
from corpusfmt.formats.rows.records import Row, judged_row
from corpusfmt.io.jsonlines import json_string_around
from corpusfmt.io.lines import Block, LongLine, Run, first_run
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import json_object, pointer
from corpusfmt.model import Json, Location, Problem, Severity
from corpusfmt.rules import Judge

_REMEMBERED_KEYS = 1 << 16
_REMEMBERED_SHAPES = 1 << 10
# Of two rows, either may have the right name.
_FEWEST_ROWS = 3


compression_rule(RULES, "DOL101", "dolma-data-format#directory-structure")


NO_FINAL_NEWLINE = RULES.finding(
    "DOL110",
    "no-final-newline",
    """The last row of a file does not end with LF.

    Why: every reader takes the row, but tools that join files, such as `cat`, join it with the first row of the next one.
    Example: rows that a script wrote with `"\\n".join`.
    Fix: end the file with LF; `corpusfmt fix` does.
    """,
    severity=Severity.INFO,
    spec="dolma-data-format#directory-structure",
)


def shared_by(count: int, options: CheckOptions) -> CheckOptions:
    """Return the options for this many attributes files at once: together they may take as much memory as three."""
    return replace(options, max_line_bytes=options.max_line_bytes * 3 // max(count, 3))


class DolmaFile(RowFile):
    """One file of a shard: counts its rows, and judges CR LF line ends as one."""

    def __init__(self, entry: Entry, judge: Judge, options: CheckOptions) -> None:
        super().__init__(entry, judge, options)
        self.rows = 0
        #: Rows with a text.
        self.documents = 0
        self.empty = EmptyTexts()

    def blocks(self) -> Iterator[Block | LongLine]:
        """Yield the blocks of the file; a stream that breaks off is judged, never raised."""
        last: Block | LongLine | None = None
        for block in super().blocks():
            last = block
            yield block
        if self.whole and isinstance(last, Block):
            self._judge_end(last.data, last.line)
        self.judge_returns(CARRIAGE_RETURN)

    def _judge_end(self, data: bytes, line: int) -> None:
        row = data.rpartition(b"\n")[2]
        if row and json_object(row) is not None:  # otherwise it may be half of a row
            at = Location(self.path, line + data.count(b"\n"))
            self._judge.report(
                NO_FINAL_NEWLINE, Problem("the last row does not end with LF", at, "end the file with LF")
            )

    def glances(self, block: Block, *subjects: type) -> Iterator[tuple[Block, Glance] | Run]:
        """Yield the rows of a block: clean ones together, with what a glance shows of them, others as runs of equal ones.

        If some rule over the subjects must see every row, all are runs.
        """
        line = block.line
        for first, data in pieces(block.data, PIECE):
            piece = Block(data, line, block.byte + first)
            start = 0
            while start < len(data):
                clean = glance_at(data, *subjects, start=start)
                if clean is None:
                    run = first_run(piece, line, start)
                    end = min(start + run.count * (len(run.data) + 1), len(data))
                    yield run
                    line += run.count
                else:
                    end = start + clean.size
                    rows = Block(data[start:end], line, piece.byte + start)
                    yield rows, clean
                    line += clean.rows
                start = end


class RowRange(Struct):
    """Consecutive rows of one file. The kernel keeps them if it has found all of them clean."""

    path: str
    block: Block | LongLine
    first_row: int
    rows: int = 0
    kept: Kept = field(default_factory=Values)
    _values: Values | None = None
    _lines: list[bytes] | None = None
    _starts: list[int] | None = None

    def add(self, rows: int, kept: Kept) -> None:
        """Take the values of more rows."""
        if self.rows:
            self.kept = values = self.values
            values.extend(values_of(kept))
        else:
            self.kept, self._values = kept, None
        self.rows += rows

    @property
    def values(self) -> Values:
        """What pairs the rows."""
        if self._values is None:
            self._values = values_of(self.kept)
        return self._values

    @property
    def lines(self) -> list[bytes]:
        """The bytes of each row; none if a row was too long to read."""
        if self._lines is None:
            self._lines = lines_of(self.block) if isinstance(self.block, Block) else []
        return self._lines

    def place(self, index: int) -> Location:
        """Return the place of a row."""
        if index == 0:  # most names of attributes are in the first row, which needs no search for the others
            return Location(self.path, self.block.line, self.block.byte)
        if self._starts is None:
            self._starts = list(accumulate((len(line) + 1 for line in self.lines), initial=self.block.byte))
        return Location(self.path, self.block.line + index, self._starts[index])

    def named_place(self, index: int) -> Location:
        """Return the place of a row with its id."""
        return replace(self.place(index), record=self.values.ids[index])

    def row(self, index: int) -> Json | None:
        """Return the object on a row that was judged before, None if there is none."""
        return json_object(self.lines[index]) if self.lines else None


# No span reaches beyond an unreadable text; next to one, spans that need a closer look get it, too.
UNKNOWN_LENGTH = UNCLEAR - 1


def document_columns(file: DolmaFile, judge: Judge) -> Iterator[RowRange]:
    """Read a documents file; judge every row of it."""
    for block in file.blocks():
        columns = RowRange(file.path, block, file.rows)
        if isinstance(block, LongLine):
            judge.report(*file.too_long(block))
            columns.add(1, Values([None], [None], [UNKNOWN_LENGTH]))
        else:
            for found in file.glances(block, Row, DocumentRow):
                if isinstance(found, Run):
                    _judge_documents(found, file, judge, columns)
                    continue
                rows, clean = found
                if clean.marks:
                    _judge_suspects(rows, clean, file, judge)
                count, first = empty_texts(clean.kept)
                first += columns.rows
                columns.add(clean.rows, clean.kept)
                file.documents += clean.rows
                file.empty.add(count, partial(columns.named_place, first))
        file.rows += columns.rows
        yield columns


def _add_run(columns: RowRange, run: Run, *values: Any) -> None:
    columns.add(run.count, Values(*([value] * run.count for value in values)))


def _judge_documents(run: Run, file: DolmaFile, judge: Judge, columns: RowRange) -> None:
    line, at = run.data, Location(file.path, run.line, run.byte)
    row = judged_document(line, at, judge, run.count) or {}
    document_id, text = row.get("id"), row.get("text")
    length = len(text) if isinstance(text, str) else UNKNOWN_LENGTH
    if isinstance(text, str):
        file.documents += run.count
        file.empty.add(0 if text else run.count, partial(replace, at, record=_string(document_id)))
    _add_run(columns, run, _string(document_id) or None, _string(row.get("source")), length)


def _judge_suspects(rows: Block, clean: Glance, file: DolmaFile, judge: Judge) -> None:
    """Judge the texts of clean rows that may be encoded twice."""
    after = 0
    ids = values_of(clean.kept).ids
    for row, place in clean.marks:
        if row < after:
            continue
        run = first_run(rows, rows.line + row, rows.data.rfind(b"\n", 0, place) + 1)
        at = Location(file.path, run.line, run.byte, pointer=pointer("text"), record=ids[row])
        report_json_text(json_string_around(rows.data, place), at, judge, run.count)
        after = row + run.count


def located_lines(block: Block, path: str) -> Iterator[tuple[bytes, Location]]:
    """Yield the lines of a block with their places."""
    number, byte = block.line, block.byte
    for line in lines_of(block):
        yield line, Location(path, number, byte)
        number, byte = number + 1, byte + len(line) + 1


def judged_document(line: bytes, at: Location, judge: Judge, times: int = 1) -> Json | None:
    """Judge one row of documents that occurs `times` times in succession; return its object, if it has one."""
    row = judged_row(line, at, judge, DocumentRow, times=times)
    if row is not None and isinstance(text := row.get("text"), str):
        at = replace(at, record=_string(row.get("id")), pointer="/text")
        report_text(text, at, judge, times)
    return row


def judged_attributes(line: bytes, at: Location, judge: Judge, times: int = 1) -> Json | None:
    """Judge one row of attributes like `judged_document`, but not its spans; return its object, if it has one."""
    return judged_row(line, at, judge, AttributesRow, times=times)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


class _Shape(Struct):
    """Names of attributes that occur together: the first row that has them, and the number of these rows."""

    at: Location
    rows: int


class Keys:
    """The names of attributes in a file so far; each is judged once."""

    def __init__(self, judge: Judge) -> None:
        self.seen: dict[str, Location] = {}
        self._judge = judge
        #: The names that occur together; beyond a number of shapes, no more are kept.
        self.shapes: dict[tuple[str, ...], _Shape] = {}
        self._knows_all = True

    def add(self, keys: tuple[str, ...], rows: int, place: Callable[[], Location]) -> None:
        """Take the names in consecutive rows, whose first is at `place`; judge those that are new."""
        if (known := self.shapes.get(keys)) is not None:
            known.rows += rows
            return
        new = [key for key in keys if key not in self.seen]
        is_remembered = len(self.shapes) < _REMEMBERED_SHAPES and len(keys) < _REMEMBERED_SHAPES
        self._knows_all = self._knows_all and is_remembered
        at = place() if new or is_remembered else None
        if at is None:
            return
        if is_remembered:
            self.shapes[keys] = _Shape(at, rows)
        for key in new:
            if fault := odd_key(key, at):
                self._judge.report(*fault)
            if len(self.seen) < _REMEMBERED_KEYS:
                self.seen[key] = at

    def judge_spelling(self) -> None:
        """Report a name that all rows of the file have but one, which has a name that no other row has."""
        rows: Counter[str] = Counter()
        for names, shape in self.shapes.items():
            rows.update(dict.fromkeys(names, shape.rows))
        total = sum(shape.rows for shape in self.shapes.values())
        if not self._knows_all or total < _FEWEST_ROWS:
            return
        for names, shape in self.shapes.items():
            if shape.rows != 1:
                continue
            own = [name for name in names if rows[name] == 1 and odd_key(name, shape.at) is None]
            if own:
                lacking = [name for name, count in rows.items() if count == total - 1 and name not in names]
                for key, usual in zip(own, lacking, strict=False):
                    self._judge.report(*other_key(key, usual, shape.at))


def attributes_columns(file: DolmaFile, judge: Judge, keys: Keys) -> Iterator[RowRange]:
    """Read an attributes file; judge every row of it, but not its spans."""
    for block in file.blocks():
        columns = RowRange(file.path, block, file.rows)
        if isinstance(block, LongLine):
            judge.report(*file.too_long(block))
            columns.add(1, Values([None], [None], [0]))
        else:
            for found in file.glances(block, Row, AttributesRow, Spans):
                if isinstance(found, Run):
                    _judge_attributes(found, file, judge, keys, columns)
                else:
                    _add_attributes(found[1], keys, columns)
        file.rows += columns.rows
        yield columns


def _add_attributes(clean: Glance, keys: Keys, columns: RowRange) -> None:
    first = columns.rows
    columns.add(clean.rows, clean.kept)
    ends = [row for row, _ in clean.marks[1:]]
    for (row, names), end in zip(clean.marks, [*ends, clean.rows], strict=True):
        if (known := keys.shapes.get(names)) is not None:
            known.rows += end - row
        else:
            keys.add(names, end - row, partial(columns.place, first + row))


def _judge_attributes(run: Run, file: DolmaFile, judge: Judge, keys: Keys, columns: RowRange) -> None:
    line, at = run.data, Location(file.path, run.line, run.byte)
    row = judged_attributes(line, at, judge, run.count) or {}
    attributes = row.get("attributes")
    reach = UNCLEAR if isinstance(attributes, dict) else 0
    _add_run(columns, run, _string(row.get("id")), row.get("source"), reach)
    if isinstance(attributes, dict):
        keys.add(tuple(attributes), run.count, lambda: at)


def lines_of(block: Block) -> list[bytes]:
    """Return the lines of a block, each without its LF."""
    lines = block.data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return lines
