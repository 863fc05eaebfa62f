"""Internal: Options and messages of shards, among which several processes divide a run."""

from __future__ import annotations

from typing import Annotated

import typer

from corpusfmt.cli.console import summarise
from corpusfmt.model import Report
from corpusfmt.wording import plural

_PANEL = "Shards"

ShardOf = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Read only every N-th input, like 1/8; other processes read the others.",
        rich_help_panel=_PANEL,
    ),
]
Finish = Annotated[
    bool, typer.Option("--finish", help="Do what is left once all shards have ended.", rich_help_panel=_PANEL)
]


def say_done(report: Report, shard: str | None) -> None:
    """Print what a shard has done, or that nothing was left to do."""
    done = report.results.get("shard")
    who = "" if shard is None else f"shard {shard}: "
    if done is None:
        summarise(f"{who}nothing to do, the run is finished")
    else:
        tasks = f"{plural(done['tasks'], 'task')} done"
        summarise(f"{who}{tasks}; once all shards have ended, run the same command with --finish instead of --shard")
