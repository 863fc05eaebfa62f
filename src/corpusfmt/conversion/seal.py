"""Internal: The end of a conversion: seal each folder, and write the description last."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path

import msgspec

from corpusfmt._version import VERSION
from corpusfmt.conversion.job import Job
from corpusfmt.conversion.report import report_of
from corpusfmt.conversion.stages import Converted
from corpusfmt.conversion.way import Way
from corpusfmt.description import described
from corpusfmt.description.card import NAME as CARD
from corpusfmt.description.card import Release, card_of, existing_card
from corpusfmt.engine.workplace import Workplace
from corpusfmt.formats import Plan
from corpusfmt.io.compress import CompressionName, FileFacts
from corpusfmt.io.ondisk import ByName, in_order
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import Entry
from corpusfmt.io.publish import all_there, publish_pieces, refuse_link
from corpusfmt.io.text import pretty
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.manifest.model import ListedFile
from corpusfmt.model import Json, Report

DESCRIPTION = "croissant.json"


def made(
    job: Job, code_format: int, compressor: CompressionName, converted: Sequence[Converted], revision: Json
) -> Json:
    """Return the source and the options of a conversion for its manifest, without the inputs.

    `revision` has the commit of a source on the Hub.
    """
    way = job.way
    losses = Counter[str]()
    rejected, cut = 0, list[str]()
    for each in converted:
        losses.update(each.losses)
        rejected += each.rejected
        cut += each.cut
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
        **({"cut": sorted(cut)} if cut else {}),
    }


def report_of_finished(job: Job, made_of: Json, plan: Plan, source: Entry) -> Report | None:
    """Return the report of the finished run of this conversion if the destination has its result, else None.

    Inputs are compared by name and size. A corpus that lacks files gives None. Raises `UsageError` for a link.
    """
    root = job.workplace.destination
    if isinstance(root, Path):
        refuse_link(root)
    if job.workplace.is_begun:
        return None
    try:
        found = msgspec.json.decode((root / MANIFEST).read_bytes(), type=Json)
        inputs = {each["name"]: each["size"] for each in found["inputs"]}
        files = msgspec.convert(found["files"], dict[str, ListedFile])
        losses, rejected, cut = found["losses"], found["rejected"], found.get("cut", [])
    except (OSError, msgspec.MsgspecError, KeyError, TypeError):
        return None  # no conversion
    sources = {file.path: file.size for shard in plan.shards for file in shard.files.values()}
    same = all(found.get(key) == made_of[key] for key in ("tool", "conversion", "compressor"))
    same = same and all(inputs.get(path) == size for path, size in sources.items())
    # Some sources have files that the plan does not name.
    others = (source.child(path) for path in inputs.keys() - sources.keys())
    if not same or not all(others) or not all_there(root, _facts(files)):
        return None
    documents = sum(each.documents or 0 for each in files.values())
    converted = Converted(documents=documents, rejected=rejected, cut=cut, losses=losses)
    report = report_of(job.way, plan, [converted], job.options.on_loss, len(files.keys() - {CARD, DESCRIPTION}))
    report.results["finished"] = True
    return report


def _facts(files: Mapping[str, ListedFile]) -> dict[str, FileFacts]:
    return {path: FileFacts(each.size, each.sha256) for path, each in files.items()}


def _sealed_folders(workplace: Workplace, way: Way, files: ByName[FileFacts]) -> Iterator[tuple[str, FileFacts]]:
    """Write what each folder has next to its data files, and yield these files."""
    write = way.writer.seal
    if write is None:
        return
    places = ((*posixpath.split(path), facts) for path, facts in files.items())
    for folder, some in groupby(in_order(places, itemgetter(0)), key=itemgetter(0)):
        own = ByName((name, facts) for _, name, facts in some)
        for name, facts in write(workplace.destination / folder, own, workplace.state).items():
            yield f"{folder}/{name}", facts


def seal(workplace: Workplace, way: Way, converted: Sequence[Converted], made_of: Json) -> int:
    """Seal the output; return the number of data files. `made_of` has the provenance for the manifest."""
    root = workplace.destination
    data = ByName(each for result in converted for each in result.files.items())
    files = ByName(chain(data.items(), _sealed_folders(workplace, way, data)))
    # Several tasks may read a file.
    read = ByName(each for result in converted for each in result.read.items())

    def made() -> Json:
        return {**made_of, "inputs": ({"name": path, **msgspec.to_builtins(facts)} for path, facts in read.items())}

    card = existing_card(root / CARD)
    # Sources that changed since an earlier run may have become files of other names.
    workplace.withdraw_others(files)
    workplace.refuse_replaced(files)
    workplace.see(files)
    written = _about(way, root, files, made(), card)
    sealed = {name: publish_pieces(root / name, pieces, aside=workplace.state) for name, pieces in written.items()}
    whole = ByName(chain(files.items(), sealed.items()))
    publish_manifest(root, way.target_name, whole, made(), aside=workplace.state)
    workplace.release()
    return len(files)


def _about(way: Way, root: Place, files: ByName[FileFacts], made: Json, card: str) -> dict[str, Iterable[bytes]]:
    """Return the description and the card, which extends an earlier one."""
    writer = way.writer
    # Of several corpora, the first one has the record sets; among the variants of a release it is the deduplicated one.
    below = min(posixpath.dirname(posixpath.dirname(path)) for path in files) if files and writer.by_language else ""
    describer = way.target.describers[way.target_version]
    # Not the name of the folder: the same conversion gives the same bytes wherever it is written.
    name = way.target_name
    description = described(name, describer, files, below, root=root, name=name, made=made, statistics={})
    release = Release(name, describer.summary, "extended", files, writer.loaded, below if writer.by_language else None)
    return {CARD: [card_of(release, card)], DESCRIPTION: pretty(description)}
