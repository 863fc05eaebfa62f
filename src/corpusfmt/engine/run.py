"""Internal: Run tasks in this process or on any executor: results in task order, a window for back-pressure."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct

from corpusfmt.engine.executors import Workers, stop
from corpusfmt.engine.progress import Gauge, Progress, ShardProgress
from corpusfmt.io.limits import UNLIMITED, Limits, Meter, limited
from corpusfmt.io.paths import noted_outputs, noting_outputs
from corpusfmt.model import Incomplete

if TYPE_CHECKING:
    from concurrent.futures import Executor

T = TypeVar("T")
R = TypeVar("R")

# Most results per worker that wait to be taken in order; then no more tasks start.
RESULTS_WAITING_A_WORKER = 4


class Died(Struct, frozen=True):
    """The worker of this task died, finally with nothing else running: memory, a signal, or a crash in native code."""

    reason: str


class Late(Struct, frozen=True):
    """A task that was killed after the timeout of the run."""


def each_ended(
    results: Iterable[R | Died | Late], paths: Iterable[str], limits: Limits, died: Callable[[str, str], str]
) -> Iterator[R]:
    """Yield the results of tasks that must all end, given the path that each reads.

    Raises `LimitReached` for a task that was killed after the timeout, and `Incomplete` for one whose worker died, with what `died`
    says of its path and the reason.
    """
    for path, result in zip(paths, results, strict=True):
        if isinstance(result, Late):
            raise limits.late(path)
        if isinstance(result, Died):
            raise Incomplete(died(path, result.reason))
        yield result


def results_of(
    stage: str,
    function: Callable[[T], R],
    tasks: Sequence[T],
    names: Sequence[str],
    sizes: Sequence[int],
    workers: Workers,
    meter: Meter,
    progress: Callable[[Progress], None] | None,
    scratch: Path,
) -> Iterator[R]:
    """Yield the results of tasks, each with the name of its first file and the bytes that it reads, in order. Raises like `each_ended`."""
    with ShardProgress(progress, sizes) as shown:
        results = run_tasks(
            function,
            tasks,
            workers.take,
            window=workers.jobs * RESULTS_WAITING_A_WORKER,
            finished=shown.finished,
            close=workers.release,
            meter=meter,
            gauge=shown.gauge,
            shared=scratch,
        )
        yield from each_ended(
            results,
            names,
            meter.limits,
            lambda _, reason: f"{stage}: {reason}; run the command again, with fewer --jobs",
        )


def run_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T],
    open_executor: Callable[[], Executor | None],
    *,
    window: int,
    finished: Callable[[int, R | Died], None] | None = None,
    close: Callable[[Executor], None] = stop,
    limits: Limits = UNLIMITED,
    meter: Meter | None = None,
    gauge: Gauge | None = None,
    shared: Path | None = None,
) -> Generator[R | Died | Late]:
    """Yield `function(task)` for every task, in task order; at most `window` results wait to be taken.

    Tasks are taken one by one as there is room. `finished` is called
    with the index and result of each task as it ends, in any order. `close` is called with the executor at the end. The
    first exception in task order is raised here, once all earlier tasks have ended.

    Once a limit of the run is reached, no more tasks start. Tasks that still run two seconds after the timeout are killed
    and yield `Late`. `LimitReached` is raised after all results. `meter` has the limits and counts what the run reads, if
    that is more than its tasks; else `limits` are used. `gauge` shows the progress of running tasks. `shared` is a
    folder that all tasks use: on a cluster, each worker must see it.
    """
    executor = open_executor()
    meter = meter or Meter(limits)
    if executor is None:
        for index, task in enumerate(tasks):
            meter.limits.check(meter.total)
            tell = None if gauge is None else partial(_show_read, gauge, index)
            outcome: R | Died
            try:
                with limited(meter.limits, meter.total, tell) as entered, noting_outputs(noted_outputs()):
                    outcome = function(task)
            except MemoryError:
                outcome = Died("not enough memory")
            meter.read += entered.read
            if finished:
                finished(index, outcome)
            yield outcome
        meter.limits.check(meter.total)
        return
    # Imported here because a run without workers does not need it.
    from corpusfmt.engine.flight import Flight  # noqa: PLC0415

    opens_others = cast("Callable[[], Executor]", open_executor)
    flight = Flight(function, iter(tasks), executor, opens_others, meter, gauge, shared)
    following = 0
    try:
        while True:
            flight.launch(window)
            if flight.exhausted and not flight.flying and not flight.waiting:
                break
            for index in flight.land():
                result = flight.done[index]
                if finished and not isinstance(result, Late):
                    finished(index, result)
            while following in flight.done:
                yield flight.done.pop(following)
                following += 1
    except BaseException:
        stop(flight.executor)
        raise
    error = flight.failed[1] if flight.failed is not None else flight.reached
    if error is not None:
        stop(flight.executor)
        raise error
    close(flight.executor)


def _show_read(gauge: Gauge, task: int, read: int) -> None:
    gauge.moved({task: read})


def now() -> str:
    """Return the time for reports, in UTC and whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
