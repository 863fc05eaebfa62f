"""Internal: Write documents as a corpus: store them first, because names and folders depend on all of them, then convert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from corpusfmt.conversion.layout import work_of
from corpusfmt.conversion.options import Conversion, OnBadRecord, OnLoss, Options, checked
from corpusfmt.conversion.run import CODE_FORMAT, completed
from corpusfmt.conversion.stages import Target
from corpusfmt.conversion.stored import STORED, Sections, Storing
from corpusfmt.conversion.tasks import PART_BYTES, Job, quarantine_of
from corpusfmt.conversion.way import Way, way_to
from corpusfmt.engine.executors import Workers, default_jobs, prepare
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import now
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, destination_at, digest, jobs_for
from corpusfmt.formats import CheckOptions, Plan
from corpusfmt.io.limits import UNLIMITED
from corpusfmt.io.publish import publish, refuse_link
from corpusfmt.model import Document, Report, UsageError

_STAGE = "store"
_DOCUMENTS_A_STEP = 10_000


def write(
    documents: Iterable[Document | Mapping[str, Any]],
    path: str | Path,
    *,
    to: str,
    on_loss: OnLoss = "error",
    on_bad_record: OnBadRecord = "stop",
    language_entry: str | None = None,
    language_attribute: str | None = None,
    source_name: str | None = None,
    added: str | None = None,
    merge_attributes: bool = False,
    prefer_attributes: Sequence[str] = (),
    split_attributes: Sequence[str] = (),
    language_attributes: bool = False,
    part_bytes: int | None = None,
    compression: str | None = None,
    jobs: int | None = 1,
    engine: str | None = None,
    state: str | Path | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Write documents as a corpus in the format `to`, as `convert` would; all arguments are its own.

    `documents` is iterated over once; mappings have the fields of `Document`. Documents are first stored in the state of
    the run, compressed, so memory does not depend on their number. If the iteration raises, nothing is written. Without
    `part_bytes`, a new file begins after 500 MB of documents.

    Raises `UsageError` for wrong arguments and for values that are not documents, `BadInput` for a document that the target
    cannot represent, and `Incomplete` if the run did not finish.
    """
    started = now()
    prepare(engine, jobs, "corpusfmt.conversion.stages")
    place = destination_at(path, "the destination", engine)
    if isinstance(place, Path):
        refuse_link(Path(str(quarantine_of(place))))
    way = way_to(to, STORED, "")
    asked = Conversion(
        path,
        to=to,
        on_loss=on_loss,
        on_bad_record=on_bad_record,
        language_entry=language_entry,
        language_attribute=language_attribute,
        source_name=source_name,
        added=added,
        merge_attributes=merge_attributes,
        prefer_attributes=prefer_attributes,
        split_attributes=split_attributes,
        language_attributes=language_attributes,
    )
    options = checked(asked, by_language=way.writer.by_language)
    way.refuse_options(options)
    target = Target(way.target_name, place, way.compressor(compression))
    settings = (CODE_FORMAT, target.compression, to, msgspec.to_builtins(options), STORED.name, part_bytes)
    workplace = _local(Workplace.at(place, digest(*settings), state))
    jobs = jobs_for(place, jobs, engine)
    with workplace.claimed():
        try:
            plan = _stored(documents, way, options, workplace, progress)
            work = work_of(way, plan, options, cut_anew=part_bytes is not None)
        except BaseException:
            workplace.give_up()
            raise
        with Workers(engine, jobs or default_jobs(sum(each.size for each in plan.shards), len(plan.shards))) as workers:
            stages = Stages(workplace.state, workers, progress, limits=UNLIMITED)
            job = Job(way, options, CheckOptions(), target, part_bytes, settings, workplace, stages, side_by_side=False)
            report = completed(job, plan, work)
    report.started, report.finished = started, now()
    return report


def _local(workplace: Workplace) -> Workplace:
    if workplace.stored:
        raise UsageError(f"state is `{workplace.stored.place}`, expected a folder: no other machine has the documents")
    return workplace


def _stored(
    documents: Iterable[Document | Mapping[str, Any]],
    way: Way,
    options: Options,
    workplace: Workplace,
    progress: Callable[[str, Progress], None] | None,
) -> Plan:
    """Store all documents in the state of the run, and return the shards."""
    container = workplace.state / "documents.box"
    by_language = way.writer.by_language and not (options.language_entry or options.language_attribute)
    with publish(container, aside=workplace.aside(_STAGE)) as file:
        same_sets = way.writer.with_sets is not None and not options.merge_attributes
        storing = Storing(Sections(file), by_language, same_sets, PART_BYTES)
        for document in documents:
            storing.add(document)
            if progress and storing.documents % _DOCUMENTS_A_STEP == 0:
                done = sum(storing.sections.bytes.values())
                progress(_STAGE, Progress(0, 0, done, 0, f"{storing.documents:,} documents"))
        storing.sections.finish()
    if not storing.documents:
        raise UsageError("nothing to write: there are no documents")
    return storing.plan(container)
