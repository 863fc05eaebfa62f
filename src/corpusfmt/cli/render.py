"""`corpusfmt report render`."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli.outcome import check_outputs, guarded, write_reports

app = typer.Typer(no_args_is_help=True, help="Work with saved reports.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Work with saved reports."""


@app.command("render")
@guarded
def render(
    run: Annotated[str, typer.Argument(metavar="RUN.jsonl", help="A report saved as json or jsonl.")],
    output_format: Annotated[str, typer.Option(help="Any output format of `corpusfmt validate`.")] = "full",
) -> None:
    """Show a saved report in another form."""
    from corpusfmt.report.saved import load

    check_outputs(output_format, [])
    write_reports(load(run), output_format, [])
