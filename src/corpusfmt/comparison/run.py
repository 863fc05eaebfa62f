"""Internal: Compare: plan both releases, read each document once, match rows, add up counts."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field

from corpusfmt.comparison.matching import (
    COLUMNS,
    HAS_NUMPY,
    MOST_TASKS,
    RANGE_ROWS,
    SHARD_SHIFT,
    TEXT_COLUMNS,
    Join,
    Joined,
    Places,
    join_names,
    join_texts,
    task_and_number,
)
from corpusfmt.comparison.reading import (
    MOST_FINDINGS,
    MOST_NAMES,
    OR_SKIP,
    Label,
    OnBadRecord,
    ReadTask,
    TaskResult,
    ids_of,
    read_task,
)
from corpusfmt.comparison.result import FURTHER, ComparedRelease, Comparison, Counts, Difference, FieldChange
from corpusfmt.conversion.layout import Corpus, corpus_at, count_unread, name_of, path_of, together, unread_files
from corpusfmt.conversion.options import Losses
from corpusfmt.engine.executors import Workers, default_jobs, placed, prepare
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import results_of
from corpusfmt.formats import ReadOptions, Shard
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter, limited
from corpusfmt.io.runs import END, Runs
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import UsageError

if TYPE_CHECKING or HAS_NUMPY:
    import numpy as np

T = TypeVar("T")
R = TypeVar("R")

#: The default number of named documents of each kind.
EXAMPLES = 10
_TASKS_OF_RANGES = 64
# Small shards share a task: each task writes a file of runs, and each matching task reads all these files.
_TASKS = 400
_BYTES_A_TASK = 8 * 1024 * 1024
_SHARDS_A_TASK = 1_000
# The maximum number of labels of a release, and of a task: they are held in memory.
_LABELS, _LABELS_OF_TASK = 1_000_000, 100_000
# A task ends at a number of bytes or of shards.
assert 2 * _TASKS + 1 < MOST_TASKS
# The kinds of differences whose documents are named, worst first.
_SHOWN = ("removed", "reassigned", "changed_text", "changed_metadata", "changed_attributes", "moved", "added")


class Side(Struct):
    """One release: what is read of it, and the results."""

    corpus: Corpus
    titles: Sequence[str]
    left_out: Counter[str]
    tasks: list[ReadTask] = field(default_factory=list)
    read: list[TaskResult] = field(default_factory=list)

    @property
    def labels(self) -> list[Label]:
        return [label for read in self.read for label in read.labels]

    @property
    def series(self) -> list[str]:
        """The shards without the numbers of parts."""
        return [_title(shard, whole=False) for shard in self.corpus.shards]


def compare(
    old: str | Path,
    new: str | Path,
    *,
    old_format: str = "auto",
    new_format: str = "auto",
    record_set: str | None = None,
    columns: str | Path | None = None,
    field: Mapping[str, str] | None = None,
    on_bad_record: OnBadRecord = "stop",
    examples: int = EXAMPLES,
    jobs: int | None = 1,
    engine: str | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str, Progress], None] | None = None,
) -> Comparison:
    """Compare two releases of a corpus, document by document; their formats may differ.

    A document is identified by its source and id, or by its text if the id is only a place. Format, shard and compressor
    are not compared. `record_set`, `columns` and `field` are for formats without fixed names. `on_bad_record` either
    stops at the first bad record, or skips and counts bad records; `examples` is the maximum number of named documents for
    each kind of difference. The result does not depend on `jobs` or `engine`.

    Raises `BadInput` for a bad record or layout, `UsageError` if the releases cannot be compared, and `Incomplete` if the run
    could not be finished; `LimitReached` is a subclass.
    """
    if not HAS_NUMPY:
        raise UsageError("comparing needs NumPy: pip install 'corpusfmt[compare]'")
    limits = limits.begun()
    prepare(engine, jobs, "corpusfmt.comparison.reading")
    with limited(limits) as planned:
        reading = ReadOptions(record_set=record_set, columns=columns, field=field or {})
        before = _side_at(placed(engine, old), old_format, reading, on_bad_record, follow_links=follow_links)
        after = _side_at(placed(engine, new), new_format, reading, on_bad_record, follow_links=follow_links)
    if reading != ReadOptions() and before.corpus.reading == after.corpus.reading == ReadOptions():
        raise UsageError("the fields of both releases have fixed names: leave out --record-set, --columns and --field")
    shards = [*before.corpus.shards, *after.corpus.shards]
    jobs = jobs or default_jobs(sum(shard.size for shard in shards), len(shards))
    with temporary_folder() as scratch, Workers(engine, jobs) as workers:
        meter = Meter(limits, planned.read)

        def results(
            stage: str, function: Callable[[T], R], tasks: Sequence[T], names: Sequence[str], sizes: Sequence[int]
        ) -> Iterator[R]:
            show = None if progress is None else partial(progress, stage)
            return results_of(stage, function, tasks, names, sizes, workers, meter, show, scratch)

        for name, side in (("old", before), ("new", after)):
            side.tasks = list(_read_tasks(side, on_bad_record, scratch / name))
            sizes = [sum(shard.size for _, shard in task.shards) for task in side.tasks]
            files = [task.shards[0][1].name for task in side.tasks]
            side.read = list(results(f"reading {name}", read_task, side.tasks, files, sizes))
        same_shards = set(before.series) == set(after.series)
        numbers: dict[str, int] = {}
        places = _places(before, numbers), _places(after, numbers)
        joined = Joined()
        runs = scratch / "old", scratch / "new"
        for stage, function, width in (("ids", join_names, COLUMNS), ("texts", join_texts, TEXT_COLUMNS)):
            left = scratch / f"{stage}-old", scratch / f"{stage}-new"
            count = min(max(-(-len(Runs(runs, width)) // RANGE_ROWS), 1), _TASKS_OF_RANGES)
            bounds = [END * number // count for number in range(count + 1)]
            joins = [
                Join(number, low, high, *runs, left, places, same_shards, examples)
                for number, (low, high) in enumerate(pairwise(bounds))
            ]
            for result in results(f"comparing {stage}", function, joins, [""] * count, [0] * count):
                joined.add(result, examples)
            runs = left
        return _comparison(before, after, joined, same_shards=same_shards)


def _side_at(
    path: str, format_name: str, reading: ReadOptions, on_bad_record: OnBadRecord, *, follow_links: bool
) -> Side:
    """Return the parts of a release to read. Raises `UsageError` or `BadInput` if it cannot be compared."""
    corpus = corpus_at(
        path,
        format_name,
        reading,
        to="compare",
        stops=on_bad_record == "stop",
        or_else=OR_SKIP,
        follow_links=follow_links,
    )
    corpus.plan.refuse_tables("a comparison")
    left_out = Losses("allow")
    count_unread(corpus.reader, corpus.plan, left_out)
    return Side(corpus, [_title(shard, whole=True) for shard in corpus.shards], left_out.counts)


def _title(shard: Shard, *, whole: bool) -> str:
    """Return the name of a shard, independent of its format, with or without the number of its part."""
    name = name_of(shard)
    part = f"_part_{name.part}" if whole and name.part is not None else ""
    return f"{name.folder}/{name.stem}{part}" if name.folder else f"{name.stem}{part}"


def _read_tasks(side: Side, on_bad_record: OnBadRecord, folder: Path) -> Iterator[ReadTask]:
    """Yield the tasks that read a release: shards in order, with several small ones in one task."""
    corpus = side.corpus
    side_by_side = len({shard.corpus for shard in corpus.shards}) > 1
    least = max(_BYTES_A_TASK, sum(shard.size for shard in corpus.shards) // _TASKS)
    most_labels = min(_LABELS // min(_TASKS, len(corpus.shards)), _LABELS_OF_TASK)
    most_shards = max(_SHARDS_A_TASK, len(corpus.shards) // _TASKS)
    first = 0
    for task, shards in enumerate(together(corpus.shards, least, most_shards)):
        numbered = tuple(enumerate(shards, first))
        first += len(shards)
        yield ReadTask(
            corpus.format.name, corpus.options, numbered, task, most_labels, side_by_side, on_bad_record, folder
        )


def _places(side: Side, numbers: dict[str, int]) -> Places:
    """Return the places of a release; `numbers` are those of names, equal in both releases."""

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers) + 1) if name else 0

    series = side.series
    first = np.cumsum([0, *(len(read.labels) for read in side.read)], dtype=np.int64)
    where = [
        number(f"/{series[label.shard]}") << SHARD_SHIFT | number("" if label.language == FURTHER else label.language)
        for label in side.labels
    ]
    return Places(first, np.array(where, np.int64))


def _comparison(old: Side, new: Side, joined: Joined, *, same_shards: bool) -> Comparison:
    """Return the comparison of two releases after their documents were matched."""
    whole = Counts()
    groups: tuple[dict[str, Counts], dict[str, Counts], dict[str, Counts]] = ({}, {}, {})
    labels = {
        name: [(label.language, label.source, side.titles[label.shard]) for label in side.labels]
        for name, side in (("old", old), ("new", new))
    }

    def add(side: str, label: int, kind: str, count: int) -> None:
        grouped = (group.setdefault(name, Counts()) for group, name in zip(groups, labels[side][label], strict=True))
        for counts in (whole, *grouped):
            setattr(counts, kind, getattr(counts, kind) + count)

    for name, side in (("old", old), ("new", new)):
        for label, count in enumerate(count for read in side.read for count in read.counts):
            add(name, label, name, count)
    for (kind, label), count in joined.counts.items():
        add("old" if kind == "removed" else "new", label, kind, count)
    differences: list[Difference] = []
    shown = [(kind.replace("_", "-"), each) for kind in _SHOWN for each in joined.shown.get(kind, [])]
    olds, news = _named(old, [each.old for _, each in shown]), _named(new, [each.new for _, each in shown])
    for (kind, _), before, after in zip(shown, olds, news, strict=True):
        identity, _ = after or before or ("", "")
        differences.append(Difference(kind, identity, before and before[1], after and after[1]))
    fields = [_fields(side) for side in (old, new)]
    notes = [
        f"{name}: {MOST_NAMES:,} fields and attributes, or more: the schema is not compared"
        for name, kinds in zip(("old", "new"), fields, strict=True)
        if len(kinds) >= MOST_NAMES
    ]
    # A field without a value in any document is equivalent to an absent one.
    types, types_now = (
        {name: " or ".join(sorted(kinds - {"null"})) for name, kinds in side.items() if kinds != {"null"}}
        for side in fields
    )
    changed = [
        FieldChange(name, types.get(name), types_now.get(name))
        for name in sorted(types.keys() | types_now.keys())
        if types.get(name) != types_now.get(name)
    ]
    by_language, by_source, by_shard = (dict(sorted(group.items())) for group in groups)
    return Comparison(
        _release(old),
        _release(new),
        whole,
        by_language,
        by_source,
        by_shard,
        same_shards,
        differences,
        [] if notes else changed,
        notes,
    )


def _fields(side: Side) -> dict[str, set[str]]:
    """Return the JSON types of each field."""
    fields: dict[str, set[str]] = {}
    for read in side.read:
        for name, kinds in read.fields.items():
            if name in fields or len(fields) < MOST_NAMES:
                fields.setdefault(name, set()).update(kinds)
    return fields


def _release(side: Side) -> ComparedRelease:
    left_out = side.left_out.copy()
    for read in side.read:
        left_out.update(read.left_out)
    return ComparedRelease(
        side.corpus.entry.shown,
        side.corpus.format.name,
        side.corpus.plan.version,
        sum(sum(read.counts) for read in side.read),
        len(side.corpus.shards),
        sum(read.rejected for read in side.read),
        sorted(path for read in side.read for path in read.cut),
        dict(sorted(left_out.items())),
        len(unread_files(side.corpus.entry, side.corpus.reader, side.corpus.plan)),
        [finding for read in side.read for finding in read.findings][:MOST_FINDINGS],
    )


def _named(side: Side, places: Sequence[int | None]) -> list[tuple[str, str] | None]:
    """Return the ids of documents, and each file with the number among its readable documents, from 1."""
    found = [None if place is None else task_and_number(place) for place in places]
    ids: dict[tuple[int, int], str] = {}
    for task in {each[0] for each in found if each}:
        numbers = {each[1] for each in found if each and each[0] == task}
        ids |= {(task, number): identity for number, identity in ids_of(side.tasks[task], numbers).items()}
    named: list[tuple[str, str] | None] = []
    for each in found:
        if each is None:
            named.append(None)
            continue
        task, number = each
        first_rows = side.read[task].first_rows
        shard = bisect_right(first_rows, number) - 1
        path = path_of(side.tasks[task].shards[shard][1])
        named.append((ids[each], f"{path}#{number - first_rows[shard] + 1}"))
    return named
