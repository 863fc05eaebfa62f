"""Internal: The set of rules of OSCAR 1.0 and 1.1, to which every module of this package adds."""

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

#: 1.0 has no metadata, so rules on metadata do not apply.
ONLY_1_1: dict[str, Severity | None] = {"1.0": None}
#: A warning in 1.0, where the published release has it, and an error in profile strict.
TOLERATED_IN_1_0: dict[str, Severity | None] = {"1.0": Severity.WARNING}


class Sightings:
    """The first finding of each type in a file, with exact counts: one finding, however often it occurs."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], Fault] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def note(self, found: FindingType, problem: Problem, kind: str = "") -> None:
        """Count a problem; the earliest one of its type and `kind` is reported."""
        key = (found.code, kind)
        self._counts[key] += problem.count
        first = self._first.get(key)
        if first is None or (problem.at.line or 0) < (first.problem.at.line or 0):
            self._first[key] = Fault(found, problem)

    def again(self, found: FindingType, count: int, kind: str = "") -> bool:
        """Count later problems of a type and `kind`, if one was noted before; return whether it was."""
        key = (found.code, kind)
        if key in self._first:
            self._counts[key] += count
        return key in self._first

    def report(self, judge: Judge) -> None:
        """Report the findings."""
        for key, (found, problem) in self._first.items():
            judge.report(found, replace(problem, count=self._counts[key]))
