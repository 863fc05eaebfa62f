"""Internal: Options of `corpusfmt datasheet` and of `datasheet`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.sharing import Engine, FollowLinks, FormatOption, Jobs, RecordSet
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited
from corpusfmt.options import File, Option, Rows
from corpusfmt.statistics.options import Tokenizer

if TYPE_CHECKING:
    from corpusfmt.model import Report
    from corpusfmt.statistics.result import Statistics

    SavedReport = Report | str | Path
    SavedStatistics = Statistics | str | Path
else:  # of which the command line is made
    SavedReport = SavedStatistics = str


class Sheet(Rows, frozen=True, kw_only=True):
    """How a datasheet is made."""

    format: FormatOption = "auto"
    verdict: Annotated[
        SavedReport | None,
        Option(
            "A saved report of validate, in JSON or JSON Lines (default: MANIFEST.verification.json in the corpus).",
            metavar="REPORT",
        ),
    ] = None
    samples: Annotated[int, Option("Documents to show of each language.", least=0, most=20)] = 2
    statistics: Annotated[
        SavedStatistics | None,
        Option(
            "Statistics that `corpusfmt stats` saved as JSON, instead of counting again.",
            flag="--stats",
            metavar="FILE",
        ),
    ] = None
    tokenizer: Tokenizer = None
    domains: File | None = None
    record_set: RecordSet = None
    jobs: Jobs = 1
    engine: Engine = None
    follow_links: FollowLinks = False
    limits: Limited = DEFAULT_LIMITS
    progress: Callable[[Progress], None] | None = None
