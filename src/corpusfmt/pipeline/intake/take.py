"""Internal: Run stage `process` on inputs as they arrive, each once, within the limit on scratch space."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import Died
from corpusfmt.engine.stages import Stages, StageTask, is_damaged
from corpusfmt.engine.workplace import digest
from corpusfmt.io.containers import is_container
from corpusfmt.io.paths import PARTIAL_SUFFIX, Entry
from corpusfmt.io.publish import sync_published
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.pipeline.choices import SHARED, Choices
from corpusfmt.pipeline.dedup.compact import groups, share_joined
from corpusfmt.pipeline.dedup.repetitions import DROP_BYTES
from corpusfmt.pipeline.intake.inputs import Arrival, Input
from corpusfmt.pipeline.intake.ranked import Ranked
from corpusfmt.pipeline.intake.scratch import Scratch
from corpusfmt.pipeline.intake.supply import Supply
from corpusfmt.pipeline.package.shuffle import bytes_on_disk
from corpusfmt.pipeline.package.variants import variants
from corpusfmt.pipeline.process.filters import AddressFilter
from corpusfmt.pipeline.process.store import Processed, ProcessTask, process
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.pipeline.size import Size

_STAGE = "process"


class Taken(Struct):
    """An input and its result: the marker of an input that may be gone."""

    input: Input
    processed: Processed


def container_name(each: Input) -> str:
    """Return the name of the container of an input."""
    return f"{each.task_id}.box"


class Inputs(Struct, frozen=True):
    """All inputs by rank, with the results that have no marker by key; iterating reads the others from their markers."""

    stages: Stages
    known: Ranked[Input]
    apart: Mapping[str, Taken]

    def __len__(self) -> int:
        return len(self.known)

    def __iter__(self) -> Iterator[Taken]:
        for each in self.known.ranked():
            taken = self.apart.get(each.key) or self.stages.result(_STAGE, each.task_id, Taken)
            # The run that stored the input may have used another name for it.
            yield replace(taken, input=each)


class _TakeTask(Struct, frozen=True):
    arrival: Arrival
    task: ProcessTask


def _take(task: _TakeTask) -> Taken:
    return Taken(task.arrival.input, process(task.task))


class Intake(Struct):
    """Takes all inputs of a supply."""

    stages: Stages
    supply: Supply
    scratch: Scratch
    choices: Choices
    log: Callable[[str, Json], None]

    #: Results without a marker, by the key of the input.
    _apart: dict[str, Taken] = field(default_factory=dict)
    _addresses: AddressFilter = field(default_factory=AddressFilter)
    _running: set[str] = field(default_factory=set)
    _taken_over: int = 0
    _read: int = 0
    _is_whole: bool = True
    #: Whether an earlier run had stored anything.
    resumed: bool = False

    @property
    def counts(self) -> Json:
        """Return the number of unchanged inputs of an earlier run, and of inputs that this run read."""
        return {"taken_over": self._taken_over, "read": self._read}

    def take_all(self) -> Inputs:
        """Return all inputs with their results.

        Raises `Incomplete` if the limit on scratch space is too small or no input arrived.
        """
        share = self.stages.share
        self._begin()
        languages: set[str] = set()
        known = Ranked(Input, lambda each: each.rank, self._known(languages))
        taken = Ranked(Input, lambda each: each.rank, known.ranked())
        inputs, size = self.supply.expected(known)
        done = [sum(each.size for each in known.values())]
        self.scratch.again = self._joined_again(inputs)
        for each in known.values() if self.scratch.limit else ():
            self._keep(self.stages.result(_STAGE, each.task_id, Taken))

        def ended(task: StageTask[_TakeTask], result: Taken | Died) -> Progress:
            arrival = task.argument.arrival
            if isinstance(result, Died):
                result = self._apart[arrival.input.key] = Taken(
                    arrival.input, Processed(defect=("died", result.reason))
                )
            else:
                self._apart.pop(arrival.input.key, None)
            # The run that stored the input may have used another name for it.
            result.input = arrival.input
            self._end(arrival, result)
            before = taken.get(arrival.input.key)
            taken.put(arrival.input)
            done[0] += arrival.input.size - (before.size if before else 0)
            languages.update(result.processed.original)
            return Progress(len(taken), inputs, done[0], size, f"{len(languages)} languages")

        self._read += self.stages.stream(_STAGE, _take, self._tasks(known, taken), Taken, ended, self._is_reusable)
        if not taken and not share:
            raise Incomplete("no input has arrived: run the same command again once there are some")
        self._check_scratch()
        if not share:
            self._remove_others(taken)
        self._taken_over = max(0, len(taken) - self._read)
        if self.resumed:
            self.log("resume", self.counts)
        return Inputs(self.stages, taken, self._apart)

    def _joined_again(self, inputs: int) -> float:
        """Return the share of containers that exist twice at a time: all, or those that workers join."""
        if not self.supply.is_lasting:
            return float(not inputs or len(groups(inputs)) > 1)
        return share_joined(inputs, self.stages.workers.jobs)

    def _check_scratch(self) -> None:
        if not self._is_whole and self.scratch.again:
            self.scratch.keep_all_twice()
        self.scratch.check()

    def _begin(self) -> None:
        """Remove what a killed run was writing, and write the lists of addresses."""
        for path in () if self.stages.share else self.stages.files(_STAGE, PARTIAL_SUFFIX):
            path.unlink()
        self._share_model()  # before workers inherit it
        self.stages.workers.call()  # before numpy, which may sort lists, starts threads
        self._addresses = self.choices.addresses.stored(self.stages.folder / SHARED)
        self.resumed = any(self.stages.files(_STAGE, ".json"))
        if self.supply.is_lasting:
            # They are instead of some containers of inputs, or will be replaced.
            self.scratch.hold(sum(map(_size_of, self.stages.files("compact", ".box"))))

    def _share_model(self) -> None:
        """Let workers that did not inherit the model share one copy."""
        if not self.stages.workers.inherit:
            self.choices.classifier.share(self.stages.folder / SHARED)

    def _known(self, languages: set[str]) -> Iterator[Input]:
        """Yield the inputs of `_remembered`; add their languages to others."""
        for each in self._remembered():
            languages.update(each.processed.original)
            yield each.input

    def _remembered(self) -> Iterator[Taken]:
        """Yield stored results of inputs that may not arrive again.

        Raises `UsageError` if such an input is gone and its result cannot be used.
        """
        for fingerprint, taken in self.stages.recorded(_STAGE, Taken):
            if not taken.processed.is_whole or not self.supply.remembers(taken.input):
                continue
            container = self._container(taken.input)
            same, whole = fingerprint == self._fingerprint(taken.input), is_container(container)
            if same and whole:
                yield taken
            elif self.supply.lacks(taken.input):
                wrong = f"{container} is missing or damaged" if same else "stored under another recipe, filter or model"
                raise UsageError(
                    f"{taken.input.path} is gone, and its stored result is unusable ({wrong}): bring the file back, "
                    f"{'use the earlier recipe, filters and model, ' if not same else ''}"
                    f"or remove {container.with_suffix('.json')} to continue without the file"
                )

    def _is_reusable(self, task: _TakeTask, taken: Taken) -> bool:
        """Return whether an earlier run's result can be used.

        Excluded inputs are read again, because they may have been repaired without a visible change, and those with
        documents on which a step failed, because it may have lacked something.
        """
        if not taken.processed.is_whole:
            return False
        if taken.processed.quarantined is not None or is_container(task.task.container):
            return True
        # It may be part of a joined container: whether it is will be seen once all inputs are known.
        return (
            self.supply.is_lasting and not task.task.container.exists() and any(self.stages.files("compact", ".json"))
        )

    def forget(self, containers: Iterable[str]) -> None:
        """Remove the results of inputs whose containers are gone, so that they are read again."""
        for name in containers:
            (self.stages.folder / _STAGE / name).with_suffix(".json").unlink(missing_ok=True)

    def _remove_others(self, taken: Ranked[Input]) -> None:
        """Remove stored results of inputs that are not part of this run.

        Raises `Incomplete` if an unreadable marker may be the last trace of an input.
        """
        own = Ranked(str, lambda task_id: ("", "", task_id), (each.task_id for each in taken.ranked()))
        others = [path for path in self.stages.files(_STAGE) if path.stem not in own]
        for path in others:
            if is_damaged(path):
                raise Incomplete(
                    f"{path} is damaged, and its input did not arrive again: bring the input back "
                    "or remove the file to continue without it"
                )
        for path in others:
            path.unlink(missing_ok=True)

    def _tasks(self, known: Ranked[Input], taken: Ranked[Input]) -> Iterator[StageTask[_TakeTask] | None]:
        if self.stages.share:
            arrivals = self.supply.arrivals(self.stages.folder, known, self.scratch)
            self.stages.fetch(_STAGE, (each.input.task_id for each in arrivals if each))
        for arrival in self.supply.arrivals(self.stages.folder, known, self.scratch):
            if arrival is None:
                yield None
            elif arrival.entry is None:
                self._read += 1
                failed = self._apart[arrival.input.key] = Taken(arrival.input, Processed(defect=arrival.defect))
                self._end(arrival, failed)
                taken.put(arrival.input)
            else:
                if self.scratch.limit and known.get(arrival.input.key) != arrival.input:
                    yield from self._admission(arrival.input)
                yield self._task(arrival, arrival.entry)

    def _admission(self, each: Input) -> Iterator[None]:
        need = self.scratch.need(each.size)
        while not self.scratch.admits(need):
            if not self._running:
                raise self.scratch.refuse(each.path, need)
            yield None
        self.scratch.reserve(each.key, need)
        self._running.add(each.key)

    def _task(self, arrival: Arrival, entry: Entry) -> StageTask[_TakeTask]:
        container = self._container(arrival.input)
        chosen = self.choices
        self._share_model()
        load = chosen.classifier.loader()
        argument = ProcessTask(entry, container, chosen.recipe, self._addresses, load, chosen.key, chosen.steps)
        return StageTask(
            arrival.input.task_id, _TakeTask(arrival, argument), self._fingerprint(arrival.input), arrival.input.size
        )

    def _end(self, arrival: Arrival, result: Taken) -> None:
        self._running.discard(arrival.input.key)
        self.scratch.release(arrival.input.key)
        self._keep(result)
        self._is_whole = self._is_whole and result.processed.is_whole
        reason = result.processed.quarantined
        if reason is not None:
            self.log("quarantine", {"input": arrival.input.path, "reason": reason})
        if result.processed.is_whole and self.supply.remembers(arrival.input):
            # The input may be removed from now on.
            sync_published(self._container(arrival.input).with_suffix(".json"))
        self.supply.done(arrival, quarantined=not result.processed.is_whole)

    def _keep(self, taken: Taken) -> None:
        if self.scratch.limit and taken.processed.quarantined is None:
            container = self._container(taken.input)
            left = _size_of(container) + _size_of(container.with_suffix(".json"))
            later = bytes_of_later_stages(self.choices.recipe, taken.processed.original, taken.processed.stored)
            self.scratch.keep(taken.input.key, taken.input.size, left, later)

    def _container(self, each: Input) -> Path:
        return self.stages.folder / _STAGE / container_name(each)

    def _fingerprint(self, each: Input) -> str:
        return digest(self.choices.fingerprint, each.key, each.size, each.version)


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def bytes_of_later_stages(recipe: Recipe, original: Mapping[str, Size], stored: Mapping[str, int]) -> int:
    """Return the most scratch bytes that later stages write for kept text and stored lines, besides joined containers."""
    drops = sum(stored.values()) * DROP_BYTES if recipe.deduplication.lines else 0
    if recipe.output.shuffle_seed is None:
        return drops
    shuffled = sum(bytes_on_disk(size.text_bytes, size.lines) for size in original.values())
    return drops + shuffled * len(variants(recipe))
