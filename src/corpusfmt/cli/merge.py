"""Internal: `corpusfmt report merge`."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from corpusfmt.cli.options import Engine, Jobs, MaxFindings, OutputFormat, Reports, ShowOption
from corpusfmt.cli.outcome import FailOn, Show, check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.validate import checked
from corpusfmt.report.view import View

PartFiles = Annotated[
    list[str], typer.Argument(metavar="PART...", help="The parts of one run, in any order.", show_default=False)
]
Paths = Annotated[
    list[str],
    typer.Option("--path", metavar="PATH", help="The corpus, if it has moved; repeatable."),
]


@guarded
def command(
    parts: PartFiles,
    paths: Paths = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    jobs: Jobs = None,
    engine: Engine = None,
    output_format: OutputFormat = "full",
    report: Reports = [],  # noqa: B006
    max_findings: MaxFindings = 100,
    show: ShowOption = Show.WARNING,
) -> None:
    """Join the parts that `corpusfmt validate --shard` wrote into the report of one run, with its exit status."""
    from corpusfmt.engine.parts import parts_at

    check_outputs(output_format, report)
    found = parts_at(parts)
    asked = replace(found.asked, paths=paths or found.asked.paths)
    whole = checked(asked, jobs, engine, found)
    whole.started = found.started
    write_reports(whole, output_format, report, View(max_findings, show is Show.INFO))
    raise SystemExit(exit_status(whole, FailOn(asked.fail_on), require_complete=asked.require_complete))
