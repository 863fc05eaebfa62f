"""Internal: Run a conversion: plan, stages, seal, report.

Shards map to shards and keep their order. If the target is laid out by language and the source is not, documents are
first sorted into containers by language, then packed, in bounded memory.
"""

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
from corpusfmt.conversion.documents import foreseen
from corpusfmt.conversion.layout import Work, refuse_nested, unread_files, work_of
from corpusfmt.conversion.options import Conversion, OnLoss, checked
from corpusfmt.conversion.rules import LOSSY_CONVERSION, finding
from corpusfmt.conversion.stages import Converted, Target, summed
from corpusfmt.conversion.tasks import Job, by_language, directly, quarantine_of
from corpusfmt.conversion.way import Way, way_between
from corpusfmt.description import described
from corpusfmt.description.card import NAME as CARD
from corpusfmt.description.card import Release, card_of, card_of_source, existing_card
from corpusfmt.description.provenance import licence_on_the_hub, said_about, text_of
from corpusfmt.engine.executors import Workers, default_jobs, placed, placed_columns, prepare
from corpusfmt.engine.run import now
from corpusfmt.engine.shares import share_of
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, destination_at, digest, jobs_for
from corpusfmt.formats import CheckOptions, Plan, ReadOptions, refuse_barred
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import limited
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.publish import all_there, publish_pieces, refuse_link
from corpusfmt.io.revisions import revision_of
from corpusfmt.io.text import pretty_pieces
from corpusfmt.manifest.listed import publish_manifest
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.manifest.model import ListedFile
from corpusfmt.model import BadInput, Coverage, Json, Location, Problem, Report, Severity, Tally, UsageError
from corpusfmt.options import like, takes_options

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

    def provenance() -> Json:
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
    about = _about(way, root, files, provenance(), card, said)
    sealed = {name: publish_pieces(root / name, pieces, aside=workplace.state) for name, pieces in about.items()}
    whole = dict(sorted((files | sealed).items()))
    publish_manifest(root, way.target_name, whole, provenance(), aside=workplace.state)
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


#: Increase with every change of what a conversion writes: unfinished runs of another version are refused.
CODE_FORMAT = 19


@takes_options(Conversion)
def convert(source: str | Path, asked: Conversion) -> Report:
    """Convert a corpus to another format; the output does not depend on `jobs` or `engine`.

    `destination` is a folder, or a URL of a store; then `state` is the local folder with the state of the run.

    `on_loss` is for data that the target cannot represent: `error` stops before anything is lost, `warn` and `allow`
    count losses in the report. `on_bad_record` stops at the first bad record, or writes bad records with reasons to a
    folder next to the destination.

    For targets laid out by language, the language comes from the field of `metadata` named by `language_entry`, from the
    attributes named by `language_attribute` (`SET/KEY` or `KEY`), or from an earlier conversion. `source_name` and
    `added` apply to documents without these fields. `part_bytes` (OSCAR: bytes of text, Dolma: of
    rows) changes the size of files; by default it is kept. `compression` names the compressor of gzip files
    (`isal-0` to `isal-3`, `zlib-1` to `zlib-9`; default: the fastest available).

    Attribute sets stay separate, or are embedded (`merge_attributes`; if a name occurs twice, the first of
    `prefer_attributes` wins); `split_attributes` moves embedded attributes to sets, each `SET` or `SET=PREFIX`;
    `language_attributes` adds a set with the language. `record_set` chooses the record set of Croissant. `columns` is a column profile
    for JSON Lines, Parquet or text, by its name or file; `field`, like `{"text": "body"}`, names the `text`, `id`, `url`,
    `created`, `language` or `source` of rows, and of records of Croissant the `text` and `id`. With `no_origin`, documents do not keep what only restores their rows. `follow_links` allows links that lead out of the source.

    If the destination contains the finished result of this call, nothing is done, and `results` of the report says `finished`.
    With `dry_run` nothing is written, and `results` has the sources and languages of the first 1,000 documents of each shard.
    `shard` and `finish` are as for `build`. After one of `limits` was reached, the same call with a higher limit
    resumes.

    Raises `BadInput` for a bad record or layout, `UsageError` for wrong arguments, and `Incomplete` (or its subclass
    `LimitReached`) if the run did not finish.
    """
    return run(source, asked)


def run(source: str | Path, asked: Conversion) -> Report:
    """Run a conversion, as `convert`."""
    started = now()
    share = share_of(asked.shard, finish=asked.finish, engine=asked.engine)
    limits = asked.limits.begun()
    prepare(asked.engine, asked.jobs, "corpusfmt.conversion.stages")
    entry, place = _ends(source, asked)
    columns = placed_columns(asked.engine, asked.columns)
    reading = like(ReadOptions, asked, columns=columns, source=asked.source_name)
    way = way_between(entry, asked.format, asked.to, reading)
    options = checked(asked, by_language=way.writer.by_language)
    way.refuse_options(options)
    size = asked.part_bytes
    compressor = way.compressor(asked.compression)
    with limited(limits) as planned:
        plan = way.plan(entry, reading)
    work = work_of(way, plan, options, cut_anew=size is not None)
    settings = (CODE_FORMAT, compressor, asked.to, msgspec.to_builtins(options), reading, size)
    workplace = Workplace.at(place, digest(*settings, (shard.name for shard in work.shards)), asked.state)
    jobs = jobs_for(place, asked.jobs, asked.engine, asked.state) or default_jobs(
        sum(shard.size for shard in work.shards), len(work.shards)
    )
    with Workers(asked.engine, jobs) as workers:
        stages = Stages(workplace.state, workers, asked.progress, None, limits, planned.read, share, workplace.stored)
        written, read = Target(way.target_name, place, compressor), CheckOptions(version=plan.version, reading=reading)
        job = Job(way, options, read, written, size, settings, workplace, stages, work.side_by_side)
        if asked.dry_run:
            found = foreseen(job.reading, work.shards)
            return Report(way.target.name, way.target_version, Tally(), coverage_of(plan), results=found)
        unread = [] if share else unread_files(entry, way.reader, plan)
        report = _shared(job, plan, work, entry, finish=asked.finish)
    if "files" in report.results:
        report.results["unread"] = unread
    report.started, report.finished = started, now()
    return report


def _shared(job: Job, plan: Plan, work: Work, source: Entry, *, finish: bool) -> Report:
    """Do all of the work, what shards have left, or the work of a shard, unless the destination has the result already."""
    share, made_of = job.stages.share, made(job, CODE_FORMAT, Converted(), _revision(plan))
    finished = report_of_finished(job, made_of, plan, source)
    try:
        if finished is None:
            with job.workplace.entered(digest(job.settings, job.fingerprint(work.shards)), share, finish=finish):
                return completed(job, plan, work, source)
    except UsageError:
        # Another process may just have sealed the corpus.
        finished = report_of_finished(job, made_of, plan, source)
        if finished is None:
            raise
    return Report(job.way.target.name, job.way.target_version, Tally(), Coverage()) if share or finish else finished


def completed(job: Job, plan: Plan, work: Work, source: Entry | None = None) -> Report:
    """Do the work of a conversion, seal the result, and return the report. Raises as `convert` does."""
    revision, coverage = _revision(plan), coverage_of(plan)
    try:
        results = by_language(job, work.shards) if work.groups is None else directly(job, work.groups)
    except (BadInput, UsageError):
        if not job.stages.share:
            job.workplace.give_up()
        raise
    if job.stages.share:
        done: Json = {"shard": {"tasks": len(results)}}
        return Report(job.way.target.name, job.way.target_version, Tally(), Coverage(), results=done)
    # What was made of the shards takes as much memory as they.
    plan.shards = work.shards = work.groups = ()
    converted = summed(results, work.losses)
    files = seal(job.workplace, job.way, converted, made(job, CODE_FORMAT, converted, revision), source)
    return report_of(job.way, plan, coverage, converted, job.options.on_loss, files)


def _revision(plan: Plan) -> Json:
    """Return the commit of a source on the Hub."""
    return revision_of(next((file.url for shard in plan.shards for file in shard.files.values()), ""))


def _ends(source: str | Path, asked: Conversion) -> tuple[Entry, Place]:
    """Return the source and the destination. Raises `UsageError` for an unusable one."""
    place = destination_at(asked.destination, "the destination", asked.engine)
    if isinstance(place, Path):
        refuse_link(Path(str(quarantine_of(place))))
    elif place.is_root and asked.on_bad_record == "quarantine":
        raise UsageError(f"nothing can be written next to {place}, where the bad records would be: add a folder to it")
    entry = entry_of(placed(asked.engine, source), follow_links=asked.follow_links)
    refuse_barred(entry)
    refuse_nested(entry, place)
    return entry, place
