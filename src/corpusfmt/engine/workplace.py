"""Internal: An output folder while it is being made: claimed by one run at a time, resumed by the next, left clean
at its end.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from corpusfmt.engine.lock import locked
from corpusfmt.io.publish import note_published, publish_bytes, published, refuse_link, refuse_links
from corpusfmt.model import UsageError

#: Where a run keeps what it needs to resume; gone when the run has ended well.
STATE = ".corpusfmt"
#: In the state, what the user's own command makes.
DOWNLOADS = "fetched"
# What is written last, by builds and by conversions.
_SEALS = frozenset({"MANIFEST.json", "croissant.json"})


def digest(*parts: object) -> str:
    """Return the SHA-256 of plain data: the fingerprint of what a result depends on."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


class Workplace(Struct, frozen=True):
    """A destination folder and the state of the run that fills it; only a run of the same `identity` may go on with it."""

    destination: Path
    identity: str

    @property
    def state(self) -> Path:
        return self.destination / STATE

    @staticmethod
    def is_unfinished(destination: Path) -> bool:
        """Tell whether a folder holds an unfinished run."""
        return (destination / STATE / "run").exists()

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Take a new or empty folder, or one that the same run left unfinished, for as long as the block takes.

        Raises `UsageError` for any other, and for one in which another run is at work.
        """
        self._refuse_foreign()
        with locked(self.state / "lock") as mine:
            if not mine:
                raise UsageError(
                    f"another run is at work in {self.destination}: wait until it has ended, or choose another folder"
                )
            # It may have ended a moment ago.
            self._refuse_foreign()
            self._mark_own()
            yield
        if os.name == "nt" and not self._mark.exists():  # open files cannot be removed there: the lock is left
            shutil.rmtree(self.state, ignore_errors=True)

    @property
    def _mark(self) -> Path:
        return self.state / "run"

    def _refuse_foreign(self) -> None:
        refuse_link(self.destination)
        if self.destination.exists() and not self.destination.is_dir():
            raise UsageError(f"{self.destination} is a file: name a new or empty folder")
        started = self._mark.exists() or not self.destination.exists()
        names = set() if started else {path.name for path in self.destination.iterdir()} - {STATE}
        if not names.isdisjoint(_SEALS):
            raise UsageError(
                f"{self.destination} is not empty: it holds a finished corpus; remove it or choose another folder"
            )
        if names:
            raise UsageError(f"{self.destination} is not empty: remove it or choose another folder")
        refuse_links(self.destination, spared=f"{STATE}/{DOWNLOADS}")

    def _mark_own(self) -> None:
        if not self._mark.exists():
            publish_bytes(self._mark, self.identity.encode())
        elif self._mark.read_text("utf-8") != self.identity:
            raise UsageError(
                f"{self.destination} holds an unfinished run of other inputs or settings: "
                "finish it with those, remove it, or choose another folder"
            )

    def aside(self, name: str) -> Path:
        """Return an empty folder for the unfinished files of one task."""
        folder = self.state / "aside" / name
        note_published(self.state, published(folder))
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def published(self) -> set[str]:
        """Return what runs in this folder have published below the destination, and may have withdrawn, by POSIX path."""
        asides = [self.state, *(self.state / "aside").glob("*")]
        paths = {path for aside in asides for path in published(aside)}
        base = os.path.normpath(self.destination)
        inside = (path.relative_to(base) for path in paths if path.is_relative_to(base))
        return {path.as_posix() for path in inside if path.parts[:1] not in ((), (STATE,))}

    def withdraw(self, paths: Iterable[str]) -> None:
        """Remove files below the destination, and the folders that are empty without them."""
        for path in sorted(paths):
            target = self.destination / path
            if not target.is_dir():  # a folder was never published
                target.unlink(missing_ok=True)
            with suppress(OSError):
                for folder in target.relative_to(self.destination).parents[:-1]:
                    (self.destination / folder).rmdir()

    def give_up(self) -> None:
        """Leave the folder to other runs where this one, which cannot go on, has put nothing there."""
        if all(path.name == STATE for path in self.destination.iterdir()):
            shutil.rmtree(self.state, ignore_errors=True)

    def release(self) -> None:
        """Remove the state: what stands under final names is whole."""
        shutil.rmtree(self.state)
