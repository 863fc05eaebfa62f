"""Internal: `corpusfmt report render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corpusfmt.cli.outcome import check_outputs, guarded, save_report, write_reports

app = typer.Typer(no_args_is_help=True, help="Work with saved reports.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Work with saved reports."""


@app.command("render")
@guarded
def render(
    run: Annotated[str, typer.Argument(metavar="RUN.jsonl", help="A report saved as json or jsonl.")],
    output_format: Annotated[str, typer.Option(help="Any output format of `corpusfmt validate`.")] = "full",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write (default: print).")
    ] = None,
) -> None:
    """Show a saved report in another form."""
    from corpusfmt.io.publish import refuse_output
    from corpusfmt.report.saved import load

    check_outputs(output_format, [])
    if output is not None:
        refuse_output(output, "--output")
    report = load(run)
    if output is None:
        write_reports(report, output_format, [])
    else:
        save_report(report, output_format, output)
