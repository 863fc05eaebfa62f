"""`corpusfmt describe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from corpusfmt.cli.outcome import guarded

Corpus = Annotated[str, typer.Argument(metavar="DIR", help="An OSCAR or Dolma corpus.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write (default: print).")]
Name = Annotated[str | None, typer.Option(help="Name of the dataset (default: that of the folder).")]
Description = Annotated[str | None, typer.Option(help="What the dataset is.")]
Licence = Annotated[str | None, typer.Option("--license", metavar="URL", help="Licence of the dataset.")]
Creator = Annotated[str | None, typer.Option(help="Organisation that made the dataset.")]
Url = Annotated[str | None, typer.Option(help="Page of the dataset.")]
Version = Annotated[str | None, typer.Option("--dataset-version", help="MAJOR.MINOR.PATCH")]
Published = Annotated[str | None, typer.Option("--date-published", metavar="DATE", help="ISO 8601 date.")]


@guarded
def command(
    corpus: Corpus,
    output: Output = None,
    name: Name = None,
    description: Description = None,
    licence: Licence = None,
    creator: Creator = None,
    url: Url = None,
    dataset_version: Version = None,
    date_published: Published = None,
) -> None:
    """Describe a corpus as Croissant 1.0: its files with sizes and SHA-256, and its records."""
    from corpusfmt.description import describe
    from corpusfmt.io.publish import publish_bytes

    given = {
        "name": name,
        "description": description,
        "license": licence,
        "creator": {"@type": "sc:Organization", "name": creator} if creator else None,
        "url": url,
        "version": dataset_version,
        "datePublished": date_published,
    }
    document = describe(corpus, **{key: value for key, value in given.items() if value is not None})
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if output is None:
        print(text, end="")
    else:
        publish_bytes(output, text.encode())
