"""Internal: Plan a build: stages, tasks, scratch, output, memory and processor time, from what a sample took."""

from __future__ import annotations

import gzip
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from corpusfmt._resources import resource
from corpusfmt.engine.executors import available_processors
from corpusfmt.engine.progress import Progress
from corpusfmt.io.limits import LimitReached, Limits
from corpusfmt.io.paths import STATE, read_named
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.pipeline.dedup import BYTES_OF_A_SORTED_LINE, DROP_BYTES, CompactTask, compact, share_joined
from corpusfmt.pipeline.intake.inputs import STANDARD_INPUT, Source, inputs_named
from corpusfmt.pipeline.intake.take import Taken
from corpusfmt.pipeline.package.shuffle import bytes_on_disk
from corpusfmt.pipeline.package.variants import variants
from corpusfmt.pipeline.process.store import Size
from corpusfmt.pipeline.process.wet import wet_batches
from corpusfmt.pipeline.recipe import Recipe, load_recipe
from corpusfmt.pipeline.run import build
from corpusfmt.pipeline.stages import Division, StageName
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
    """What a build will take; `scratch_bytes` are those in `.corpusfmt/` at most, `memory_bytes` those of one worker."""

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


def plan(
    inputs: Sequence[str | Path] | int,
    *,
    mean_size: int | None = None,
    base: str | None = None,
    recipe: str = "oscar-1.1",
    keep_original: bool = False,
    measure: Sequence[str] = (),
    rates: str | Rates | None = None,
    jobs: int | None = None,
    follow_links: bool = False,
) -> Plan:
    """Return what a build will take: tasks, scratch and output in bytes, memory, CPU-hours.

    `inputs` are those of `build`, or only their number; `mean_size` is in bytes, for inputs of unknown sizes. A sample is built
    to measure this machine, of `measure` or some of the inputs, unless `rates` are given, saved or of another plan. `jobs` are
    worker processes (None: one for each CPU).

    Raises `UsageError` for wrong arguments, and `Incomplete` if the sample cannot be built within a minute.
    """
    chosen = load_recipe(recipe, {"deduplication": {"keep-original": True} if keep_original else {}})
    named = [] if isinstance(inputs, int) else [str(each) for each in inputs]
    if STANDARD_INPUT in named:
        raise UsageError("plan does not read standard input: name files, or use --inputs N with --mean-size SIZE")
    sources = inputs_named(named, base, follow_links=follow_links) if named else []
    sizes = [each.input.size for each in sources if each.input.size]
    count = inputs if isinstance(inputs, int) else len(sources)
    if mean_size is None and not sizes:
        raise UsageError("the sizes of the inputs are unknown: add --mean-size SIZE, like 150MB")
    mean = mean_size if mean_size is not None else sum(sizes) / len(sizes)
    if rates is None:
        rates = measured(measure or sample_of(sources), chosen, recipe, keep_original=keep_original)
    elif isinstance(rates, str):
        rates = saved_rates(rates)
    whole = sum(sizes) + round(mean * (count - len(sizes)))
    unknown = count - len(sizes) if sources else 0
    return plan_of(chosen, count, whole, rates, jobs or available_processors(), unknown)


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
    # Containers that are being joined exist twice.
    containers = round(scaled(rates.stored_bytes) * (1 + share_joined(inputs, jobs)))
    before = Division.of(recipe, rates.inputs, rates.lines)
    memory = max(0, _largest_range(division) - _largest_range(before)) * BYTES_OF_A_SORTED_LINE
    return Plan(
        recipe.name,
        inputs,
        input_bytes,
        jobs,
        stages,
        containers + _bytes_of_later_stages(recipe, text, lines),
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


def _bytes_of_later_stages(recipe: Recipe, text: Size, lines: Mapping[str, int]) -> int:
    drops = sum(lines.values()) * DROP_BYTES if recipe.deduplication.lines else 0
    if recipe.output.shuffle_seed is None:
        return drops
    return drops + bytes_on_disk(text.text_bytes, text.lines) * len(variants(recipe))


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
        found.append("the sample was generated; name some of your inputs with --measure for the figures of your data")
    if rates.recipe != recipe.name:
        found.append(f"the rates are those of the recipe {rates.recipe}")
    if unknown:
        found.append(
            f"{plural(unknown, 'input')} of unknown size: as large as the mean of the others, or as --mean-size"
        )
    return found


_SECONDS = 60.0
_MOST_SAMPLE_BYTES = 200_000_000
_MOST_RATES_BYTES = 1024 * 1024
# The generated sample: files, bytes of text of each, and the share of lines that recur unchanged.
_FILES, _FILE_BYTES, _RECURRING = 8, 6_000_000, 0.2
_BUNDLED = "sample/UDHR-20181112172845-00000.warc.wet.gz"

Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]


class Rates(Struct, frozen=True, forbid_unknown_fields=True):
    """What a sample took: the inputs and their bytes, CPU seconds by stage, kept lines by language as they were stored, the
    kept text, bytes of scratch and output, and the peak memory of one process.
    """

    recipe: str
    inputs: Annotated[int, Meta(ge=1)]
    bytes: Annotated[int, Meta(ge=1)]
    cpu_seconds: dict[StageName, Seconds]
    lines: dict[str, Count]
    text: Size
    stored_bytes: Count
    output_bytes: Count
    memory_bytes: Count
    generated: bool = False
    schema: Literal["corpusfmt-rates/1"] = field(name="schema", default="corpusfmt-rates/1")


def saved_rates(path: str) -> Rates:
    """Read rates that were saved. Raises `UsageError`."""
    try:
        return msgspec.json.decode(read_named(path, _MOST_RATES_BYTES, "rates"), type=Rates)
    except OSError as error:
        raise UsageError(f"cannot read the rates {path}: {error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} has no rates ({error}): save some with `corpusfmt plan --save-rates`") from error


def sample_of(sources: Sequence[Source]) -> list[str]:
    """Return some of the inputs whose size is known: those nearest to the mean, up to 200 MB, but at least one."""
    known = [each for each in sources if each.entry is not None and each.input.size]
    mean = sum(each.input.size for each in known) / max(1, len(known))
    chosen: list[str] = []
    size = 0
    for each in sorted(known, key=lambda each: abs(each.input.size - mean)):
        size += each.input.size
        if chosen and size > _MOST_SAMPLE_BYTES:
            break
        assert each.entry is not None
        chosen.append(each.entry.url)
    return sorted(chosen)


def measured(sample: Sequence[str], recipe: Recipe, name: str, *, keep_original: bool) -> Rates:
    """Build a sample, or a generated one, in a temporary folder, and return what it took.

    Raises `Incomplete` if that takes more than a minute, or no input can be read.
    """
    with temporary_folder() as folder:
        out = folder / "out"
        inputs = list(sample) or [str(_generated(folder / "sample"))]
        watch = _Watch(out / STATE, folder / "joined.box", recipe)
        try:
            limits = Limits(timeout=_SECONDS)
            build(inputs, out, recipe=name, jobs=1, keep_original=keep_original, limits=limits, progress=watch.see)
        except LimitReached as error:
            raise Incomplete(
                f"the sample was not built within {_SECONDS:g} seconds: name a smaller one with --measure, "
                "or saved rates with --rates"
            ) from error
        output = sum(_sizes(out, without=STATE))
    taken = watch.taken
    lines, text = Counter[str](), Size()
    for each in taken:
        lines.update(each.processed.stored)
        for size in each.processed.original.values():
            text += size
    return Rates(
        recipe.name,
        len(taken),
        sum(each.input.size for each in taken),
        {stage: round(seconds, 6) for stage, seconds in watch.cpu_seconds.items()},
        dict(sorted(lines.items())),
        text,
        watch.stored_bytes,
        output,
        _peak_memory(),
        generated=not sample,
    )


class _Watch:
    """Measures a build of one process from the progress that it shows: stages show that they begin, and each task."""

    def __init__(self, state: Path, joined: Path, recipe: Recipe) -> None:
        self._state, self._joined, self._recipe = state, joined, recipe
        self._began: dict[str, float] = {}
        self.cpu_seconds: dict[StageName, float] = {}
        self.stored_bytes = 0
        self.taken: list[Taken] = []

    def see(self, stage: str, _: Progress) -> None:
        if stage != "process" and not self.taken:  # later stages may remove what is stored of inputs
            self._look()
        now = time.process_time()
        name = msgspec.convert(stage, StageName)
        self.cpu_seconds[name] = now - self._began.setdefault(stage, now)

    def _look(self) -> None:
        """Look at what is stored of the inputs, and join it as larger builds do."""
        folder = self._state / "process"
        self.stored_bytes = sum(_sizes(folder))
        group: list[str] = []
        for path in sorted(folder.glob("*.json")):
            marker = msgspec.json.decode(path.read_bytes())
            taken = msgspec.convert(marker["result"], Taken)
            if taken.processed.quarantined is None:
                self.taken.append(taken)
                group.append(path.with_suffix(".box").name)
        import numpy as np  # noqa: F401, PLC0415 - the first import takes longer than joining a small sample

        before = time.process_time()
        compact(CompactTask(folder, tuple(group), self._joined, self._recipe.deduplication.hash))
        self.cpu_seconds["compact"] = time.process_time() - before


def _sizes(folder: Path, without: str = "") -> Iterator[int]:
    for path in folder.rglob("*"):
        if path.is_file() and path.relative_to(folder).parts[0] != without:
            yield path.stat().st_size


def _peak_memory() -> int:
    """Return the most memory that this process had, 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text("utf-8").split("\n")
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def _generated(folder: Path) -> Path:
    """Write WET files whose pages are those of the bundled sample with the words of most lines in another order."""
    with resource("pipeline", _BUNDLED).open("rb") as file:
        pages = [
            record.text.decode(errors="replace")
            for batch in wet_batches(lambda: file, _BUNDLED)
            for record in batch.records()
        ]
    rng = random.Random(0)
    folder.mkdir()
    for number in range(_FILES):
        with gzip.GzipFile(folder / f"{number}.warc.wet.gz", "wb", compresslevel=6, mtime=0) as wet:
            written = 0
            while written < _FILE_BYTES:
                body = "\n".join(_reordered(line, rng) for line in rng.choice(pages).split("\n")).encode()
                head = (
                    f"WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://sample.example/{rng.getrandbits(64):x}\r\n"
                    f"WARC-Record-ID: <urn:uuid:{rng.getrandbits(128):032x}>\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                wet.write(head.encode() + body + b"\r\n\r\n")
                written += len(body)
    return folder


def _reordered(line: str, rng: random.Random) -> str:
    if rng.random() < _RECURRING:
        return line
    units = line.split(" ") if " " in line else list(line)
    rng.shuffle(units)
    return (" " if " " in line else "").join(units)
