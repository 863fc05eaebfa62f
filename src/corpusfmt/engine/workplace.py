"""Internal: An unfinished output folder: one run at a time may write to it, and the next resumes it."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import socket
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec
import xxhash
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.arrays import Array, Member, Missing, Share
from corpusfmt.engine.executors import placed
from corpusfmt.engine.lease import LEASE_SECONDS, leased
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.lock import locked
from corpusfmt.io.mirror import Mirror, at_the_same_time, local_copies, mirroring, new_folder
from corpusfmt.io.ondisk import ByName, joined
from corpusfmt.io.outputs import Place, StorePath, place_of
from corpusfmt.io.paths import STATE, printable
from corpusfmt.io.publish import create_bytes, note_published, publish_bytes, published, refuse_link, refuse_links
from corpusfmt.io.stores import StoreFailure, at_once, before_work_error
from corpusfmt.model import CorpusfmtError, Incomplete, UsageError

#: Folder in the state for the output of the user's command.
DOWNLOADS = "fetched"
# Written last by builds and conversions.
_SEALS = frozenset({"MANIFEST.json", "croissant.json"})
_APART = "; shards of one run need one --state, in a folder that all of them see"
# Stores that lack a request to put an object only if there is none, or are in the memory of one process.
_WITHOUT_CLAIMS = frozenset({"hf", "memory"})
# A member replaces another plan, and a run ends, in less time.
_LOCKED_SECONDS = 10.0
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.2, 10.0
# A run that was killed a moment ago counts as being at work for a minute.
_DEAD_SECONDS = 1.2 * LEASE_SECONDS
_LOCK = "lock"
# How late a store may list an object, and how often to look for such.
_LATE_SECONDS, _MOST_LOOKS = 2.0, 10
# The mark of a run that has nothing left to do but to remove its state.
_ENDED = b"ended"
_BEFORE_A_MARK = {STATE, _LOCK, "array", "claim"}


def digest(*parts: object) -> str:
    """Return the SHA-256 of plain data, as a fingerprint; an iterator counts as a list of what it yields."""
    found = hashlib.sha256()
    for piece in _encoded(parts):
        found.update(piece)
    return found.hexdigest()


def _encoded(parts: Iterable[object]) -> Iterator[bytes]:
    before = b"["
    for part in parts:
        yield before
        if isinstance(part, Iterator):
            yield from _encoded(part)
        else:
            yield msgspec.json.encode(part)
        before = b","
    yield b"]" if before == b"," else b"[]"


class Workplace(Struct, frozen=True):
    """A destination, and the local folder with the state of its run; only a run of the same `identity` may resume it.

    `kept` is the prefix of a store that has the state, if there is one; then the folder belongs to this process, and has
    what it needs of that (`io.mirror`). `member` is the name of this process, if others work here at the same time.
    """

    destination: Place
    identity: str
    state: Path
    kept: StorePath | None = None
    member: str = ""

    @classmethod
    def at(cls, destination: Place, identity: str, state: str | Path | None = None) -> Self:
        """Return the workplace of a destination; `state` is as for `state_of`."""
        found = state_of(destination, state)
        if isinstance(found, StorePath):
            return cls(destination, identity, new_folder(), found)
        return cls(destination, identity, found)

    @staticmethod
    def is_unfinished(destination: Place, state: str | Path | None = None) -> bool:
        """Return whether there is an unfinished run of a destination."""
        return _is_begun(state_of(destination, state))

    @property
    def is_begun(self) -> bool:
        """Whether a run has begun here, and has not ended."""
        return _is_begun(self._board)

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Lock a new or empty folder, or one with an unfinished run of the same identity.

        Raises `UsageError` for any other folder, and for one in use by another run.
        """
        self._refuse_foreign()
        with self._held(wait=_DEAD_SECONDS) as mine:
            if not mine:
                raise UsageError(_in_use("another run is", self.destination))
            # The other run may just have ended.
            self._refuse_foreign()
            resumes = self._mark.is_file()
            self._mark_own()
            self._claim(resumes=resumes)
            yield
        if os.name == "nt" and self.kept is None and not self._mark.is_file():
            # Open files cannot be removed there: the lock is left.
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
        array = Array(self._board / "array", plan)
        with self._beside(array, share) if share.number else self._after(array) as found:
            yield found

    @contextmanager
    def _beside(self, array: Array, share: Share) -> Iterator[Member]:
        ends = time.monotonic() + max(_LOCKED_SECONDS, share.wait)
        pause = _PAUSE_SECONDS
        while True:
            self._refuse_foreign()
            if self.kept is not None:  # where many would need long to be alone one after the other
                create_bytes(array.plan_file, array.plan.encode())
            with self._held(shared=True) as mine:
                if mine and array.is_planned():
                    self._mark_own()
                    self._claim(resumes=True, cause=_APART)
                    with Member(array, share) as member:
                        yield member
                    return
            with self._held() as alone:
                # Some file systems have no locks, or only those of one machine.
                if alone and not array.living():
                    publish_bytes(array.plan_file, array.plan.encode())
                    continue
            if time.monotonic() >= ends:
                who = "an array of other inputs or options is" if mine else "another run is"
                raise UsageError(_in_use(who, self.destination))
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = pause if self.kept is None else min(2 * pause, _LONGEST_PAUSE_SECONDS)

    @contextmanager
    def _after(self, array: Array) -> Iterator[Array]:
        if not self.is_begun:
            raise Missing(f"no shard has begun to write to {self.destination}")
        with self._held() as mine:
            living = array.living()
            if not mine or living:
                who = f"shards are at work in {self.destination}: {', '.join(living)}; wait for them"
                if not living:
                    who = f"another process, perhaps also with --finish, is at work in {self.destination}; wait for it"
                raise Missing(f"{who}, or add --wait SECONDS")
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

    @contextmanager
    def _held(self, *, shared: bool = False, wait: float = 0.0) -> Iterator[bool]:
        """Lock the state, if that is possible, in a store within `wait` seconds; provide whether it was."""
        if self.kept is None:
            with locked(self.state / "lock", shared=shared) as mine:
                yield mine
            return
        with (
            local_copies(self.state),
            leased(self.kept / _LOCK, shared=shared, wait=wait) as sign,
            mirroring(Mirror(self.state, self.kept, sign) if sign else None),
        ):
            yield sign is not None

    @property
    def _board(self) -> Place:
        """Where all processes see the same."""
        return self.kept or self.state

    @property
    def _mark(self) -> Place:
        return self._board / "run"

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
                mine = _Claim("" if self.kept else socket.gethostname(), str(self._board), os.urandom(16).hex())
                create_bytes(own, msgspec.json.encode(mine))
            refusal: CorpusfmtError | None = None
            if not claim.create(own.read_bytes()):
                found = claim.read_bytes()
                refusal = UsageError(_taken(place, found) + cause)
                if not is_new and not cause and _claim_in(found).state in {"", str(self._board)}:
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
        if self.kept is not None:
            _refuse_foreign_state(self.kept)
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
        refuse_links(self.destination, spared=f"{STATE}/{DOWNLOADS}")

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
        mine = self.identity if self.kept is None else digest(self.identity, str(self.destination))
        found = self._mark.read_bytes() if self._mark.is_file() else b""
        # A damaged mark is made anew: what other runs have left is known by its markers and lists.
        if not _is_mark(found):
            publish_bytes(self._mark, _mark_of(mine.encode()))
        elif found != _mark_of(mine.encode()):
            place, other = (self.kept, "another destination, or ") if self.kept else (self.destination, "")
            raise UsageError(
                f"{place} contains an unfinished run of {other}other inputs or settings: "
                "finish it with those, remove it, or choose another folder"
            )

    def aside(self, name: str) -> Path:
        """Return an empty folder for the unfinished files of one task."""
        folder = self.state / "aside" / (f"{name}.{self.member}" if self.member else name)
        note_published(self.state, published(folder))
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def published(self) -> Iterator[str]:
        """Yield the POSIX paths below the destination that runs have published, even if since removed, in any order."""
        paths = (path for aside in chain([self.state], self._asides()) for path in published(aside))
        if isinstance(self.destination, StorePath):
            prefix = f"{self.destination}/"
            yield from (path.removeprefix(prefix) for path in map(str, paths) if path.startswith(prefix))
            return
        base = os.path.normpath(self.destination)
        inside = (path.relative_to(base) for path in paths if isinstance(path, Path) and path.is_relative_to(base))
        yield from (path.as_posix() for path in inside if path.parts[:1] not in ((), (STATE,)))

    def _asides(self) -> Iterator[Path]:
        with suppress(FileNotFoundError), os.scandir(self.state / "aside") as found:
            yield from (Path(each.path) for each in found)

    def withdraw_others(self, kept: ByName[FileFacts]) -> None:
        """Remove the files that runs have published, apart from some."""
        found = ByName((path, None) for path in self.published())
        self.withdraw(path for path, _, facts in joined(found.items(), kept.items()) if facts is None)

    def withdraw(self, paths: Iterable[str]) -> None:
        """Remove files below the destination, and folders that become empty."""
        for path in paths:
            target = self.destination / path
            if isinstance(target, StorePath):
                target.remove()
            else:
                _remove(target, Path(str(self.destination)))

    def see(self, paths: Collection[str]) -> None:
        """Wait until a store lists files below the destination, before anything is decided by a listing."""
        if isinstance(self.destination, StorePath):
            self.destination.see(paths)

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
        if self.kept is not None:
            (self.kept / "run").write_bytes(_ENDED)
        self._clear()

    def _clear(self) -> None:
        if self.kept is not None:
            _remove_state(self.kept)
            return
        for folder in self.state.iterdir():
            if folder.is_dir():
                _empty(folder)
        shutil.rmtree(self.state)


def _empty(folder: str | Path) -> None:
    """Remove what is in a folder one by one: `rmtree` would list hundreds of thousands first."""
    with os.scandir(folder) as found:
        for each in found:
            if not each.is_dir(follow_symlinks=False):
                os.unlink(each.path)  # noqa: PTH108 - a `Path` for each would take as long
            else:
                _empty(each.path)
                with suppress(OSError):  # a listing may miss names while others are removed
                    os.rmdir(each.path)  # noqa: PTH106


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


def _is_begun(board: Place) -> bool:
    """Return whether there is the mark of a run; what one has left that had ended, but not yet removed its state, is removed."""
    mark = board / "run"
    if not isinstance(board, StorePath):
        return mark.is_file()
    with _before_work():
        try:
            if mark.read_bytes() != _ENDED:
                return True
        except FileNotFoundError:
            return False
    _remove_state(board)
    return False


def _remove_state(kept: StorePath) -> None:
    """Remove all objects of a state, its mark last. What was put a moment ago may be listed late."""
    for pause in (0.0, *[_LATE_SECONDS] * _MOST_LOOKS):
        time.sleep(pause)
        paths = [path for path in kept.paths() if path != "run"]
        at_the_same_time(lambda path: (kept / path).remove(), paths)
        if pause and not paths:
            break
    (kept / "run").remove()


def _refuse_foreign_state(kept: StorePath) -> None:
    """Raise `UsageError` for a prefix that cannot have the state of a run, because it cannot be written to or is not empty."""
    kept.probe()
    with _before_work():
        # A run may begin or end between two looks.
        if not kept.names() <= _BEFORE_A_MARK and not _is_begun(kept) and not kept.names() <= _BEFORE_A_MARK:
            raise UsageError(f"--state is {kept}, which is not empty: choose a prefix without objects")


@contextmanager
def _before_work() -> Iterator[None]:
    with at_once():
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


def _taken(place: StorePath, data: bytes) -> str:
    found = _claim_in(data)
    on = f" on {printable(found.host)}" if found.host else ""
    whose = f"a run whose state is in {printable(found.state)}{on}" if found.state else "another run"
    return f"{place} belongs to {whose}: run the same command there to resume it, or remove {place / STATE} and what was written"


def _remove(target: Path, base: Path) -> None:
    if not target.is_dir():  # folders are never published
        target.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in target.relative_to(base).parents[:-1]:
            (base / folder).rmdir()
