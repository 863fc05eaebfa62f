"""Internal: What one process does of a run of `validate`: all of it, unless it is one of several, or joins what they did
(`engine.parts`, which ordinary runs do not import).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from corpusfmt.formats import CheckOptions, FieldNames, Format, Shard, ShardResult
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter
from corpusfmt.io.paths import Entry
from corpusfmt.report.saved import Code
from corpusfmt.rules import Override

#: A checked shard, and what that gave.
Outcome = tuple[Shard, ShardResult]


class Asked(Struct, frozen=True):
    """What a run checks, and how: the options of `corpusfmt validate` that all parts of a run have in common."""

    paths: list[str]
    format: str = "auto"
    profile: list[str] = []
    data: bool = False
    dedup: bool = False
    columns: str | None = None
    fields: FieldNames = {}
    select: list[str] = []
    ignore: list[str] = []
    overrides: list[Override] = []
    baseline: str = ""
    known: list[tuple[Code, str, int]] = []
    fail_on: str = "error"
    require_complete: bool = False
    sample: float | None = None
    seed: int = 0
    maps: dict[str, str] = {}
    follow_links: bool = False
    max_per_rule: int = 10
    max_line_bytes: int | None = None
    limits: Limits = DEFAULT_LIMITS
    blocklist: str | None = None


class Work(Struct, frozen=True):
    """What is checked at one of the paths: `shards` of a corpus in a version of a format."""

    fmt: Format
    version: str
    shards: Sequence[Shard]
    options: CheckOptions
    meter: Meter


class Whole:
    """A run of one process, which checks every shard, reads every file, and judges the corpus. Others override what they do."""

    #: Whether the corpus as a whole is judged.
    judges = True
    #: The files that need not be hashed again, by path.
    hashed: Mapping[str, FileFacts] = {}

    def next_input(self) -> None:
        """Go on to the next path."""

    def shards_here(self, shards: Sequence[Shard]) -> Sequence[int]:
        """Return the positions of the shards that are checked here, in order."""
        return range(len(shards))

    def files_here(self, files: Sequence[Entry]) -> Sequence[int]:
        """Return the positions of the files that are read here apart from the checks of shards, in order."""
        return range(len(files))

    def outcomes(self, work: Work, checks: Iterator[Outcome]) -> Iterator[Outcome]:
        """Yield the result for each shard, in order; `checks` yields those of the shards that are checked here."""
        del work
        return checks

    def note(self, found: FileFacts, path: str) -> None:
        """Note what was found in a file apart from the check of its shard."""

    def keep(self, scratch: Path, read: int) -> None:
        """Keep what the checks left in the scratch folder, and the number of bytes that were read."""


WHOLE = Whole()
