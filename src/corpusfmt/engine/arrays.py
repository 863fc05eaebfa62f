"""Internal: Job arrays: processes on any machines that see one folder, or one prefix of a store, share the tasks of a run,
without a coordinator.

A *member* is a process at work, with a file whose time it renews. A *claim* on a task is a file that one member alone can
create, which names the member and is never changed or removed. In a store, files are objects. Claims on a task are numbered, and the last one counts: if
its member is dead, others may create the next. What ends a task is its marker (`engine.stages`), not its claim.

Two members may run one task, if the first was only slow or the clocks of machines differ. That wastes time and nothing
else: a task always writes the same bytes, and each file appears whole.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Self, TypeVar

from msgspec import Struct

from corpusfmt.engine.lease import Renewal, is_recent, name_of_this_process, renewed
from corpusfmt.io.mirror import at_the_same_time
from corpusfmt.io.ondisk import OnDisk
from corpusfmt.io.outputs import Place, StorePath
from corpusfmt.model import Incomplete, Json, UsageError
from corpusfmt.wording import clipped, plural

T = TypeVar("T")

# Between two looks at what others do.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_MOST_NAMED = 10
_CLAIM = re.compile(r"(.*)\.([0-9]{1,9})", re.DOTALL)
# A longer one is not the name of a member, nor is one that names a file in another folder.
_MOST_NAME_BYTES = 255
_NO_NAME = re.compile(r"[/\\\0]")
_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
#: The largest number of shards that six digits name.
MOST_SHARDS = 999_999
_SHARD_WAITS, _FINISH_WAITS = 600.0, 0.0


class Share(Struct, frozen=True):
    """What one process does of a run: shard `number` of `of`; or, with 0, seal what the shards have made.

    `wait` is the longest time in seconds to wait for others.
    """

    number: int
    of: int
    wait: float

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def share_of(shard: str | None, *, finish: bool, wait: float | None, engine: str | None) -> Share | None:
    """Return the share that `--shard`, `--finish` and `--wait` name. Raises `UsageError`."""
    if shard is not None and finish:
        raise UsageError("--shard and --finish are two steps: run all shards, then --finish alone")
    if shard is None and not finish:
        if wait is not None:
            raise UsageError("--wait applies to --shard and --finish: add one of them")
        return None
    if wait is not None and not 0 <= wait <= threading.TIMEOUT_MAX:
        raise UsageError(f"--wait is {wait:g}, expected a number of seconds")
    if engine not in {None, "serial", "processes"}:
        raise UsageError(f"--engine is {clipped(engine)}, and shards run on their own machines: remove one of the two")
    if shard is None:
        return Share(0, 0, _FINISH_WAITS if wait is None else wait)
    match = _SHARD.fullmatch(shard)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f"--shard is {clipped(shard)!r}, expected i/n with i from 1 to n, like 3/8")
    return Share(number, of, _SHARD_WAITS if wait is None else wait)


#: Results of a member that has found all tasks ended.
NOTHING_LEFT: Json = {"left": {"tasks": 0}}


class Left(Exception):
    """All tasks of a stage have ended but those that other members have claimed."""

    def __init__(self, stage: str, tasks: int) -> None:
        super().__init__(stage, tasks)
        self.results: Json = {"left": {"tasks": tasks, "stage": stage}}


class Missing(Incomplete):
    """Shards have not done all that they are to do."""


def persisting(share: Share | None, attempt: Callable[[], T]) -> T:
    """Return the result of an attempt, which is repeated while shards have something to do, as long as it may wait."""
    ends = time.monotonic() + (0.0 if share is None or share.number else share.wait)
    pause = _SHORTEST_PAUSE
    while True:
        began = time.monotonic()
        try:
            return attempt()
        except Missing:
            now = time.monotonic()
            if now >= ends:
                raise
            pause = min(2 * pause, _LONGEST_PAUSE)
            time.sleep(min(max(pause, now - began), ends - now))


class Array(Struct, frozen=True):
    """The files of an array, in `folder`; `plan` identifies what all members do."""

    folder: Place
    plan: str

    @property
    def plan_file(self) -> Place:
        return self.folder / "plan"

    def is_planned(self) -> bool:
        """Return whether the last members to come had this plan."""
        try:
            return self.plan_file.read_bytes() == self.plan.encode()
        except FileNotFoundError:
            return False

    @property
    def sealed(self) -> Place:
        """The mark of a corpus that was sealed without some inputs, and may still get them."""
        return self.folder / self.plan / "sealed"

    def claims(self, stage: str) -> Place:
        return self.folder / self.plan / stage

    @property
    def members(self) -> Place:
        return self.folder / "members"

    def living(self) -> list[str]:
        """Return the members that are not known to be dead."""
        if not isinstance(self.folder, StorePath) and not self.folder.is_dir():
            return []
        names = sorted(_names_in(self.members))
        now = renewed(self.folder / "now") if names else 0.0
        return [name for name in names if is_recent(self.members / name, now)]

    def claimed(self, stage: str, tasks: Collection[str] | None = None) -> dict[str, int]:
        """Return the tasks of a stage, or those of some tasks, that have claims, with the number of the last."""
        last: dict[str, int] = {}
        for name in _names_in(self.claims(stage)):
            claim = _CLAIM.fullmatch(name)  # other programs may have left files
            if claim and (tasks is None or claim[1] in tasks):
                last[claim[1]] = max(last.get(claim[1], 0), int(claim[2]))
        return last

    def holders(self, stage: str, tasks: Collection[str], now: float, known: dict[str, str]) -> dict[str, Holder]:
        """Return the claimed ones of some tasks of a stage, by id; `now` is the present time of the file system or store.

        `known` is what claims say, by file, and is added to.
        """
        claims = self.claims(stage)
        last = self.claimed(stage, tasks)
        files = {task: f"{task}.{last[task]}" for task in tasks if task in last}
        unread = [file for file in files.values() if not known.get(file)]
        known.update(zip(unread, _members_in(claims, unread), strict=True))
        alive = {name: is_recent(self.members / name, now) for name in {known[file] for file in files.values()} if name}
        return {
            # A claim without a name is about to be written, or its member was killed then.
            task: Holder(known[file], last[task], alive[known[file]] if known[file] else is_recent(claims / file, now))
            for task, file in files.items()
        }

    def missing(self, stage: str, tasks: int, ids: Sequence[str]) -> Missing:
        """Return the error for tasks of a stage that no member has ended."""
        holders = self.holders(stage, ids[:_MOST_NAMED], 0.0, {})
        named = [
            f"  {each}: {f'begun by {holders[each].name}' if each in holders else 'not begun'}"
            for each in ids[:_MOST_NAMED]
        ]
        more = [f"  and {len(ids) - _MOST_NAMED:,} more"] if len(ids) > _MOST_NAMED else []
        return Missing(
            f"stage {stage} lacks {len(ids):,} of {plural(tasks, 'task')}, and nothing was sealed",
            *named,
            *more,
            "  help: run any shard again, or the same command without --finish, which does all that is left",
        )


class Holder(NamedTuple):
    """The member that made the last claim on a task, and the number of that claim."""

    name: str
    number: int
    is_alive: bool


def _names_in(folder: Place) -> list[str]:
    if isinstance(folder, StorePath):
        return [name for name in folder.names() if name]
    return os.listdir(folder) if folder.is_dir() else []


def _members_in(folder: Place, names: Sequence[str]) -> list[str]:
    """Return the members that files name; the empty name for one that names none."""

    def text(name: str) -> str:
        try:
            with (folder / name).open("rb") as file:
                found = file.read(_MOST_NAME_BYTES + 1)
        except FileNotFoundError:  # the run has ended
            return ""
        said = found.decode(errors="replace")
        return "" if len(found) > _MOST_NAME_BYTES or _NO_NAME.search(said) else said

    return at_the_same_time(text, names) if isinstance(folder, StorePath) else list(map(text, names))


class Member:
    """This process as a member of an array."""

    def __init__(self, array: Array, share: Share) -> None:
        self.array, self.share = array, share
        self.name = name_of_this_process()
        self.file = array.members / self.name
        self._renewal = Renewal(self.file)
        self._known: dict[str, str] = {}

    def __enter__(self) -> Self:
        if not isinstance(self.file, StorePath):
            self.file.parent.mkdir(parents=True, exist_ok=True)
        renewed(self.file)
        return self

    def __exit__(self, *_: object) -> None:
        # The claims of a member without a file are free.
        self._renewal.end()

    def begin_renewing(self) -> None:
        """Renew the file of this member from now on."""
        self._renewal.begin()

    def _now(self) -> float:
        """Return a time at which this member was alive, as the file system or store has it: others are compared with it."""
        if isinstance(self.file, StorePath):
            return self.file.modified() or 0.0
        return renewed(self.file)

    def claimed(
        self,
        stage: str,
        tasks: Iterable[tuple[str, T]],
        unended: Callable[[Sequence[T]], Sequence[T]],
        running: Callable[[], int],
        most: int,
        look: Callable[[Sequence[str]], object] = lambda _: None,
    ) -> Iterator[T | None]:
        """Yield the tasks, each given with its id, that this member has claimed; None while there is none to run.

        First come the member's own, then those that nobody has claimed, then those of dead members. `look` is called with the
        ids of some tasks before `unended`, which returns those without a marker, `running` the number of yielded tasks that run, of which there may be `most`. Raises `Left`
        once the member has waited for as long as it should.
        """
        stored = OnDisk(tasks)
        left: list[int] = []
        yield from self._claimed_first(stage, stored, left, running, most)
        pause, looked, idle_since = _SHORTEST_PAUSE, 0.0, time.monotonic()
        while left:
            now = time.monotonic()
            idle_since = now if running() else idle_since
            if running() >= most or now - looked < pause:
                yield None
                continue
            looked = now
            before = len(left)
            # Of few tasks, as most of those of others have ended.
            look([stored[index][0] for index in left])
            left = [index for index in left if unended([stored[index][1]])]
            # Before the markers: a member that ends has marked its tasks.
            holders = self.array.holders(stage, {stored[index][0] for index in left}, self._now(), self._known)
            look([stored[index][0] for index in left])
            left = [index for index in left if unended([stored[index][1]])]
            free = self._next_free(stage, (stored[index][0] for index in left), holders)
            pause = _SHORTEST_PAUSE if free is not None or len(left) < before else min(2 * pause, _LONGEST_PAUSE)
            if free is not None:
                yield stored[left.pop(free)][1]
            elif left and now - idle_since >= self.share.wait:
                raise Left(stage, len(left))

    def _claimed_first(
        self, stage: str, stored: Sequence[tuple[str, T]], left: list[int], running: Callable[[], int], most: int
    ) -> Iterator[T | None]:
        """Yield the tasks that nobody has claimed before, beginning with the member's own; add the others to those left."""
        folder = self.array.claims(stage)
        if not isinstance(folder, StorePath):
            folder.mkdir(parents=True, exist_ok=True)
        own = range(self.share.number - 1, len(stored), self.share.of)
        for some in (own, (each for each in range(len(stored)) if each not in own)):
            # A listing costs less than requests in vain.
            taken = self.array.claimed(stage) if isinstance(folder, StorePath) else {}
            for index in some:
                while running() >= most:
                    yield None
                name, task = stored[index]
                if name not in taken and self._claim(folder / f"{name}.0"):
                    yield task
                else:
                    left.append(index)

    def _next_free(self, stage: str, names: Iterable[str], holders: Mapping[str, Holder]) -> int | None:
        """Claim one of some tasks whose holders are dead; return its position."""
        for position, name in enumerate(names):
            holder = holders.get(name)
            number = 0 if holder is None else holder.number + 1
            if not (holder and holder.is_alive) and self._claim(self.array.claims(stage) / f"{name}.{number}"):
                return position
        return None

    def _claim(self, place: Place) -> bool:
        """Create a claim, if there is none."""
        if isinstance(place, StorePath):
            return place.create(self.name.encode())
        try:
            with place.open("xb") as file:
                file.write(self.name.encode())
        except FileExistsError:
            return False
        return True
