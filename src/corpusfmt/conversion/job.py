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
from corpusfmt.engine.stages import Results, Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.parts import EncodedRows
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

    @property
    def reading(self) -> Reading:
        """How to read shards."""
        way, options, by_language = self.way, self.options, self.way.writer.by_language
        encoded = way.writer.batch is EncodedRows and not options.language_set
        check = replace(self.check, encoded_texts=encoded)
        names_variants = self.side_by_side and not by_language and bool(way.reader.source_name) and not options.source
        quarantine = quarantine_of(self.workplace.destination)
        return Reading(way.source.name, check, options, by_language, quarantine, names_variants)

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
