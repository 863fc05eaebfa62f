"""Internal: Convert to a target laid out by language from a source that is not: sort documents, then pack them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

from msgspec.structs import replace

from corpusfmt.conversion.job import Job, is_unchanged
from corpusfmt.conversion.layout import unnested_folders
from corpusfmt.conversion.stages import Converted, PackTask, SortTask, pack_language, sort_shards
from corpusfmt.engine.stages import Results, StageTask
from corpusfmt.formats import Shard, by_size
from corpusfmt.io.containers import is_container

#: Bytes of text per part, because shards of the source do not show where to cut.
PART_BYTES = 500_000_000
# Shards that are stored in one container: each language opens all containers.
_BYTES_TOGETHER, _MOST_TOGETHER = 4_000_000, 300


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
