"""Internal: How a dataset is described: the options of `corpusfmt describe` and of `describe`."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.sharing import FollowLinks, FormatOption
from corpusfmt.io.limits import DEFAULT_LIMITS, Limited
from corpusfmt.io.outputs import Place
from corpusfmt.model import Json
from corpusfmt.options import File, Option, Rows

if TYPE_CHECKING:
    Texts = str | Sequence[str]
    Base = str | Path | Place
else:  # of which the command line is made
    Texts = Sequence[str]
    Base = Path

Date = str | date | None


class Describing(Rows, frozen=True, kw_only=True):
    """What is known of a dataset, and how its folder is read."""

    base: Base | None = None
    name: Annotated[str | None, Option("Name of the dataset (default: the folder's name).")] = None
    description: Annotated[str | None, Option("Description of the dataset.")] = None
    license: Annotated[str | None, Option("Licence of the dataset.", metavar="URL")] = None
    creator: Annotated[Texts, Option("Organisation that made the dataset; repeatable.")] = ()
    publisher: Annotated[Texts, Option("Organisation that publishes the dataset; repeatable.")] = ()
    url: Annotated[str | None, Option("Page of the dataset.")] = None
    dataset_version: Annotated[str | None, Option("Version of the dataset: MAJOR.MINOR.PATCH.")] = None
    date_published: Annotated[Date, Option("Like 2024-01-31.", metavar="DATE")] = None
    date_created: Date = None
    date_modified: Date = None
    cite_as: Annotated[str | None, Option("How to cite the dataset: a reference, or BibTeX.")] = None
    keyword: Annotated[Texts, Option("Keyword; repeatable.")] = ()
    in_language: Annotated[Texts, Option("Language; repeatable (default: the corpus's languages).", metavar="TAG")] = ()
    same_as: Texts = ()
    sd_license: str | None = None
    rai: Annotated[
        File | None, Option("Creators, RAI 1.0 and provenance in TOML (schemas/description/).", metavar="FILE")
    ] = None
    croissant: Annotated[str | None, Option("1.1 or 1.0 (default: 1.1).", metavar="VERSION")] = None
    evidence: Callable[[Json], None] | None = None
    repository: Annotated[
        str | None,
        Option("Where the data is published: a repository on the Hub or in git, or any folder.", metavar="URL"),
    ] = None
    format: FormatOption = "auto"
    follow_links: FollowLinks = False
    jobs: Annotated[int | None, Option("Worker processes (default: one per CPU, one for small input).", least=1)] = 1
    limits: Limited = DEFAULT_LIMITS
    progress: Callable[[Progress], None] | None = None
