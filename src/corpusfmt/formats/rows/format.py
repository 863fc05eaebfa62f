"""For formats: Formats of files of rows, each row a document: all of them but the rules about a row and what it
becomes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Detection, Format, Plan, Reader, Shard
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, patterns
from corpusfmt.formats.general import report_barred
from corpusfmt.formats.parts import Writer
from corpusfmt.formats.rows.files import compression_rule
from corpusfmt.formats.rows.reading import ROWS, Rows
from corpusfmt.formats.rows.records import Records, field_rule, object_rules
from corpusfmt.formats.sniff import first_row_has
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.io.publish import PARTIAL_PREFIX
from corpusfmt.model import FindingType, Location, Problem, Severity
from corpusfmt.rules import Judge, RuleSet

_OURS = ("croissant.json", "stats.json", "MANIFEST.json")
_STATE_FOLDER = ".corpusfmt"
_LOOKS_LIKE_DATA = re.compile(r".*\.(?:txt|json|jsonl|ndjson|gz|zst|zstd|bz2|xz)")


class FileFindings(Struct, frozen=True):
    """What is reported of files: that there is none, one without rows, one that was not read."""

    none: FindingType
    empty: FindingType
    unread: FindingType


def row_rules(rules: RuleSet, prefix: str) -> FileFindings:
    """Give a format the rules that all formats of rows share, under codes of a prefix of three letters: 101 to 104, 201, 202, 301."""
    compression_rule(rules, f"{prefix}102")
    object_rules(rules, f"{prefix}201", f"{prefix}202")
    field_rule(rules, f"{prefix}301")
    return FileFindings(
        none=rules.finding(
            f"{prefix}101",
            "no-data-file",
            """There is no file of JSON Lines.

            Why: nothing was checked, and nothing can be read; most often the path is wrong.
            Example: an empty folder, a folder of archives that were not unpacked.
            Fix: name the folder that holds the files, or one of them.
            """,
        ),
        empty=rules.finding(
            f"{prefix}103",
            "empty-file",
            """A file has no rows.

            Why: it may be meant so, but more often a filter dropped everything, or a writer failed.
            Example: a gzip file of 20 bytes.
            Fix: delete it, or write it again.
            """,
            severity=Severity.WARNING,
        ),
        unread=rules.finding(
            f"{prefix}104",
            "unread-file",
            """A file looks like data, but its name is not one that files of the format have.

            Why: readers pass it over, and it was not checked.
            Example: `data.jsonl.xz` beside `data.jsonl.gz`; what a run left behind that did not finish.
            Fix: name and compress it like the others, or move it elsewhere.
            """,
            severity=Severity.WARNING,
        ),
    )


def judge_others(entries: Sequence[Entry], is_data: Callable[[Entry], bool], unread: FindingType, judge: Judge) -> None:
    """Report what is barred, and what lies beside the data and looks like some."""
    for each in entries:
        hidden = is_hidden(each.path)
        if not hidden and report_barred(each, judge):
            continue
        if each.kind == "file" and not hidden and not is_data(each) and each.name not in _OURS:
            looks_alike = _LOOKS_LIKE_DATA.fullmatch(each.name) and "sha256" not in each.name
        else:
            looks_alike = each.name == _STATE_FOLDER or each.name.startswith(PARTIAL_PREFIX)
        if looks_alike:
            hint = "name and compress it like the others, or move it elsewhere"
            judge.report(unread, Problem(f"`{each.name}` was not read", Location(each.path), hint))


class _Files(Struct, frozen=True):
    """Where the rows of a format are: in files of a name, whose first row has some fields."""

    rules: RuleSet
    version: str
    findings: FileFindings
    name: re.Pattern[str]
    fields: Sequence[str]

    def is_data(self, entry: Entry) -> bool:
        return entry.kind == "file" and not is_hidden(entry.path) and self.name.fullmatch(entry.name) is not None

    def detect(self, entry: Entry) -> Detection | None:
        listed = walk(entry) if entry.kind == "directory" else iter([entry])
        first = next(filter(self.is_data, listed), None)
        of_dolma = None if "id" in self.fields else "id"
        if first is None or not first_row_has(first, *self.fields, without=of_dolma):
            return None
        return Detection(self.version, f"rows with {' and '.join(self.fields)}")

    def plan(self, entry: Entry, options: CheckOptions) -> Plan:
        entries = list(walk(entry)) if entry.kind == "directory" else [entry]
        judge = Judge(self.rules, options.grading, version=self.version, path=".", cap=options.max_per_rule)
        files = [each for each in entries if self.is_data(each) or (each is entry and each.kind == "file")]
        if entry.kind == "directory":
            judge_others(entries, self.is_data, self.findings.unread, judge)
        if not files:
            hint = "name the folder that holds the files, or one of them"
            judge.report(self.findings.none, Problem("no JSON Lines found", Location("."), hint))
        shards = [Shard(number, file.path, {ROWS: file}) for number, file in enumerate(files)]
        return Plan(self.version, shards, judge.tally, judge.coverage)


def row_format(
    name: str,
    summary: str,
    rules: RuleSet,
    files: FileFindings,
    *,
    version: str,
    file_name: str,
    fields: Sequence[FieldOf],
    records: Callable[[Shard, CheckOptions], Records],
    writer: Writer[Any] | None = None,
    names_fields: bool = False,
    is_general: bool = False,
) -> Format:
    """Return a format whose documents are rows of files, one a row.

    `file_name` is a regular expression for the names of its files; `fields` are those that every row has, by which it is
    detected and described. The rest is as in `Format`.
    """
    there = _Files(rules, version, files, re.compile(file_name), [each.name for each in fields])
    rows = Rows(rules, records, files.empty)
    return Format(
        name=name,
        summary=summary,
        versions=(version,),
        rules=rules,
        detect=there.detect,
        plan=there.plan,
        check=rows.check,
        reader=Reader(rows.read, by_row=True, source_name=name, names_fields=names_fields),
        writers={version: writer} if writer else {},
        describers={version: Describer("Documents as rows of JSON Lines", _record_sets(fields))},
        is_general=is_general,
    )


def _record_sets(fields: Sequence[FieldOf]) -> Callable[[Sequence[str], Contents], Iterator[RecordSetOf]]:
    def record_sets(paths: Sequence[str], _contents: Contents) -> Iterator[RecordSetOf]:
        yield RecordSetOf("documents", "The documents", patterns(paths), "application/jsonlines", fields)

    return record_sets
