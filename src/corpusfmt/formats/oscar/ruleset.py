"""The rules of OSCAR 1.0 and 1.1: one set that every module of this package adds to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

from corpusfmt.formats.general import GENERAL
from corpusfmt.model import Location, Severity
from corpusfmt.rules import RuleSet

VERSIONS = ("1.0", "1.1")
RULES = RuleSet(GENERAL, versions=VERSIONS)

LAYOUT = "OSCAR schema v1.1.0, file hierarchy"
TEXT = "OSCAR schema v1.1.0, .txt files"
METADATA = "OSCAR schema v1.1.0, .jsonl files"
CHECKSUMS = "OSCAR schema v1.1.0, <lang>_sha256.txt files"

#: 1.0 has no metadata, so nothing about metadata is judged there.
ONLY_1_1: dict[str, Severity | None] = {"1.0": None}
#: What the published 1.0 release itself does is a warning there, and an error to the letter.
TOLERATED_IN_1_0: dict[str, Severity | None] = {"1.0": Severity.WARNING, "1.0/strict": Severity.ERROR}


class Seen(Struct, kw_only=True):
    """A kind of defect in one file: its first place, and how often it occurs there. The base of most subjects."""

    at: Location
    count: int = 1


_Seen = TypeVar("_Seen", bound=Seen)


class Sightings:
    """The first of each kind of defect in a file, with exact counts: one finding for each, however often it occurs."""

    def __init__(self) -> None:
        self._first: dict[tuple[type[Seen], str], Seen] = {}

    def note(self, seen: _Seen, kind: str = "") -> None:
        """Count a defect; the earliest line of its type and `kind` is the one that will be told."""
        known = self._first.get((type(seen), kind))
        if known is None:
            self._first[type(seen), kind] = seen
            return
        total = known.count + seen.count
        if (seen.at.line or 0) < (known.at.line or 0):
            known = self._first[type(seen), kind] = seen
        known.count = total

    def __iter__(self) -> Iterator[Seen]:
        return iter(self._first.values())
