"""Internal: Run a conversion: plan, stages, seal, report.

Shards map to shards and keep their order. If the target is laid out by language and the source is not, documents are
first sorted into containers by language, then packed, in bounded memory.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from corpusfmt.conversion.documents import foreseen
from corpusfmt.conversion.layout import Work, refuse_nested, unread_files, work_of
from corpusfmt.conversion.options import Conversion, checked
from corpusfmt.conversion.seal import coverage_of, made, report_of, report_of_finished, seal
from corpusfmt.conversion.stages import Converted, Target, summed
from corpusfmt.conversion.tasks import Job, by_language, directly, quarantine_of
from corpusfmt.conversion.way import way_between
from corpusfmt.engine.executors import Workers, default_jobs, placed, placed_columns, prepare
from corpusfmt.engine.run import now
from corpusfmt.engine.shares import share_of
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, destination_at, digest, jobs_for
from corpusfmt.formats import CheckOptions, Plan, ReadOptions, refuse_barred
from corpusfmt.io.limits import limited
from corpusfmt.io.outputs import Place
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.publish import refuse_link
from corpusfmt.io.revisions import revision_of
from corpusfmt.model import BadInput, Coverage, Json, Report, Tally, UsageError
from corpusfmt.options import like, takes_options

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
