"""Internal: Tasks on workers: a window for back-pressure, dead workers, clusters without any, the timeout."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from corpusfmt.engine.executors import processes_of, stop
from corpusfmt.engine.progress import Gauge, note_read
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late
from corpusfmt.io.limits import LimitReached, Limits, Meter, limited
from corpusfmt.io.paths import noted_outputs, noting_outputs
from corpusfmt.model import Incomplete
from corpusfmt.wording import plural

if TYPE_CHECKING:
    from corpusfmt.engine.clusters import Cluster

# Seconds between looks at tasks and cluster.
_LOOK_SECONDS = 2.0
_CORES_SECONDS = 10.0
# Seconds that a pool has to report a dead worker.
_PATIENCE_SECONDS = 5.0
# Seconds without the end of a task before the log says so; then twice as many.
_FIRST_NOTE_SECONDS = 300.0


class Watch:
    """Watches the tasks of a cluster, and the workers of a pool.

    A pool reports a dead worker at once, unless the worker died while it wrote a result, or just as a task was submitted.
    `shared` is a folder that each worker must see.
    """

    def __init__(self, executor: Executor, shared: Path | None = None) -> None:
        self._executor = executor
        self._cluster: Cluster | None = executor if hasattr(executor, "complaint") else None  # type: ignore[assignment]
        if self._cluster is not None and shared is not None:
            self._cluster.share(shared)
        self._cores = 0
        self._cores_at = -_CORES_SECONDS
        self._since = self._working = time.monotonic()
        self._note_after = _FIRST_NOTE_SECONDS

    @property
    def cores(self) -> int:
        """The processors of a cluster, 0 for other executors."""
        now = time.monotonic()
        if self._cluster is not None and now - self._cores_at >= _CORES_SECONDS:
            self._cores, self._cores_at = self._cluster.cores, now
        return self._cores

    def is_lost(self, tasks: Collection[Future[Any]]) -> bool:
        """Return whether tasks will never end. Raises `Incomplete` if a cluster of the user's has had no worker for long."""
        now = time.monotonic()
        if not tasks or any(task.done() for task in tasks):
            self._since = self._working = now
            self._note_after = _FIRST_NOTE_SECONDS
            return False
        if self._cluster is None:
            return now - self._since > _PATIENCE_SECONDS and any(
                not worker.is_alive() for worker in processes_of(self._executor)
            )
        if now - self._since >= self._note_after:
            self._note_after *= 2
            said = f"{plural(len(tasks), 'task')} sent, none of which has ended for {now - self._since:,.0f} s"
            logging.getLogger("corpusfmt").warning("%s: %s", self._cluster.name, said)
        return self._is_idle(self._cluster, len(tasks), now)

    def _is_idle(self, cluster: Cluster, tasks: int, now: float) -> bool:
        complaint = cluster.complaint()
        if not complaint:
            self._working = now
            return False
        if now - self._working < cluster.patience:
            return False
        if cluster.is_own:
            return True
        raise Incomplete(
            f"{cluster.name}: {complaint} for {now - self._working:,.0f} s, and {plural(tasks, 'task')} wait: "
            "start workers, then run the same command again to resume"
        )

    def until_done(self, task: Future[Any]) -> None:
        """Wait for a task. Raises `BrokenExecutor` if it is lost, `Incomplete` as `is_lost` does."""
        while not wait([task], timeout=_LOOK_SECONDS).done:
            if self.is_lost([task]):
                raise BrokenExecutor("no worker ran the task")


T = TypeVar("T")
R = TypeVar("R")

# A task that was running this often when a worker died runs alone, to find the task that kills workers.
_DEATHS_BEFORE_ALONE = 3

# Errors that end a worker: after running out of memory it may not work any more.
_DEATHS = (BrokenExecutor, MemoryError)

# Seconds after the timeout at which a task that has not stopped by itself is killed.
_GRACE_SECONDS = 2.0

# Seconds between updates of progress.
_GAUGE_SECONDS = 1.0


class _Measured(Struct, Generic[R], frozen=True):
    """The result of a task, and the bytes that it read."""

    result: R
    read: int


def _measured(
    function: Callable[[T], R],
    limits: Limits,
    spent: int,
    tell: Callable[[int], None] | None,
    outputs: Collection[tuple[str, str]],
    task: T,
) -> _Measured[R]:
    with limited(limits, spent, tell) as meter, noting_outputs(outputs):
        return _Measured(function(task), meter.read)


class Flight(Generic[T, R]):
    """The state of a run: waiting tasks, running tasks, and results not yet taken."""

    def __init__(
        self,
        function: Callable[[T], R],
        source: Iterator[T],
        executor: Executor,
        open_executor: Callable[[], Executor],
        meter: Meter,
        gauge: Gauge | None,
        shared: Path | None,
    ) -> None:
        self.shared = shared
        self.function = function
        self.gauge = gauge
        self.meter = meter
        self.limits = meter.limits
        #: The limit that ended the run before its last task.
        self.reached: LimitReached | None = None
        #: The first task in task order that raised, and its exception.
        self.failed: tuple[int, Exception] | None = None
        self.source = source
        self.open_executor = open_executor
        self.executor = executor
        self.watch = Watch(self.executor, shared)
        #: Tasks that have started and not ended, by index.
        self.tasks: dict[int, T] = {}
        self.taken = 0
        self.waiting: deque[int] = deque()
        self.flying: dict[Future[_Measured[R]], int] = {}
        self.done: dict[int, R | Died | Late] = {}
        self.deaths: Counter[int] = Counter()
        self.exhausted = False
        self.broken = False

    def launch(self, window: int) -> None:
        """Submit tasks up to the window; a broken pool leaves the rest waiting."""
        window = max(window, self.watch.cores * RESULTS_WAITING_A_WORKER)
        while len(self.flying) + len(self.done) < window and (index := self._next()) is not None:
            try:
                future = self.executor.submit(self._bound(index), self.tasks[index])
            except BrokenExecutor:
                self._requeue(index)
                self.broken = True
                break
            self.flying[future] = index
            if future.done():
                break

    def _bound(self, index: int) -> Callable[[T], _Measured[R]]:
        tell = None if self.gauge is None else partial(note_read, self.gauge.file, index)
        return partial(_measured, self.function, self.limits, self.meter.total, tell, noted_outputs())

    def _fail(self, index: int, error: Exception) -> None:
        """Record an exception. Only earlier tasks continue, because the first exception in task order is reported."""
        if self.failed is None or index < self.failed[0]:
            self.failed = index, error
        before = self.failed[0]
        self.exhausted = True
        self.waiting = deque(each for each in self.waiting if each < before)
        self.flying = {future: each for future, each in self.flying.items() if each < before}

    def _next(self) -> int | None:
        if self.waiting:
            return self.waiting.popleft()
        if self.exhausted:
            return None
        try:
            task = next(self.source)
        except StopIteration:
            self.exhausted = True
            return None
        if not self._goes_on():
            return None
        self.tasks[self.taken] = task
        self.taken += 1
        return self.taken - 1

    def _goes_on(self) -> bool:
        """Return whether the run may continue; after a limit is reached, nothing more starts."""
        try:
            self.limits.check(self.meter.total)
        except LimitReached as limit:
            self.reached = self.reached or limit
            self.exhausted = True
            self.flying = {future: index for future, index in self.flying.items() if not future.cancel()}
        return self.reached is None

    def land(self) -> list[int]:
        """Wait for tasks to end; return the indexes of ended tasks."""
        if self.flying:
            wait(self.flying, timeout=self._patience(), return_when=FIRST_COMPLETED)
            if self.gauge is not None:
                self.gauge.look(self.flying.values())
        landed: list[int] = []
        broken, self.broken = self.broken, False
        if self.watch.is_lost(self.flying):
            broken = True
        for future in [future for future in self.flying if future.done()]:
            if future not in self.flying:  # an earlier task has failed
                continue
            index = self.flying.pop(future)
            try:
                self.done[index] = self._taken(future)
            except _DEATHS:
                broken = True
                self._requeue(index)
            except Exception as error:
                self._fail(index, error)
            else:
                del self.tasks[index]
                landed.append(index)
        if landed:
            self._goes_on()
        if broken:
            landed += self._recover()
        elif self.flying and self.limits.ends is not None and time.time() > self.limits.ends + _GRACE_SECONDS:
            self._end()
        return landed

    def _patience(self) -> float:
        """Return the seconds to wait for a task to end."""
        patience = _LOOK_SECONDS if self.gauge is None else _GAUGE_SECONDS
        if self.limits.ends is None:
            return patience
        # A little later, so that the time is over then.
        return min(patience, max(0.0, self.limits.ends + _GRACE_SECONDS - time.time()) + 0.1)

    def _taken(self, future: Future[_Measured[R]]) -> R:
        measured = future.result()
        self.meter.read += measured.read
        return measured.result

    def _end(self) -> None:
        """Kill the running tasks and start no others."""
        stop(self.executor)
        for index in (*self.flying.values(), *self.waiting):
            self.done[index] = Late()
        self.flying.clear()
        self.waiting.clear()
        self.exhausted = True
        self.reached = self.limits.late()

    def _requeue(self, index: int) -> None:
        self.deaths[index] += 1
        self.waiting.append(index)

    def _recover(self) -> list[int]:
        for index in self.flying.values():
            self._requeue(index)
        self.flying.clear()
        stop(self.executor)
        suspects = sorted(index for index in self.waiting if self.deaths[index] >= _DEATHS_BEFORE_ALONE)
        self.waiting = deque(sorted(set(self.waiting).difference(suspects)))
        landed = []
        for index in suspects:
            try:
                self.done[index] = self._alone(index)
            except Exception as error:
                self._fail(index, error)
                break
            del self.tasks[index]
            landed.append(index)
        self.executor = self.open_executor()
        self.watch = Watch(self.executor, self.shared)
        return landed

    def _alone(self, index: int) -> R | Died:
        executor = self.open_executor()
        try:
            watch = Watch(executor, self.shared)
            future = executor.submit(self._bound(index), self.tasks[index])
            watch.until_done(future)
            return self._taken(future)
        except MemoryError:
            return Died("not enough memory")
        except BrokenExecutor as error:
            return Died(str(error) or "the worker process died")
        finally:
            stop(executor)
