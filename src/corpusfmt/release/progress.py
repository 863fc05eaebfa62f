"""Internal: Which files of a release an interrupted run has hashed, kept in the user's cache until a run has ended."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry, is_remote, users_cache


class _Known(Struct, frozen=True):
    """A file as it was when it was hashed: `version` changes with each change of it."""

    path: str
    version: str
    size: int
    sha256: str


class Hashed:
    """The files hashed before, and a file that records further ones; nothing is recorded without a place for it."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._file: BinaryIO | None = None
        self._known = {each.path: each for each in _read(place)} if place else {}
        #: The number of files that an earlier run had hashed.
        self.taken_over = 0

    def facts(self, entry: Entry) -> FileFacts | None:
        """Return the recorded facts of a file that has not changed since."""
        known = self._known.get(entry.path)
        if known is None or not known.version or (known.version, known.size) != (entry.version, entry.size):
            return None
        self.taken_over += 1
        return FileFacts(known.size, known.sha256)

    def note(self, entry: Entry, facts: FileFacts) -> None:
        """Record a hashed file for the next run; if that fails, the next run hashes it again."""
        if self._place is None or entry.path in self._known:
            return
        with suppress(OSError):
            if self._file is None:
                self._place.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._place.open("ab")
            known = _Known(entry.path, entry.version, facts.size, facts.sha256)
            self._file.write(msgspec.json.encode(known) + b"\n")
            self._file.flush()

    def forget(self) -> None:
        """Remove the record: the run has ended."""
        self.close()
        if self._place is not None:
            with suppress(OSError):
                self._place.unlink()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def known_at(url: str, tree: str) -> Hashed:
    """Return the record of files at a place that were verified against a tree."""
    cache = users_cache()
    if cache is None:
        return Hashed(None)
    named = url if is_remote(url) else os.path.realpath(url)
    key = hashlib.sha256(f"{named}\0{tree}".encode("utf-8", "surrogateescape")).hexdigest()
    return Hashed(cache / "verify" / f"{key}.jsonl")


def _read(place: Path) -> list[_Known]:
    decode = msgspec.json.Decoder(_Known).decode
    known = []
    try:
        with place.open("rb") as file:
            for line in file:
                # The last line may be cut if the run was killed.
                with suppress(msgspec.MsgspecError):
                    known.append(decode(line))
    except OSError:
        return []
    return known
