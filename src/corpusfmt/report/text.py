"""Reports for people at a terminal or reading a log: no boxes, nothing clipped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from corpusfmt.model import Coverage, Finding, Report, Severity, Verdict

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_KILO = 1000


def full(report: Report) -> Iterator[str]:
    """Yield errors and warnings with their hints, what was left out, counts, coverage and the verdict."""
    shown = _errors_and_warnings(report)
    for (code, path), findings in _by_rule_and_path(shown):
        told = 0
        for finding in findings:
            yield _finding_line(finding)
            if finding.hint:
                yield f"  help: {finding.hint}"
            told += finding.count
        left = _count(report, code, path) - told
        if left > 0:
            yield f"{code} … {left:,} more in {path}"
    if shown:
        yield ""
    yield from _footer(report)


def concise(report: Report) -> Iterator[str]:
    """Yield one line for each error and warning, then the verdict."""
    for finding in _errors_and_warnings(report):
        yield _finding_line(finding)
    yield verdict_line(report)


def _errors_and_warnings(report: Report) -> list[Finding]:
    """Return what asks for action, errors first; what is merely worth knowing stands in the counts."""
    wanted = (Severity.ERROR, Severity.WARNING)
    return [finding for severity in wanted for finding in report.findings if finding.severity is severity]


def grouped(report: Report) -> Iterator[str]:
    """Yield one line a rule and path with its count and first place, most frequent rules first."""
    totals = report.by_rule
    first = {(finding.code, finding.location.path): finding for finding in reversed(report.findings)}
    for code in sorted(totals, key=lambda code: (-totals[code], code)):
        slug = next(finding.slug for finding in report.findings if finding.code == code)
        yield f"{code} {slug}: {totals[code]:,}"
        for (known, path), finding in sorted(first.items()):
            if known == code:
                yield f"  {_count(report, code, path):>9,}  {finding.location}  {finding.message}"
    if totals:
        yield ""
    yield from _footer(report)


def verdict_line(report: Report) -> str:
    """Return the sentence that a run ends with."""
    errors, warnings = report.counts[Severity.ERROR], report.counts[Severity.WARNING]
    counts = f"{_plural(errors, 'error')}, {_plural(warnings, 'warning')}"
    if report.verdict is Verdict.VALID:
        return f"VALID: {counts}"
    codes = [code for (code, severity, _) in report.tally.counts if severity is Severity.ERROR]
    explain = f" Explain one with `corpusfmt rule {min(codes)}`." if codes else ""
    if report.verdict is Verdict.INVALID:
        return f"INVALID: {counts}.{explain}"
    seen = f"{report.coverage.shards_seen:,} of {report.coverage.shards_total:,} shards seen"
    if report.coverage.sampled and not errors:
        return f"NO ERRORS IN A SAMPLE: {seen}, {counts}."
    return f"INCOMPLETE: {seen}, {counts}.{explain}"


def coverage_line(coverage: Coverage) -> str:
    """Return what a run looked at, in one line."""
    parts = [f"{coverage.shards_seen:,} of {_plural(coverage.shards_total, 'shard')}"]
    if coverage.documents:
        parts.append(_plural(coverage.documents, "document"))
    parts.append(human_size(coverage.bytes))
    return " · ".join(parts)


def human_size(size: int) -> str:
    """Return a number of bytes in decimal units, like `3.1 GB`."""
    scaled = float(size)
    for unit in _UNITS:
        if scaled < _KILO or unit == _UNITS[-1]:
            break
        scaled /= _KILO
    return f"{size} B" if unit == "B" else f"{scaled:.1f} {unit}"


def _finding_line(finding: Finding) -> str:
    repeated = f" ({finding.count:,} times, first here)" if finding.count > 1 else ""
    return f"{finding.location}: {finding.code} {finding.severity} {finding.slug}: {finding.message}{repeated}"


def _by_rule_and_path(findings: list[Finding]) -> Iterator[tuple[tuple[str, str], Iterator[Finding]]]:
    def key(finding: Finding) -> tuple[str, str]:
        return finding.code, finding.location.path

    order = {each: number for number, each in enumerate(dict.fromkeys(map(key, findings)))}
    yield from groupby(sorted(findings, key=lambda finding: order[key(finding)]), key)


def _count(report: Report, code: str, path: str) -> int:
    return sum(report.tally.counts[code, severity, path] for severity in Severity)


def _footer(report: Report) -> Iterator[str]:
    first = {finding.code: finding for finding in reversed(report.findings)}
    for code, count in report.by_rule.items():
        yield f"  {count:>9,} {code} {first[code].severity} {first[code].slug}"
    for code, reason in sorted(report.coverage.rules_not_run.items()):
        yield f"  not run: {code} ({reason})"
    version = f" {report.version}" if report.version else ""
    yield f"  {report.format}{version} · {coverage_line(report.coverage)}"
    yield verdict_line(report)


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
