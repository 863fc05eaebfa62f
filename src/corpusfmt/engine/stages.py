"""Internal: Stages of tasks with files between them, resumed by one listing: a marker for each task, written last.

A marker holds the fingerprint of everything that the task's result depends on, and the result itself. A task whose
marker carries another fingerprint, or says what is not so any more, runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.executors import Workers
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, run_tasks
from corpusfmt.io.limits import UNLIMITED, Limits, Meter
from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import Incomplete, Json

T = TypeVar("T")
R = TypeVar("R")


class _Marker(Struct):
    fingerprint: str
    result: msgspec.Raw


class StageTask(Struct, Generic[T], frozen=True):
    """One task of a stage: its id is stable (from names, never from ranks) and fit for a file name."""

    id: str
    argument: T
    fingerprint: str


class Stages(Struct, frozen=True):
    """Runs the stages of one job; `folder` holds their markers.

    `limits` hold for each stage. `progress` is told the stage and how far it is; `log` the name of an event
    (`stage-start`, `task-end`, `stage-end`) and what there is to know of it.
    """

    folder: Path
    workers: Workers
    progress: Callable[[str, Progress], None] | None
    log: Callable[[str, Json], None] | None = None
    limits: Limits = UNLIMITED
    #: Bytes read before the stages.
    spent: int = 0

    @property
    def of_own_files(self) -> Stages:
        """Return what runs stages that read only what earlier ones have written."""
        return replace(self, limits=self.limits.of_own_files)

    def run(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Sequence[StageTask[T]],
        kind: type[R],
        weights: Sequence[int],
        *,
        stands: Callable[[T, R], bool] | None = None,
    ) -> list[R | Died]:
        """Run the tasks that have no valid marker; return all results, in task order. `weights` tell how long each takes.

        Several workers begin with the longest, so that none of them is left alone with it at the end. `stands` is as for
        `stream`. What the stage has left of other tasks is removed.
        """
        self._keep_only(name, {_marker_name(task): task.fingerprint for task in tasks})
        weight_of = {task.id: weight for task, weight in zip(tasks, weights, strict=True)}
        done = [0, 0]
        total = sum(weights)
        results: dict[str, R | Died] = {}

        def ended(task: StageTask[T], result: R | Died) -> Progress:
            results[task.id] = result
            done[0] += 1
            done[1] += weight_of[task.id]
            return Progress(done[0], len(tasks), done[1], total)

        longest_first = sorted(tasks, key=lambda task: -weight_of[task.id])
        self.stream(name, function, longest_first if self.workers.jobs > 1 else tasks, kind, ended, stands)
        return [results[task.id] for task in tasks]

    def stream(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Iterable[StageTask[T] | None],
        kind: type[R],
        ended: Callable[[StageTask[T], R | Died], Progress],
        stands: Callable[[T, R], bool] | None = None,
    ) -> int:
        """Run tasks as they come (None: the next is still to come), except those that have a valid marker.

        `ended` is told each task and its result as soon as the marker is on disk, in any order; it answers how far the
        stage is. `stands` tells of a task done by an earlier run whether its result can still be used: whether the files
        are there. Returns how many tasks were run.
        """
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        missing: list[StageTask[T]] = []
        counts = {"tasks": 0, "resumed": 0, "died": 0}
        self.workers.call()
        self._tell("stage-start", {"stage": name})
        self._show(name, Progress(0, 0, 0, 0))

        def finished(task: StageTask[T], result: R | Died, resumed: bool) -> None:
            counts["tasks"] += 1
            counts["resumed"] += resumed
            counts["died"] += isinstance(result, Died)
            progress = ended(task, result)
            facts = {"died": result.reason} if isinstance(result, Died) else {"result": msgspec.to_builtins(result)}
            self._tell("task-end", {"stage": name, "task": task.id, "resumed": resumed} | facts)
            self._show(name, progress)

        def unfinished() -> Iterator[StageTask[T] | None]:
            for task, found in _with_results(tasks, folder, kind):
                if task and found is not None and (stands is None or stands(task.argument, found)):
                    finished(task, found, resumed=True)
                    continue
                if task:
                    missing.append(task)
                yield task

        results = run_tasks(
            partial(_run_and_mark, folder, function),
            unfinished(),
            self.workers.take,
            window=self.workers.jobs * RESULTS_WAITING_A_WORKER,
            finished=lambda index, result: finished(missing[index], result, resumed=False),
            close=self.workers.release,
            meter=Meter(self.limits, self.spent),
        )
        for index, result in enumerate(results):
            if isinstance(result, Late):
                raise self.limits.late(missing[index].id)
        self._tell("stage-end", {"stage": name} | counts)
        return len(missing)

    def _keep_only(self, name: str, fingerprints: Mapping[str, str]) -> None:
        """Remove the markers of other tasks, which may write the same files in part, and what else those have left."""
        for path in (self.folder / name).glob("*"):
            marker = path.with_suffix(".json")
            wanted = fingerprints.get(marker.name)
            if wanted is None or (path == marker and _fingerprint_in(path) != wanted):
                path.unlink()

    def _tell(self, event: str, facts: Json) -> None:
        if self.log:
            self.log(event, facts)

    def _show(self, stage: str, progress: Progress) -> None:
        if self.progress:
            self.progress(stage, progress)

    def recorded(self, name: str, kind: type[R]) -> Iterator[tuple[str, R]]:
        """Yield fingerprint and result of every marker of a stage: what it did, where the inputs tell no more."""
        for path in sorted((self.folder / name).glob("*.json")):
            marker = _decoded(path, kind)
            if marker is not None:
                yield marker

    def run_whole(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Sequence[StageTask[T]],
        kind: type[R],
        weights: Sequence[int],
        *,
        stands: Callable[[T, R], bool] | None = None,
    ) -> list[R]:
        """As `run`, for stages in which every task must succeed. Raises `Incomplete` where a worker died every time."""
        results = self.run(name, function, tasks, kind, weights, stands=stands)
        whole = [result for result in results if not isinstance(result, Died)]
        if len(whole) < len(results):
            reason = next(result.reason for result in results if isinstance(result, Died))
            raise Incomplete(
                f"a worker of stage {name} died every time ({reason}); run the same command again to resume"
            )
        return whole


def _marker_name(task: StageTask[Any]) -> str:
    return f"{task.id}.json"


def _run_and_mark(folder: Path, function: Callable[[T], R], task: StageTask[T]) -> R:
    # What it says will not be so any more once the task has begun to replace files.
    (folder / _marker_name(task)).unlink(missing_ok=True)
    result = function(task.argument)
    marker = _Marker(task.fingerprint, msgspec.Raw(msgspec.json.encode(result)))
    publish_bytes(folder / _marker_name(task), msgspec.json.encode(marker))
    return result


def _with_results(
    tasks: Iterable[StageTask[T] | None], folder: Path, kind: type[R]
) -> Iterator[tuple[StageTask[T] | None, R | None]]:
    """Yield tasks with what their markers hold, None where there is no valid one."""
    present = {path.name for path in folder.iterdir()}
    for task in tasks:
        marker = _decoded(folder / _marker_name(task), kind) if task and _marker_name(task) in present else None
        yield task, marker[1] if marker and task and marker[0] == task.fingerprint else None


def _fingerprint_in(path: Path) -> str | None:
    found = _decoded(path, msgspec.Raw)
    return found[0] if found else None


def _decoded(path: Path, kind: type[R]) -> tuple[str, R] | None:
    try:
        marker = msgspec.json.decode(path.read_bytes(), type=_Marker)
        return marker.fingerprint, msgspec.json.decode(marker.result, type=kind)
    except (OSError, msgspec.DecodeError):
        return None
