"""Internal: Run the pipeline: take inputs, run stages, seal the corpus, and log all of it."""

from __future__ import annotations

import dataclasses
import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import msgspec

from corpusfmt.engine.executors import Workers, available_processors, default_jobs, executor_factory, placed
from corpusfmt.engine.run import RESULTS_WAITING_A_WORKER, Died, Late, now, run_tasks
from corpusfmt.engine.shares import share_of
from corpusfmt.engine.stages import Stages
from corpusfmt.engine.workplace import Workplace, destination_at, digest, jobs_for, state_of
from corpusfmt.io.compress import compressor_of
from corpusfmt.io.outputs import StorePath
from corpusfmt.io.paths import COPY_HERE, is_url, noting_outputs, reason_of, refuse_remote, refuse_replaced
from corpusfmt.io.publish import output_at, writing
from corpusfmt.langid import Classifier
from corpusfmt.langid._values import LangidError
from corpusfmt.model import Json, Report, UsageError
from corpusfmt.options import takes_options
from corpusfmt.pipeline.choices import Building, Choices
from corpusfmt.pipeline.intake.inputs import LIST_SUFFIXES, STANDARD_INPUT, Source, inputs_named
from corpusfmt.pipeline.intake.report import judged, refuse_changed, refuse_none, report_of
from corpusfmt.pipeline.intake.take import Intake, Taken
from corpusfmt.pipeline.process.steps import code_of
from corpusfmt.pipeline.process.store import Processed, checked
from corpusfmt.pipeline.recipe import load_recipe
from corpusfmt.pipeline.seal import built, fates, made, report_of_finished, seal, statistics
from corpusfmt.pipeline.stages import Run, data_files, lost_containers, packaged


@takes_options(Building)
def build(inputs: Sequence[str | Path] | str | Path, asked: Building) -> Report:
    """Build a corpus from WET files. The bytes depend on inputs, recipe and model, but not on `jobs` and `engine`.

    `inputs` are WET files, folders of WET files, globs, lists of paths, or `-`. `base` is the base of relative paths in a
    list, and `follow_links` allows links that lead out of the inputs. `destination` is a new or empty folder,
    or one with an unfinished run, which is resumed: results that the same inputs and choices would give are reused. If it
    contains the finished corpus of this call, nothing is done, and `results` of the report says `finished`. It may be a
    URL of a store; then `state` is the local folder with the state of the run. `log` is a file to which events are
    appended as JSON Lines. `keep_original` and `compression` override the recipe's
    `deduplication.keep-original` and `output.compression`.

    With a `shard` like `3/8`, only every eighth input is read: other processes, on any machines that see the same paths,
    run the other shards of the same call, each in any order and as often as needed. `results` of the report then has
    `shard`, with the number of `tasks` that have ended. `finish` does all that is left once the shards have ended.

    An input that is not a complete WET file is excluded and reported, and the verdict is `incomplete`; the run stays
    unfinished, so that the same call adds the input once it is repaired. After one of `limits` was reached, the same call
    with a higher limit resumes.

    Raises `UsageError` for wrong arguments, and `Incomplete` (or its subclass `LimitReached`) if a stage did not finish.
    """
    return built_from(inputs, asked)


@noting_outputs()
def built_from(inputs: Sequence[str | Path] | str | Path, asked: Building) -> Report:
    """Build a corpus, as `build`."""
    _require_packages()
    started = now()
    engine, state, share = asked.engine, asked.state, share_of(asked.shard, finish=asked.finish, engine=asked.engine)
    root = destination_at(asked.destination, "the output", engine)
    if asked.log is not None:
        refuse_remote(asked.log, "the log")
        output_at(asked.log, "the log")
    jobs = jobs_for(root, asked.jobs, engine, state)
    limits = asked.limits.begun()
    given = [placed(engine, each) for each in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    model, base = (each and placed(engine, each) for each in (asked.model, asked.base))
    if STANDARD_INPUT in given and (share or asked.finish or isinstance(state_of(root, state), StorePath)):
        sharing = "shards" if share or asked.finish else "a state in a store"
        raise UsageError(f"{sharing} cannot share standard input: remove it, and name inputs that all machines see")
    sources = inputs_named(given, base, follow_links=asked.follow_links)
    if asked.log is not None:
        for each in sources:  # before the log grows by a line
            refuse_replaced(each.input.key, is_remote=is_url(each.input.key))
    with ExitStack() as stack:
        choices = _chosen(asked, model)
        journal = stack.enter_context(Journal(asked.log))
        workers = stack.enter_context(Workers(engine, jobs or _default_jobs(sources)))
        workplace = Workplace.at(root, digest("build"), state)
        about = {"destination": str(asked.destination), "recipe": choices.recipe.name}
        report = report_of_finished(root, choices.manifest, sources, state)
        if report is not None:
            journal("nothing-to-do", about)
        else:
            stages = Stages(workplace.state, workers, asked.progress, journal, limits, 0, share, workplace.stored)
            journal("run-start", about)
            cause = "; check --base" if any(each.endswith(LIST_SUFFIXES) for each in given) else ""
            plan = ""
            if share or asked.finish:
                every = hashlib.sha256()
                for each in sources:
                    every.update(digest(each.input).encode())
                plan = digest(choices.fingerprint, choices.manifest, every.hexdigest())
            try:
                with workplace.entered(plan, share, finish=asked.finish):
                    choices = dataclasses.replace(choices, key=workplace.key())
                    own = sources if share is None else share.taken(sources)
                    intake = Intake(stages, own, choices, journal)
                    run = Run(workplace, choices.recipe, choices.fingerprint, stages)
                    report = _made(run, intake, choices.manifest, cause)
            except UsageError:
                # Another process may just have sealed the corpus.
                report = report_of_finished(root, choices.manifest, sources, state)
                if report is None:
                    raise
            journal("run-end", {"status": report.verdict.value} | report.results)
    report.started, report.finished = started, now()
    return report


def check(inputs: Sequence[str], asked: Building) -> Report:
    """Read WET files as `build` does, compare the digests of their records, and write nothing. Raises `UsageError`."""
    _require_packages()
    engine = asked.engine
    sources = inputs_named([placed(engine, each) for each in inputs], asked.base, follow_links=asked.follow_links)
    if any(each.input.key == STANDARD_INPUT for each in sources):
        raise UsageError("--check cannot read standard input: name files")
    started, limits, jobs = now(), asked.limits.begun(), asked.jobs or _default_jobs(sources)
    there = [each for each in sources if each.entry is not None]

    def results() -> Iterator[Taken]:
        done = run_tasks(
            checked,
            [entry for each in there if (entry := each.entry) is not None],
            executor_factory(engine, jobs),
            window=jobs * RESULTS_WAITING_A_WORKER,
            limits=limits,
        )
        for source, result in zip(there, done, strict=True):
            if isinstance(result, Late):
                raise limits.late(source.input.path)
            dead = Processed(defect=("died", result.reason)) if isinstance(result, Died) else None
            yield Taken(source.input, dead or cast("Processed", result))
        yield from (Taken(each.input, Processed(defect=each.defect)) for each in sources if each.entry is None)

    report = judged(results(), len(sources))
    report.started, report.finished = started, now()
    return report


def _require_packages() -> None:
    """Raise `UsageError` without the packages of the extra, although not every input needs them."""
    if missing := [each for each in ("numpy", "warcio") if find_spec(each) is None]:
        raise UsageError(f"building needs {' and '.join(missing)}: run `pip install 'corpusfmt[build]'`")


def _default_jobs(sources: Sequence[Source]) -> int:
    if any(each.input.key == STANDARD_INPUT for each in sources):
        return available_processors()
    return default_jobs(sum(each.input.size for each in sources), len(sources))


def _chosen(options: Building, model: str | None) -> Choices:
    """Return the choices of the arguments of `build`. Raises `UsageError`."""
    recipe, compression = options.recipe, options.compression
    instead: dict[str, Json] = {
        "deduplication": {"keep-original": True} if options.keep_original else {},
        "output": {} if compression is None else {"compression": compression},
    }
    asked = load_recipe(recipe, instead)
    if model is not None:
        refuse_remote(model, "the model", COPY_HERE)
    try:
        classifier = Classifier(model, backend=options.langid, remember=True)
    except LangidError as error:
        raise UsageError(str(error)) from error
    filtered = options.selection.applied(asked, classifier.labels)
    compressor_of(filtered.output.compressor)
    return Choices(filtered, options.selection.by_address, classifier, model, code_of(filtered, recipe))


def _made(run: Run, intake: Intake, manifest: Json, cause: str) -> Report:
    """Make the corpus; return the report. `cause` is a possible reason why no input can be read."""
    inputs = intake.take_all()
    report, usable = report_of(inputs)
    if run.stages.share:
        report.results = {"shard": {"tasks": len(inputs)}}
        return report
    if lost := list(lost_containers(run, usable)):
        intake.forget(lost)
        inputs = intake.take_all()
        report, usable = report_of(inputs)
    refuse_none(report, cause)
    written = packaged(run, usable)
    sizes = built(run.recipe, usable.original, written, usable.cleaned)
    outputs = data_files(run, written)
    refuse_changed(inputs)
    manifest |= made(usable, sizes)
    found = statistics(run.recipe, written, outputs, sizes)
    seal(run.workplace, run.recipe, outputs, found, manifest, lambda: fates(inputs))
    if usable.is_whole:
        run.workplace.release()
    report.results = {
        "stats": sizes.as_json(),
        **{name: manifest[name] for name in ("dropped", "steps") if name in manifest},
    }
    if intake.resumed:
        report.results["resumed"] = intake.counts
    return report


class Journal:
    """Appends events to a file, if there is one; the last event is the end of the run.

    Raises `UsageError` if it cannot be written.
    """

    def __init__(self, path: str | Path | None) -> None:
        self._file: io.FileIO | None = None
        try:
            if path is not None:
                self._file = io.FileIO(path, "a")
        except OSError as error:
            raise UsageError(f"cannot write the log {path}: {reason_of(error)}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is None:
            return
        with self._file, suppress(OSError):  # a failing log must not hide the error that ended the run
            if isinstance(error, KeyboardInterrupt):
                self("run-end", {"status": "interrupted"})
            elif error is not None:
                self("run-end", {"status": "failed", "reason": str(error)})

    def __call__(self, event: str, facts: Json) -> None:
        """Write an event with its time and facts."""
        if self._file is not None:
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            with writing(Path(str(self._file.name))):
                self._file.write(msgspec.json.encode({"time": at, "event": event} | facts) + b"\n")
