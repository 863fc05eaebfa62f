"""Reports as pages: Markdown for the step summary of a CI job, HTML for a browser."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from corpusfmt.model import Finding, Report
from corpusfmt.report.text import coverage_line, verdict_line


def markdown(report: Report) -> Iterator[str]:
    """Yield a heading with the verdict, a table of the rules that fired, and the first findings of each."""
    yield f"## corpusfmt: {report.verdict.value}"
    yield ""
    yield f"{report.format} {report.version} · {coverage_line(report.coverage)}".replace("  ", " ")
    yield ""
    if report.findings:
        yield "| rule | severity | count | first place | what |"
        yield "|---|---|--:|---|---|"
        totals = report.by_rule
        for finding in _first_of_each_rule(report):
            cells = (
                f"{finding.code} {finding.slug}",
                finding.severity,
                f"{totals[finding.code]:,}",
                f"`{finding.location}`",
            )
            yield f"| {' | '.join(cells)} | {_cell(finding.message)} |"
        yield ""
    yield verdict_line(report)


def html(report: Report) -> Iterator[str]:
    """Yield one self-contained page."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><title>corpusfmt report</title>'
    yield "<style>body{font:16px system-ui;margin:2rem}td,th{padding:.3rem .8rem;text-align:left;vertical-align:top}</style>"
    yield f"</head><body><h1>corpusfmt: {report.verdict.value}</h1>"
    yield f"<p>{escape(f'{report.format} {report.version}')} · {coverage_line(report.coverage)}</p>"
    yield "<table><tr><th>rule</th><th>severity</th><th>place</th><th>what</th></tr>"
    for finding in report.findings:
        cells = (f"{finding.code} {finding.slug}", finding.severity, str(finding.location), finding.message)
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    yield f"</table><p>{escape(verdict_line(report))}</p></body></html>"


def _first_of_each_rule(report: Report) -> list[Finding]:
    first: dict[str, Finding] = {}
    for finding in report.findings:
        first.setdefault(finding.code, finding)
    return [first[code] for code in sorted(first)]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
