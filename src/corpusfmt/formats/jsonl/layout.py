"""Internal: Which files are JSON Lines, and which column profile their rows have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.columns import TEXTS, ColumnProfile, best_columns, columns_of_rows, rest_of, sidecars_below
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.parts import is_root_file
from corpusfmt.formats.rows.columned import (
    ColumnRecord,
    ColumnRecords,
    column_shards,
    columns_of,
    field_type_rule,
    is_id,
    table_rules,
)
from corpusfmt.formats.rows.files import judge_names, path_rule
from corpusfmt.formats.rows.format import data_files, row_rules
from corpusfmt.formats.rows.reading import ROWS, Rows
from corpusfmt.formats.sniff import (
    DESCRIPTIONS,
    first_row,
    first_rows,
    first_with_rows,
    has_name_of_rows,
    hint_of_text,
    is_damaged,
    is_pointer,
    main_file,
    refuse_without,
)
from corpusfmt.io.jsonlines import csv_separator
from corpusfmt.io.paths import Entry, is_hidden, walk
from corpusfmt.io.text import has_at, json_type, path_to, value_at
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Judge, RuleSet

VERSION = "1.0"
_MAY_BE_ROWS = re.compile(r".*\.json|[^.]*(?:\.(?:gz|zst|zstd|xz|bz2|lz4))?", re.DOTALL)
RULES = RuleSet(GENERAL, versions=(VERSION,))
FILES = row_rules(RULES, "JSL")
path_rule(RULES, "JSL106")


RECORDS = Rows(RULES, ColumnRecords, FILES.empty)


@RULES.rule("JSL302", "id-malformed", on=ColumnRecord, accepted_by="are_clean", grades={"minor": Severity.WARNING})
def id_malformed(record: ColumnRecord) -> Iterator[Problem]:
    """The id of a row is neither a string nor a whole number, is empty, or is missing although `--field id` names it. A warning in
    tables without a text.

    Why: the document cannot be identified.
    Example: `{"id": null, "text": "…"}`, `{"id": 1.5, "text": "…"}`.
    Fix: give each row a unique id, or remove the id from all rows.
    """
    name = record.columns.fields.id
    if record.id is not None and not is_id(value_at(record.fields, record.id)):
        value = value_at(record.fields, record.id)
        is_there = value is not None or name in record.fields
        found = json_type(value) if is_there else "missing"
        shown = "empty" if found == "a string" else f"{found}, expected a string or a whole number"
        minor = record.columns.may_lack_ids
        yield Problem(f"`{name}` is {shown}", record.at, "give the row a unique id", minor=minor)


field_type_rule(RULES, "JSL303")
table_rules(RULES, "JSL305", "JSL306")

HINT_OF_SIDECARS = "download both files again"
SIDECAR_DIFFERS = RULES.finding(
    "JSL107",
    "sidecar-differs",
    """A file next to documents, such as their quality signals, does not match them: rows, ids or a whole file differ.
    If it is missing, a warning.

    Why: its values would go to the wrong documents, or to none.
    Example: `en_head.signals.json.gz` with two rows, `en_head.json.gz` with three.
    Fix: download both files again.
    """,
    grades={"minor": Severity.WARNING},
)

TYPE_DIFFERS = RULES.finding(
    "JSL304",
    "column-type-differs",
    """A column of a table has values of different types, in a file or in several.

    Why: loaders take the type of a column from the first values, and stop at others or change them.
    Example: `{"label": 1}`, then `{"label": "good"}`.
    Fix: write one type; null fits any.
    """,
    severity=Severity.WARNING,
)

COLUMNS_DIFFER = RULES.finding(
    "JSL105",
    "columns-differ",
    """The first row of a file does not fit the column profile of the first file, or the columns of a table differ.

    Why: one profile is used for all files, and ignores fields with other names.
    Example: a file of C4 in a folder of FineWeb; `question` and `answer` in a file, only `question` in another.
    Fix: convert the files of each corpus separately, or name the profile of all with `--columns`.
    """,
    severity=Severity.WARNING,
)


def detect(entry: Entry) -> Detection | None:
    """Claim rows with a text, if no other format does: also documents of Dolma in other compressions than Dolma's."""
    first = first_with_rows(_data(entry))
    if first is None:
        # A pointer in place of CSV is as likely a file next to other data.
        if any(is_pointer(each) for each in _data(entry) if not csv_separator(each.name)):
            return Detection(VERSION, "pointers of Git LFS or Xet")
        return _damaged(_data(entry))
    # The file that says what the others are: one with texts, if those have most of the bytes.
    main = main_file(_data(entry), _has_text) or first
    rows = first_rows(main)
    columns = columns_of_rows(rows, main.url)
    is_table = columns.is_table or csv_separator(main.name) != ""
    if not rows or (is_table and _is_described(entry)):
        return _damaged([first])
    if columns.name:
        return Detection(VERSION, f"rows of {columns.summary} (column profile {columns.name})", columns.is_table)
    if columns.is_table:
        return Detection(VERSION, f"rows without a text, as in `{main.path}`", is_table=True)
    note = "; Dolma needs `source`, too" if "id" in rows[0] and "source" not in rows[0] else ""
    return Detection(VERSION, f"rows with {columns.fields.text}, as in `{main.path}`{note}")


def _is_described(entry: Entry) -> bool:
    """Return whether tables belong to the description next to them."""
    return entry.kind == "directory" and any(entry.child(name) is not None for name in DESCRIPTIONS)


def _damaged(files: Iterable[Entry]) -> Detection | None:
    """Claim files by their name that show nothing else, so that a description beside them does not hide their damage."""
    found = next(filter(is_damaged, files), None)
    return Detection(VERSION, f"the name of `{found.path}`, which cannot be decompressed") if found else None


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the files below a path. Raises `UsageError` for an unusable column profile."""
    judge = Judge(RULES, options.grading, version=VERSION, path=".", cap=options.max_per_rule)
    columns = columns_of(options.reading, "jsonl")
    text = (columns and columns.fields.text) or "text"
    first = first_with_rows(_data(entry))
    main = (main_file(_data(entry), _has_text) or first) if first else None
    kinds = {csv_separator(main.name) != ""} if main else {False, True}
    rows = first_rows(main) if main else []
    if columns is None:
        columns = columns_of_rows(rows, main.url) if main and rows else TEXTS["text"]
    sidecars = sidecars_below(entry, columns)
    files = data_files(
        entry,
        lambda each: _is_data(each, text) and (csv_separator(each.name) != "") in kinds,
        FILES,
        judge,
        [each for some in sidecars.values() for each in some.values()],
    )
    judge_names(files, judge)
    if "text" in options.reading.field:
        refuse_without(options.reading.field["text"], files)
    lacks = hint_of_text(rows) if columns.is_table else ""
    shards = [*_with_sidecars(column_shards(files, ROWS, columns), sidecars, columns, judge)]
    return Plan(VERSION, shards, judge.tally, judge.coverage, columns.name, lacks)


def _with_sidecars(
    shards: Iterable[Shard], sidecars: Mapping[str, dict[str, Entry]], columns: ColumnProfile, judge: Judge
) -> Iterator[Shard]:
    """Yield shards with the files beside theirs, and report those without the other."""
    roles = {
        role: sidecar
        for role, sidecar in columns.files.beside.items()
        if any(role in each for each in sidecars.values())
    }
    known = set()
    for shard in shards:
        rest = rest_of(columns.files.documents, shard.name)
        beside = sidecars.get(rest or "", {})
        known.add(rest)
        yield replace(shard, files={**shard.files, **beside})
        for role, sidecar in roles.items() if rest and columns.knows(shard.name) else ():
            if role not in beside:
                message = f"`{sidecar.path.replace('*', rest or '')}` is missing; other files have one"
                judge.report(SIDECAR_DIFFERS, Problem(message, Location(shard.name), HINT_OF_SIDECARS, minor=True))
    for rest, beside in sidecars.items():
        for each in beside.values() if rest not in known else ():
            message = f"`{columns.files.documents.replace('*', rest)}` with its documents is missing"
            judge.report(SIDECAR_DIFFERS, Problem(message, Location(each.path), HINT_OF_SIDECARS))


def finish(plan: Plan, facts: Sequence[Any], judge: Judge, options: CheckOptions) -> None:
    """Judge whether the first rows of all files have the same column profile, and each id occurs once."""
    if facts and isinstance(facts[0][1], dict):
        _judge_columns(facts, judge)
        RECORDS.judge_ids(plan, facts, judge, options)
        return
    expected = plan.facts or next((found for _, found, _ in facts), None)
    for path, found, _ in facts:
        if found != expected:
            there = f"the profile `{found}`" if found else "no known profile"
            message = f"the rows have {there}, other files have {f'`{expected}`' if expected else 'no known profile'}"
            hint = "convert each corpus separately, or name the profile with --columns"
            judge.report(COLUMNS_DIFFER, Problem(message, Location(path), hint))
    RECORDS.judge_ids(plan, facts, judge, options)


def _judge_columns(facts: Sequence[Any], judge: Judge) -> None:
    """Judge whether all files of a table have the same columns, each with values of one type."""
    all_columns: dict[str, tuple[str, str]] = {}
    first, expected = "", list[str]()
    for path, columns, _ in facts:
        for name, kinds in columns.items():
            for kind, line in sorted(kinds.items(), key=lambda each: each[1]):
                known, where = all_columns.setdefault(name, (kind, path))
                if kind != known:
                    message = f"`{name}` is {kind}, expected {known} as in `{where}`"
                    judge.report(TYPE_DIFFERS, Problem(message, Location(path, line), "write values of one type"))
        if columns and not expected:
            first, expected = path, [*columns]
        if columns and columns.keys() != {*expected}:
            names = ", ".join(f"`{name}`" for name in sorted(columns.keys() ^ {*expected})[:5])
            message = f"the columns differ from `{first}`: {names}"
            judge.report(COLUMNS_DIFFER, Problem(message, Location(path), "write the same columns in all files"))


def _data(entry: Entry) -> Iterator[Entry]:
    """Yield the data files at or below a path."""
    return filter(_is_data, walk(entry) if entry.kind == "directory" else [entry])


def _is_data(entry: Entry, text: str = "text") -> bool:
    """Return whether an entry is a data file. A plain `.json`, or a file without a suffix, is one if its first line is an object with a text."""
    if entry.kind != "file" or is_hidden(entry.path):
        return False
    if has_name_of_rows(entry):
        return True
    if _MAY_BE_ROWS.fullmatch(entry.name) is None or is_root_file(entry.name):
        return False
    row = first_row(entry)
    return has_at(row, path_to(text)) or (bool(row) and best_columns(row, entry.url) is not None)


def _has_text(entry: Entry) -> bool:
    return not columns_of_rows(first_rows(entry), entry.url).is_table
