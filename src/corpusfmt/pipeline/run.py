"""Internal: Run the pipeline: take inputs, run stages, seal the corpus."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.arrays import NOTHING_LEFT, Array, Left, Member, Share, persisting, share_of
from corpusfmt.engine.executors import Workers, placed
from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import now
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, destination_at, digest, jobs_for, state_of
from corpusfmt.io.compress import compressor_of
from corpusfmt.io.limits import DEFAULT_LIMITS, Limits
from corpusfmt.io.lock import turn
from corpusfmt.io.outputs import StorePath
from corpusfmt.io.paths import COPY_HERE, is_url, refuse_remote
from corpusfmt.io.publish import output_at, publish_bytes
from corpusfmt.io.replaced import refuse_replaced
from corpusfmt.langid import BackendChoice, Classifier
from corpusfmt.langid._values import LangidError
from corpusfmt.manifest.model import NAME as MANIFEST
from corpusfmt.model import Coverage, Json, Report, Tally, UsageError
from corpusfmt.pipeline.choices import SHARED, Choices
from corpusfmt.pipeline.intake.inputs import LIST_SUFFIXES
from corpusfmt.pipeline.intake.report import refuse_changed, refuse_none, report_of
from corpusfmt.pipeline.intake.scratch import Scratch
from corpusfmt.pipeline.intake.supply import Listed, Supply
from corpusfmt.pipeline.intake.take import Intake
from corpusfmt.pipeline.journal import Journal
from corpusfmt.pipeline.options import NO_SELECTION, PLAIN_SOURCING, Selection, Sourcing
from corpusfmt.pipeline.process.steps import code_of
from corpusfmt.pipeline.recipe import load_recipe
from corpusfmt.pipeline.seal.files import seal
from corpusfmt.pipeline.seal.finished import is_finished, report_of_finished
from corpusfmt.pipeline.seal.manifest import fates, made
from corpusfmt.pipeline.seal.summary import built, statistics
from corpusfmt.pipeline.stages import Run, data_files, lost_containers, packaged


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
    state: str | Path | None = None,
    shard: str | None = None,
    finish: bool = False,
    wait: float | None = None,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str, Progress], None] | None = None,
) -> Report:
    """Build a corpus from WET files. The bytes depend on inputs, recipe and model, but not on `jobs` and `engine`.

    `inputs` are WET files, folders of WET files, globs, lists of paths, or `-`. `destination` is a new or empty folder,
    or one with an unfinished run, which is resumed: results that the same inputs and choices would give are reused. If it
    contains the finished corpus of this call, nothing is done, and `results` of the report says `finished`. It may be a
    URL of a store; then `state` is the local folder with the state of the run. `log` is a file to which events are
    appended as JSON Lines. `keep_original` and `compression` override the recipe's
    `deduplication.keep-original` and `output.compression`.

    With a `shard` like `3/8`, only a share of the work is done: other processes, on any machines that see the same paths,
    run the other shards of the same call, each in any order and as often as needed. `results` of the report then has
    `left`, the number of tasks that others were running at the end. `finish` seals what all shards have made. Both wait for
    other shards for up to `wait` seconds (default: 600 for a shard, 0 to finish).

    An input that is not a complete WET file is excluded and reported, and the verdict is `incomplete`; the run stays
    unfinished, so that the same call adds the input once it is repaired. After one of `limits` was reached, the same call
    with a higher limit resumes.

    Raises `UsageError` for wrong arguments, and `Incomplete` (or its subclass `LimitReached`) if a stage did not finish.
    """
    started = now()
    root = destination_at(destination, "the output", engine)
    logged = None if log is None else output_at(log, "the log")
    jobs = jobs_for(root, jobs, engine, state)
    limits = limits.begun()
    given = [placed(engine, each) for each in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    model = None if model is None else placed(engine, model)
    sourcing = replace(sourcing, base=None if sourcing.base is None else placed(engine, sourcing.base))
    share = share_of(shard, finish=finish, wait=wait, engine=engine)
    if share is not None or isinstance(state_of(root, state), StorePath):
        sourcing.refuse_alone(given, "a state in a store" if share is None else "shards")
    supply = sourcing.supply(given, jobs, resuming=Workplace.is_unfinished(root, state) or is_finished(root, state))
    if logged is not None and isinstance(supply, Listed):
        for each in supply.inputs:  # before the log grows by a line
            refuse_replaced(each.input.key, is_remote=is_url(each.input.key))
    with ExitStack() as stack:
        stack.enter_context(closing(supply))
        journal = stack.enter_context(Journal(logged))
        workers = stack.enter_context(Workers(engine, supply.workers(jobs)))
        workplace = Workplace.at(root, digest("build", supply.identity), state)
        beside = share is not None and share.number > 0 and workplace.kept is None
        shared = workplace.state / SHARED if beside else None
        loaded = stack.enter_context(_turn_to_load(model, shared))
        choices = _chosen(
            recipe, selection, langid, model, shared, keep_original=keep_original, compression=compression
        )
        choices = dataclasses.replace(choices, loaded=loaded)
        about = {"destination": str(destination), "recipe": choices.recipe.name}
        report = report_of_finished(root, choices.manifest, supply, state)
        if report is not None:
            journal("nothing-to-do", about)
        else:
            stages = Stages(workplace.state, workers, progress, journal, limits)
            journal("run-start", about)
            listed = sourcing.fetch_command is None and any(each.endswith(LIST_SUFFIXES) for each in given)
            cause = "; check --base" if listed else ""
            running = _Build(workplace, stages, supply, sourcing.scratch_limit, choices, share, journal, cause, state)
            report = persisting(share, running.report)
            journal("run-end", {"status": report.verdict.value} | report.results)
    report.started, report.finished = started, now()
    return report


@contextmanager
def _turn_to_load(model: str | None, shared: Path | None) -> Iterator[Callable[[], None]]:
    """Let shards on a machine load a large model one after the other, until it is in a file that they share."""
    if model is None or shared is None or not Path(model).is_file():
        yield lambda: None
        return
    with turn(Path(model), lambda: any(shared.glob("*.rows"))) as end:
        yield end


def _chosen(
    recipe: str,
    selection: Selection,
    langid: BackendChoice,
    model: str | None,
    shared: Path | None,
    *,
    keep_original: bool,
    compression: str | None,
) -> Choices:
    """Return the choices of the arguments of `build`. Raises `UsageError`."""
    instead: dict[str, Json] = {
        "deduplication": {"keep-original": True} if keep_original else {},
        "output": {} if compression is None else {"compression": compression},
    }
    asked = load_recipe(recipe, instead)
    if model is not None:
        refuse_remote(model, "the model", COPY_HERE)
    try:
        classifier = Classifier(model, backend=langid, remember=True, shared=shared)
    except LangidError as error:
        raise UsageError(str(error)) from error
    filtered = selection.applied(asked, classifier.labels)
    compressor_of(filtered.output.compressor)
    return Choices(filtered, selection.by_address, classifier, model, code_of(filtered, recipe))


class _Build(Struct, frozen=True):
    """A build that is not finished. `cause` is a possible reason why no input can be read."""

    workplace: Workplace
    stages: Stages
    supply: Supply
    scratch_limit: int
    choices: Choices
    share: Share | None
    log: Journal
    cause: str
    state: str | Path | None

    def report(self) -> Report:
        """Make the corpus, or a share of it."""
        plan = digest(self.choices.fingerprint, self.choices.manifest, self.supply.plan) if self.share else ""
        try:
            with self.workplace.entered(self.share, plan) as array:
                if (
                    isinstance(array, Member)
                    and array.array.sealed.is_file()
                    and (self.workplace.destination / MANIFEST).is_file()
                ):
                    return Report("wet", "", Tally(), Coverage())
                stages = replace(self.stages, array=array)
                intake = Intake(stages, self.supply, Scratch(self.scratch_limit), self.choices, self.log)
                recipe, fingerprint = self.choices.recipe, self.choices.fingerprint
                run = Run(self.workplace.of(array), recipe, fingerprint, stages, self.supply.is_lasting)
                return _made(run, intake, self.choices.manifest, self.cause)
        except Left as left:
            return Report("wet", "", Tally(), Coverage(), results=left.results)
        except UsageError:
            # Another process may have sealed the corpus while this one waited.
            root = self.workplace.destination
            report = report_of_finished(root, self.choices.manifest, self.supply, self.state)
            if report is None:
                raise
            return report


def _made(run: Run, intake: Intake, manifest: Json, cause: str) -> Report:
    """Make the corpus; return the report. `cause` is a possible reason why no input can be read."""
    inputs = intake.take_all()
    report, usable = report_of(inputs)
    if lost := list(lost_containers(run, usable)):
        intake.forget(lost)
        inputs = intake.take_all()
        report, usable = report_of(inputs)
    refuse_none(report, cause)
    written = packaged(run, usable)
    if isinstance(run.stages.array, Member):
        report.results = NOTHING_LEFT
        return report
    sizes = built(run.recipe, usable.original, written, usable.cleaned)
    outputs = data_files(run, written)
    refuse_changed(inputs)
    manifest |= made(usable, sizes)
    found = statistics(run.recipe, written, outputs, sizes)
    seal(run.workplace, run.recipe, outputs, found, manifest, lambda: fates(inputs))
    if usable.is_whole:
        run.workplace.release()
    elif isinstance(run.stages.array, Array):
        publish_bytes(run.stages.array.sealed, b"")
    report.results = {
        "stats": sizes.as_json(),
        **{name: manifest[name] for name in ("dropped", "steps") if name in manifest},
    }
    if intake.resumed and run.stages.array is None:
        report.results["resumed"] = intake.counts
    return report
