"""Internal: The parts of a run, read in place of checking the shards; all else is decided as in a run of one process.

Nothing in a part is trusted: it may be truncated, damaged, of another run, or made up.
"""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import xxhash
from msgspec import MsgspecError, Struct, convert
from msgspec.structs import asdict, replace

from corpusfmt._version import VERSION
from corpusfmt.engine.parts import (
    SCHEMA,
    TOOL,
    Columns,
    End,
    Hashed,
    Header,
    Input,
    Planned,
    Result,
    Scratch,
)
from corpusfmt.engine.sharing import Asked, Outcome, Whole
from corpusfmt.formats import CheckOptions, Format, Shard, ShardResult
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.keys import refuse_unsound
from corpusfmt.io.limits import LimitReached, Meter
from corpusfmt.io.looking import Looked
from corpusfmt.io.paths import printable
from corpusfmt.io.text import has_too_many_values
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.report.saved import MOST_BYTES, MOST_VALUES, Count
from corpusfmt.wording import clipped, plural

_INPUT = b'{"kind":"input",'
_MOST_NAMED = 10
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
        with self.path.open("rb") as file:
            file.seek(offset)
            for line in _lines(file):
                yield offset, _record(line)
                offset += len(line)


class Parts(Whole):
    """All parts of one run: no shard is checked again, and no file read that they know."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self._number = 0
        # What is known of files of the present path, apart from the checks of shards.
        self._columns: dict[str, Looked] = {}
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
        self._columns, self.hashed = {}, {}

    def shards_here(self, shards: Sequence[Shard]) -> Sequence[int]:
        del shards
        return ()

    def columns(self, looked: Mapping[str, Looked]) -> dict[str, Looked]:
        del looked
        return dict(self._columns)

    def outcomes(
        self,
        fmt: Format,
        version: str,
        shards: Sequence[Shard],
        options: CheckOptions,
        meter: Meter,
        checks: Iterator[Outcome],
    ) -> Iterator[Outcome]:
        """Fill the scratch folder, then yield what the checks of the shards gave, in their order.

        Raises `UsageError` for parts that are damaged, or of other files or rules; and after all results `LimitReached`, if a
        limit ended a part early, or all parts together exceed one.
        """
        del checks
        scratch = options.scratch
        assert scratch is not None
        planned = Planned.of(fmt, version, shards, options)
        places = array("Q", bytes(8 * len(shards)))
        indexes = {shard.index for shard in shards}
        for number, part in enumerate(self._parts, 1):
            with _reading(part.path):
                left = self._take(part, number << _OFFSET_BITS, planned, places, scratch)
                refuse_unsound((path for path in left if path.suffix == ".keys"), indexes)
        limit = next((part.end.limit for part in self._parts if part.end.limit), None)
        for shard, place in zip(shards, places, strict=True):
            if place:
                yield shard, self._result(fmt, place)
            elif limit is None:
                raise UsageError(f"no part has a result of {printable(shard.name)}: run all shards again")
        if limit is not None:
            raise LimitReached(*limit)
        meter.read += sum(part.end.read for part in self._parts)
        meter.limits.check(meter.total)

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
                piece = convert(record, Scratch)
                target = scratch / piece.path
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("ab") as file:
                    file.write(base64.b64decode(piece.data, validate=True))
                copied.add(target)
            elif record["kind"] == "columns":
                self._columns[record["path"]] = convert(record, Columns).found
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
    first = parts[0].header
    for one, other in pairwise(parts):
        if one.header.number == other.header.number:
            raise UsageError(f"{one} and {other} are both part {one.header.number} of {first.of}: name one of them")
    found = {part.header.number for part in parts}
    if len(found) < first.of:
        missing = [str(number) for number in range(1, first.of + 1) if number not in found]
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        raise Incomplete(
            f"{plural(len(missing), 'part')} of {first.of} missing: {', '.join(missing[:_MOST_NAMED])}{more}; "
            f"run the shard with `--shard {missing[0]}/{first.of}`"
        )
    return Parts(parts)


def _part_at(name: str) -> _Part:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"part {printable(name)} is not a file on this machine")
    with _reading(path), path.open("rb") as file:
        header = _header(path, next(_lines(file), b""))
        inputs: dict[int, int] = {}
        checksum, offset, end, last = xxhash.xxh3_128(), 0, b"", b""
        file.seek(0)
        for line in _lines(file):
            checksum.update(last)
            offset += len(last)
            end, last = last, line
            if line.startswith(_INPUT):
                inputs[convert(_record(line), Input).number] = offset
        if _record(last) != {"kind": "checksum", "xxh3": checksum.hexdigest()}:
            raise ValueError("the checksum differs")
        return _Part(path, header, convert(_record(end), End), inputs)


def _header(path: Path, line: bytes) -> Header:
    record = _record(line)
    if record["kind"] != "part":
        raise ValueError("the first line is missing")
    if (record["schema"], record["tool"]) != (SCHEMA, TOOL):
        found = convert(record["tool"], dict[str, str]).get("version", "")
        raise UsageError(
            f"{printable(str(path))} is of corpusfmt {clipped(found)}, this is {VERSION}: merge with that version, or run all shards again"
        )
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


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(MOST_BYTES + 1):
        if len(line) > MOST_BYTES:
            raise ValueError("a line is too long")
        yield line


def _record(line: bytes) -> Json:
    if has_too_many_values(line, MOST_VALUES):
        raise ValueError("a line has too many values")
    return convert(json.loads(line.decode("utf-8")), Json)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Raise `UsageError` for a part that is not what is written."""
    try:
        yield
    except (ValueError, LookupError, TypeError, RecursionError, StopIteration, MsgspecError) as error:
        raise UsageError(
            f"{printable(str(path))} is damaged, or not a part that `corpusfmt validate --shard` wrote: run its shard again"
        ) from error
