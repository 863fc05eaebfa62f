"""Internal: Convert so that no two documents have the same source and id."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from corpusfmt.conversion.job import Job
from corpusfmt.conversion.repeats import WHOLE, Identified, Identity, repeats_among, repetition_in, write_repeats
from corpusfmt.conversion.rules import finding
from corpusfmt.conversion.stages import Converted, DirectTask, IdentifyTask, identify
from corpusfmt.engine.stages import StageTask
from corpusfmt.engine.workplace import digest
from corpusfmt.io.containers import removed_as_damaged
from corpusfmt.io.keys import Batch, repeated_in_batches
from corpusfmt.io.ondisk import OnDisk
from corpusfmt.io.publish import publish_bytes
from corpusfmt.io.runs import damaged_runs
from corpusfmt.model import BadInput


def unrepeated(
    job: Job, tasks: Sequence[StageTask[DirectTask]], weights: Sequence[int], keys: Path
) -> OnDisk[Converted]:
    """Convert with unique names. Tasks with documents that repeat earlier names run twice."""
    whole = digest(task.fingerprint for task in tasks)
    repeats = job.workplace.state / "repeats" / whole
    again = not (repeats / WHOLE).exists()
    if again:
        converted = job.converted(tasks, weights)
        if job.stages.share:
            return converted
        shutil.rmtree(repeats.parent, ignore_errors=True)
        for run in damaged_runs(keys):
            shutil.rmtree(run.parent)  # its task runs again
            raise removed_as_damaged(run, "it has another checksum")
        if not _find_repeats(job, tasks, keys, repeats):
            return converted
        publish_bytes(repeats / WHOLE, b"")
    if job.stages.share:
        return OnDisk()
    kept = OnDisk(_without(repeats / task.id, whole, task) for task in tasks)
    return job.converted(kept, weights, again=again)


def _find_repeats(job: Job, tasks: Sequence[StageTask[DirectTask]], keys: Path, found: Path) -> bool:
    """Write the documents to reject; return whether there are any. Raises `BadInput` if none may be rejected."""
    positions: dict[int, int] = {}
    any_found = False
    first_with: dict[str, Identity] = {}
    for number, batch in enumerate(repeated_in_batches(keys)):
        positions = positions or {task.argument.index: position for position, task in enumerate(tasks)}
        if not batch.continues:
            first_with.clear()
        for task, rows, identified in _identified(job, tasks, positions, batch):
            repeats = repeats_among(rows, identified, first_with)
            repeat = next(repeats, None)
            if repeat is None:
                continue
            if job.options.on_bad_record == "stop":
                raise BadInput(finding(*repetition_in(identified, *repeat)))
            write_repeats(found / task.id / f"{number:06d}.jsonl", chain([repeat], repeats))
            any_found = True
    return any_found


def _identified(
    job: Job, tasks: Sequence[StageTask[DirectTask]], positions: Mapping[int, int], batch: Batch
) -> Iterator[tuple[StageTask[DirectTask], array[int], Identified]]:
    """Yield the tasks with candidates, their candidate documents, and the documents' names, read again.

    `positions` are those of the tasks by index.
    """
    asked = OnDisk[StageTask[IdentifyTask]]()
    weights = array("q")
    for index, rows in batch.rows_by_shard():
        task = tasks[positions[index]]
        fingerprint = digest(task.fingerprint, rows.tobytes())
        asked.append(StageTask(task.id, IdentifyTask(task.argument, rows), fingerprint, task.size))
        weights.append(task.size)
    results = job.stages.run_whole("identify", identify, asked, Identified, weights)
    for each, result in zip(asked, results, strict=True):
        yield tasks[positions[each.argument.task.index]], each.argument.rows, result


def _without(repeats: Path, whole: str, task: StageTask[DirectTask]) -> StageTask[DirectTask]:
    """Return a task that rejects the documents in `repeats` (named by `whole` in its fingerprint), or else the task."""
    if not repeats.exists():
        return task
    return replace(
        task, argument=replace(task.argument, repeats=repeats), fingerprint=digest(task.fingerprint, "repeats", whole)
    )
