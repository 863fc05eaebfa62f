"""Convert a corpus: any format that can be read into any that can be written, one stream of documents between them.

Shards map to shards and keep their order. Where the target is laid out by language and the source is not, documents are
first sorted into containers by language, then packed: two stages, bounded memory.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal, Self, TypeVar

import msgspec

from corpusfmt.description import described
from corpusfmt.engine.executors import default_jobs
from corpusfmt.engine.run import Progress
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats import CheckOptions, Format, Plan, ReadOptions, Rejected, Shard, detect, named_format
from corpusfmt.formats.parts import Writer, write_parts
from corpusfmt.io.compress import COMPRESSOR, FileFacts, scratch_member
from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.paths import entry_of
from corpusfmt.io.publish import publish, publish_bytes
from corpusfmt.io.streams import Chunks
from corpusfmt.io.text import json_line
from corpusfmt.model import (
    BadInput,
    Coverage,
    Document,
    Finding,
    Location,
    Problem,
    Report,
    Severity,
    Tally,
    UsageError,
)

T = TypeVar("T")

OnLoss = Literal["error", "warn", "allow"]
OnBadRecord = Literal["stop", "quarantine"]

#: Changes with every change of what a conversion writes: what an older version left unfinished starts anew.
CODE_FORMAT = 1
#: From how many bytes of text on a language gets a further part, where parts are ours to choose.
PART_BYTES = 500_000_000
_SECTION_BYTES = 4 * 1024 * 1024
_SHARD_NAME = re.compile(
    r"^(?:documents/|data/)?(?P<folder>.*?)/?(?P<stem>[^/]+?)(?:_part_(?P<part>[1-9]\d*))?\.(?:txt|jsonl|json|parquet)(?:\.gz|\.zst)?$"
)
LOSSY = ("CNV101", "lossy-conversion")
LANGUAGE = ("CNV102", "language-unknown")
_LOSS_SEVERITIES: Mapping[str, Severity] = {"error": Severity.ERROR, "warn": Severity.WARNING, "allow": Severity.INFO}


@dataclass(frozen=True, slots=True)
class _Reading:
    """How one shard is read: crosses processes."""

    format: str
    shard: Shard
    options: CheckOptions
    to: str
    on_bad_record: OnBadRecord
    on_loss: OnLoss
    language_field: str | None


@dataclass(frozen=True, slots=True)
class _DirectTask:
    """One shard that becomes one part; `language` is what the target's folder says, None where it says nothing."""

    reading: _Reading
    destination: Path
    folder: str
    stem: str
    part: int | None
    language: str | None
    aside: Path
    sidecar: Path


@dataclass(frozen=True, slots=True)
class _SortTask:
    """One shard whose documents go into a container by language."""

    reading: _Reading
    container: Path
    sidecar: Path


@dataclass(frozen=True, slots=True)
class _PackTask:
    """One language over all containers, in the order of the source's shards."""

    to: str
    language: str
    containers: tuple[Path, ...]
    part_bytes: int
    on_loss: OnLoss
    folder: Path
    aside: Path


class Converted(msgspec.Struct):
    """What became of one shard or language: plain data for a marker."""

    files: dict[str, FileFacts] = {}
    documents: int = 0
    rejected: int = 0
    losses: dict[str, int] = {}
    languages: list[str] = []


def convert(
    source: str | Path,
    destination: str | Path,
    *,
    to: str,
    source_format: str = "auto",
    on_loss: OnLoss = "error",
    on_bad_record: OnBadRecord = "stop",
    language_field: str | None = None,
    text_field: str | None = None,
    id_field: str | None = None,
    part_bytes: int = PART_BYTES,
    jobs: int | None = 1,
    engine: str | None = None,
    progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Write a corpus in another format; the result does not depend on `jobs` or `engine`.

    `on_loss` says what to do where the target cannot hold something: `error` stops before anything is lost, `warn` and
    `allow` count it in the report. `on_bad_record` either stops at the first record that is wrong or writes such records,
    with the reason, to a folder beside the destination. `language_field` names the field of `metadata` that holds a
    document's language, for targets laid out by language; `text_field` and `id_field` name the columns of Parquet. Raises
    `BadInput` for a record or layout that is wrong, `UsageError` for what cannot be started, `Incomplete` where the run
    could not be finished.
    """
    started = _now()
    entry = entry_of(str(source))
    fmt, version = _source(entry, source_format)
    target, target_version = named_format(to)
    target_version = target_version or target.versions[-1]
    if fmt.read is None or target_version not in target.writers:
        raise UsageError(f"{fmt.name} cannot be converted to {to}; to describe a corpus use `corpusfmt describe`")
    reading = ReadOptions(text_field, id_field)
    if reading != ReadOptions() and not fmt.names_fields:
        raise UsageError(f"the fields of {fmt.name} have names of their own: leave out --text-field and --id-field")
    plan = fmt.plan(entry, CheckOptions(version=version, reading=reading))
    _refuse_unpaired(fmt, plan)
    unread = _left_unread(fmt, plan, on_loss)
    options = CheckOptions(version=plan.version, reading=reading)
    readings = [
        _Reading(fmt.name, shard, options, f"{target.name}-{target_version}", on_bad_record, on_loss, language_field)
        for shard in plan.shards
    ]
    settings = (CODE_FORMAT, COMPRESSOR, to, on_loss, on_bad_record, language_field, reading, part_bytes)
    inputs = [[(file.path, file.size) for file in shard.files.values()] for shard in plan.shards]
    fingerprint = digest(*settings, inputs)
    writer = target.writers[target_version]
    direct = not writer.by_language or all(_language_of(shard) for shard in plan.shards)
    if direct:
        _refuse_collisions(plan.shards, writer)
    workplace = Workplace(Path(destination), fingerprint)
    workplace.claim()
    workers = jobs or default_jobs(sum(shard.size for shard in plan.shards), len(plan.shards))
    run = _Run(workplace, fingerprint, Stages(workplace.state, workers, engine, progress))
    if direct:
        converted = _shard_by_shard(run, readings, writer)
    else:
        converted = _through_containers(run, readings, writer, part_bytes)
    converted = [*converted, Converted(losses=unread)]
    files = _seal(workplace, writer, converted, f"{target.name}-{target_version}", target)
    report = _report(target, target_version, plan, converted, on_loss, len(files))
    report.started, report.finished = started, _now()
    return report


def _source(entry: Any, name: str) -> tuple[Format, str]:
    if name == "auto":
        fmt, found = detect(entry)
        return fmt, found.version
    fmt, version = named_format(name)
    detection = fmt.detect(entry)
    return fmt, version or (detection.version if detection else "")


def _refuse_unpaired(fmt: Format, plan: Plan) -> None:
    for finding in plan.tally.findings:
        if finding.code in fmt.pairing_rules and finding.severity is Severity.ERROR:
            raise BadInput(finding)
    if not plan.shards:
        raise UsageError(f"nothing to convert: no {fmt.name} data found")


def _refuse_collisions(shards: Sequence[Shard], writer: Writer[Any]) -> None:
    taken: dict[tuple[str, ...], str] = {}
    for shard in shards:
        folder, stem, part = _names(shard)
        place = (writer.folder(folder or (stem if writer.by_language else "")), *writer.names(stem, part))
        other = taken.setdefault(place, shard.name)
        if other != shard.name:
            raise UsageError(f"{other} and {shard.name} would become one file: rename one, or convert them apart")


def _left_unread(fmt: Format, plan: Plan, on_loss: OnLoss) -> dict[str, int]:
    """Return what reading leaves out of all shards. Raises `BadInput` where nothing may be lost."""
    losses: Counter[str] = Counter()
    for shard in plan.shards:
        losses.update(fmt.left_unread(shard))
        if losses and on_loss == "error":
            at = Location(next(iter(shard.files.values())).path)
            hint = "accept it with --on-loss warn or allow: it is then counted in the report"
            raise BadInput(_finding(LOSSY, f"not taken along: {', '.join(losses)}", at, hint))
    return dict(losses)


@dataclass(frozen=True, slots=True)
class _Run:
    """What every stage needs to know."""

    workplace: Workplace
    fingerprint: str
    stages: Stages

    @property
    def sidecars(self) -> Path:
        destination = self.workplace.destination
        return destination.with_name(f"{destination.name}-quarantine")


def _names(shard: Shard) -> tuple[str, str, int | None]:
    """Return the folder below the data, the stem and the part number of a shard."""
    path = shard.target or next(iter(shard.files.values())).path
    match = _SHARD_NAME.match(path)
    if match is None:
        return "", path, None
    return match["folder"], match["stem"], int(match["part"]) if match["part"] else None


def _language_of(shard: Shard) -> str | None:
    """Return the language that a shard's own path announces, as `af/af_part_2.txt.gz` does."""
    folder, stem, _ = _names(shard)
    return stem if stem == folder else None


def _shard_by_shard(run: _Run, readings: Sequence[_Reading], writer: Writer[Any]) -> list[Converted]:
    tasks = []
    taken: dict[tuple[str, ...], str] = {}
    for reading in readings:
        folder, stem, part = _names(reading.shard)
        place = (writer.folder(folder or (stem if writer.by_language else "")), *writer.names(stem, part))
        other = taken.setdefault(place, reading.shard.name)
        if other != reading.shard.name:
            raise UsageError(
                f"{other} and {reading.shard.name} would become one file: rename one, or convert them apart"
            )
        name = _task_name(reading.shard)
        argument = _DirectTask(
            reading,
            run.workplace.destination,
            folder,
            stem,
            part,
            _language_of(reading.shard) if writer.by_language else None,
            run.workplace.aside(name),
            run.sidecars / f"{name}.jsonl",
        )
        tasks.append(StageTask(name, argument, run.fingerprint))
    return run.stages.run_whole(
        "convert", _convert_shard, tasks, Converted, [reading.shard.size for reading in readings]
    )


def _through_containers(
    run: _Run, readings: Sequence[_Reading], writer: Writer[Any], part_bytes: int
) -> list[Converted]:
    tasks = []
    for reading in readings:
        name = _task_name(reading.shard)
        argument = _SortTask(reading, run.workplace.state / "sort" / f"{name}.box", run.sidecars / f"{name}.jsonl")
        tasks.append(StageTask(name, argument, run.fingerprint))
    sorted_shards = run.stages.run_whole(
        "sort", _sort_shard, tasks, Converted, [reading.shard.size for reading in readings]
    )
    languages = sorted({language for each in sorted_shards for language in each.languages})
    containers = tuple(task.argument.container for task in tasks)
    first = readings[0]
    packs = []
    for language in languages:
        folder = run.workplace.destination / writer.folder(language)
        aside = run.workplace.aside(language)
        pack = _PackTask(first.to, language, containers, part_bytes, first.on_loss, folder, aside)
        packs.append(StageTask(language, pack, run.fingerprint))
    packed = run.stages.run_whole("pack", _pack_language, packs, Converted, [1] * len(packs))
    rejected = Converted(rejected=sum(each.rejected for each in sorted_shards))
    return [*packed, rejected]


def _task_name(shard: Shard) -> str:
    return f"{shard.index:06d}"


def _convert_shard(task: _DirectTask) -> Converted:
    writer = _writer(task.reading.to)
    losses: Counter[str] = Counter()
    with _Documents(task.reading, task.sidecar, task.aside) as documents:
        items = _items(writer, documents.of_language(task.language), task.reading.on_loss, losses, documents.path)
        folder = writer.folder(task.folder or (task.stem if writer.by_language else ""))
        files = write_parts(
            writer, items, stem=task.stem, part=task.part, folder=task.destination / folder, aside=task.aside
        )
    placed = {f"{folder}/{name}": facts for name, facts in files.items()}
    return Converted(placed, documents.taken, documents.rejected, dict(losses))


def _sort_shard(task: _SortTask) -> Converted:
    waiting: dict[str, list[bytes]] = {}
    sizes: Counter[str] = Counter()
    with publish(task.container) as file, _Documents(task.reading, task.sidecar, task.container.parent) as documents:
        container = ContainerWriter(file)
        for document in documents.of_language(None):
            language = documents.language(document)
            line = json_line(msgspec.to_builtins(document))
            waiting.setdefault(language, []).append(line)
            sizes[language] += len(line)
            if sizes[language] >= _SECTION_BYTES:
                container.add(language, scratch_member(b"".join(waiting.pop(language))))
                del sizes[language]
        for language, lines in sorted(waiting.items()):
            container.add(language, scratch_member(b"".join(lines)))
        container.finish()
    return Converted(documents=documents.taken, rejected=documents.rejected, languages=sorted(documents.languages))


def _pack_language(task: _PackTask) -> Converted:
    writer = _writer(task.to)
    losses: Counter[str] = Counter()
    counted = _Counted(_stored(task))
    items = _items(writer, counted, task.on_loss, losses, task.language)
    files = write_parts(
        writer, items, stem=task.language, part_bytes=task.part_bytes, folder=task.folder, aside=task.aside
    )
    folder = writer.folder(task.language)
    return Converted({f"{folder}/{name}": facts for name, facts in files.items()}, counted.count, 0, dict(losses))


def _stored(task: _PackTask) -> Iterator[Document]:
    for path in task.containers:
        with Container(path) as container:
            for section in container.sections(task.language):
                data = b"".join(Chunks(io.BytesIO(section), "gzip"))
                for line in data.split(b"\n")[:-1]:
                    yield Document(**json.loads(line))


@dataclass(slots=True)
class _Counted:
    """Counts what passes."""

    documents: Iterator[Document]
    count: int = 0

    def __iter__(self) -> Iterator[Document]:
        for document in self.documents:
            self.count += 1
            yield document


def _writer(name: str) -> Writer[Any]:
    fmt, version = named_format(name)
    return fmt.writers[version]


def _items(
    writer: Writer[T], documents: Iterable[Document], on_loss: OnLoss, losses: Counter[str], path: str
) -> Iterator[T]:
    for document in documents:
        item = writer.item(document)
        if item.losses:
            losses.update(item.losses)
            if on_loss == "error":
                what = ", ".join(item.losses)
                hint = "accept it with --on-loss warn or allow: it is then counted in the report"
                raise BadInput(
                    _finding(LOSSY, f"the target cannot hold: {what}", Location(path, record=document.id), hint)
                )
        yield item.value


class _Documents:
    """The documents of one shard; rejected records stop it or go to a sidecar file."""

    def __init__(self, reading: _Reading, sidecar: Path, aside: Path) -> None:
        self._reading = reading
        self._sidecar = sidecar
        self._aside = aside
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        self.path = next(iter(reading.shard.files.values())).path
        self.taken = 0
        self.rejected = 0
        self.languages: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def of_language(self, language: str | None) -> Iterator[Document]:
        """Yield the documents; with a language, all of them must be of it."""
        fmt, _ = named_format(self._reading.format)
        assert fmt.read is not None
        for document in fmt.read(self._reading.shard, self._reading.options):
            if isinstance(document, Rejected):
                self._reject(document)
                continue
            if language is not None and self.language(document) != language:
                found = f"a document of language `{self.language(document)}` in a shard of `{language}`"
                hint = "put documents into a folder of their language, or into one named for none"
                raise BadInput(_finding(LANGUAGE, found, Location(self.path, record=document.id), hint))
            self.taken += 1
            yield document

    def language(self, document: Document) -> str:
        """Return the language of a document. Raises `BadInput` where nothing tells it."""
        field = self._reading.language_field
        language = (document.metadata or {}).get(field) if field else document.lang
        if not isinstance(language, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", language):
            at = Location(self.path, record=document.id)
            hint = "name the field of `metadata` that holds it with --lang-field"
            raise BadInput(_finding(LANGUAGE, "nothing tells the language of this document", at, hint))
        self.languages.add(language)
        return language

    def _reject(self, rejected: Rejected) -> None:
        if self._reading.on_bad_record == "stop":
            raise BadInput(rejected.finding)
        if self._file is None:
            self._file = self._stack.enter_context(publish(self._sidecar, aside=self._aside))
        self.rejected += 1
        finding = rejected.finding
        at = finding.location
        raw = rejected.raw.decode("utf-8", "backslashreplace")
        reason = {"rule": finding.code, "message": finding.message, "path": at.path, "line": at.line, "record": raw}
        self._file.write(json_line(reason))


def _finding(rule: tuple[str, str], message: str, at: Location, hint: str) -> Finding:
    return Finding(*rule, Severity.ERROR, Problem(message, at, hint))


def _seal(
    workplace: Workplace, writer: Writer[Any], converted: Sequence[Converted], to: str, target: Format
) -> dict[str, FileFacts]:
    files: dict[str, FileFacts] = {}
    for each in converted:
        files |= each.files
    for folder in sorted({path.rpartition("/")[0] for path in files}):
        own = {path.rpartition("/")[2]: facts for path, facts in files.items() if path.rpartition("/")[0] == folder}
        for name, facts in writer.seal(workplace.destination / folder, own, workplace.state).items():
            files[f"{folder}/{name}"] = facts
    kind = target.name if len(target.versions) == 1 else to
    description = described(kind, files, root=workplace.destination, name=workplace.destination.name)
    text = json.dumps(description, ensure_ascii=False, indent=2) + "\n"
    publish_bytes(workplace.destination / "croissant.json", text.encode(), aside=workplace.state)
    workplace.release()
    return files


def _report(
    target: Format, version: str, plan: Plan, converted: Sequence[Converted], on_loss: OnLoss, files: int
) -> Report:
    losses: Counter[str] = Counter()
    for each in converted:
        losses.update(each.losses)
    tally = Tally()
    severity = _LOSS_SEVERITIES[on_loss]
    for what, count in sorted(losses.items()):
        problem = Problem(f"the target cannot hold: {what}", Location("."), count=count)
        tally.add(Finding(*LOSSY, severity, problem))
    coverage = Coverage(
        shards_seen=len(plan.shards),
        shards_total=len(plan.shards),
        documents=sum(each.documents for each in converted),
        bytes=sum(shard.size for shard in plan.shards),
    )
    report = Report(target.name, version, tally, coverage)
    report.results = {"files": files, "rejected": sum(each.rejected for each in converted), "losses": dict(losses)}
    return report


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
