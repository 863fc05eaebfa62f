"""`corpusfmt build`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from corpusfmt.cli.outcome import FailOn, exit_status, resumable
from corpusfmt.cli.progress import shown_stages

Inputs = Annotated[list[str], typer.Argument(metavar="INPUT...", help="WET files, or folders of them.")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new or empty folder, or one to resume.")]
RecipeName = Annotated[str, typer.Option("--recipe", metavar="NAME|FILE", help="A bundled recipe or a .toml file.")]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Worker processes (default: the processors, one for small input).")
]
Engine = Annotated[
    str | None, typer.Option(help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.")
]
Langid = Annotated[str, typer.Option("--langid", help="auto, native or fasttext.")]
Model = Annotated[str | None, typer.Option(metavar="FILE", help="A fastText model (default: lid.176.ftz).")]


@resumable
def command(
    inputs: Inputs,
    output: Output,
    recipe: RecipeName = "oscar-1.1",
    jobs: Jobs = None,
    engine: Engine = None,
    langid: Langid = "auto",
    model: Model = None,
) -> None:
    """Make a corpus of WET files: lines classified by language, deduplicated, packed with metadata and checksums."""
    from corpusfmt.model import UsageError
    from corpusfmt.pipeline.run import build
    from corpusfmt.report.text import human_size

    if langid not in {"auto", "native", "fasttext"}:
        raise UsageError(f"unknown --langid {langid!r}; known: auto, native, fasttext")
    backend = cast("Literal['auto', 'native', 'fasttext']", langid)
    with shown_stages() as show:
        report = build(
            inputs, output, recipe=recipe, jobs=jobs, engine=engine, langid=backend, model=model, progress=show
        )
    for finding in report.findings:
        print(f"left out: {finding.location}: {finding.code} {finding.message}", file=sys.stderr)
    size = report.results["stats"]["total"]["final"]
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in report.results["dropped"].items()) or "none"
    print(f"{report.coverage.shards_seen:,} of {report.coverage.shards_total:,} WET files -> {output}")
    print(f"  {size['documents']:,} documents, {size['lines']:,} lines, {human_size(size['text_bytes'])} of text")
    print(f"  {len(report.results['stats']['languages']):,} languages")
    print(f"  lines dropped: {dropped}")
    raise typer.Exit(exit_status(report, FailOn.ERROR, require_complete=True))
