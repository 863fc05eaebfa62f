"""Internal: Reports for machines: JSON, JSON Lines, SARIF, JUnit, and annotations for GitHub and GitLab."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from corpusfmt._version import VERSION
from corpusfmt.io.paths import is_url
from corpusfmt.model import (
    Finding,
    Fix,
    Json,
    Report,
    Rule,
    Severity,
    Verdict,
    finding_record,
    run_record,
    summary_record,
)
from corpusfmt.report.text import place, verdict_line
from corpusfmt.report.view import (
    DEFAULT_VIEW,
    View,
    address_of,
    annotated_path,
    counted,
    left_out,
    notes,
    rules_of,
    slugs,
    subject,
    worst_first,
)
from corpusfmt.wording import json_text, markup, plain, sarif_message, uri, workflow_data, workflow_property

# Code scanning services keep this many results per run.
_MOST_RESULTS = 5_000
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_GITLAB_LEVELS = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def json_lines(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield the run, one object per finding, and the summary."""
    yield dumped(run_record(report))
    for finding in report.findings:
        yield dumped(finding_record(finding))
    yield dumped(summary_record(report))


def json_object(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield the same data as one object, with a list of findings."""
    yield dumped(report.to_dict(), indent=2)


def sarif(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield a SARIF 2.1.0 log. Beyond the services' limit the worst results stay, and a notification counts the rest."""
    shown = worst_first(report.findings, _MOST_RESULTS)
    codes = sorted({finding.code for finding in shown})
    known, named = rules_of(codes), slugs(report)
    messages = [note.line() for note in notes(report)]
    if len(shown) < len(report.findings):
        messages.append(f"results omitted: {counted(left_out(report, shown))}")
    tool = {
        "driver": {
            "name": "corpusfmt",
            "version": VERSION,
            "informationUri": "https://github.com/corpusfmt/corpusfmt",
            "rules": [{"id": code, "name": named[code]} | _sarif_help(known.get(code)) for code in codes],
        }
    }
    notifications = [{"level": "warning", "message": {"text": sarif_message(each)}} for each in messages]
    invocation = {
        "executionSuccessful": report.verdict is not Verdict.INCOMPLETE,
        "toolExecutionNotifications": notifications,
    }
    root = {"description": {"text": "the root of the repository, or the working folder"}}
    run = {
        "tool": tool,
        "invocations": [invocation],
        "originalUriBaseIds": {"SRCROOT": root},
        "results": _sarif_results(report, shown, codes),
    }
    yield dumped(
        {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}, indent=2
    )


def _sarif_help(rule: Rule | None) -> Json:
    if rule is None:
        return {}
    from inspect import cleandoc  # noqa: PLC0415 - slow to import, and only SARIF needs it

    explanation = cleandoc(rule.explanation)
    return {
        "shortDescription": {"text": explanation.partition("\n")[0]},
        "help": {"text": explanation},
        "helpUri": address_of(rule),
    }


def _sarif_results(report: Report, findings: Sequence[Finding], codes: Sequence[str]) -> list[Json]:
    index = {code: number for number, code in enumerate(codes)}
    seen: Counter[str] = Counter()
    results = []
    for finding in findings:
        at = finding.location
        identity = _digest(finding.code, at.path, at.pointer, at.record, finding.message)
        seen[identity] += 1
        physical: Json = {"artifactLocation": _artifact(annotated_path(report, at.path))}
        if at.line is not None:
            physical["region"] = {"startLine": at.line} | ({"startColumn": at.column} if at.column else {})
        result: Json = {
            "ruleId": finding.code,
            "ruleIndex": index[finding.code],
            "level": _SARIF_LEVELS[finding.severity],
            "message": {"text": sarif_message(_with_hint(finding))},
            "locations": [{"physicalLocation": physical}],
            "occurrenceCount": finding.count,
            # Without line and byte: what is above a finding may change.
            "partialFingerprints": {"corpusfmt/v1": f"{identity}:{seen[identity]}"},
        }
        if finding.fix is not None:
            result["fixes"] = [_sarif_fix(finding.hint, finding.fix, physical["artifactLocation"])]
        results.append(result)
    return results


def _sarif_fix(hint: str, fix: Fix, artifact: Json) -> Json:
    replacements = [
        {
            "deletedRegion": {"byteOffset": edit.start, "byteLength": edit.end - edit.start},
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    text = sarif_message(hint if fix.safe else f"{hint} (review it)")
    changes = [{"artifactLocation": artifact, "replacements": replacements}]
    return {"description": {"text": text}, "artifactChanges": changes}


def _artifact(path: str) -> Json:
    if is_url(path):
        scheme, _, rest = path.partition("://")
        return {"uri": f"{scheme}://{uri(rest)}"}
    if path.startswith("/"):
        return {"uri": f"file://{uri(path)}"}
    return {"uri": uri(path), "uriBaseId": "SRCROOT"}


def junit(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield JUnit XML: a test case per shard, failed if the shard has errors, and a skipped one per unchecked thing."""
    found: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.severity is Severity.ERROR:
            found.setdefault(finding.location.path, []).append(finding)
    failed = {path for _, severity, path in report.tally.counts if severity is Severity.ERROR}
    in_shards = {path for shard in report.shards for path in shard.paths}
    cases = [(shard.paths[0], shard.paths, shard.seconds) for shard in report.shards if shard.paths]
    cases += [(path, (path,), 0.0) for path in sorted({*failed, *report.by_path} - in_shards)]
    skipped = [note for note in notes(report) if note.kind in {"not checked", "not run"}]
    failures = sum(not failed.isdisjoint(paths) for _, paths, _ in cases)
    total = sum(seconds for _, _, seconds in cases)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    about = subject(report)
    name = " ".join(["corpusfmt", *filter(None, [about.pop("path", "")])])
    yield (
        f'<testsuite name="{markup(name)}" tests="{len(cases) + len(skipped)}" failures="{failures}" errors="0"'
        f' skipped="{len(skipped)}" time="{total:.3f}" timestamp="{markup(report.started.removesuffix("Z"))}">'
    )
    yield "  <properties>"
    for title, text in about.items():
        yield f'    <property name="{title}" value="{markup(text)}"/>'
    for note in notes(report):
        yield f'    <property name="{markup(note.kind)}" value="{markup(note.line())}"/>'
    yield f'    <property name="verdict" value="{markup(verdict_line(report))}"/>'
    yield "  </properties>"
    for name, paths, seconds in cases:
        head = f'  <testcase classname="{markup(report.format)}" name="{markup(name)}" time="{seconds:.3f}"'
        if failed.isdisjoint(paths):
            yield f"{head}/>"
            continue
        yield f"{head}>"
        errors = [each for path in paths for each in found.get(path, ())]
        lines = [f"{place(each.location)}: {each.code} {_with_hint(each)}" for each in errors]
        message = errors[0].message if errors else "errors were counted, but none was kept"
        yield f'    <failure message="{markup(message)}">' + "\n".join(map(markup, lines)) + "</failure>"
        yield "  </testcase>"
    for note in skipped:
        yield f'  <testcase classname="{markup(note.kind)}" name="{markup(f"{note.path}: {note.text}")}">'
        yield f'    <skipped message="{markup(note.line())}"/>'
        yield "  </testcase>"
    yield "</testsuite>"


def github(report: Report, view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield workflow commands: one annotation per rule and path, worst first, then notes and the verdict."""
    firsts = {(finding.code, finding.location.path): finding for finding in reversed(report.findings)}
    for finding in worst_first(view.wanted(reversed(firsts.values())), view.max_findings):
        at = finding.location
        where = f"file={workflow_property(annotated_path(report, at.path))}" + (f",line={at.line:d}" if at.line else "")
        title = workflow_property(f"{finding.code} {finding.slug}")
        yield f"::{_GITHUB_LEVELS[finding.severity]} {where},title={title}::{workflow_data(_with_hint(finding))}"
    for note in notes(report)[: view.max_findings]:
        yield f"::notice title={workflow_property(note.kind)}::{workflow_data(note.line())}"
    name = subject(report).get("path", "")
    yield f"::notice title={workflow_property(f'corpusfmt {name}'.rstrip())}::{workflow_data(verdict_line(report))}"


def gitlab(report: Report, _view: View = DEFAULT_VIEW) -> Iterator[str]:
    """Yield a GitLab code quality report; notes are issues of the least severity."""
    shown = worst_first(report.findings, _MOST_RESULTS)
    issues = []
    for finding in shown:
        at = finding.location
        fingerprint = _digest(finding.code, at.path, at.line, at.pointer, finding.message)
        where = annotated_path(report, at.path)
        text = f"{finding.slug}: {_with_hint(finding)}"
        issues.append(_issue(text, finding.code, fingerprint, _GITLAB_LEVELS[finding.severity], where, at.line))
    remarks = [(note.path, note.line()) for note in notes(report)]
    if len(shown) < len(report.findings):
        remarks.append((".", f"findings omitted: {counted(left_out(report, shown))}"))
    for path, text in remarks:
        where = annotated_path(report, path or ".")
        issues.append(_issue(text, "corpusfmt", _digest(path, text), "info", where, None))
    yield dumped(issues, indent=2)


def _issue(text: str, rule: str, fingerprint: str, severity: str, path: str, line: int | None) -> Json:
    return {
        "description": plain(text),
        "check_name": rule,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line or 1}},
    }


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "backslashreplace")).hexdigest()


def _with_hint(finding: Finding) -> str:
    return f"{finding.message} ({finding.hint})" if finding.hint else finding.message


def dumped(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, in which invisible characters are escaped."""
    separators = (",", ":") if indent is None else None
    return json_text(json.dumps(value, ensure_ascii=False, separators=separators, indent=indent))
