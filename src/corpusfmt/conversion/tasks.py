"""Internal: The tasks of a conversion: convert shards to files one by one, or to parts of another size; or, to a target laid
out by language from a source that is not, sort documents by language, then pack them.

If the target requires it, no two documents have the same source and id: tasks with documents that repeat earlier names run
twice.
"""

from __future__ import annotations

import posixpath
import shutil
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.documents import Reading
from corpusfmt.conversion.layout import Group, language_of, unnested_folders
from corpusfmt.conversion.options import Options
from corpusfmt.conversion.repeats import WHOLE, Identified, Identity, repeats_among, repetition_in, write_repeats
from corpusfmt.conversion.rules import finding
from corpusfmt.conversion.stages import (
    Converted,
    DirectTask,
    IdentifyTask,
    PackTask,
    SortTask,
    Target,
    convert_shards,
    identify,
    pack_language,
    sort_shards,
)
from corpusfmt.conversion.way import Way
from corpusfmt.engine.stages import Results, Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats import CheckOptions, Shard, by_size
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.io.containers import is_container, removed_as_damaged
from corpusfmt.io.keys import Batch, repeated_in_batches
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import all_there, all_unchanged, publish_bytes
from corpusfmt.io.runs import damaged_runs
from corpusfmt.model import BadInput


class Job(Struct, frozen=True):
    """`settings` is everything that the output depends on; `side_by_side` means that there are several corpora."""

    way: Way
    options: Options
    check: CheckOptions
    target: Target
    size: int | None
    settings: tuple[object, ...]
    workplace: Workplace
    stages: Stages
    side_by_side: bool

    def fingerprint(self, shards: Iterable[Shard]) -> str:
        """Return what the result of a task depends on: only tasks of changed files run again."""
        files = ((file, shard.read_as) for shard in shards for file in shard.files.values())
        return digest(*self.settings, ((file.path, file.size, file.version, read_as) for file, read_as in files))

    @property
    def reading(self) -> Reading:
        """How to read shards."""
        way, options, by_language = self.way, self.options, self.way.writer.by_language
        encoded = way.writer.batch is EncodedRows and not options.language_attributes
        check = replace(self.check, encoded_texts=encoded)
        names_variants = (
            self.side_by_side and not by_language and bool(way.reader.source_name) and not options.source_name
        )
        has_parts = way.reader.part is not None and (names_variants or not self.side_by_side)
        quarantine = quarantine_of(self.workplace.destination)
        return Reading(way.source.name, check, options, by_language, quarantine, has_parts, names_variants)

    def converted(
        self, tasks: Sequence[StageTask[DirectTask]], weights: Sequence[int], *, again: bool = False
    ) -> Results[Converted]:
        """Run tasks that convert shards to files; `again` if this process has already done so, and some changed since."""
        if self.stages.share:
            tasks, weights = self.stages.share.taken(tasks), self.stages.share.taken(weights)
        reusable = is_there if again else is_unchanged
        return self.stages.run("convert", convert_shards, tasks, Converted, weights, reusable=reusable)


def quarantine_of(destination: Place) -> Place:
    """Return the folder for rejected records."""
    if isinstance(destination, Path) and not destination.name:  # like `.`
        destination = destination.resolve()
    return destination.with_name(f"{destination.name}-quarantine")


def is_there(task: DirectTask | PackTask, converted: Converted) -> bool:
    """Return whether the files that a task has written exist."""
    return _has_keys(task) and all_there(task.target.destination, converted.files)


def is_unchanged(task: DirectTask | PackTask | SortTask, converted: Converted) -> bool:
    """Return whether the files that a task of an earlier run wrote are still as they were written."""
    return (
        _has_keys(task)
        and all_unchanged(task.target.destination, converted.files)
        and all_unchanged(quarantine_of(task.target.destination), converted.quarantined)
    )


def _has_keys(task: DirectTask | PackTask | SortTask) -> bool:
    keys = task.keys if isinstance(task, DirectTask) else None
    return keys is None or keys.exists()


#: Bytes of text per part, because shards of the source do not show where to cut.
PART_BYTES = 500_000_000
# Shards that are stored in one container: each language opens all containers.
_BYTES_TOGETHER, _MOST_TOGETHER = 4_000_000, 300


def directly(job: Job, groups: Sequence[tuple[Group, tuple[str, ...]]]) -> Results[Converted]:
    """Return the results of the groups, each given with its attribute sets."""
    writer, reading, workplace = job.way.writer, job.reading, job.workplace
    targets: dict[tuple[str, ...], Target] = {}
    tasks: list[StageTask[DirectTask]] = []
    weights = array("q")
    for group, names in groups:
        folder, stem = group.name.folder, group.name.stem
        target = targets.setdefault(names, replace(job.target, sets=names))
        if names:
            folder, stem = "", posixpath.join(folder, stem)
        argument = DirectTask(
            reading,
            group.shards,
            target,
            target.writer.folder(folder),
            stem,
            group.name.part,
            job.size,
            language_of(group.name) if writer.by_language else None,
            workplace.state,
            workplace.run,
        )
        tasks.append(StageTask(argument.name, argument, job.fingerprint(group.shards)))
        weights.append(sum(shard.size for shard in group.shards))
    if writer.key is not None:
        return _unrepeated(job, tasks, weights)
    converted = job.converted(tasks, weights)
    if job.stages.share or not writer.by_language:
        return converted
    # A part whose documents were all rejected has no file, and readers stop at a missing number.
    numbers = _numbered_through(tasks, converted)
    if not numbers:
        return converted
    numbered = [_as_part(numbers.get(index, task.argument.part), task) for index, task in enumerate(tasks)]
    return job.converted(numbered, weights, again=True)


def _numbered_through(
    tasks: Sequence[StageTask[DirectTask]], converted: Iterable[Converted]
) -> Mapping[int, int | None]:
    """Return the new part numbers of tasks, by index: those of each language that have files get 1, 2, 3, … if there are gaps."""
    placed = (
        ((task.argument.folder, task.argument.language or ""), task.argument.part, index)
        for index, (task, result) in enumerate(zip(tasks, converted, strict=True))
        if result.files and task.argument.part_bytes is None
    )
    parts = sorted(placed, key=lambda each: (each[0], each[1] or 0))
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


def _unrepeated(job: Job, tasks: Sequence[StageTask[DirectTask]], weights: Sequence[int]) -> Results[Converted]:
    """Convert with unique names. Tasks with documents that repeat earlier names run twice."""
    whole = digest(task.fingerprint for task in tasks)
    keys, repeats = job.workplace.state / "keys", job.workplace.state / "repeats" / whole
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
        return job.converted([], [])
    kept = [_without(repeats / task.id, whole, task) for task in tasks]
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
            if job.options.on_bad_record == "stop" and not job.reading.has_parts:
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
    asked: list[StageTask[IdentifyTask]] = []
    weights = array("q")
    for index, rows in batch.rows_by_shard():
        task = tasks[positions[index]]
        fingerprint = digest(task.fingerprint, rows.tobytes())
        asked.append(StageTask(task.id, IdentifyTask(task.argument, rows), fingerprint))
        weights.append(sum(shard.size for shard in task.argument.shards))
    results = job.stages.run("identify", identify, asked, Identified, weights)
    for each, result in zip(asked, results, strict=True):
        yield tasks[positions[each.argument.task.index]], each.argument.rows, result


def _without(repeats: Path, whole: str, task: StageTask[DirectTask]) -> StageTask[DirectTask]:
    """Return a task that rejects the documents in `repeats` (named by `whole` in its fingerprint), or else the task."""
    if not repeats.exists():
        return task
    return replace(
        task, argument=replace(task.argument, repeats=repeats), fingerprint=digest(task.fingerprint, "repeats", whole)
    )


def by_language(job: Job, shards: Sequence[Shard]) -> Results[Converted] | list[Converted]:
    """Return the results of all shards and languages."""
    reading, tasks = job.reading, list[StageTask[SortTask]]()
    weights, containers = array("q"), []
    for some in by_size(shards, _BYTES_TOGETHER, _MOST_TOGETHER):
        name = f"{some[0].index:06d}"
        container = job.workplace.state / "sort" / f"{name}.box"
        argument = SortTask(reading, tuple(some), job.target, container, job.workplace.aside(name))
        tasks.append(StageTask(name, argument, job.fingerprint(some)))
        weights.append(sum(shard.size for shard in some))
        containers.append(container)
    share = job.stages.share
    sorted_shards = job.stages.run(
        "sort",
        sort_shards,
        share.taken(tasks) if share else tasks,
        Converted,
        share.taken(weights) if share else weights,
        reusable=_is_sorted,
    )
    if share:
        return sorted_shards
    part_bytes = job.size or PART_BYTES
    fingerprint = job.fingerprint(shards)
    folders: Counter[str] = Counter()
    for each in sorted_shards:
        folders.update(each.folders)
    packs = []
    unnested = unnested_folders(folders)
    for folder in sorted(folders):
        name = quote(folder, safe="")
        aside = job.workplace.aside(name)
        pack = PackTask(job.target, folder, unnested[folder], tuple(containers), part_bytes, aside)
        packs.append(StageTask(name, pack, fingerprint))
    sizes = [folders[pack.argument.folder] for pack in packs]
    packed = job.stages.of_own_files.run("pack", pack_language, packs, Converted, sizes, reusable=is_unchanged)
    return [*packed, *(replace(result, documents=0) for result in sorted_shards)]


def _is_sorted(task: SortTask, result: Converted) -> bool:
    """Return whether what a task of an earlier run wrote is still as it was written; the container has checksums."""
    return is_container(task.container) and is_unchanged(task, result)
