"""Internal: Reports as text: for terminals and logs, and in Markdown for the summary of a CI job. Paths are never clipped."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby

from corpusfmt.model import Coverage, Finding, Location, Report, Severity, Verdict
from corpusfmt.report.view import (
    DEFAULT_VIEW,
    Entry,
    View,
    address_of,
    folded,
    left_out,
    notes,
    rules_of,
    slugs,
    subject,
    worst_rules_first,
)
from corpusfmt.wording import backticked, leading, plain, plural
from corpusfmt.wording import markdown as marked

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_KILO = 1000
_REASON = re.compile(r"(?P<what>ignored) \((?P<selector>.+)\)")


def full(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield the worst findings with hints, omissions, counts, notes, coverage and the verdict."""
    entries = folded(view.wanted(report.findings))
    shown = view.of(entries)
    for entry in shown:
        yield entry_line(entry)
        yield from view.excerpt(entry.first.location)
        if entry.first.hint:
            yield f"  help: {plain(entry.first.hint)}"
        yield ""
    yield from _not_shown(report, shown)
    is_cut = sum(entry.count for entry in shown) < sum(report.counts[severity] for severity in view.severities)
    yield from _footer(report, view, with_rules=is_cut)


def concise(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield one line per cause, worst first, then omissions, notes and the verdict."""
    entries = folded(view.wanted(report.findings))
    shown = view.of(entries)
    yield from map(entry_line, shown)
    yield from _not_shown(report, shown)
    if not view.terse:
        yield from _notes(report, view)
    yield from _verdict(report, view)


def grouped(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield one line per rule and path with count and first location, most frequent rules first."""
    totals, named = report.by_rule, slugs(report)
    first = {(finding.code, finding.location.path): finding for finding in reversed(report.findings)}
    left = view.max_findings
    for code in sorted(totals, key=lambda code: (-totals[code], code)):
        yield f"{leading(code)} {plain(named.get(code, ''))}".rstrip() + f": {totals[code]:,}"
        paths = sorted({path for known, _, path in report.tally.counts if known == code})
        for number, path in enumerate(paths):
            if left <= 0 and number:
                yield f"  {len(paths) - number:>9,}  more files"
                break
            left -= 1
            what = first.get((code, path))
            yield f"  {_count(report, code, path):>9,}  {plain(f'{what.location}  {what.message}' if what else path)}"
    if totals and not view.terse:
        yield ""
    yield from _footer(report, view, with_rules=True)


def entry_line(entry: Entry) -> str:
    """Return findings of one cause as one line, without their hint."""
    first = entry.first
    mark = " [*]" if is_fixable(first) else ""
    return stated(first.location, f"{first.code} {first.severity} {first.slug}{mark}: {first.message}{entry.times}")


def stated(at: Location, what: str) -> str:
    """Return a statement about a location as one line."""
    return f"{place(at)}: {plain(what)}"


def place(at: Location) -> str:
    """Return a location for the start of a line."""
    return leading(at.path) + plain(str(at)[len(at.path) :])


def verdict_line(report: Report, named: Callable[[str], str] = plain, quoted: Callable[[str], str] = backticked) -> str:
    """Return the last line of a report; `named` escapes names and `quoted` commands for the medium."""
    errors, warnings = report.counts[Severity.ERROR], report.counts[Severity.WARNING]
    counts = f"{plural(errors, 'error')}, {plural(warnings, 'warning')}"
    fixable = _fixable(report, quoted)
    unreported = [f"{gaps:,} not checked"] if (gaps := report.coverage.gaps.total()) else []
    unreported += (f"{n:,} {named(why)}" for why, n in _reasons(report).items())
    if unreported:
        counts += f"; {', '.join(unreported)}"
    if report.verdict is Verdict.VALID:
        return f"VALID: {counts}{fixable and f'.{fixable}'}"
    codes = [code for (code, severity, _) in report.tally.counts if severity is Severity.ERROR]
    explain = fixable + (f" Explain one with {quoted(f'corpusfmt rule {min(codes)}')}." if codes else "")
    if report.verdict is Verdict.INVALID:
        return f"INVALID: {counts}.{explain}"
    seen = f"{report.coverage.shards_seen:,} of {report.coverage.shards_total:,} shards seen"
    if report.coverage.sampled and not errors:
        return f"NO ERRORS IN A SAMPLE: {seen}, {counts}.{fixable}"
    return f"INCOMPLETE: {seen}, {counts}.{explain}"


def is_fixable(finding: Finding) -> bool:
    """Return whether `corpusfmt fix` repairs a finding without being told that a review follows."""
    return finding.fix is not None and finding.fix.safe


def _fixable(report: Report, quoted: Callable[[str], str]) -> str:
    count = sum(finding.count for finding in report.findings if is_fixable(finding))
    paths = report.arguments.get("paths")
    path = shlex.quote(str(paths[0])) if isinstance(paths, list) and len(paths) == 1 else "PATH"
    return f" {count:,} fixable: {quoted(f'corpusfmt fix {path}')}." if count else ""


def _reasons(report: Report) -> dict[str, int]:
    """Return the number of suppressed occurrences by reason; ignored ones are summed, with their selectors listed."""
    selectors: dict[str, None] = {}
    ignored = 0
    others = Counter[str]()
    for each in report.suppressed:
        reason = each["reason"]
        if match := _REASON.fullmatch(reason):
            selectors[match["selector"]] = None
            ignored += each["count"]
        else:
            is_plain = reason == "not selected" or reason.startswith("known from ")
            others[reason if is_plain else f"ignored: {reason}"] += each["count"]
    return ({f"ignored ({', '.join(selectors)})": ignored} if selectors else {}) | others


def coverage_line(coverage: Coverage) -> str:
    """Return the extent of a run as one line."""
    parts = [f"{coverage.shards_seen:,} of {plural(coverage.shards_total, 'shard')}"]
    if coverage.documents:
        parts.append(plural(coverage.documents, "document"))
    parts.append(human_size(coverage.bytes))
    return " · ".join(parts)


def checked_line(report: Report) -> str:
    """Return which files were checked as one line, "" if there is nothing next to the data."""
    checked = report.coverage.checked
    parts = (f"{name} {plural(n, 'file')}" if name == report.format else f"{name} {n:,}" for name, n in checked.items())
    return f"checked: {', '.join(parts)}" if len(checked) > 1 else ""


def human_size(size: int) -> str:
    """Return a number of bytes in decimal units, like `3.1 GB`."""
    scaled = float(size)
    for unit in _UNITS:
        if scaled < _KILO or unit == _UNITS[-1]:
            break
        scaled /= _KILO
    return f"{size} B" if unit == "B" else f"{scaled:.1f} {unit}"


def _count(report: Report, code: str, path: str) -> int:
    return sum(report.tally.counts[code, severity, path] for severity in Severity)


def _not_shown(report: Report, shown: list[Entry]) -> Iterator[str]:
    if left := left_out(report, shown):
        more = sum(left.values())
        are = "are" if more > 1 else "is"
        is_kept = sum(entry.count for entry in shown) < sum(finding.count for finding in report.findings)
        how = "-v shows more" if is_kept else "--max-per-rule keeps more"
        yield f"… {plural(more, 'more finding')} {are} not shown ({plain(', '.join(left))}): {how}"


def _notes(report: Report, view: View) -> Iterator[str]:
    for kind, same in groupby(notes(report), key=lambda note: note.kind):
        lines = [note.line() for note in same]
        yield from (f"  {line}" for line in lines[: view.max_findings])
        if len(lines) > view.max_findings:
            yield f"  {kind}: {len(lines) - view.max_findings:,} more"


def _verdict(report: Report, view: View) -> Iterator[str]:
    if not (view.terse and report.verdict is Verdict.VALID):
        yield verdict_line(report)


def _footer(report: Report, view: View, *, with_rules: bool) -> Iterator[str]:
    if view.terse:
        yield from _verdict(report, view)
        return
    named = slugs(report)
    for code, counts in report.by_severity.items() if with_rules else ():
        for severity, count in counts.items():
            yield plain(f"  {count:>9,} {code} {severity} {named.get(code, '')}".rstrip())
    yield from _notes(report, view)
    version = f" {report.version}" if report.version else ""
    yield plain(f"  {report.format}{version} · {coverage_line(report.coverage)}")
    if checked := checked_line(report):
        yield plain(f"  {checked}")
    yield from _verdict(report, view)


_RESET, _BOLD, _DIM, _CYAN = "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;36m"
_RED, _GREEN, _YELLOW, _BLUE = (f"\x1b[1;{number}m" for number in (31, 32, 33, 34))
_OF_SEVERITY = {Severity.ERROR: _RED, Severity.WARNING: _YELLOW, Severity.INFO: _BLUE}
# No path at the start of a line can be mistaken for one of these.
_OF_VERDICT = {"VALID": _GREEN, "INVALID": _RED, "INCOMPLETE": _YELLOW, "NO ERRORS IN A SAMPLE": _GREEN}
_VERDICT = re.compile(rf"^(?:{'|'.join(_OF_VERDICT)})(?=:)")
# A finding, or the number of those of a rule.
_STATED = re.compile(rf"^(?P<before>.*?)(?P<what> [A-Z]{{3,4}}[0-9]{{3}} (?P<severity>{'|'.join(Severity)}))(?= |$)")
_HELP = "  help:"
_CODE = re.compile("`[^`]+`")
# A line of an excerpt: its number, or a caret.
_EXCERPT = re.compile(r"^ *[0-9,]* \| ")


def with_links(lines: Iterable[str], codes: Collection[str]) -> Iterator[str]:
    """Yield lines in which the first of some rule codes is a link to its page."""
    pages = {code: address_of(rule) for code, rule in rules_of(codes).items()}
    code = re.compile(rf"(?<=[ `])(?:{'|'.join(sorted(pages))})(?=[ `])")
    for line in lines:
        yield (
            code.sub(lambda found: f"\x1b]8;;{pages[found[0]]}\x1b\\{found[0]}\x1b]8;;\x1b\\", line, count=1)
            if pages
            else line
        )


def coloured(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a report with places, severities, hints and the verdict in colours."""
    for line in lines:
        if line.startswith(_HELP):
            yield f"{_CYAN}{_HELP}{_RESET}{_CODE.sub(_in_bold, line.removeprefix(_HELP))}"
        elif gutter := _EXCERPT.match(line):
            rest = line[gutter.end() :]
            yield f"{_DIM}{gutter[0]}{_RESET}" + (f"{_RED}{rest}{_RESET}" if rest.lstrip().startswith("^") else rest)
        elif stated := _STATED.match(line):
            before = stated["before"]
            place = f"{_BOLD}{before}{_RESET}" if before.endswith(":") else before
            yield f"{place}{_OF_SEVERITY[Severity(stated['severity'])]}{stated['what']}{_RESET}{_CODE.sub(_in_bold, line[stated.end() :])}"
        else:
            yield _VERDICT.sub(lambda found: f"{_OF_VERDICT[found[0]]}{found[0]}{_RESET}", line)


def _in_bold(code: re.Match[str]) -> str:
    return f"{_BOLD}{code[0]}{_RESET}"


def markdown(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield the verdict, a table of the rules that fired with their first locations, and the notes."""
    about = subject(report)
    name = about.pop("path", "")
    yield f"## {marked(name) if name else 'corpusfmt'}: {report.verdict.value}"
    yield ""
    yield verdict_line(report, marked, marked)
    yield ""
    checked = checked_line(report)
    extent = coverage_line(report.coverage) + (f" · {checked}" if checked else "")
    yield marked(extent)
    yield ""
    yield " · ".join(f"{title} {marked(text)}" for title, text in about.items())
    if report.tally.counts:
        yield ""
        yield "| rule | severity | count | first location | message |"
        yield "|---|---|--:|---|---|"
        by_severity = report.by_severity
        for rule in worst_rules_first(by_severity):
            for severity, count in by_severity[rule].items():
                first = next((each for each in report.findings if (each.code, each.severity) == (rule, severity)), None)
                name = f"{rule} {first.slug}{' [*]' if is_fixable(first) else ''}" if first else rule
                where, what = (marked(str(first.location)), marked(first.message)) if first else ("", "")
                yield f"| {marked(name)} | {severity} | {count:,} | {where} | {what} |"
    listed = notes(report)
    if listed:
        yield ""
    for note in listed[: view.max_findings]:
        yield f"- {note.line(marked)}"
    if len(listed) > view.max_findings:
        yield f"- {len(listed) - view.max_findings:,} more"
