"""Internal: Compare: plan both releases, read each document once, match rows, add up counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, Unpack

import numpy as np
from msgspec import Struct

from corpusfmt.comparison.matching import Numbers
from corpusfmt.comparison.names import join_names
from corpusfmt.comparison.reading import OnBadRecord, read_part
from corpusfmt.comparison.result import Comparison
from corpusfmt.comparison.runs import bucket_sizes, ranges
from corpusfmt.comparison.sides import Side, parts, side_at
from corpusfmt.comparison.summing import summed
from corpusfmt.comparison.tasks import SHARD_SHIFT, Join, Joined, Places
from corpusfmt.comparison.texts import join_texts
from corpusfmt.engine.executors import Workers, default_jobs, placed, prepare
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, run_tasks
from corpusfmt.formats import FieldNames, ReadOptions
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter, limited
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import Incomplete, UsageError

T = TypeVar("T")
R = TypeVar("R")

#: The default number of named documents of each kind.
EXAMPLES = 10
_TASKS_OF_RANGES = 64


def compare(
    old: str | Path,
    new: str | Path,
    *,
    old_format: str = "auto",
    new_format: str = "auto",
    record_set: str | None = None,
    on_bad_record: OnBadRecord = "stop",
    examples: int = EXAMPLES,
    jobs: int | None = 1,
    engine: str | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str, Progress], None] | None = None,
    **fields: Unpack[FieldNames],
) -> Comparison:
    """Compare two releases of a corpus, document by document; their formats may differ.

    A document is identified by its source and id, or by its text if the id is only a place. Format, shard and compressor
    are not compared. `record_set` and `fields`, such as `text_field`, are for formats without fixed names. `on_bad_record` either
    stops at the first bad record, or skips and counts bad records; `examples` is the maximum number of named documents for
    each kind of difference. The result does not depend on `jobs` or `engine`.

    Raises `BadInput` for a bad record or layout, `UsageError` if the releases cannot be compared, and `Incomplete` if the run
    could not be finished; `LimitReached` is a subclass.
    """
    limits = limits.begun()
    prepare(engine, jobs, "corpusfmt.comparison.reading", "corpusfmt.comparison.names")
    with limited(limits) as planned:
        reading = ReadOptions(record_set, **fields)
        before = side_at(placed(engine, old), old_format, reading, on_bad_record, follow_links=follow_links)
        after = side_at(placed(engine, new), new_format, reading, on_bad_record, follow_links=follow_links)
    if reading != ReadOptions() and before.reading == after.reading == ReadOptions():
        raise UsageError(
            "the fields of both releases have fixed names: leave out --record-set, --text-field and the like"
        )
    shards = [*before.shards, *after.shards]
    jobs = jobs or default_jobs(sum(shard.size for shard in shards), len(shards))
    with temporary_folder() as scratch, Workers(engine, jobs) as workers:
        run = _Run(workers, Meter(limits, planned.read), progress, scratch)
        for name, side in (("old", before), ("new", after)):
            side.parts = list(parts(side, on_bad_record, scratch, name))
            sizes = [sum(shard.size for _, shard in part.shards) for part in side.parts]
            side.read = list(run.each(f"reading {name}", read_part, side.parts, sizes))
        same_shards = set(before.series) == set(after.series)
        joined = _joined(before, after, run, scratch, examples, same_shards=same_shards)
        return summed(before, after, joined, same_shards=same_shards)


class _Run(Struct):
    """Runs the tasks of each stage in turn."""

    workers: Workers
    meter: Meter
    progress: Callable[[str, Progress], None] | None
    scratch: Path

    def each(self, stage: str, function: Callable[[T], R], tasks: Sequence[T], sizes: Sequence[int]) -> Iterator[R]:
        """Yield the result of each task, in order. Raises `Incomplete` if a worker died."""
        progress = self.progress
        with ShardProgress(None if progress is None else lambda step: progress(stage, step), sizes) as shown:
            results = run_tasks(
                function,
                tasks,
                self.workers.take,
                window=self.workers.jobs * RESULTS_WAITING_A_WORKER,
                finished=shown.finished,
                close=self.workers.release,
                meter=self.meter,
                gauge=shown.gauge,
                shared=self.scratch,
            )
            for result in results:
                if isinstance(result, Died):
                    raise Incomplete(f"{stage}: {result.reason}; run the command again, with fewer --jobs")
                if not isinstance(result, Late):
                    yield result


def _joined(old: Side, new: Side, run: _Run, scratch: Path, most_shown: int, *, same_shards: bool) -> Joined:
    """Return the outcome for all documents, matched by name and then by text."""
    numbers = _Names()
    old_places, new_places = (_places(side, numbers) for side in (old, new))
    found = Joined()

    def joins(old_runs: Sequence[Path], new_runs: Sequence[Path], left: Path) -> list[Join]:
        wanted = ranges(bucket_sizes([*old_runs, *new_runs]))
        step = -(-len(wanted) // _TASKS_OF_RANGES)
        return [
            Join(
                old_runs,
                new_runs,
                wanted[start : start + step],
                old_places,
                new_places,
                same_shards,
                most_shown,
                left.with_name(f"{left.name}-{start:07}-old"),
                left.with_name(f"{left.name}-{start:07}-new"),
            )
            for start in range(0, len(wanted), step)
        ]

    by_name = joins(old.runs, new.runs, scratch / "left")
    for joined in run.each("comparing ids", join_names, by_name, [0] * len(by_name)):
        found.add(joined, most_shown)
    by_text = joins([task.left_old for task in by_name], [task.left_new for task in by_name], scratch / "none")
    for joined in run.each("comparing texts", join_texts, by_text, [0] * len(by_text)):
        found.add(joined, most_shown)
    return found


class _Names:
    """Numbers for names, equal in both releases; 0 for none."""

    def __init__(self) -> None:
        self._known = {"": 0}

    def numbers(self, names: Iterable[str]) -> Numbers:
        """Return the number of each name."""
        return np.array([self._known.setdefault(name, len(self._known)) for name in names], np.int64)


def _places(side: Side, names: _Names) -> Places:
    labels, series = side.labels, side.series
    first = np.cumsum([0, *(len(read.labels) for read in side.read)], dtype=np.int64)
    shards = names.numbers(f"/{series[label.shard]}" for label in labels)
    return Places(first, shards << SHARD_SHIFT | names.numbers(label.language for label in labels))
