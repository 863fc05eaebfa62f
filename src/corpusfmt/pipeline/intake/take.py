"""Internal: Run stage `process` on each input once, within the limit on scratch space."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import Died
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import digest
from corpusfmt.io.containers import is_container
from corpusfmt.io.paths import PARTIAL_SUFFIX, Entry, entry_of
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import READ_SIZE, DigestReader
from corpusfmt.model import Incomplete, Json
from corpusfmt.pipeline.choices import SHARED, Choices
from corpusfmt.pipeline.dedup import DROP_BYTES, share_joined
from corpusfmt.pipeline.intake.inputs import STANDARD_INPUT, Input, Source
from corpusfmt.pipeline.package.shuffle import bytes_on_disk
from corpusfmt.pipeline.package.variants import variants
from corpusfmt.pipeline.process.filters import AddressFilter
from corpusfmt.pipeline.process.store import Processed, ProcessTask, Size, process
from corpusfmt.pipeline.recipe import Recipe
from corpusfmt.report.text import human_size

_STAGE = "process"


class Taken(Struct):
    """An input and its result: the content of a marker."""

    input: Input
    processed: Processed


def container_name(each: Input) -> str:
    """Return the name of the container of an input."""
    return f"{each.task_id}.box"


class Inputs(Struct, frozen=True):
    """All inputs by rank, with the results that have no marker by key; iterating reads the others from their markers."""

    stages: Stages
    known: Sequence[Input]
    apart: Mapping[str, Taken]

    def __len__(self) -> int:
        return len(self.known)

    def __iter__(self) -> Iterator[Taken]:
        for each in self.known:
            taken = self.apart.get(each.key) or self.stages.result(_STAGE, each.task_id, Taken)
            # The run that stored the input may have used another name for it.
            yield replace(taken, input=each)


class _TakeTask(Struct, frozen=True):
    input: Input
    task: ProcessTask


def _take(task: _TakeTask) -> Taken:
    return Taken(task.input, process(task.task))


class Intake(Struct):
    """Takes all inputs, or those of a shard."""

    stages: Stages
    sources: Sequence[Source]
    scratch: Scratch
    choices: Choices
    log: Callable[[str, Json], None]

    #: Results without a marker, by the key of the input.
    _apart: dict[str, Taken] = field(default_factory=dict)
    _addresses: AddressFilter = field(default_factory=AddressFilter)
    _running: set[str] = field(default_factory=set)
    _read: int = 0
    _is_whole: bool = True
    #: Whether an earlier run had stored anything.
    resumed: bool = False

    @property
    def counts(self) -> Json:
        """Return the number of unchanged inputs of an earlier run, and of inputs that this run read."""
        return {"taken_over": max(0, len(self.sources) - self._read), "read": self._read}

    def take_all(self) -> Inputs:
        """Return all inputs with their results.

        Raises `Incomplete` if the limit on scratch space is too small.
        """
        self._begin()
        inputs = [each.input for each in self.sources]
        size = sum(each.size for each in inputs)
        self.scratch.again = share_joined(len(inputs), self.stages.workers.jobs)
        languages: set[str] = set()
        ended = [sum(each.entry is None for each in self.sources), 0]

        def end(task: StageTask[_TakeTask], result: Taken | Died) -> Progress:
            own = task.argument.input
            if isinstance(result, Died):
                result = self._apart[own.key] = Taken(own, Processed(defect=("died", result.reason)))
            else:
                self._apart.pop(own.key, None)
            # The run that stored the input may have used another name for it.
            result.input = own
            self._end(result)
            ended[0] += 1
            ended[1] += own.size
            languages.update(result.processed.original)
            return Progress(ended[0], len(inputs), ended[1], size, f"{len(languages)} languages")

        self._read += self.stages.stream(_STAGE, _take, self._tasks(), Taken, end, self._is_reusable)
        if not self._is_whole and self.scratch.again:
            self.scratch.keep_all_twice()
        self.scratch.check()
        if not self.stages.share:  # what is stored of inputs that are not part of this run goes
            own = {each.task_id for each in inputs}
            for path in [path for path in self.stages.files(_STAGE) if path.stem not in own]:
                path.unlink(missing_ok=True)
        if self.resumed:
            self.log("resume", self.counts)
        return Inputs(self.stages, inputs, self._apart)

    def _begin(self) -> None:
        """Remove what a killed run was writing, store standard input, and write the lists of addresses."""
        for path in () if self.stages.share else self.stages.files(_STAGE, PARTIAL_SUFFIX):
            path.unlink()
        self._share_model()  # before workers inherit it
        self.stages.workers.call()  # before numpy, which may sort lists, starts threads
        self._addresses = self.choices.addresses.stored(self.stages.folder / SHARED)
        self.resumed = any(self.stages.files(_STAGE, ".json"))
        # They are instead of some containers of inputs, or will be replaced.
        self.scratch.hold(sum(map(_size_of, self.stages.files("compact", ".box"))))
        self.sources = [self._stored(each) if each.input.key == STANDARD_INPUT else each for each in self.sources]

    def _stored(self, source: Source) -> Source:
        """Return standard input as a file, which is stored for resumed runs; if it is empty, the stored one is meant."""
        if source.entry is not None:
            return source
        spool = self.stages.folder / "standard-input" / source.input.name
        first = sys.stdin.buffer.read(READ_SIZE)
        if first or not spool.exists():
            with publish(spool) as file:
                file.write(first)
                shutil.copyfileobj(sys.stdin.buffer, file, READ_SIZE)
        with spool.open("rb") as file:
            whole = DigestReader(file)
            whole.drain()
        self.scratch.hold(whole.size)
        own = replace(source.input, size=whole.size, version=whole.sha256)
        return Source(own, entry_of(str(spool)))

    def _share_model(self) -> None:
        """Let workers that did not inherit the model share one copy."""
        if not self.stages.workers.inherit:
            self.choices.classifier.share(self.stages.folder / SHARED)

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
        return not task.task.container.exists() and any(self.stages.files("compact", ".json"))

    def forget(self, containers: Iterable[str]) -> None:
        """Remove the results of inputs whose containers are gone, so that they are read again."""
        for name in containers:
            (self.stages.folder / _STAGE / name).with_suffix(".json").unlink(missing_ok=True)

    def _tasks(self) -> Iterator[StageTask[_TakeTask] | None]:
        if self.stages.share:
            self.stages.fetch(_STAGE, (each.input.task_id for each in self.sources))
        for source in self.sources:
            if source.entry is None:
                self._read += 1
                failed = self._apart[source.input.key] = Taken(source.input, Processed(defect=source.defect))
                self._end(failed)
            else:
                if self.scratch.limit:
                    yield from self._admission(source.input)
                yield self._task(source.input, source.entry)

    def _admission(self, each: Input) -> Iterator[None]:
        need = self.scratch.need(each.size)
        while not self.scratch.admits(need):
            if not self._running:
                raise self.scratch.refuse(each.path, need)
            yield None
        self.scratch.reserve(each.key, need)
        self._running.add(each.key)

    def _task(self, each: Input, entry: Entry) -> StageTask[_TakeTask]:
        chosen = self.choices
        self._share_model()
        load = chosen.classifier.loader()
        argument = ProcessTask(
            entry, self._container(each), chosen.recipe, self._addresses, load, chosen.key, chosen.steps
        )
        fingerprint = digest(chosen.fingerprint, each.key, each.size, each.version)
        return StageTask(each.task_id, _TakeTask(each, argument), fingerprint, each.size)

    def _end(self, taken: Taken) -> None:
        self._running.discard(taken.input.key)
        self.scratch.release(taken.input.key)
        if self.scratch.limit and taken.processed.quarantined is None:
            container = self._container(taken.input)
            left = _size_of(container) + _size_of(container.with_suffix(".json"))
            later = bytes_of_later_stages(self.choices.recipe, taken.processed.original, taken.processed.stored)
            self.scratch.keep(taken.input.key, taken.input.size, left, later)
        self._is_whole = self._is_whole and taken.processed.is_whole
        reason = taken.processed.quarantined
        if reason is not None:
            self.log("quarantine", {"input": taken.input.path, "reason": reason})

    def _container(self, each: Input) -> Path:
        return self.stages.folder / _STAGE / container_name(each)


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


class Scratch(Struct):
    """Bytes of scratch that finished inputs take and running ones may take; `limit` 0 means no limit.

    The estimate for an input is its size times the largest ratio so far of stored bytes to size (at first 1).
    """

    limit: int
    #: The share of the containers that exist a second time at most, because stage `compact` joins them.
    again: float = 0.0
    used: int = 0
    _share: float = 0.0
    _kept: dict[str, int] = field(default_factory=dict)
    _stored: dict[str, int] = field(default_factory=dict)
    _reserved: dict[str, int] = field(default_factory=dict)

    def need(self, size: int) -> int:
        """Return the estimated scratch bytes of an input of this size."""
        return round(size * (self._share or 1.0))

    def admits(self, size: int) -> bool:
        """Return whether this many more bytes fit in addition to those in use and reserved."""
        return not self.limit or self.used + sum(self._reserved.values()) + size <= self.limit

    def reserve(self, key: str, size: int) -> None:
        self._reserved[key] = size

    def release(self, key: str) -> None:
        self._reserved.pop(key, None)

    def hold(self, size: int) -> None:
        """Count bytes in use, or with a negative number free them."""
        self.used += size

    def keep(self, key: str, size: int, stored: int, later: int) -> None:
        """Count the scratch of a finished input: its stored bytes, and those that later stages write for it."""
        left = round(stored * (1 + self.again)) + later
        self.used += left - self._kept.get(key, 0)
        self._kept[key], self._stored[key] = left, stored
        if size:
            self._share = max(self._share, left / size)

    def keep_all_twice(self) -> None:
        """Count that no container is removed when it has been joined."""
        for key, stored in self._stored.items():
            more = round(stored * (1 - self.again))
            self.used += more
            self._kept[key] += more
        self.again = 1.0

    def refuse(self, name: str, size: int) -> Incomplete:
        """Return the error for an input that does not fit."""
        return Incomplete(
            f"{name} may need {human_size(size)} of scratch space in addition to {human_size(self.used)} in use, and "
            f"--scratch-limit is {human_size(self.limit)}; run the same command again with a larger limit to resume"
        )

    def check(self) -> None:
        """Raise `Incomplete` if the scratch, including that of later stages, may exceed the limit."""
        if self.limit and self.used > self.limit:
            raise Incomplete(
                f"the remaining stages may need up to {human_size(self.used)} of scratch space, and --scratch-limit "
                f"is {human_size(self.limit)}; run the same command again with a larger limit to resume"
            )
