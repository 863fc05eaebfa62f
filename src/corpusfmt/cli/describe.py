"""Internal: `corpusfmt describe`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from corpusfmt.cli.console import mention, warn, write
from corpusfmt.cli.inputs import limits_of, settings_of
from corpusfmt.cli.options import UNSET, Bounds, ConfigFile, FollowLinks, FormatName, Jobs, Profiled
from corpusfmt.cli.outcome import guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.wording import json_text

if TYPE_CHECKING:
    from corpusfmt.io.outputs import Place

Corpus = Annotated[
    str, typer.Argument(metavar="PATH", help="A corpus, any folder of data files, or a description to complete.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE|URL",
        help="Output file (default: print). Paths are relative to its folder if the corpus is in or below it.",
    ),
]
Name = Annotated[str | None, typer.Option(help="Name of the dataset (default: the folder's name).")]
Description = Annotated[str | None, typer.Option(help="Description of the dataset.")]
Licence = Annotated[str | None, typer.Option("--license", metavar="URL", help="Licence of the dataset.")]
Creator = Annotated[list[str], typer.Option(help="Organisation that made the dataset; repeatable.")]
Publisher = Annotated[list[str], typer.Option(help="Organisation that publishes the dataset; repeatable.")]
Url = Annotated[str | None, typer.Option(help="Page of the dataset.")]
Version = Annotated[str | None, typer.Option("--dataset-version", help="Version of the dataset: MAJOR.MINOR.PATCH.")]
Published = Annotated[str | None, typer.Option("--date-published", metavar="DATE", help="Like 2024-01-31.")]
CiteAs = Annotated[str | None, typer.Option("--cite-as", help="How to cite the dataset: a reference, or BibTeX.")]
Keyword = Annotated[list[str], typer.Option("--keyword", help="Keyword; repeatable.")]
InLanguage = Annotated[
    list[str],
    typer.Option("--in-language", metavar="TAG", help="Language; repeatable (default: the corpus's languages)."),
]
Rai = Annotated[
    str | None,
    typer.Option("--rai", metavar="FILE", help="Creators, RAI 1.0 and provenance in TOML (schemas/description/)."),
]
Repository = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Where the data is published: a repository on the Hub or in git, or any folder."),
]
Croissant = Annotated[str | None, typer.Option(metavar="VERSION", help="1.1 or 1.0 (default: 1.1).")]
Evidence = Annotated[
    str | None,
    typer.Option("--evidence", metavar="FILE|URL", help="Write the reasons for each type, key and split as JSON."),
]


@guarded
def command(
    corpus: Corpus,
    output: Output = None,
    name: Name = None,
    description: Description = None,
    license: Licence = None,  # noqa: A002 - the name that users type
    creator: Creator = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    publisher: Publisher = [],  # noqa: B006
    url: Url = None,
    dataset_version: Version = None,
    date_published: Published = None,
    cite_as: CiteAs = None,
    keyword: Keyword = [],  # noqa: B006
    in_language: InLanguage = [],  # noqa: B006
    rai: Rai = None,
    croissant: Croissant = None,
    evidence: Evidence = None,
    repository: Repository = None,
    format_name: FormatName = "auto",
    rows: Profiled = UNSET,
    config: ConfigFile = None,
    follow_links: FollowLinks = False,
    bounds: Bounds = UNSET,
    jobs: Jobs = None,
) -> None:
    """Describe a corpus or any folder as Croissant, with sizes and SHA-256 of files, languages, and records."""
    given = locals()
    from corpusfmt.description import REQUIRED, described_as
    from corpusfmt.engine.config import Details
    from corpusfmt.formats import ReadOptions, named_format
    from corpusfmt.io.publish import publish_bytes

    outputs = _outputs(output, evidence)
    described = outputs.get("--output")
    settings = settings_of(config, [corpus])
    limits = limits_of(bounds, settings)
    details = settings.describe.under(Details.of(given))
    with shown_progress("describing") as show:
        document, found = described_as(
            details,
            corpus,
            rai=rai,
            croissant=croissant,
            base=described and described.parent,
            reading=ReadOptions(**rows),
            repository=repository,
            format=format_name,
            follow_links=follow_links,
            jobs=jobs,
            limits=limits,
            progress=show,
            outputs=list(outputs.values()),
        )
    missing = [name for name in REQUIRED if name not in document]
    if missing:
        warn(f"required by Croissant but missing: {', '.join(missing)}")
    _warn_of(found.get("notes", []), evidence)
    version = document.get("version")
    writer = named_format("croissant")[0].descriptions
    if version is not None and writer is not None and not writer.is_good_version(version):
        warn(f"version is `{version}`; Croissant recommends MAJOR.MINOR.PATCH, like 1.0.0")
    text = json_text(json.dumps(document, ensure_ascii=False, indent=2))
    if described is None:
        write([text], utf8=True)
    else:
        publish_bytes(described, f"{text}\n".encode())
    if evidence is not None:
        publish_bytes(outputs["--evidence"], f"{json_text(json.dumps(found, ensure_ascii=False, indent=2))}\n".encode())


# As many notes are shown; the evidence has all of them.
_MOST_NOTES = 20


def _outputs(output: str | None, evidence: str | None) -> dict[str, Place]:
    from corpusfmt.io.publish import output_at

    given = (("--output", output), ("--evidence", evidence))
    return {option: output_at(path, option) for option, path in given if path is not None}


def _warn_of(notes: Sequence[str], evidence: str | None) -> None:
    for note in notes[:_MOST_NOTES]:
        mention(f"note: {note}")
    if len(notes) > _MOST_NOTES:
        where = evidence if evidence is not None else "--evidence FILE"
        mention(f"note: {len(notes) - _MOST_NOTES} more in {where}")
