"""Internal: Convert: plan, stages, the sealed corpus, the report.

Shards map to shards and keep their order. Where the target is laid out by language and the source is not, documents are
first sorted into containers by language, then packed: two stages, bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from corpusfmt.conversion.by_language import by_language
from corpusfmt.conversion.direct import directly
from corpusfmt.conversion.job import Job, quarantine_of
from corpusfmt.conversion.layout import Work, refuse_nested, unread_files, work_of
from corpusfmt.conversion.options import OnBadRecord, OnLoss, Options, checked, language_attribute_of, splits_of
from corpusfmt.conversion.report import report_of
from corpusfmt.conversion.seal import seal
from corpusfmt.conversion.stages import Converted, Target
from corpusfmt.conversion.way import way_between
from corpusfmt.engine.executors import Workers, default_jobs, prepare
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import now
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats import CheckOptions, named_format, refuse_barred
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, limited
from corpusfmt.io.paths import Entry, entry_of, refuse_remote
from corpusfmt.io.publish import refuse_link
from corpusfmt.model import BadInput, Report, UsageError

#: Changes with every change of what a conversion writes: what another version left unfinished is refused.
CODE_FORMAT = 7


def convert(
    source: str | Path,
    destination: str | Path,
    *,
    to: str,
    source_format: str = "auto",
    on_loss: OnLoss = "error",
    on_bad_record: OnBadRecord = "stop",
    language_field: str | None = None,
    language_attribute: str | None = None,
    record_set: str | None = None,
    text_field: str | None = None,
    id_field: str | None = None,
    source_name: str | None = None,
    added: str | None = None,
    merge_attributes: bool = False,
    prefer_attributes: Sequence[str] = (),
    split_attributes: Sequence[str] = (),
    language_attributes: bool = False,
    part_bytes: int | None = None,
    shard_bytes: int | None = None,
    compression: str | None = None,
    jobs: int | None = 1,
    engine: str | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Write a corpus in another format; the result does not depend on `jobs` or `engine`.

    `on_loss` says what to do where the target cannot hold something: `error` stops before anything is lost, `warn` and
    `allow` count it in the report. `on_bad_record` either stops at the first record that is wrong or writes such records,
    with the reason, to a folder beside the destination.

    Targets laid out by language take it from the field of `metadata` that `language_field` names, from the attributes
    that `language_attribute` names as `SET/KEY` or `KEY`, or from what a former conversion left. `source_name` and `added`
    are set where a document has none of its own. Without `part_bytes` (OSCAR, bytes of text) and `shard_bytes` (Dolma,
    bytes of rows) shards stay as they are. `compression` names the compressor of gzip files (`isal-0` to `isal-3`, `zlib-1`
    to `zlib-9`; default: the fastest there is).

    Attribute sets stay beside the documents, or are embedded (`merge_attributes`; the first of `prefer_attributes` wins
    where a name stands twice); `split_attributes` moves embedded ones to sets, each `SET` or `SET=PREFIX`;
    `language_attributes` adds a set that tells the language. `text_field` and `id_field` name the columns of Parquet, or
    fields of the records that a Croissant description describes; `record_set` chooses among those. `follow_links` lets links
    lead out of the source.

    `limits` bound what may be read; with other bounds the same call goes on where they ended it.

    Raises `BadInput` for a record or layout that is wrong, `UsageError` for what cannot be started, `Incomplete` where
    the run could not be finished, `LimitReached` among them.
    """
    started = now()
    limits = limits.begun()
    prepare(engine, jobs, "corpusfmt.conversion.stages")
    target, version = named_format(to)
    entry = _entry(source, destination, follow_links=follow_links)
    way = way_between(entry, source_format, target, version or target.versions[-1], to)
    asked = Options(
        on_loss,
        on_bad_record,
        language_field,
        language_attribute_of(language_attribute),
        source_name,
        added,
        merge_attributes,
        tuple(prefer_attributes),
        splits_of(split_attributes),
        language_attributes,
    )
    options = checked(asked, by_language=way.writer.by_language)
    size = way.size(part_bytes, shard_bytes, options)
    compressor = way.compressor(compression)
    reading = way.reading(record_set, text_field, id_field)
    with limited(limits) as planned:
        plan = way.plan(entry, reading)
    work = work_of(way, plan, options, cut_anew=size is not None)
    settings = (CODE_FORMAT, compressor, to, msgspec.to_builtins(options), reading, size)
    workplace = Workplace(Path(destination), digest(*settings, [shard.name for shard in work.shards]))
    jobs = jobs or default_jobs(sum(shard.size for shard in work.shards), len(work.shards))
    with Workers(engine, jobs) as workers, workplace.claimed():
        stages = Stages(workplace.state, workers, progress, limits=limits, spent=planned.read)
        written = Target(way.target_name, workplace.destination, compressor)
        read = CheckOptions(version=plan.version, reading=reading)
        job = Job(way, options, read, written, size, settings, workplace, stages, work.side_by_side)
        converted = _converted(job, work)
        files = seal(workplace, way, converted)
    report = report_of(way, plan, converted, on_loss, len(files))
    report.results["unread"] = unread_files(entry, way.reader, plan)
    report.started, report.finished = started, now()
    return report


def _entry(source: str | Path, destination: str | Path, *, follow_links: bool) -> Entry:
    """Return what is read. Raises `UsageError` where it cannot be, and for a destination that cannot be one."""
    refuse_remote(destination, "the destination")
    refuse_link(quarantine_of(Path(destination)))
    entry = entry_of(str(source), follow_links=follow_links)
    refuse_barred(entry)
    refuse_nested(entry, Path(destination))
    return entry


def _converted(job: Job, work: Work) -> list[Converted]:
    try:
        converted = by_language(job, work.shards) if work.groups is None else directly(job, work.groups)
    except (BadInput, UsageError):
        job.workplace.give_up()
        raise
    return [*converted, Converted(losses=work.losses)]
