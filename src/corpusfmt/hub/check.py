"""Internal: Judge how `datasets` loads a folder: which files, as which tables, and whether their rows fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from msgspec.structs import replace

from corpusfmt.formats.general import NOTHING_TO_CHECK, barred
from corpusfmt.hub.card import NAME as CARD
from corpusfmt.hub.card import Table, is_card, tables_of
from corpusfmt.hub.kinds import builder_of, kinds, readable, splits_of, unloadable
from corpusfmt.hub.rules import (
    CARD_SPLIT_SIZE,
    COLUMN_ADDED,
    DATA_NOT_LOADED,
    LOADED_TWICE,
    NOTHING_LOADED,
    READ_AS_TIME,
    SIDE_FILE_LOADED,
    TEXT_SPLIT,
    UNSAFE_NAME,
)
from corpusfmt.hub.types import Misfit, Type, inferred, misfits, unfit_value
from corpusfmt.io.lines import Block, blocks
from corpusfmt.io.loading import FRACTION, Seen
from corpusfmt.io.looking import Look, Looked, decode_row
from corpusfmt.io.paragraphs import first_split
from corpusfmt.io.paths import Entry, PointerFile, walk
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import Location, Problem
from corpusfmt.rules import NOT_JUDGED, Judge

# The builder of Markdown and TOML.
_TASKS = "harbor"
_IN_CARD = "list the data files in the `configs` of a card"
_ONCE = "rename the file, or list it once in the card"


#: Looks at files, in any process; they are given in the order of their paths.
LookAt = Callable[[Sequence[Entry]], Mapping[str, Looked]]


def look_at(entry: Entry) -> Looked:
    """Return the columns of a file of JSON Lines or Parquet, or where a text is split. What cannot be read is left to other rules."""
    if entry.name.endswith(".parquet"):
        from corpusfmt.hub.parquet import look_at_table  # noqa: PLC0415 - only for Parquet

        return look_at_table(entry)
    look = Look()
    try:
        if ".txt" in entry.name:
            with entry.open() as file:
                return Looked(split=first_split(Chunks(file, codec_of_name(entry.name), entry.path)))
        for block in _blocks(entry):
            look.note(block.data, block.line)
    except (OSError, StreamFault) as error:
        return Looked(gap=str(error))
    return look.finish()


def _blocks(entry: Entry) -> Iterator[Block]:
    with entry.open() as file:
        chunks = Chunks(file, codec_of_name(entry.name), entry.path)
        yield from (block for block in blocks(chunks) if isinstance(block, Block))


def judge_without_data(root: Entry, judge: Judge) -> None:
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


def judge_loading(root: Entry, documents: Sequence[str], judge: Judge, look: LookAt) -> None:
    """Report everything that `datasets` would refuse, leave out or change; `documents` are the files with documents."""
    if root.kind != "directory":
        tables = [Table("", {"train": [root.path]})]
        _judge_rows(tables, {root.path: root}, judge, look)
        return
    entries = {entry.path: entry for entry in walk(root) if entry.kind == "file"}
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
    _judge_rows(tables, entries, judge, look)


def _judge_paragraphs(tables: Sequence[Table], entries: Mapping[str, Entry], judge: Judge, look: LookAt) -> None:
    """Report texts of documents that become several rows."""
    paths = sorted({path for each in tables if each.by_paragraph for own in each.splits.values() for path in own})
    texts = [path for path in paths if ".txt" in path]
    looked = look([entries[path] for path in texts])
    for path in texts:
        if (split := looked[path].split) is not None:
            message = "a text becomes several rows: a carriage return follows another line end"
            hint = "convert the corpus to `parquet` or `dolma`, or write texts without carriage returns"
            judge.report(TEXT_SPLIT, Problem(message, Location(path, *split), hint))


def _guessed(paths: Sequence[str], judge: Judge) -> Sequence[Table]:
    """Return the table that the names of files define, without a card."""
    splits = {split: own for split, found in splits_of(paths).items() if (own := readable(found))}
    builders = kinds(splits)
    if len(builders) != 1 or "" in builders:
        reason = f"splits of different kinds: {', '.join(sorted(builders))}" if len(builders) > 1 else "no data files"
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
                problem = Problem(f"the file is read {times} times{_in(table)}", Location(path), _ONCE)
                judge.report(LOADED_TWICE, problem)
    if wanted and wanted.isdisjoint(loaded):
        sides.update(loaded)
    for path in sorted(sides):
        problem = Problem("the file is read as rows, and is not data", Location(path), _IN_CARD)
        judge.report(SIDE_FILE_LOADED, problem)
    for path in sorted((wanted - loaded).intersection(filled)):
        judge.report(DATA_NOT_LOADED, Problem("the file is not read", Location(path), _IN_CARD))


def _judge_capitals(paths: Sequence[str], judge: Judge) -> None:
    """Report data files that neither `datasets` nor a format takes for such, because their extension has capitals."""
    found = (
        path
        for path in paths
        if not readable([path]) and {*readable([path.lower()], "json"), *readable([path.lower()], "parquet")}
    )
    for path in sorted(found, key=lambda path: path.split("/")):
        problem = Problem("the file is not read: its extension has capitals", Location(path), "rename it")
        judge.report(DATA_NOT_LOADED, problem)


def _in(table: Table) -> str:
    return f" in the config `{table.name}`" if table.name else ""


def _judge_rows(tables: Sequence[Table], entries: Mapping[str, Entry], judge: Judge, look: LookAt) -> None:
    # One builder reads all configs: the one of the first.
    builder = builder_of(path for own in tables[0].splits.values() for path in own)
    if builder in {"json", "parquet"}:
        _judge_columns(tables, entries, judge, look)
    elif builder == "text" and any(table.by_paragraph for table in tables):
        _judge_paragraphs(tables, entries, judge, look)
    elif builder:
        judge.coverage.gap(".", NOT_JUDGED, f"none is for the rows of {builder} files")


def _judge_columns(tables: Sequence[Table], entries: Mapping[str, Entry], judge: Judge, look: LookAt) -> None:
    paths = sorted({path for table in tables for own in table.splits.values() for path in own})
    looked = look([entries[path] for path in paths])
    reported: set[tuple[str, str, str]] = set()
    for table in tables:
        for path, problem_of in _unfit(table, looked, _recast(table, entries, looked)):
            key = (path, problem_of.column, problem_of.type.code)
            if key not in reported:
                reported.add(key)
                judge.report(problem_of.type, _problem(path, problem_of, table, looked))
        if all(not looked[path].gap for own in table.splits.values() for path in own):
            _judge_sizes(table, looked, judge)


def _first(table: Table, looked: Mapping[str, Looked]) -> tuple[str, Seen] | None:
    """Return the file that defines the types of a table, and its first block."""
    first_split = next(iter(table.splits.values()), ())
    return next(((path, looked[path].blocks[0]) for path in first_split if looked[path].blocks), None)


def _types(table: Table, looked: Mapping[str, Looked]) -> Mapping[str, Type] | None:
    if table.features is not None:
        return table.features
    first = _first(table, looked)
    if first is None:
        return None
    path, block = first
    begins = path == next(iter(table.splits.values()))[0]
    return {name: inferred(seen, begins=begins) for name, seen in block.members.items()}


def _recast(table: Table, entries: Mapping[str, Entry], looked: Mapping[str, Looked]) -> dict[str, list[Misfit]]:
    """Return, by file, how values do not fit that have to be compared.

    Those are values of other types in Parquet, of narrow types, and floats in JSON.
    """
    first = _first(table, looked)
    if first is None:
        return {}
    paths = dict.fromkeys(path for own in table.splits.values() for path in own)
    if first[0].endswith(".parquet"):
        from corpusfmt.hub.parquet import recast  # noqa: PLC0415 - only for Parquet

        left_out = first[0] if table.features is None else None
        others = (entries[path] for path in paths if path != left_out and path.endswith(".parquet"))
        return recast(entries[first[0]], others, table.features)
    types = _types(table, looked) or {}
    with_floats: set[str] = set()
    for members in (block.members for path in paths for block in looked[path].blocks):
        with_floats.update(
            name for name in types.keys() - with_floats if name in members and members[name].has(FRACTION)
        )
    narrow = {name: of for name, of in types.items() if of.is_narrow or (of.has_json and name in with_floats)}
    # What could not be read once has been reported.
    return {path: _unfit_values(entries[path], narrow) for path in paths if narrow and not looked[path].gap}


def _unfit_values(entry: Entry, types: Mapping[str, Type]) -> list[Misfit]:
    """Return how the values of some columns of JSON Lines do not fit, the first one of each column."""
    found: dict[str, Misfit] = {}
    lines = (line for block in _blocks(entry) for line in block.data.split(b"\n"))
    for row in (decode_row(line) for line in lines if line and not line.isspace()):
        for name in [name for name in types if name not in found and name in row]:
            if misfit := unfit_value(name, types[name], row[name]):
                found[name] = misfit
    return [*found.values()]


def _unfit(
    table: Table, looked: Mapping[str, Looked], recast: Mapping[str, Sequence[Misfit]]
) -> Iterator[tuple[str, Misfit]]:
    types = _types(table, looked)
    if types is None:
        return
    rounds = any(each.has_json for each in types.values())
    defining = None if table.features is not None else _first(table, looked)
    for path in (path for own in table.splits.values() for path in own):
        yield from ((path, each) for each in recast.get(path, ()))
        for block in looked[path].blocks:
            for name, seen in block.members.items():
                if name in types:
                    for each in misfits(name, types[name], seen, rounds=rounds):
                        # What is declared is meant, and the first file says it for all.
                        if each.type is not READ_AS_TIME or (defining and defining[0] == path):
                            yield path, each
                else:
                    yield path, Misfit(COLUMN_ADDED, name, "a column", "", "`load_dataset` fails")


def _problem(path: str, found: Misfit, table: Table, looked: Mapping[str, Looked]) -> Problem:
    first = _first(table, looked)
    by = "the card" if table.features is not None or first is None else f"`{first[0]}`"
    if found.type is COLUMN_ADDED:
        message = f"`{found.column}` is not a column of {by}: {found.effect}"
        return Problem(
            message, Location(path), f"write `{found.column}` in all rows, or declare all columns in the card"
        )
    top = re.split(r"[.\[]", found.column, maxsplit=1)[0]
    if by == f"`{path}`":
        message = f"`{found.column}` has {found.found}, loaded as `{found.expected}`: {found.effect}"
        declare = f"declare `{top}` as `json` in `dataset_info` of the card"
        hint = f"write `{top}` as JSON text" if path.endswith(".parquet") else declare
    else:
        message = f"`{found.column}` has {found.found}, expected `{found.expected}` as in {by}: {found.effect}"
        hint = f"write `{found.expected}` in both files, or declare the type of `{top}` in `dataset_info` of the card"
        if table.features is not None:
            hint = f"declare another type of `{top}` in `dataset_info` of the card"
        elif found.wanted or found.added:
            hint = _completed(found, top, by, is_table=path.endswith(".parquet"))
    return Problem(message, Location(path), found.hint or hint)


def _completed(found: Misfit, top: str, by: str, *, is_table: bool) -> str:
    """Return how values are kept of which the first file, `by`, has only nulls, or objects without one of their keys."""
    if found.added:
        in_table = f"add the key `{found.added}` to `{found.column}` in {by}, null where it has no value"
        return in_table if is_table else f"declare `{top}` as `json` in `dataset_info` of the card"
    there = "all its lists are empty" if found.column.endswith("[]") else "all its values are null"
    if is_table:
        return f"write `{found.wanted}` in {by} ({there})"
    return f"declare `{found.column}` as `{found.wanted}` in `dataset_info` of the card (in {by} {there})"


def _judge_sizes(table: Table, looked: Mapping[str, Looked], judge: Judge) -> None:
    for split, expected in table.sizes.items():
        rows = sum(looked[path].rows for path in table.splits.get(split, ()))
        if rows != expected:
            message = f"`num_examples` of the split `{split}` of `{table.name or 'default'}` is {expected:,}, expected {rows:,}"
            judge.report(
                CARD_SPLIT_SIZE, Problem(message, Location(CARD, pointer="/dataset_info"), "correct the number")
            )
