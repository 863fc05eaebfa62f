"""Internal: Check how `datasets` loads a folder, if a profile asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

from corpusfmt.engine.executors import SerialExecutor
from corpusfmt.engine.release import SMALL
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, each_ended, run_tasks
from corpusfmt.engine.sharing import WHOLE, LookedAt, Whole
from corpusfmt.formats import CheckOptions, Format, Shard
from corpusfmt.formats.general import within_limits
from corpusfmt.hub.check import judge_loading, judge_without_data, look_at
from corpusfmt.hub.rules import RULES
from corpusfmt.io.limits import Meter, within
from corpusfmt.io.looking import Looked
from corpusfmt.io.paths import Entry
from corpusfmt.model import CorpusfmtError
from corpusfmt.rules import Judge

_ELSEWHERE = Looked(gap="another part of the run reads it")


def without_data(root: Entry, options: CheckOptions) -> Judge | None:
    """Return the judge of a path that no format claims, if it shows why: pointers, or a card without data."""
    judge = Judge(RULES, options.grading, version="", path=".", cap=options.max_per_rule)
    judge_without_data(root, judge)
    return judge if judge.tally.counts else None


def check_loading(
    root: Entry,
    fmt: Format,
    shards: Sequence[Shard],
    looked: Mapping[str, Looked],
    options: CheckOptions,
    open_executor: Callable[[], Executor],
    workers: int,
    meter: Meter,
    part: Whole = WHOLE,
) -> Judge:
    """Return the judge of how a folder, or a file of documents, is loaded; `looked` are files that the check has looked at.

    With a `part` that is written, only the columns of a share of the files are known, and nothing can be judged from them.
    """
    judge = Judge(RULES, options.grading, version="", path=".", cap=options.max_per_rule)

    def look(entries: Sequence[Entry]) -> Mapping[str, Looked]:
        known = part.columns(looked)
        here = part.files_here(entries)
        own = here if isinstance(here, range) else frozenset(here)
        left = [entry for place, entry in enumerate(entries) if place in own and entry.path not in known]
        opener = SerialExecutor if sum(each.size for each in left) < SMALL else open_executor
        ended = each_ended(
            run_tasks(look_at, left, opener, window=workers * RESULTS_WAITING_A_WORKER, meter=meter),
            (entry.path for entry in left),
            meter.limits,
            lambda path, reason: f"{path}: the worker that read it died ({reason})",
        )
        read = LookedAt()
        for entry, found in zip(left, ended, strict=True):
            part.note(found, entry.path)
            read.note(entry.path, found)
        elsewhere = {} if part.judges else dict.fromkeys((entry.path for entry in entries), _ELSEWHERE)
        return {**elsewhere, **known, **read}

    documents = [next(iter(shard.files.values())).path for shard in shards if shard.files]
    if fmt.descriptions is not None:
        return judge
    try:
        with within_limits(judge, "."), within(meter):
            judge_loading(root, documents, judge, look)
    except CorpusfmtError:
        raise
    except RecursionError:
        judge.coverage.gap(".", "how it is loaded", "rows are nested too deeply")
    except Exception as error:
        judge.crash("the check of how it is loaded", error)
    return judge
