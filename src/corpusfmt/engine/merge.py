"""Internal: The parts of a run, read in place of checking the shards; all else is decided as in a run of one process.

Nothing in a part is trusted: it may be truncated, damaged, of another run, or made up.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path

from msgspec import Struct, convert
from msgspec.structs import asdict, replace

from corpusfmt.engine.partfile import (
    Scratch,
    checked_lines,
    lines_of,
    reading,
    record_of,
    refuse_gaps,
    refuse_other_version,
)
from corpusfmt.engine.parts import Columns, End, Hashed, Header, Input, Planned, Result
from corpusfmt.engine.sharing import Asked, LookedAt, Outcome, Whole, Work
from corpusfmt.formats import Format, Shard, ShardResult
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.keys import refuse_unsound
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.looking import Looked
from corpusfmt.io.ondisk import ByName
from corpusfmt.io.paths import printable
from corpusfmt.model import Json, UsageError
from corpusfmt.report.saved import Count

_INPUT = b'{"kind":"input",'
# A place packs the number of a part, from 1, and an offset in its file.
_OFFSET_BITS = 44


class _Part(Struct, frozen=True):
    """A whole part; `inputs` has the offset of the line of each input, by its number."""

    path: Path
    header: Header
    end: End
    inputs: Mapping[int, int]

    def __str__(self) -> str:
        return printable(str(self.path))

    def records(self, offset: int) -> Iterator[tuple[int, Json]]:
        """Yield the records from a line on, each with its offset."""
        for at, line in lines_of(self.path, offset):
            yield at, record_of(line)


class Parts(Whole):
    """All parts of one run: no shard is checked again, and no file read that they know."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self._number = 0
        # What is known of files of the present path, apart from the checks of shards.
        self._columns = LookedAt()
        self.hashed: dict[str, FileFacts] = {}

    @property
    def asked(self) -> Asked:
        """The options of the run."""
        return self._parts[0].header.asked

    @property
    def started(self) -> str:
        """When the first of them began."""
        return min(part.header.started for part in self._parts)

    def next_input(self) -> None:
        self._number += 1
        self._columns, self.hashed = LookedAt(), {}

    def shards_here(self, shards: Sequence[Shard]) -> Sequence[int]:
        del shards
        return ()

    def columns(self, looked: Iterable[tuple[str, Looked]]) -> ByName[Looked]:
        return ByName(chain(looked, self._columns))

    def outcomes(self, work: Work, checks: Iterator[Outcome]) -> Iterator[Outcome]:
        """Fill the scratch folder, then yield what the checks of the shards gave, in their order.

        Raises `UsageError` for parts that are damaged, or of other files or rules; and after all results `LimitReached`, if a
        limit ended a part early, or all parts together exceed one.
        """
        del checks
        scratch = work.options.scratch
        assert scratch is not None
        planned, shards = Planned.of(work), work.shards
        places = array("Q", bytes(8 * len(shards)))
        indexes = {shard.index for shard in shards}
        for number, part in enumerate(self._parts, 1):
            with _reading(part.path):
                left = self._take(part, number << _OFFSET_BITS, planned, places, scratch)
                refuse_unsound((path for path in left if path.suffix == ".keys"), indexes)
        limit = next((part.end.limit for part in self._parts if part.end.limit), None)
        for shard, place in zip(shards, places, strict=True):
            if place:
                yield shard, self._result(work.fmt, place)
            elif limit is None:
                raise UsageError(f"no part has a result of {printable(shard.name)}: run all shards again")
        if limit is not None:
            raise LimitReached(*limit)
        work.meter.read += sum(part.end.read for part in self._parts)
        work.meter.limits.check(work.meter.total)

    def _take(self, part: _Part, base: int, planned: Planned, places: array[int], scratch: Path) -> set[Path]:
        """Note where the results of a part are, and copy its scratch files, which are returned."""
        copied: set[Path] = set()
        if self._number not in part.inputs:
            raise UsageError(f"{part} has nothing about path {self._number}: run its shard again")
        records = part.records(part.inputs[self._number])
        _refuse_other_plan(part, convert(next(records)[1], Input).planned, planned)
        for offset, record in records:
            if record["kind"] == "shard":
                position = convert(record["position"], Count)
                if places[position]:
                    raise ValueError(f"a second result of shard {position}")
                places[position] = base | offset
            elif record["kind"] == "scratch":
                copied.add(convert(record, Scratch).append_to(scratch))
            elif record["kind"] == "columns":
                columns = convert(record, Columns)
                self._columns.note(columns.path, columns.found)
            elif record["kind"] == "hashed":
                found = convert(record, Hashed)
                self.hashed[found.path] = FileFacts(found.size, found.sha256)
            else:
                break
        return copied

    def _result(self, fmt: Format, place: int) -> ShardResult:
        part = self._parts[(place >> _OFFSET_BITS) - 1]
        with _reading(part.path):
            _, record = next(part.records(place & ((1 << _OFFSET_BITS) - 1)))
            return convert(record, Result).result(fmt)


def parts_at(paths: Sequence[str]) -> Parts:
    """Return the parts in files. Raises `UsageError` for those that do not belong together, `Incomplete` if some are missing."""
    parts: list[_Part] = []
    for path in paths:
        part = _part_at(path)
        if parts:
            _refuse_other_run(part, parts[0])
            # Baselines may be large, and all parts have the same.
            part = replace(part, header=replace(part.header, asked=parts[0].header.asked))
        parts.append(part)
    parts.sort(key=lambda part: part.header.number)
    refuse_gaps([(part.header.number, part.path) for part in parts], parts[0].header.of)
    return Parts(parts)


def _part_at(name: str) -> _Part:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"part {printable(name)} is not a file on this machine")
    with _reading(path):
        header = _header(path, next(lines_of(path))[1])
        inputs: dict[int, int] = {}
        line = b""
        for offset, line in checked_lines(path):
            if line.startswith(_INPUT):
                inputs[convert(record_of(line), Input).number] = offset
        return _Part(path, header, convert(record_of(line), End), inputs)


def _header(path: Path, line: bytes) -> Header:
    record = record_of(line)
    if record["kind"] != "part":
        raise ValueError("the first line is missing")
    refuse_other_version(path, str(record["tool"]["version"]))
    header = convert(record, Header)
    if header.number > header.of:
        raise ValueError("no such part")
    return header


def _refuse_other_run(part: _Part, first: _Part) -> None:
    mine, others = ({"shard": each.header.of} | asdict(each.header.asked) for each in (part, first))
    if differing := [name for name in mine if mine[name] != others[name]]:
        options = ", ".join(f"`{name.replace('_', '-')}`" for name in differing)
        raise UsageError(f"{part} and {first} are of different runs, with other {options}: merge the parts of one run")


def _refuse_other_plan(part: _Part, then: Planned, now: Planned) -> None:
    if then == now:
        return
    what = "rules, or another profile or blocklist" if replace(then, rules=now.rules) == now else "files"
    raise UsageError(f"{part} is of other {what} than there are now: run all shards again")


def _reading(path: Path) -> AbstractContextManager[None]:
    return reading(path, "validate")
