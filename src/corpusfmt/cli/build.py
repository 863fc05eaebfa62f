"""Internal: `corpusfmt build`."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli.console import mention, summarise, warn
from corpusfmt.cli.inputs import limits_of
from corpusfmt.cli.options import UNSET, Given
from corpusfmt.cli.outcome import exit_status, explain, resumable, say_done
from corpusfmt.cli.progress import shown_stages
from corpusfmt.model import Report, Severity, UsageError
from corpusfmt.options import made
from corpusfmt.pipeline.choices import Building
from corpusfmt.report.text import human_size
from corpusfmt.wording import plural

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        help="WET files, folders of WET files, globs, lists of paths (*.paths, *.paths.gz); `-` reads standard input.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="DIR|URL", help="A new or empty folder or prefix, or one to resume."),
]
Check = Annotated[
    bool, typer.Option("--check", help="Only read the inputs, compare the digests of their records, and write nothing.")
]


# How people read reasons that the manifest keeps by name.
_REASONS = {
    "in a language not asked for": "in other languages",
    "repeated in its language": "duplicates within a language",
}


@resumable
def command(
    output: Output = None, inputs: Inputs = None, check: Check = False, given: Annotated[Given, Building] = UNSET
) -> None:
    """Build a corpus from WET files. Lines are classified by language, deduplicated and packaged with checksums."""
    from corpusfmt.pipeline import run

    others = {"limits": limits_of(given), "jobs": given.get("jobs")}
    if check:
        report = run.check(inputs or [], made(Building, given, destination="", **others))
        for finding in report.findings:
            explain(finding)
        seen, total = report.coverage.shards_seen, report.coverage.shards_total
        documents = plural(report.coverage.documents, "document")
        summarise(f"{seen:,} of {plural(total, 'WET file')} {'is' if total == 1 else 'are'} readable: {documents}")
        raise SystemExit(exit_status(report, "warning", require_complete=True))
    if output is None:
        raise UsageError("--output is missing: name a new or empty folder, or only read the inputs with --check")
    with shown_stages() as show:
        asked = made(Building, given, destination=output, progress=show, **others)
        report = run.built_from(inputs or [], asked)
    if asked.shard is not None:
        for finding in report.findings:
            explain(finding, "to be excluded: " if finding.severity is Severity.ERROR else f"{finding.severity}: ")
        say_done(report, asked.shard)
        return
    _summarise(report, output, given.get("state"))
    raise SystemExit(exit_status(report, require_complete=True))


def _summarise(report: Report, output: str, state: str | None) -> None:
    from corpusfmt.engine.workplace import traces_of
    from corpusfmt.io.outputs import place_of

    place = place_of(output, "the output")

    if report.results.get("finished"):
        mention(f"nothing to do: {place} already contains the finished corpus of these inputs and options")
    for finding in report.findings:
        fate = "excluded" if finding.severity is Severity.ERROR else finding.severity
        explain(finding, f"{fate}: ")
    if resumed := report.results.get("resumed"):
        counts = f"inputs kept: {resumed['taken_over']:,}, read: {resumed['read']:,}"
        mention(f"resumed an unfinished run ({counts})")
    traces = " and ".join(traces_of(place, state))
    if failed := report.by_rule.get("WET105"):
        warn(
            f"{plural(failed, 'document')} excluded: after corrections, run the same command again, or remove {traces} to "
            "accept the corpus without them"
        )
    if (excluded := report.coverage.shards_total - report.coverage.shards_seen) > 0:
        warn(
            f"{plural(excluded, 'input')} excluded: after repairs, run the same command again to read only those, "
            f"or remove {traces} to accept the corpus without them"
        )
    total = report.results["stats"]["total"]["final"]
    reasons = ((_REASONS.get(reason, reason), count) for reason, count in report.results["dropped"].items())
    dropped = ", ".join(f"{count:,} {reason}" for reason, count in reasons) or "none"
    summarise(f"{report.coverage.shards_seen:,} of {plural(report.coverage.shards_total, 'WET file')} -> {place}")
    texts = f"{plural(total['documents'], 'document')}, {plural(total['lines'], 'line')}"
    summarise(f"  {texts}, {human_size(total['bytes'])} of text")
    summarise(f"  {plural(len(report.results['stats']['languages']), 'language')}")
    summarise(f"  lines dropped: {dropped}")
    for name, counts in report.results.get("steps", {}).items():
        summarise(f"  step {name}: {', '.join(f'{count:,} {fate}' for fate, count in counts.items())}")
    if cleaned := report.results["stats"].get("cleaned"):
        summarise(f"  lines {', '.join(f'{what}: {count:,}' for what, count in cleaned.items())}")
