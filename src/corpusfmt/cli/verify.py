"""Internal: `corpusfmt verify`."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli.console import mention, say
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Given, OutputFormat, Reports
from corpusfmt.cli.outcome import check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.progress import shown_progress
from corpusfmt.model import Report
from corpusfmt.release.options import Verifying
from corpusfmt.wording import plural

Release = Annotated[str, typer.Argument(metavar="DIR|URL", help="The folder of a release, here or in a store.")]

_MOST_NAMED = 5


@guarded
def command(
    release: Release,
    given: Annotated[Given, Verifying] = UNSET,
    output_format: OutputFormat = "full",
    report: Reports = [],  # noqa: B006 - typer needs a value, and nothing here changes it
) -> None:
    """Check every file of a release against its manifest, and list the files to download again."""
    from corpusfmt.io.paths import printable
    from corpusfmt.release.verify import verify
    from corpusfmt.report import FOR_TERMINALS

    check_outputs(output_format, report)
    with shown_progress("verifying") as show:
        found = verify(release, **{**given, "limits": limits_of(given), "progress": show})
    files = {name: given.get(name) and printable(given[name]) for name in ("manifest", "key")}
    found.arguments |= {"paths": [printable(release)], **files, "quick": given.get("quick", False)}
    if resumed := found.results.get("resumed"):
        mention(f"went on with an interrupted run: {plural(resumed, 'file')} had been read")
    write_reports(found, output_format, report)
    if output_format in FOR_TERMINALS:
        _say_what_to_fetch(found)
        if signed := found.results.get("signed"):
            say(f"Signed with {files['key']}: {', '.join(signed)}")
    raise SystemExit(exit_status(found))


def _say_what_to_fetch(report: Report) -> None:
    if by_store := report.results.get("by_store"):
        read = report.results["read"]
        others = f"; read: {', '.join(read[:_MOST_NAMED])}{' …' if len(read) > _MOST_NAMED else ''}" if read else ""
        say(f"Compared by the digest that the store keeps, without reading: {plural(by_store, 'file')}{others}")
    fetch = report.results.get("fetch", ())
    if fetch:
        say(f"Download again ({len(fetch):,}):")
        for path in fetch:
            say(f"  {path}")
