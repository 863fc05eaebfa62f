"""Internal: Check how `datasets` loads a folder, if a profile asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor

from msgspec import Struct

from corpusfmt.engine.executors import SerialExecutor
from corpusfmt.engine.release import SMALL
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, each_ended, run_tasks
from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.general import within_limits
from corpusfmt.hub.check import Run, Split, judge_loading, judge_without_data, split_in
from corpusfmt.hub.load import Files, Loaded, load_all
from corpusfmt.hub.rules import RULES
from corpusfmt.io.limits import Meter, within
from corpusfmt.io.paths import Entry
from corpusfmt.model import CorpusfmtError
from corpusfmt.rules import Judge


def without_data(root: Entry, options: CheckOptions) -> Judge | None:
    """Return the judge of a path that no format claims, if it shows why: pointers, or a card without data."""
    judge = Judge(RULES, options.grading, version="", path=".", cap=options.max_per_rule)
    judge_without_data(root, judge)
    return judge if judge.tally.counts else None


class _Workers(Struct, frozen=True):
    open_executor: Callable[[], Executor]
    jobs: int
    meter: Meter

    def splits(self, texts: Sequence[Entry]) -> Iterator[Split]:
        opener = SerialExecutor if sum(each.size for each in texts) < SMALL else self.open_executor
        return each_ended(
            run_tasks(split_in, texts, opener, window=self.jobs * RESULTS_WAITING_A_WORKER, meter=self.meter),
            (entry.path for entry in texts),
            self.meter.limits,
            lambda path, reason: f"{path}: the worker that read it died ({reason})",
        )

    def load(self, tables: Sequence[Files]) -> Iterator[Loaded]:
        return load_all(tables, self.meter)


def check_loading(
    root: Entry,
    shards: Sequence[Shard],
    sampled: frozenset[str] | None,
    options: CheckOptions,
    open_executor: Callable[[], Executor],
    jobs: int,
    meter: Meter,
) -> Judge:
    """Return the judge of how a folder, or a file of documents, is loaded; values are read from the files in `sampled`, or all."""
    judge = Judge(RULES, options.grading, version="", path=".", cap=options.max_per_rule)
    assert options.scratch is not None
    documents = [next(iter(shard.files.values())).path for shard in shards if shard.files]
    try:
        with within_limits(judge, "."), within(meter):
            cache = str(options.scratch / "datasets")
            run = Run(_Workers(open_executor, jobs, meter), cache, sampled, options.max_line_bytes)
            judge_loading(root, documents, judge, run)
    except CorpusfmtError:
        raise
    except Exception as error:
        judge.crash("the check of how it is loaded", error)
    return judge
