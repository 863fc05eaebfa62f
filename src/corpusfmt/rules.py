"""For formats: The rule registry, and the judge that runs checks and records findings of one shard."""

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
    UsageError,
    refuse_full_disk,
)
from corpusfmt.wording import MOST_OF_A_VALUE, clipped, clipped_message

_Subject = TypeVar("_Subject")
_Predicate = Callable[[_Subject], Iterator[Problem]]

# A key of `grades`: a version, optionally for minor cases only, or minor cases.
_GRADE = re.compile(r"(?=.)(?:(?P<version>[0-9.]+)(?:/|$))?(?:minor)?(?<!/)")

#: Called every `_FINDINGS_BETWEEN` findings; raises `Incomplete` if a limit of the run is reached.
between_findings: ContextVar[Callable[[], None]] = ContextVar("between_findings", default=lambda: None)
_FINDINGS_BETWEEN = 256

INTERNAL_ERROR = FindingType(
    code="GEN000",
    slug="internal-error",
    explanation="""A rule or reader of corpusfmt failed on this input.

    Why: the rest of the input was checked, but the result of this rule is unknown, so the verdict is never `valid`.
    Example: a rule raises on a value that its author did not expect.
    Fix: report the message with the input that caused it; the data may well be fine.
    """,
)


class RuleSet:
    """The rules of one format by code, and its checks by type of subject.

    `versions` are the format's versions, for which rules may be graded.
    """

    def __init__(self, *included: Iterable[Rule], versions: Sequence[str] = ()) -> None:
        self._versions = tuple(versions)
        self._by_code: dict[str, Rule] = {}
        self._by_subject: dict[type, list[Check]] = {}
        self._accepted: dict[tuple[type, ...], bool] = {}
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
        accepted_by: str = "",
    ) -> Callable[[_Predicate[_Subject]], _Predicate[_Subject]]:
        """Register a generator over one subject type as a check; its docstring is what `corpusfmt rule` prints.

        `grades` is as in `Rule`. If a rule of `requires` has fired in the shard, this one does not run and is reported as
        not run. If a rule of `unless`, which must be an earlier rule over the same subject, has fired on the subject, this
        one has nothing to add there. `accepted_by` names the fast path that decides the same for clean subjects, such as
        `are_clean`; if any check over a subject names none, no subject is taken unseen.
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
                    accepted_by=accepted_by,
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
                    f"rule {rule.code} is graded for `{grade}`, expected a version or its minor case; "
                    "grades of profiles belong in schemas/profiles"
                )
        self._by_code[rule.code] = rule
        if isinstance(rule, Check):
            self._accepted.clear()
            self._by_subject.setdefault(rule.subject, []).append(rule)

    def complete(self) -> None:
        """Raise `ValueError` if a registered rule depends on an unknown one. Call it once all are registered."""
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
                        f"rule {check.code} has `unless` {min(unknown)}, expected the code of an earlier rule over "
                        f"{subject.__name__}"
                    )
                earlier.add(check.code)

    def __iter__(self) -> Iterator[Rule]:
        return iter(sorted(self._by_code.values(), key=lambda rule: rule.code))

    def __contains__(self, rule: Rule) -> bool:
        return self._by_code.get(rule.code) is rule

    def on(self, subject: type) -> list[Check]:
        """Return the checks over a type, then those over its base types, in order of registration."""
        return [check for base in subject.__mro__ for check in self._by_subject.get(base, ())]

    def accepts_unseen(self, *subjects: type) -> bool:
        """Return whether a fast path may take clean subjects of these types: each check over them says which one does."""
        if subjects not in self._accepted:
            self._accepted[subjects] = all(check.accepted_by for subject in subjects for check in self.on(subject))
        return self._accepted[subjects]


def finding_of(fault: Fault, rules: RuleSet, version: str) -> Finding:
    """Return a fault as a finding, regardless of the user's selection of rules."""
    judge = Judge(rules, Grading(), version=version, path="")
    judge.report(*fault)
    return judge.tally.findings[0]


class Override(Struct, frozen=True):
    """A user's severity of some rules for some paths (globs over the whole path), with the reason.

    With `severity` None the rules are ignored there.
    """

    rules: tuple[str, ...]
    severity: Severity | None
    reason: str
    paths: tuple[str, ...] = ("*",)

    def applies(self, rule: Rule, path: str) -> bool:
        return any(selects(each, rule) for each in self.rules) and any(
            fnmatchcase(path, pattern) for pattern in self.paths
        )


class Grade(Struct, frozen=True):
    """A profile's severity of some rules (codes, prefixes or slugs), and the document that requires it.

    With `severity` None the rules are ignored; `minor` grades only the milder case.
    """

    rules: tuple[str, ...]
    severity: Severity | None
    source: str
    minor: bool = False


class Requirement(Struct, frozen=True):
    """A property that a profile requires of each node of a class, the document that requires it, and an example."""

    property: str
    source: str
    example: Any
    of: str = "Dataset"
    severity: Severity = Severity.ERROR


class Profile(Struct, frozen=True):
    """Requirements beyond the rules' severities; `schemas/profiles` has the bundled profiles. `text` is the file's content."""

    name: str
    summary: str = ""
    grades: tuple[Grade, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    #: Whether folders must load with `datasets`.
    loading: bool = False
    text: str = ""

    def grade_of(self, rule: Rule, *, minor: bool = False) -> Grade | None:
        """Return the last grade that names a rule; in the milder case, a grade for it wins."""
        found = [each for each in self.grades if any(selects(name, rule) for name in each.rules)]
        return next(
            (each for wanted in (True, False)[not minor :] for each in reversed(found) if each.minor is wanted), None
        )


#: What was not checked if none of a profile's rules is for what was found.
NOT_JUDGED = "the rules of a profile"
STANDARD = Profile("standard")
_BY_WEIGHT = (None, Severity.INFO, Severity.WARNING, Severity.ERROR)


class Grading(Struct, frozen=True):
    """Which rules are reported, and how severely: profiles, and the user's selection, overrides and baseline.

    If several profiles grade a rule, the most severe grade wins.
    """

    profiles: tuple[Profile, ...] = (STANDARD,)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    known: Known = field(default_factory=dict)

    def judged(self, rule: Rule, version: str, path: str, *, minor: bool = False) -> tuple[Severity | None, str]:
        """Return the severity to report (None: do not report) and, if settings or a profile changed it, the reason."""
        severity = rule.severity_for(version=version, minor=minor)
        if severity is None or rule.code in INCOMPLETE_CODES:
            return severity, ""  # cannot be ignored: unchecked input must never look valid
        if ignored := next((each for each in self.ignore if selects(each, rule)), None):
            return None, f"ignored ({ignored})"
        if self.select and not any(selects(each, rule) for each in self.select):
            return None, "not selected"
        for override in self.overrides:
            if override.applies(rule, path):
                return override.severity, override.reason
        return self._in_profiles(rule, minor=minor) or (severity, "")

    def _in_profiles(self, rule: Rule, *, minor: bool) -> tuple[Severity | None, str] | None:
        graded = [(each.grade_of(rule, minor=minor), each.name) for each in self.profiles]
        found = [(grade.severity, f"profile {name}: {grade.source}") for grade, name in graded if grade is not None]
        if not found:
            return None
        severity, reason = max(found, key=lambda each: _BY_WEIGHT.index(each[0]))
        return severity, "" if severity else reason

    @property
    def loading(self) -> bool:
        """Whether a profile asks that folders load with `datasets`."""
        return any(each.loading for each in self.profiles)

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """The required properties, each with the most severe of its requirements."""
        found: dict[tuple[str, str], Requirement] = {}
        for each in (requirement for profile in self.profiles for requirement in profile.requirements):
            other = found.setdefault((each.of, each.property), each)
            if _BY_WEIGHT.index(each.severity) > _BY_WEIGHT.index(other.severity):
                found[each.of, each.property] = each
        return tuple(found.values())

    def unmatched(self, rules: Iterable[Rule], tally: Tally) -> list[str]:
        """Return the ignored rules and overrides that matched nothing in a tally."""
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
    """Return whether a code, prefix of a code, or slug names a rule."""
    return rule.code.startswith(selector) or rule.slug == selector


class Judge:
    """Runs the rules of one format over the subjects of one shard (or of the dataset) and keeps the tally.

    Ignored rules still run: otherwise rules that require them would report the consequences.
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
        """Run every check on a subject that occurs `times` times; return whether none of them fired."""
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
            except (Incomplete, UsageError):
                raise
            except Exception as error:
                self.crash(f"rule {rule.code}", error, getattr(subject, "at", None))
                fired.add(rule.code)
        return not fired

    def report(self, found: FindingType, problem: Problem, times: int = 1) -> None:
        """Record a reader's finding, which occurs `times` times."""
        if found not in self._rules:
            raise ValueError(f"{found.code} is not a rule of this format")
        if self._grade(found) is not None and not self._is_blocked(found, problem.at):
            self._record(found, problem, times)

    def only_counts(self, found: FindingType, path: str) -> bool:
        """Return whether further findings of a type in a file are only counted, so that one report can be for all of them."""
        return self.tally.only_counts(found.code, path)

    def _grade(self, rule: Rule) -> Severity | None:
        return rule.severity_for(version=self._version)

    def _is_blocked(self, rule: Rule, at: Location | None) -> bool:
        """Return whether a required rule has fired, and then record that this one did not run."""
        blocking = self._fired & rule.requires
        if blocking:
            self.coverage.skip(at.path if at else self._path, rule.code, f"needs {min(blocking)}")
        return bool(blocking)

    def _rules_that_apply(self, subject: type) -> list[Check]:
        rules = self._rules.on(subject)
        if not rules:
            raise TypeError(f"no rule of this format checks {subject.__name__}")
        return [rule for rule in rules if self._grade(rule) is not None]

    def fired(self, code: str) -> bool:
        """Return whether a rule has fired here, reported or not."""
        return code in self._fired

    def retract(self, path: str, because: str) -> None:
        """Remove all findings in a file, because its bytes as read are not its bytes as written."""
        for code in sorted(self.tally.drop(path)):
            self.coverage.skip(path, code, because)

    def crash(self, where: str, error: BaseException, at: Location | None = None) -> None:
        """Report an exception in corpusfmt's code as GEN000. Raises `Incomplete` for a full disk."""
        refuse_full_disk(error)
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
        if self.tally.only_counts(rule.code, problem.at.path):
            self.tally.count(Finding(rule.code, rule.slug, severity, _fit(problem)))
            return
        self.tally.add(Finding(rule.code, rule.slug, severity, _fit(problem)))


def _fit(problem: Problem) -> Problem:
    """Return a problem with long values in message, hint and record id clipped; paths and pointers stay whole."""
    record = problem.at.record
    longest = max(len(problem.message), len(problem.hint), len(record or ""))
    if longest <= MOST_OF_A_VALUE:
        return problem
    at = problem.at if record is None else replace(problem.at, record=clipped(record))
    return replace(problem, message=clipped_message(problem.message), hint=clipped_message(problem.hint), at=at)
