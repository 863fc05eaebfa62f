"""Internal: `corpusfmt datasheet`."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import asdict

from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Given
from corpusfmt.cli.outcome import FINDINGS, UNFINISHED, guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.cli.show import Corpus
from corpusfmt.datasheets.options import Sheet
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import UsageError
from corpusfmt.options import made

Output = Annotated[str, typer.Option("-o", "--output", metavar="FILE.html", help="The page to write.")]
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
    eu: Eu = False,
    given: Annotated[Given, Sheet] = UNSET,
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
        listed = scratch / "domains.csv" if eu and "statistics" not in given else None
        asked = made(Sheet, given, domains=listed, jobs=given.get("jobs"), limits=limits_of(given), progress=show)
        sheet = datasheet(corpus, **asdict(asked))
        for path, lines in zip(beside, (summary.markdown, summary.table), strict=False):
            save(lines(sheet, listed), path)
        save(html(sheet), output)
    coverage = sheet.statistics["coverage"]
    raise SystemExit(UNFINISHED if coverage["broken"] else FINDINGS if coverage["rejected"] else 0)
