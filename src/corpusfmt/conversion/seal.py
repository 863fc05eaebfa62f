"""Internal: The end of a conversion: seal each folder, and write the description last."""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from corpusfmt._version import VERSION
from corpusfmt.conversion.job import Job
from corpusfmt.conversion.stages import Converted
from corpusfmt.conversion.way import Way
from corpusfmt.description import described
from corpusfmt.description.card import NAME as CARD
from corpusfmt.description.card import Release, card_of, existing_card
from corpusfmt.engine.workplace import Workplace
from corpusfmt.formats import Shard
from corpusfmt.io.compress import CompressionName, FileFacts
from corpusfmt.io.loading import Seen
from corpusfmt.io.ondisk import OnDisk
from corpusfmt.io.publish import publish_pieces
from corpusfmt.io.text import pretty
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.model import Json


def made(
    job: Job, code_format: int, compressor: CompressionName, converted: Sequence[Converted], revision: Json
) -> Json:
    """Return the source and the options of a conversion for its manifest, without the inputs.

    `revision` has the commit of a source on the Hub.
    """
    way = job.way
    losses = Counter[str]()
    rejected = 0
    for each in converted:
        losses.update(each.losses)
        rejected += each.rejected
    choices = {**msgspec.to_builtins(job.options), **msgspec.to_builtins(job.check.reading), "part_bytes": job.size}
    return {
        "tool": {"name": "corpusfmt", "version": VERSION, "format": code_format},
        "conversion": {
            "from": f"{way.source.name}-{way.source_version}".rstrip("-"),
            "to": way.target_name,
            "options": {name: value for name, value in choices.items() if value},
            **revision,
        },
        "compressor": compressor if way.writer.gzip else None,
        "inputs": [],
        "rejected": rejected,
        "losses": dict(sorted(losses.items())),
    }


def is_finished(job: Job, made_of: Json, shards: Sequence[Shard]) -> bool:
    """Return whether the destination has the result of this conversion of sources of these names and sizes."""
    if job.workplace.is_begun:
        return False
    try:
        found = msgspec.json.decode((job.workplace.destination / MANIFEST).read_bytes(), type=Json)
        sizes = {each["name"]: each["size"] for each in found["inputs"]}
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return False  # no conversion
    sources = {file.path: file.size for shard in shards for file in shard.files.values()}
    same = all(found.get(key) == made_of[key] for key in ("tool", "conversion", "compressor"))
    return same and all(sizes.get(path) == size for path, size in sources.items())


def _inputs(converted: Iterable[Converted]) -> OnDisk[Json]:
    """Return the files of the source by path."""
    paths: list[str] = []
    inputs = OnDisk[Json]()
    for each in converted:
        for path, facts in each.read.items():
            paths.append(path)
            inputs.append({"name": path, **msgspec.to_builtins(facts)})
    # Several tasks may read a file.
    last = {path: index for index, path in enumerate(paths)} if len(set(paths)) < len(paths) else None
    inputs.sort(sorted(range(len(paths)) if last is None else last.values(), key=paths.__getitem__))
    return inputs


def _files(converted: Iterable[Converted]) -> dict[str, FileFacts]:
    """Return the files that tasks have written by path. Most have the same columns."""
    files: dict[str, FileFacts] = {}
    columns: dict[bytes, Seen | None] = {}
    for each in converted:
        for path, facts in each.files.items():
            shared = columns.setdefault(msgspec.msgpack.encode(facts.columns), facts.columns)
            files[path] = replace(facts, columns=shared)
    return files


def _seal_folders(workplace: Workplace, way: Way, files: dict[str, FileFacts]) -> None:
    """Write what each folder has beside its data files, and add these files."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for path in files:
        folders[path.rpartition("/")[0]].append(path)
    for folder, paths in sorted(folders.items()):
        own = {path.rpartition("/")[2]: files[path] for path in paths}
        for name, facts in way.writer.seal(workplace.destination / folder, own, workplace.state).items():
            files[f"{folder}/{name}"] = facts


def seal(workplace: Workplace, way: Way, converted: Sequence[Converted], made_of: Json) -> int:
    """Seal the output; return the number of data files. `made_of` has the provenance for the manifest."""
    writer, root = way.writer, workplace.destination
    files, inputs = _files(converted), _inputs(converted)
    _seal_folders(workplace, way, files)
    card = existing_card(root / CARD)
    # Sources that changed since an earlier run may have become files of other names.
    workplace.withdraw(workplace.published() - files.keys())
    workplace.see(files)
    # Of several corpora, the first one has the record sets; among the variants of a release it is the deduplicated one.
    below = min(posixpath.dirname(posixpath.dirname(path)) for path in files) if files and writer.by_language else ""
    describer = way.target.describers[way.target_version]
    # Not the name of the folder: the same conversion gives the same bytes wherever it is written.
    description = described(
        way.target_name,
        describer,
        files,
        below,
        root=root,
        name=way.target_name,
        made={**made_of, "inputs": iter(inputs)},
        statistics={},
    )
    release = Release(
        way.target_name, describer.summary, "extended", files, writer.loaded, below if writer.by_language else None
    )
    number = len(files)
    written = {CARD: [card_of(release, card)], "croissant.json": pretty(description)}
    files |= {name: publish_pieces(root / name, pieces, aside=workplace.state) for name, pieces in written.items()}
    publish_manifest(root, way.target_name, files, {**made_of, "inputs": inputs}, aside=workplace.state)
    workplace.release()
    return number
