"""Internal: `corpusfmt validate`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from corpusfmt.cli.bounds import Engine, Jobs, MaxExpansion, MaxTotalBytes, Timeout, limits_of
from corpusfmt.cli.inputs import ColumnProfile, FollowLinks, Maps
from corpusfmt.cli.outcome import FailOn, Reports, check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.progress import shown_progress
from corpusfmt.model import UsageError
from corpusfmt.report.view import View
from corpusfmt.wording import clipped


class Show(StrEnum):
    """The least severity that is shown."""

    WARNING = "warning"
    INFO = "info"


Paths = Annotated[
    list[str], typer.Argument(metavar="PATH...", help="Corpora or descriptions; `-` reads standard input.")
]
FormatName = Annotated[
    str,
    typer.Option(
        "--format",
        help="auto, oscar, oscar-1.0, oscar-1.1, oscar-22.01, oscar-23.01, dolma, parquet, jsonl, mc4, text or croissant.",
    ),
]
Profile = Annotated[
    list[str],
    typer.Option(
        metavar="NAME|FILE",
        help="standard (default), strict, common-crawl, hub, neurips-2026, or a TOML file; repeatable.",
    ),
]
Data = Annotated[bool, typer.Option("--data/--no-data", help="Also check the data that a Croissant description names.")]
Dedup = Annotated[bool, typer.Option("--dedup", help="Report repeated lines: the corpus is declared deduplicated.")]
Select = Annotated[list[str], typer.Option(help="Report only these rules: codes, prefixes or slugs, comma-separated.")]
Ignore = Annotated[list[str], typer.Option(help="Do not report these rules.")]
ConfigFile = Annotated[str | None, typer.Option("--config", metavar="FILE", help="Settings in TOML.")]
Baseline = Annotated[
    str | None, typer.Option(metavar="FILE", help="A saved JSON report: report only problems that it does not count.")
]
Fail = Annotated[FailOn | None, typer.Option("--fail-on", help="Least severity for exit status 1 (default: error).")]
Sample = Annotated[str | None, typer.Option(metavar="SHARE", help="Check only a share of the shards, like 1%.")]
RequireComplete = Annotated[bool, typer.Option("--require-complete", help="Exit 3 if anything was not checked.")]
MaxPerRule = Annotated[int, typer.Option(min=1, help="Most findings to keep per rule and file; counts stay exact.")]
MaxLineBytes = Annotated[
    int | None, typer.Option(min=1, help="Longest line; longer lines are reported and skipped (default: 32 MiB).")
]
Blocklist = Annotated[
    str | None, typer.Option(metavar="FILE", help="Dolma: ids, or source<TAB>id, that a release must not contain.")
]
OutputFormat = Annotated[
    str,
    typer.Option(
        help="full, concise, grouped, json, jsonl, sarif, junit, github, gitlab, markdown or html.",
    ),
]
MaxFindings = Annotated[
    int, typer.Option(min=0, help="Most findings to show as text and annotations, worst first; the rest are counted.")
]
ShowOption = Annotated[Show, typer.Option("--show", help="Least severity to show as text and annotations.")]


@guarded
def command(
    paths: Paths,
    format_name: FormatName = "auto",
    profile: Profile = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    data: Data = False,
    dedup: Dedup = False,
    columns: ColumnProfile = None,
    select: Select = [],  # noqa: B006
    ignore: Ignore = [],  # noqa: B006
    config: ConfigFile = None,
    baseline: Baseline = None,
    fail_on: Fail = None,
    jobs: Jobs = None,
    engine: Engine = None,
    sample: Sample = None,
    maps: Maps = [],  # noqa: B006
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
    """Check corpora and descriptions against their format. Every deviation is reported with its location."""
    from corpusfmt.cli.inputs import base_of, expanded, judged_by, maps_of, one_report, share, standard_input
    from corpusfmt.engine.config import Config, load_config
    from corpusfmt.engine.validate import validate
    from corpusfmt.report.saved import Baseline, load_baseline

    check_outputs(output_format, report)
    settings = load_config(config) if config else Config()
    known = load_baseline(baseline) if baseline else Baseline()
    failing = fail_on or _fail_on(settings.fail_on)
    judged = judged_by(settings, profile, select, ignore)
    reports = []
    with standard_input(paths, format_name) as given, shown_progress("validating") as progress:
        inputs = list(expanded(given, follow_links=follow_links or settings.follow_links))
        for shown, path in inputs:
            checked = validate(
                path,
                format=format_name,
                data=data or bool(maps),
                dedup=dedup,
                columns=columns,
                baseline=known if len(inputs) == 1 else known.below(shown),
                jobs=jobs,
                engine=engine,
                sample=share(sample),
                max_per_rule=max_per_rule,
                max_line_bytes=max_line_bytes,
                maps=(settings.map if data or maps else {}) | maps_of(maps),
                limits=limits_of(max_expansion, max_total_bytes, timeout, settings),
                blocklist=blocklist,
                progress=progress,
                **judged,
            )
            reports.append((shown, checked))
    whole = one_report(reports, known)
    asked = {"paths": paths, "format": format_name, "profile": ", ".join(judged["profile"])}
    whole.arguments |= {**asked, "base": base_of(inputs)}
    write_reports(whole, output_format, report, View(max_findings, show is Show.INFO))
    raise typer.Exit(exit_status(whole, failing, require_complete=require_complete))


def _fail_on(setting: str | None) -> FailOn:
    try:
        return FailOn(setting or FailOn.ERROR)
    except ValueError:
        raise UsageError(
            f"configuration: fail-on is {clipped(str(setting))!r}, expected one of {', '.join(FailOn)}"
        ) from None
