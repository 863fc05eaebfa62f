"""Internal: Parts of a run, of `validate` or of `stats`: how one is written, and how all are read in place of doing the work again.

A part is lines of JSON: a header, what the tasks of one process gave, an end, and a checksum. It has nothing that the rest of the run
decides from that (`schemas/report/part.schema.json`): all else is decided as in a run of one process.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar, cast

import xxhash
from msgspec import MsgspecError, Struct, convert, to_builtins

from corpusfmt._version import VERSION
from corpusfmt.engine.run import now
from corpusfmt.engine.shares import Share
from corpusfmt.engine.sharing import Asked, Whole, Work
from corpusfmt.formats import CheckOptions, Format, ShardResult
from corpusfmt.hub.rules import RULES as HUB_RULES
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import LimitReached, Meter
from corpusfmt.io.paths import Entry, is_url, printable, refuse_replaced
from corpusfmt.manifest.rules import RULES as MANIFEST_RULES
from corpusfmt.model import Incomplete, Json, Severity, Tally, UsageError, coverage_record, finding_record
from corpusfmt.report.machine import dumped
from corpusfmt.report.saved import Code, CoverageRecord, FindingRecord
from corpusfmt.wording import clipped, masked, plural

R = TypeVar("R")


class Kind(Struct, Generic[R], frozen=True):
    """How the parts of a command are written and read; `asked` is the type of its options.

    `planned` returns what all parts must have in common besides the files at a path, called `others` in an error; `record`
    and `result` turn the result of a task to JSON and back. They take what the `Work` is about.
    """

    schema: str
    command: str
    asked: type[Any]
    planned: Callable[[Any], Json]
    record: Callable[[Any, R], Json]
    result: Callable[[Any, Json], R]
    others: str


def _planned(kind: Kind[Any], work: Work) -> Json:
    files = hashlib.sha256()
    for task in work:
        for shard in task:
            entries = [(role, entry.path, entry.size) for role, entry in shard.files.items()]
            files.update(dumped([shard.index, shard.name, shard.read_as, entries]).encode())
    found = {"shards": len(work.tasks), "files": files.hexdigest(), **kind.planned(work.about)}
    return cast("Json", to_builtins(found))


def digest_of_rules(fmt: Format, options: CheckOptions) -> str:
    """Return a digest of all rules, of what profiles make of them, and of the blocklist."""
    every = (*fmt.rules, *MANIFEST_RULES, *HUB_RULES)
    rules = [(rule.code, rule.slug, rule.severity, sorted(rule.grades.items())) for rule in every]
    blocked = ""
    if options.blocklist is not None:
        with Path(options.blocklist).open("rb") as file:
            blocked = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(dumped([rules, to_builtins(options.grading.profiles), blocked]).encode()).hexdigest()


_Counts = list[tuple[Code, str, str, int]]


class Result(Struct, frozen=True):
    """What the check of a shard gave."""

    seconds: float
    coverage: CoverageRecord
    counts: list[tuple[Code, Severity, str, int]]
    suppressed: _Counts
    regraded: _Counts
    findings: list[FindingRecord]
    passed_over: list[FindingRecord]
    facts: Any
    read: dict[str, tuple[int, str]]

    def result(self, fmt: Format) -> ShardResult:
        """Return the result, as the check gave it."""
        tally = Tally(
            findings=[each.finding for each in self.findings],
            counts=Counter({(code, severity, path): count for code, severity, path, count in self.counts}),
            suppressed=_counter(self.suppressed),
            regraded=_counter(self.regraded),
            passed_over={(each.rule, each.location.path): each.finding for each in self.passed_over},
        )
        facts = None if self.facts is None else convert(self.facts, fmt.facts)
        read = {url: FileFacts(size, sha256) for url, (size, sha256) in self.read.items()}
        return ShardResult(tally, self.coverage.coverage, facts, self.seconds, read)


def _counter(counts: _Counts) -> Counter[tuple[str, str, str]]:
    return Counter({(code, path, reason): count for code, path, reason, count in counts})


def record_of(fmt: Format, result: ShardResult) -> Json:
    """Return what the check of a shard gave in the form of a `Result`."""
    tally = result.tally
    if result.facts is not None and fmt.facts is None:
        raise UsageError(f"the format {fmt.name} does not declare the type of its facts: remove --shard")
    return {
        "seconds": result.seconds,
        "coverage": coverage_record(result.coverage),
        "counts": [(*key, count) for key, count in tally.counts.items()],
        "suppressed": [(*key, count) for key, count in tally.suppressed.items()],
        "regraded": [(*key, count) for key, count in tally.regraded.items()],
        "findings": list(map(finding_record, tally.findings)),
        "passed_over": list(map(finding_record, tally.passed_over.values())),
        "facts": result.facts,
        "read": {url: (facts.size, facts.sha256) for url, facts in result.read.items()},
    }


#: The parts of a report; the results depend on the format, its version, and the options.
CHECKS: Kind[ShardResult] = Kind(
    "corpusfmt-part/1",
    "validate",
    Asked,
    lambda about: {"format": about[0].name, "version": about[1], "rules": digest_of_rules(about[0], about[2])},
    lambda about, result: record_of(about[0], result),
    lambda about, record: convert(record, Result).result(about[0]),
    "rules, or another profile or blocklist",
)
_INPUT = b'{"kind":"input",'
_PIECE_BYTES = 1 << 19
_MOST_NAMED = 10


class PartWriter(Whole):
    """Writes the part of one process: what its share of the tasks gives. Nothing is judged from a share."""

    judges = False

    def __init__(self, file: BinaryIO, share: Share, kind: Kind[Any]) -> None:
        self._file = file
        self._checksum = xxhash.xxh3_128()
        self._share = share
        self._kind = kind
        self._number = 0
        self._read = 0
        self._limit: LimitReached | None = None
        # The files of all tasks, by whether their task is done here.
        self._sharded: dict[str, bool] = {}

    def ask(self, asked: Struct) -> None:
        """Write what was asked, without the credentials in URLs."""
        tool = {"name": "corpusfmt", "version": VERSION}
        numbers = {"number": self._share.number, "of": self._share.of, "started": now()}
        self._write(
            {"kind": "part", "schema": self._kind.schema, "tool": tool, **numbers, "asked": _masked(to_builtins(asked))}
        )

    def next_input(self) -> None:
        self._number += 1

    def positions(self, sizes: Sequence[int]) -> list[int]:
        # Shares take turns at the largest, so that all take as long.
        largest_first = sorted(range(len(sizes)), key=lambda position: -sizes[position])
        return sorted(self._share.taken(largest_first))

    def files_here(self, files: Sequence[Entry]) -> Sequence[int]:
        shared = [place for place, entry in enumerate(files) if entry.path not in self._sharded]
        own = [place for place, entry in enumerate(files) if self._sharded.get(entry.path)]
        return sorted([*own, *(shared[place] for place in self.positions([files[each].size for each in shared]))])

    def results(self, work: Work, results: Iterator[R], meter: Meter) -> Iterator[tuple[int, R]]:
        """Write results as they pass."""
        del meter
        self._write({"kind": "input", "number": self._number, "planned": _planned(self._kind, work)})
        here = self.positions(work.sizes)
        own = set(here)
        for position, task in enumerate(work):
            self._sharded |= {entry.path: position in own for shard in task for entry in shard.files.values()}
        try:
            for position, result in zip(here, results, strict=True):
                self._write({"kind": "shard", "position": position, **self._kind.record(work.about, result)})
                yield position, result
        except LimitReached as limit:
            self._limit = self._limit or limit
            raise

    def note(self, found: FileFacts, path: str) -> None:
        self._write({"kind": "hashed", "path": path, "size": found.size, "sha256": found.sha256})

    def keep(self, scratch: Path, read: int) -> None:
        """Write all files in the scratch folder, in pieces that follow each other."""
        self._read += read
        for path in sorted(each for each in scratch.rglob("*") if each.is_file()):
            name = path.relative_to(scratch).as_posix()
            with path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    self._write({"kind": "scratch", "path": name, "data": base64.b64encode(piece).decode()})

    def end(self) -> None:
        """Write the end: the bytes that were read, and reason and hint of a limit that ended the part early."""
        limit = (self._limit.reason, self._limit.hint) if self._limit else None
        self._write({"kind": "end", "read": self._read, "limit": limit})
        self._file.write(dumped({"kind": "checksum", "xxh3": self._checksum.hexdigest()}).encode() + b"\n")

    def _write(self, record: Json) -> None:
        line = dumped(to_builtins(record)).encode() + b"\n"
        self._checksum.update(line)
        self._file.write(line)


class Parts(Whole):
    """All parts of one run: no task is done again, and no file read that they know."""

    def __init__(self, parts: Sequence[Part], asked: Any, kind: Kind[Any]) -> None:
        self._parts = parts
        self.asked = asked
        self._kind = kind
        #: When the first of them began.
        self.started: str = min(part.header["started"] for part in parts)
        self._number = 0
        # What is known of files of the present path, apart from the tasks.
        self.hashed: dict[str, FileFacts] = {}

    def next_input(self) -> None:
        self._number += 1
        self.hashed = {}

    @property
    def planned(self) -> Json:
        """What the parts have planned at the present path."""
        found: Json = next(self._records(self._parts[0]))[1]["planned"]
        return found

    def _records(self, part: Part) -> Iterator[tuple[int, Json]]:
        if len(part.inputs) < self._number:
            raise UsageError(f"{part} has nothing about path {self._number}: run its shard again")
        return part.records(part.inputs[self._number - 1])

    def positions(self, sizes: Sequence[int]) -> Sequence[int]:
        del sizes
        return ()

    def results(self, work: Work, results: Iterator[R], meter: Meter) -> Iterator[tuple[int, R]]:
        """Fill the scratch folder, then yield what the tasks gave, in their order.

        Raises `UsageError` for parts of other files or rules; and after all results `LimitReached`, if a
        limit ended a part early, or all parts together exceed one.
        """
        del results
        now_planned = _planned(self._kind, work)
        places: dict[int, tuple[Part, int]] = {}
        for part in self._parts:
            records = self._records(part)
            planned = next(records)[1]["planned"]
            if planned != now_planned:
                what = self._kind.others if planned["files"] == now_planned["files"] else "files"
                raise UsageError(f"{part} is of other {what} than there are now: run all shards again")
            for offset, record in records:
                if record["kind"] == "shard":
                    places[record["position"]] = part, offset
                elif record["kind"] == "scratch":
                    append_scratch(record, work.scratch)
                elif record["kind"] == "hashed":
                    self.hashed[record["path"]] = FileFacts(record["size"], record["sha256"])
                else:
                    break
        limit = next((part.end["limit"] for part in self._parts if part.end["limit"]), None)
        for position, task in enumerate(work):
            if position in places:
                part, offset = places[position]
                try:
                    result = self._kind.result(work.about, next(part.records(offset))[1])
                except (ArithmeticError, LookupError, TypeError, ValueError, MsgspecError) as error:
                    raise _damaged(part.path, self._kind) from error
                yield position, result
            elif limit is None:
                raise UsageError(f"no part has a result of {printable(task[0].name)}: run all shards again")
        if limit is not None:
            raise LimitReached(*limit)
        meter.read += sum(part.end["read"] for part in self._parts)
        meter.limits.check(meter.total)


class Part(Struct, frozen=True):
    """A whole part; `inputs` are the offsets of its inputs, in order."""

    path: Path
    header: Json
    inputs: list[int]
    end: Json

    def __str__(self) -> str:
        return printable(str(self.path))

    def records(self, offset: int) -> Iterator[tuple[int, Json]]:
        """Yield the records from a line on, each with its offset."""
        with _opened(self.path) as file:
            file.seek(offset)
            for line in file:
                yield offset, json.loads(line)
                offset += len(line)


def append_scratch(record: Json, scratch: Path) -> None:
    """Append a piece to its file in the scratch folder."""
    target = scratch / record["path"]
    if scratch.resolve() not in target.resolve().parents:
        raise UsageError(f"a part has the file {printable(record['path'])}, which leads elsewhere")
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("ab") as file:
        file.write(base64.b64decode(record["data"]))


def parts_at(paths: Sequence[str], kind: Kind[Any]) -> Parts:
    """Return the parts of one run in files.

    Raises `UsageError` for parts that are damaged or do not belong together, `Incomplete` if some are missing.
    """
    parts: list[Part] = []
    asked: Any = None
    for path in paths:
        part = _part_at(Path(path), kind)
        own = {"shard": part.header["of"], **part.header.pop("asked")}
        if parts and (differing := [name for name in own if own[name] != asked[name]]):
            options = ", ".join(f"`{name.replace('_', '-')}`" for name in differing)
            raise UsageError(
                f"{part} and {parts[0]} are of different runs, with other {options}: join the parts of one run"
            )
        asked = own
        parts.append(part)
    parts.sort(key=lambda part: part.header["number"])
    of = asked.pop("shard")
    numbers = Counter(part.header["number"] for part in parts)
    number, times = numbers.most_common(1)[0]
    if times > 1:
        one, other, *_ = (part for part in parts if part.header["number"] == number)
        raise UsageError(f"{one} and {other} are both part {number} of {of}: name one of them")
    if len(numbers) < of:
        missing = [str(number) for number in range(1, of + 1) if number not in numbers]
        more = f" and {len(missing) - _MOST_NAMED:,} more" if len(missing) > _MOST_NAMED else ""
        raise Incomplete(
            f"{plural(len(missing), 'part')} of {of} missing: {', '.join(missing[:_MOST_NAMED])}{more}; "
            f"run the shard with `--shard {missing[0]}/{of}`"
        )
    return Parts(parts, convert(asked, kind.asked), kind)


def refuse_masked(path: str) -> None:
    """Raise `UsageError` for the URL of a part that had credentials."""
    if is_url(path) and "***" in path:
        raise UsageError(
            f"parts do not keep the credentials in {path}: name the corpus with --path, or set them in the environment"
        )


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _masked(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(each) for each in value]
    return masked(value) if isinstance(value, str) else value


def _opened(path: Path) -> BinaryIO:
    refuse_replaced(str(path), is_remote=False)
    return path.open("rb")


def _damaged(path: Path, kind: Kind[Any]) -> UsageError:
    named = f"`corpusfmt {kind.command} --shard`"
    return UsageError(f"{printable(str(path))} is damaged, or not a part that {named} wrote: run its shard again")


def _part_at(path: Path, kind: Kind[Any]) -> Part:
    if not path.is_file():
        raise UsageError(f"part {printable(str(path))} is not a file on this machine")
    checksum, offset = xxhash.xxh3_128(), 0
    inputs: list[int] = []
    before = last = b""
    with _opened(path) as file:
        first = file.readline()
        file.seek(0)
        for line in file:
            checksum.update(last)
            before, last = last, line
            if line.startswith(_INPUT):
                inputs.append(offset)
            offset += len(line)
    is_whole = last == dumped({"kind": "checksum", "xxh3": checksum.hexdigest()}).encode() + b"\n"
    if not is_whole or f'"schema":"{kind.schema}"'.encode() not in first:
        raise _damaged(path, kind)
    header = json.loads(first)
    if (version := header["tool"]["version"]) != VERSION:
        raise UsageError(
            f"{printable(str(path))} is of corpusfmt {clipped(version)}, this is {VERSION}: join the parts with that version, or run all shards again"
        )
    return Part(path, header, inputs, json.loads(before))
