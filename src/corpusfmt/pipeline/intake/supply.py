"""Internal: Supplies of inputs: a list, or a watched folder. `fetch` has the third, downloads."""

from __future__ import annotations

import hashlib
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from corpusfmt.engine.executors import available_processors, default_jobs
from corpusfmt.engine.shares import Share
from corpusfmt.engine.workplace import digest
from corpusfmt.io.paths import Entry, entry_of
from corpusfmt.io.publish import publish
from corpusfmt.io.streams import READ_SIZE, DigestReader
from corpusfmt.model import Json
from corpusfmt.pipeline.intake.inputs import STANDARD_INPUT, Arrival, Arrivals, Input, arrival_of, wet_files
from corpusfmt.pipeline.intake.scratch import Scratch

#: The file that ends a watched folder.
DONE = "_DONE"
# A file that has not changed for this long counts as complete.
_SETTLED_SECONDS = 2.0
_LOOK_SECONDS = 0.5


class Supply(Protocol):
    """A source of inputs, which is notified when they are done."""

    @property
    def identity(self) -> Json:
        """What must be the same in a run that resumes another, besides the inputs."""

    @property
    def plan(self) -> str:
        """A digest of the inputs, as far as they are known from the start."""

    @property
    def is_lasting(self) -> bool:
        """Whether the inputs stay where they are, so that they can be read again."""

    def remembers(self, known: Input) -> bool:
        """Return whether an input of an earlier run still counts if it does not arrive again."""

    def lacks(self, known: Input) -> bool:
        """Return whether an input that counts cannot arrive again, so that only its stored result exists."""

    def gave(self, finished: Mapping[str, int]) -> bool:
        """Return whether a finished run had exactly these inputs, by name and size (0: unknown)."""

    def expected(self, known: Mapping[str, Input]) -> tuple[int, int]:
        """Return the number and bytes of all inputs, known ones included; 0 if unknown."""

    def workers(self, jobs: int | None) -> int:
        """Return `jobs`, or a default number of workers for the inputs."""

    def arrivals(self, state: Path, known: Mapping[str, Input], scratch: Scratch) -> Iterator[Arrival | None]:
        """Yield the inputs, or None while waiting for the next; `known` ones are done and may be gone."""

    def done(self, arrival: Arrival, *, quarantined: bool) -> None:
        """Handle the end of an input: its marker is written, or it is quarantined."""

    def close(self) -> None:
        """Stop all running processes."""


def remove_if_unchanged(arrival: Arrival) -> None:
    """Delete a stored local input, unless it has changed since it was read."""
    entry = arrival.entry
    if entry and not entry.is_remote and entry.version == arrival.input.version:
        Path(entry.url).unlink(missing_ok=True)


class Listed(Struct):
    """Inputs known from the start; `delete` removes each once it is done. A shard has its `share` of them."""

    inputs: Arrivals
    delete: bool = False
    share: Share | None = None

    @property
    def identity(self) -> Json:
        return {"deleted when done": self.delete}

    @property
    def plan(self) -> str:
        whole = hashlib.sha256()
        for each in self.inputs:
            whole.update(digest(each.input).encode())
        return whole.hexdigest()

    @property
    def _own(self) -> Iterable[Arrival]:
        share = self.share
        return (each for position, each in enumerate(self.inputs) if share is None or share.takes(position))

    @property
    def is_lasting(self) -> bool:
        return not self.delete

    def remembers(self, known: Input) -> bool:
        del known
        return self.delete

    def lacks(self, known: Input) -> bool:
        return self.delete and not Path(known.key).exists()

    def gave(self, finished: Mapping[str, int]) -> bool:
        return _are_of(self.inputs, finished, some_gone=self.delete)

    def expected(self, known: Mapping[str, Input]) -> tuple[int, int]:
        gone = [each.size for each in known.values() if each.key not in self.inputs]
        own = [each.input.size for each in self._own]
        return len(own) + len(gone), sum(own) + sum(gone)

    def workers(self, jobs: int | None) -> int:
        if any(each.input.key == STANDARD_INPUT for each in self.inputs):
            return jobs or available_processors()
        return jobs or default_jobs(sum(each.input.size for each in self.inputs), len(self.inputs))

    def arrivals(self, state: Path, known: Mapping[str, Input], scratch: Scratch) -> Iterator[Arrival | None]:
        for arrival in self._own:
            if arrival.input.key == STANDARD_INPUT:
                spooled = _spooled(state, arrival.input)
                scratch.hold(spooled.input.size)
                yield spooled
            elif known.get(arrival.input.key, arrival.input) == arrival.input or arrival.input.version:
                yield arrival

    def done(self, arrival: Arrival, *, quarantined: bool) -> None:
        if self.delete and not quarantined:
            remove_if_unchanged(arrival)

    def close(self) -> None:
        """Do nothing: no process runs."""


def _are_of(arrivals: Iterable[Arrival], finished: Mapping[str, int], *, some_gone: bool) -> bool:
    number = 0
    for each in (arrival.input for arrival in arrivals):
        if each.key == STANDARD_INPUT or each.path not in finished or each.size not in {0, finished[each.path]}:
            return False
        number += 1
    return some_gone or number == len(finished)


def _spooled(state: Path, known: Input) -> Arrival:
    """Store standard input in a file for resumed runs; an empty standard input then means the stored one."""
    spool = state / "standard-input" / known.name
    first = sys.stdin.buffer.read(READ_SIZE)
    if first or not spool.exists():
        with publish(spool) as file:
            file.write(first)
            shutil.copyfileobj(sys.stdin.buffer, file, READ_SIZE)
    with spool.open("rb") as file:
        whole = DigestReader(file)
        whole.drain()
    return Arrival(Input(known.path, known.key, whole.size, whole.sha256), entry_of(str(spool)))


class Watched(Struct):
    """The WET files that arrive in a folder, until it contains `_DONE` or `most` of them were taken (0: no limit).

    A file is taken once it has not changed for two seconds, or once `_DONE` exists. If it changes later, it is taken
    again.
    """

    folder: Path
    most: int = 0
    delete: bool = False
    follow_links: bool = False
    _taken: dict[str, Input] = field(default_factory=dict)
    _busy: set[str] = field(default_factory=set)
    _seen: dict[str, tuple[Input, float]] = field(default_factory=dict)

    @property
    def identity(self) -> Json:
        return {"watched": str(self.folder.resolve())}

    @property
    def plan(self) -> str:
        return ""

    @property
    def is_lasting(self) -> bool:
        return False

    def remembers(self, known: Input) -> bool:
        del known
        return True

    def lacks(self, known: Input) -> bool:
        return not Path(known.key).exists()

    def gave(self, finished: Mapping[str, int]) -> bool:
        if self.most:
            return len(finished) == self.most
        there = list(map(arrival_of, self._files()))
        return (self.folder / DONE).exists() and _are_of(there, finished, some_gone=self.delete)

    def expected(self, known: Mapping[str, Input]) -> tuple[int, int]:
        del known
        return self.most, 0

    def workers(self, jobs: int | None) -> int:
        return jobs or available_processors()

    def arrivals(self, state: Path, known: Mapping[str, Input], scratch: Scratch) -> Iterator[Arrival | None]:
        del state, scratch
        gone = [key for key in known if not Path(key).exists()]
        self._taken.update((key, known[key]) for key in gone)
        looked = -_LOOK_SECONDS
        while not self._full():
            if time.monotonic() - looked < _LOOK_SECONDS:
                yield None
                continue
            looked = time.monotonic()
            # Check `_DONE` before listing the folder: files that exist by then are complete.
            ended = (self.folder / DONE).exists()
            for arrival in self._settled(ended=ended):
                if self._full() and arrival.input.key not in self._taken:
                    break
                self._taken[arrival.input.key] = arrival.input
                self._busy.add(arrival.input.key)
                yield arrival
            if ended and not self._busy:
                return

    def _files(self) -> Iterator[Entry]:
        return wet_files(entry_of(str(self.folder), follow_links=self.follow_links))

    def _full(self) -> bool:
        return 0 < self.most <= len(self._taken)

    def _settled(self, *, ended: bool) -> list[Arrival]:
        settled = []
        now = time.monotonic()
        for arrival in map(arrival_of, self._files()):
            key = arrival.input.key
            if self._taken.get(key) == arrival.input or key in self._busy:
                continue
            before, since = self._seen.get(key, (None, now))
            if before != arrival.input:
                since = now
                self._seen[key] = (arrival.input, now)
            if ended or (arrival.input.size and now - since >= _SETTLED_SECONDS):
                settled.append(arrival)
        return settled

    def done(self, arrival: Arrival, *, quarantined: bool) -> None:
        self._busy.discard(arrival.input.key)
        if self.delete and not quarantined:
            remove_if_unchanged(arrival)

    def close(self) -> None:
        """Do nothing: no process runs."""
