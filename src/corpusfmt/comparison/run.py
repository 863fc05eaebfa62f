"""Internal: Compare: plan both releases, read each document once, match rows, add up counts.

Statements of descriptions and manifests are compared, too, and tell the step between the versions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Unpack

import msgspec
import numpy as np
from msgspec import Struct, field

from corpusfmt.comparison.matching import (
    ADDED,
    COLUMNS,
    MOST_TASKS,
    RANGE_ROWS,
    REASSIGNED,
    REMOVED,
    RENAMED,
    SHARD_SHIFT,
    TEXT_COLUMNS,
    Fate,
    Join,
    Joined,
    Places,
    join_names,
    join_texts,
    task_and_number,
)
from corpusfmt.comparison.reading import (
    MOST_FINDINGS,
    MOST_NAMES,
    OR_SKIP,
    Label,
    OnBadRecord,
    ReadTask,
    TaskResult,
    id_of,
    read_task,
)
from corpusfmt.comparison.result import Change, ComparedRelease, Comparison, Counts, Difference, VersionBump
from corpusfmt.conversion.layout import corpus_at, count_unread, name_of, path_of, unread_files
from corpusfmt.conversion.options import Losses
from corpusfmt.engine.executors import Workers, default_jobs, placed, prepare
from corpusfmt.engine.progress import Progress, ShardProgress
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, run_tasks
from corpusfmt.formats import CheckOptions, FieldNames, Format, Reader, ReadOptions, Shard
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter, limited
from corpusfmt.io.paths import Entry
from corpusfmt.io.runs import END, Runs
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.io.text import json_object
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.wording import clipped

T = TypeVar("T")
R = TypeVar("R")

#: The default number of named documents of each kind.
EXAMPLES = 10
_TASKS_OF_RANGES = 64
# Small shards share a task: each task writes a file of runs, and each matching task reads all these files.
_TASKS = 400
_BYTES_A_TASK = 8 * 1024 * 1024
_SHARDS_A_TASK = 1_000
# The maximum number of labels of a release, and of a task: they are held in memory.
_LABELS, _LABELS_OF_TASK = 1_000_000, 100_000
# A task ends at a number of bytes or of shards.
assert 2 * _TASKS + 1 < MOST_TASKS
# The name of a kind in `Counts`.
_COUNTED = {
    Fate.SAME: "same",
    Fate.MOVED: "moved",
    Fate.CHANGED_ATTRIBUTES: "changed_attributes",
    Fate.CHANGED_METADATA: "changed_metadata",
    Fate.CHANGED_TEXT: "changed_text",
    REMOVED: "removed",
    ADDED: "added",
    REASSIGNED: "reassigned",
    RENAMED: "renamed",
}
# Worst first.
_ORDER = (
    REMOVED,
    REASSIGNED,
    Fate.CHANGED_TEXT,
    Fate.CHANGED_METADATA,
    Fate.CHANGED_ATTRIBUTES,
    Fate.MOVED,
    ADDED,
)


class Side(Struct):
    """One release: the parts to read, their format, and the results."""

    entry: Entry
    format: Format
    reader: Reader
    version: str
    shards: Sequence[Shard]
    titles: Sequence[str]
    left_out: Counter[str]
    unread: Sequence[str]
    reading: ReadOptions
    parts: list[ReadTask] = field(default_factory=list)
    read: list[TaskResult] = field(default_factory=list)

    @property
    def labels(self) -> list[Label]:
        return [label for read in self.read for label in read.labels]

    @property
    def series(self) -> list[str]:
        """The shards without the numbers of parts."""
        return [_title(shard, whole=False) for shard in self.shards]


def compare(
    old: str | Path,
    new: str | Path,
    *,
    old_format: str = "auto",
    new_format: str = "auto",
    record_set: str | None = None,
    on_bad_record: OnBadRecord = "stop",
    examples: int = EXAMPLES,
    jobs: int | None = 1,
    engine: str | None = None,
    follow_links: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str, Progress], None] | None = None,
    **fields: Unpack[FieldNames],
) -> Comparison:
    """Compare two releases of a corpus, document by document; their formats may differ.

    A document is identified by its source and id, or by its text if the id is only a place. Format, shard and compressor
    are not compared. `record_set` and `fields`, such as `text_field`, are for formats without fixed names. `on_bad_record` either
    stops at the first bad record, or skips and counts bad records; `examples` is the maximum number of named documents for
    each kind of difference. The result does not depend on `jobs` or `engine`.

    Raises `BadInput` for a bad record or layout, `UsageError` if the releases cannot be compared, and `Incomplete` if the run
    could not be finished; `LimitReached` is a subclass.
    """
    limits = limits.begun()
    prepare(engine, jobs, "corpusfmt.comparison.reading")
    with limited(limits) as planned:
        reading = ReadOptions(record_set=record_set, **fields)
        before = _side_at(placed(engine, old), old_format, reading, on_bad_record, follow_links=follow_links)
        after = _side_at(placed(engine, new), new_format, reading, on_bad_record, follow_links=follow_links)
    if reading != ReadOptions() and before.reading == after.reading == ReadOptions():
        raise UsageError(
            "the fields of both releases have fixed names: leave out --record-set, --text-field and the like"
        )
    shards = [*before.shards, *after.shards]
    jobs = jobs or default_jobs(sum(shard.size for shard in shards), len(shards))
    with temporary_folder() as scratch, Workers(engine, jobs) as workers:
        run = _Run(workers, Meter(limits, planned.read), progress, scratch)
        for name, side in (("old", before), ("new", after)):
            side.parts = list(_parts(side, on_bad_record, scratch / name))
            sizes = [sum(shard.size for _, shard in part.shards) for part in side.parts]
            side.read = list(run.each(f"reading {name}", read_task, side.parts, sizes))
        same_shards = set(before.series) == set(after.series)
        joined = _joined(before, after, run, scratch, examples, same_shards=same_shards)
        return _summed(before, after, joined, same_shards=same_shards)


class _Run(Struct):
    """Runs the tasks of each stage in turn."""

    workers: Workers
    meter: Meter
    progress: Callable[[str, Progress], None] | None
    scratch: Path

    def each(self, stage: str, function: Callable[[T], R], tasks: Sequence[T], sizes: Sequence[int]) -> Iterator[R]:
        """Yield the result of each task, in order. Raises `Incomplete` if a worker died."""
        progress = self.progress
        with ShardProgress(None if progress is None else lambda step: progress(stage, step), sizes) as shown:
            results = run_tasks(
                function,
                tasks,
                self.workers.take,
                window=self.workers.jobs * RESULTS_WAITING_A_WORKER,
                finished=shown.finished,
                close=self.workers.release,
                meter=self.meter,
                gauge=shown.gauge,
                shared=self.scratch,
            )
            for result in results:
                if isinstance(result, Died):
                    raise Incomplete(f"{stage}: {result.reason}; run the command again, with fewer --jobs")
                if not isinstance(result, Late):
                    yield result


def _side_at(
    path: str, format_name: str, reading: ReadOptions, on_bad_record: OnBadRecord, *, follow_links: bool
) -> Side:
    """Return the parts of a release to read. Raises `UsageError` or `BadInput` if it cannot be compared."""
    corpus = corpus_at(
        path,
        format_name,
        reading,
        to="compare",
        stops=on_bad_record == "stop",
        or_else=OR_SKIP,
        follow_links=follow_links,
    )
    fmt, reader, plan, shards = corpus.format, corpus.reader, corpus.plan, corpus.shards
    plan.refuse_tables("a comparison")
    left_out = Losses("allow")
    count_unread(reader, plan, left_out)
    titles = [_title(shard, whole=True) for shard in shards]
    unread = unread_files(corpus.entry, reader, plan)
    return Side(corpus.entry, fmt, reader, plan.version, shards, titles, left_out.counts, unread, corpus.reading)


def _title(shard: Shard, *, whole: bool) -> str:
    """Return the name of a shard, independent of its format, with or without the number of its part."""
    name = name_of(shard)
    part = f"_part_{name.part}" if whole and name.part is not None else ""
    return f"{name.folder}/{name.stem}{part}" if name.folder else f"{name.stem}{part}"


def _parts(side: Side, on_bad_record: OnBadRecord, folder: Path) -> Iterator[ReadTask]:
    """Yield the tasks that read a release: shards in order, with several small ones in one task."""
    options = CheckOptions(version=side.version, reading=side.reading)
    side_by_side = len({shard.corpus for shard in side.shards}) > 1
    least = max(_BYTES_A_TASK, sum(shard.size for shard in side.shards) // _TASKS)
    most_labels = min(_LABELS // min(_TASKS, len(side.shards)), _LABELS_OF_TASK)
    most_shards = max(_SHARDS_A_TASK, len(side.shards) // _TASKS)
    held: list[tuple[int, Shard]] = []
    size = task = 0
    for number, shard in enumerate(side.shards):
        held.append((number, shard))
        size += shard.size
        if size >= least or len(held) >= most_shards or number == len(side.shards) - 1:
            yield ReadTask(
                side.format.name, options, tuple(held), task, most_labels, side_by_side, on_bad_record, folder
            )
            held, size, task = [], 0, task + 1


def _joined(old: Side, new: Side, run: _Run, scratch: Path, most_shown: int, *, same_shards: bool) -> Joined:
    """Return the outcome for all documents, matched by name and then by text."""
    numbers: dict[str, int] = {}
    places = _places(old, numbers), _places(new, numbers)
    joined = Joined()
    runs = scratch / "old", scratch / "new"
    for stage, function, columns in (("ids", join_names, COLUMNS), ("texts", join_texts, TEXT_COLUMNS)):
        left = scratch / f"{stage}-old", scratch / f"{stage}-new"
        count = min(max(-(-len(Runs(runs, columns)) // RANGE_ROWS), 1), _TASKS_OF_RANGES)
        tasks = [
            Join(
                number, END * number // count, END * (number + 1) // count, *runs, left, places, same_shards, most_shown
            )
            for number in range(count)
        ]
        for result in run.each(f"comparing {stage}", function, tasks, [0] * count):
            joined.add(result, most_shown)
        runs = left
    return joined


def _places(side: Side, numbers: dict[str, int]) -> Places:
    """Return the places of a release; `numbers` are those of names, equal in both releases."""

    def number(name: str) -> int:
        return numbers.setdefault(name, len(numbers) + 1) if name else 0

    series = side.series
    first = np.cumsum([0, *(len(read.labels) for read in side.read)], dtype=np.int64)
    where = [number(f"/{series[label.shard]}") << SHARD_SHIFT | number(label.language) for label in side.labels]
    return Places(first, np.array(where, np.int64))


def _summed(old: Side, new: Side, joined: Joined, *, same_shards: bool) -> Comparison:
    """Return the comparison of two releases after their documents were matched."""
    counts = _Grouped(old, new)
    for side in (old, new):
        for label, count in enumerate(count for read in side.read for count in read.counts):
            counts.add(side, label, "old" if side is old else "new", count)
    for (kind, label), count in joined.counts.items():
        counts.add(old if kind == REMOVED else new, label, _COUNTED[kind], count)
    said_before, said = (stated(side.entry, _fields(side)) for side in (old, new))
    changed = changes(said_before, said)
    by_language, by_source, by_shard = (dict(sorted(group.items())) for group in counts.groups)
    differ = (old.format, _files(old)) != (new.format, _files(new))
    return Comparison(
        _release(old),
        _release(new),
        counts.whole,
        by_language,
        by_source,
        by_shard,
        same_shards,
        bump(said_before, said, counts.whole, changed, differ=differ),
        list(_differences(old, new, joined)),
        changed,
        [f"{name}: {note}" for name, each in (("old", said_before), ("new", said)) for note in each.notes],
    )


class _Grouped:
    """Counts of all documents, and by language, source and shard."""

    def __init__(self, old: Side, new: Side) -> None:
        self.whole = Counts()
        self.groups: tuple[dict[str, Counts], dict[str, Counts], dict[str, Counts]] = ({}, {}, {})
        self._names = {
            id(side): [(label.language, label.source, side.titles[label.shard]) for label in side.labels]
            for side in (old, new)
        }

    def add(self, side: Side, label: int, what: str, count: int) -> None:
        """Count documents that have a label of a release."""
        names = self._names[id(side)][label]
        counted = (group.setdefault(name, Counts()) for group, name in zip(self.groups, names, strict=True))
        for each in (self.whole, *counted):
            setattr(each, what, getattr(each, what) + count)


def _fields(side: Side) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for read in side.read:
        for name, kinds in read.fields.items():
            if name in found or len(found) < MOST_NAMES:
                found.setdefault(name, set()).update(kinds)
    return found


def _files(side: Side) -> set[tuple[str, int]]:
    return {(file.path, file.size) for shard in side.shards for file in shard.files.values()}


def _release(side: Side) -> ComparedRelease:
    left_out = side.left_out.copy()
    for read in side.read:
        left_out.update(read.left_out)
    return ComparedRelease(
        side.entry.shown,
        side.format.name,
        side.version,
        sum(sum(read.counts) for read in side.read),
        len(side.shards),
        sum(read.rejected for read in side.read),
        sorted(path for read in side.read for path in read.cut),
        dict(sorted(left_out.items())),
        len(side.unread),
        [finding for read in side.read for finding in read.findings][:MOST_FINDINGS],
    )


def _differences(old: Side, new: Side, joined: Joined) -> Iterator[Difference]:
    names = {kind: name.replace("_", "-") for kind, name in _COUNTED.items()}
    for kind in _ORDER:
        for shown in joined.shown.get(kind, ()):
            side, place = (old, shown.old) if shown.new is None else (new, shown.new)
            assert place is not None
            task, number = task_and_number(place)
            identity = id_of(side.parts[task], number)
            yield Difference(names[kind], identity, _place(old, shown.old), _place(new, shown.new))


def _place(side: Side, place: int | None) -> str | None:
    """Return the file of a document, and its number among the readable documents of that file, from 1."""
    if place is None:
        return None
    task, number = task_and_number(place)
    first_rows = side.read[task].first_rows
    shard = max(index for index, first in enumerate(first_rows) if first <= number)
    path = path_of(side.parts[task].shards[shard][1])
    return f"{path}#{number - first_rows[shard] + 1}"


_DESCRIPTION, _MANIFEST = "croissant.json", "MANIFEST.json"
_MOST_BYTES = 64 * 1024 * 1024
# As Semantic Versioning 2.0.0 has it; Croissant takes 1 to 3 numbers.
_VERSION = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+][0-9A-Za-z.+-]*)?")
_NULL = {"null"}
_STEPS = ("major", "minor", "patch")
# Above the number and digest of a rule set: its format and version.
_RULES_OF = "rules of"
_PREFIX = re.compile(r"(?:https?://schema\.org/|sc:|schema:|cr:)")


class _Manifest(Struct):
    """The compared part of a manifest: not its files, since their documents are compared one by one."""

    tool: Any = None
    recipe: Any = None
    model: Any = None
    rules: Any = None
    format: Any = None
    version: Any = None


class Stated(Struct, frozen=True):
    """Statements about a release: by kind, one value or several by name. `notes` name what could not be read."""

    version: str | None
    values: Mapping[str, Mapping[str, str]]
    notes: Sequence[str] = ()
    #: Whether all fields are known.
    has_schema: bool = True


def stated(release: Entry, fields: Mapping[str, set[str]]) -> Stated:
    """Return the statements of a release's description and manifest, and the fields of its documents."""
    notes: list[str] = []
    description = _json(release, _DESCRIPTION, notes) or {}
    plain = {_PREFIX.sub("", name, count=1): value for name, value in description.items()}
    version = plain.get("version")
    values: dict[str, dict[str, str]] = {
        # A field without a value in any document is equivalent to an absent one.
        "schema": {name: " or ".join(sorted(kinds - _NULL)) for name, kinds in fields.items() if kinds != _NULL},
        "licence": {"": ", ".join(sorted(_names(plain.get("license"))))} if plain.get("license") else {},
        **_made(release, notes),
    }
    has_schema = len(fields) < MOST_NAMES
    if not has_schema:
        notes.append(f"{MOST_NAMES:,} fields and attributes, or more: the schema is not compared")
    return Stated(None if version is None else _shown(version), values, notes, has_schema)


def _json(release: Entry, name: str, notes: list[str]) -> Json | None:
    data = _bytes(release, name, notes)
    found = None if data is None else json_object(data)
    if data is not None and found is None:
        notes.append(f"{name} is not a JSON object: not compared")
    return found


def _made(release: Entry, notes: list[str]) -> dict[str, dict[str, str]]:
    """Return how a release was made, according to its manifest."""
    data = _bytes(release, _MANIFEST, notes)
    try:
        found = _Manifest() if data is None else msgspec.json.decode(data, type=_Manifest)
        # Builds and conversions number the forms of their scratch apart: `format` says nothing about rules.
        tool = {name: value for name, value in _flat(found.tool).items() if name != "format"}
        rules = tool | _flat(found.rules, f"{_RULES_OF} {_shown(found.format)} {_shown(found.version)}")
        return {"recipe": _flat(found.recipe), "rules": rules, "model": _flat(found.model)}
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        notes.append(f"{_MANIFEST} is not a JSON object, or is nested too deeply: not compared")
        return {"recipe": {}, "rules": {}, "model": {}}


def _bytes(release: Entry, name: str, notes: list[str]) -> bytes | None:
    entry = release.child(name) if release.kind == "directory" else release if release.name == name else None
    if entry is None or entry.kind != "file":
        return None
    try:
        with entry.open() as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        notes.append(f"{name} cannot be read ({error.strerror}): not compared")
        return None
    if len(data) > _MOST_BYTES:
        notes.append(f"{name} has more than {_MOST_BYTES >> 20} MiB: not compared")
        return None
    return data


def _names(value: Any) -> Iterator[str]:
    """Yield the values of a property: texts, or the names and addresses of objects."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            each = next((each[key] for key in ("@id", "url", "name") if key in each), each)  # noqa: PLW2901
        yield _shown(each)


def _flat(value: Any, above: str = "") -> dict[str, str]:
    """Return the values in nested objects by their names, joined with dots."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {above: _shown(value)}
    found: dict[str, str] = {}
    for name, each in value.items():
        if len(found) < MOST_NAMES:
            found |= _flat(each, f"{above}.{name}" if above else name)
    return found


def _shown(value: Any) -> str:
    return clipped(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def changes(old: Stated, new: Stated) -> list[Change]:
    """Return the statements that differ; a statement of only one release counts if the other states anything."""
    found: list[Change] = []
    for what, values in old.values.items():
        others = new.values[what]
        if what == "schema" and not (old.has_schema and new.has_schema):
            continue
        if what == "rules":
            values, others = _comparable(values, others)  # noqa: PLW2901
        if what in ("recipe", "rules", "model") and not (values and others):
            continue
        found.extend(
            Change(what, clipped(name), values.get(name), others.get(name))
            for name in sorted(values.keys() | others.keys())
            if values.get(name) != others.get(name)
        )
    return found


def _comparable(old: Mapping[str, str], new: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the rule sets of two manifests, if both have that of the same format; else the tools, whose rules they were."""
    sets = [{name: value for name, value in each.items() if name.startswith(_RULES_OF)} for each in (old, new)]
    if sets[0] and sets[0].keys() == sets[1].keys():
        return sets[0], sets[1]
    tools = [{name: value for name, value in each.items() if not name.startswith(_RULES_OF)} for each in (old, new)]
    return tools[0], tools[1]


def bump(old: Stated, new: Stated, documents: Counts, changed: Sequence[Change], *, differ: bool) -> VersionBump:
    """Return the step between two versions and the required step; `differ` is whether any file differs."""
    needed = _needed(documents, changed, differ=differ)
    return VersionBump(old.version, new.version, _step(old.version, new.version), needed)


def _needed(documents: Counts, changed: Sequence[Change], *, differ: bool) -> str:
    schema = [each for each in changed if each.what == "schema"]
    extended = any(each.old is None for each in schema)
    narrowed = any(each.old is not None for each in schema)
    edited = documents.changed_metadata + documents.changed_attributes
    # A field that is added to all documents changes each of them, but no existing value.
    if documents.removed or documents.changed_text or documents.renamed or narrowed or (edited and not extended):
        return "major"
    if documents.added or extended:
        return "minor"
    return "patch" if differ or changed or documents.moved else "none"


def _step(old: str | None, new: str | None) -> str:
    before, after = (_VERSION.fullmatch(each) if each else None for each in (old, new))
    if before is None or after is None:
        return "unknown"
    one, other = ([int(number or 0) for number in each.groups()] for each in (before, after))
    if other < one:
        return "down"
    return next((step for step, a, b in zip(_STEPS, one, other, strict=True) if a != b), "none")
