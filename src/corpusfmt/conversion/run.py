"""Put a conversion together: plan, stages, the sealed corpus, the report.

Shards map to shards and keep their order. Where the target is laid out by language and the source is not, documents are
first sorted into containers by language, then packed: two stages, bounded memory.
"""

from __future__ import annotations

import json
import posixpath
import shutil
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.conversion.attributes import LANGUAGE_SET
from corpusfmt.conversion.documents import Reading
from corpusfmt.conversion.layout import (
    Group,
    are_filed,
    count_unread,
    groups,
    in_order,
    keep_apart,
    language_of,
    refuse_incomplete,
    refuse_nested,
    unnested_folders,
    unread_files,
)
from corpusfmt.conversion.options import (
    Losses,
    OnBadRecord,
    OnLoss,
    Options,
    check_sets,
    checked,
    language_attribute_of,
    splits_of,
)
from corpusfmt.conversion.repeats import Identified, Identity, repeats_among, repetition_in, write_repeats
from corpusfmt.conversion.rules import LOSSY_CONVERSION, finding
from corpusfmt.conversion.stages import (
    Converted,
    DirectTask,
    IdentifyTask,
    PackTask,
    SortTask,
    Target,
    convert_shards,
    identify,
    pack_language,
    sort_shard,
)
from corpusfmt.description import described
from corpusfmt.engine.executors import Workers, default_jobs, prepare
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import now
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats import (
    CheckOptions,
    Format,
    Plan,
    Reader,
    ReadOptions,
    Shard,
    detect,
    named_format,
    refuse_barred,
)
from corpusfmt.formats.parts import Writer
from corpusfmt.io.compress import COMPRESSION, CompressionName, FileFacts, all_there, compression_named
from corpusfmt.io.containers import is_container
from corpusfmt.io.keys import Batch, repeated_in_batches
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, limited
from corpusfmt.io.paths import Entry, entry_of, refuse_remote
from corpusfmt.io.publish import publish_bytes, refuse_link
from corpusfmt.model import BadInput, Coverage, Finding, Location, Problem, Report, Severity, Tally, UsageError

#: Changes with every change of what a conversion writes: what an older version left unfinished starts anew.
CODE_FORMAT = 7
#: From how many bytes of text on a language gets a further part, where no shard of the source says where to cut.
PART_BYTES = 500_000_000
# What was lost although nothing may be was named by an option.
_LOSS_SEVERITIES: Mapping[str, Severity] = {"error": Severity.INFO, "warn": Severity.WARNING, "allow": Severity.INFO}


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
    target, target_version = named_format(to)
    target_version = target_version or target.versions[-1]
    refuse_remote(destination, "the destination")
    refuse_link(quarantine_of(Path(destination)))
    entry = entry_of(str(source), follow_links=follow_links)
    refuse_barred(entry)
    refuse_nested(entry, Path(destination))
    fmt, version = _source(entry, source_format)
    reader = fmt.reader
    if reader is None or target_version not in target.writers:
        raise UsageError(f"{fmt.name} cannot be converted to {to}; to describe a corpus use `corpusfmt describe`")
    writer = target.writers[target_version]
    options = checked(
        Options(
            on_loss,
            on_bad_record,
            language_field,
            language_attribute_of(language_attribute) if language_attribute is not None else None,
            source_name,
            added,
            merge_attributes,
            tuple(prefer_attributes),
            splits_of(split_attributes),
            language_attributes,
        ),
        by_language=writer.by_language,
    )
    size = _size(writer, part_bytes, shard_bytes, options)
    compressor = _compressor(writer, compression, to)
    reading = ReadOptions(record_set, text_field, id_field)
    if (text_field, id_field) != (None, None) and not reader.names_fields:
        raise UsageError(f"the fields of {fmt.name} have names of their own: leave out --text-field and --id-field")
    if record_set is not None and reader.plan is None:
        raise UsageError(f"{fmt.name} has no record sets: leave out --record-set, or name a description as the source")
    with limited(limits) as planned:
        plan = (reader.plan or fmt.plan)(entry, CheckOptions(version=version, reading=reading))
    plan.refuse_unread()
    refuse_incomplete(reader, plan, on_bad_record)
    if not plan.shards:
        raise UsageError(f"nothing to convert: no {fmt.name} data found")
    check_sets(options, {name for shard in plan.shards for name in reader.attribute_sets(shard)})
    losses = Losses(on_loss)
    count_unread(reader, plan, losses)
    shards = in_order(plan.shards)
    through_containers = writer.by_language and not are_filed(shards)
    if through_containers:
        shards = keep_apart(shards)
    grouped = [] if through_containers else groups(shards, by_language=writer.by_language, cut_anew=size is not None)
    sets = [_sets(reader, writer, options, group) for group in grouped]
    settings = (CODE_FORMAT, compressor, to, msgspec.to_builtins(options), reading, size)
    workplace = Workplace(Path(destination), digest(*settings, [shard.name for shard in shards]))
    jobs = jobs or default_jobs(sum(shard.size for shard in shards), len(shards))
    with Workers(engine, jobs) as workers, workplace.claimed():
        run = _Run(
            fmt.name,
            reader.source_name,
            CheckOptions(version=plan.version, reading=reading),
            options,
            Target(f"{target.name}-{target_version}", workplace.destination, compressor),
            writer,
            size,
            workplace,
            settings,
            Stages(workplace.state, workers, progress, limits=limits, spent=planned.read),
            len({shard.corpus for shard in shards}) > 1,
        )
        try:
            converted = run.by_containers(shards) if through_containers else run.directly(grouped, sets)
        except (BadInput, UsageError):
            workplace.give_up()
            raise
        converted = [*converted, Converted(losses=dict(losses.counts))]
        files = _seal(workplace, writer, converted, target, target_version)
    missing = list(plan.errors(reader.missing_rules))
    report = _report(target, target_version, plan, missing, converted, on_loss, len(files))
    report.results["unread"] = unread_files(entry, reader, plan)
    report.started, report.finished = started, now()
    return report


def _source(entry: Entry, name: str) -> tuple[Format, str]:
    if name == "auto":
        fmt, found = detect(entry)
        return fmt, found.version
    fmt, version = named_format(name)
    detection = fmt.detect(entry)
    return fmt, version or (detection.version if detection else "")


def _size(writer: Writer[Any], part_bytes: int | None, shard_bytes: int | None, options: Options) -> int | None:
    """Return the size that is asked for, of what this target has. Raises `UsageError` for options of another target."""
    if writer.by_language and shard_bytes is not None:
        raise UsageError("--shard-size is for targets of rows; for OSCAR use --part-size")
    if not writer.by_language and part_bytes is not None:
        raise UsageError("--part-size is for OSCAR; for targets of rows use --shard-size")
    if writer.with_sets is None and (options.splits or options.language_set):
        raise UsageError("only Dolma has attribute sets: leave out --split-attributes and --language-attributes")
    return part_bytes if writer.by_language else shard_bytes


def _compressor(writer: Writer[Any], asked: str | None, to: str) -> CompressionName:
    if asked is None:
        return COMPRESSION
    if not writer.gzip:
        raise UsageError(f"--compression chooses the compressor of gzip files, and {to} has none: leave it out")
    return compression_named(asked)


class _Run(Struct, frozen=True):
    """What every stage needs to know."""

    format: str
    source_name: str | None
    check: CheckOptions
    options: Options
    target: Target
    writer: Writer[Any]
    size: int | None
    workplace: Workplace
    settings: tuple[object, ...]
    stages: Stages
    side_by_side: bool

    def directly(self, grouped: Sequence[Group], sets: Sequence[tuple[str, ...]]) -> list[Converted]:
        """Shards become parts, or parts of a new size, with their attribute sets."""
        keys = self.workplace.state / "keys"
        tasks = []
        for group, names in zip(grouped, sets, strict=True):
            folder, stem = group.name.folder, group.name.stem
            task_name = f"{group.shards[0].index:06d}"
            target = replace(self.target, sets=names)
            if names:
                folder, stem = "", posixpath.join(folder, stem)
            argument = DirectTask(
                tuple(self._reading(shard) for shard in group.shards),
                target,
                target.writer.folder(folder),
                stem,
                group.name.part,
                self.size,
                language_of(group.name) if self.writer.by_language else None,
                self.workplace.aside(task_name),
                keys / task_name if self.writer.key is not None else None,
            )
            tasks.append(StageTask(task_name, argument, self._fingerprint(group.shards)))
        weights = [sum(shard.size for shard in group.shards) for group in grouped]
        if self.writer.key is not None:
            return self._unrepeated(tasks, weights, keys)
        converted = self._converted(tasks, weights)
        if not self.writer.by_language:
            return converted
        # A part of which nothing is left has no file, and readers stop where a number is missing.
        numbered = _numbered_through(tasks, converted)
        return converted if numbered == tasks else self._converted(numbered, weights)

    def _converted(self, tasks: Sequence[StageTask[DirectTask]], weights: Sequence[int]) -> list[Converted]:
        return self.stages.run_whole("convert", convert_shards, tasks, Converted, weights, stands=_is_there)

    def _unrepeated(
        self, tasks: Sequence[StageTask[DirectTask]], weights: Sequence[int], keys: Path
    ) -> list[Converted]:
        """Convert so that no two documents have the same name. Tasks whose documents have names of earlier ones run twice."""
        whole = digest([task.fingerprint for task in tasks])
        repeats = self.workplace.state / "repeats" / whole
        if not (repeats / "whole").exists():
            converted = self._converted(tasks, weights)
            shutil.rmtree(repeats.parent, ignore_errors=True)
            if not self._find_repeats(tasks, keys, repeats):
                return converted
            publish_bytes(repeats / "whole", b"")
        return self._converted([_without(repeats / task.id, whole, task) for task in tasks], weights)

    def _find_repeats(self, tasks: Sequence[StageTask[DirectTask]], keys: Path, found: Path) -> bool:
        """Write down which documents are to be rejected, and tell whether there are any. Raises `BadInput` if none may be."""
        by_index = {task.argument.index: task for task in tasks}
        any_found = False
        first_with: dict[str, Identity] = {}
        for number, batch in enumerate(repeated_in_batches(keys)):
            if not batch.continues:
                first_with.clear()
            for task, rows, identified in self._identified(by_index, batch):
                repeats = repeats_among(rows, identified, first_with)
                repeat = next(repeats, None)
                if repeat is None:
                    continue
                if self.options.on_bad_record == "stop":
                    raise BadInput(finding(*repetition_in(identified, *repeat)))
                write_repeats(found / task.id / f"{number:06d}.jsonl", chain([repeat], repeats))
                any_found = True
        return any_found

    def _identified(
        self, tasks: Mapping[int, StageTask[DirectTask]], batch: Batch
    ) -> Iterator[tuple[StageTask[DirectTask], array[int], Identified]]:
        """Yield the tasks that candidates are of, which of their documents those are, and what names them, read again."""
        asked = []
        for index, rows in batch.rows_by_shard():
            fingerprint = digest(tasks[index].fingerprint, rows.tobytes())
            asked.append(StageTask(tasks[index].id, IdentifyTask(tasks[index].argument, rows), fingerprint))
        weights = [sum(reading.shard.size for reading in each.argument.task.readings) for each in asked]
        results = self.stages.run_whole("identify", identify, asked, Identified, weights)
        for each, result in zip(asked, results, strict=True):
            yield tasks[each.argument.task.index], each.argument.rows, result

    def by_containers(self, shards: Sequence[Shard]) -> list[Converted]:
        """Documents are sorted by language, then packed."""
        tasks = []
        for shard in shards:
            name = f"{shard.index:06d}"
            container = self.workplace.state / "sort" / f"{name}.box"
            argument = SortTask(self._reading(shard), container, self.workplace.aside(name))
            tasks.append(StageTask(name, argument, self._fingerprint([shard])))
        sizes = [shard.size for shard in shards]
        sorted_shards = self.stages.run_whole(
            "sort", sort_shard, tasks, Converted, sizes, stands=lambda task, _: is_container(task.container)
        )
        containers = tuple(task.argument.container for task in tasks)
        part_bytes = self.size or PART_BYTES
        fingerprint = self._fingerprint(shards)
        folders: Counter[str] = Counter()
        for each in sorted_shards:
            folders.update(each.folders)
        packs = []
        unnested = unnested_folders(folders)
        for folder in sorted(folders):
            name = quote(folder, safe="")
            aside = self.workplace.aside(name)
            pack = PackTask(self.target, folder, unnested[folder], containers, part_bytes, self.options.on_loss, aside)
            packs.append(StageTask(name, pack, fingerprint))
        sizes = [folders[pack.argument.folder] for pack in packs]
        packed = self.stages.of_own_files.run_whole("pack", pack_language, packs, Converted, sizes, stands=_is_there)
        return [*packed, *(replace(each, documents=0) for each in sorted_shards)]

    def _fingerprint(self, shards: Sequence[Shard]) -> str:
        """Return what the result of a task depends on: a file that changed since makes its own tasks run again."""
        files = ((file, shard.read_as) for shard in shards for file in shard.files.values())
        return digest(*self.settings, [(file.path, file.size, file.version, read_as) for file, read_as in files])

    def _reading(self, shard: Shard) -> Reading:
        sidecar = quarantine_of(self.workplace.destination) / f"{shard.index:06d}.jsonl"
        variant = ""
        if self.side_by_side and self.writer.key and shard.corpus and self.source_name and not self.options.source:
            variant = f"{self.source_name}/{shard.corpus}"
        return Reading(self.format, shard, self.check, self.options, self.writer.by_language, sidecar, variant)


def quarantine_of(destination: Path) -> Path:
    """Return the folder for the records that are wrong."""
    return destination.with_name(f"{destination.name}-quarantine")


def _is_there(task: DirectTask | PackTask, converted: Converted) -> bool:
    """Tell whether the files that a task of an earlier run wrote are still there."""
    keys = task.keys if isinstance(task, DirectTask) else None
    return (keys is None or keys.is_dir()) and all_there(task.target.destination, converted.files)


def _numbered_through(
    tasks: Sequence[StageTask[DirectTask]], converted: Sequence[Converted]
) -> list[StageTask[DirectTask]]:
    """Return the tasks with the parts of each language that have files numbered 1, 2, 3, …, where they are not."""
    series: defaultdict[tuple[str, str | None], list[DirectTask]] = defaultdict(list)
    for task, result in zip(tasks, converted, strict=True):
        if result.files and task.argument.part_bytes is None:
            series[task.argument.folder, task.argument.language].append(task.argument)
    numbers: dict[int, int | None] = {}
    for parts in series.values():
        parts.sort(key=lambda each: each.part or 0)
        # A part without a number is the only one.
        if any(each.part != number for number, each in enumerate(parts, 1)) and parts[-1].part is not None:
            numbers |= {each.index: number if len(parts) > 1 else None for number, each in enumerate(parts, 1)}
    return [_as_part(numbers[each.argument.index], each) if each.argument.index in numbers else each for each in tasks]


def _as_part(number: int | None, task: StageTask[DirectTask]) -> StageTask[DirectTask]:
    if number == task.argument.part:
        return task
    argument = replace(task.argument, part=number)
    return replace(task, argument=argument, fingerprint=digest(task.fingerprint, "part", number))


def _without(repeats: Path, whole: str, task: StageTask[DirectTask]) -> StageTask[DirectTask]:
    """Return a task that leaves out the documents that `repeats` names, those that `whole` found; without any, the task."""
    if not repeats.exists():
        return task
    return replace(
        task, argument=replace(task.argument, repeats=repeats), fingerprint=digest(task.fingerprint, "repeats", whole)
    )


def _sets(reader: Reader, writer: Writer[Any], options: Options, group: Group) -> tuple[str, ...]:
    """Return the attribute sets that come out beside the documents of a group. Raises `UsageError` for one too many."""
    found = {name for shard in group.shards for name in reader.attribute_sets(shard)}
    if writer.with_sets is None or options.merge:
        return ()
    new = {split.name for split in options.splits} | ({LANGUAGE_SET} if options.language_set else set())
    if found & new:
        raise UsageError(f"there is an attribute set {', '.join(sorted(found & new))} already: name another")
    return tuple(sorted(found | new))


def _seal(
    workplace: Workplace, writer: Writer[Any], converted: Sequence[Converted], target: Format, version: str
) -> dict[str, FileFacts]:
    files: dict[str, FileFacts] = {}
    for each in converted:
        files |= each.files
    for folder in sorted({path.rpartition("/")[0] for path in files}):
        own = {path.rpartition("/")[2]: facts for path, facts in files.items() if path.rpartition("/")[0] == folder}
        for name, facts in writer.seal(workplace.destination / folder, own, workplace.state).items():
            files[f"{folder}/{name}"] = facts
    # Of files that have changed since an earlier run other files may have been made.
    workplace.withdraw(workplace.published() - files.keys())
    # Of corpora side by side the first, which of a release's variants is the deduplicated one, has the record sets.
    below = min(posixpath.dirname(posixpath.dirname(path)) for path in files) if files and writer.by_language else ""
    root = workplace.destination
    description = described(
        f"{target.name}-{version}", target.describers[version], files, below, root=root, name=root.name
    )
    text = json.dumps(description, ensure_ascii=False, indent=2) + "\n"
    publish_bytes(workplace.destination / "croissant.json", text.encode(), aside=workplace.state)
    workplace.release()
    return files


def _report(
    target: Format,
    version: str,
    plan: Plan,
    missing: Sequence[Finding],
    converted: Sequence[Converted],
    on_loss: OnLoss,
    files: int,
) -> Report:
    losses: Counter[str] = Counter()
    for each in converted:
        losses.update(each.losses)
    tally = Tally()
    for remark in plan.tally.findings:
        if remark.severity is Severity.INFO:
            tally.add(remark)
    for error in missing:
        tally.add(replace(error, severity=Severity.WARNING))
    severity = _LOSS_SEVERITIES[on_loss]
    for what, count in sorted(losses.items()):
        problem = Problem(f"not kept: {what}", Location("."), count=count)
        tally.add(replace(finding(LOSSY_CONVERSION, problem), severity=severity))
    coverage = Coverage(
        shards_seen=len(plan.shards),
        shards_total=len(plan.shards),
        documents=sum(each.documents for each in converted),
        bytes=sum(shard.size for shard in plan.shards),
    )
    for error in missing:
        coverage.gap(error.location.path, "layout", error.message)
    cut = sorted(path for each in converted for path in each.cut)
    for path in cut:
        coverage.gap(path, "rest of the file", "it breaks off, how much is missing is unknown")
    report = Report(target.name, version, tally, coverage)
    report.results = {
        "files": files,
        "rejected": sum(each.rejected for each in converted),
        "cut": cut,
        "losses": dict(losses),
    }
    return report
