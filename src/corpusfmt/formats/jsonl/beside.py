"""Internal: Files beside those of rows that say more of the same documents, such as the quality signals of RedPajama 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Rejected, Shard, ShardResult
from corpusfmt.formats.columns import ColumnProfile, Sidecar
from corpusfmt.formats.general import barred, json_of
from corpusfmt.formats.jsonl.layout import HINT_OF_SIDECARS, RECORDS, RULES, SIDECAR_DIFFERS, VERSION
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.files import RowFile
from corpusfmt.formats.rows.reading import ROWS, singly
from corpusfmt.io.lines import LongLine, runs
from corpusfmt.io.parquet import ParquetTable
from corpusfmt.io.paths import Entry
from corpusfmt.model import BadInput, Document, Fault, Location, Problem, Severity
from corpusfmt.rules import Grading, Judge, finding_of
from corpusfmt.wording import plural


class _Row(Struct, frozen=True):
    """A row of a sidecar: its place, the id of its document, and what it says of that."""

    at: Location
    id: Any
    value: Any


class _Beside:
    """The sidecars of one file of rows, whose documents are `NAME/NUMBER` in them, from 0."""

    def __init__(self, shard: Shard, judge: Judge, options: CheckOptions) -> None:
        self._columns: ColumnProfile = shard.payload
        self._judge = judge
        self._options = options
        pattern = self._columns.files.documents
        self.name = shard.name.removeprefix(pattern.partition("*")[0])
        self.files = {name: entry for name, entry in shard.files.items() if name != ROWS}

    def sidecar(self, name: str) -> Sidecar:
        return self._columns.files.beside[name]

    def rows(self, name: str) -> Iterator[_Row]:
        """Yield the rows of a sidecar; what cannot be read is reported."""
        entry, sidecar = self.files[name], self.sidecar(name)
        return self._table(entry, sidecar) if entry.name.endswith(".parquet") else self._lines(entry, sidecar)

    def _lines(self, entry: Entry, sidecar: Sidecar) -> Iterator[_Row]:
        file = RowFile(entry, self._judge, self._options)
        for block in file.blocks():
            if isinstance(block, LongLine):
                self._judge.report(*file.too_long(block))
                continue
            for line in (line for run in runs(block) for line in singly(run)):
                at = file.at(line.line, line.byte)
                decoded = json_of(line.data, at, self._judge)
                row = decoded.value if decoded is not None and isinstance(decoded.value, dict) else {}
                yield _Row(at, row.get(sidecar.id), row.get(sidecar.value))
        self._judge.coverage.bytes += file.bytes

    def _table(self, entry: Entry, sidecar: Sidecar) -> Iterator[_Row]:
        at = Location(entry.path)
        try:
            import pyarrow as pa  # noqa: PLC0415 - large, and an extra
        except ImportError:
            self._judge.coverage.gap(entry.path, "ids", "Parquet needs a package: pip install 'corpusfmt[parquet]'")
            return
        try:
            with entry.open() as file:
                ids = ParquetTable(file, entry.path).batches([sidecar.id], lambda rows: rows.column(0).to_pylist())
                for number, value in enumerate((value for some in ids for value in some), 1):
                    yield _Row(replace(at, line=number), value, True)
        except (pa.ArrowException, UnicodeDecodeError, KeyError, ValueError) as error:
            self._judge.report(SIDECAR_DIFFERS, Problem(f"not readable as Parquet: {error}", at, HINT_OF_SIDECARS))
        except OSError as error:
            self._judge.report(*barred(error, at))
        self._judge.coverage.bytes += entry.size

    def numbers(self, name: str) -> Iterator[tuple[_Row, int | None]]:
        """Yield the rows of a sidecar with the numbers of their documents, None if they are of another file."""
        for row in self.rows(name):
            before, _, number = str(row.id).rpartition("/")
            is_here = before == self.name and number.isascii() and number.isdecimal()
            yield row, int(number) if is_here else None


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check every row of a file, and whether those of its sidecars are of the same documents."""
    result = RECORDS.check(shard, options)
    if len(shard.files) == 1 or options.drawn is not None:
        return result
    judge = Judge(RULES, options.grading, version=options.version, path=shard.name, cap=options.max_per_rule)
    beside = _Beside(shard, judge, options)
    is_sure = not any(severity is Severity.ERROR for _, severity, _ in result.tally.counts)
    documents = result.coverage.documents
    for name, entry in beside.files.items():
        is_aligned = beside.sidecar(name).value is not None
        problem, count = None, 0
        for row, number in beside.numbers(name):
            wrong = number is None or (number != count if is_aligned else is_sure and number >= documents)
            if wrong and problem is None:
                expected = f"{beside.name}/{count if is_aligned else 'NUMBER'}"
                problem = Problem(f"the row is of `{row.id}`, expected `{expected}`", row.at, HINT_OF_SIDECARS)
            count += 1
        if problem is None and is_aligned and is_sure and count != documents:
            problem = Problem(f"{plural(count, 'row')}, expected {documents:,}", Location(entry.path), HINT_OF_SIDECARS)
        if problem is not None:
            judge.report(SIDECAR_DIFFERS, problem)
    result.tally.merge(judge.tally)
    result.coverage.add(judge.coverage)
    return result


def left_unread(shard: Shard) -> Mapping[str, int]:
    """Return the sidecars that no document can represent."""
    return {
        f"files `{name}`": 1
        for name in shard.files
        if name != ROWS and not (sidecar := shard.payload.files.beside[name]).marks and sidecar.value is None
    }


def batches(shard: Shard, options: CheckOptions) -> Iterator[EncodedRows | Document | Rejected]:
    """Yield the same as `read`, with the documents of clean blocks together."""
    return RECORDS.batches(shard, options) if len(shard.files) == 1 else read(shard, options)


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the rows of a file as documents, with what its sidecars say in their metadata.

    Raises `BadInput` if rows do not line up: nothing in the shard can then be trusted.
    """
    documents = RECORDS.read(shard, options)
    if len(shard.files) == 1:
        yield from documents
        return
    judge = Judge(RULES, Grading(), version=VERSION, path=shard.name)
    beside = _Beside(shard, judge, options)
    kinds = {name: beside.sidecar(name) for name in beside.files}
    aligned = {name: beside.numbers(name) for name, sidecar in kinds.items() if sidecar.value is not None}
    marked = {name: {number for _, number in beside.numbers(name)} for name, sidecar in kinds.items() if sidecar.marks}
    for number, document in enumerate(documents):
        found = {name: next(rows, (None, None)) for name, rows in aligned.items()}
        if isinstance(document, Rejected):
            yield document
            continue
        document.id = f"{beside.name}/{number}"
        document.metadata = {name: value for name, value in (document.metadata or {}).items() if name != SYNTHETIC}
        document.metadata |= {name: True for name, numbers in marked.items() if number in numbers}
        for name, (row, place) in found.items():
            if row is None or place != number:
                at = row.at if row is not None else Location(beside.files[name].path)
                said = f"the row is of `{row.id}`" if row is not None else "a row is missing"
                fault = Fault(SIDECAR_DIFFERS, Problem(f"{said}, expected `{document.id}`", at, HINT_OF_SIDECARS))
                raise BadInput(finding_of(fault, RULES, VERSION))
            document.metadata[name] = row.value
        yield document
    for finding in judge.tally.findings:
        raise BadInput(finding)
