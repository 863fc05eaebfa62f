"""Internal: Files beside those of rows that say more of the same documents, such as the quality signals of RedPajama 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Rejected, Shard, ShardResult
from corpusfmt.formats.columns import Sidecar
from corpusfmt.formats.general import barred, json_of, within_limits
from corpusfmt.formats.jsonl.layout import HINT_OF_SIDECARS, RECORDS, RULES, SIDECAR_DIFFERS, VERSION
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.files import RowFile
from corpusfmt.formats.rows.reading import ROWS, singly
from corpusfmt.io.lines import LongLine, runs
from corpusfmt.io.parquet import ParquetTable
from corpusfmt.io.paths import Entry
from corpusfmt.model import BadInput, Document, Fault, Location, Problem, Severity, UsageError
from corpusfmt.rules import Grading, Judge, finding_of
from corpusfmt.wording import plural

#: A row of a sidecar: its place, the id of its document, the number of that in its file unless it is of another, and a value.
_Row = tuple[Location, Any, int | None, Any]


def _name_of(shard: Shard) -> str:
    """Return what the ids of a file's documents begin with, before `/` and their number from 0."""
    return shard.name.removeprefix(shard.payload.files.documents.partition("*")[0])


def _sidecars(shard: Shard) -> dict[str, tuple[Entry, Sidecar]]:
    """Return the sidecars of a file of rows, by role."""
    known: Mapping[str, Sidecar] = shard.payload.files.beside
    return {role: (entry, known[role]) for role, entry in shard.files.items() if role != ROWS}


def _rows(shard: Shard, role: str, judge: Judge, options: CheckOptions) -> Iterator[_Row]:
    """Yield the rows of a sidecar; what cannot be read is reported."""
    entry, sidecar = _sidecars(shard)[role]
    read = _table if entry.name.endswith(".parquet") else _lines
    for at, identity, value in read(entry, sidecar, judge, options):
        before, _, number = str(identity).rpartition("/")
        is_here = before == _name_of(shard) and number.isascii() and number.isdecimal()
        yield at, identity, int(number) if is_here else None, value


def _lines(entry: Entry, sidecar: Sidecar, judge: Judge, options: CheckOptions) -> Iterator[tuple[Location, Any, Any]]:
    file = RowFile(entry, judge, options)
    for block in file.blocks():
        if isinstance(block, LongLine):
            judge.report(*file.too_long(block))
            continue
        for line in (line for run in runs(block) for line in singly(run)):
            at = file.at(line.line, line.byte)
            decoded = json_of(line.data, at, judge)
            row = decoded.value if decoded is not None and isinstance(decoded.value, dict) else {}
            yield at, row.get(sidecar.id), row.get(sidecar.value)
    judge.coverage.bytes += file.bytes


def _table(entry: Entry, sidecar: Sidecar, judge: Judge, _options: CheckOptions) -> Iterator[tuple[Location, Any, Any]]:
    at = Location(entry.path)
    try:
        import pyarrow as pa  # noqa: PLC0415 - large, and an extra
    except ImportError:
        raise UsageError("Parquet needs a package: pip install 'corpusfmt[parquet]'") from None
    try:
        with entry.open() as file:
            ids = ParquetTable(file, entry.path).batches([sidecar.id], lambda rows: rows.column(0).to_pylist())
            for number, identity in enumerate(chain.from_iterable(ids), 1):
                yield replace(at, line=number), identity, True
    except (pa.ArrowException, UnicodeDecodeError, IndexError) as error:
        judge.report(SIDECAR_DIFFERS, Problem(f"no ids are readable: {error}", at, HINT_OF_SIDECARS))
    except OSError as error:
        judge.report(*barred(error, at))
    judge.coverage.bytes += entry.size


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check every row of a file, and whether those of its sidecars are of the same documents."""
    result = RECORDS.check(shard, options)
    if len(shard.files) == 1:
        return result
    judge = Judge(RULES, options.grading, version=options.version, path=shard.name, cap=options.max_per_rule)
    is_sure = not any(severity is Severity.ERROR for _, severity, _ in result.tally.counts)
    documents = result.coverage.documents
    for role, (entry, sidecar) in _sidecars(shard).items():
        is_aligned = sidecar.value is not None
        problem, count = None, 0
        with within_limits(judge, entry.path):
            for at, identity, number, _ in _rows(shard, role, judge, options):
                wrong = number is None or (number != count if is_aligned else is_sure and number >= documents)
                if wrong and problem is None:
                    expected = f"{_name_of(shard)}/{count if is_aligned else 'NUMBER'}"
                    problem = Problem(f"the row belongs to `{identity}`, expected `{expected}`", at, HINT_OF_SIDECARS)
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
    unread = (role for role, (_, sidecar) in _sidecars(shard).items() if sidecar.value is None and not sidecar.marks)
    return {f"files `{role}`": 1 for role in unread}


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
    sidecars = {role: sidecar for role, (_, sidecar) in _sidecars(shard).items()}
    aligned = {
        role: _rows(shard, role, judge, options) for role, sidecar in sidecars.items() if sidecar.value is not None
    }
    marked = {
        role: {number for _, _, number, _ in _rows(shard, role, judge, options)}
        for role, sidecar in sidecars.items()
        if sidecar.marks
    }
    document: Document | Rejected | None = None
    for number, document in enumerate(documents):
        rows = {role: next(each, None) for role, each in aligned.items()}
        if isinstance(document, Rejected):
            yield document
            continue
        document.id = f"{_name_of(shard)}/{number}"
        document.metadata = {name: value for name, value in (document.metadata or {}).items() if name != SYNTHETIC}
        document.metadata |= {role: True for role, numbers in marked.items() if number in numbers}
        for role, row in rows.items():
            if row is None or row[2] != number:
                raise _differs(shard.files[role], row, f"`{document.id}`")
            document.metadata[role] = row[3]
        yield document
    for role, each in aligned.items():
        if not isinstance(document, Rejected) and (row := next(each, None)) is not None:
            raise _differs(shard.files[role], row, "no further row")
    for finding in judge.tally.findings:
        raise BadInput(finding)


def _differs(entry: Entry, row: _Row | None, expected: str) -> BadInput:
    at, said = (Location(entry.path), "a row is missing") if row is None else (row[0], f"the row belongs to `{row[1]}`")
    problem = Problem(f"{said}, expected {expected}", at, HINT_OF_SIDECARS)
    return BadInput(finding_of(Fault(SIDECAR_DIFFERS, problem), RULES, VERSION))
