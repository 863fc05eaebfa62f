"""The nouns of corpusfmt: what a rule is, what it finds, and what a run reports. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = dict[str, Any]


class CorpusfmtError(Exception):
    """Base of the errors that a caller can act on; bad data is a `Finding`, never one of these.

    CorpusfmtError
    ├── UsageError       wrong option, format, rule or path: the message says what to do (exit status 2)
    ├── BadInput         data that a conversion or build cannot go on from (exit status 1; 3 where it was not read)
    └── Incomplete       the run could not finish: I/O failure, dead workers (exit status 3)
    """


class UsageError(CorpusfmtError):
    """The caller asked for something that cannot be done; the message says what to do instead."""


class BadInput(CorpusfmtError):
    """Input data is wrong; carries the finding that says where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    def __str__(self) -> str:
        return f"{self.finding.location}: {self.finding.code} {self.finding.message}"


class Incomplete(CorpusfmtError):
    """The run could not finish; what was published so far is whole."""


class Severity(StrEnum):
    """How much a finding matters: MUST, SHOULD, worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Verdict(StrEnum):
    """What a report says of its input as a whole."""

    VALID = "valid"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the input.

    `path` is relative to the validated root, POSIX; `line` and `column` count from 1, `byte` from 0 in the uncompressed
    file; `pointer` is an RFC 6901 JSON pointer; `record` is a document or record id. All but `path` are optional.
    """

    path: str
    line: int | None = None
    byte: int | None = None
    column: int | None = None
    pointer: str | None = None
    record: str | None = None

    def __str__(self) -> str:
        parts = [self.path]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule yields.

    `count` occurrences of the same defect may be told as one, at the first of their places. `minor` marks the milder
    case of a rule that has two; how much it weighs is the rule's business.
    """

    message: str
    at: Location
    hint: str = ""
    count: int = 1
    minor: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One check.

    `grades` re-grades it (None: it does not apply there) for a version ("1.0"), a profile ("strict"), both
    ("1.0/strict"), and for the milder of its two cases ("minor", "strict/minor", "1.0/minor", "1.0/strict/minor").
    """

    code: str
    slug: str
    severity: Severity
    subject: type
    check: Callable[[Any], Iterator[Problem]]
    spec: str = ""
    requires: frozenset[str] = frozenset()
    grades: Mapping[str, Severity | None] = field(default_factory=dict)

    @property
    def explanation(self) -> str:
        return self.check.__doc__ or ""

    def severity_for(self, *, version: str, profile: str, minor: bool = False) -> Severity | None:
        """Return the severity under a version and profile; the most specific grade wins."""
        keys = [f"{version}/{profile}", profile, version]
        if minor:
            keys = [*(f"{key}/minor" for key in keys), "minor", *keys]
        for key in keys:
            if key in self.grades:
                return self.grades[key]
        return self.severity


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem stamped with its rule and severity: plain data that crosses processes and JSON unchanged."""

    code: str
    slug: str
    severity: Severity
    problem: Problem

    @property
    def message(self) -> str:
        return self.problem.message

    @property
    def hint(self) -> str:
        return self.problem.hint

    @property
    def location(self) -> Location:
        return self.problem.at

    @property
    def count(self) -> int:
        return self.problem.count


@dataclass(slots=True)
class Document:
    """One text with what is known about it: the currency of conversion.

    `extra` holds what the source format had and no other field can take, so that nothing is lost on the way back.
    `attributes` are those embedded in the document; `attribute_rows` has, by the name of an attribute set, the row of that
    set about this document: the JSON text of an object with `id`, `attributes` and perhaps more.
    """

    id: str
    text: str
    source: str | None = None
    lang: str | None = None
    added: str | None = None
    created: str | None = None
    metadata: Json | None = None
    attributes: Json | None = None
    extra: Json = field(default_factory=dict)
    attribute_rows: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Coverage:
    """What a run looked at, and which rules it did not run and why."""

    shards_seen: int = 0
    shards_total: int = 0
    documents: int = 0
    bytes: int = 0
    sampled: bool = False
    rules_not_run: dict[str, str] = field(default_factory=dict)

    def add(self, other: Coverage) -> None:
        """Take another run or shard into account."""
        self.shards_seen += other.shards_seen
        self.shards_total += other.shards_total
        self.documents += other.documents
        self.bytes += other.bytes
        self.sampled |= other.sampled
        for code, reason in other.rules_not_run.items():
            self.rules_not_run.setdefault(code, reason)


# Beyond this many a further finding of the same rule tells nobody anything new; counts stay exact.
_MOST_FINDINGS_OF_A_RULE = 10_000


@dataclass(slots=True)
class Tally:
    """Findings under a cap for each rule and path, and exact counts of all of them.

    `counts` maps (code, severity, path) to the number of occurrences.
    """

    cap: int = 10
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[str, Severity, str]] = field(default_factory=Counter)
    _kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    _kept_of_rule: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it while the caps allow."""
        self.counts[finding.code, finding.severity, finding.location.path] += finding.count
        self._keep(finding)

    def merge(self, other: Tally) -> None:
        """Add all that another tally counted and kept."""
        self.counts.update(other.counts)
        for finding in other.findings:
            self._keep(finding)

    def _keep(self, finding: Finding) -> None:
        key = (finding.code, finding.location.path)
        if self._kept[key] < self.cap and self._kept_of_rule[finding.code] < _MOST_FINDINGS_OF_A_RULE:
            self._kept[key] += 1
            self._kept_of_rule[finding.code] += 1
            self.findings.append(finding)

    def drop(self, path: str) -> set[str]:
        """Forget all that was found in a file; return the codes of the rules."""
        codes = {code for code, _, of in self.counts if of == path}
        for key in [key for key in self.counts if key[2] == path]:
            del self.counts[key]
        self.findings = [each for each in self.findings if each.location.path != path]
        for code in codes:
            self._kept_of_rule[code] -= self._kept.pop((code, path), 0)
        return codes

    def without(self, known: Mapping[tuple[str, str], int]) -> Tally:
        """Return what is left where up to `known[code, path]` occurrences of a rule in a path are forgiven."""
        totals: Counter[tuple[str, str]] = Counter()
        for (code, _, path), count in self.counts.items():
            totals[code, path] += count
        forgiven = {key for key, count in totals.items() if count <= known.get(key, 0)} - _never_forgiven(totals)
        left = Tally(self.cap)
        left.counts.update({key: count for key, count in self.counts.items() if (key[0], key[2]) not in forgiven})
        left.findings.extend(each for each in self.findings if (each.code, each.location.path) not in forgiven)
        return left

    def __contains__(self, code: str) -> bool:
        return any(counted == code for counted, _, _ in self.counts)


# A run in which one of these fired has not seen all of its input.
INCOMPLETE_CODES = frozenset({"GEN000", "GEN001", "GEN002"})


def _never_forgiven(keys: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    return {key for key in keys if key[0] in INCOMPLETE_CODES}


@dataclass(slots=True)
class Report:
    """The answer of a run: capped findings, exact counts, what was covered, and a verdict."""

    format: str
    version: str
    tally: Tally
    coverage: Coverage
    started: str = ""
    finished: str = ""
    arguments: Json = field(default_factory=dict)
    results: Json = field(default_factory=dict)

    @property
    def findings(self) -> list[Finding]:
        return self.tally.findings

    @property
    def counts(self) -> dict[str, int]:
        """Occurrences by severity: keys error, warning, info."""
        totals = dict.fromkeys((severity.value for severity in Severity), 0)
        for (_, severity, _), count in self.tally.counts.items():
            totals[severity] += count
        return totals

    @property
    def by_rule(self) -> dict[str, int]:
        """Occurrences by rule code, sorted by code."""
        return _summed((code, count) for (code, _, _), count in self.tally.counts.items())

    @property
    def by_path(self) -> dict[str, dict[str, int]]:
        """Occurrences by path and rule code, sorted."""
        totals: dict[str, Counter[str]] = {}
        for (code, _, path), count in self.tally.counts.items():
            totals.setdefault(path, Counter())[code] += count
        return {path: dict(sorted(totals[path].items())) for path in sorted(totals)}

    @property
    def has_gaps(self) -> bool:
        """Whether something could not be read or judged (a sample leaves no gap: it is what was asked for)."""
        return not INCOMPLETE_CODES.isdisjoint(self.by_rule)

    @property
    def verdict(self) -> Verdict:
        if self.has_gaps or self.coverage.shards_seen < self.coverage.shards_total:
            return Verdict.INCOMPLETE
        return Verdict.INVALID if self.counts[Severity.ERROR] else Verdict.VALID


def _summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for key, count in pairs:
        totals[key] += count
    return dict(sorted(totals.items()))
