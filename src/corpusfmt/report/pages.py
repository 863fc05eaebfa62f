"""Internal: Reports as pages: Markdown for the step summary of a CI job, HTML for a browser."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.model import Report
from corpusfmt.report.text import coverage_line, verdict_line
from corpusfmt.report.view import DEFAULT_VIEW, View, by_severity, counted, left_out, notes
from corpusfmt.wording import markdown as code
from corpusfmt.wording import markup

_STYLE = "body{font:16px system-ui;margin:2rem}td,th{padding:.3rem .8rem;text-align:left;vertical-align:top}"


def markdown(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield a heading with the verdict, a table of the rules that fired with the first place of each, and what was not checked."""
    yield f"## corpusfmt: {report.verdict.value}"
    yield ""
    yield code(_kind(report))
    yield ""
    if report.tally.counts:
        yield "| rule | severity | count | first place | what |"
        yield "|---|---|--:|---|---|"
        for rule, counts in sorted(by_severity(report).items(), key=lambda each: (min(map(_rank, each[1])), each[0])):
            for severity, count in counts.items():
                first = next((each for each in report.findings if (each.code, each.severity) == (rule, severity)), None)
                name = f"{rule} {first.slug}" if first else rule
                where, what = (code(str(first.location)), code(first.message)) if first else ("", "")
                yield f"| {code(name)} | {severity} | {count:,} | {where} | {what} |"
        yield ""
    listed = notes(report)
    for note in listed[: view.max_findings]:
        yield f"- {note.line(code)}"
    if len(listed) > view.max_findings:
        yield f"- {len(listed) - view.max_findings:,} more"
    if listed:
        yield ""
    yield verdict_line(report, code, code)


def html(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield one self-contained page."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8"><title>corpusfmt report</title>'
    yield f"<style>{_STYLE}</style>"
    yield f"</head><body><h1>corpusfmt: {report.verdict.value}</h1>"
    yield f"<p>{markup(_kind(report))}</p><p>{markup(verdict_line(report))}</p>"
    shown = View(len(report.findings), info=True).of(report.findings)
    if shown:
        yield "<table><tr><th>rule</th><th>severity</th><th>place</th><th>what</th><th>help</th></tr>"
        for finding in shown:
            times = f" ({finding.count:,} times, first here)" if finding.count > 1 else ""
            rule, what = f"{finding.code} {finding.slug}", f"{finding.message}{times}"
            cells = (rule, finding.severity, str(finding.location), what, finding.hint)
            yield "<tr>" + "".join(f"<td>{markup(cell)}</td>" for cell in cells) + "</tr>"
        yield "</table>"
    if left := left_out(report, shown):
        yield f"<p>Counted and not kept: {markup(counted(left))}.</p>"
    if listed := notes(report):
        yield "<ul>" + "".join(f"<li>{markup(note.line())}</li>" for note in listed) + "</ul>"
    yield "</body></html>"


def _kind(report: Report) -> str:
    return f"{report.format} {report.version} · {coverage_line(report.coverage)}".replace("  ", " ")


def _rank(severity: str) -> int:
    return ("error", "warning", "info").index(severity)
