"""Internal: `corpusfmt report render`, `corpusfmt report compare`, and the group that they and `merge` are in."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli import merge
from corpusfmt.cli.commands import Group, PrintingCommand
from corpusfmt.cli.console import write
from corpusfmt.cli.outcome import FINDINGS, check_outputs, guarded, write_reports

app = typer.Typer(cls=Group, no_args_is_help=True, help="Work with saved reports.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Work with saved reports."""


app.command("merge", cls=PrintingCommand)(merge.command)


@app.command("render", cls=PrintingCommand)
@guarded
def render(
    run: Annotated[str, typer.Argument(metavar="RUN.jsonl", help="A report saved as json or jsonl.")],
    output_format: Annotated[str, typer.Option(help="Any output format of `corpusfmt validate`.")] = "full",
) -> None:
    """Render a saved report in another output format."""
    from corpusfmt.report.saved import load

    check_outputs(output_format, [])
    write_reports(load(run), output_format, [])


@app.command("compare", cls=PrintingCommand)
@guarded
def compare(
    old: Annotated[str, typer.Argument(metavar="OLD.json", help="The earlier report, saved as json or jsonl.")],
    new: Annotated[str, typer.Argument(metavar="NEW.json", help="The later report.")],
    output_format: Annotated[str, typer.Option(help="text, json or markdown.")] = "text",
    fail_on_new: Annotated[bool, typer.Option("--fail-on-new", help="Exit 1 if any finding is new.")] = False,
) -> None:
    """Show the new, gone and unchanged findings of two reports."""
    from corpusfmt.report.saved import load
    from corpusfmt.report.trend import renderer, trend

    lines = renderer(output_format)
    found = trend(load(old), load(new))
    write(lines(found), utf8=output_format != "text")
    raise SystemExit(FINDINGS if fail_on_new and found.totals["new"] else 0)
