"""Internal: What one process does of a run of `stats`: all of it, or its share of the tasks (`--shard`), or it joins the parts
that others have written.

A part has what its tasks gave, so that joining all parts is the rest of a run of one process. It is lines of JSON, of which nothing
is trusted: it may be truncated, damaged, of another run, or made up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, BinaryIO, Literal

from msgspec import Meta, Struct, convert
from msgspec.structs import replace

from corpusfmt._version import VERSION
from corpusfmt.engine.partfile import (
    PartFile,
    Scratch,
    ShardNumber,
    checked_lines,
    lines_of,
    positions_of,
    reading,
    record_of,
    refuse_gaps,
    refuse_other_version,
)
from corpusfmt.engine.shares import Share
from corpusfmt.io.keys import refuse_unsound
from corpusfmt.io.paths import is_remote, printable
from corpusfmt.model import UsageError
from corpusfmt.report.machine import dumped
from corpusfmt.statistics.count import Part
from corpusfmt.statistics.domains import public_suffix_list, refuse_unsound_domains
from corpusfmt.statistics.result import Statistics
from corpusfmt.statistics.saved import Saved
from corpusfmt.statistics.sizes import Counted, Size
from corpusfmt.statistics.sketch import Sketch
from corpusfmt.statistics.tokens import TokenizerFile

_START = b'{"kind":"stats-part",'
_SCRATCH_NAME = re.compile(r"(?:lines|documents)/[0-9]{9}-[0-9]{5}-[0-9a-f]{16}\.keys|domains/[0-9]{9}-[0-9]{5}\.run")
_Count = Annotated[int, Meta(ge=0)]


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What is counted: the options that all parts of a run have in common."""

    path: Annotated[str, Meta(pattern=r"^[^\0]*\Z")]
    format: str
    count: list[str]
    record_set: str | None
    follow_links: bool
    text_field: str | None = None
    id_field: str | None = None
    url_field: str | None = None
    date_field: str | None = None
    language_field: str | None = None

    def refuse_store(self) -> None:
        """Raise `UsageError` for a corpus in a store: a part may be made up, and must cause no request."""
        if is_remote(self.path):
            raise UsageError(f"shards count files on this machine, and `{printable(self.path)}` is in a store: copy it")


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line. `plan` is a digest of all tasks, `domains` the version of the list by which these are registered."""

    kind: Literal["stats-part"]
    schema: Literal["corpusfmt-stats-part/1"]
    version: str
    number: ShardNumber
    of: ShardNumber
    asked: Asked
    plan: str
    domains: str
    tokenizer: TokenizerFile | None


class _Task(Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["task"]
    number: _Count
    compared_lines: _Count
    statistics: Saved


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
        self._file = PartFile(file)
        self._share = share

    def tasks(self, tasks: Sequence[Part]) -> Sequence[Part]:
        sizes = [sum(shard.size for shard in task.shards) for task in tasks]
        return [tasks[position] for position in positions_of(self._share, sizes)]

    def results(self, work: Work, counted: Iterator[Counted]) -> Iterator[Counted]:
        share, asked, tasks = self._share, work.asked, work.tasks
        asked.refuse_store()
        self._file.write(
            _Header(
                "stats-part",
                "corpusfmt-stats-part/1",
                VERSION,
                share.number,
                share.of,
                asked,
                _digest_of(tasks),
                _list_of(asked),
                work.tokenizer,
            )
        )
        for task, found in zip(self.tasks(tasks), counted, strict=True):
            whole = Counted(Size({name: Sketch(each.bits) for name, each in work.none.lengths.items()}))
            whole.merge(found)
            record = Statistics.of(whole, "", ("", ""), 0, attributes=True, arranged=False).to_dict()
            self._file.write(
                {"kind": "task", "number": task.task, "compared_lines": found.compared_lines, "statistics": record}
            )
            yield found
        if tasks:
            self._file.write_scratch(tasks[0].scratch)
        self._file.end()


class Parts(Whole):
    """All parts of a run: no task is run again."""

    def __init__(self, headers: Sequence[tuple[Path, _Header]]) -> None:
        self._headers = headers
        self.asked = headers[0][1].asked
        self.tokenizer = headers[0][1].tokenizer

    def tasks(self, tasks: Sequence[Part]) -> Sequence[Part]:
        del tasks
        return ()

    def results(self, work: Work, counted: Iterator[Counted]) -> Iterator[Counted]:
        """Fill the scratch folder, then yield what the tasks gave. Raises `UsageError` for parts of other files."""
        del counted
        tasks = work.tasks
        places: dict[int, tuple[Path, int]] = {}
        for path, header in self._headers:
            if header.plan != _digest_of(tasks):
                raise UsageError(f"{printable(str(path))} is of other files than there are now: run all shards again")
            with _reading(path):
                places |= {number: (path, offset) for number, offset in _taken(path, tasks[0].scratch).items()}
        if tasks:
            with _reading(self._headers[0][0]):
                refuse_unsound(tasks[0].scratch.rglob("*.keys"), range(len(tasks)))
                refuse_unsound_domains(tasks[0].scratch.rglob("*.run"))
        for task in tasks:
            if task.task not in places:
                raise UsageError(f"no part has a result of {printable(task.shards[0].name)}: run all shards again")
            path, offset = places[task.task]
            with _reading(path):
                record = convert(record_of(next(lines_of(path, offset))[1]), _Task)
                found = record.statistics.counted()
                found.compared_lines = record.compared_lines
                if any(each.lengths.keys() != work.none.lengths.keys() for each in found.sizes):
                    raise ValueError("something else was counted")
            yield found


def _taken(path: Path, scratch: Path) -> dict[int, int]:
    """Return where the results of tasks are in a part, and copy its scratch files."""
    found: dict[int, int] = {}
    for offset, line in lines_of(path):
        record = record_of(line)
        if record["kind"] == "task":
            found[convert(record["number"], _Count)] = offset
        elif record["kind"] == "scratch":
            piece = convert(record, Scratch)
            if not _SCRATCH_NAME.fullmatch(piece.path):
                raise ValueError("no such file")
            piece.append_to(scratch)
    return found


def is_part(path: str) -> bool:
    """Return whether a file begins like a part."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(len(_START)) == _START


def parts_at(paths: Sequence[str]) -> Parts:
    """Return the parts in files. Raises `UsageError` for those that do not belong together, `Incomplete` if some are missing."""
    headers = [(Path(path), _header_of(Path(path))) for path in paths]
    first_path, first = headers[0]
    first.asked.refuse_store()
    for path, header in headers:
        if replace(header, number=first.number) != first:
            names = f"{printable(str(path))} and {printable(str(first_path))}"
            raise UsageError(f"{names} are of different runs: join the parts of one run")
    refuse_gaps([(header.number, path) for path, header in headers], first.of)
    return Parts(headers)


def _header_of(path: Path) -> _Header:
    if not is_part(str(path)):
        raise UsageError(f"{printable(str(path))} is not a part that `corpusfmt stats --shard` wrote: join parts alone")
    with _reading(path):
        record = record_of(next(lines_of(path))[1])
        refuse_other_version(path, str(record["version"]))
        header = convert(record, _Header)
        if header.number > header.of:
            raise ValueError("no such part")
        for _ in checked_lines(path):
            pass
        return header


def _list_of(asked: Asked) -> str:
    return public_suffix_list() if "domains" in asked.count else ""


def _digest_of(tasks: Sequence[Part]) -> str:
    """Return a digest of the tasks: of the format, and of the names and sizes of the files in each."""
    digest = hashlib.sha256()
    for task in tasks:
        for shard in task.shards:
            files = [(role, entry.path, entry.size) for role, entry in shard.files.items()]
            plan = [task.format, task.options.version, task.task, shard.index, shard.name, shard.read_as, files]
            digest.update(dumped(plan).encode() + b"\n")
    return digest.hexdigest()


def _reading(path: Path) -> AbstractContextManager[None]:
    return reading(path, "stats")
