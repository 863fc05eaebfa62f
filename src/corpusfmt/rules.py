"""For formats: The rule registry, and the judge that runs checks over subjects and takes what readers report, for
one shard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.model import (
    INCOMPLETE_CODES,
    Check,
    Coverage,
    Fault,
    Finding,
    FindingType,
    Incomplete,
    Known,
    Location,
    Problem,
    Rule,
    Severity,
    Tally,
)
from corpusfmt.wording import MOST_OF_A_VALUE, clipped, clipped_message

_Subject = TypeVar("_Subject")
_Predicate = Callable[[_Subject], Iterator[Problem]]

PROFILES = ("standard", "strict")
# What a rule may be graded for: a version, a profile, both, each in all cases or in minor ones alone.
_GRADE = re.compile(r"(?=.)(?:(?P<version>[0-9.]+)(?:/|$))?(?:(?:standard|strict)(?:/|$))?(?:minor)?(?<!/)")

#: Called every so many findings; raises `Incomplete` where a bound of the run is reached.
between_findings: ContextVar[Callable[[], None]] = ContextVar("between_findings", default=lambda: None)
_FINDINGS_BETWEEN = 256


#: A bug of ours: what a rule or reader that raised is reported as.
INTERNAL_ERROR = FindingType(
    code="GEN000",
    slug="internal-error",
    explanation="""A rule or reader of corpusfmt failed on this input.

    Why: the rest of the input was checked, but what this rule would have said is unknown, so the verdict is never `valid`.
    Example: a rule raises on a value that its author did not think of.
    Fix: report the message with the input that caused it; the data may well be fine.
    """,
)


class RuleSet:
    """The rules of one format, by code, and its checks by the type of subject that they judge.

    `versions` are those of the format: what rules may be graded for.
    """

    def __init__(self, *included: Iterable[Rule], versions: Sequence[str] = ()) -> None:
        self._versions = tuple(versions)
        self._by_code: dict[str, Rule] = {}
        self._by_subject: dict[type, list[Check]] = {}
        for rule in chain.from_iterable(included):
            self._add(rule)

    def rule(
        self,
        code: str,
        slug: str,
        *,
        on: type[_Subject],
        severity: Severity = Severity.ERROR,
        grades: Mapping[str, Severity | None] | None = None,
        spec: str = "",
        requires: Sequence[str] = (),
        unless: Sequence[str] = (),
    ) -> Callable[[_Predicate[_Subject]], _Predicate[_Subject]]:
        """Register a generator over one subject type as a check; its docstring is what `corpusfmt rule` prints.

        `grades` is that of `Rule`: severities for versions, profiles and the minor case.
        `requires` names rules whose firing in the same shard makes this one meaningless there, `unless` earlier rules over
        the same subject whose firing on it leaves this one nothing to say.
        """

        def register(check: _Predicate[_Subject]) -> _Predicate[_Subject]:
            self._add(
                Check(
                    code=code,
                    slug=slug,
                    severity=severity,
                    explanation=check.__doc__ or "",
                    spec=spec,
                    requires=frozenset(requires),
                    grades=dict(grades or {}),
                    subject=on,
                    unless=frozenset(unless),
                    check=check,
                )
            )
            return check

        return register

    def finding(
        self,
        code: str,
        slug: str,
        explanation: str,
        *,
        severity: Severity = Severity.ERROR,
        grades: Mapping[str, Severity | None] | None = None,
        spec: str = "",
        requires: Sequence[str] = (),
    ) -> FindingType:
        """Register a type of finding that readers report; `explanation` is what `corpusfmt rule` prints."""
        found = FindingType(
            code=code,
            slug=slug,
            severity=severity,
            explanation=explanation,
            spec=spec,
            requires=frozenset(requires),
            grades=dict(grades or {}),
        )
        self._add(found)
        return found

    def _add(self, rule: Rule) -> None:
        if rule.code in self._by_code:
            raise ValueError(f"rule {rule.code} is registered twice")
        for grade in rule.grades:
            found = _GRADE.fullmatch(grade)
            if not found or (self._versions and found["version"] not in (None, *self._versions)):
                raise ValueError(
                    f"rule {rule.code} is graded for `{grade}`, expected a version, a profile, or the minor case of one"
                )
        self._by_code[rule.code] = rule
        if isinstance(rule, Check):
            self._by_subject.setdefault(rule.subject, []).append(rule)

    def complete(self) -> None:
        """Raise `ValueError` for a rule that depends on one that is not there, once all are registered."""
        for rule in self._by_code.values():
            if unknown := rule.requires - self._by_code.keys():
                raise ValueError(
                    f"rule {rule.code} requires {min(unknown)}, expected the code of a rule of this format"
                )
        for subject in self._by_subject:
            earlier: set[str] = set()
            for check in self.on(subject):
                if unknown := check.unless - earlier:
                    raise ValueError(
                        f"rule {check.code} is not asked where {min(unknown)} fires, expected an earlier rule over "
                        f"{subject.__name__}"
                    )
                earlier.add(check.code)

    def __iter__(self) -> Iterator[Rule]:
        return iter(sorted(self._by_code.values(), key=lambda rule: rule.code))

    def __contains__(self, rule: Rule) -> bool:
        return self._by_code.get(rule.code) is rule

    def on(self, subject: type) -> list[Check]:
        """Return the checks over a subject type, its own before those over its bases, each in the order of registration."""
        return [check for base in subject.__mro__ for check in self._by_subject.get(base, ())]


def finding_of(fault: Fault, rules: RuleSet, version: str) -> Finding:
    """Return what a reader came across as a finding, whatever the user asked to be reported."""
    judge = Judge(rules, Grading(), version=version, path="")
    judge.report(*fault)
    return judge.tally.findings[0]


class Override(Struct, frozen=True):
    """A user's own judgement of some rules for some paths (globs over the whole path), with the reason for it.

    `severity` None ignores the rules there.
    """

    rules: tuple[str, ...]
    severity: Severity | None
    reason: str
    paths: tuple[str, ...] = ("*",)

    def applies(self, rule: Rule, path: str) -> bool:
        return any(selects(each, rule) for each in self.rules) and any(
            fnmatchcase(path, pattern) for pattern in self.paths
        )


class Grading(Struct, frozen=True):
    """Which rules count and how much: the profile, a selection by code, prefix or slug, overrides by the user, a baseline."""

    profile: str = "standard"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    known: Known = field(default_factory=dict)

    def judged(self, rule: Rule, version: str, path: str, *, minor: bool = False) -> tuple[Severity | None, str]:
        """Return the severity to report, None where the rule does not apply or was not asked for, and why it is not its own."""
        severity = rule.severity_for(version=version, profile=self.profile, minor=minor)
        if severity is None or rule.code in INCOMPLETE_CODES:
            return severity, ""  # not to be ignored: what was not seen must never look valid
        if ignored := next((each for each in self.ignore if selects(each, rule)), None):
            return None, f"ignored ({ignored})"
        if self.select and not any(selects(each, rule) for each in self.select):
            return None, "not selected"
        for override in self.overrides:
            if override.applies(rule, path):
                return override.severity, override.reason
        return severity, ""

    def unmatched(self, rules: RuleSet, tally: Tally) -> list[str]:
        """Name the ignored rules and the overrides that nothing in a tally matched."""
        known = {rule.code: rule for rule in rules}
        matched = [(known[code], path) for code, path, _ in (*tally.suppressed, *tally.regraded) if code in known]
        return [
            *(f"ignored rule {each}" for each in self.ignore if not any(selects(each, rule) for rule, _ in matched)),
            *(
                f"override of {', '.join(each.rules)} in {', '.join(each.paths)} ({each.reason})"
                for each in self.overrides
                if not any(each.applies(rule, path) for rule, path in matched)
            ),
        ]


def selects(selector: str, rule: Rule) -> bool:
    """Tell whether a code, the beginning of one, or a slug names a rule."""
    return rule.code.startswith(selector) or rule.slug == selector


class Judge:
    """Runs the rules of one format over the subjects of one shard (or of the dataset) and keeps the tally.

    A rule that the user ignores still runs: what it guards must not start to report its consequences.
    """

    def __init__(self, rules: RuleSet, grading: Grading, *, version: str, path: str, cap: int = 10) -> None:
        self.tally = Tally(cap, grading.known)
        self.coverage = Coverage()
        self._rules = rules
        self._grading = grading
        self._version = version
        self._path = path
        self._fired: set[str] = set()
        self._recorded = 0
        self._applicable: dict[type, list[Check]] = {}
        self._judged: dict[tuple[str, bool, str], tuple[Severity | None, str]] = {}

    def check(self, subject: Any, times: int = 1) -> bool:
        """Run every check on one subject, which occurs so many times; return whether none of them fired."""
        kind = type(subject)
        rules = self._applicable.get(kind)
        if rules is None:
            rules = self._applicable[kind] = self._rules_that_apply(kind)
        fired: set[str] = set()
        for rule in rules:
            if rule.unless and not rule.unless.isdisjoint(fired):
                continue
            if rule.requires and self._is_blocked(rule, getattr(subject, "at", None)):
                continue
            try:
                for problem in rule.check(subject):
                    fired.add(rule.code)
                    self._record(rule, problem, times)
            except Incomplete:
                raise
            except Exception as error:
                self.crash(f"rule {rule.code}", error, getattr(subject, "at", None))
                fired.add(rule.code)
        return not fired

    def report(self, found: FindingType, problem: Problem, times: int = 1) -> None:
        """Take what a reader came across, which occurs so many times."""
        if found not in self._rules:
            raise ValueError(f"{found.code} is no rule of this format")
        if self._grade(found) is not None and not self._is_blocked(found, problem.at):
            self._record(found, problem, times)

    def _grade(self, rule: Rule) -> Severity | None:
        return rule.severity_for(version=self._version, profile=self._grading.profile)

    def _is_blocked(self, rule: Rule, at: Location | None) -> bool:
        """Tell whether a rule means nothing here, as one that it requires has fired, and note that it did not run."""
        blocking = self._fired & rule.requires
        if blocking:
            self.coverage.skip(at.path if at else self._path, rule.code, f"needs {min(blocking)}")
        return bool(blocking)

    def _rules_that_apply(self, subject: type) -> list[Check]:
        rules = self._rules.on(subject)
        if not rules:
            raise TypeError(f"no rule of this format judges {subject.__name__}")
        return [rule for rule in rules if self._grade(rule) is not None]

    def fired(self, code: str) -> bool:
        """Tell whether a rule has fired here, reported or not."""
        return code in self._fired

    def retract(self, path: str, because: str) -> None:
        """Take back all that was found in a file: what was read there is not what was written."""
        for code in sorted(self.tally.drop(path)):
            self.coverage.skip(path, code, because)

    def crash(self, where: str, error: BaseException, at: Location | None = None) -> None:
        """Report an exception of our own code as GEN000."""
        message = f"{where} failed: {type(error).__name__}: {error}"
        self.report(
            INTERNAL_ERROR, Problem(message, at or Location(self._path), "this is a bug of corpusfmt, please report it")
        )

    def _record(self, rule: Rule, problem: Problem, times: int = 1) -> None:
        if times != 1:
            problem = replace(problem, count=problem.count * times)
        self._fired.add(rule.code)
        self._recorded += 1
        if not self._recorded % _FINDINGS_BETWEEN:
            between_findings.get()()
        key = (rule.code, problem.minor, problem.at.path)
        if key not in self._judged:
            self._judged[key] = self._grading.judged(rule, self._version, problem.at.path, minor=problem.minor)
        severity, reason = self._judged[key]
        if severity is None:
            if reason:
                self.tally.suppressed[rule.code, problem.at.path, reason] += problem.count
            return
        if reason:
            self.tally.regraded[rule.code, problem.at.path, reason] += problem.count
        self.tally.add(Finding(rule.code, rule.slug, severity, _fit(problem)))


def _fit(problem: Problem) -> Problem:
    """Return a problem whose message, hint and record id repeat no endless value; paths and pointers stay whole."""
    record = problem.at.record
    longest = max(len(problem.message), len(problem.hint), len(record or ""))
    if longest <= MOST_OF_A_VALUE:
        return problem
    at = problem.at if record is None else replace(problem.at, record=clipped(record))
    return replace(problem, message=clipped_message(problem.message), hint=clipped_message(problem.hint), at=at)
