"""Check one file of records."""

from __future__ import annotations

from corpusfmt.formats import CheckOptions, Shard, ShardResult
from corpusfmt.formats.general import within_limits
from corpusfmt.formats.oscar2.read import Doubtful, scan
from corpusfmt.formats.oscar2.ruleset import RECORD, RULES
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Judge

EMPTY_FILE = RULES.finding(
    "OSJ106",
    "empty-file",
    """A file has no records.

    Why: it may be meant so, but more often a filter dropped everything, or a writer failed.
    Example: a gzip file of 20 bytes.
    Fix: delete it, or write it again.
    """,
    severity=Severity.WARNING,
    spec=RECORD,
)


def check(shard: Shard, options: CheckOptions) -> ShardResult:
    """Check every record of a file, and the stream to its end."""
    judge = Judge(RULES, options.grading, version=options.version, path=shard.name, cap=options.max_per_rule)
    language: str | None = shard.payload
    entry = shard.files["records"]
    with within_limits(judge, entry.path):
        whole = True
        for found in scan(entry, language, options, judge.coverage):
            if isinstance(found, Doubtful):
                found.judged(language, judge)
                if found.trouble is not None:
                    whole = False
                    continue
                judge.coverage.documents += found.times
            else:
                judge.coverage.documents += 1
        if whole and not judge.coverage.documents:
            judge.report(EMPTY_FILE, Problem("no records", Location(entry.path), "delete it, or write it again"))
    return ShardResult(judge.tally, judge.coverage)
