"""Internal: `corpusfmt convert`."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli import completion
from corpusfmt.cli.console import mention, say, summarise
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Given
from corpusfmt.cli.outcome import exit_status, resumable, say_done
from corpusfmt.cli.progress import shown_stages
from corpusfmt.conversion.options import Conversion
from corpusfmt.model import Report, UsageError
from corpusfmt.options import made
from corpusfmt.wording import plural

Source = Annotated[str, typer.Argument(metavar="SRC", help="A corpus, or a Croissant description with records.")]
Destination = Annotated[
    str | None, typer.Argument(metavar="[DST]", help="A new or empty folder or URL, or one to resume; or -o.")
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="DIR|URL", help="The same as DST, as other commands name it.")
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        help="oscar (means 1.1), oscar-1.0, oscar-1.1, dolma, parquet, jsonl, csv, csv-safe or text.",
        autocompletion=completion.targets,
    ),
]


@resumable
def command(
    source: Source,
    to: To,
    destination: Destination = None,
    output: Output = None,
    given: Annotated[Given, Conversion] = UNSET,
) -> None:
    """Convert a corpus to another format. The input is checked, and every loss is counted."""
    from corpusfmt.conversion.run import run

    if source == "-":
        raise UsageError("convert does not read standard input: write it to a file and pass that file")
    if (destination is None) == (output is None):
        raise UsageError("convert writes to one place: name DST, or --output DIR")
    target = destination or output or ""
    with shown_stages() as progress:
        others = {"limits": limits_of(given), "jobs": given.get("jobs"), "progress": progress}
        report = run(source, made(Conversion, given, destination=target, to=to, **others))
    raise SystemExit(_summarised(report, target, given.get("shard")))


def _summarised(report: Report, target: str, shard: str | None) -> int:
    """Print what was converted, or what a shard leaves; return the exit status."""
    from corpusfmt.conversion.tasks import quarantine_of
    from corpusfmt.io.outputs import place_of

    if "sources" in report.results:
        say("dry run, nothing is written; the first documents of each shard have:")
        for name, count in report.results["sources"].items():
            say(f"  source `{name}`: {plural(count, 'document')}")
        for name, language in report.results["languages"].items():
            folder = f"`{language['label']}`" if language["label"] else "none, such documents are rejected"
            shown = f"language `{name}`" if name else "unknown language"
            say(f"  {shown}: {plural(language['documents'], 'document')}; label {folder}")
        return 0
    if "files" not in report.results:
        say_done(report, shard)
        return 0
    destination = place_of(target, "the destination")
    if report.results.get("finished"):
        mention(f"nothing to do: {destination} already contains the finished corpus of these inputs and options")
    shards, documents = plural(report.coverage.shards_seen, "shard"), plural(report.coverage.documents, "document")
    summarise(f"{shards} -> {destination}: {documents} in {plural(report.results['files'], 'file')}")
    for remark in report.findings:
        if not remark.code.startswith("CNV"):
            say(f"  {remark.code} {remark.location}: {remark.message}")
            if remark.hint:
                say(f"  help: {remark.hint}")
    for what, count in report.results["losses"].items():
        say(f"  lost: {what}, {plural(count, 'time')}")
    if report.results["rejected"]:
        say(f"  rejected: {plural(report.results['rejected'], 'record')}, in {quarantine_of(destination)}")
    for path in report.results["cut"]:
        say(f"  truncated: {path}; the number of missing documents is unknown")
    if unread := report.results["unread"]:
        say(f"  not read: {plural(len(unread), 'file')}, like {unread[0]}")
    return exit_status(report, require_complete=True)
