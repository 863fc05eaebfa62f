"""For formats: The data model: rules, findings, documents, and the report of a run."""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct, field, structs

from corpusfmt._version import VERSION

Json = dict[str, Any]

REPORT_SCHEMA = "corpusfmt-report/1"


# Options that have other names in Python.
_ARGUMENTS = {"map": "maps", "part-size": "part_bytes", "source": "source_name"}
_OPTION = re.compile(r"(`corpusfmt [^`]*`)|(?<![\w-])(`?)--(?:limit )?([a-z][a-z-]*)")


def _argument(option: re.Match[str]) -> str:
    command, quoted, name = option.groups()
    return command or f"`{_ARGUMENTS.get(name, name).replace('-', '_')}{'' if quoted else '`'}"


#: Whether messages name the options of the command line; otherwise they name the arguments of Python.
names_options: ContextVar[bool] = ContextVar("names_options", default=False)


def worded(message: str) -> str:
    """Return a message that was written for the command line, for those whom it reaches; commands stay as they are."""
    return message if names_options.get() else _OPTION.sub(_argument, message)


class CorpusfmtError(Exception):
    """Base of the errors that a caller can act on. Bad data is a `Finding` instead.

    CorpusfmtError
    ├── UsageError       wrong option, format, rule or path: the message says what to do (exit status 2)
    ├── BadInput         data that stops a conversion or build (exit status 1, or 3 if unreadable)
    └── Incomplete       the run could not finish: I/O failure, dead workers (exit status 3)
    """


class UsageError(CorpusfmtError):
    """Wrong usage; the message says what to do instead."""

    def __str__(self) -> str:
        return worded(super().__str__())


class BadInput(CorpusfmtError):
    """Bad input data; `finding` says what and where."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    def __str__(self) -> str:
        return worded(f"{self.finding.location}: {self.finding.code} {self.finding.message}")


class Incomplete(CorpusfmtError):
    """The run could not finish; files published so far are complete. `details` are further lines of the message."""

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message, *details)
        self.details = details

    def __str__(self) -> str:
        return worded("\n".join((str(self.args[0]), *self.details)))


def refuse_full_disk(error: object) -> None:
    """Raise `Incomplete` if a failure to read is none: only writing temporary files finds a disk full."""
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        raise Incomplete(f"{full_disk(error)}, then run the same command again") from error


def full_disk(error: OSError) -> str:
    """Return what to say of a full disk; temporary files have no names."""
    import tempfile  # noqa: PLC0415 - rarely needed

    # `gettempdir` would choose another folder now, and some workers have not asked.
    folder = tempfile.tempdir or os.environ.get("TMPDIR")
    full = error.filename or ", ".join(filter(None, ["the folder for temporary files", folder]))
    return f"{error.strerror}: {full}: free some space there, or set TMPDIR"


class Severity(StrEnum):
    """Weight of a finding: violates a MUST, violates a SHOULD, or is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Verdict(StrEnum):
    """Result of a run as a whole."""

    VALID = "valid"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"


class Location(Struct, frozen=True):
    """A place in the input.

    `path` is relative to the validated root, POSIX; `line` and `column` count from 1, `byte` from 0 in the uncompressed
    file; `pointer` is an RFC 6901 JSON pointer; `record` is the id of a document, of a record, or of a node in RDF. All but
    `path` are optional.
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
        elif self.record is not None and self.pointer is not None:
            parts[0] += f" <{self.record}>"
        return ":".join(parts)


class Edit(Struct, frozen=True):
    """A change of the file that a finding is in: the bytes from `start` up to `end` become `text`, in UTF-8."""

    start: int
    end: int
    text: str


class Fix(Struct, frozen=True):
    """How a problem is repaired: edits that belong together. One that is not `safe` may change what is said: review it.
    One that `removes` takes values out of the file.
    """

    edits: tuple[Edit, ...]
    safe: bool = True
    removes: bool = False


class Problem(Struct, frozen=True):
    """A defect, as a rule yields it.

    `count` occurrences of the same defect may be reported as one, at the first location. `minor` marks the milder case of
    a rule that has two; the rule's grades decide its severity.
    """

    message: str
    at: Location
    hint: str = ""
    count: int = 1
    minor: bool = False
    fix: Fix | None = None


class Rule(Struct, frozen=True, kw_only=True, eq=False):
    """A kind of defect: its name, severity, and explanation for users.

    `grades` overrides the severity (None: the rule does not apply) for a version ("1.0"), for the milder case ("minor"),
    or both ("1.0/minor"). Grades of profiles are in `schemas/profiles`.
    """

    code: str
    slug: str
    severity: Severity = Severity.ERROR
    explanation: str
    spec: str = ""
    requires: frozenset[str] = frozenset()
    grades: Mapping[str, Severity | None] = field(default_factory=dict)

    def severity_for(self, *, version: str, minor: bool = False) -> Severity | None:
        """Return the severity in a version; the most specific grade wins."""
        for key in (f"{version}/minor", "minor", version) if minor else (version,):
            if key in self.grades:
                return self.grades[key]
        return self.severity


class Check(Rule, frozen=True, kw_only=True, eq=False):
    """A rule with a predicate over a subject. It does not run on a subject on which a rule of `unless` fired."""

    subject: type
    unless: frozenset[str] = frozenset()
    #: The fast path that takes subjects unseen only where this check yields nothing; "" if every subject must be seen.
    accepted_by: str = ""
    check: Callable[[Any], Iterator[Problem]]


class FindingType(Rule, frozen=True, kw_only=True, eq=False):
    """A rule that readers decide and report as a finding of this type."""


class Fault(NamedTuple):
    """A problem found by a reader and not yet reported."""

    type: FindingType
    problem: Problem


class Finding(Struct, frozen=True):
    """A problem with its rule and severity: plain data that survives pickling and JSON unchanged."""

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
    def fix(self) -> Fix | None:
        return self.problem.fix

    @property
    def count(self) -> int:
        return self.problem.count


class Document(Struct):
    """A text with its metadata, independent of the format.

    `extra` contains values of the source format that fit no other field, so that a conversion back loses nothing.
    `attributes` are embedded in the document; `attribute_rows` maps the name of an attribute set to the set's row for
    this document: the JSON text of an object with `id`, `attributes` and possibly more.
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

    # A mapping of its fields that have values, as data frames and datasets accept rows.

    def keys(self) -> list[str]:
        """Return the names of the fields that have a value; `extra` and `attribute_rows` are left out."""
        return [name for name in self.__struct_fields__[:-2] if getattr(self, name) is not None]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)

    def items(self) -> list[tuple[str, Any]]:
        """Return the fields that have a value."""
        return [(name, self[name]) for name in self.keys()]

    def _repr_html_(self) -> str:
        """Return the document for a notebook, with long values clipped."""
        fields = html_table([], [item for item in self.items() if item[0] != "text"])
        return f'{fields}<pre style="white-space: pre-wrap">{_escaped(self.text, 2_000)}</pre>'


Mapping.register(Document)


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table for a notebook, whose first column names the rows; values are escaped, and long ones clipped."""
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = (
        f"<tr><th>{_escaped(first)}</th>{''.join(f'<td>{_escaped(each)}</td>' for each in rest)}</tr>"
        for first, *rest in rows
    )
    return f"<table>{f'<tr>{head}</tr>' if heads else ''}{''.join(body)}</table>"


def _escaped(value: object, most: int = 200) -> str:
    from html import escape  # noqa: PLC0415 - imports a table of all entities, which only notebooks need

    text = f"{value:,}" if type(value) is int else str(value)
    return escape(text if len(text) <= most else f"{text[:most]}… [{len(text):,} characters]")


class Coverage(Struct):
    """What a run checked, what it did not check, and why.

    `not_run` counts the subjects that a rule did not run on because another rule had fired, by (path, rule code, reason).
    `gaps` counts things that could not be checked although no defect is known, by (path, what, reason): a run with a gap
    is `incomplete`. `checked` counts the files that were checked, by format or role.
    """

    shards_seen: int = 0
    shards_total: int = 0
    documents: int = 0
    bytes: int = 0
    sampled: bool = False
    not_run: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    gaps: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)

    def skip(self, path: str, rule: str, reason: str, count: int = 1) -> None:
        """Record that a rule did not run on something in a file, because of a finding there."""
        self.not_run[path, rule, reason] += count

    def gap(self, path: str, what: str, reason: str, count: int = 1) -> None:
        """Record that something (a rule, a file, a record set) could not be checked: the run is incomplete."""
        self.gaps[path, what, reason] += count

    @property
    def reasons(self) -> set[str]:
        """Why something could not be checked."""
        return {reason for _, _, reason in self.gaps}

    @property
    def rules_not_run(self) -> Mapping[str, str]:
        """One reason for each rule that did not run on everything, by code."""
        return MappingProxyType({rule: reason for _, rule, reason in sorted(self.not_run, reverse=True)})

    def add(self, other: Coverage) -> None:
        """Add the coverage of another run or shard."""
        self.shards_seen += other.shards_seen
        self.shards_total += other.shards_total
        self.documents += other.documents
        self.bytes += other.bytes
        self.sampled |= other.sampled
        self.not_run.update(other.not_run)
        self.gaps.update(other.gaps)
        self.checked.update(other.checked)


# Further findings of the same rule would add nothing; counts stay exact.
_MOST_FINDINGS_OF_A_RULE = 10_000
# Memory for all findings, and overhead of each in addition to its texts.
_MOST_BYTES_OF_FINDINGS = 24 * 1024 * 1024
_BYTES_OF_A_FINDING = 600

#: The baseline of a run: known occurrences by (rule code, path).
Known = Mapping[tuple[str, str], int]


class Tally(Struct):
    """Findings, capped per rule and path, and exact counts of all of them.

    `counts` maps (code, severity, path) to the number of occurrences, including known ones until `settle`. `suppressed`
    counts unreported occurrences by (code, path, reason), `regraded` those with another severity than the rule's.
    The first occurrences in a file are assumed to be the known ones, and the later ones are kept as new: which ones are
    new is a guess, their number is exact.
    """

    cap: int = 10
    known: Known = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[str, Severity, str]] = field(default_factory=Counter)
    suppressed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    regraded: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    passed_over: dict[tuple[str, str], Finding] = field(default_factory=dict)
    _seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    _kept: Counter[tuple[str, str]] = field(default_factory=Counter)
    _kept_of_rule: Counter[str] = field(default_factory=Counter)
    _alike: dict[tuple[str, Severity, str, str, str], int] = field(default_factory=dict)
    _bytes: int = 0

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it if the caps allow."""
        key = (finding.code, finding.location.path)
        self.counts[finding.code, finding.severity, finding.location.path] += finding.count
        if key in self.known:
            self._seen[key] += finding.count
            if self._seen[key] <= self.known[key]:
                self._pass_over(key, finding)
                return
        self._keep(key, finding)

    def count(self, finding: Finding) -> None:
        """Count a finding that the caps do not allow to keep, and which the baseline does not cover."""
        self.counts[finding.code, finding.severity, finding.location.path] += finding.count
        self._count_alike(finding)

    def _count_alike(self, finding: Finding) -> None:
        """Let the last one kept with the same message stand for a finding as well."""
        place = self._alike.get(_what_is_alike(finding))
        if place is not None:
            kept = self.findings[place]
            problem = structs.replace(kept.problem, count=kept.count + finding.count)
            self.findings[place] = Finding(kept.code, kept.slug, kept.severity, problem)

    def only_counts(self, code: str, path: str) -> bool:
        """Return whether further findings with a code in a file are counted and not kept."""
        return (code, path) not in self.known and self._kept[code, path] >= self.cap

    def merge(self, other: Tally) -> None:
        """Add the counts and findings of another tally."""
        self.counts.update(other.counts)
        self.suppressed.update(other.suppressed)
        self.regraded.update(other.regraded)
        for finding in other.findings:
            self._keep((finding.code, finding.location.path), finding)
        for key, finding in other.passed_over.items():
            self._pass_over(key, finding)

    def _keep(self, key: tuple[str, str], finding: Finding) -> None:
        of_rule = self._kept_of_rule[finding.code]
        if self._kept[key] < self.cap and of_rule < _MOST_FINDINGS_OF_A_RULE:
            size = _size_of(finding)
            if not of_rule or self._bytes + size <= _MOST_BYTES_OF_FINDINGS:
                self._bytes += size
                self._kept[key] += 1
                self._kept_of_rule[finding.code] += 1
                self._alike[_what_is_alike(finding)] = len(self.findings)
                self.findings.append(finding)
                return
        self._count_alike(finding)

    def _pass_over(self, key: tuple[str, str], finding: Finding) -> None:
        # Keep the last one: new problems tend to be at the end. It is shown only if the counts prove that one is new.
        if key in self.passed_over or len(self.passed_over) < _MOST_FINDINGS_OF_A_RULE:
            self.passed_over[key] = finding

    def drop(self, path: str) -> set[str]:
        """Remove all findings in a file; return the codes of their rules."""
        codes = {code for code, _, of in self.counts if of == path}
        for key in [key for key in self.counts if key[2] == path]:
            del self.counts[key]
        for counter in (self.suppressed, self.regraded):
            for suppressed in [suppressed for suppressed in counter if suppressed[1] == path]:
                del counter[suppressed]
        self.findings = [each for each in self.findings if each.location.path != path]
        self._alike = {_what_is_alike(each): place for place, each in enumerate(self.findings)}
        for code in codes:
            self.passed_over.pop((code, path), None)
            self._seen.pop((code, path), None)
            self._kept_of_rule[code] -= self._kept.pop((code, path), 0)
        return codes

    def settle(self, reason: str) -> list[tuple[str, str]]:
        """Move known occurrences, least severe first, from the counts to `suppressed`; return the unmatched known keys."""
        unmatched: list[tuple[str, str]] = []
        if not self.known:
            return unmatched
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
        self.findings += [finding for key, finding in self.passed_over.items() if key in reported - shown]
        return unmatched

    def __contains__(self, code: str) -> bool:
        return any(counted == code for counted, _, _ in self.counts)


# The place of a node in a description, at the start of a message: `recordSet "ratings" › field "ratings/user_id": `.
_NODE = re.compile(r'\w+(?: "[^"]*"|\[\d+\])?(?: › \w+(?: "[^"]*"|\[\d+\])?)*: ')
_NAME = re.compile(r' "[^"]*"|\[\d+\]')


def alike(finding: Finding) -> tuple[str, str]:
    """Return what findings of one cause have in common: the message, of a description without the names of nodes, and the hint."""
    message = finding.message
    if finding.location.pointer is not None and (node := _NODE.match(message)):
        message = _NAME.sub("", node[0]) + message[node.end() :]
    return message, finding.hint


def _what_is_alike(finding: Finding) -> tuple[str, Severity, str, str, str]:
    return finding.code, finding.severity, finding.location.path, *alike(finding)


# A run in which one of these fired has not checked all of its input.
INCOMPLETE_CODES = frozenset({"GEN000", "GEN001", "GEN002", "GEN003", "WET105"})


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


class Checked(Struct, frozen=True, gc=False):
    """A checked shard: the paths of its files, and its time in seconds."""

    paths: tuple[str, ...]
    seconds: float


# Findings that a report displays in a notebook.
_MOST_DISPLAYED = 20


def pandas_module() -> Any:
    """Return pandas, which is large, and not a dependency. Raises `UsageError` without it."""
    try:
        return import_module("pandas")
    except ImportError:
        raise UsageError("pandas is not installed: run `pip install pandas`") from None


class Report(Struct):
    """Result of a run: capped findings, exact counts, coverage, and a verdict.

    `unmatched` names the ignored rules, overrides and baseline entries that matched nothing.
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
    shards: Sequence[Checked] = ()
    #: The version of corpusfmt that made it.
    tool: str = VERSION

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
        totals: Counter[str] = Counter()
        for (code, _, _), count in self.tally.counts.items():
            totals[code] += count
        return dict(sorted(totals.items()))

    @property
    def by_path(self) -> dict[str, dict[str, int]]:
        """Occurrences by path and rule code, sorted."""
        totals: dict[str, Counter[str]] = {}
        for (code, _, path), count in self.tally.counts.items():
            totals.setdefault(path, Counter())[code] += count
        return {path: dict(sorted(totals[path].items())) for path in sorted(totals)}

    @property
    def suppressed(self) -> list[Json]:
        """Occurrences that are not reported, by rule and reason."""
        return _by_rule_and_reason(self.tally.suppressed)

    @property
    def regraded(self) -> list[Json]:
        """Occurrences whose severity the user's settings changed, by rule and reason."""
        return _by_rule_and_reason(self.tally.regraded)

    @property
    def has_gaps(self) -> bool:
        """Whether reading or checking failed somewhere. A sample has no gap, since the user asked for it."""
        return not INCOMPLETE_CODES.isdisjoint(self.by_rule)

    @property
    def verdict(self) -> Verdict:
        if self.has_gaps or self.coverage.shards_seen < self.coverage.shards_total:
            return Verdict.INCOMPLETE
        if self.counts[Severity.ERROR]:
            return Verdict.INVALID
        return Verdict.INCOMPLETE if self.coverage.gaps else Verdict.VALID

    @property
    def ok(self) -> bool:
        """Whether the verdict is valid: everything was checked, and nothing is an error."""
        return self.verdict is Verdict.VALID

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"<Report {self._summary}>"

    def _repr_html_(self) -> str:
        """Return the verdict, with places and messages of the first findings, errors first, for a notebook."""
        first = sorted(self.findings, key=lambda each: tuple(Severity).index(each.severity))[:_MOST_DISPLAYED]
        rows = [(each.code, each.severity, each.slug, each.location, each.message, each.count) for each in first]
        table = html_table(["rule", "severity", "name", "place", "message", "count"], rows) if rows else ""
        further = sum(self.counts.values()) - sum(each.count for each in first)
        return f"<p>{self._summary}</p>{table}" + (f"<p>and {further:,} more</p>" if further > 0 else "")

    @property
    def _summary(self) -> str:
        kind = f"{self.format} {self.version}".rstrip()
        counts = (f"{n:,} {name}{'' if n == 1 or name == Severity.INFO else 's'}" for name, n in self.counts.items())
        return f"{kind}: {self.verdict.value}; {', '.join(counts)}"

    @property
    def by_severity(self) -> dict[str, dict[Severity, int]]:
        """Occurrences by rule code and severity, sorted."""
        totals: dict[str, Counter[Severity]] = {}
        for (code, severity, _), count in self.tally.counts.items():
            totals.setdefault(code, Counter())[severity] += count
        return {code: {each: totals[code][each] for each in Severity if totals[code][each]} for code in sorted(totals)}

    def to_dict(self) -> Json:
        """Return the report in the form of `schemas/report/report.schema.json`."""
        findings = [finding_record(each) for each in self.findings]
        whole = run_record(self) | summary_record(self) | {"findings": findings}
        del whole["kind"]
        return whole

    def to_pandas(self) -> Any:
        """Return the kept findings as a pandas data frame, one per row. Raises `UsageError` without pandas."""
        places = ("path", "line", "byte", "column", "pointer", "record")
        rows = []
        for each in self.findings:
            at = (getattr(each.location, name) for name in places)
            rows.append((each.code, each.slug, each.severity.value, *at, each.message, each.hint, each.count))
        return pandas_module().DataFrame(
            rows, columns=["rule", "slug", "severity", *places, "message", "hint", "count"]
        )


def run_record(report: Report) -> Json:
    """Return the first object of a JSON Lines report."""
    tool = {"name": "corpusfmt", "version": report.tool}
    return {
        "kind": "run",
        "schema": REPORT_SCHEMA,
        "tool": tool,
        "arguments": report.arguments,
        "started": report.started,
    }


def finding_record(finding: Finding) -> Json:
    """Return a finding as an object; `count` occurrences may be reported as one, at the first location."""
    at = finding.location
    record: Json = {
        "kind": "finding",
        "rule": finding.code,
        "slug": finding.slug,
        "severity": finding.severity.value,
        "message": finding.message,
        "hint": finding.hint,
        "count": finding.count,
        "location": {
            "path": at.path,
            "line": at.line,
            "byte": at.byte,
            "column": at.column,
            "pointer": at.pointer,
            "record": at.record,
        },
    }
    if finding.fix is not None:
        edits = [{"start": each.start, "end": each.end, "text": each.text} for each in finding.fix.edits]
        record["fix"] = {"safe": finding.fix.safe, "edits": edits}
    return record


def summary_record(report: Report) -> Json:
    """Return the last object of a JSON Lines report; a log without it was truncated."""
    record: Json = {
        "kind": "summary",
        "verdict": report.verdict.value,
        "format": report.format,
        "version": report.version,
        "counts": report.counts,
        "by_rule": report.by_rule,
        "by_severity": report.by_severity,
        "by_path": report.by_path,
        "suppressed": report.suppressed,
        "regraded": report.regraded,
        "unmatched": report.unmatched,
        "coverage": coverage_record(report.coverage),
        "finished": report.finished,
    }
    if report.results:
        record["results"] = report.results
    return record


def coverage_record(coverage: Coverage) -> Json:
    """Return what was checked, and what was not, as an object."""
    return {
        "shards_seen": coverage.shards_seen,
        "shards_total": coverage.shards_total,
        "documents": coverage.documents,
        "bytes": coverage.bytes,
        "sampled": coverage.sampled,
        "checked": dict(coverage.checked),
        "not_run": _counted("rule", coverage.not_run),
        "gaps": _counted("what", coverage.gaps),
    }


def _counted(kind: str, counter: Counter[tuple[str, str, str]]) -> list[Json]:
    return [
        {"path": path, kind: what, "reason": reason, "count": count}
        for (path, what, reason), count in sorted(counter.items())
    ]


def _by_rule_and_reason(counted: Mapping[tuple[str, str, str], int]) -> list[Json]:
    totals: Counter[tuple[str, str]] = Counter()
    for (code, _, reason), count in counted.items():
        totals[code, reason] += count
    return [{"rule": code, "reason": reason, "count": count} for (code, reason), count in sorted(totals.items())]
