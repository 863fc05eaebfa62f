"""Internal: The end of a conversion: seal each folder, write the description last, and report."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt._version import VERSION
from corpusfmt.conversion.options import OnLoss
from corpusfmt.conversion.rules import LOSSY_CONVERSION, finding
from corpusfmt.conversion.stages import Converted
from corpusfmt.conversion.tasks import Job
from corpusfmt.conversion.way import Way
from corpusfmt.description import described
from corpusfmt.description.card import NAME as CARD
from corpusfmt.description.card import Release, card_of, card_of_source, existing_card
from corpusfmt.description.provenance import licence_on_the_hub, said_about, text_of
from corpusfmt.engine.workplace import Workplace
from corpusfmt.formats import Plan
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import Entry
from corpusfmt.io.publish import all_there, publish_pieces, refuse_link
from corpusfmt.io.text import pretty_pieces
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.manifest.model import ListedFile
from corpusfmt.model import Coverage, Json, Location, Problem, Report, Severity, Tally

DESCRIPTION = "croissant.json"
# The files about a source that are read; its card is copied.
_ABOUT = ("CITATION.cff", "codemeta.json", "LICENSE", "LICENSE.txt")
# With `error`, only losses that an option accepts can occur.
_LOSS_SEVERITIES: Mapping[str, Severity] = {"error": Severity.INFO, "warn": Severity.WARNING, "allow": Severity.INFO}


class _Input(Struct):
    name: str
    size: int


class _Sealed(Struct):
    """What the manifest of a conversion says of it."""

    tool: Json
    conversion: Json
    compressor: str | None
    inputs: list[_Input]
    files: dict[str, ListedFile]
    rejected: int
    losses: dict[str, int]
    cut: list[str] = []


def made(job: Job, code_format: int, converted: Converted, revision: Json) -> Json:
    """Return the source and the options of a conversion for its manifest, without the inputs.

    `revision` has the commit of a source on the Hub.
    """
    way = job.way
    choices = {**msgspec.to_builtins(job.options), **msgspec.to_builtins(job.check.reading), "part_bytes": job.size}
    return {
        "tool": {"name": "corpusfmt", "version": VERSION, "format": code_format},
        "conversion": {
            "from": f"{way.source.name}-{way.source_version}".rstrip("-"),
            "to": way.target_name,
            "options": {name: value for name, value in choices.items() if value},
            **revision,
        },
        "compressor": job.target.compression if way.writer.gzip else None,
        "inputs": [],
        "rejected": converted.rejected,
        "losses": dict(sorted(converted.losses.items())),
        **({"cut": sorted(converted.cut)} if converted.cut else {}),
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
        sealed = msgspec.json.decode((root / MANIFEST).read_bytes(), type=_Sealed)
    except (OSError, msgspec.MsgspecError):
        return None  # no conversion
    inputs = {each.name: each.size for each in sealed.inputs}
    sources = {file.path: file.size for shard in plan.shards for file in shard.files.values()}
    same = (sealed.tool, sealed.conversion, sealed.compressor) == tuple(
        made_of[key] for key in ("tool", "conversion", "compressor")
    )
    same = same and all(inputs.get(path) == size for path, size in sources.items())
    # Some sources have files that the plan does not name.
    others = (source.child(path) for path in inputs.keys() - sources.keys())
    facts = {path: FileFacts(each.size, each.sha256) for path, each in sealed.files.items()}
    if not same or not all(others) or not all_there(root, facts):
        return None
    documents = sum(each.documents or 0 for each in sealed.files.values())
    converted = Converted(documents=documents, rejected=sealed.rejected, cut=sealed.cut, losses=sealed.losses)
    files = len(sealed.files.keys() - {CARD, DESCRIPTION})
    report = report_of(job.way, plan, coverage_of(plan), converted, job.options.on_loss, files)
    report.results["finished"] = True
    return report


def _sealed_folders(workplace: Workplace, way: Way, files: Mapping[str, FileFacts]) -> Iterator[tuple[str, FileFacts]]:
    """Write what each folder has next to its data files, and yield these files."""
    write = way.writer.seal
    if write is None:
        return
    folders: defaultdict[str, dict[str, FileFacts]] = defaultdict(dict)
    for path, facts in files.items():
        folder, name = posixpath.split(path)
        folders[folder][name] = facts
    for folder, own in sorted(folders.items()):
        for name, facts in write(workplace.destination / folder, own, workplace.state).items():
            yield f"{folder}/{name}", facts


def seal(workplace: Workplace, way: Way, converted: Converted, made_of: Json, source: Entry | None) -> int:
    """Seal the output; return the number of data files. `made_of` has the provenance for the manifest.

    What files about the `source` say of it, such as its licence, is said of the output; its card keeps its head.
    """
    root = workplace.destination
    files = converted.files
    files = dict(sorted((files | dict(_sealed_folders(workplace, way, files))).items()))

    def made() -> Json:
        return {
            **made_of,
            "inputs": ({"name": path, **msgspec.to_builtins(converted.read[path])} for path in sorted(converted.read)),
        }

    said: Json = {}
    card = existing_card(root / CARD)
    if source is not None:
        for properties in said_about(source, (), None, _ABOUT).values():
            said |= properties
        with suppress(OSError, ValueError):
            card = card or card_of_source(text_of(source, CARD) or "")
    # Sources that changed since an earlier run may have become files of other names.
    workplace.withdraw_others(files)
    workplace.refuse_replaced(files)
    workplace.see(files)
    about = _about(way, root, files, made(), card, said)
    sealed = {name: publish_pieces(root / name, pieces, aside=workplace.state) for name, pieces in about.items()}
    whole = dict(sorted((files | sealed).items()))
    publish_manifest(root, way.target_name, whole, made(), aside=workplace.state)
    workplace.release()
    return len(files)


def _about(
    way: Way, root: Place, files: Mapping[str, FileFacts], made: Json, card: str, said: Json
) -> dict[str, Iterable[bytes]]:
    """Return the description and the card, which extends an earlier one."""
    writer = way.writer
    # Of several corpora, the first one has the record sets; among the variants of a release it is the deduplicated one.
    below = min(posixpath.dirname(posixpath.dirname(path)) for path in files) if files and writer.by_language else ""
    describer = way.target.describers[way.target_version]
    # Not the name of the folder: the same conversion gives the same bytes wherever it is written.
    name = way.target_name
    description = described(name, describer, files, below, root=root, name=name, made=made, statistics={})
    release = Release(
        name,
        describer.summary,
        "extended",
        files,
        writer.loaded,
        below if writer.by_language else None,
        said.get("name", ""),
        licence_on_the_hub(said),
        said.get("inLanguage", ()),
    )
    return {CARD: [card_of(release, card)], DESCRIPTION: pretty_pieces(description)}


def coverage_of(plan: Plan) -> Coverage:
    """Return what there is to read."""
    return Coverage(len(plan.shards), len(plan.shards), bytes=sum(shard.size for shard in plan.shards))


def report_of(way: Way, plan: Plan, coverage: Coverage, converted: Converted, on_loss: OnLoss, files: int) -> Report:
    """Return the report: remarks on the source, losses, and unreadable data."""
    missing = list(plan.errors(way.reader.missing_rules))
    cut = sorted(converted.cut)
    tally = Tally()
    for remark in plan.tally.findings:
        if remark.severity is Severity.INFO:
            tally.add(remark)
    for error in missing:
        tally.add(replace(error, severity=Severity.WARNING))
    severity = _LOSS_SEVERITIES[on_loss]
    for what, count in sorted(converted.losses.items()):
        problem = Problem(f"lost: {what}", Location("."), count=count)
        tally.add(replace(finding(LOSSY_CONVERSION, problem), severity=severity))
    coverage.documents = converted.documents
    for error in missing:
        coverage.gap(error.location.path, "layout", error.message)
    for path in cut:
        coverage.gap(path, "rest of the file", "truncated, the number of missing documents is unknown")
    report = Report(way.target.name, way.target_version, tally, coverage)
    report.results = {
        "files": files,
        "rejected": converted.rejected,
        "cut": cut,
        "losses": converted.losses,
    }
    return report
