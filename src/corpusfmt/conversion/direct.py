"""Internal: Convert shards to files one by one, or to parts of another size."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from corpusfmt.conversion.job import Job
from corpusfmt.conversion.layout import Group, language_of
from corpusfmt.conversion.stages import Converted, DirectTask
from corpusfmt.conversion.unrepeated import unrepeated
from corpusfmt.engine.stages import StageTask
from corpusfmt.engine.workplace import digest


def directly(job: Job, groups: Sequence[tuple[Group, tuple[str, ...]]]) -> list[Converted]:
    """Return the results of the groups, each given with its attribute sets."""
    writer, keys = job.way.writer, job.workplace.state / "keys"
    tasks = []
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
        tasks.append(StageTask(task_name, argument, job.fingerprint(group.shards)))
    weights = [sum(shard.size for shard in group.shards) for group, _ in groups]
    if writer.key is not None:
        return unrepeated(job, tasks, weights, keys)
    converted = job.converted(tasks, weights)
    if job.is_shared or not writer.by_language:
        return converted
    # A part whose documents were all rejected has no file, and readers stop at a missing number.
    numbered = _numbered_through(tasks, converted)
    return converted if numbered == tasks else job.after_shards.converted(numbered, weights)


def _numbered_through(
    tasks: Sequence[StageTask[DirectTask]], converted: Sequence[Converted]
) -> list[StageTask[DirectTask]]:
    """Return the tasks, with the parts of each language that have files renumbered 1, 2, 3, … if there are gaps."""
    series: defaultdict[tuple[str, str | None], list[DirectTask]] = defaultdict(list)
    for task, result in zip(tasks, converted, strict=True):
        if result.files and task.argument.part_bytes is None:
            series[task.argument.folder, task.argument.language].append(task.argument)
    numbers: dict[int, int | None] = {}
    for parts in series.values():
        parts.sort(key=lambda each: each.part or 0)
        # A part without a number is the only part.
        if any(each.part != number for number, each in enumerate(parts, 1)) and parts[-1].part is not None:
            numbers |= {each.index: number if len(parts) > 1 else None for number, each in enumerate(parts, 1)}
    return [_as_part(numbers[each.argument.index], each) if each.argument.index in numbers else each for each in tasks]


def _as_part(number: int | None, task: StageTask[DirectTask]) -> StageTask[DirectTask]:
    if number == task.argument.part:
        return task
    argument = replace(task.argument, part=number)
    return replace(task, argument=argument, fingerprint=digest(task.fingerprint, "part", number))
