"""Internal: What one process does of a run of `validate` or `stats`: all of it, unless it is one of several, or joins what
they did (`engine.parts`, which ordinary runs do not import).
"""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import Struct, field

from corpusfmt.engine.progress import Progress
from corpusfmt.formats import Shard
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited, Meter
from corpusfmt.io.lines import MAX_LINE_BYTES
from corpusfmt.io.paths import Entry
from corpusfmt.model import Json
from corpusfmt.options import BOUNDS, FailOn, File, Option, Rows, maps_of, names, share
from corpusfmt.report.saved import Baseline, Code
from corpusfmt.rules import Override

R = TypeVar("R")


if TYPE_CHECKING:
    Profiles = str | Path | Sequence[str | Path]
    Known = Baseline | str | Path
else:  # what msgspec reads from the head of a part
    Profiles = list[str]
    Known = str

#: What chooses the shards of a sample, unless something else is asked for.
SEED = 20181112


FORMATS = "auto, oscar, oscar-1.0, oscar-1.1, oscar-22.01, oscar-23.01, dolma, parquet, jsonl, mc4, text or croissant."
FormatOption = Annotated[str, Option(FORMATS, completion="format_names")]
Profile = Annotated[
    Profiles,
    Option(
        "standard (default), strict, blind, common-crawl, hub, letter, mlcroissant, neurips-2026, or a TOML file; repeatable.",
        metavar="NAME|FILE",
        completion="profiles",
    ),
]
Data = Annotated[bool, Option("Also check the data that a Croissant description names.", flag="--data/--no-data")]
Select = Annotated[
    Sequence[str],
    Option("Report only these rules: codes, prefixes or slugs, comma-separated.", parse=names, completion="rules"),
]
Ignore = Annotated[Sequence[str], Option("Do not report these rules.", parse=names, completion="rules")]
FollowLinks = Annotated[
    bool, Option("Follow links out of the input, and redirects to other web servers.", flag="--follow-links")
]
Maps = Annotated[
    Mapping[str, File],
    Option(
        "Read a FileObject or FileSet of a Croissant description from a local copy; repeatable.",
        flag="--map",
        metavar="ID=PATH",
        parse=maps_of,
    ),
]
RecordSet = Annotated[
    str | None, Option("Croissant: the record set (default: the only one with a text field).", metavar="NAME")
]
Jobs = Annotated[int | None, Option("Worker processes (default: one per CPU, one for small input).", least=1)]
Engine = Annotated[str | None, Option("serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.")]
State = Annotated[
    File | None,
    Option(
        "With an output in a store: where the run's state is, a folder or a prefix of a store (default: in the working folder).",
        metavar="DIR|URL",
    ),
]
ShardOf = Annotated[
    str | None,
    Option("Read only every N-th input, like 1/8; other processes read the others.", metavar="I/N", panel="Shards"),
]
Finish = Annotated[bool, Option("Do what is left once all shards have ended.", flag="--finish", panel="Shards")]


def profiles_of(named: Profiles) -> Sequence[str | Path]:
    """Return the profiles, of which one may be named alone."""
    return [named] if isinstance(named, str | Path) else named


class Judging(Struct, frozen=True, kw_only=True):
    """By which rules something is judged."""

    profile: Profile = "standard"
    select: Select = ()
    ignore: Ignore = ()
    overrides: Sequence[Override] = ()


class Validation(Rows, frozen=True, kw_only=True, omit_defaults=True):
    """How something is validated: the options of `corpusfmt validate` and of `validate`."""

    format: FormatOption = "auto"
    profile: Profile = "standard"
    data: Data = False
    dedup: Annotated[bool, Option("Report repeated lines: the corpus is declared deduplicated.")] = False
    select: Select = ()
    ignore: Ignore = ()
    overrides: Sequence[Override] = ()
    baseline: Annotated[
        Known | None, Option("A saved JSON report: report only problems that it does not count.", metavar="FILE")
    ] = None
    jobs: Jobs = 1
    engine: Engine = None
    sample: Annotated[
        float | None,
        Option(
            "Check only a share of the shards, like 1%, and say which.",
            metavar="SHARE",
            parse=share,
        ),
    ] = None
    seed: Annotated[int, Option("Choose the --sample by S.", metavar="S", least=0)] = SEED
    maps: Maps = field(default_factory=dict)
    follow_links: FollowLinks = False
    max_per_rule: Annotated[
        int, Option("Most findings to keep per rule and file; counts stay exact.", least=1, panel=BOUNDS)
    ] = 10
    max_line_bytes: Annotated[
        int, Option("Longest line; longer lines are reported and skipped.", least=1, panel=BOUNDS)
    ] = MAX_LINE_BYTES
    limits: Limited = DEFAULT_LIMITS
    blocklist: Annotated[
        File | None,
        Option("Dolma: ids, or source<TAB>id, that a release must not contain.", metavar="FILE"),
    ] = None
    progress: Callable[[Progress], None] | None = None


class Asked(Validation, frozen=True, kw_only=True, omit_defaults=True):
    """The options of a run of the command line, its paths, the name of its settings, and `known` from the baseline: the head
    of each part of it.
    """

    paths: list[str]
    settings: str = ""
    known: Sequence[tuple[Code, str, int]] = ()
    fail_on: Annotated[FailOn, Option("Least severity for exit status 1.")] = "error"
    require_complete: Annotated[bool, Option("Exit 3 if anything was not checked.")] = False
    output_format: Annotated[
        str, Option("full, concise, grouped, json, jsonl, sarif, junit, github, gitlab, markdown or html.")
    ] = "full"


class Work(Struct, frozen=True):
    """The tasks of a run at one of its paths, the folder in which they leave files; iterated, the shards that each task reads.

    `about` is what else their results depend on, for the functions of `engine.parts.Kind`.
    """

    tasks: Sequence[Shard | Sequence[Shard]]
    scratch: Path
    about: Any

    def __iter__(self) -> Iterator[Sequence[Shard]]:
        return ((task,) if isinstance(task, Shard) else task for task in self.tasks)

    @property
    def sizes(self) -> Sequence[int]:
        """The bytes that each task reads."""
        return array("q", (sum(shard.size for shard in task) for task in self))


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
