"""Internal: What one process does of a run of `stats`: all of it, or its share of the tasks (`--shard`), or it joins the parts
that others have written.

A part has what its tasks gave, so that joining all parts is the rest of a run of one process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from msgspec import Struct, convert

from corpusfmt.engine.parts import Part as PartRead
from corpusfmt.engine.parts import PartFile, append_scratch, parts_in, positions_of
from corpusfmt.engine.shares import Share
from corpusfmt.model import UsageError
from corpusfmt.report.machine import dumped
from corpusfmt.statistics.count import Part
from corpusfmt.statistics.domains import public_suffix_list
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.saved import Saved
from corpusfmt.statistics.sizes import Counted, Size
from corpusfmt.statistics.sketch import Sketch
from corpusfmt.statistics.tokens import TokenizerFile

_SCHEMA = "corpusfmt-stats-part/1"


class Asked(Struct, frozen=True):
    """What is counted: the options that all parts of a run have in common."""

    path: str
    format: str
    count: list[str]
    record_set: str | None
    follow_links: bool
    text_field: str | None = None
    id_field: str | None = None
    url_field: str | None = None
    date_field: str | None = None
    language_field: str | None = None
    source_field: str | None = None


class _Planned(Struct, frozen=True):
    """A digest of all tasks, the version of the list by which domains are registered, and the tokenizer."""

    tasks: str
    domains: str
    tokenizer: TokenizerFile | None


class Work(Struct, frozen=True):
    """What is counted, and how; `none` is the size of no documents."""

    asked: Asked
    tasks: Sequence[Part]
    none: Size
    tokenizer: TokenizerFile | None


class Whole:
    """A run of one process. Others override what they do."""

    #: Whether all tasks are counted, so that repeats and domains are known.
    judges = True
    #: What counted tokens elsewhere.
    tokenizer: TokenizerFile | None = None

    def tasks(self, tasks: Sequence[Part]) -> Sequence[Part]:
        """Return the tasks that are run here."""
        return tasks

    def results(self, work: Work, counted: Iterator[Counted]) -> Iterator[Counted]:
        """Yield the counts of tasks, in order; `counted` yields those that are run here."""
        del work
        return counted


WHOLE = Whole()


class PartWriter(Whole):
    """Counts a share of the tasks, and writes what that gave."""

    judges = False

    def __init__(self, file: BinaryIO, share: Share) -> None:
        self._file = file
        self._share = share

    def tasks(self, tasks: Sequence[Part]) -> Sequence[Part]:
        sizes = [sum(shard.size for shard in task.shards) for task in tasks]
        return [tasks[position] for position in positions_of(self._share, sizes)]

    def results(self, work: Work, counted: Iterator[Counted]) -> Iterator[Counted]:
        file = PartFile(self._file, _SCHEMA, self._share, work.asked)
        file.write({"kind": "input", "planned": _planned(work, work.tokenizer)})
        for task, found in zip(self.tasks(work.tasks), counted, strict=True):
            whole = Counted(Size({name: Sketch(each.bits) for name, each in work.none.lengths.items()}))
            whole.merge(found)
            record = Statistics.of(whole, "", ("", ""), 0, attributes=True, arranged=False).to_dict()
            file.write(
                {"kind": "task", "number": task.task, "compared_lines": found.compared_lines, "statistics": record}
            )
            yield found
        if work.tasks:
            file.write_scratch(work.tasks[0].scratch)
        file.end()


class Parts(Whole):
    """All parts of a run: no task is run again."""

    def __init__(self, parts: Sequence[PartRead], asked: Asked) -> None:
        self._parts = parts
        self.asked = asked
        self._planned = [convert(next(part.records(part.inputs[0]))[1]["planned"], _Planned) for part in parts]
        self.tokenizer = self._planned[0].tokenizer

    def tasks(self, tasks: Sequence[Part]) -> Sequence[Part]:
        del tasks
        return ()

    def results(self, work: Work, counted: Iterator[Counted]) -> Iterator[Counted]:
        """Fill the scratch folder, then yield what the tasks gave. Raises `UsageError` for parts of other files."""
        del counted
        now = _planned(work, self.tokenizer)
        places: dict[int, tuple[PartRead, int]] = {}
        for part, planned in zip(self._parts, self._planned, strict=True):
            if planned != now:
                raise UsageError(
                    f"{part} is of other files, or another tokenizer or list of domains: run all shards again"
                )
            for offset, record in part.records(part.inputs[0]):
                if record["kind"] == "task":
                    places[record["number"]] = part, offset
                elif record["kind"] == "scratch":
                    append_scratch(record, work.tasks[0].scratch)
        for task in work.tasks:
            part, offset = places[task.task]
            _, record = next(part.records(offset))
            found = convert(record["statistics"], Saved).counted()
            found.compared_lines = record["compared_lines"]
            yield found


def parts_at(paths: Sequence[str]) -> Parts:
    """Return the parts in files. Raises `UsageError` for those that do not belong together, `Incomplete` if some are missing."""
    return Parts(*parts_in(paths, _SCHEMA, "stats", Asked))


def _planned(work: Work, tokenizer: TokenizerFile | None) -> _Planned:
    digest = hashlib.sha256()
    for task in work.tasks:
        for shard in task.shards:
            files = [(role, entry.path, entry.size) for role, entry in shard.files.items()]
            plan = [task.format, task.options.version, task.task, shard.index, shard.name, shard.read_as, files]
            digest.update(dumped(plan).encode() + b"\n")
    domains = public_suffix_list() if "domains" in work.asked.count else ""
    return _Planned(digest.hexdigest(), domains, tokenizer)
