"""Internal: A running conversion: what all its stages need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.documents import Reading
from corpusfmt.conversion.options import Options
from corpusfmt.conversion.stages import Converted, DirectTask, PackTask, SortTask, Target, convert_shards
from corpusfmt.conversion.way import Way
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.io.ondisk import OnDisk
from corpusfmt.io.outputs import Place
from corpusfmt.io.publish import all_there, all_unchanged


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

    def reading(self, shard: Shard) -> Reading:
        """Return how to read a shard."""
        reader, writer = self.way.reader, self.way.writer
        sidecar = quarantine_of(self.workplace.destination) / f"{shard.index:06d}.jsonl"
        variant = ""
        if (
            self.side_by_side
            and not writer.by_language
            and shard.corpus
            and reader.source_name
            and not self.options.source
        ):
            variant = f"{reader.source_name}/{shard.corpus}"
        encoded = writer.takes_encoded_texts and not self.options.language_set
        check = replace(self.check, encoded_texts=encoded)
        return Reading(self.way.source.name, shard, check, self.options, writer.by_language, sidecar, variant)

    def converted(
        self, tasks: Sequence[StageTask[DirectTask]], weights: Sequence[int], *, again: bool = False
    ) -> OnDisk[Converted]:
        """Run tasks that convert shards to files; `again` if this process has already done so, and some changed since."""
        if self.stages.share:
            tasks, weights = self.stages.share.taken(tasks), self.stages.share.taken(weights)
        reusable = is_there if again else is_unchanged
        return self.stages.run_whole("convert", convert_shards, tasks, Converted, weights, reusable=reusable)


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
