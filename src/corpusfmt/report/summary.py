"""Internal: A report in Markdown, for the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.model import Report
from corpusfmt.report.text import checked_line, coverage_line, verdict_line
from corpusfmt.report.view import DEFAULT_VIEW, View, notes, worst_rules_first
from corpusfmt.wording import markdown as code


def markdown(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield the verdict, a table of the rules that fired with their first locations, and the notes."""
    yield f"## corpusfmt: {report.verdict.value}"
    yield ""
    yield verdict_line(report, code, code)
    yield ""
    yield code(_kind(report))
    if report.tally.counts:
        yield ""
        yield "| rule | severity | count | first location | message |"
        yield "|---|---|--:|---|---|"
        by_severity = report.by_severity
        for rule in worst_rules_first(by_severity):
            for severity, count in by_severity[rule].items():
                first = next((each for each in report.findings if (each.code, each.severity) == (rule, severity)), None)
                name = f"{rule} {first.slug}" if first else rule
                where, what = (code(str(first.location)), code(first.message)) if first else ("", "")
                yield f"| {code(name)} | {severity} | {count:,} | {where} | {what} |"
    listed = notes(report)
    if listed:
        yield ""
    for note in listed[: view.max_findings]:
        yield f"- {note.line(code)}"
    if len(listed) > view.max_findings:
        yield f"- {len(listed) - view.max_findings:,} more"


def _kind(report: Report) -> str:
    checked = checked_line(report)
    extent = coverage_line(report.coverage) + (f" · {checked}" if checked else "")
    return f"{report.format} {report.version} · {extent}".replace("  ", " ")
