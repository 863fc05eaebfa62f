"""Internal: The stages after `process`, split into tasks and run in order: `compact`, `dedup`, `package`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import is_container
from corpusfmt.io.publish import all_there
from corpusfmt.pipeline.dedup.compact import Compacted, CompactTask, compact, groups
from corpusfmt.pipeline.dedup.repetitions import Deduplicated, DedupTask, buckets, dedup
from corpusfmt.pipeline.package.goclassy import empty_files
from corpusfmt.pipeline.package.variants import variants
from corpusfmt.pipeline.package.write import Packaged, PackageTask, package
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.pipeline.seal.files import unseal

T = TypeVar("T")
# Smaller tasks would cost more to schedule than to run.
_LINES_A_TASK = 100_000


class Run(Struct, frozen=True):
    """What every stage needs."""

    workplace: Workplace
    recipe: Recipe
    fingerprint: str
    stages: Stages


def packaged(run: Run, usable: Sequence[tuple[str, str]], lines: Mapping[str, int]) -> dict[str, Packaged]:
    """Return the packaged files of each language.

    `usable` are the names of the containers of inputs, in order, each with the SHA-256 of its input.
    """
    basis = _basis(run, usable)
    containers = _compact(run, usable)
    drops = _dedup(run, lines, containers, basis) if run.recipe.deduplication.lines else {}
    # From here on published files are replaced.
    unseal(run.workplace)
    tasks = []
    batches = _batches(sorted(lines.items()))
    written = variants(run.recipe)
    for variant in written:
        for labels, _ in batches:
            name = f"{labels[0]}-{variant.name}"
            destination, aside = run.workplace.destination, run.workplace.aside(name)
            own_drops: tuple[Path, ...] = ()
            if variant.deduplicated:
                own_drops = tuple(dict.fromkeys(path for label in labels for path in drops[label]))
            output, steps = run.recipe.output, run.recipe.step
            argument = PackageTask(labels, containers, own_drops, output, variant, destination, aside, steps)
            choices = (run.recipe.output, run.recipe.output.compressor, variant.name, variant.root)
            tasks.append(StageTask(name, argument, digest(basis, *choices)))
    sizes = [size for _, size in batches] * len(written)
    by_label: dict[str, Packaged] = {}
    for result in run.stages.of_own_files.run_whole(
        "package", package, tasks, dict[str, Packaged], sizes, reusable=_is_there
    ):
        for label, own in result.items():
            by_label.setdefault(label, own).files |= own.files
    return by_label


def _basis(run: Run, usable: Sequence[tuple[str, str]]) -> str:
    """Return a fingerprint of everything that the results of these inputs depend on."""
    return digest(run.fingerprint, usable)


def _is_there(task: PackageTask, packaged: Mapping[str, Packaged]) -> bool:
    """Return whether the files that a task of an earlier run wrote still exist."""
    return all(all_there(task.destination, each.files) for each in packaged.values())


def _compact(run: Run, usable: Sequence[tuple[str, str]]) -> tuple[Path, ...]:
    """Return the containers for the later stages: the inputs' own if there are few, else joined ones."""
    joined = groups(usable)
    folder = run.workplace.state / "process"
    if len(joined) < 2:
        return tuple(folder / name for name, _ in usable)
    tasks = []
    for number, group in enumerate(joined):
        compacted = run.workplace.state / "compact" / f"{number}.box"
        argument = CompactTask(folder, tuple(name for name, _ in group), compacted, run.recipe.deduplication.hash)
        tasks.append(StageTask(str(number), argument, _basis(run, group)))
    sizes = [len(group) for group in joined]
    run.stages.of_own_files.run_whole(
        "compact", compact, tasks, Compacted, sizes, reusable=lambda task, _: is_container(task.compacted)
    )
    return tuple(task.argument.compacted for task in tasks)


def _dedup(run: Run, lines: Mapping[str, int], containers: tuple[Path, ...], basis: str) -> dict[str, list[Path]]:
    """Return the files with the numbers of the lines to drop, by language."""
    batches = _batches((bucket, bucket.lines) for label in sorted(lines) for bucket in buckets(label, lines[label]))
    tasks = []
    drops: dict[str, list[Path]] = {}
    for batch, _ in batches:
        name = f"{batch[0].label}-{batch[0].number}"
        path = run.workplace.state / "dedup" / f"{name}.box"
        argument = DedupTask(batch, containers, path, run.recipe.deduplication.hash)
        tasks.append(StageTask(name, argument, basis))
        for bucket in batch:
            drops.setdefault(bucket.label, []).append(argument.drops)
    sizes = [size for _, size in batches]
    run.stages.of_own_files.run_whole(
        "dedup", dedup, tasks, Deduplicated, sizes, reusable=lambda task, _: is_container(task.drops)
    )
    return drops


def _batches(sized: Iterable[tuple[T, int]]) -> list[tuple[tuple[T, ...], int]]:
    """Return the items and size of each task, in order: large items alone, small ones together."""
    batches: list[tuple[tuple[T, ...], int]] = []
    for item, size in sized:
        if not batches or batches[-1][1] + size > _LINES_A_TASK:
            batches.append(((), 0))
        items, filled = batches[-1]
        batches[-1] = ((*items, item), filled + size)
    return batches


def data_files(run: Run, packaged: Mapping[str, Packaged]) -> dict[str, FileFacts]:
    """Return the data files of the corpus by path."""
    files = {path: facts for each in packaged.values() for path, facts in sorted(each.files.items())}
    if run.recipe.output.format == "goclassy":
        files |= empty_files(run.workplace.destination, packaged, run.workplace.state)
    return files
