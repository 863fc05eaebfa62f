"""Internal: One of the compared releases: its format, its shards, and the tasks that read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, field

from corpusfmt.comparison.matching import MOST_TASKS
from corpusfmt.comparison.reading import OR_SKIP, Label, OnBadRecord, Part, PartRead
from corpusfmt.conversion.corpus import corpus_at
from corpusfmt.conversion.layout import count_unread, name_of, unread_files
from corpusfmt.conversion.options import Losses
from corpusfmt.formats import CheckOptions, Format, Reader, ReadOptions, Shard
from corpusfmt.io.paths import Entry

# Small shards share a task: each task writes a file of runs, and each matching task reads all these files.
_TASKS = 400
_BYTES_A_TASK = 8 * 1024 * 1024
_SHARDS_A_TASK = 1_000
# The maximum number of labels of a release, and of a task: they are held in memory.
_LABELS, _LABELS_OF_TASK = 1_000_000, 100_000
# A task ends at a number of bytes or of shards.
assert 2 * _TASKS + 1 < MOST_TASKS


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
    parts: list[Part] = field(default_factory=list)
    read: list[PartRead] = field(default_factory=list)

    @property
    def runs(self) -> list[Path]:
        return [part.runs for part in self.parts]

    @property
    def labels(self) -> list[Label]:
        return [label for read in self.read for label in read.labels]

    @property
    def series(self) -> list[str]:
        """The shards without the numbers of parts."""
        return [_title(shard, whole=False) for shard in self.shards]


def side_at(
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


def parts(side: Side, on_bad_record: OnBadRecord, scratch: Path, name: str) -> Iterator[Part]:
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
            runs = scratch / f"{name}-{task:05}"
            yield Part(side.format.name, options, tuple(held), task, most_labels, side_by_side, on_bad_record, runs)
            held, size, task = [], 0, task + 1
