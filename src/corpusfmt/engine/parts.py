"""Internal: Parts of a run whose shards several processes check, and how one is written; `engine.merge` joins them.

A part has what the checks of its shards gave, and nothing that the rest of the run decides from it. It is lines of JSON
(`schemas/report/part.schema.json`), so that a large one is written and read in little memory.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from msgspec import Meta, Struct, convert, to_builtins

from corpusfmt._version import VERSION
from corpusfmt.engine.partfile import PartFile, ShardNumber, positions_of
from corpusfmt.engine.run import now
from corpusfmt.engine.shares import Share
from corpusfmt.engine.sharing import Asked, Outcome, Whole, Work
from corpusfmt.formats import CheckOptions, Format, Shard, ShardResult
from corpusfmt.hub.rules import RULES as HUB_RULES
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.looking import Looked
from corpusfmt.io.paths import Entry
from corpusfmt.manifest.rules import RULES as MANIFEST_RULES
from corpusfmt.model import Json, Severity, Tally, UsageError, coverage_record, finding_record
from corpusfmt.report.machine import dumped
from corpusfmt.report.saved import Code, Count, CoverageRecord, FindingRecord

_TOOL = {"name": "corpusfmt", "version": VERSION}
_Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a part."""

    kind: Literal["part"]
    schema: Literal["corpusfmt-part/1"]
    tool: dict[str, str]
    number: ShardNumber
    of: ShardNumber
    started: Annotated[str, Meta(pattern=r"^[0-9TZ:-]{20}\Z")]
    asked: Asked


class Planned(Struct, frozen=True, forbid_unknown_fields=True):
    """What all parts must have found at a path: its format, its shards, and digests of their files and of the rules."""

    format: str
    version: str
    shards: Count
    files: str
    rules: str

    @classmethod
    def of(cls, work: Work) -> Planned:
        """Return it for the shards that are checked."""
        files = hashlib.sha256()
        for shard in work.shards:
            each = [(role, entry.path, entry.size) for role, entry in shard.files.items()]
            files.update(dumped([shard.index, shard.name, shard.read_as, each]).encode())
        return cls(
            work.fmt.name, work.version, len(work.shards), files.hexdigest(), digest_of_rules(work.fmt, work.options)
        )


def digest_of_rules(fmt: Format, options: CheckOptions) -> str:
    """Return a digest of all rules, of what profiles make of them, and of the blocklist."""
    every = (*fmt.rules, *MANIFEST_RULES, *HUB_RULES)
    rules = [(rule.code, rule.slug, rule.severity, sorted(rule.grades.items())) for rule in every]
    blocked = ""
    if options.blocklist is not None:
        with Path(options.blocklist).open("rb") as file:
            blocked = hashlib.file_digest(file, "sha256").hexdigest()
    return hashlib.sha256(dumped([rules, to_builtins(options.grading.profiles), blocked]).encode()).hexdigest()


class Input(Struct, frozen=True, forbid_unknown_fields=True):
    """The line before what a part has of one of the paths, which are counted from 1."""

    kind: Literal["input"]
    number: Count
    planned: Planned


_Counts = list[tuple[Code, str, str, Count]]


class Result(Struct, frozen=True, forbid_unknown_fields=True):
    """What the check of a shard gave; `position` is the shard's among those that are checked, from 0."""

    kind: Literal["shard"]
    position: Count
    seconds: Annotated[float, Meta(ge=0, le=1e9)]
    coverage: CoverageRecord
    counts: list[tuple[Code, Severity, str, Count]]
    suppressed: _Counts
    regraded: _Counts
    findings: list[FindingRecord]
    passed_over: list[FindingRecord]
    facts: Any
    read: dict[str, tuple[Count, _Sha256]]
    looked: dict[str, Looked] = {}

    def result(self, fmt: Format) -> ShardResult:
        """Return the result, as the check gave it. Raises `msgspec.ValidationError` for facts of another type."""
        tally = Tally(
            findings=[each.finding for each in self.findings],
            counts=Counter({(code, severity, path): count for code, severity, path, count in self.counts}),
            suppressed=_counter(self.suppressed),
            regraded=_counter(self.regraded),
            passed_over={(each.rule, each.location.path): each.finding for each in self.passed_over},
        )
        facts = None if self.facts is None else convert(self.facts, fmt.facts)
        read = {url: FileFacts(size, sha256) for url, (size, sha256) in self.read.items()}
        return ShardResult(tally, self.coverage.coverage, facts, self.seconds, read, self.looked)


def _counter(counts: _Counts) -> Counter[tuple[str, str, str]]:
    return Counter({(code, path, reason): count for code, path, reason, count in counts})


def record_of(fmt: Format, position: int, result: ShardResult) -> Json:
    """Return what the check of a shard gave in the form of a `Result`."""
    tally = result.tally
    if result.facts is not None and fmt.facts is None:
        raise UsageError(f"the format {fmt.name} does not declare the type of its facts: remove --shard")
    return {
        "kind": "shard",
        "position": position,
        "seconds": result.seconds,
        "coverage": coverage_record(result.coverage),
        "counts": [(*key, count) for key, count in tally.counts.items()],
        "suppressed": [(*key, count) for key, count in tally.suppressed.items()],
        "regraded": [(*key, count) for key, count in tally.regraded.items()],
        "findings": list(map(finding_record, tally.findings)),
        "passed_over": list(map(finding_record, tally.passed_over.values())),
        "facts": result.facts,
        "read": {url: (facts.size, facts.sha256) for url, facts in result.read.items()},
        "looked": result.looked,
    }


class Columns(Struct, frozen=True, forbid_unknown_fields=True):
    """The columns of a file, for the check of how it is loaded."""

    kind: Literal["columns"]
    path: str
    found: Looked


class Hashed(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a release that belongs to no shard."""

    kind: Literal["hashed"]
    path: str
    size: Count
    sha256: _Sha256


class End(Struct, frozen=True, forbid_unknown_fields=True):
    """The line after all results: the bytes read for them, and reason and hint of a limit that ended the part early."""

    kind: Literal["end"]
    read: Count
    limit: tuple[str, str] | None


class PartWriter(Whole):
    """Writes the part of one process: what the checks of its share of the shards give. Nothing is judged from a share."""

    judges = False

    def __init__(self, file: BinaryIO, share: Share, asked: Asked) -> None:
        self._file = PartFile(file)
        self._share = share
        self._number = 0
        self._read = 0
        self._limit: LimitReached | None = None
        # The files of all shards, by whether their shard is checked here.
        self._sharded: dict[str, bool] = {}
        self._file.write(Header("part", "corpusfmt-part/1", _TOOL, share.number, share.of, now(), asked))

    def next_input(self) -> None:
        self._number += 1

    def shards_here(self, shards: Sequence[Shard]) -> Sequence[int]:
        return positions_of(self._share, [shard.size for shard in shards])

    def files_here(self, files: Sequence[Entry]) -> Sequence[int]:
        shared = [place for place, entry in enumerate(files) if entry.path not in self._sharded]
        places = positions_of(self._share, [files[place].size for place in shared])
        own = [place for place, entry in enumerate(files) if self._sharded.get(entry.path)]
        return sorted([*own, *(shared[place] for place in places)])

    def outcomes(self, work: Work, checks: Iterator[Outcome]) -> Iterator[Outcome]:
        """Write results as they pass."""
        self._file.write(Input("input", self._number, Planned.of(work)))
        here = self.shards_here(work.shards)
        own = set(here)
        for position, shard in enumerate(work.shards):
            self._sharded |= dict.fromkeys((entry.path for entry in shard.files.values()), position in own)
        try:
            for position, (shard, result) in zip(here, checks, strict=True):
                self._file.write(record_of(work.fmt, position, result))
                yield shard, result
        except LimitReached as limit:
            self._limit = self._limit or limit
            raise

    def note(self, found: Looked | FileFacts, path: str) -> None:
        if isinstance(found, FileFacts):
            self._file.write(Hashed("hashed", path, found.size, found.sha256))
        else:
            self._file.write(Columns("columns", path, found))

    def keep(self, scratch: Path, read: int) -> None:
        self._read += read
        self._file.write_scratch(scratch)

    def end(self) -> None:
        """Write the last lines."""
        self._file.write(End("end", self._read, (self._limit.reason, self._limit.hint) if self._limit else None))
        self._file.end()
