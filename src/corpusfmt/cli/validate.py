"""Internal: `corpusfmt validate`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from corpusfmt.cli.bounds import MaxExpansion, MaxTotalBytes, Timeout, limits_of
from corpusfmt.cli.inputs import FollowLinks
from corpusfmt.cli.outcome import FailOn, check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.progress import shown_progress
from corpusfmt.model import UsageError
from corpusfmt.report.view import View
from corpusfmt.wording import clipped


class Show(StrEnum):
    """Down to which severity findings are shown."""

    WARNING = "warning"
    INFO = "info"


Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Corpora or descriptions; `-` is one file on standard input.")
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format", help="auto, oscar, oscar-1.0, oscar-1.1, oscar-22.01, oscar-23.01, dolma, parquet or croissant."
    ),
]
Profile = Annotated[str | None, typer.Option(help="standard (default) or strict.")]
Data = Annotated[bool, typer.Option("--data/--no-data", help="Also judge the data that a Croissant description names.")]
Dedup = Annotated[bool, typer.Option("--dedup", help="The corpus is declared deduplicated: report repeated lines.")]
Select = Annotated[list[str], typer.Option(help="Report only these rules: codes, prefixes or slugs, comma-separated.")]
Ignore = Annotated[list[str], typer.Option(help="Do not report these rules.")]
ConfigFile = Annotated[str | None, typer.Option("--config", metavar="FILE", help="Settings in TOML.")]
Baseline = Annotated[
    str | None, typer.Option(metavar="FILE", help="A saved JSON report: report only what it did not count.")
]
Fail = Annotated[
    FailOn | None, typer.Option("--fail-on", help="From which severity on the exit status is 1 (default: error).")
]
Jobs = Annotated[
    int | None, typer.Option(min=1, help="Worker processes (default: the processors, one for small input).")
]
Engine = Annotated[
    str | None, typer.Option(help="serial, processes, dask[:ADDRESS], ray[:ADDRESS] or py:MODULE:FACTORY.")
]
Sample = Annotated[str | None, typer.Option(metavar="SHARE", help="Look at a share of the shards, like 1%.")]
RequireComplete = Annotated[bool, typer.Option("--require-complete", help="Exit 3 if anything was not looked at.")]
MaxPerRule = Annotated[int, typer.Option(min=1, help="Findings shown of a rule in one file; counts stay exact.")]
MaxLineBytes = Annotated[
    int | None, typer.Option(min=1, help="A longer line is reported and skipped (default: 32 MiB).")
]
Blocklist = Annotated[
    str | None, typer.Option(metavar="FILE", help="Dolma: ids, or source<TAB>id, that must not be in the release.")
]
OutputFormat = Annotated[
    str,
    typer.Option(
        help="full, concise, grouped, json, jsonl, sarif, junit, github, gitlab, markdown or html.",
    ),
]
Reports = Annotated[
    list[str],
    typer.Option("--report", metavar="FORMAT=PATH", help="Write a further report; repeatable. `-` is standard output."),
]
MaxFindings = Annotated[
    int, typer.Option(min=0, help="Findings shown as text and annotations, the worst first; the rest as counts.")
]
ShowOption = Annotated[
    Show, typer.Option("--show", help="Down to which severity text and annotations show findings: warning or info.")
]


@guarded
def command(
    paths: Paths,
    format_name: FormatName = "auto",
    profile: Profile = None,
    data: Data = False,
    dedup: Dedup = False,
    select: Select = [],  # noqa: B006 - typer needs a value, and nothing here changes it
    ignore: Ignore = [],  # noqa: B006
    config: ConfigFile = None,
    baseline: Baseline = None,
    fail_on: Fail = None,
    jobs: Jobs = None,
    engine: Engine = None,
    sample: Sample = None,
    follow_links: FollowLinks = False,
    require_complete: RequireComplete = False,
    max_per_rule: MaxPerRule = 10,
    max_line_bytes: MaxLineBytes = None,
    max_expansion: MaxExpansion = None,
    max_total_bytes: MaxTotalBytes = None,
    timeout: Timeout = None,
    blocklist: Blocklist = None,
    output_format: OutputFormat = "full",
    report: Reports = [],  # noqa: B006
    max_findings: MaxFindings = 100,
    show: ShowOption = Show.WARNING,
) -> None:
    """Check corpora and descriptions against their format, and report every deviation with its place."""
    from corpusfmt.cli.inputs import base_of, expanded, names, one_report, share, standard_input
    from corpusfmt.engine.config import Config, load_config
    from corpusfmt.engine.validate import validate
    from corpusfmt.io.lines import MAX_LINE_BYTES
    from corpusfmt.report.saved import Baseline, load_baseline

    check_outputs(output_format, report)
    settings = load_config(config) if config else Config()
    limits = limits_of(max_expansion, max_total_bytes, timeout, settings)
    known = load_baseline(baseline) if baseline else Baseline()
    failing = fail_on or _fail_on(settings.fail_on)
    arguments = {"paths": paths, "format": format_name, "profile": profile or settings.profile or "standard"}
    reports = []
    with standard_input(paths, format_name) as given, shown_progress("validating") as progress:
        inputs = list(expanded(given, follow_links=follow_links or settings.follow_links))
        for shown, path in inputs:
            checked = validate(
                path,
                format=format_name,
                profile=profile or settings.profile or "standard",
                data=data,
                dedup=dedup,
                select=names(select) or tuple(settings.select),
                ignore=(*names(ignore), *settings.ignore),
                overrides=settings.overrides,
                baseline=known if len(inputs) == 1 else known.below(shown),
                jobs=jobs,
                engine=engine,
                sample=share(sample),
                max_per_rule=max_per_rule,
                max_line_bytes=max_line_bytes or MAX_LINE_BYTES,
                limits=limits,
                blocklist=blocklist,
                progress=progress,
            )
            reports.append((shown, checked))
    whole = one_report(reports, known)
    whole.arguments = arguments | {"base": base_of(inputs)}
    write_reports(whole, output_format, report, View(max_findings, show is Show.INFO))
    raise typer.Exit(exit_status(whole, failing, require_complete=require_complete))


def _fail_on(setting: str | None) -> FailOn:
    try:
        return FailOn(setting or FailOn.ERROR)
    except ValueError:
        raise UsageError(f"configuration: fail-on is {clipped(str(setting))!r}; known: {', '.join(FailOn)}") from None
