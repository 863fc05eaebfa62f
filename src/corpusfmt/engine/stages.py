"""Internal: Resumable stages of tasks with files between them. Each task writes a marker last.

A marker contains the result of the task and the fingerprint of everything that the result depends on. A task whose
marker has another fingerprint, or whose files are gone, runs again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.executors import Workers
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, run_tasks
from corpusfmt.engine.shares import Share
from corpusfmt.engine.stored import StoredState
from corpusfmt.io.limits import UNLIMITED, Limits, Meter
from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import Incomplete, Json

T = TypeVar("T")
R = TypeVar("R")

_MARKED = ".json"


class _Marker(Struct):
    """`checksum` is the XXH3 of the rest: one changed bit would otherwise change counts, or a corpus, unnoticed."""

    fingerprint: str
    result: msgspec.Raw
    checksum: str

    @classmethod
    def of(cls, fingerprint: str, result: object) -> Self:
        data = msgspec.json.encode(result)
        return cls(fingerprint, msgspec.Raw(data), _checksum(fingerprint, data))

    @property
    def is_whole(self) -> bool:
        return self.checksum == _checksum(self.fingerprint, bytes(self.result))


def _checksum(fingerprint: str, result: bytes) -> str:
    return xxhash.xxh3_64_hexdigest(f"{len(fingerprint)} {fingerprint} ".encode() + result)


class StageTask(Struct, Generic[T], frozen=True):
    """One task of a stage; its id is stable (made from names, never from positions) and a valid file name."""

    id: str
    argument: T
    fingerprint: str


class Stages(Struct, frozen=True):
    """Runs the stages of one job; `folder` contains their markers.

    `limits` apply to each stage. `progress` is called with the stage and its progress, `log` with the name of an event
    (`stage-start`, `task-end`, `stage-end`) and its facts.
    """

    folder: Path
    workers: Workers
    progress: Callable[[str, Progress], None] | None
    log: Callable[[str, Json], None] | None = None
    limits: Limits = UNLIMITED
    #: Bytes read before the stages.
    spent: int = 0
    #: What this process does of the tasks, None for all.
    share: Share | None = None
    #: Where the results of tasks are put, too.
    stored: StoredState | None = None

    @property
    def of_own_files(self) -> Stages:
        """The same, for stages that read only files of earlier stages."""
        return replace(self, limits=self.limits.of_own_files)

    def run(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Sequence[StageTask[T]],
        kind: type[R],
        weights: Sequence[int],
        *,
        reusable: Callable[[T, R], bool] | None = None,
        done: Callable[[T], None] = lambda _: None,
    ) -> Results[R]:
        """Run the tasks without a valid marker; return all results, in task order. A shard takes all tasks for its own.

        `weights` are the expected durations: several workers begin with the longest tasks, so that no worker runs one
        alone at the end. `reusable` is as for `stream`. `done` is called with each task that has a marker. Results of other
        tasks in this stage are removed. Raises `Incomplete` if the worker of a task died at every attempt.
        """
        if self.share is None:
            self._keep_only(name, tasks)
        else:
            self.fetch(name, (task.id for task in tasks))
        heaviest: Iterable[int] = range(len(tasks))
        if self.workers.jobs > 1:
            heaviest = sorted(heaviest, key=lambda index: -weights[index])
        count = [0, 0]
        total = sum(weights)
        died: dict[int, str] = {}
        begun: dict[str, int] = {}

        def ordered() -> Iterator[StageTask[T]]:
            for index in heaviest:
                task = tasks[index]
                begun[task.id] = index
                yield task

        def ended(task: StageTask[T], result: R | Died) -> Progress:
            index = begun.pop(task.id)
            if isinstance(result, Died):
                died[index] = result.reason
            else:
                done(task.argument)
            count[0] += 1
            count[1] += weights[index]
            return Progress(count[0], len(tasks), count[1], total)

        self.stream(name, function, ordered(), kind, ended, reusable)
        if died:
            reason = died[min(died)]
            raise Incomplete(
                f"a worker of stage {name} died at every attempt ({reason}); run the same command again to resume"
            )
        return Results(self, name, [task.id for task in tasks], kind)

    def stream(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Iterable[StageTask[T]],
        kind: type[R],
        ended: Callable[[StageTask[T], R | Died], Progress],
        reusable: Callable[[T, R], bool] | None = None,
    ) -> int:
        """Run tasks as they arrive, except those with a valid marker.

        `ended` is called with each task and result as soon as the marker is on disk, in any order, and returns the
        progress of the stage. `reusable` returns whether the result of an earlier run can be used, as its files exist.
        Returns the number of tasks that were run.
        """
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        self.workers.call()
        self._log("stage-start", {"stage": name})
        self._show(name, Progress(0, 0, 0, 0))
        running: dict[int, StageTask[T]] = {}
        started = 0
        counts = {"tasks": 0, "resumed": 0, "died": 0}

        def finished(task: StageTask[T], result: R | Died, resumed: bool) -> None:
            counts["tasks"] += 1
            counts["resumed"] += resumed
            counts["died"] += isinstance(result, Died)
            progress = ended(task, result)
            facts = {"died": result.reason} if isinstance(result, Died) else {"result": msgspec.to_builtins(result)}
            self._log("task-end", {"stage": name, "task": task.id, "resumed": resumed} | facts)
            self._show(name, progress)

        def unfinished() -> Iterator[StageTask[T]]:
            nonlocal started
            for task in tasks:
                marker = _decoded(folder / _marker_name(task), kind)
                is_current = marker and marker[0] == task.fingerprint
                if marker and is_current and (reusable is None or reusable(task.argument, marker[1])):
                    finished(task, marker[1], resumed=True)
                else:
                    running[started] = task
                    started += 1
                    yield task

        results = run_tasks(
            partial(_run_and_mark, folder, self.stored, function),
            unfinished(),
            self.workers.take,
            window=self.workers.jobs * RESULTS_WAITING_A_WORKER,
            finished=lambda index, result: finished(running.pop(index), result, resumed=False),
            close=self.workers.release,
            meter=Meter(self.limits, self.spent),
            shared=self.folder,
        )
        for index, result in enumerate(results):
            if isinstance(result, Late):
                raise self.limits.late(running[index].id)
        self._log("stage-end", {"stage": name} | counts)
        return started

    def fetch(self, name: str, task_ids: Iterable[str]) -> None:
        """Let the results of tasks that have ended be here, if this process keeps its state elsewhere."""
        if self.stored:
            self.stored.fetch(name, task_ids)

    def _keep_only(self, name: str, tasks: Sequence[StageTask[Any]]) -> None:
        """Remove the markers and other leftovers of other tasks, which may have written some of the same files."""
        folder = self.folder / name
        names = [path.name for path in _files_in(folder)]
        if not names:
            return
        known = {task.id: task.fingerprint for task in tasks}
        for path in (folder / name for name in names):
            own = known.get(path.stem)
            if own is None or (path.suffix == _MARKED and _fingerprint_in(path) != own):
                path.unlink(missing_ok=True)

    def _log(self, event: str, facts: Json) -> None:
        if self.log:
            self.log(event, facts)

    def _show(self, stage: str, progress: Progress) -> None:
        if self.progress:
            self.progress(stage, progress)

    def files(self, name: str, suffix: str = "") -> Iterator[Path]:
        """Yield the files of a stage whose names end so, in any order: there may be hundreds of thousands."""
        return (path for path in _files_in(self.folder / name) if path.name.endswith(suffix))

    def has_ended(self, name: str, task: StageTask[Any]) -> bool:
        """Return whether a task has a valid marker."""
        return _fingerprint_in(self.folder / name / _marker_name(task)) == task.fingerprint

    def result(self, name: str, task_id: str, kind: type[R]) -> R:
        """Return the result of a task that has ended. Raises `Incomplete` if its marker is gone or damaged."""
        path = self.folder / name / f"{task_id}{_MARKED}"
        marker = _decoded(path, kind)
        if marker is None:
            raise Incomplete(f"{path} is missing or damaged; run the same command again to make it anew")
        return marker[1]


class Results(Struct, Generic[R], frozen=True):
    """The results of the tasks of a stage, in their order: read from the markers, so that none is in memory."""

    stages: Stages
    stage: str
    task_ids: Sequence[str]
    kind: type[R]

    def __len__(self) -> int:
        return len(self.task_ids)

    def __iter__(self) -> Iterator[R]:
        return (self.stages.result(self.stage, task_id, self.kind) for task_id in self.task_ids)


def _marker_name(task: StageTask[Any]) -> str:
    return f"{task.id}{_MARKED}"


def _files_in(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        with os.scandir(folder) as found:
            yield from (folder / each.name for each in found)


def _run_and_mark(folder: Path, stored: StoredState | None, function: Callable[[T], R], task: StageTask[T]) -> R:
    # The old marker is wrong as soon as the task replaces files.
    marker = folder / _marker_name(task)
    marker.unlink(missing_ok=True)
    result = function(task.argument)
    publish_bytes(marker, msgspec.json.encode(_Marker.of(task.fingerprint, result)), sync="none")
    if stored:
        stored.put(folder.name, task.id)
    return result


def _fingerprint_in(path: Path) -> str | None:
    found = _decoded(path, msgspec.Raw)
    return found[0] if found else None


def _decoded(path: Path, kind: type[R]) -> tuple[str, R] | None:
    try:
        marker = msgspec.json.decode(path.read_bytes(), type=_Marker)
        return (marker.fingerprint, msgspec.json.decode(marker.result, type=kind)) if marker.is_whole else None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
