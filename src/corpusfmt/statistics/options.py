"""Internal: Options of `corpusfmt stats` and of `stats`."""

from collections.abc import Callable, Sequence
from typing import Annotated

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.sharing import Engine, FollowLinks, FormatOption, Jobs, RecordSet
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited
from corpusfmt.options import File, Option, Rows, names

#: What is counted only if it is asked for.
OPTIONAL = ("words", "domains", "repeats", "attributes")
DEFAULT = ("words",)


Tokenizer = Annotated[File | None, Option("Count tokens with the tokenizer of this tokenizer.json.", metavar="FILE")]


def _counts(typed: Sequence[str]) -> Sequence[str]:
    found = names(typed)
    return OPTIONAL if found == ("all",) else () if found == ("none",) else found


class _Same(Rows, frozen=True, kw_only=True):
    format: FormatOption = "auto"
    count: Annotated[
        Sequence[str],
        Option(
            "Count these, too, comma-separated: words (and scripts), domains, repeats, attributes; all or none (default: words).",
            metavar="NAMES",
            parse=_counts,
        ),
    ] = DEFAULT
    record_set: RecordSet = None
    follow_links: FollowLinks = False


class Asked(_Same, frozen=True, kw_only=True):
    """What all parts of a run have in common."""

    path: str


class Counting(_Same, frozen=True, kw_only=True):
    """How a corpus is counted."""

    domains: Annotated[File | None, Option("Count domains, and list all of them in this CSV file.", metavar="FILE")] = (
        None
    )
    tokenizer: Tokenizer = None
    jobs: Jobs = 1
    engine: Engine = None
    limits: Limited = DEFAULT_LIMITS
    progress: Callable[[Progress], None] | None = None
