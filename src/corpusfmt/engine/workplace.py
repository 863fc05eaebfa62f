"""Internal: An unfinished output folder: one run at a time may write to it, and the next resumes it."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.arrays import Array, Member, Missing, Share
from corpusfmt.engine.executors import placed
from corpusfmt.engine.lock import locked
from corpusfmt.io.outputs import Place, StorePath, place_of
from corpusfmt.io.paths import printable
from corpusfmt.io.publish import create_bytes, note_published, publish_bytes, published, refuse_link, refuse_links
from corpusfmt.io.stores import StoreFailure, at_once
from corpusfmt.model import UsageError

#: The state of a run, for resuming it; removed when the run succeeds.
STATE = ".corpusfmt"
#: Folder in the state for the output of the user's command.
DOWNLOADS = "fetched"
# Written last by builds and conversions.
_SEALS = frozenset({"MANIFEST.json", "croissant.json"})
_APART = "; shards of one run need one --state, in a folder that all of them see"
# Stores that lack a request to put an object only if there is none, or are in the memory of one process.
_WITHOUT_CLAIMS = frozenset({"hf", "memory"})
# A member replaces another plan, and a run ends, in less time.
_LOCKED_SECONDS = 10.0
_PAUSE_SECONDS = 0.2


def digest(*parts: object) -> str:
    """Return the SHA-256 of plain data, as a fingerprint."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class Workplace(Struct, frozen=True):
    """A destination, and the local folder with the state of its run; only a run of the same `identity` may resume it.

    `member` is the name of this process, if others work here at the same time.
    """

    destination: Place
    identity: str
    state: Path
    member: str = ""

    @classmethod
    def at(cls, destination: Place, identity: str, state: str | Path | None = None) -> Self:
        """Return the workplace of a destination; `state` is as for `state_of`."""
        return cls(destination, identity, state_of(destination, state))

    @staticmethod
    def is_unfinished(destination: Place, state: str | Path | None = None) -> bool:
        """Return whether there is an unfinished run of a destination."""
        return (state_of(destination, state) / "run").exists()

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock a new or empty folder, or one with an unfinished run of the same identity.

        Raises `UsageError` for any other folder, and for one in use by another run.
        """
        self._refuse_foreign()
        with locked(self._lock) as mine:
            if not mine:
                raise UsageError(_in_use("another run is", self.destination))
            # The other run may just have ended.
            self._refuse_foreign()
            resumes = self._mark.exists()
            self._mark_own()
            self._claim(resumes=resumes)
            yield
        if os.name == "nt" and not self._mark.exists():  # open files cannot be removed there: the lock is left
            shutil.rmtree(self.state, ignore_errors=True)

    @contextmanager
    def entered(self, share: Share | None, plan: str) -> Iterator[Member | Array | None]:
        """Like `claimed`; a shard shares the folder with others of the same `plan`.

        Raises `Missing` for a run that is to seal what shards have made, while they are at work.
        """
        if share is None:
            with self.claimed():
                yield None
            return
        if isinstance(self.destination, StorePath) and self.destination.scheme in _WITHOUT_CLAIMS:
            raise UsageError(
                f"{self.destination} is in a store where shards cannot write side by side: choose a folder, s3:// or gs://"
            )
        array = Array(self.state / "array", plan)
        with self._beside(array, share) if share.number else self._after(array) as found:
            yield found

    @contextmanager
    def _beside(self, array: Array, share: Share) -> Iterator[Member]:
        ends = time.monotonic() + max(_LOCKED_SECONDS, share.wait)
        while True:
            self._refuse_foreign()
            with locked(self._lock, shared=True) as mine:
                if mine and array.is_planned():
                    self._mark_own()
                    self._claim(resumes=True, cause=_APART)
                    with Member(array, share) as member:
                        yield member
                    return
            with locked(self._lock) as alone:
                # Some file systems have no locks, or only those of one machine.
                if alone and not array.living():
                    publish_bytes(array.plan_file, array.plan.encode())
                    continue
            if time.monotonic() >= ends:
                who = "an array of other inputs or options is" if mine else "another run is"
                raise UsageError(_in_use(who, self.destination))
            time.sleep(_PAUSE_SECONDS)

    @contextmanager
    def _after(self, array: Array) -> Iterator[Array]:
        if not self._mark.exists():
            raise Missing(f"no shard has begun to write to {self.destination}")
        with locked(self._lock) as mine:
            living = array.living()
            if not mine or living:
                named = f": {', '.join(living)}" if living else ""
                raise Missing(f"shards are at work in {self.destination}{named}; wait for them, or add --wait SECONDS")
            if not array.is_planned():
                raise UsageError(
                    f"{self.destination} contains a run of other inputs or options, or one without shards: finish it "
                    "with those, remove it, or choose another folder"
                )
            self._refuse_foreign()
            self._claim(resumes=True, cause=_APART)
            yield array

    def of(self, array: Member | Array | None) -> Workplace:
        """Return the workplace of a member of an array."""
        return replace(self, member=array.name) if isinstance(array, Member) else self

    @property
    def _lock(self) -> Path:
        return self.state / "lock"

    @property
    def _mark(self) -> Path:
        return self.state / "run"

    def _claim(self, *, resumes: bool, cause: str = "") -> None:
        """Put an object in a store that keeps runs elsewhere away, and shows that this one may write there."""
        place = self.destination
        if not isinstance(place, StorePath):
            return
        own = self.state / "claim"
        claim = place / STATE / "run"
        try:
            place.probe()
            if not own.exists():
                mine = _Claim(socket.gethostname(), str(self.state), secrets.token_hex(16))
                create_bytes(own, msgspec.json.encode(mine))
            refusal = "" if claim.create(own.read_bytes()) else _taken(place, claim.read_bytes()) + cause
        except (StoreFailure, UsageError) as error:
            refusal = str(error)
        if refusal:
            if not resumes:
                shutil.rmtree(self.state)
            raise UsageError(refusal)

    def _refuse_foreign(self) -> None:
        if isinstance(self.destination, StorePath):
            self._refuse_foreign_objects(self.destination)
            return
        refuse_link(self.destination)
        if self.destination.exists() and not self.destination.is_dir():
            raise UsageError(f"{self.destination} is a file, expected a new or empty folder")
        started = self._mark.exists() or not self.destination.exists()
        names = set() if started else {path.name for path in self.destination.iterdir()} - {STATE}
        if not names.isdisjoint(_SEALS):
            raise UsageError(f"{self.destination} contains a finished corpus: remove it or choose another folder")
        if names:
            raise UsageError(f"{self.destination} is not empty: remove it or choose another folder")
        refuse_links(self.destination, spared=f"{STATE}/{DOWNLOADS}")

    def _refuse_foreign_objects(self, place: StorePath) -> None:
        if self._mark.exists():
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
        if not self._mark.exists():
            publish_bytes(self._mark, self.identity.encode())
        elif self._mark.read_bytes() != self.identity.encode():
            raise UsageError(
                f"{self.destination} contains an unfinished run of other inputs or settings: "
                "finish it with those, remove it, or choose another folder"
            )

    def aside(self, name: str) -> Path:
        """Return an empty folder for the unfinished files of one task."""
        folder = self.state / "aside" / (f"{name}.{self.member}" if self.member else name)
        note_published(self.state, published(folder))
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def published(self) -> set[str]:
        """Return the POSIX paths below the destination that runs have published, even if since removed."""
        asides = [self.state, *(self.state / "aside").glob("*")]
        paths = {path for aside in asides for path in published(aside)}
        if isinstance(self.destination, StorePath):
            prefix = f"{self.destination}/"
            return {str(path).removeprefix(prefix) for path in paths if str(path).startswith(prefix)}
        base = os.path.normpath(self.destination)
        inside = (path.relative_to(base) for path in paths if isinstance(path, Path) and path.is_relative_to(base))
        return {path.as_posix() for path in inside if path.parts[:1] not in ((), (STATE,))}

    def withdraw(self, paths: Iterable[str]) -> None:
        """Remove files below the destination, and folders that become empty."""
        for path in sorted(paths):
            target = self.destination / path
            if isinstance(target, StorePath):
                target.remove()
            else:
                _remove(target, Path(str(self.destination)))

    def give_up(self) -> None:
        """Give the destination back if this run failed before it stored anything there."""
        if isinstance(self.destination, StorePath):
            if self.destination.names() <= {STATE}:
                self.release()
        elif all(path.name == STATE for path in self.destination.iterdir()):
            shutil.rmtree(self.state, ignore_errors=True)

    def release(self) -> None:
        """Remove the state: all files under final names are complete."""
        if isinstance(self.destination, StorePath):
            (self.destination / STATE / "run").remove()
        for folder in self.state.iterdir():
            if folder.is_dir():
                _empty(folder)
        shutil.rmtree(self.state)


def _empty(folder: Path) -> None:
    """Remove the files in a folder one by one: `rmtree` would list hundreds of thousands first."""
    with os.scandir(folder) as found:
        for each in found:
            if not each.is_dir(follow_symlinks=False):
                os.unlink(each.path)  # noqa: PTH108 - a `Path` for each would take as long


def _in_use(who: str, destination: Place) -> str:
    return f"{who} using {destination}: wait until it has ended or choose another folder"


def _names_below(place: StorePath) -> set[str]:
    with at_once():
        try:
            return place.names()
        except StoreFailure as error:
            raise UsageError(str(error)) from error


def destination_at(path: str | Path, what: str, engine: str | None) -> Place:
    """Return the destination of a run, as the workers of its engine can use it.

    Raises `UsageError` for a URL to which nothing is written, or that cannot be reached.
    """
    place = place_of(path, what)
    if isinstance(place, StorePath):
        _names_below(place)
        return place
    return Path(placed(engine, place))


def state_of(destination: Place, state: str | Path | None = None) -> Path:
    """Return the folder for the state of a run: `.corpusfmt` in a local destination.

    State is mapped into memory and appended to, which no store supports. That of a run that writes to a store is in
    `state`, by default a folder in the working folder that is named for the destination.
    """
    if isinstance(destination, Path):
        if state is not None:
            raise UsageError(
                f"--state is for outputs in a store; the state of {destination} is in {destination / STATE}"
            )
        return destination / STATE
    named = f"{destination.name}-{hashlib.sha256(destination.url.encode()).hexdigest()[:8]}{STATE}"
    chosen = place_of(named if state is None else state, "--state")
    if isinstance(chosen, StorePath):
        raise UsageError(
            f"--state is `{chosen}`, expected a folder, which all shards must see: state is mapped into memory"
        )
    return chosen.absolute()


def traces_of(destination: Place, state: str | Path | None) -> list[str]:
    """Return where an unfinished run keeps what a finished one removes."""
    claim = [str(destination / STATE)] if isinstance(destination, StorePath) else []
    return [str(state_of(destination, state)), *claim]


def jobs_for(destination: Place, jobs: int | None, engine: str | None) -> int | None:
    """Return the number of workers asked for. Raises `UsageError` if they could not write to the destination."""
    if not isinstance(destination, StorePath) or destination.scheme != "memory":
        return jobs
    if (jobs or 1) > 1 or engine not in {None, "serial"}:
        raise UsageError(f"{destination} is in the memory of this process, where workers cannot write: use one job")
    return 1


class _Claim(Struct, frozen=True):
    """What a run puts in a store: who writes there, and where its state is."""

    host: str
    state: str
    token: str


def _taken(place: StorePath, data: bytes) -> str:
    try:
        found = msgspec.json.decode(data, type=_Claim)
        whose = f"a run whose state is in {printable(found.state)} on {printable(found.host)}"
    except msgspec.MsgspecError:
        whose = "another run"
    return f"{place} belongs to {whose}: run the same command there to resume it, or remove {place / STATE} and what was written"


def _remove(target: Path, base: Path) -> None:
    if not target.is_dir():  # folders are never published
        target.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in target.relative_to(base).parents[:-1]:
            (base / folder).rmdir()
