"""Internal: `corpusfmt describe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from corpusfmt.cli.bounds import MaxExpansion, MaxTotalBytes, Timeout, limits_of
from corpusfmt.cli.console import warn, write
from corpusfmt.cli.inputs import FollowLinks
from corpusfmt.cli.outcome import guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.wording import json_text

Corpus = Annotated[str, typer.Argument(metavar="DIR", help="A corpus.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write (default: print). Paths are relative to its folder, where the corpus is there or below.",
    ),
]
Name = Annotated[str | None, typer.Option(help="Name of the dataset (default: that of the folder).")]
Description = Annotated[str | None, typer.Option(help="What the dataset is.")]
Licence = Annotated[str | None, typer.Option("--license", metavar="URL", help="Licence of the dataset.")]
Creator = Annotated[list[str], typer.Option(help="Organisation that made the dataset; repeatable.")]
Publisher = Annotated[list[str], typer.Option(help="Organisation that publishes the dataset; repeatable.")]
Url = Annotated[str | None, typer.Option(help="Page of the dataset.")]
Version = Annotated[str | None, typer.Option("--dataset-version", help="MAJOR.MINOR.PATCH")]
Published = Annotated[str | None, typer.Option("--date-published", metavar="DATE", help="Like 2024-01-31.")]
Created = Annotated[str | None, typer.Option("--date-created", metavar="DATE", help="Like 2024-01-31.")]
Modified = Annotated[str | None, typer.Option("--date-modified", metavar="DATE", help="Like 2024-01-31.")]
CiteAs = Annotated[str | None, typer.Option("--cite-as", help="How to cite the dataset: a reference, or BibTeX.")]
Keyword = Annotated[list[str], typer.Option("--keyword", help="Repeatable.")]
InLanguage = Annotated[
    list[str], typer.Option("--in-language", metavar="TAG", help="Repeatable (default: those of the corpus).")
]
SameAs = Annotated[list[str], typer.Option("--same-as", metavar="URL", help="Another page of it; repeatable.")]
SdLicence = Annotated[
    str | None, typer.Option("--sd-license", metavar="URL", help="Licence of the description itself.")
]
ConfigFile = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Settings in TOML: its section `describe` says the same.")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Worker processes (default: the processors, one for small input).")
]


@guarded
def command(
    corpus: Corpus,
    output: Output = None,
    name: Name = None,
    description: Description = None,
    license: Licence = None,  # noqa: A002 - the name that users type
    creator: Creator = [],  # noqa: B006 - typer needs a value, and nothing here changes it
    publisher: Publisher = [],  # noqa: B006
    url: Url = None,
    dataset_version: Version = None,
    date_published: Published = None,
    date_created: Created = None,
    date_modified: Modified = None,
    cite_as: CiteAs = None,
    keyword: Keyword = [],  # noqa: B006
    in_language: InLanguage = [],  # noqa: B006
    same_as: SameAs = [],  # noqa: B006
    sd_license: SdLicence = None,
    config: ConfigFile = None,
    follow_links: FollowLinks = False,
    max_expansion: MaxExpansion = None,
    max_total_bytes: MaxTotalBytes = None,
    timeout: Timeout = None,
    jobs: Jobs = None,
) -> None:
    """Describe a corpus as Croissant 1.0: its files with sizes and SHA-256, its languages, and its records."""
    given = locals()
    from corpusfmt.description import REQUIRED, described_as
    from corpusfmt.engine.config import Config, Details, load_config
    from corpusfmt.formats.croissant.rules.dataset import is_semantic_version
    from corpusfmt.io.publish import publish_bytes, refuse_output

    if output is not None:
        refuse_output(output, "--output")
    settings = load_config(config) if config else Config()
    limits = limits_of(max_expansion, max_total_bytes, timeout, settings)
    details = settings.describe.under(Details.of(given))
    with shown_progress("describing") as show:
        document = described_as(
            details,
            corpus,
            base=output and output.parent,
            follow_links=follow_links,
            jobs=jobs,
            limits=limits,
            progress=show,
        )
    missing = [name for name in REQUIRED if name not in document]
    if missing:
        warn(f"not given, but required by Croissant: {', '.join(missing)}")
    version = document.get("version")
    if version is not None and not is_semantic_version(version):
        warn(f"version `{version}` is not like 1.0.0 (MAJOR.MINOR.PATCH), as Croissant recommends")
    text = json_text(json.dumps(document, ensure_ascii=False, indent=2))
    if output is None:
        write([text], utf8=True)
    else:
        publish_bytes(output, f"{text}\n".encode())
