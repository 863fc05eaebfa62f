"""Internal: `corpusfmt datasheet`."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Bounds, Engine, FollowLinks, FormatName, Jobs, Profiled, RecordSetName
from corpusfmt.cli.outcome import FINDINGS, UNFINISHED, guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.cli.show import Corpus
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import UsageError

Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE.html", help="The page to write.")]
Verdict = Annotated[
    str | None,
    typer.Option(
        metavar="REPORT",
        help="A saved report of validate, in JSON or JSON Lines (default: MANIFEST.verification.json in the corpus).",
    ),
]
Saved = Annotated[
    str | None,
    typer.Option(
        "--stats", metavar="FILE", help="Statistics that `corpusfmt stats` saved as JSON, instead of counting again."
    ),
]
TokenizerFile = Annotated[
    str | None,
    typer.Option("--tokenizer", metavar="FILE", help="Count tokens with the tokenizer of this tokenizer.json."),
]
Samples = Annotated[int, typer.Option(min=0, max=20, help="Documents to show of each language.")]
Eu = Annotated[
    bool,
    typer.Option(
        "--eu",
        help="Also write FILE.eu.md and FILE.eu.csv: sections 2.1 and 2.3 of the AI Act's public summary of training content.",
    ),
]


@guarded
def command(
    corpus: Corpus,
    output: Output,
    format_name: FormatName = "auto",
    verdict: Verdict = None,
    samples: Samples = 2,
    eu: Eu = False,
    statistics: Saved = None,
    tokenizer: TokenizerFile = None,
    record_set: RecordSetName = None,
    fields: Profiled = UNSET,
    bounds: Bounds = UNSET,
    jobs: Jobs = None,
    engine: Engine = None,
    follow_links: FollowLinks = False,
) -> None:
    """Describe a corpus on one HTML page: size, languages, lengths, domains, dates, repetition, samples, verdict, provenance."""
    from corpusfmt.cli.outcome import save
    from corpusfmt.datasheets import eu as summary
    from corpusfmt.datasheets.content import datasheet
    from corpusfmt.datasheets.web import html
    from corpusfmt.io.publish import output_at

    if corpus == "-":
        raise UsageError("datasheet does not read standard input: write it to a file and pass that file")
    beside = [output.removesuffix(".html") + f".eu.{kind}" for kind in ("md", "csv")] if eu else []
    for path in (output, *beside):
        output_at(path, "--output")
    with temporary_folder() as scratch, shown_progress("counting") as show:
        listed = scratch / "domains.csv" if eu and statistics is None else None
        sheet = datasheet(
            corpus,
            format=format_name,
            statistics=statistics,
            verdict=verdict,
            samples=samples,
            tokenizer=tokenizer,
            domains=listed,
            record_set=record_set,
            jobs=jobs,
            engine=engine,
            follow_links=follow_links,
            limits=limits_of(bounds),
            progress=show,
            **fields,
        )
        for path, lines in zip(beside, (summary.markdown, summary.table), strict=False):
            save(lines(sheet, listed), path)
        save(html(sheet), output)
    coverage = sheet.statistics["coverage"]
    raise SystemExit(UNFINISHED if coverage["broken"] else FINDINGS if coverage["rejected"] else 0)
