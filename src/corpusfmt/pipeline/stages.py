"""Internal: The stages after `process`, split into tasks and run in order: `compact`, `dedup`, `divide`, `package`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, Self, TypeVar

import msgspec
from msgspec import Struct

from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.containers import is_container
from corpusfmt.io.publish import all_unchanged
from corpusfmt.pipeline.dedup import (
    Bucket,
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
StageName = Literal["process", "compact", "dedup", "divide", "package"]
# Smaller tasks would cost more to schedule than to run.
_LINES_A_TASK = 100_000
# About those of the parts that one task writes. To find the parts of a language with fewer lines would cost more than it saves.
_LINES_A_SHARE = 500_000


class Division(Struct, frozen=True):
    """How a build is divided into tasks: groups of inputs that are joined, ranges of hashes, and languages, with their lines.

    It depends only on the recipe, the number of inputs, and the number of lines of each language. Few inputs are not
    joined, and without deduplication there are no ranges.
    """

    inputs: int
    groups: Sequence[int]
    ranges: Sequence[tuple[tuple[Bucket, ...], int]] | None
    languages: Sequence[tuple[tuple[str, ...], int]]
    #: Lines of languages whose parts several tasks write.
    large: Mapping[str, int]
    variants: Sequence[Variant]

    @classmethod
    def of(cls, recipe: Recipe, inputs: int, lines: Mapping[str, int]) -> Self:
        """Return the division of a build."""
        joined = groups(inputs)
        output = recipe.output
        divisible = output.part_bytes is not None and output.shuffle_seed is None
        large = {label: count for label, count in sorted(lines.items()) if divisible and count > _LINES_A_SHARE}
        of_hashes = [(bucket, bucket.lines) for label in sorted(lines) for bucket in buckets(label, lines[label])]
        return cls(
            inputs,
            joined if len(joined) > 1 else [],
            _batches(of_hashes) if recipe.deduplication.lines else None,
            _batches((label, count) for label, count in sorted(lines.items()) if label not in large),
            large,
            variants(recipe),
        )

    @property
    def weights(self) -> dict[StageName, list[int]]:
        """The expected durations of the tasks of each stage, in any unit, in the order of the stages."""
        return {
            "process": [1] * self.inputs,
            **({"compact": list(self.groups)} if self.groups else {}),
            **({"dedup": [size for _, size in self.ranges]} if self.ranges is not None else {}),
            **({"divide": self._containers_of_large * len(self.variants)} if self.large else {}),
            "package": [*(size for _, size in self.languages), *self._shares] * len(self.variants),
        }

    @property
    def _containers_of_large(self) -> list[int]:
        containers = len(self.groups) or self.inputs
        return [count // containers for count in self.large.values() for _ in range(containers)]

    @property
    def _shares(self) -> list[int]:
        return [_LINES_A_SHARE for count in self.large.values() for _ in range(-(-count // _LINES_A_SHARE))]


class Run(Struct, frozen=True):
    """What every stage needs."""

    workplace: Workplace
    recipe: Recipe
    fingerprint: str
    stages: Stages


def packaged(run: Run, usable: Usable) -> dict[str, Packaged]:
    """Return the packaged files of each language."""
    basis = _basis(run, usable.containers)
    division = Division.of(run.recipe, usable.number, usable.lines)
    containers = _compact(run, usable, division)
    drops = _dedup(run, division, containers, basis)
    # From here on published files are replaced.
    unseal(run.workplace)
    packaging = Packaging(run.stages.of_own_files, run.workplace, run.recipe, containers, drops, basis)
    return packaging.packaged(division.variants, division.languages, division.large)


def _basis(run: Run, containers: Iterable[tuple[str, str]]) -> str:
    """Return a fingerprint of everything that the results of these inputs depend on, given as in `Usable.containers`."""
    whole = hashlib.sha256()
    for each in containers:
        whole.update(msgspec.json.encode(each))
    return digest(run.fingerprint, whole.hexdigest())


def _compact(run: Run, usable: Usable, division: Division) -> tuple[Path, ...]:
    """Return the containers for the later stages: the inputs' own if there are few, else joined ones."""
    if not division.groups:
        return tuple(run.workplace.state / "process" / name for name, _ in usable.containers)
    tasks = list(_joining(run, usable, division.groups))
    run.stages.of_own_files.run(
        "compact",
        compact,
        tasks,
        Compacted,
        division.weights["compact"],
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
    sizes = Division.of(run.recipe, usable.number, {}).groups or [usable.number]
    for task in _joining(run, usable, sizes):
        gone = [name for name in task.argument.names if not (task.argument.folder / name).exists()]
        if gone and not (run.stages.has_ended("compact", task) and is_container(task.argument.compacted)):
            yield from gone


def _dedup(run: Run, division: Division, containers: tuple[Path, ...], basis: str) -> dict[str, list[Path]]:
    """Return the files with the numbers of the lines to drop, by language."""
    tasks = []
    drops: dict[str, list[Path]] = {}
    if division.ranges is None:
        return drops
    for batch, _ in division.ranges:
        name = f"{batch[0].label}-{batch[0].number}"
        path = run.workplace.state / "dedup" / f"{name}.box"
        argument = DedupTask(batch, containers, path, run.recipe.deduplication.hash)
        tasks.append(StageTask(name, argument, basis))
        for bucket in batch:
            drops.setdefault(bucket.label, []).append(argument.drops)
    weights = division.weights["dedup"]
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


class Packaging(Struct, frozen=True):
    """What all tasks need: `drops` are the containers with the lines to drop by language, `basis` fingerprints everything before."""

    stages: Stages
    workplace: Workplace
    recipe: Recipe
    containers: tuple[Path, ...]
    drops: Mapping[str, Sequence[Path]]
    basis: str

    def packaged(
        self, variants: Sequence[Variant], small: Sequence[tuple[tuple[str, ...], int]], large: Mapping[str, int]
    ) -> dict[str, Packaged]:
        """Return the packaged files of each language, given the small ones of each task, and large ones, with their lines."""
        divided = self._divided(variants, large) if large else {}
        tasks: list[StageTask[PackageTask]] = []
        weights: list[int] = []
        for variant in variants:
            tasks += [self._task(variant, labels) for labels, _ in small]
            weights += [lines for _, lines in small]
            for label, lines in large.items():
                own = divided[variant, label]
                tasks += [self._task(variant, (label,), span) for span in own]
                weights += [lines // len(own)] * len(own)
        results = self.stages.run(
            "package", package, tasks, dict[str, Packaged], weights, reusable=_are_unchanged
        )  # fmt: skip
        found: dict[tuple[Variant, str], list[tuple[PackageTask, Packaged]]] = {}
        for task, result in zip(tasks, results, strict=True):
            for label, own_result in result.items():
                found.setdefault((task.argument.variant, label), []).append((task.argument, own_result))
        by_label: dict[str, Packaged] = {}
        for (variant, label), parts in found.items():
            whole = self._whole(variant, label, parts)
            all_variants = by_label.setdefault(label, whole)
            all_variants.files |= whole.files
            all_variants.counts |= whole.counts
        return dict(sorted(by_label.items()))

    def _whole(self, variant: Variant, label: str, parts: Sequence[tuple[PackageTask, Packaged]]) -> Packaged:
        task, result = parts[0]
        if task.span is None:
            return result
        return joined(task, [each for _, each in parts], self.workplace.aside(f"{label}-{variant.name}-whole"))

    def _divided(
        self, variants: Sequence[Variant], large: Mapping[str, int]
    ) -> dict[tuple[Variant, str], list[Span | None]]:
        """Return what each task writes of large languages, None for all."""
        assert self.recipe.output.part_bytes is not None
        tasks = {(variant, label): list(self._dividing(variant, label)) for variant in variants for label in large}
        weights = [lines // len(self.containers) for _ in variants for lines in large.values() for _ in self.containers]
        self.stages.run(
            "divide",
            divide,
            [task for each in tasks.values() for task in each],
            Divided,
            weights,
            reusable=lambda task, _: is_container(task.sizes),
        )
        part_bytes = self.recipe.output.part_bytes
        return {key: spans([task.argument.sizes for task in each], part_bytes) for key, each in tasks.items()}

    def _dividing(self, variant: Variant, label: str) -> Iterator[StageTask[DivideTask]]:
        drops = self._drops(variant, (label,))
        output, steps = self.recipe.output, self.recipe.step
        for number, container in enumerate(self.containers):
            name = f"{label}-{variant.name}-{number}"
            sizes = self.workplace.state / "divide" / f"{name}.box"
            task = DivideTask(label, number, container, drops, output, variant, steps, sizes)
            yield StageTask(name, task, digest(self.basis, *self._choices(variant)))

    def _task(self, variant: Variant, labels: tuple[str, ...], span: Span | None = None) -> StageTask[PackageTask]:
        name = f"{labels[0]}-{variant.name}" + ("" if span is None else f"-{span.before + 1}")
        destination, aside = self.workplace.destination, self.workplace.aside(name)
        output, steps, drops = self.recipe.output, self.recipe.step, self._drops(variant, labels)
        argument = PackageTask(labels, self.containers, drops, output, variant, destination, aside, steps, span)
        own = () if span is None else (span,)
        return StageTask(name, argument, digest(self.basis, *self._choices(variant), *own))

    def _choices(self, variant: Variant) -> tuple[object, ...]:
        return self.recipe.output, self.recipe.output.compressor, variant.name, variant.root

    def _drops(self, variant: Variant, labels: Sequence[str]) -> tuple[Path, ...]:
        if not variant.deduplicated:
            return ()
        return tuple(dict.fromkeys(path for label in labels for path in self.drops[label]))


def _are_unchanged(task: PackageTask, packaged: Mapping[str, Packaged]) -> bool:
    """Return whether the files that a task of an earlier run wrote are still as they were written."""
    return all(all_unchanged(task.destination, each.files) for each in packaged.values())
