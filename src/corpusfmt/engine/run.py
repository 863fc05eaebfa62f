"""Run tasks on any executor: results in task order, a sliding window for back-pressure, dead workers survived."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from corpusfmt.engine.executors import shut_down, stop_now

T = TypeVar("T")
R = TypeVar("R")

# A task that was in flight this often when a worker died is run alone, so that the guilty one shows.
_DEATHS_BEFORE_ALONE = 3


# So many results a worker may wait to be taken in order, before no more tasks are started.
RESULTS_WAITING_A_WORKER = 4


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: tasks and bytes (of input on disk, where known) done, of all."""

    shards: int
    shards_total: int
    bytes: int
    bytes_total: int


@dataclass(frozen=True, slots=True)
class Died:
    """The worker of this task died, last of all with nothing else running: memory, a signal, a crash in native code."""

    reason: str


class _Flight(Generic[T, R]):
    """The state of one run: what waits, what flies, what is done and not yet taken."""

    def __init__(self, function: Callable[[T], R], tasks: Sequence[T], open_executor: Callable[[], Executor]) -> None:
        self.function = function
        self.tasks = tasks
        self.open_executor = open_executor
        self.executor = open_executor()
        self.waiting = deque(range(len(tasks)))
        self.flying: dict[Future[R], int] = {}
        self.done: dict[int, R | Died] = {}
        self.deaths: Counter[int] = Counter()

    def launch(self, window: int) -> None:
        """Submit while the window allows; a pool found broken leaves the rest waiting."""
        while self.waiting and len(self.flying) + len(self.done) < window:
            index = self.waiting.popleft()
            try:
                self.flying[self.executor.submit(self.function, self.tasks[index])] = index
            except BrokenExecutor:
                self._requeue(index)
                break

    def land(self) -> list[int]:
        """Wait for something to end; return the indexes of the tasks that did."""
        if self.flying:
            wait(self.flying, return_when=FIRST_COMPLETED)
        landed, broken = [], not self.flying
        for future in [future for future in self.flying if future.done()]:
            index = self.flying.pop(future)
            try:
                self.done[index] = future.result()
            except BrokenExecutor:
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
        shut_down(self.executor)
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
        except BrokenExecutor as error:
            return Died(str(error) or "the worker process died")
        finally:
            shut_down(executor)


def run_tasks(
    function: Callable[[T], R],
    tasks: Sequence[T],
    open_executor: Callable[[], Executor],
    *,
    window: int,
    finished: Callable[[int], None] | None = None,
) -> Iterator[R | Died]:
    """Yield `function(task)` for every task, in task order; at most `window` results wait to be taken.

    `finished` is told the index of each task as it ends, in any order. An exception of a task is raised here.
    """
    flight = _Flight(function, tasks, open_executor)
    following = 0
    try:
        while following < len(tasks):
            flight.launch(window)
            for index in flight.land():
                if finished:
                    finished(index)
            while following in flight.done:
                yield flight.done.pop(following)
                following += 1
    except BaseException:
        stop_now(flight.executor)
        raise
    shut_down(flight.executor)
