"""For formats: A row format, in which each row is a document, except for its rules on rows and its documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Detection, Format, Plan, Reader, Shard
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, rows_of
from corpusfmt.formats.general import report_barred
from corpusfmt.formats.parts import Writer, is_root_file
from corpusfmt.formats.provenance import SYNTHETIC
from corpusfmt.formats.rows.columned import ROW, restored
from corpusfmt.formats.rows.files import compression_rule
from corpusfmt.formats.rows.reading import ROWS, Rows
from corpusfmt.formats.rows.records import Records, field_rule, object_rules
from corpusfmt.formats.sniff import main_file, other_shape, rows_have
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.paths import PARTIAL_PREFIX, Entry, is_hidden, walk
from corpusfmt.model import Document, FindingType, Json, Location, Problem, Severity
from corpusfmt.rules import Judge, RuleSet

#: What rows are, for a description.
SUMMARY = "Documents as rows of JSON Lines"
_STATE_FOLDER = ".corpusfmt"
_LOOKS_LIKE_DATA = re.compile(r".*\.(?:csv|tsv|parquet|txt|json|jsonl|ndjson|gz|zst|zstd|bz2|xz|lz4)")


class FileFindings(Struct, frozen=True):
    """What the files of a format are, and the finding types for missing files, files without rows, and files that are not read."""

    what: str
    none: FindingType
    empty: FindingType
    unread: FindingType


def row_rules(rules: RuleSet, prefix: str) -> FileFindings:
    """Register the shared rules of row formats under a prefix of three letters: 101 to 104, 201, 202, 301."""
    compression_rule(rules, f"{prefix}102")
    object_rules(rules, f"{prefix}201", f"{prefix}202")
    field_rule(rules, f"{prefix}301")
    return file_findings(rules, f"{prefix}101", f"{prefix}103", f"{prefix}104")


def file_findings(
    rules: RuleSet, none: str, empty: str, unread: str, *, files: str = "JSON Lines", rows: str = "rows", spec: str = ""
) -> FileFindings:
    """Register the findings on the files of a format under three codes; `files` and `rows` name what it has."""
    return FileFindings(
        files,
        none=rules.finding(
            none,
            f"no-{'text' if rows == 'documents' else 'data'}-file",
            f"""The path contains no {files.removesuffix(" file")} file.

            Why: there is nothing to check or read; usually the path is wrong.
            Example: an empty folder, a folder of packed archives.
            Fix: pass the folder that contains the files, or one of them.
            """,
            spec=spec,
        ),
        empty=rules.finding(
            empty,
            "empty-file",
            f"""A file has no {rows}.

            Why: it may be intended, but usually a filter dropped everything or a writer failed.
            Example: a gzip file of 20 bytes.
            Fix: delete the file, or write it again.
            """,
            severity=Severity.WARNING,
            spec=spec,
        ),
        unread=rules.finding(
            unread,
            "unread-file",
            """A file looks like data, but does not have a name of the format.

            Why: readers skip the file, and it was not checked.
            Example: `data.jsonl.xz` next to `data.jsonl.gz`; a leftover of an unfinished run.
            Fix: name and compress it like the other files, or move it elsewhere.
            """,
            severity=Severity.WARNING,
            spec=spec,
        ),
    )


def judge_others(entries: Iterable[Entry], is_data: Callable[[Entry], bool], unread: FindingType, judge: Judge) -> None:
    """Report barred entries, and other files that look like data."""
    for each in entries:
        hidden = is_hidden(each.path)
        if not hidden and report_barred(each, judge):
            continue
        if each.kind == "file" and not hidden and not is_data(each) and not is_root_file(each.name):
            looks_alike = _LOOKS_LIKE_DATA.fullmatch(each.name) is not None
        else:
            looks_alike = each.name == _STATE_FOLDER or each.name.startswith(PARTIAL_PREFIX)
        if looks_alike:
            shape = other_shape(each) if each.kind == "file" else ""
            hint = shape.partition(": ")[2] or "name and compress the file like the others, or move it elsewhere"
            judge.report(unread, Problem(f"`{each.name}` was not read", Location(each.path), hint))


def data_files(
    entry: Entry,
    is_data: Callable[[Entry], bool],
    findings: FileFindings,
    judge: Judge,
    beside: Collection[Entry] = (),
) -> list[Entry]:
    """Return the data files below a folder, or a file whatever its name is; judge what else is there but `beside`."""
    files = [entry] if entry.kind == "file" else []

    def noted(each: Entry) -> bool:
        if not is_data(each):
            return False
        files.append(each)
        return True

    if entry.kind == "directory":
        known = {each.path for each in beside}
        judge_others((each for each in walk(entry) if each.path not in known), noted, findings.unread, judge)
    if not files:
        hint = "pass the folder that contains the files, or one of them"
        judge.report(findings.none, Problem(f"no {findings.what} found", Location("."), hint))
    return files


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
) -> Format:
    """Return a format in which each row of a file is a document.

    `file_name` is a regular expression for file names; every row has `fields`, which identify and describe the format. The
    other parameters are as in `Format`.
    """
    names = [each.name for each in fields]
    rows = Rows(rules, records, files.empty)

    def is_data(entry: Entry) -> bool:
        return entry.kind == "file" and not is_hidden(entry.path) and re.fullmatch(file_name, entry.name) is not None

    def detect(entry: Entry) -> Detection | None:
        listed = walk(entry) if entry.kind == "directory" else iter([entry])
        of_dolma = None if "id" in names else "id"
        main = main_file(filter(is_data, listed), lambda each: rows_have(each, *names, without=of_dolma))
        return Detection(version, f"rows with {' and '.join(names)}") if main else None

    def plan(entry: Entry, options: CheckOptions) -> Plan:
        judge = Judge(rules, options.grading, version=version, path=".", cap=options.max_per_rule)
        found = enumerate(data_files(entry, is_data, files, judge))
        shards = [Shard(number, file.path, {ROWS: file}) for number, file in found]
        return Plan(version, shards, judge.tally, judge.coverage)

    def record_sets(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
        yield rows_of(paths, contents, fields)

    def row(document: Document) -> Json:
        """Return the row that became a document: whatever is not the text is in the metadata."""
        metadata = document.metadata or {}
        if ROW in metadata:
            return restored(document)
        return {fields[0].names[0]: document.text} | {name: metadata[name] for name in metadata if name != SYNTHETIC}

    return Format(
        name=name,
        summary=summary,
        versions=(version,),
        rules=rules,
        detect=detect,
        plan=plan,
        check=rows.check,
        reads_only_its_files=True,
        documents_role=ROWS,
        finish=rows.judge_ids,
        facts=tuple[str, Any, FewKeys | None],
        reader=Reader(rows.read, by_row=True, source_name=name),
        writers={version: writer} if writer else {},
        describers={version: Describer(SUMMARY, record_sets, fields=fields, row=row)},
    )
