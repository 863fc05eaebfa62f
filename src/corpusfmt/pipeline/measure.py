"""Internal: What a build costs on this machine: the real stages on a sample, in at most a minute."""

from __future__ import annotations

import gzip
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from corpusfmt._resources import resource
from corpusfmt.engine.progress import Progress
from corpusfmt.io.limits import LimitReached, Limits
from corpusfmt.io.paths import STATE, read_named
from corpusfmt.io.temporary import temporary_folder
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.pipeline.dedup.compact import CompactTask, compact
from corpusfmt.pipeline.intake.inputs import Source
from corpusfmt.pipeline.intake.take import Taken
from corpusfmt.pipeline.process.wet import wet_batches
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.pipeline.run import build
from corpusfmt.pipeline.size import Size
from corpusfmt.pipeline.stages import StageName

_SECONDS = 60.0
_MOST_BYTES = 200_000_000
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
        raise UsageError(f"{path} has no rates ({error}): save some with --save-rates") from error


def sample_of(sources: Sequence[Source]) -> list[str]:
    """Return some of the inputs whose size is known: those nearest to the mean, up to 200 MB, but at least one."""
    known = [each for each in sources if each.entry is not None and each.input.size]
    mean = sum(each.input.size for each in known) / max(1, len(known))
    chosen: list[str] = []
    size = 0
    for each in sorted(known, key=lambda each: abs(each.input.size - mean)):
        size += each.input.size
        if chosen and size > _MOST_BYTES:
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
                f"the sample was not built within {_SECONDS:g} seconds: name a smaller one with --sample, "
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
