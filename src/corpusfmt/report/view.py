"""Internal: What any output of a report shows: the worst findings up to a limit, and notes on what was not checked."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from corpusfmt.io.paths import is_url
from corpusfmt.model import Finding, Location, Report, Rule, Severity, alike
from corpusfmt.wording import clipped, plain

SEVERITIES = tuple(Severity)
_MOST_PATHS = 3


class Entry(Struct, frozen=True):
    """Findings of one cause: the first of them, and how often it occurs, by file."""

    first: Finding
    by_path: Counter[str]

    @property
    def code(self) -> str:
        return self.first.code

    @property
    def count(self) -> int:
        return self.by_path.total()

    @property
    def times(self) -> str:
        """What to add to the message."""
        files = [f"in {len(self.by_path):,} files"] if len(self.by_path) > 1 else []
        times = [f"{self.count:,} times"] if self.count > max(len(self.by_path), 1) else []
        return f" ({' '.join([*times, *files])}, first here)" if times or files else ""


def folded(findings: Iterable[Finding], *, by_file: bool = False) -> list[Entry]:
    """Return findings with one entry for those with the same rule, message and hint, in one file or in all.

    Findings about a file as a whole, such as one that is missing, stay as they are: the path is what they say.
    """
    entries: dict[tuple[str, ...], Entry] = {}
    for each in findings:
        path = each.location.path
        key = (each.code, each.severity, *alike(each), path if by_file or each.location.line is None else "")
        entries.setdefault(key, Entry(each, Counter())).by_path[path] += each.count
    return [*entries.values()]


class View(Struct, frozen=True):
    """What text and annotations show: at most `max_findings` findings or entries, and severity info only if `info`.

    A `terse` text has no counts and notes, and no verdict that is valid. `excerpt` yields the lines to show of the input.
    """

    max_findings: int = 100
    info: bool = False
    terse: bool = False
    excerpt: Callable[[Location], Iterable[str]] = lambda _: ()

    @property
    def severities(self) -> Sequence[Severity]:
        """The severities to show."""
        return [severity for severity in Severity if self.info or severity is not Severity.INFO]

    def of(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the entries to show, errors first, then by file and line."""
        by_first = {id(each.first): each for each in entries}
        return [by_first[id(each)] for each in worst_first([each.first for each in entries], self.max_findings)]

    def wanted(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings of the severities to show."""
        return [each for each in findings if each.severity in self.severities]


DEFAULT_VIEW = View()


def worst_first(findings: Sequence[Finding], limit: int) -> list[Finding]:
    """Return at most `limit` findings, errors first, then by file and line.

    Within a severity, one finding of every rule is chosen first, then one of every rule and file, then the rest: a
    frequent rule does not crowd out the others.
    """
    of_rule: Counter[tuple[Severity, str]] = Counter()
    of_file: Counter[tuple[Severity, str, str]] = Counter()
    ranked = []
    for number, finding in enumerate(findings):
        severity, code, path = finding.severity, finding.code, finding.location.path
        rank = (SEVERITIES.index(severity), of_rule[severity, code] > 0, of_file[severity, code, path], number)
        of_rule[severity, code] += 1
        of_file[severity, code, path] += 1
        ranked.append((rank, number))
    chosen = sorted(number for _, number in sorted(ranked)[:limit])
    return sorted((findings[number] for number in chosen), key=_severity_and_place)


def _severity_and_place(finding: Finding) -> tuple[int, str, int, int]:
    at = finding.location
    return SEVERITIES.index(finding.severity), at.path, at.line or 0, at.column or 0


def left_out(report: Report, shown: Iterable[Finding | Entry]) -> dict[str, int]:
    """Return the number of occurrences that are not shown, by rule code."""
    left = Counter(report.by_rule)
    for each in shown:
        left[each.code] -= each.count
    return {code: count for code, count in sorted(left.items()) if count > 0}


def counted(left: Mapping[str, int]) -> str:
    """Return occurrences by rule as text for a message."""
    return ", ".join(f"{count:,} of {code}" for code, count in left.items())


def slugs(report: Report) -> dict[str, str]:
    """Return the slug of each rule with a kept finding."""
    return {finding.code: finding.slug for finding in report.findings}


def worst_rules_first(counts: Mapping[str, Mapping[Severity, int]]) -> list[str]:
    """Return the codes of rules by their worst severity, within it the most frequent first."""

    def rank(code: str) -> tuple[int, int, str]:
        return min(map(SEVERITIES.index, counts[code])), -sum(counts[code].values()), code

    return sorted(counts, key=rank)


class Note(Struct, frozen=True):
    """A remark that qualifies the verdict: something was not checked, not run, suppressed, regraded or unmatched."""

    kind: str
    path: str
    text: str
    count: int = 0

    def line(self, named: Callable[[str], str] = plain) -> str:
        """Return the note as one line; `named` escapes names for the medium."""
        where = f"{named(self.path)}: " if self.path else ""
        times = f", {self.count:,} times" if self.count > 1 else ""
        return f"{self.kind}: {where}{named(self.text)}{times}"


def notes(report: Report) -> list[Note]:
    """Return the notes of a report, one per file and reason where they have files."""
    coverage = report.coverage
    gaps = {(path, reason) for path, _, reason in coverage.gaps}
    return [
        *_files("not checked", coverage.gaps),
        *_files("not run", {key: n for key, n in coverage.not_run.items() if (key[0], key[2]) not in gaps}),
        *(Note("suppressed", "", f"{each['rule']}: {each['reason']}", each["count"]) for each in report.suppressed),
        *(Note("regraded", "", f"{each['rule']}: {each['reason']}", each["count"]) for each in report.regraded),
        *(Note("matched nothing", "", each) for each in report.unmatched),
    ]


def _files(kind: str, counted: Mapping[tuple[str, str, str], int]) -> Iterator[Note]:
    together: dict[tuple[str, str], Counter[str]] = {}
    for (path, what, reason), count in sorted(counted.items()):
        together.setdefault((path, reason), Counter())[what] += count
    for (path, reason), each in together.items():
        yield Note(kind, path, f"{', '.join(each)} ({reason})", each.total())


def subject(report: Report) -> dict[str, str]:
    """Return what a report is about, when it was made and by what, as far as it is known, by title."""
    arguments = report.arguments
    paths = arguments.get("paths")
    paths = paths if isinstance(paths, list) else []
    more = f" and {len(paths) - 1:,} more" if len(paths) > _MOST_PATHS else ""
    known = {
        "path": ", ".join(clipped(str(each)) for each in (paths[:1] if more else paths)) + more,
        "format": f"{report.format} {report.version}".strip(),
        **{name: str(arguments.get(name, "")) for name in ("profile", "settings")},
        "finished": report.finished,
        "tool": f"corpusfmt {report.tool}",
    }
    return {name: text for name, text in known.items() if text}


def annotated_path(report: Report, path: str) -> str:
    """Return a path relative to the user's repository, if the run knew where the input was."""
    base = str(report.arguments.get("base", ""))
    if not base or path.startswith("/") or is_url(path):
        return path
    return f"{base}/{path}" if is_url(base) else posixpath.normpath(f"{base}/{path}")


#: The newest version of the documentation: a code keeps its meaning, and its page, in all versions.
_SITE = "https://corpusfmt.github.io/latest"


def rules_of(codes: Collection[str]) -> dict[str, Rule]:
    """Return the rules of some codes; a report of another version may have codes that are unknown here."""
    if not codes:
        return {}
    from corpusfmt.formats import formats  # noqa: PLC0415 - imports every format, which only some outputs need
    from corpusfmt.hub.rules import RULES as HUB_RULES  # noqa: PLC0415
    from corpusfmt.manifest.rules import RULES as MANIFEST_RULES  # noqa: PLC0415

    sets = (MANIFEST_RULES, HUB_RULES, *(fmt.rules for fmt in formats().values()))
    return {rule.code: rule for rules in sets for rule in rules if rule.code in codes}


def address_of(rule: Rule) -> str:
    """Return the address of a rule's page."""
    return f"{_SITE}/rules/{rule.code}/"
