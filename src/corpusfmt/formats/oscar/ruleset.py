"""Internal: The rules of OSCAR 1.0 and 1.1: one set that every module of this package adds to."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from corpusfmt.formats.general import GENERAL
from corpusfmt.model import Fault, FindingType, Problem, Severity
from corpusfmt.rules import Judge, RuleSet

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


class Sightings:
    """The first of each type of finding in a file, with exact counts: one finding for each, however often it occurs."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], Fault] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, found: FindingType, problem: Problem, kind: str = "") -> None:
        """Count a problem; the earliest line of its type and `kind` is the one that will be reported."""
        key = (found.code, kind)
        self._counts[key] += problem.count
        first = self._first.get(key)
        if first is None or (problem.at.line or 0) < (first.problem.at.line or 0):
            self._first[key] = Fault(found, problem)

    def report(self, judge: Judge) -> None:
        """Report what was noted."""
        for key, (found, problem) in self._first.items():
            judge.report(found, replace(problem, count=self._counts[key]))
