"""Internal: Plan a build: stages, tasks, scratch, output, memory and processor time, from what a sample took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field

from corpusfmt.model import UsageError
from corpusfmt.pipeline.dedup.compact import share_joined
from corpusfmt.pipeline.dedup.repetitions import BYTES_OF_A_SORTED_LINE
from corpusfmt.pipeline.intake.scratch import Scratch
from corpusfmt.pipeline.intake.take import bytes_of_later_stages
from corpusfmt.pipeline.measure import Rates
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.pipeline.size import Size
from corpusfmt.pipeline.stages import Division
from corpusfmt.report.text import human_size
from corpusfmt.wording import plural

_HOUR = 3600
_SMALL_BYTES = 5_000_000
# Measured: the processor time of `divide` as a share of that of `package`, for the same languages.
_DIVIDING = 0.4
# The tasks of larger builds would not fit into memory.
_MOST_INPUTS, _MOST_BYTES, _MOST_LINES = 10**7, 10**18, 10**12


class StagePlan(Struct, frozen=True):
    """A stage: its tasks, the CPU seconds of all, and those of the longest."""

    name: str
    tasks: int
    cpu_seconds: float
    longest_task_seconds: float


class Plan(Struct, frozen=True):
    """What a build will take; `scratch_bytes` are what `--scratch-limit` counts, `memory_bytes` those of one worker."""

    recipe: str
    inputs: int
    input_bytes: int
    jobs: int
    stages: Sequence[StagePlan]
    scratch_bytes: int
    output_bytes: int
    memory_bytes: int
    cpu_hours: float
    hours: float
    assumptions: Sequence[str]
    rates: Rates
    schema: Literal["corpusfmt-plan/1"] = field(name="schema", default="corpusfmt-plan/1")


def plan_of(recipe: Recipe, inputs: int, input_bytes: int, rates: Rates, jobs: int, unknown: int = 0) -> Plan:
    """Return the plan of a build of some inputs; `unknown` are those whose size is assumed to be the mean.

    Raises `UsageError` for a build that is too large.
    """
    _refuse_over("inputs", inputs, _MOST_INPUTS)
    _refuse_over("bytes", input_bytes, _MOST_BYTES)
    factor = input_bytes / rates.bytes

    def scaled(measured: float) -> int:
        return round(measured * factor)

    lines = {label: scaled(count) for label, count in rates.lines.items()}
    _refuse_over("kept lines", sum(lines.values()), _MOST_LINES)
    division = Division.of(recipe, inputs, lines)
    stages = []
    for name, weights in division.weights.items():
        seconds = rates.cpu_seconds.get(name, 0.0) * factor
        if name == "divide":  # samples are too small for it
            share = sum(division.large.values()) / sum(lines.values())
            seconds = _DIVIDING * share * rates.cpu_seconds.get("package", 0.0) * factor
        longest = seconds * max(weights, default=0) / max(1, sum(weights))
        stages.append(StagePlan(name, len(weights), round(seconds, 3), round(longest, 3)))
    text = Size(lines=scaled(rates.text.lines), text_bytes=scaled(rates.text.text_bytes))
    scratch = Scratch(0, again=share_joined(inputs, jobs))
    scratch.keep("", input_bytes, scaled(rates.stored_bytes), bytes_of_later_stages(recipe, {"": text}, lines))
    before = Division.of(recipe, rates.inputs, rates.lines)
    memory = max(0, _largest_range(division) - _largest_range(before)) * BYTES_OF_A_SORTED_LINE
    return Plan(
        recipe.name,
        inputs,
        input_bytes,
        jobs,
        stages,
        scratch.used,
        scaled(rates.output_bytes),
        rates.memory_bytes + memory,
        round(sum(each.cpu_seconds for each in stages) / _HOUR, 6),
        round(sum(max(each.cpu_seconds / jobs, each.longest_task_seconds) for each in stages) / _HOUR, 6),
        list(_assumptions(recipe, rates, unknown)),
        rates,
    )


def _refuse_over(what: str, number: int, most: int) -> None:
    if number > most:
        raise UsageError(f"the build has {number:,} {what}, and plan takes at most {most:,}: plan a part of it")


def _largest_range(division: Division) -> int:
    return max((size for _, size in division.ranges or ()), default=0)


def _assumptions(recipe: Recipe, rates: Rates, unknown: int) -> Sequence[str]:
    sample = f"{plural(rates.inputs, 'input')} of {human_size(rates.bytes)}"
    found = [
        f"work, scratch and output grow with the bytes of the inputs, as in the sample: {sample}",
        "lines repeat as often as in the sample; more inputs repeat more, so their output is smaller",
        "languages are those of the sample; further ones add small tasks and files",
        "no worker waits for inputs, disks or the network, and all are as fast as this machine",
    ]
    if rates.bytes < _SMALL_BYTES:
        found.append(
            "the sample is small, so that the fixed costs of tasks and files count too much; name a larger one"
        )
    if rates.generated:
        found.append("the sample was generated; name some of your inputs with --sample for the figures of your data")
    if rates.recipe != recipe.name:
        found.append(f"the rates are those of the recipe {rates.recipe}")
    if unknown:
        found.append(
            f"{plural(unknown, 'input')} of unknown size: as large as the mean of the others, or as --mean-size"
        )
    return found
