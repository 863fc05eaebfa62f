"""Internal: Run stage `process` on each input once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.engine.progress import Progress
from corpusfmt.engine.run import Died
from corpusfmt.engine.stages import Stages, StageTask
from corpusfmt.engine.workplace import digest
from corpusfmt.io.containers import is_container
from corpusfmt.io.paths import PARTIAL_SUFFIX, entry_of
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import READ_SIZE, DigestReader
from corpusfmt.model import Json
from corpusfmt.pipeline.choices import Choices
from corpusfmt.pipeline.intake.inputs import STANDARD_INPUT, Input, Source
from corpusfmt.pipeline.process.filters import loaded_list
from corpusfmt.pipeline.process.store import Processed, ProcessTask, process

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
    choices: Choices
    log: Callable[[str, Json], None]

    #: Results without a marker, by the key of the input.
    _apart: dict[str, Taken] = field(default_factory=dict)
    _read: int = 0
    #: Whether an earlier run had stored anything.
    resumed: bool = False

    @property
    def counts(self) -> Json:
        """Return the number of unchanged inputs of an earlier run, and of inputs that this run read."""
        return {"taken_over": max(0, len(self.sources) - self._read), "read": self._read}

    def take_all(self) -> Inputs:
        """Return all inputs with their results."""
        self._begin()
        inputs = [each.input for each in self.sources]
        size = sum(each.size for each in inputs)
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
            self._log_quarantined(result)
            ended[0] += 1
            ended[1] += own.size
            languages.update(result.processed.original)
            return Progress(ended[0], len(inputs), ended[1], size, f"{len(languages)} languages")

        self._read += self.stages.stream(_STAGE, _take, self._tasks(), Taken, end, self._is_reusable)
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
        filters = self.choices.addresses
        for listed in (filters.allow, filters.deny):
            if listed is not None:
                loaded_list(listed.path, listed.sha256)  # before workers inherit it
        self.resumed = any(self.stages.files(_STAGE, ".json"))
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
        own = replace(source.input, size=whole.size, version=whole.sha256)
        return Source(own, entry_of(str(spool)))

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

    def _tasks(self) -> Iterator[StageTask[_TakeTask]]:
        chosen, load = self.choices, self.choices.classifier.loader()
        if self.stages.share:
            self.stages.fetch(_STAGE, (source.input.task_id for source in self.sources))
        for source in self.sources:
            own, entry = source.input, source.entry
            if entry is None:
                self._read += 1
                self._apart[own.key] = Taken(own, Processed(defect=source.defect))
                self._log_quarantined(self._apart[own.key])
                continue
            container = self.stages.folder / _STAGE / container_name(own)
            argument = ProcessTask(entry, container, chosen.recipe, chosen.addresses, load, chosen.key, chosen.steps)
            fingerprint = digest(chosen.fingerprint, own.key, own.size, own.version)
            yield StageTask(own.task_id, _TakeTask(own, argument), fingerprint)

    def _log_quarantined(self, taken: Taken) -> None:
        reason = taken.processed.quarantined
        if reason is not None:
            self.log("quarantine", {"input": taken.input.path, "reason": reason})
