"""An output folder while it is being made: claimed by one run, resumed by the same run, left clean at its end."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from corpusfmt.io.publish import publish_bytes
from corpusfmt.model import UsageError

#: Where a run keeps what it needs to resume; gone when the run has ended well.
STATE = ".corpusfmt"


def digest(*parts: object) -> str:
    """Return the SHA-256 of plain data: the fingerprint of what a result depends on."""
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Workplace:
    """A destination folder and the state of the run that fills it."""

    destination: Path
    identity: str

    @property
    def state(self) -> Path:
        return self.destination / STATE

    @staticmethod
    def is_unfinished(destination: Path) -> bool:
        """Tell whether a folder holds an unfinished run."""
        return (destination / STATE / "run").exists()

    def claim(self) -> None:
        """Take a new or empty folder, or one that the same run left unfinished. Raises `UsageError` for any other."""
        mark = self.state / "run"
        if self.destination.exists() and not self.destination.is_dir():
            raise UsageError(f"{self.destination} is a file: name a new or empty folder")
        if mark.exists():
            if mark.read_text("utf-8") != self.identity:
                raise UsageError(
                    f"{self.destination} holds an unfinished run of other inputs or settings: "
                    "finish it with those, remove it, or choose another folder"
                )
        elif self.destination.exists() and any(path.name != STATE for path in self.destination.iterdir()):
            raise UsageError(f"{self.destination} is not empty: remove it or choose another folder")
        else:
            publish_bytes(mark, self.identity.encode())

    def aside(self, name: str) -> Path:
        """Return an empty folder for the unfinished files of one task."""
        folder = self.state / "aside" / name
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def give_up(self) -> None:
        """Leave the folder to other runs where this one, which cannot go on, has put nothing there."""
        if all(path.name == STATE for path in self.destination.iterdir()):
            shutil.rmtree(self.state, ignore_errors=True)

    def release(self) -> None:
        """Remove the state: what stands under final names is whole."""
        shutil.rmtree(self.state)
