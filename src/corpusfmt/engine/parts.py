"""Internal: Parts of a run whose shards several processes check, and how one is written; `engine.merge` joins them.

A part has what the checks of its shards gave, and nothing that the rest of the run decides from it. It is lines of JSON
(`schemas/report/part.schema.json`), so that a large one is written and read in little memory.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import xxhash
from msgspec import Meta, Struct, convert, to_builtins

from corpusfmt._version import VERSION
from corpusfmt.engine.arrays import MOST_SHARDS, Share
from corpusfmt.engine.run import now
from corpusfmt.formats import CheckOptions, Format, Shard, ShardResult
from corpusfmt.hub.rules import RULES as HUB_RULES
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, LimitReached, Limits
from corpusfmt.io.looking import Looked
from corpusfmt.io.paths import Entry, is_remote, printable
from corpusfmt.manifest.rules import RULES as MANIFEST_RULES
from corpusfmt.model import Json, Severity, Tally, UsageError, coverage_record, finding_record
from corpusfmt.report.machine import dumped
from corpusfmt.report.saved import Code, Count, CoverageRecord, FindingRecord
from corpusfmt.rules import Override

SCHEMA = "corpusfmt-part/1"
TOOL = {"name": "corpusfmt", "version": VERSION}
_PIECE_BYTES = 1 << 19
# What checks leave in the scratch folder: a folder, perhaps one with a number in it, and a file named for its shard.
_SCRATCH_NAME = r"^[a-z-]+(/[0-9]{1,9})?/[0-9]{9}[0-9a-f-]{0,64}\.[a-z]+\Z"
_Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Positive = Annotated[int, Meta(ge=1, le=2**63 - 1)]
# As `--shard` takes them.
_ShardNumber = Annotated[int, Meta(ge=1, le=MOST_SHARDS)]
# No file has a null character in its name, and the system's functions fail on one.
_FileName = Annotated[str, Meta(pattern=r"^[^\0]*\Z")]

#: A checked shard, and what that gave.
Outcome = tuple[Shard, ShardResult]


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What a run checks, and how: the options of `corpusfmt validate` that all parts of a run have in common."""

    paths: Annotated[list[_FileName], Meta(min_length=1)]
    format: str = "auto"
    profile: list[_FileName] = []
    data: bool = False
    dedup: bool = False
    columns: _FileName | None = None
    select: list[str] = []
    ignore: list[str] = []
    overrides: list[Override] = []
    baseline: str = ""
    known: list[tuple[Code, str, Count]] = []
    fail_on: Annotated[str, Meta(pattern=r"^(error|warning|never)\Z")] = "error"
    require_complete: bool = False
    sample: Annotated[float, Meta(gt=0)] | None = None
    maps: dict[str, _FileName] = {}
    follow_links: bool = False
    max_per_rule: _Positive = 10
    max_line_bytes: _Positive | None = None
    limits: Limits = DEFAULT_LIMITS
    blocklist: _FileName | None = None

    def refuse_stores(self) -> None:
        """Raise `UsageError` for options that name a file in a store: a part may be made up, and must cause no request."""
        files = [
            *(("profile", each) for each in self.profile),
            ("columns", self.columns),
            ("blocklist", self.blocklist),
        ]
        for name, path in files:
            if path is not None and is_remote(path):
                raise UsageError(f"--{name} is `{printable(path)}`, and parts of a run need a local file: copy it")


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a part."""

    kind: Literal["part"]
    schema: str
    tool: dict[str, str]
    number: _ShardNumber
    of: _ShardNumber
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
    def of(cls, fmt: Format, version: str, shards: Sequence[Shard], options: CheckOptions) -> Planned:
        """Return it for the shards that are checked."""
        files = hashlib.sha256()
        for shard in shards:
            each = [(role, entry.path, entry.size) for role, entry in shard.files.items()]
            files.update(dumped([shard.index, shard.name, shard.read_as, each]).encode())
        return cls(fmt.name, version, len(shards), files.hexdigest(), _digest_of_rules(fmt, options))


def _digest_of_rules(fmt: Format, options: CheckOptions) -> str:
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
        return ShardResult(tally, self.coverage.coverage, facts, self.seconds, read)


def _counter(counts: _Counts) -> Counter[tuple[str, str, str]]:
    return Counter({(code, path, reason): count for code, path, reason, count in counts})


def _record_of(fmt: Format, position: int, result: ShardResult) -> Json:
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
    }


class Scratch(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of a file in the scratch folder, in base64; the pieces of a file follow each other."""

    kind: Literal["scratch"]
    path: Annotated[str, Meta(pattern=_SCRATCH_NAME)]
    data: str


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


class PartWriter:
    """Writes the part of one process: what the checks of its share of the shards give."""

    def __init__(self, file: BinaryIO, share: Share, asked: Asked) -> None:
        self._file = file
        self._checksum = xxhash.xxh3_128()
        self._share = share
        self._number = 0
        self._read = 0
        self._limit: LimitReached | None = None
        self._write(Header("part", SCHEMA, TOOL, share.number, share.of, now(), asked))

    def next_input(self) -> None:
        """Go on to the next path."""
        self._number += 1

    def positions(self, found: Sequence[Shard] | Sequence[Entry]) -> list[int]:
        """Return the positions of what this part takes: parts take turns at the largest, so that all take as long."""
        largest_first = sorted(range(len(found)), key=lambda position: -found[position].size)
        return sorted(largest_first[self._share.number - 1 :: self._share.of])

    def noted(
        self, fmt: Format, planned: Planned, positions: Sequence[int], results: Iterator[Outcome]
    ) -> Iterator[Outcome]:
        """Write results as they pass."""
        self._write(Input("input", self._number, planned))
        try:
            for position, (shard, result) in zip(positions, results, strict=True):
                self._write(_record_of(fmt, position, result))
                yield shard, result
        except LimitReached as limit:
            self._limit = self._limit or limit
            raise

    def note(self, found: Looked | FileFacts, path: str) -> None:
        """Write what is known of a file, apart from the check of its shard."""
        if isinstance(found, FileFacts):
            self._write(Hashed("hashed", path, found.size, found.sha256))
        else:
            self._write(Columns("columns", path, found))

    def keep(self, scratch: Path, read: int) -> None:
        """Write what the checks left in the scratch folder, and add the bytes that were read."""
        self._read += read
        for path in sorted(each for each in scratch.rglob("*") if each.is_file()):
            name = path.relative_to(scratch).as_posix()
            if not re.match(_SCRATCH_NAME, name):
                raise UsageError(f"a check left `{printable(name)}`, which a part cannot contain: remove --shard")
            with path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    self._write(Scratch("scratch", name, base64.b64encode(piece).decode()))

    def end(self) -> None:
        """Write the last lines."""
        self._write(End("end", self._read, (self._limit.reason, self._limit.hint) if self._limit else None))
        self._write({"kind": "checksum", "xxh3": self._checksum.hexdigest()})

    def _write(self, record: Struct | Json) -> None:
        line = dumped(to_builtins(record)).encode() + b"\n"
        self._checksum.update(line)
        self._file.write(line)
