"""Internal: Check one Parquet file, and the corpus as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corpusfmt.formats import CheckOptions, Plan, Shard, ShardResult
from corpusfmt.formats.general import report_text, within_limits
from corpusfmt.formats.parquet.rows import Row, Trouble, columns_of, judge_row, opened, rows
from corpusfmt.formats.parquet.ruleset import RULES, VERSION
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.model import Fault, Location, Problem, Severity
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
                for row in rows(table, columns):
                    judge_row(row, judge)
                    _judge_text(row, judge)
                    judge.coverage.documents += 1
                if not judge.coverage.documents:
                    hint = "delete the file, or write it again"
                    judge.report(EMPTY_FILE, Problem("no rows", Location(entry.path), hint))
    except Trouble as trouble:
        judge.report(*trouble.fault)
    return ShardResult(judge.tally, judge.coverage, facts)


def _judge_text(row: Row | Fault, judge: Judge) -> None:
    if isinstance(row, Fault):
        return
    text = row.fields.get(row.columns.text)
    if isinstance(text, str) and not text.isascii() and double_encoding_at(text.encode(), 0, False) >= 0:
        report_text(text, row.at, judge)


def finish(_plan: Plan, facts: Sequence[Any], judge: Judge, _options: CheckOptions) -> None:
    """Judge whether all files have the same columns."""
    for path, columns in facts:
        first, expected = facts[0]
        if columns != expected:
            hint = "write all files with the same columns"
            judge.report(COLUMNS_DIFFER, Problem(f"the columns differ from `{first}`", Location(path), hint))
