"""Internal: `corpusfmt report`: `merge` and `render`."""

from __future__ import annotations

from typing import Annotated

import typer
from msgspec.structs import replace

from corpusfmt.cli.commands import Group, PrintingCommand
from corpusfmt.cli.options import FollowRedirects, OutputFormat, Reports, declared
from corpusfmt.cli.outcome import check_outputs, exit_status, guarded, write_reports
from corpusfmt.cli.validate import checked
from corpusfmt.engine.sharing import Engine, Jobs

PartFiles = Annotated[
    list[str], typer.Argument(metavar="PART...", help="The parts of one run, in any order.", show_default=False)
]
Paths = Annotated[
    list[str],
    typer.Option("--path", metavar="PATH", help="The corpus, if it has moved; repeatable."),
]

app = typer.Typer(cls=Group, no_args_is_help=True, help="Work with saved reports.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Work with saved reports."""


@app.command("merge", cls=PrintingCommand)
@declared
@guarded
def merge(
    parts: PartFiles,
    paths: Paths = [],  # noqa: B006 - typer needs a value, and nothing mutates it
    jobs: Jobs = None,
    engine: Engine = None,
    output_format: OutputFormat = "full",
    report: Reports = [],  # noqa: B006
) -> None:
    """Join the parts that `corpusfmt validate --shard` wrote into the report of one run, with its exit status."""
    from corpusfmt.engine.parts import CHECKS, parts_at, refuse_masked

    check_outputs(output_format, report)
    found = parts_at(parts, CHECKS)
    asked = replace(found.asked, paths=paths or found.asked.paths, jobs=jobs, engine=engine)
    for path in asked.paths:
        refuse_masked(path)
    whole = checked(asked, found)
    whole.started = found.started
    write_reports(whole, output_format, report)
    raise SystemExit(exit_status(whole, asked.fail_on, require_complete=asked.require_complete))


@app.command("render", cls=PrintingCommand)
@guarded
def render(
    run: Annotated[str, typer.Argument(metavar="RUN.jsonl", help="A report saved as json or jsonl.")],
    output_format: Annotated[str, typer.Option(help="Any output format of `corpusfmt validate`.")] = "full",
    follow_redirects: FollowRedirects = False,
) -> None:
    """Render a saved report in another output format."""
    from corpusfmt.io.paths import FOLLOWS_NAMED
    from corpusfmt.report.saved import load

    FOLLOWS_NAMED.set(follow_redirects)
    check_outputs(output_format, [])
    write_reports(load(run), output_format, [])
