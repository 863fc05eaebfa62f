"""Internal: An unfinished output folder: one run at a time may write to it, and the next resumes it."""

from __future__ import annotations

import hashlib
import logging
import os
import random
import shutil
import socket
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec
import xxhash
from msgspec import Struct, field

from corpusfmt.engine.executors import placed
from corpusfmt.engine.shares import Share
from corpusfmt.engine.stored import StoredState, aside_of
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.outputs import Place, StorePath, place_of
from corpusfmt.io.paths import STATE, entry_of, printable
from corpusfmt.io.publish import (
    PUBLISHED,
    create_bytes,
    note_published,
    publish_bytes,
    published,
    refuse_link,
    refuse_links,
)
from corpusfmt.io.stores import StoreFailure, before_work_error, soon
from corpusfmt.io.streams import facts_of
from corpusfmt.io.temporary import locked
from corpusfmt.model import CorpusfmtError, Incomplete, UsageError
from corpusfmt.wording import plural

# Written last by builds and conversions.
_SEALS = frozenset({"MANIFEST.json", "croissant.json"})
_WRITTEN_LAST = _SEALS | {"README.md", "stats.json", "stats.md"}
_APART = "; shards of one run need one --state, in a folder that all of them see"
# Stores that lack a request to put an object only if there is none, or are in the memory of one process.
_WITHOUT_CLAIMS = frozenset({"hf", "memory"})
# Another shard may be replacing the plan.
_ATTEMPTS, _PAUSE_SECONDS = 50, 0.2
_KEPT = frozenset({"run", "claim", "owner", "plan", "key", "tasks"})


def digest(*parts: object) -> str:
    """Return the SHA-256 of plain data, as a fingerprint; an iterator counts as a list of what it yields."""
    return hashlib.sha256(msgspec.json.encode(parts, enc_hook=list)).hexdigest()


class Workplace(Struct, frozen=True):
    """A destination, and the local folder with the state of its run; only a run of the same `identity` may resume it.

    `stored` is where the state is if it is in a store; then the folder belongs to this process. `run` is a name that no other
    process has.
    """

    destination: Place
    identity: str
    state: Path
    stored: StoredState | None = None
    run: str = field(default_factory=lambda: os.urandom(4).hex())

    @classmethod
    def at(cls, destination: Place, identity: str, state: str | Path | None = None) -> Self:
        """Return the workplace of a destination; `state` is as for `state_of`."""
        board = state_of(destination, state)
        if isinstance(board, StorePath):
            folder = Path(tempfile.gettempdir(), f"corpusfmt-state-{os.urandom(8).hex()}")
            run = os.urandom(4).hex()
            return cls(destination, identity, folder, StoredState(board, folder, run), run)
        return cls(destination, identity, board)

    @staticmethod
    def is_unfinished(destination: Place, state: str | Path | None = None) -> bool:
        """Return whether there is an unfinished run of a destination."""
        with _before_work():
            return (state_of(destination, state) / "run").is_file()

    @property
    def is_begun(self) -> bool:
        """Whether a run has begun here, and has not ended."""
        return self._mark.is_file()

    def entered(self, plan: str, share: Share | None, *, finish: bool) -> AbstractContextManager[None]:
        """Enter for a share of a run, for the rest of it, or for all; what the shards of a run do is its `plan`."""
        return self.claimed(plan if finish else None) if share is None else self._beside_others(plan)

    @contextmanager
    def claimed(self, finished: str | None = None) -> Iterator[None]:
        """Lock a new or empty folder, or one with an unfinished run of the same identity, or with the plan to be `finished`.

        Raises `UsageError` for any other folder, and for one in use by another run.
        """
        self._refuse_foreign()
        if finished is not None:
            self._refuse_other_plan(finished)
        with self._folder(), locked(self.state / "lock") as mine:
            if mine is False:
                raise UsageError(_in_use("another run is", self.destination))
            is_unlocked = mine is None or self.stored is not None
            if is_unlocked:
                logging.getLogger("corpusfmt").warning(
                    "%s has no locks, and nothing keeps a second run out of %s: of two, the one that begins last goes on",
                    printable(str(self._board)),
                    printable(str(self.destination)),
                )
            # The other run may just have ended.
            self._refuse_foreign()
            resumes = self.is_begun
            self._mark_own()
            self._claim(resumes=resumes)
            publish_bytes(self._owner, self._name(is_unlocked=is_unlocked))
            if self.stored:
                self.stored.fetch_all()
            if mine:
                # What killed runs were writing goes; what they have published stays noted, and a damaged list stays.
                lists = {aside: published(aside) for aside in self._asides()}
                note_published(self.state, chain.from_iterable(paths for paths, _ in lists.values()))
                for aside, (_, is_whole) in lists.items():
                    if is_whole:
                        shutil.rmtree(aside, ignore_errors=True)
            yield
        if os.name == "nt" and not self.is_begun:
            # Open files cannot be removed there: the lock is left.
            shutil.rmtree(self.state, ignore_errors=True)

    @contextmanager
    def _beside_others(self, plan: str) -> Iterator[None]:
        """Like `claimed`, for a shard: others of the same plan may be at work."""
        if isinstance(self.destination, StorePath) and self.destination.scheme in _WITHOUT_CLAIMS:
            raise UsageError(
                f"{self.destination} is in a store where shards cannot write side by side: choose a folder, s3:// or gs://"
            )
        lock = self.state / "lock"
        with self._folder():
            for _ in range(_ATTEMPTS):
                self._refuse_foreign()
                with locked(lock, shared=True) as mine:
                    if mine is not False:
                        create_bytes(self._board / "plan", plan.encode())
                    if mine is not False and (self._board / "plan").read_bytes() == plan.encode():
                        self._mark_own()
                        self._claim(resumes=True, cause=_APART)
                        yield
                        return
                if self.stored:
                    break  # nobody knows who is at work
                with locked(lock) as alone:
                    if alone is not False:
                        publish_bytes(self._board / "plan", plan.encode())
                        continue
                time.sleep(_PAUSE_SECONDS * random.uniform(0.5, 1.0))
        if self.stored:
            raise UsageError(
                f"{self.stored.place} contains a run of shards of other inputs or options: "
                "run the same command without --shard, or choose another --state"
            )
        who = "another run is" if mine is False else "shards of other inputs or options are"
        raise UsageError(_in_use(who, self.destination))

    def _refuse_other_plan(self, plan: str) -> None:
        """Raise an error unless shards of this plan have begun."""
        try:
            found = (self._board / "plan").read_bytes()
        except FileNotFoundError:
            raise Incomplete(f"no shard has begun to write to {self.destination}") from None
        if found != plan.encode():
            raise UsageError(
                f"{self.destination} contains a run of other inputs or options: finish it "
                "with those, remove it, or choose another folder"
            )

    @contextmanager
    def _folder(self) -> Iterator[None]:
        """Have the local folder of a state in a store as long as this process needs it."""
        try:
            if self.stored:
                self.state.mkdir(mode=0o700)
            yield
        finally:
            if self.stored:
                shutil.rmtree(self.state, ignore_errors=True)

    @property
    def _board(self) -> Place:
        """Where all processes see the same."""
        return self.stored.place if self.stored else self.state

    @property
    def _mark(self) -> Place:
        return self._board / "run"

    @property
    def _owner(self) -> Place:
        return self._board / "owner"

    def _name(self, *, is_unlocked: bool) -> bytes:
        return f"{self.run}{' without a lock' if is_unlocked else ''}".encode()

    def _refuse_overtaken(self) -> bool:
        """Return whether this run has a lock. Raises `Incomplete` if not, and another run has begun since."""
        try:
            owner = self._owner.read_bytes()
        except FileNotFoundError:
            owner = b""
        if owner == self._name(is_unlocked=False):
            return True
        if owner != self._name(is_unlocked=True):
            raise Incomplete(f"another run has begun to write to {self.destination}, which goes on: this one has ended")
        return False

    def _claim(self, *, resumes: bool, cause: str = "") -> None:
        """Put an object in a store that keeps runs elsewhere away, and shows that this one may write there."""
        place = self.destination
        if not isinstance(place, StorePath):
            return
        own = self._board / "claim"
        claim = place / STATE / "run"
        try:
            place.probe()
            is_new = not own.is_file()
            if is_new:
                mine = _Claim("" if self.stored else socket.gethostname(), str(self._board), os.urandom(16).hex())
                create_bytes(own, msgspec.json.encode(mine))
            refusal: CorpusfmtError | None = None
            if not claim.create(own.read_bytes()):
                found = claim.read_bytes()
                there = _claim_in(found)
                on = f" on {printable(there.host)}" if there.host else ""
                whose = f"a run whose state is in {printable(there.state)}{on}" if there.state else "another run"
                refusal = UsageError(
                    f"{place} belongs to {whose}: run the same command there to resume it, or remove {place / STATE} "
                    f"and what was written{cause}"
                )
                if not is_new and not cause and there.state in {"", str(self._board)}:
                    said = f"{own} or {claim} is damaged: remove {claim}, then run the same command again to resume"
                    refusal = UsageError(said)
        except (UsageError, Incomplete) as error:
            refusal = error
        except StoreFailure as error:
            refusal = before_work_error(str(error), error)
        if refusal is not None:
            if not resumes:
                self._clear()
            raise refusal

    def _refuse_foreign(self) -> None:
        if self.stored:
            self.stored.place.probe()
            with _before_work():
                if not self.stored.place.names() - {STATE} <= _KEPT:
                    raise UsageError(
                        f"--state is {self.stored.place}, which is not empty: choose a prefix without objects"
                    )
        if isinstance(self.destination, StorePath):
            self._refuse_foreign_objects(self.destination)
            return
        refuse_link(self.destination)
        if self.destination.exists() and not self.destination.is_dir():
            raise UsageError(f"{self.destination} is a file, expected a new or empty folder")
        started = self._mark.is_file() or not self.destination.exists()
        names = set() if started else {path.name for path in self.destination.iterdir()} - {STATE}
        if not names.isdisjoint(_SEALS):
            raise UsageError(f"{self.destination} contains a finished corpus: remove it or choose another folder")
        if names:
            raise UsageError(f"{self.destination} is not empty: remove it or choose another folder")
        refuse_links(self.destination)

    def _refuse_foreign_objects(self, place: StorePath) -> None:
        if self.is_begun:
            return
        names = _names_below(place)
        if "" in names:
            raise UsageError(f"{place} is an object, expected a prefix without objects")
        if STATE in names and (place / STATE / "run").is_file():
            return  # the claim says whose it is
        if not names.isdisjoint(_SEALS):
            raise UsageError(f"{place} contains a finished corpus: remove it or choose another place")
        # A new repository of the Hub has `.gitattributes`.
        if any(not name.startswith(".") for name in names):
            raise UsageError(f"{place} is not empty: remove what is there or choose another place")

    def _mark_own(self) -> None:
        mine = digest(self.identity, str(self.destination)) if self.stored else self.identity
        found = self._mark.read_bytes() if self._mark.is_file() else b""
        # A damaged mark is made anew: what other runs have left is known by its markers and lists.
        if not _is_mark(found):
            publish_bytes(self._mark, _mark_of(mine.encode()))
        elif found != _mark_of(mine.encode()):
            place, other = (self._board, "another destination, or ") if self.stored else (self.destination, "")
            raise UsageError(
                f"{place} contains an unfinished run of {other}other inputs or settings: "
                "finish it with those, remove it, or choose another folder"
            )

    def key(self) -> bytes:
        """Return a secret key that all processes of this run have. Results that depend on it have it in their fingerprint."""
        place = self._board / "key"
        made = _mark_of(os.urandom(16).hex().encode())
        create_bytes(place, made)
        if not _is_mark(place.read_bytes()):
            publish_bytes(place, made)
        return bytes.fromhex(place.read_bytes().partition(b" ")[0].decode())

    def aside(self, name: str) -> Path:
        """Return the folder for the unfinished files of one task of this run."""
        return aside_of(self.state, name, self.run)

    def _lists(self) -> Iterator[Path]:
        return chain([self.state], self._asides())

    def published(self) -> Iterator[str]:
        """Yield the POSIX paths below the destination that runs have published, even if since removed, in any order.

        Of a list that is damaged, these are those that it still has, and all that may seal a corpus.
        """
        for aside in self._lists():
            paths, is_whole = published(aside)
            yield from self._inside(paths)
            if not is_whole:
                yield from _SEALS

    def _inside(self, paths: Iterable[Place]) -> Iterator[str]:
        """Yield paths relative to the destination, if they are below it."""
        if isinstance(self.destination, StorePath):
            prefix = f"{self.destination}/"
            yield from (path.removeprefix(prefix) for path in map(str, paths) if path.startswith(prefix))
            return
        base = os.path.normpath(self.destination)
        inside = (path.relative_to(base) for path in paths if isinstance(path, Path) and path.is_relative_to(base))
        # Below `.` is every relative path, also of the quarantine next to it.
        yield from (path.as_posix() for path in inside if path.parts[:1] not in ((), (STATE,), ("..",)))

    def _asides(self) -> Iterator[Path]:
        with suppress(FileNotFoundError), os.scandir(self.state / "aside") as found:
            yield from (Path(each.path) for each in found)

    def withdraw_others(self, kept: Mapping[str, FileFacts]) -> None:
        """Remove the files that runs have published, apart from some.

        Raises `Incomplete` for other files if runs may have published them, because a list is damaged: they may be a user's.
        """
        self.withdraw(sorted(set(self.published()) - kept.keys()))
        # A list of published files from which names are lost.
        damaged = next((aside / PUBLISHED for aside in self._lists() if not published(aside)[1]), None)
        if damaged and (left := sorted(set(self._there()) - kept.keys())):
            raise Incomplete(
                f"{damaged} is damaged, and may have named what is not in the corpus: "
                "remove these files, or move them elsewhere, then run the same command again to resume",
                *(str(self.destination / path) for path in left),
            )

    def _there(self) -> Iterator[str]:
        """Yield the paths of all files below the destination, apart from those that a run writes last, and hidden ones at the top."""
        root = self.destination
        if isinstance(root, StorePath):
            paths: Iterable[str] = root.paths()
        else:
            found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
            paths = (path.relative_to(root).as_posix() for path in found)
        return (path for path in paths if not path.startswith(".") and path not in _WRITTEN_LAST)

    def withdraw(self, paths: Iterable[str]) -> None:
        """Remove files below the destination, and folders that become empty."""
        self._refuse_overtaken()
        for path in paths:
            target = self.destination / path
            if isinstance(target, StorePath):
                target.remove()
                continue
            if not target.is_dir():  # folders are never published
                target.unlink(missing_ok=True)
            with suppress(OSError):
                for folder in target.relative_to(str(self.destination)).parents[:-1]:
                    (Path(str(self.destination)) / folder).rmdir()

    def refuse_replaced(self, files: Mapping[str, FileFacts]) -> None:
        """Raise `Incomplete` if files are not what this run wrote, because another run that no lock kept out has replaced them.

        These are removed, so that they are made anew. An object in a store was put whole, and is not read again.
        """
        root = self.destination
        if self._refuse_overtaken() or isinstance(root, StorePath):
            return
        wrong = [
            path
            for path, facts in files.items()
            if facts_of(entry_of(str(root / path))) != FileFacts(facts.size, facts.sha256)
        ]
        self.withdraw(wrong)
        if wrong:
            raise Incomplete(
                f"another run has replaced {plural(len(wrong), 'file')}, like {root / wrong[0]}: "
                "end it, then run the same command again to make them anew"
            )

    def see(self, paths: Collection[str]) -> None:
        """Wait until a store lists files below the destination, before anything is decided by a listing."""
        if isinstance(self.destination, StorePath):
            self.destination.see(paths)

    def give_up(self) -> None:
        """Give the destination back if this run failed before it stored anything there; what shards have made stays."""
        if (self._board / "plan").is_file():
            return
        if isinstance(self.destination, StorePath):
            if self.destination.names() <= {STATE}:
                self.release()
        elif all(path.name == STATE for path in self.destination.iterdir()):
            shutil.rmtree(self.state, ignore_errors=True)

    def release(self) -> None:
        """Remove the state: all files under final names are complete."""
        self._refuse_overtaken()
        if isinstance(self.destination, StorePath):
            (self.destination / STATE / "run").remove()
        self._clear()

    def _clear(self) -> None:
        if self.stored:
            self.stored.remove()
        shutil.rmtree(self.state)


def _mark_of(identity: bytes) -> bytes:
    return identity + b" " + xxhash.xxh3_64_hexdigest(identity).encode()


def _is_mark(data: bytes) -> bool:
    return data == _mark_of(data.partition(b" ")[0])


def _in_use(who: str, destination: Place) -> str:
    return f"{who} using {destination}: wait until it has ended or choose another folder"


def _names_below(place: StorePath) -> set[str]:
    with _before_work():
        return place.names()


def destination_at(path: str | Path, what: str, engine: str | None) -> Place:
    """Return the destination of a run, as the workers of its engine can use it.

    Raises `UsageError` for a URL to which nothing is written, or that cannot be reached.
    """
    place = place_of(path, what)
    if isinstance(place, StorePath):
        _names_below(place)
        return place
    return Path(placed(engine, place))


@contextmanager
def _before_work() -> Iterator[None]:
    with soon():
        try:
            yield
        except StoreFailure as error:
            raise before_work_error(str(error), error) from error


def state_of(destination: Place, state: str | Path | None = None) -> Place:
    """Return where the state of a run is: in `.corpusfmt` in a local destination.

    That of a run that writes to a store is in `state`, which may be a URL, by default in a folder in the working folder that is named for the destination.
    """
    if isinstance(destination, Path):
        if state is not None:
            raise UsageError(
                f"--state is for outputs in a store; the state of {destination} is in {destination / STATE}"
            )
        return destination / STATE
    named = f"{destination.name}-{hashlib.sha256(destination.url.encode()).hexdigest()[:8]}{STATE}"
    chosen = place_of(named if state is None else state, "--state")
    if not isinstance(chosen, StorePath):
        return chosen.absolute()
    if chosen.scheme == "hf":
        raise UsageError(f"--state is `{chosen}`, expected a folder, or a URL that begins with s3:// or gs://")
    inside = f"{destination}/{STATE}/"
    for taken in (destination.url, f"{destination}-quarantine"):
        nested = f"{chosen}/".startswith(f"{taken}/") or f"{taken}/".startswith(f"{chosen}/")
        if nested and not chosen.url.startswith(inside):
            raise UsageError(f"--state is `{chosen}`, expected a prefix of its own, like {destination}.state")
    return chosen


def traces_of(destination: Place, state: str | Path | None) -> list[str]:
    """Return where an unfinished run keeps what a finished one removes."""
    claim = [str(destination / STATE)] if isinstance(destination, StorePath) else []
    return [str(state_of(destination, state)), *claim]


def jobs_for(destination: Place, jobs: int | None, engine: str | None, state: str | Path | None = None) -> int | None:
    """Return the number of workers asked for. Raises `UsageError` if they could not write to the destination or state."""
    places = [place for place in (destination, state_of(destination, state)) if isinstance(place, StorePath)]
    for place in places:
        if engine not in {None, "serial", "processes"} and place != destination:
            raise UsageError(
                f"--state is {place}, and workers of {engine} need a folder that all of them see: name one, or remove --engine"
            )
        if place.scheme == "memory":
            if (jobs or 1) > 1 or engine not in {None, "serial"}:
                raise UsageError(f"{place} is in the memory of this process, where workers cannot write: use one job")
            return 1
    return jobs


class _Claim(Struct, frozen=True):
    """What a run puts in a store: who writes there, and where its state is."""

    host: str
    state: str
    token: str


def _claim_in(data: bytes) -> _Claim:
    """Return the claim that an object has, one without a state if it is damaged."""
    try:
        return msgspec.json.decode(data, type=_Claim)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Claim("", "", "")
