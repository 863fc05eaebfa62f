"""Internal: The stages after `process`, split into tasks and run in order: `compact`, `dedup`, `divide`, `package`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import is_container
from corpusfmt.io.publish import all_unchanged
from corpusfmt.pipeline.dedup import (
    Compacted,
    CompactTask,
    Deduplicated,
    DedupTask,
    buckets,
    compact,
    dedup,
    groups,
    remove_joined,
)
from corpusfmt.pipeline.goclassy import empty_files
from corpusfmt.pipeline.intake.report import Usable
from corpusfmt.pipeline.package.divide import Divided, DivideTask, Span, divide, spans
from corpusfmt.pipeline.package.variants import Variant, variants
from corpusfmt.pipeline.package.write import Packaged, PackageTask, joined, package
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.pipeline.seal import unseal

T = TypeVar("T")
# Smaller tasks would cost more to schedule than to run.
_LINES_A_TASK = 100_000
# About those of the parts that one task writes. To find the parts of a language with fewer lines would cost more than it saves.
_LINES_A_SHARE = 500_000


class Run(Struct, frozen=True):
    """What every stage needs."""

    workplace: Workplace
    recipe: Recipe
    fingerprint: str
    stages: Stages


def packaged(run: Run, usable: Usable) -> dict[str, Packaged]:
    """Return the packaged files of each language."""
    workplace, output, steps = run.workplace, run.recipe.output, run.recipe.step
    basis = _basis(run, usable.containers)
    containers = _compact(run, usable)
    drops = _dedup(run, usable.lines, containers, basis)
    # From here on published files are replaced.
    unseal(workplace)
    # Several tasks write the parts of a large language.
    divisible = output.part_bytes is not None and output.shuffle_seed is None
    large = {label: lines for label, lines in sorted(usable.lines.items()) if divisible and lines > _LINES_A_SHARE}
    small = _batches((label, lines) for label, lines in sorted(usable.lines.items()) if label not in large)

    def fingerprint(variant: Variant, *own: Span) -> str:
        return digest(basis, output, output.compressor, variant.name, variant.root, *own)

    def drops_of(variant: Variant, labels: Sequence[str]) -> tuple[Path, ...]:
        if not variant.deduplicated:
            return ()
        return tuple(dict.fromkeys(path for label in labels for path in drops[label]))

    # Where the parts of large languages begin: what each task writes of them, None for all.
    dividing: dict[tuple[Variant, str], list[StageTask[DivideTask]]] = {}
    for variant, label in product(variants(run.recipe), large):
        dropped, own = drops_of(variant, (label,)), dividing.setdefault((variant, label), [])
        for number, container in enumerate(containers):
            name = f"{label}-{variant.name}-{number}"
            sizes = workplace.state / "divide" / f"{name}.box"
            argument = DivideTask(label, number, container, dropped, output, variant, steps, sizes)
            own.append(StageTask(name, argument, fingerprint(variant)))
    divided: dict[tuple[Variant, str], list[Span | None]] = {}
    if dividing:
        assert output.part_bytes is not None
        run.stages.of_own_files.run(
            "divide",
            divide,
            [task for own in dividing.values() for task in own],
            Divided,
            [large[label] // len(containers) for _, label in dividing for _ in containers],
            reusable=lambda task, _: is_container(task.sizes),
        )
        for key, own in dividing.items():
            divided[key] = spans([task.argument.sizes for task in own], output.part_bytes)

    tasks: list[StageTask[PackageTask]] = []
    weights: list[int] = []
    for variant in variants(run.recipe):
        work: list[tuple[tuple[str, ...], Span | None, int]] = []
        work += ((labels, None, lines) for labels, lines in small)
        for label, lines in large.items():
            parts = divided[variant, label]
            work += (((label,), span, lines // len(parts)) for span in parts)
        for labels, span, weight in work:
            name = f"{labels[0]}-{variant.name}" + ("" if span is None else f"-{span.before + 1}")
            dropped, destination, aside = drops_of(variant, labels), workplace.destination, workplace.aside(name)
            task = PackageTask(labels, containers, dropped, output, variant, destination, aside, steps, span)
            tasks.append(StageTask(name, task, fingerprint(variant, *(() if span is None else (span,)))))
            weights.append(weight)
    results = run.stages.of_own_files.run(
        "package",
        package,
        tasks,
        dict[str, Packaged],
        weights,
        # The files that a task of an earlier run wrote must be as they were written.
        reusable=lambda task, made: all(all_unchanged(task.destination, each.files) for each in made.values()),
    )
    found: dict[tuple[Variant, str], list[tuple[PackageTask, Packaged]]] = {}
    for each, result in zip(tasks, results, strict=True):
        for label, made in result.items():
            found.setdefault((each.argument.variant, label), []).append((each.argument, made))
    by_label: dict[str, Packaged] = {}
    for (variant, label), written in found.items():
        task, whole = written[0]
        if task.span is not None:
            aside = workplace.aside(f"{label}-{variant.name}-whole")
            whole = joined(task, [made for _, made in written], aside)
        all_variants = by_label.setdefault(label, whole)
        all_variants.files |= whole.files
        all_variants.counts |= whole.counts
    return dict(sorted(by_label.items()))


def _basis(run: Run, containers: Iterable[tuple[str, str]]) -> str:
    """Return a fingerprint of everything that the results of these inputs depend on, given as in `Usable.containers`."""
    whole = hashlib.sha256()
    for each in containers:
        whole.update(msgspec.json.encode(each))
    return digest(run.fingerprint, whole.hexdigest())


def _compact(run: Run, usable: Usable) -> tuple[Path, ...]:
    """Return the containers for the later stages: the inputs' own if there are few, else joined ones."""
    sizes = groups(usable.number)
    if len(sizes) <= 1:
        return tuple(run.workplace.state / "process" / name for name, _ in usable.containers)
    tasks = list(_joining(run, usable, sizes))
    run.stages.of_own_files.run(
        "compact",
        compact,
        tasks,
        Compacted,
        sizes,
        reusable=lambda task, _: is_container(task.compacted),
        # An input that was left out may be added later, and then others are joined.
        done=remove_joined if usable.is_whole else lambda _: None,
    )
    return tuple(task.argument.compacted for task in tasks)


def _joining(run: Run, usable: Usable, sizes: Sequence[int]) -> Iterator[StageTask[CompactTask]]:
    containers, state = usable.containers, run.workplace.state
    for number, size in enumerate(sizes):
        group = list(islice(containers, size))
        names, joined = tuple(name for name, _ in group), state / "compact" / f"{number}.box"
        argument = CompactTask(state / "process", names, joined, run.recipe.deduplication.hash)
        yield StageTask(str(number), argument, _basis(run, group))


def lost_containers(run: Run, usable: Usable) -> Iterator[str]:
    """Yield the names of containers that are neither there nor in a joined one of an earlier run."""
    for task in _joining(run, usable, groups(usable.number)):
        gone = [name for name in task.argument.names if not (task.argument.folder / name).exists()]
        if gone and not (run.stages.has_ended("compact", task) and is_container(task.argument.compacted)):
            yield from gone


def _dedup(run: Run, lines: Mapping[str, int], containers: tuple[Path, ...], basis: str) -> dict[str, list[Path]]:
    """Return the files with the numbers of the lines to drop, by language."""
    drops: dict[str, list[Path]] = {}
    if not run.recipe.deduplication.lines:
        return drops
    tasks, weights = [], []
    for batch, size in _batches(
        (bucket, bucket.lines) for label in sorted(lines) for bucket in buckets(label, lines[label])
    ):
        name = f"{batch[0].label}-{batch[0].number}"
        argument = DedupTask(
            batch, containers, run.workplace.state / "dedup" / f"{name}.box", run.recipe.deduplication.hash
        )
        tasks.append(StageTask(name, argument, basis))
        weights.append(size)
        for bucket in batch:
            drops.setdefault(bucket.label, []).append(argument.drops)
    run.stages.of_own_files.run(
        "dedup", dedup, tasks, Deduplicated, weights, reusable=lambda task, _: is_container(task.drops)
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
