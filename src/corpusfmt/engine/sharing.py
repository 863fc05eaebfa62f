"""Internal: What one process does of a run of `validate` or `stats`: all of it, unless it is one of several, or joins what
they did (`engine.parts`, which ordinary runs do not import).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from corpusfmt.formats import FieldNames, Shard
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits, Meter
from corpusfmt.io.paths import Entry
from corpusfmt.model import Json
from corpusfmt.report.saved import Code
from corpusfmt.rules import Override

R = TypeVar("R")


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
    """The tasks of a run at one of its paths: the shards that each reads, and the folder in which they leave files.

    `about` is what else their results depend on, for the functions of `engine.parts.Kind`.
    """

    tasks: Sequence[Sequence[Shard]]
    scratch: Path
    about: Any

    @property
    def sizes(self) -> list[int]:
        """The bytes that each task reads."""
        return [sum(shard.size for shard in task) for task in self.tasks]


class Whole:
    """A run of one process, which does every task, reads every file, and judges the whole. Others override what they do."""

    #: Whether the corpus as a whole is judged.
    judges = True
    #: The files that need not be hashed again, by path.
    hashed: Mapping[str, FileFacts] = {}

    @property
    def planned(self) -> Json:
        """What the parts of the run have planned at the present path."""
        return {}

    def ask(self, asked: Struct) -> None:
        """Take the options that all parts of the run have in common."""

    def next_input(self) -> None:
        """Go on to the next path."""

    def positions(self, sizes: Sequence[int]) -> Sequence[int]:
        """Return the positions of the tasks that are done here, in order."""
        return range(len(sizes))

    def files_here(self, files: Sequence[Entry]) -> Sequence[int]:
        """Return the positions of the files that are read here apart from the tasks, in order."""
        return range(len(files))

    def results(self, work: Work, results: Iterator[R], meter: Meter) -> Iterator[tuple[int, R]]:
        """Yield the result of each task with its position, in order; `results` yields those of the tasks that are done here."""
        del work, meter
        return enumerate(results)

    def note(self, found: FileFacts, path: str) -> None:
        """Note what was found in a file apart from the tasks."""

    def keep(self, scratch: Path, read: int) -> None:
        """Keep what the tasks left in the scratch folder, and the number of bytes that were read."""


WHOLE = Whole()
