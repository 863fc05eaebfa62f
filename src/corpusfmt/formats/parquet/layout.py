"""Internal: Which files make a corpus: every Parquet file below a path."""

from __future__ import annotations

from collections.abc import Mapping

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.general import report_barred
from corpusfmt.formats.parquet.arrow import pyarrow, unreadable_columns
from corpusfmt.formats.parquet.ruleset import RULES, VERSION
from corpusfmt.formats.sniff import DESCRIPTIONS, is_own_parquet
from corpusfmt.io.parquet import Table
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.model import Location, Problem
from corpusfmt.rules import Judge

_SUFFIX = ".parquet"
_OTHER_DATA = (".jsonl", ".txt.gz")


NO_PARQUET_FILE = RULES.finding(
    "PQT101",
    "no-parquet-file",
    """The path contains no file with the suffix `.parquet`.

    Why: there is nothing to check or read; usually the path is wrong.
    Example: an empty folder.
    Fix: pass the folder that contains the files, or one of them.
    """,
)


def detect(entry: Entry) -> Detection | None:
    """Claim a Parquet file, and a folder with Parquet files that no other format claims.

    Next to a description, files from other writers belong to the description.
    """
    if entry.kind != "directory":
        return Detection(VERSION, f"the suffix {_SUFFIX}") if _is_data(entry) else None
    first: Entry | None = None
    described = False
    for each in walk(entry):
        if each.path == "documents" or any(suffix in each.name for suffix in _OTHER_DATA):
            return None
        described = described or each.path in DESCRIPTIONS
        first = first or (each if _is_data(each) else None)
    if first is None or (described and not is_own_parquet(first)):
        return None
    return Detection(VERSION, "Parquet files")


def _is_data(entry: Entry) -> bool:
    return entry.kind == "file" and entry.name.endswith(_SUFFIX) and not is_hidden(entry.path)


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the files below a path. Raises `UsageError` if they cannot be read without pyarrow."""
    pyarrow()
    judge = Judge(RULES, options.grading, version=VERSION, path=".", cap=options.max_per_rule)
    shards: list[Shard] = []
    for each in walk(entry) if entry.kind == "directory" else [entry]:
        if _is_data(each):
            shards.append(Shard(len(shards), each.path, {"table": each}))
        elif not is_hidden(each.path):
            report_barred(each, judge)
    if not shards:
        hint = "pass the folder that contains the files, or one of them"
        judge.report(NO_PARQUET_FILE, Problem("no Parquet file found", Location("."), hint))
    return Plan(VERSION, shards, judge.tally, judge.coverage)


def left_unread(shard: Shard) -> Mapping[str, int]:
    """Return the columns that cannot become JSON, each with the number of rows; none for a corrupt file."""
    try:
        with shard.files["table"].open() as file:
            table = Table(file, shard.files["table"].path)
            rows = table.file.metadata.num_rows
            return {f"column `{name}`": rows for name in unreadable_columns(table) if rows}
    except (OSError, pyarrow().ArrowException, UnicodeDecodeError):
        return {}
