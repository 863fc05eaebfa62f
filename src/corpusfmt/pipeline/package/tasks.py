"""Internal: Stages `divide` and `package`: which task writes which files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.io.containers import is_container
from corpusfmt.io.publish import all_unchanged
from corpusfmt.pipeline.package.divide import Divided, DivideTask, Span, divide, spans
from corpusfmt.pipeline.package.variants import Variant
from corpusfmt.pipeline.package.write import Packaged, PackageTask, joined, package
from corpusfmt.pipeline.recipe import Recipe


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
        results = self.stages.run_whole(
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
        self.stages.run_whole(
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
