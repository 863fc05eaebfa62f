"""Run tasks on any executor: results in task order, a sliding window for back-pressure, dead workers survived."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from corpusfmt.engine.executors import stop

T = TypeVar("T")
R = TypeVar("R")

# A task that was in flight this often when a worker died is run alone, so that the guilty one shows.
_DEATHS_BEFORE_ALONE = 3

# What ends a worker, or should: of one that has run out of memory nothing else is to be expected.
_DEATHS = (BrokenExecutor, MemoryError)

# So many results a worker may wait to be taken in order, before no more tasks are started.
RESULTS_WAITING_A_WORKER = 4

# How often tasks that are still to come are asked for, while nothing ends.
_NAP_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: tasks and bytes (of input on disk, where known) done, of all; a total of 0 is not known yet."""

    shards: int
    shards_total: int
    bytes: int
    bytes_total: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker of this task died, last of all with nothing else running: memory, a signal, a crash in native code."""

    reason: str


class _Flight(Generic[T, R]):
    """The state of one run: what waits, what flies, what is done and not yet taken."""

    def __init__(
        self, function: Callable[[T], R], source: Iterator[T | None], open_executor: Callable[[], Executor]
    ) -> None:
        self.function = function
        self.source = source
        self.open_executor = open_executor
        self.executor = open_executor()
        self.tasks: list[T] = []
        self.waiting: deque[int] = deque()
        self.flying: dict[Future[R], int] = {}
        self.done: dict[int, R | Died] = {}
        self.deaths: Counter[int] = Counter()
        self.exhausted = False
        self.starved = False
        self.broken = False

    def launch(self, window: int) -> None:
        """Submit while the window allows and there are tasks; a pool found broken leaves the rest waiting."""
        self.starved = False
        while len(self.flying) + len(self.done) < window and (index := self._next()) is not None:
            try:
                future = self.executor.submit(self.function, self.tasks[index])
            except BrokenExecutor:
                self._requeue(index)
                self.broken = True
                break
            self.flying[future] = index
            if future.done():
                break

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
        if task is None:
            self.starved = True
            return None
        self.tasks.append(task)
        return len(self.tasks) - 1

    def land(self) -> list[int]:
        """Wait for something to end, or a moment where tasks are still to come; return the indexes of what ended."""
        if self.flying:
            wait(self.flying, timeout=_NAP_SECONDS if self.starved else None, return_when=FIRST_COMPLETED)
        elif self.starved:
            time.sleep(_NAP_SECONDS)
        landed: list[int] = []
        broken, self.broken = self.broken, False
        for future in [future for future in self.flying if future.done()]:
            index = self.flying.pop(future)
            try:
                self.done[index] = future.result()
            except _DEATHS:
                broken = True
                self._requeue(index)
            else:
                landed.append(index)
        if broken:
            landed += self._recover()
        return landed

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
        for index in suspects:
            self.done[index] = self._alone(index)
        self.executor = self.open_executor()
        return suspects

    def _alone(self, index: int) -> R | Died:
        executor = self.open_executor()
        try:
            return executor.submit(self.function, self.tasks[index]).result()
        except MemoryError:
            return Died("not enough memory")
        except BrokenExecutor as error:
            return Died(str(error) or "the worker process died")
        finally:
            stop(executor)


def run_tasks(
    function: Callable[[T], R],
    tasks: Iterable[T | None],
    open_executor: Callable[[], Executor],
    *,
    window: int,
    finished: Callable[[int, R | Died], None] | None = None,
    close: Callable[[Executor], None] = stop,
) -> Iterator[R | Died]:
    """Yield `function(task)` for every task, in task order; at most `window` results wait to be taken.

    Tasks are taken one by one as there is room for them; None among them means that the next one is still to come, and
    is asked for again. `finished` is told the index and result of each task as it ends, in any order. `close` is given the
    executor at the end of all. An exception of a task is raised here.
    """
    flight = _Flight(function, iter(tasks), open_executor)
    following = 0
    try:
        while True:
            flight.launch(window)
            if flight.exhausted and following == len(flight.tasks):
                break
            for index in flight.land():
                if finished:
                    finished(index, flight.done[index])
            while following in flight.done:
                yield flight.done.pop(following)
                following += 1
    except BaseException:
        stop(flight.executor)
        raise
    close(flight.executor)
