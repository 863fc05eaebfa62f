"""Internal: `corpusfmt plan`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corpusfmt.cli.console import say, write
from corpusfmt.cli.options import FollowLinks
from corpusfmt.cli.outcome import guarded
from corpusfmt.model import UsageError
from corpusfmt.options import size
from corpusfmt.report.text import human_size
from corpusfmt.wording import plural

if TYPE_CHECKING:
    from corpusfmt.pipeline.plan import Plan

_HOUR = 3600

Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        help="WET files, folders, globs or lists of paths, as for `build`.",
        show_default=False,
    ),
]
Number = Annotated[int | None, typer.Option("--inputs", min=1, metavar="N", help="Number of inputs, instead of INPUT.")]
MeanSize = Annotated[
    str | None, typer.Option("--mean-size", metavar="SIZE", help="Mean size of the inputs, like 150MB.")
]
Measure = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE|DIR", help="Inputs to measure (default: some of INPUT, or generated ones); repeatable."),
]
RatesFile = Annotated[str | None, typer.Option("--rates", metavar="FILE", help="Use saved rates, and measure nothing.")]
SaveRates = Annotated[Path | None, typer.Option("--save-rates", metavar="FILE", help="Save the measured rates.")]


class Output(StrEnum):
    """How the plan is printed."""

    TEXT = "text"
    JSON = "json"


@guarded
def command(
    inputs: Inputs = None,
    number: Number = None,
    mean_size: MeanSize = None,
    base: Annotated[str | None, typer.Option(metavar="URL|DIR", help="Base of the paths in a list.")] = None,
    recipe: Annotated[
        str, typer.Option("--recipe", metavar="NAME|FILE", help="A bundled recipe or a .toml file.")
    ] = "oscar-1.1",
    keep_original: Annotated[
        bool, typer.Option("--keep-original", help="Also write the corpus as it was before deduplication.")
    ] = False,
    measure: Measure = None,
    rates: RatesFile = None,
    save_rates: SaveRates = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes (default: one per CPU).")] = None,
    output_format: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
    follow_links: FollowLinks = False,
) -> None:
    """Estimate tasks, scratch, output, memory and CPU-hours of a build, from what a sample takes on this machine."""
    import msgspec

    from corpusfmt.io.publish import output_at, publish_bytes
    from corpusfmt.pipeline.plan import plan

    if bool(inputs) == (number is not None):
        raise UsageError("plan needs either inputs, or --inputs N with --mean-size SIZE")
    if rates is not None and (measure or save_rates is not None):
        raise UsageError("--rates measures nothing: remove --measure and --save-rates, or --rates")
    place = None if save_rates is None else output_at(save_rates, "--save-rates")
    found = plan(
        number or inputs or [],
        mean_size=None if mean_size is None else size(mean_size),
        base=base,
        recipe=recipe,
        keep_original=keep_original,
        measure=measure or [],
        rates=rates,
        jobs=jobs,
        follow_links=follow_links,
    )
    if place is not None:
        publish_bytes(place, msgspec.json.format(msgspec.json.encode(found.rates), indent=2) + b"\n")
    if output_format is Output.JSON:
        write([msgspec.json.format(msgspec.json.encode(found), indent=2).decode()], utf8=True)
        return
    for line in _lines(found):
        say(line)


def _lines(plan: Plan) -> Iterator[str]:
    yield f"{plan.recipe}: {plural(plan.inputs, 'input')}, {human_size(plan.input_bytes)}"
    yield f"  {'stage':<8} {'tasks':>10} {'CPU time':>14} {'longest task':>14}"
    for each in plan.stages:
        whole, longest = _time(each.cpu_seconds), _time(each.longest_task_seconds)
        yield f"  {each.name:<8} {each.tasks:>10,} {whole:>14} {longest:>14}"
    yield f"  scratch: {human_size(plan.scratch_bytes)}"
    yield f"  output: {human_size(plan.output_bytes)}"
    yield f"  memory: {human_size(plan.memory_bytes)} per worker"
    seconds = sum(each.cpu_seconds for each in plan.stages)
    yield f"  CPU time: {_time(seconds)}; {_time(plan.hours * _HOUR)} with {plural(plan.jobs, 'worker')}"
    yield "assuming that"
    yield from (f"- {each}" for each in plan.assumptions)


def _time(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds < _HOUR else f"{seconds / _HOUR:,.1f} h"
