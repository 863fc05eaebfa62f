"""Internal: Run the pipeline: inputs taken, stages run, the corpus sealed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from corpusfmt.engine.executors import Workers
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import now
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, digest
from corpusfmt.io.compress import compressor_of
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits
from corpusfmt.io.paths import refuse_remote
from corpusfmt.io.publish import refuse_output
from corpusfmt.langid import BackendChoice, Classifier
from corpusfmt.langid._values import LangidError
from corpusfmt.model import Json, Report, UsageError
from corpusfmt.pipeline.choices import Choices
from corpusfmt.pipeline.intake.inputs import LIST_SUFFIXES
from corpusfmt.pipeline.intake.report import refuse_changed, refuse_none, report_of
from corpusfmt.pipeline.intake.scratch import Scratch
from corpusfmt.pipeline.intake.take import Intake
from corpusfmt.pipeline.journal import Journal
from corpusfmt.pipeline.options import NO_SELECTION, PLAIN_SOURCING, Selection, Sourcing
from corpusfmt.pipeline.recipe import load_recipe
from corpusfmt.pipeline.seal.files import seal
from corpusfmt.pipeline.seal.finished import is_finished, report_of_finished
from corpusfmt.pipeline.seal.manifest import made
from corpusfmt.pipeline.seal.summary import sizes_of
from corpusfmt.pipeline.stages import Run, data_files, packaged


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
        choices = _chosen(recipe, selection, langid, model, keep_original=keep_original, compression=compression)
        about = {"destination": str(destination), "recipe": choices.recipe.name}
        report = report_of_finished(root, choices.manifest, supply)
        if report is not None:
            journal("nothing-to-do", about)
        else:
            workplace = Workplace(root, digest("build", supply.identity))
            stack.enter_context(workplace.claimed())
            stages = Stages(workplace.state, workers, progress, journal, limits)
            journal("run-start", about)
            intake = Intake(stages, supply, Scratch(sourcing.scratch_limit), choices, journal)
            listed = sourcing.fetch_command is None and any(each.endswith(LIST_SUFFIXES) for each in given)
            run = Run(workplace, choices.recipe, choices.fingerprint, stages)
            report = _made(run, intake, choices.manifest, "; is --base right?" if listed else "")
            journal("run-end", {"status": report.verdict.value} | report.results)
    report.started, report.finished = started, now()
    return report


def _chosen(
    recipe: str,
    selection: Selection,
    langid: BackendChoice,
    model: str | None,
    *,
    keep_original: bool,
    compression: str | None,
) -> Choices:
    """Return what is chosen by the arguments of `build`. Raises `UsageError`."""
    instead: dict[str, Json] = {
        "deduplication": {"keep-original": True} if keep_original else {},
        "output": {} if compression is None else {"compression": compression},
    }
    asked = load_recipe(recipe, instead)
    try:
        classifier = Classifier(model, backend=langid)
    except LangidError as error:
        raise UsageError(str(error)) from error
    filtered = selection.applied(asked, classifier.labels)
    compressor_of(filtered.output.compressor)
    return Choices(filtered, selection.by_address, classifier, model)


def _made(run: Run, intake: Intake, manifest: Json, cause: str) -> Report:
    """Make the corpus; return the report. `cause` is why there may be no input that could be read."""
    stored = intake.take_all()
    taken = [each for _, each in stored]
    report = report_of(taken)
    refuse_none(report, cause)
    written = packaged(run, [(path, each.processed) for path, each in stored])
    sizes = sizes_of(taken, written)
    outputs = data_files(run, written)
    refuse_changed(taken)
    manifest |= made(taken, outputs, sizes)
    summary = seal(run.workplace, run.recipe, outputs, sizes, manifest)
    if report.coverage.shards_seen == report.coverage.shards_total:
        run.workplace.release()
    report.results = {"stats": summary, "dropped": manifest["dropped"]}
    if intake.resumed:
        report.results["resumed"] = intake.counts
    return report
