"""Internal: Check one Parquet file, and the corpus as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from corpusfmt.formats import CheckOptions, Plan, Shard, ShardResult
from corpusfmt.formats.general import EmptyTexts, report_encoded_text, report_text, within_limits
from corpusfmt.formats.parquet.arrow import batches
from corpusfmt.formats.parquet.clean import CleanRows, clean_rows
from corpusfmt.formats.parquet.rows import (
    Columns,
    Row,
    Trouble,
    columns_of,
    decoded,
    judge_row,
    opened,
    place_of,
    row_of,
)
from corpusfmt.formats.parquet.ruleset import RULES, VERSION
from corpusfmt.formats.rows.columned import ColumnRecord
from corpusfmt.model import Json, Location, Problem, Severity
from corpusfmt.rules import Judge

EMPTY_FILE = RULES.finding(
    "PQT103",
    "empty-file",
    """A file has no rows.

    Why: it may be intended, but usually a filter dropped everything or a writer failed.
    Example: the last shard of a set that was split into too many.
    Fix: delete the file, or write it again.
    """,
    severity=Severity.WARNING,
)

COLUMNS_DIFFER = RULES.finding(
    "PQT204",
    "columns-differ",
    """The columns of a file differ from the first file of the corpus, by name, type or order.

    Why: readers expect the columns of one file in all files; some stop, some fill in nulls.
    Example: a shard that an older program wrote.
    Fix: write all files with the same columns.
    """,
    severity=Severity.WARNING,
)


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check the columns of a file and every row; leaves its path and columns for `finish`."""
    judge = Judge(RULES, options.grading, version=VERSION, path=shard.name, cap=options.max_per_rule)
    entry = shard.files["table"]
    judge.coverage.bytes = entry.size
    facts = None
    try:
        with within_limits(judge, entry.path), opened(entry) as table:
            columns = columns_of(table, Location(entry.path), options.reading, shard.payload)
            facts = (entry.path, [(field.name, str(field.type)) for field in table.file.schema_arrow])
            judge.check(columns)
            if not judge.fired("PQT201") and not judge.fired("PQT202"):
                empty = EmptyTexts()
                for found in batches(table, columns.kinds, partial(_scanned, columns=columns)):
                    _judge_rows(found, columns, empty, judge)
                empty.report(judge.coverage.documents, judge)
                if not judge.coverage.documents:
                    hint = "delete the file, or write it again"
                    judge.report(EMPTY_FILE, Problem("no rows", Location(entry.path), hint))
    except Trouble as trouble:
        judge.report(*trouble.fault)
    return ShardResult(judge.tally, judge.coverage, facts)


def _scanned(batch: Any, columns: Columns) -> CleanRows | list[Json | UnicodeDecodeError]:
    clean = clean_rows(batch, columns) if RULES.accepts_unseen(Row, ColumnRecord) else None
    return clean or list(decoded(batch))


def _judge_rows(
    found: CleanRows | list[Json | UnicodeDecodeError], columns: Columns, empty: EmptyTexts, judge: Judge
) -> None:
    first = judge.coverage.documents + 1
    if isinstance(found, CleanRows):
        for suspect in found.suspects:
            report_encoded_text(suspect.text, place_of(suspect.fields, columns, first + suspect.number), judge)
        if found.empty:
            empty.add(len(found.empty), partial(place_of, found.first_empty, columns, first + found.empty[0]))
        judge.coverage.documents += found.count
        return
    for number, fields in enumerate(found, first):
        row = row_of(fields, columns, number)
        judge_row(row, judge)
        if isinstance(row, Row) and isinstance(text := row.fields[columns.text], str):
            report_text(text, row.at, judge)
            empty.add(int(not text), partial(getattr, row, "at"))
    judge.coverage.documents += len(found)


def finish(_plan: Plan, facts: Sequence[Any], judge: Judge, _options: CheckOptions) -> None:
    """Judge whether all files have the same columns."""
    for path, columns in facts:
        first, expected = facts[0]
        if columns != expected:
            hint = "write all files with the same columns"
            judge.report(COLUMNS_DIFFER, Problem(f"the columns differ from `{first}`", Location(path), hint))
