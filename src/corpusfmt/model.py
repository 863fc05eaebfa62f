"""For formats: The nouns of corpusfmt: what a rule is, what it finds, and what a run reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct, field

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
    """The run could not finish; what was published so far is whole. `details` are further lines of the message."""

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message, *details)
        self.details = details

    def __str__(self) -> str:
        return "\n".join((str(self.args[0]), *self.details))


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


class Location(Struct, frozen=True):
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


class Problem(Struct, frozen=True):
    """What a rule yields.

    `count` occurrences of the same defect may be told as one, at the first of their places. `minor` marks the milder
    case of a rule that has two; how much it weighs is the rule's business.
    """

    message: str
    at: Location
    hint: str = ""
    count: int = 1
    minor: bool = False


class Rule(Struct, frozen=True, kw_only=True, eq=False):
    """What can be wrong: a name, how severe it is, and an explanation for users.

    `grades` re-grades it (None: it does not apply there) for a version ("1.0"), a profile ("strict"), both
    ("1.0/strict"), and for the milder of its two cases ("minor", "strict/minor", "1.0/minor", "1.0/strict/minor").
    """

    code: str
    slug: str
    severity: Severity = Severity.ERROR
    explanation: str
    spec: str = ""
    requires: frozenset[str] = frozenset()
    grades: Mapping[str, Severity | None] = field(default_factory=dict)

    def severity_for(self, *, version: str, profile: str, minor: bool = False) -> Severity | None:
        """Return the severity under a version and profile; the most specific grade wins."""
        keys = [f"{version}/{profile}", profile, version]
        if minor:
            keys = [*(f"{key}/minor" for key in keys), "minor", *keys]
        for key in keys:
            if key in self.grades:
                return self.grades[key]
        return self.severity


class Check(Rule, frozen=True, kw_only=True, eq=False):
    """A rule that decides by itself: a predicate over a subject. Where a rule of `unless` fires on one, it is not asked."""

    subject: type
    unless: frozenset[str] = frozenset()
    check: Callable[[Any], Iterator[Problem]]


class FindingType(Rule, frozen=True, kw_only=True, eq=False):
    """A rule that readers decide: they report what they came across as a finding of this type."""


class Fault(NamedTuple):
    """What a reader came across, until it is reported."""

    type: FindingType
    problem: Problem


class Finding(Struct, frozen=True):
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


class Document(Struct):
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


class Coverage(Struct):
    """What a run looked at, and what it did not look at and why.

    `not_run` counts the subjects that a rule was not run on, by (path, rule code, reason): another rule had fired there, so
    the data is not clean anyway. `gaps` counts what could not be checked although nothing is known to be wrong with it, by
    (path, what, reason): a run with a gap is `incomplete`.
    """

    shards_seen: int = 0
    shards_total: int = 0
    documents: int = 0
    bytes: int = 0
    sampled: bool = False
    not_run: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    gaps: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def skip(self, path: str, rule: str, reason: str, count: int = 1) -> None:
        """Note that a rule was not run on something in a file, because of something that was reported."""
        self.not_run[path, rule, reason] += count

    def gap(self, path: str, what: str, reason: str, count: int = 1) -> None:
        """Note that something (a rule, a file, a record set) could not be checked: the run is incomplete."""
        self.gaps[path, what, reason] += count

    @property
    def rules_not_run(self) -> Mapping[str, str]:
        """One reason for each rule that was not run on everything, by code."""
        return MappingProxyType({rule: reason for _, rule, reason in sorted(self.not_run, reverse=True)})

    def add(self, other: Coverage) -> None:
        """Take another run or shard into account."""
        self.shards_seen += other.shards_seen
        self.shards_total += other.shards_total
        self.documents += other.documents
        self.bytes += other.bytes
        self.sampled |= other.sampled
        self.not_run.update(other.not_run)
        self.gaps.update(other.gaps)


# Beyond this many a further finding of the same rule tells nobody anything new; counts stay exact.
_MOST_FINDINGS_OF_A_RULE = 10_000
# What all findings that are kept may take in memory, and what each takes beside its texts.
_MOST_BYTES_OF_FINDINGS = 24 * 1024 * 1024
_BYTES_OF_A_FINDING = 600

#: Occurrences of problems that were there before, by (rule code, path): the baseline of a run.
Known = Mapping[tuple[str, str], int]


class Tally(Struct):
    """Findings under a cap for each rule and path, and exact counts of all of them.

    `counts` maps (code, severity, path) to the number of occurrences, the known ones included until `settle`; `suppressed`
    counts by (code, path, reason) what is not reported, `regraded` what counts more or less than the rule says.
    The first occurrences in a file are taken for those that `known` counts, so that what is kept are the new ones; which
    ones are new is a guess, how many is not.
    """

    cap: int = 10
    known: Known = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[str, Severity, str]] = field(default_factory=Counter)
    suppressed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    regraded: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _passed_over: dict[tuple[str, str], Finding] = field(default_factory=dict)
    _seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    _kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    _kept_of_rule: Counter[str] = field(default_factory=Counter)
    _bytes: int = 0

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it while the caps allow and there may be none like it in the baseline."""
        key = (finding.code, finding.location.path)
        self.counts[finding.code, finding.severity, finding.location.path] += finding.count
        if key in self.known:
            self._seen[key] += finding.count
            if self._seen[key] <= self.known[key]:
                self._pass_over(key, finding)
                return
        self._keep(key, finding)

    def merge(self, other: Tally) -> None:
        """Add all that another tally counted and kept."""
        self.counts.update(other.counts)
        self.suppressed.update(other.suppressed)
        self.regraded.update(other.regraded)
        for finding in other.findings:
            self._keep((finding.code, finding.location.path), finding)
        for key, finding in other._passed_over.items():
            self._pass_over(key, finding)

    def _keep(self, key: tuple[str, str], finding: Finding) -> None:
        of_rule = self._kept_of_rule[finding.code]
        if self._kept[key] < self.cap and of_rule < _MOST_FINDINGS_OF_A_RULE:
            size = _size_of(finding)
            if of_rule and self._bytes + size > _MOST_BYTES_OF_FINDINGS:
                return
            self._bytes += size
            self._kept[key] += 1
            self._kept_of_rule[finding.code] += 1
            self.findings.append(finding)

    def _pass_over(self, key: tuple[str, str], finding: Finding) -> None:
        # The last one, as what is new tends to be at the end; shown only where the counts say that there is a new one.
        if key in self._passed_over or len(self._passed_over) < _MOST_FINDINGS_OF_A_RULE:
            self._passed_over[key] = finding

    def drop(self, path: str) -> set[str]:
        """Forget all that was found in a file; return the codes of the rules."""
        codes = {code for code, _, of in self.counts if of == path}
        for key in [key for key in self.counts if key[2] == path]:
            del self.counts[key]
        for counter in (self.suppressed, self.regraded):
            for suppressed in [suppressed for suppressed in counter if suppressed[1] == path]:
                del counter[suppressed]
        self.findings = [each for each in self.findings if each.location.path != path]
        for code in codes:
            self._passed_over.pop((code, path), None)
            self._seen.pop((code, path), None)
            self._kept_of_rule[code] -= self._kept.pop((code, path), 0)
        return codes

    def settle(self, reason: str) -> list[tuple[str, str]]:
        """Take the known occurrences out of the counts, the least severe first; return the known keys that nothing matched.

        They are counted as suppressed for this reason.
        """
        unmatched = []
        for (code, path), budget in self.known.items():
            left = 0 if code in INCOMPLETE_CODES else budget
            for severity in (Severity.INFO, Severity.WARNING, Severity.ERROR):
                if taken := min(left, self.counts[code, severity, path]):
                    self.suppressed[code, path, reason] += taken
                    self.counts[code, severity, path] -= taken
                    left -= taken
            if left == budget:
                unmatched.append((code, path))
        self.counts = +self.counts
        reported = {(code, path) for code, _, path in self.counts}
        self.findings = [each for each in self.findings if (each.code, each.location.path) in reported]
        shown = {(each.code, each.location.path) for each in self.findings}
        self.findings += [finding for key, finding in self._passed_over.items() if key in reported - shown]
        return unmatched

    def __contains__(self, code: str) -> bool:
        return any(counted == code for counted, _, _ in self.counts)


# A run in which one of these fired has not seen all of its input.
INCOMPLETE_CODES = frozenset({"GEN000", "GEN001", "GEN002", "GEN003"})


def _size_of(finding: Finding) -> int:
    at = finding.location
    return (
        _BYTES_OF_A_FINDING
        + len(finding.message)
        + len(finding.hint)
        + len(at.path)
        + len(at.pointer or "")
        + len(at.record or "")
    )


class Checked(Struct, frozen=True):
    """A shard that was checked: the paths of its files, and how long it took."""

    paths: tuple[str, ...]
    seconds: float


class Report(Struct):
    """The answer of a run: capped findings, exact counts, what was covered, and a verdict.

    `unmatched` names what the user asked to leave out and nothing matched: ignored rules, overrides, baseline entries.
    """

    format: str
    version: str
    tally: Tally
    coverage: Coverage
    started: str = ""
    finished: str = ""
    arguments: Json = field(default_factory=dict)
    results: Json = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    shards: list[Checked] = field(default_factory=list)

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
    def suppressed(self) -> list[Json]:
        """What was found and is not reported, by rule and reason."""
        return _by_rule_and_reason(self.tally.suppressed)

    @property
    def regraded(self) -> list[Json]:
        """What the user's settings made more or less severe, by rule and reason."""
        return _by_rule_and_reason(self.tally.regraded)

    @property
    def has_gaps(self) -> bool:
        """Whether reading or judging failed somewhere (a sample leaves no gap: it is what was asked for)."""
        return not INCOMPLETE_CODES.isdisjoint(self.by_rule)

    @property
    def verdict(self) -> Verdict:
        if self.has_gaps or self.coverage.shards_seen < self.coverage.shards_total:
            return Verdict.INCOMPLETE
        if self.counts[Severity.ERROR]:
            return Verdict.INVALID
        return Verdict.INCOMPLETE if self.coverage.gaps else Verdict.VALID


def _by_rule_and_reason(counted: Mapping[tuple[str, str, str], int]) -> list[Json]:
    totals: Counter[tuple[str, str]] = Counter()
    for (code, _, reason), count in counted.items():
        totals[code, reason] += count
    return [{"rule": code, "reason": reason, "count": count} for (code, reason), count in sorted(totals.items())]


def _summed(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for key, count in pairs:
        totals[key] += count
    return dict(sorted(totals.items()))
