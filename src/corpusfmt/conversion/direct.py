"""Internal: Convert shards to files one by one, or to parts of another size."""

from __future__ import annotations

import posixpath
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec.structs import replace

from corpusfmt.conversion.job import Job
from corpusfmt.conversion.layout import Group, language_of
from corpusfmt.conversion.stages import Converted, DirectTask
from corpusfmt.conversion.unrepeated import unrepeated
from corpusfmt.engine.stages import StageTask
from corpusfmt.engine.workplace import digest
from corpusfmt.io.ondisk import Blocks, OnDisk, in_order


def directly(job: Job, groups: Sequence[tuple[Group, tuple[str, ...]]]) -> OnDisk[Converted]:
    """Return the results of the groups, each given with its attribute sets."""
    writer, keys = job.way.writer, job.workplace.state / "keys"
    tasks = OnDisk[StageTask[DirectTask]]()
    weights = array("q")
    for group, names in groups:
        folder, stem = group.name.folder, group.name.stem
        task_name = f"{group.shards[0].index:06d}"
        target = replace(job.target, sets=names)
        if names:
            folder, stem = "", posixpath.join(folder, stem)
        argument = DirectTask(
            tuple(job.reading(shard) for shard in group.shards),
            target,
            target.writer.folder(folder),
            stem,
            group.name.part,
            job.size,
            language_of(group.name) if writer.by_language else None,
            job.workplace.aside(task_name),
            keys / task_name if writer.key is not None else None,
        )
        size = sum(shard.size for shard in group.shards)
        tasks.append(StageTask(task_name, argument, job.fingerprint(group.shards), size))
        weights.append(size)
    if writer.key is not None:
        return unrepeated(job, tasks, weights, keys)
    converted = job.converted(tasks, weights)
    if job.stages.share or not writer.by_language:
        return converted
    # A part whose documents were all rejected has no file, and readers stop at a missing number.
    numbers = _numbered_through(tasks, converted)
    if not numbers:
        return converted
    numbered = OnDisk(_as_part(numbers.get(index, task.argument.part), task) for index, task in enumerate(tasks))
    return job.converted(numbered, weights, again=True)


def _numbered_through(
    tasks: Sequence[StageTask[DirectTask]], converted: Sequence[Converted]
) -> Mapping[int, int | None]:
    """Return the new part numbers of tasks, by index: those of each language that have files get 1, 2, 3, … if there are gaps."""
    placed = (
        ((task.argument.folder, task.argument.language or ""), task.argument.part, index)
        for index, (task, result) in enumerate(zip(tasks, converted, strict=True))
        if result.files and task.argument.part_bytes is None
    )
    parts = Blocks(in_order(placed, lambda each: (each[0], each[1] or 0)))
    with_gaps = {series for series, some in groupby(parts, itemgetter(0)) if _has_gaps(part for _, part, _ in some)}
    numbers: dict[int, int | None] = {}
    for series, some in groupby(parts, itemgetter(0)) if with_gaps else ():
        if series in with_gaps:
            indexes = [index for _, _, index in some]
            numbers |= {index: number if len(indexes) > 1 else None for number, index in enumerate(indexes, 1)}
    return numbers


def _has_gaps(parts: Iterable[int | None]) -> bool:
    """Return whether sorted parts are not 1, 2, 3, …. One without a number is the only part."""
    odd, last = False, None
    for number, last in enumerate(parts, 1):
        odd = odd or last != number
    return odd and last is not None


def _as_part(number: int | None, task: StageTask[DirectTask]) -> StageTask[DirectTask]:
    if number == task.argument.part:
        return task
    argument = replace(task.argument, part=number)
    return replace(task, argument=argument, fingerprint=digest(task.fingerprint, "part", number))
