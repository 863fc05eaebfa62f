"""Internal: `corpusfmt seal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corpusfmt.cli.console import summarise
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Given
from corpusfmt.cli.outcome import explain, guarded
from corpusfmt.cli.progress import shown_progress
from corpusfmt.release.options import Sealing
from corpusfmt.wording import plural

_OF_STATEMENTS = ("MAN4", "MAN5")

Corpus = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a corpus.")]


@guarded
def command(corpus: Corpus, given: Annotated[Given, Sealing] = UNSET) -> None:
    """Write MANIFEST.json for a corpus: every file with its size and SHA-256, and a digest of the whole."""
    from corpusfmt.release.seal import seal
    from corpusfmt.report.text import human_size, verdict_line

    with shown_progress("sealing") as show:
        report = seal(corpus, **{"jobs": None, **given, "limits": limits_of(given), "progress": show})
    tree = report.results["tree"]
    what = f"{plural(tree['files'], 'file')}, {human_size(tree['bytes'])}, {plural(tree['documents'], 'document')}"
    summarise(f"{corpus}: sealed, {what}")
    summarise(f"  tree sha256:{tree['sha256']}")
    if len(report.results["written"]) > 1:
        summarise(f"  wrote {', '.join(report.results['written'])}")
    for name in report.results["removed"]:
        summarise(f"  removed {name}, which was about another manifest")
    summarise(f"  {verdict_line(report)}")
    for each in report.findings:
        if each.code.startswith(_OF_STATEMENTS):
            explain(each)
