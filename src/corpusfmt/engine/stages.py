"""Stages of tasks with files between them, resumed by one listing: a marker for each task, written last.

A marker holds the fingerprint of everything that the task's result depends on, and the result itself. A task whose
marker carries another fingerprint runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from corpusfmt.engine.executors import executor_factory
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Progress, run_tasks
from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import Incomplete

T = TypeVar("T")
R = TypeVar("R")


class _Marker(msgspec.Struct):
    fingerprint: str
    result: msgspec.Raw


@dataclass(frozen=True, slots=True)
class StageTask(Generic[T]):
    """One task of a stage: its id is stable (from names, never from ranks) and fit for a file name."""

    id: str
    argument: T
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Stages:
    """Runs the stages of one job; `folder` holds their markers, `progress` is told the stage and how far it is."""

    folder: Path
    jobs: int
    engine: str | None
    progress: Callable[[str, Progress], None] | None

    def run(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Sequence[StageTask[T]],
        kind: type[R],
        weights: Sequence[int],
    ) -> list[R | Died]:
        """Run the tasks that have no valid marker; return all results, in task order. `weights` are for progress."""
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        present = {path.name for path in folder.iterdir()}
        done = [0, 0]

        def finished(number: int) -> None:
            done[0] += 1
            done[1] += weights[number]
            if self.progress:
                self.progress(name, Progress(done[0], len(tasks), done[1], sum(weights)))

        results: dict[int, R | Died] = {}
        missing = []
        for number, task in enumerate(tasks):
            marker = _marker_name(task)
            found = _read_marker(folder / marker, task.fingerprint, kind) if marker in present else None
            if found is None:
                missing.append(number)
            else:
                results[number] = found
                finished(number)
        outcomes = run_tasks(
            partial(_run_and_mark, folder, function),
            [tasks[number] for number in missing],
            executor_factory(self.engine, self.jobs),
            window=self.jobs * RESULTS_WAITING_A_WORKER,
            finished=lambda index: finished(missing[index]),
        )
        results.update(zip(missing, outcomes, strict=True))
        return [results[number] for number in range(len(tasks))]

    def run_whole(
        self,
        name: str,
        function: Callable[[T], R],
        tasks: Sequence[StageTask[T]],
        kind: type[R],
        weights: Sequence[int],
    ) -> list[R]:
        """As `run`, for stages in which every task must succeed. Raises `Incomplete` where a worker died every time."""
        results = self.run(name, function, tasks, kind, weights)
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
    result = function(task.argument)
    marker = _Marker(task.fingerprint, msgspec.Raw(msgspec.json.encode(result)))
    publish_bytes(folder / _marker_name(task), msgspec.json.encode(marker))
    return result


def _read_marker(path: Path, fingerprint: str, result_type: type[R]) -> R | None:
    try:
        marker = msgspec.json.decode(path.read_bytes(), type=_Marker)
        if marker.fingerprint != fingerprint:
            return None
        return msgspec.json.decode(marker.result, type=result_type)
    except (OSError, msgspec.DecodeError):
        return None
