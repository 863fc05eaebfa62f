"""Internal: Judge how `datasets` loads a folder: which files, as which tables, and whether their rows fit."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.general import NOTHING_TO_CHECK, barred, within_limits
from corpusfmt.hub.card import NAME as CARD
from corpusfmt.hub.card import Table, is_card, tables_of
from corpusfmt.hub.kinds import builder_of, kinds, readable, splits_of, unloadable
from corpusfmt.hub.load import Files, Misfit, load_all
from corpusfmt.hub.rules import (
    CARD_MALFORMED,
    CARD_SPLIT_SIZE,
    COLUMN_ADDED,
    DATA_NOT_LOADED,
    KEY_MISSING,
    LIMIT_EXCEEDED,
    LOADED_TWICE,
    NAME_REFUSED,
    NOTHING_LOADED,
    READ_AS_TIME,
    RULES,
    SIDE_FILE_LOADED,
    TEXT_SPLIT,
    TYPE_DIFFERS,
    UNSAFE_NAME,
    VALUE_CHANGED,
)
from corpusfmt.io.limits import Meter, within
from corpusfmt.io.lines import MAX_LINE_BYTES, first_split
from corpusfmt.io.paths import Entry, PointerFile, walk
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import CorpusfmtError, Location, Problem
from corpusfmt.rules import NOT_JUDGED, Judge

# The builder of Markdown and TOML.
_TASKS = "harbor"
_BY_CODE = {
    each.code: each for each in (CARD_MALFORMED, COLUMN_ADDED, KEY_MISSING, READ_AS_TIME, TYPE_DIFFERS, VALUE_CHANGED)
}
_IN_CARD = "list the data files in the `configs` of a card"
# https://huggingface.co/docs/hub/storage-limits, read in November 2026: it takes no more, or advises against more.
_MOST_ENTRIES, _ADVISED_FILES = 10_000, 100_000
_MOST_GB, _ADVISED_GB, _GB = 500, 200, 10**9
_LEFT_OUT = re.compile(r"(?:^|/)(?:\.git|\.cache/huggingface)(?:/|$)")
_ONCE = "rename the file, or list it once in the card"


class Run(Struct, frozen=True):
    """How tables are loaded: with a folder that is removed, and which files are sampled, if not all."""

    meter: Meter
    cache: str
    sampled: frozenset[str] | None = None
    max_line_bytes: int = MAX_LINE_BYTES


def check_loading(
    root: Entry, shards: Sequence[Shard], sampled: frozenset[str] | None, options: CheckOptions, meter: Meter
) -> Judge:
    """Return the judge of how a folder, or a file of documents, is loaded; values are read from the files in `sampled`, or all."""
    judge = _judge(options)
    assert options.scratch is not None
    documents = [next(iter(shard.files.values())).path for shard in shards if shard.files]
    try:
        with within_limits(judge, "."), within(meter):
            run = Run(meter, str(options.scratch / "datasets"), sampled, options.max_line_bytes)
            _judge_loading(root, documents, judge, run)
    except CorpusfmtError:
        raise
    except Exception as error:
        judge.crash("the check of how it is loaded", error)
    return judge


def without_data(root: Entry, options: CheckOptions) -> Judge | None:
    """Return the judge of a path that no format claims, if it shows why: pointers, or a card without data."""
    judge = _judge(options)
    _judge_without_data(root, judge)
    return judge if judge.tally.counts else None


def _judge(options: CheckOptions) -> Judge:
    return Judge(RULES, options.grading, version="", path=".", cap=options.max_per_rule)


def _judge_without_data(root: Entry, judge: Judge) -> None:
    """Report the pointers at a path that no format claims, or else a card without any data file."""
    entries = {each.path: each for each in ([root] if root.kind == "file" else walk(root)) if each.kind == "file"}
    seen = [path for own in splits_of(entries).values() for path in own]
    for path in seen:
        try:
            entries[path].open().close()
        except PointerFile as pointer:
            judge.report(*barred(pointer, Location(path)))
        except OSError:
            continue
    has_data = any(builder_of([path]) not in {"", _TASKS} for path in seen)
    if not has_data and CARD in entries and is_card(entries[CARD]):
        hint = "download the data, as with `hf download OWNER/NAME --repo-type dataset`"
        judge.report(NOTHING_TO_CHECK, Problem("the card has no data files next to it", Location(CARD), hint))


def _judge_loading(root: Entry, documents: Sequence[str], judge: Judge, run: Run) -> None:
    """Report everything that `datasets` would refuse, leave out or change; `documents` are the files with documents."""
    if root.kind != "directory":
        tables = [Table("", {"train": [root.path]})]
        _judge_rows(tables, {root.path: root}, judge, run)
        return
    entries = {entry.path: entry for entry in walk(root) if entry.kind == "file"}
    _judge_limits(entries, judge)
    for path in documents:
        if found := unloadable(path):
            judge.report(UNSAFE_NAME, Problem(f"`{path}` contains `{found}`", Location(path), "rename it"))
    paths = sorted(entries)
    guessed = partial(_guessed, paths, judge)
    tables = [*(tables_of(entries[CARD], paths, judge, guessed) if CARD in entries else guessed())]
    if not any(table.splits for table in tables):
        return
    tables = [replace(each, splits={split: readable(own) for split, own in each.splits.items()}) for each in tables]
    filled = [path for path in paths if entries[path].size]
    _judge_files(tables, documents, filled, judge)
    _judge_capitals(filled, judge)
    _judge_rows(tables, entries, judge, run)


def _judge_limits(entries: Mapping[str, Entry], judge: Judge) -> None:
    """Report what the Hub does not take, of what `hf upload` does not leave out."""
    files = {path: each for path, each in entries.items() if not _LEFT_OUT.search(path)}
    seen: set[str] = set()
    held = Counter[str]()
    for path in files:
        entry = path
        while entry and entry not in seen:
            seen.add(entry)
            entry = posixpath.dirname(entry)
            held[entry] += 1
    for folder, count in held.items():
        if count > _MOST_ENTRIES:
            message = f"{count:,} entries, expected at most {_MOST_ENTRIES:,}"
            judge.report(LIMIT_EXCEEDED, Problem(message, Location(folder or "."), "divide the folder"))
        if posixpath.basename(folder) == ".cache":
            judge.report(
                NAME_REFUSED, Problem("`hf upload` refuses a folder of this name", Location(folder), "rename it")
            )
    if len(files) > _ADVISED_FILES:
        message = f"{len(files):,} files, expected at most {_ADVISED_FILES:,}"
        judge.report(LIMIT_EXCEEDED, Problem(message, Location("."), "merge files", minor=True))
    for path, each in files.items():
        if each.size > _ADVISED_GB * _GB:
            is_refused = each.size > _MOST_GB * _GB
            message = f"{each.size / _GB:.0f} GB, expected at most {_MOST_GB if is_refused else _ADVISED_GB}"
            judge.report(LIMIT_EXCEEDED, Problem(message, Location(path), "divide the file", minor=not is_refused))


def _judge_paragraphs(tables: Sequence[Table], entries: Mapping[str, Entry], judge: Judge) -> None:
    """Report texts of documents that become several rows."""
    paths = {path for each in tables if each.by_paragraph for own in each.splits.values() for path in own}
    for path in sorted(each for each in paths if ".txt" in each):
        split = None
        # What cannot be read is left to other rules.
        with suppress(OSError, StreamFault), entries[path].open() as file:
            split = first_split(Chunks(file, codec_of_name(path), path))
        if split is not None:
            message = "a text becomes several rows: a carriage return follows another line end"
            hint = "convert the corpus to `parquet` or `dolma`, or write texts without carriage returns"
            judge.report(TEXT_SPLIT, Problem(message, Location(path, *split), hint))


def _guessed(paths: Sequence[str], judge: Judge) -> Sequence[Table]:
    """Return the table that the names of files define, without a card."""
    splits = {split: own for split, found in splits_of(paths).items() if (own := readable(found))}
    builders = kinds(splits)
    if len(builders) != 1 or "" in builders:
        reason = (
            f"the splits have files of different kinds: {', '.join(sorted(builders))}"
            if len(builders) > 1
            else "no data files"
        )
        judge.report(NOTHING_LOADED, Problem(reason, Location("."), _IN_CARD))
        return []
    (builder,) = builders
    return [Table("", {split: own for split, found in splits.items() if (own := readable(found, builder))})]


def _judge_files(tables: Sequence[Table], documents: Sequence[str], filled: Sequence[str], judge: Judge) -> None:
    wanted = set(documents)
    loaded: set[str] = set()
    sides: set[str] = set()
    for table in tables:
        read = sorted(path for own in table.splits.values() for path in own)
        loaded.update(read)
        if not wanted.isdisjoint(read):
            sides.update(set(read) - wanted)
        for path, times in ((path, sum(1 for _ in same)) for path, same in groupby(read)):
            if times > 1:
                problem = Problem(f"`datasets` reads the file {times} times{_in(table)}", Location(path), _ONCE)
                judge.report(LOADED_TWICE, problem)
    if wanted and wanted.isdisjoint(loaded):
        sides.update(loaded)
    for path in sorted(sides):
        problem = Problem("`datasets` reads the file as rows, but it is not data", Location(path), _IN_CARD)
        judge.report(SIDE_FILE_LOADED, problem)
    for path in sorted((wanted - loaded).intersection(filled)):
        judge.report(DATA_NOT_LOADED, Problem("`datasets` does not read the file", Location(path), _IN_CARD))


def _judge_capitals(paths: Sequence[str], judge: Judge) -> None:
    """Report data files that neither `datasets` nor a format takes for such, because their extension has capitals."""
    found = (
        path
        for path in paths
        if not readable([path]) and {*readable([path.lower()], "json"), *readable([path.lower()], "parquet")}
    )
    for path in sorted(found, key=lambda path: path.split("/")):
        problem = Problem("`datasets` does not read the file: its extension has capitals", Location(path), "rename it")
        judge.report(DATA_NOT_LOADED, problem)


def _in(table: Table) -> str:
    return f" in the config `{table.name}`" if table.name else ""


def _judge_rows(tables: Sequence[Table], entries: Mapping[str, Entry], judge: Judge, run: Run) -> None:
    # One builder reads all configs: the one of the first.
    builder = builder_of(path for own in tables[0].splits.values() for path in own)
    if builder in {"csv", "json", "parquet"}:
        _judge_columns(tables, builder, entries, judge, run)
    elif builder == "text" and any(table.by_paragraph for table in tables):
        _judge_paragraphs(tables, entries, judge)
    elif builder:
        judge.coverage.gap(".", NOT_JUDGED, f"none is for the rows of {builder} files")


def _judge_columns(tables: Sequence[Table], builder: str, entries: Mapping[str, Entry], judge: Judge, run: Run) -> None:
    asked = [
        Files(
            builder,
            {split: [entries[path] for path in own] for split, own in table.splits.items() if own},
            table.features,
            run.cache,
            run.sampled,
            run.max_line_bytes,
        )
        for table in tables
    ]
    reported: set[tuple[str, str, str]] = set()
    unread: set[str] = set()
    for table, loaded in zip(tables, load_all(asked, run.meter), strict=True):
        for path, reason in loaded.gaps.items():
            if path not in unread:
                judge.coverage.gap(path, "how it is loaded", reason)
        unread.update(loaded.gaps)
        for misfit in loaded.misfits:
            key = (misfit.path, misfit.column, misfit.code)
            if key not in reported:
                reported.add(key)
                judge.report(_BY_CODE[misfit.code], _problem(misfit, table, loaded.first))
        if not loaded.gaps and run.sampled is None:
            _judge_sizes(table, loaded.rows, judge)


def _problem(misfit: Misfit, table: Table, first: str) -> Problem:
    by = "the card" if table.features is not None else f"`{first}`"
    top = re.split(r"[.\[]", misfit.column, maxsplit=1)[0]
    message = misfit.message
    hint = f"declare another type of `{top}` in `dataset_info` of the card"
    if misfit.expected:
        message += f", expected `{misfit.expected}` as in {by}"
    if misfit.code == COLUMN_ADDED.code:
        message += f" of {by}"
        hint = f"write `{top}` in all rows, or declare all columns in the card"
    elif misfit.code == CARD_MALFORMED.code:
        hint = "correct the head of the card"
    elif table.features is None:
        hint = _repair(misfit, top, by, is_table=misfit.path.endswith(".parquet"))
    if misfit.effect:
        message += f": {misfit.effect}"
    return Problem(message, Location(misfit.path, misfit.line), misfit.hint or hint)


def _repair(misfit: Misfit, top: str, by: str, *, is_table: bool) -> str:
    """Return how values can be loaded of which none is dropped."""
    if misfit.expected == "null":
        there = "all its lists are empty" if misfit.column.endswith("[]") else "all its values are null"
        if is_table:
            return f"write `{misfit.found}` in {by} ({there})"
        return f"declare `{misfit.column}` as `{misfit.found}` in `dataset_info` of the card (in {by} {there})"
    if misfit.expected.startswith("struct<") and is_table:
        return f"add the key `{misfit.found}` to `{misfit.column}` in {by}, null where it has no value"
    if misfit.expected.startswith("struct<"):
        return f"declare `{top}` as `json` in `dataset_info` of the card"
    return f"write values of one type, or declare the type of `{top}` in `dataset_info` of the card"


def _judge_sizes(table: Table, rows_of: Mapping[str, int], judge: Judge) -> None:
    for split, expected in table.sizes.items():
        rows = sum(rows_of.get(path, 0) for path in table.splits.get(split, ()))
        if rows != expected:
            message = f"`num_examples` of the split `{split}` of `{table.name or 'default'}` is {expected:,}, expected {rows:,}"
            judge.report(
                CARD_SPLIT_SIZE, Problem(message, Location(CARD, pointer="/dataset_info"), "correct the number")
            )
