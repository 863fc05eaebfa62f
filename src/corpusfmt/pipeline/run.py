"""Run the pipeline: inputs listed, stages run, the corpus sealed with a manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from corpusfmt._version import VERSION
from corpusfmt.description import described
from corpusfmt.engine.executors import Workers
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import now
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.formats.general import LINK_OUTSIDE_ROOT, broken_stream
from corpusfmt.io.compress import FileFacts, all_there, compressor_of
from corpusfmt.io.containers import is_container
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits
from corpusfmt.io.paths import refuse_remote, version_of
from corpusfmt.io.publish import publish_bytes, refuse_output
from corpusfmt.langid import BackendChoice, Classifier, LangidError
from corpusfmt.model import Coverage, Incomplete, Json, Location, Problem, Report, UsageError
from corpusfmt.pipeline.compact import Compacted, CompactTask, compact, groups
from corpusfmt.pipeline.dedup import Deduplicated, DedupTask, buckets, dedup
from corpusfmt.pipeline.filters import AddressFilter
from corpusfmt.pipeline.finished import is_finished, report_of_finished
from corpusfmt.pipeline.goclassy import empty_files
from corpusfmt.pipeline.inputs import LIST_SUFFIXES, Input
from corpusfmt.pipeline.intake import Intake
from corpusfmt.pipeline.journal import Journal
from corpusfmt.pipeline.options import NO_SELECTION, PLAIN_SOURCING, Selection, Sourcing
from corpusfmt.pipeline.package import Packaged, PackageTask, package
from corpusfmt.pipeline.process import Processed
from corpusfmt.pipeline.recipe import Recipe, load_recipe
from corpusfmt.pipeline.rules import REST_NOT_READ, RULES, wet_fault
from corpusfmt.pipeline.scratch import Scratch
from corpusfmt.pipeline.size import Size, Sizes
from corpusfmt.pipeline.summary import stats, stats_table
from corpusfmt.pipeline.variants import form_of, variants
from corpusfmt.rules import Grading, Judge

T = TypeVar("T")

#: Changes with every change of what the stages write: what an older version left behind runs again.
CODE_FORMAT = 6
# What is written last, in this order.
_SEALS = ("stats.json", "stats.md", "croissant.json", "MANIFEST.json")
# How many inputs are named where none could be read.
_MOST_TOLD = 5
# Smaller tasks would cost more than their work.
_LINES_A_TASK = 100_000


class _Run(Struct, frozen=True):
    """What every stage needs to know."""

    workplace: Workplace
    recipe: Recipe
    fingerprint: str
    stages: Stages


def build(
    inputs: Sequence[str | Path] | str | Path,
    destination: str | Path,
    *,
    recipe: str = "oscar-1.1",
    jobs: int | None = 1,
    engine: str | None = None,
    langid: BackendChoice = "auto",
    model: str | None = None,
    keep_original: bool = False,
    compression: str | None = None,
    selection: Selection = NO_SELECTION,
    sourcing: Sourcing = PLAIN_SOURCING,
    log: str | Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Make a corpus of WET files: the same bytes for the same inputs, recipe and model, whatever `jobs` and `engine`.

    `inputs` are WET files, folders of them, patterns, lists of paths, or `-`; `destination` is a folder that is new,
    empty, or holds an unfinished run, which is then resumed: what its inputs and choices have in common with these is not
    done again. Where it holds the corpus that this call would make, nothing is done, and `results` of the report says
    `finished`. `log` is a file to which events are appended as JSON lines. An input that is no whole WET file is left out
    and named in the report, whose verdict is then `incomplete`; the run then counts as unfinished, so that the same
    call takes it in once it is repaired. `keep_original` and `compression` take the place of the recipe's choices
    `deduplication.keep-original` and `output.compression`. `limits` bound what may be read; with other bounds the same
    call goes on where they ended it. Raises `UsageError` for what cannot be started, `Incomplete` where a stage could not
    be finished, `LimitReached` among them.
    """
    started = now()
    refuse_remote(destination, "the output")
    if log is not None:
        refuse_output(log, "the log")
    limits = limits.begun()
    given = [str(each) for each in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    root = Path(destination)
    supply = sourcing.supply(given, jobs, resuming=Workplace.is_unfinished(root) or is_finished(root))
    with ExitStack() as stack:
        stack.enter_context(closing(supply))
        journal = stack.enter_context(Journal(log))
        workers = stack.enter_context(Workers(engine, supply.workers(jobs)))
        asked = load_recipe(recipe, _instead(keep_original=keep_original, compression=compression))
        classifier = _classifier(model, langid)
        chosen = selection.applied(asked, classifier.labels)
        compressor_of(chosen.output.compressor)
        addresses = selection.by_address
        choices = _choices(chosen, addresses, classifier)
        if (report := report_of_finished(root, choices, supply)) is not None:
            journal("nothing-to-do", {"destination": str(destination), "recipe": chosen.name})
            report.started, report.finished = started, now()
            return report
        fingerprint = digest(
            CODE_FORMAT,
            chosen.of_processing,
            addresses.fingerprint,
            classifier.model_digest,
            classifier.backend,
        )
        workplace = Workplace(root, digest("build", supply.identity))
        stack.enter_context(workplace.claimed())
        run = _Run(workplace, chosen, fingerprint, Stages(workplace.state, workers, progress, journal, limits))
        journal("run-start", {"destination": str(destination), "recipe": chosen.name})
        scratch = Scratch(sourcing.scratch_limit)
        intake = Intake(run.stages, supply, scratch, fingerprint, chosen, addresses, model, classifier.backend, journal)
        taken = intake.take_all()
        resumed = {"taken_over": intake.taken_over, "read": intake.read} if intake.resumed else {}
        if resumed:
            journal("resume", resumed)
        files = [each.input for _, each in taken]
        processed = [(path, each.processed) for path, each in taken]
        listed = sourcing.fetch_command is None and any(each.endswith(LIST_SUFFIXES) for each in given)
        _refuse_none(files, processed, "; is --base right?" if listed else "")
        packaged = _package(run, processed)
        sizes = _sizes(processed, packaged)
        report = _report(files, processed)
        outputs = _outputs(run, packaged)
        _refuse_changed(files)
        manifest = choices | _made(files, processed, outputs, sizes)
        summary = stats(sizes, manifest.get("cleaned", {}))
        _seal(
            run, outputs, sizes, summary, manifest, finished=report.coverage.shards_seen == report.coverage.shards_total
        )
        report.started, report.finished = started, now()
        report.results = {"stats": summary, "dropped": manifest["dropped"]}
        if resumed:
            report.results["resumed"] = resumed
        journal("run-end", {"status": report.verdict.value} | report.results)
    return report


def _instead(*, keep_original: bool, compression: str | None) -> Json:
    """Return what stands in a recipe where these options are given."""
    instead: Json = {}
    if keep_original:
        instead["deduplication"] = {"keep-original": True}
    if compression is not None:
        instead["output"] = {"compression": compression}
    return instead


def _classifier(model: str | None, backend: BackendChoice) -> Classifier:
    try:
        return Classifier(model, backend=backend)
    except LangidError as error:
        raise UsageError(str(error)) from error


def _package(run: _Run, processed: Sequence[tuple[Path, Processed]]) -> dict[str, Packaged]:
    usable = [(path, each) for path, each in processed if each.quarantined is None]
    lines = Counter[str]()
    for _, each in usable:
        lines.update(each.stored)
    basis = _basis(run, usable)
    containers = _compact(run, usable)
    drops = _dedup(run, lines, containers, basis) if run.recipe.deduplication.lines else {}
    # From here on files take the places of others, and what was sealed before is none of these.
    run.workplace.withdraw(run.workplace.published().intersection(_SEALS))
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
            argument = PackageTask(labels, containers, own_drops, run.recipe.output, variant, destination, aside)
            choices = (run.recipe.output, run.recipe.output.compressor, variant.name, variant.root)
            tasks.append(StageTask(name, argument, digest(basis, *choices)))
    sizes = [size for _, size in batches] * len(written)
    packaged: dict[str, Packaged] = {}
    for result in run.stages.of_own_files.run_whole(
        "package", package, tasks, dict[str, Packaged], sizes, stands=_is_there
    ):
        for label, own in result.items():
            packaged.setdefault(label, own).files |= own.files
    return packaged


def _basis(run: _Run, inputs: Sequence[tuple[Path, Processed]]) -> str:
    """Return what all depends on that is made of some inputs in their order."""
    return digest(run.fingerprint, [(path.name, each.sha256) for path, each in inputs])


def _is_there(task: PackageTask, packaged: Mapping[str, Packaged]) -> bool:
    """Tell whether the files that a task of an earlier run wrote are still there."""
    return all(all_there(task.destination, each.files) for each in packaged.values())


def _compact(run: _Run, usable: Sequence[tuple[Path, Processed]]) -> tuple[Path, ...]:
    """Return the containers that the later stages read: those of the inputs where there are few."""
    joined = groups(usable)
    if len(joined) < 2:
        return tuple(path for path, _ in usable)
    tasks = []
    for number, group in enumerate(joined):
        compacted = run.workplace.state / "compact" / f"{number}.box"
        argument = CompactTask(
            tuple((path, each.stored) for path, each in group), compacted, run.recipe.deduplication.hash
        )
        tasks.append(StageTask(str(number), argument, _basis(run, group)))
    sizes = [len(group) for group in joined]
    run.stages.of_own_files.run_whole(
        "compact", compact, tasks, Compacted, sizes, stands=lambda task, _: is_container(task.compacted)
    )
    return tuple(task.argument.compacted for task in tasks)


def _dedup(run: _Run, lines: Mapping[str, int], containers: tuple[Path, ...], basis: str) -> dict[str, list[Path]]:
    """Return by language where the numbers of the lines to drop stand."""
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
        "dedup", dedup, tasks, Deduplicated, sizes, stands=lambda task, _: is_container(task.drops)
    )
    return drops


def _batches(sized: Iterable[tuple[T, int]]) -> list[tuple[tuple[T, ...], int]]:
    """Return what each task takes and its size, in order: what is large alone, what is small together."""
    batches: list[tuple[tuple[T, ...], int]] = []
    for item, size in sized:
        if not batches or batches[-1][1] + size > _LINES_A_TASK:
            batches.append(((), 0))
        items, filled = batches[-1]
        batches[-1] = ((*items, item), filled + size)
    return batches


def _sizes(processed: Sequence[tuple[Path, Processed]], packaged: Mapping[str, Packaged]) -> dict[str, Sizes]:
    sizes = {label: Sizes(Size(), each.final) for label, each in packaged.items()}
    for _, each in processed:
        for label, size in each.original.items():
            sizes[label].original += size
    return sizes


def _outputs(run: _Run, packaged: Mapping[str, Packaged]) -> dict[str, FileFacts]:
    """Return the data files of the corpus by path."""
    files = {path: facts for each in packaged.values() for path, facts in sorted(each.files.items())}
    if run.recipe.output.format == "goclassy":
        files |= empty_files(run.workplace.destination, packaged, run.workplace.state)
    return files


def _report(files: Sequence[Input], processed: Sequence[tuple[Path, Processed]]) -> Report:
    judge = Judge(RULES, Grading(), version="", path=".")
    coverage = Coverage(shards_total=len(files))
    for entry, (_, each) in zip(files, processed, strict=True):
        if each.quarantined is None:
            coverage.add(
                Coverage(
                    shards_seen=1, documents=sum(size.documents for size in each.original.values()), bytes=entry.size
                )
            )
            if each.padding is not None:
                judge.report(*broken_stream(Location(entry.path), each.padding.error))
            if each.cut is not None:
                hint = "write the file again, or use another reader"
                judge.report(REST_NOT_READ, Problem(f"the rest was not read: {each.cut}", Location(entry.path), hint))
        else:
            _quarantine(judge, Location(entry.path), each)
    return Report("wet", "", judge.tally, coverage)


def _quarantine(judge: Judge, at: Location, processed: Processed) -> None:
    if processed.fault:
        judge.report(*broken_stream(at, processed.fault.error))
    elif processed.defect:
        defect, reason = processed.defect
        judge.report(*wet_fault(defect, at, reason))


def _choices(recipe: Recipe, addresses: AddressFilter, classifier: Classifier) -> Json:
    """Return what a manifest says of how a corpus is made: the same of the same inputs makes the same corpus."""
    return {
        "tool": {"name": "corpusfmt", "version": VERSION, "format": CODE_FORMAT},
        "recipe": recipe.choices,
        "addresses": {
            kind: {"sha256": each.sha256, "entries": each.entries}
            for kind, each in (("allow", addresses.allow), ("deny", addresses.deny))
            if each
        },
        "model": {"sha256": classifier.model_digest, "format": classifier.model_format, "backend": classifier.backend},
        "compressor": None if recipe.output.format == "goclassy" else recipe.output.compressor,
    }


def _made(
    files: Sequence[Input],
    processed: Sequence[tuple[Path, Processed]],
    outputs: Mapping[str, FileFacts],
    sizes: Mapping[str, Sizes],
) -> Json:
    """Return what a manifest says of what a corpus was made of, and became."""
    dropped, changed = Counter[str](), Counter[str]()
    for _, each in processed:
        dropped.update(each.dropped)
        changed.update(each.cleaned)
    dropped["repeated in its language"] = sum(each.original.lines - each.final.lines for each in sizes.values())
    return {
        "inputs": [
            {"name": entry.path, "size": entry.size} | _fate(each)
            for entry, (_, each) in zip(files, processed, strict=True)
        ],
        "dropped": {reason: count for reason, count in sorted(dropped.items()) if count},
        **({"cleaned": dict(sorted(changed.items()))} if changed else {}),
        "files": {path: msgspec.to_builtins(facts) for path, facts in outputs.items()},
    }


def _fate(processed: Processed) -> Json:
    if processed.quarantined is not None:
        return {"quarantined": processed.quarantined}
    cut = {} if processed.cut is None else {"cut": processed.cut}
    padding = {} if processed.padding is None else {"padding": processed.padding.reason}
    return {"sha256": processed.sha256, "records": processed.records} | cut | padding


def _refuse_none(files: Sequence[Input], processed: Sequence[tuple[Path, Processed]], cause: str) -> None:
    """Raise `Incomplete` where all inputs are left out: a corpus without texts would pass for one."""
    findings = _report(files, processed).findings
    if any(each.quarantined is None for _, each in processed):
        return
    left_out = [f"  {each.location}: {each.code} {each.message}" for each in findings]
    more = [f"  and {len(findings) - _MOST_TOLD:,} more"] if len(findings) > _MOST_TOLD else []
    hints = sorted({f"  help: {each.hint}" for each in findings if each.code == LINK_OUTSIDE_ROOT.code})
    raise Incomplete(
        f"none of {len(files):,} inputs could be read, and no corpus was written{cause}",
        *left_out[:_MOST_TOLD],
        *more,
        *hints,
        "  help: once they are repaired or named rightly, run the command again in the same folder",
    )


def _refuse_changed(files: Sequence[Input]) -> None:
    """Raise `Incomplete` where local inputs are not what they were: the manifest would name the digests of others."""
    changed = [each.path for each in files if Path(each.key).is_absolute() and _has_changed(each)]
    if changed:
        raise Incomplete(
            f"{len(changed):,} inputs have changed since they were read, the first of them {changed[0]}: "
            "run the same command again to read them anew"
        )


def _has_changed(known: Input) -> bool:
    # One that is gone was deleted: by us, or by somebody else who knew that it was stored.
    return known.version != "" and version_of(known.key) not in {known.version, ""}


def _seal(
    run: _Run,
    outputs: Mapping[str, FileFacts],
    sizes: Mapping[str, Sizes],
    summary: Json,
    manifest: Json,
    *,
    finished: bool,
) -> None:
    place = run.workplace
    place.withdraw(place.published() - outputs.keys())
    table = stats_table(sizes, deduplicated=run.recipe.deduplication.lines)
    below = variants(run.recipe)[0].root
    root = place.destination
    target = run.recipe.output.format
    description = described(target, form_of(target).describer, outputs, below, root=root, name=run.recipe.name)
    sealed = {
        "stats.json": _pretty(summary),
        "stats.md": table.encode(),
        "croissant.json": _pretty(description),
        "MANIFEST.json": _pretty(manifest),
    }
    for name in _SEALS:
        publish_bytes(root / name, sealed[name], aside=place.state)
    if finished:
        place.release()


def _pretty(value: Json) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
