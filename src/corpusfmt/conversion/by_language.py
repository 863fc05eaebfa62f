"""Internal: Convert to a target laid out by language from a source that is not: sort documents, then pack them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

from msgspec.structs import replace

from corpusfmt.conversion.job import Job, is_there
from corpusfmt.conversion.layout import unnested_folders
from corpusfmt.conversion.stages import Converted, PackTask, SortTask, pack_language, sort_shard
from corpusfmt.engine.stages import StageTask
from corpusfmt.formats import Shard
from corpusfmt.io.containers import is_container

#: Bytes of text per part, because shards of the source do not show where to cut.
PART_BYTES = 500_000_000


def by_language(job: Job, shards: Sequence[Shard]) -> list[Converted]:
    """Return the results of all shards and languages."""
    tasks = []
    for shard in shards:
        name = f"{shard.index:06d}"
        container = job.workplace.state / "sort" / f"{name}.box"
        argument = SortTask(job.reading(shard), container, job.workplace.aside(name))
        tasks.append(StageTask(name, argument, job.fingerprint([shard])))
    sizes = [shard.size for shard in shards]
    sorted_shards = job.stages.run_whole(
        "sort", sort_shard, tasks, Converted, sizes, reusable=lambda task, _: is_container(task.container)
    )
    containers = tuple(task.argument.container for task in tasks)
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
        pack = PackTask(job.target, folder, unnested[folder], containers, part_bytes, job.options.on_loss, aside)
        packs.append(StageTask(name, pack, fingerprint))
    sizes = [folders[pack.argument.folder] for pack in packs]
    packed = job.stages.of_own_files.run_whole("pack", pack_language, packs, Converted, sizes, reusable=is_there)
    return [*packed, *(replace(each, documents=0) for each in sorted_shards)]
