"""Reports for machines: JSON, JSON Lines, SARIF, JUnit, and the annotations of GitHub and GitLab."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from html import escape
from typing import Any

from corpusfmt._version import VERSION
from corpusfmt.model import Finding, Json, Report, Severity

SCHEMA = "corpusfmt-report/1"
# Code scanning services keep the first results of a run and refuse runs beyond this many.
_MOST_SARIF_RESULTS = 5_000
_SARIF_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITHUB_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_GITLAB_LEVELS = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def run_record(report: Report) -> Json:
    """Return the object that opens a JSON Lines report."""
    tool = {"name": "corpusfmt", "version": VERSION}
    return {"kind": "run", "schema": SCHEMA, "tool": tool, "arguments": report.arguments, "started": report.started}


def finding_record(finding: Finding) -> Json:
    """Return one finding as an object; `count` occurrences are told as one, at the first of their places."""
    at = finding.location
    return {
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


def summary_record(report: Report) -> Json:
    """Return the object that ends a JSON Lines report; a log without it is a cut run."""
    coverage = report.coverage
    record: Json = {
        "kind": "summary",
        "verdict": report.verdict.value,
        "format": report.format,
        "version": report.version,
        "counts": report.counts,
        "by_rule": report.by_rule,
        "by_path": report.by_path,
        "coverage": {
            "shards_seen": coverage.shards_seen,
            "shards_total": coverage.shards_total,
            "documents": coverage.documents,
            "bytes": coverage.bytes,
            "sampled": coverage.sampled,
            "rules_not_run": coverage.rules_not_run,
        },
        "finished": report.finished,
    }
    if report.results:
        record["results"] = report.results
    return record


def json_lines(report: Report) -> Iterator[str]:
    """Yield the run, one object a finding, and the summary."""
    yield _dump(run_record(report))
    for finding in report.findings:
        yield _dump(finding_record(finding))
    yield _dump(summary_record(report))


def json_object(report: Report) -> Iterator[str]:
    """Yield the same as one object, with the findings as a list."""
    whole = (
        run_record(report) | summary_record(report) | {"findings": [finding_record(each) for each in report.findings]}
    )
    del whole["kind"]
    yield json.dumps(whole, ensure_ascii=False, indent=2)


def sarif(report: Report) -> Iterator[str]:
    """Yield a SARIF 2.1.0 log; beyond the services' limit results are left out, and a notification says how many."""
    shown = report.findings[:_MOST_SARIF_RESULTS]
    rules = {finding.code: finding.slug for finding in shown}
    omitted = len(report.findings) - len(shown)
    notes = [{"level": "warning", "message": {"text": f"{omitted} results omitted"}}] if omitted else []
    tool = {
        "driver": {
            "name": "corpusfmt",
            "version": VERSION,
            "rules": [{"id": code, "name": slug} for code, slug in sorted(rules.items())],
        }
    }
    invocation = {"executionSuccessful": report.verdict.value != "incomplete", "toolExecutionNotifications": notes}
    run = {"tool": tool, "invocations": [invocation], "results": [_sarif_result(finding) for finding in shown]}
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    yield json.dumps(log, ensure_ascii=False, indent=2)


def _sarif_result(finding: Finding) -> Json:
    at = finding.location
    physical: dict[str, Any] = {"artifactLocation": {"uri": at.path.replace(" ", "%20")}}
    if at.line is not None:
        physical["region"] = {"startLine": at.line} | ({"startColumn": at.column} if at.column else {})
    return {
        "ruleId": finding.code,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": _with_hint(finding)},
        "locations": [{"physicalLocation": physical}],
        "occurrenceCount": finding.count,
    }


def junit(report: Report) -> Iterator[str]:
    """Yield JUnit XML: a test case a path, failed where errors were found in it."""
    paths: dict[str, list[Finding]] = {path: [] for path in report.by_path}
    for finding in report.findings:
        paths[finding.location.path].append(finding)
    cases = paths or {".": []}
    failed = sum(any(each.severity is Severity.ERROR for each in found) for found in cases.values())
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<testsuite name="corpusfmt" tests="{len(cases)}" failures="{failed}" errors="0" skipped="0">'
    for path, found in cases.items():
        yield f"  <testcase classname={_attribute(report.format)} name={_attribute(path)}>"
        errors = [finding for finding in found if finding.severity is Severity.ERROR]
        if errors:
            text = "\n".join(f"{each.location}: {each.code} {_with_hint(each)}" for each in errors)
            yield f"    <failure message={_attribute(errors[0].message)}>{escape(_xml_safe(text))}</failure>"
        yield "  </testcase>"
    yield "</testsuite>"


def github(report: Report) -> Iterator[str]:
    """Yield workflow commands, one annotation a rule and path."""
    seen: set[tuple[str, str]] = set()
    for finding in report.findings:
        at = finding.location
        if (finding.code, at.path) in seen:
            continue
        seen.add((finding.code, at.path))
        place = f"file={_command_value(at.path)}" + (f",line={at.line}" if at.line else "")
        title = _command_value(f"{finding.code} {finding.slug}")
        text = _with_hint(finding).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        yield f"::{_GITHUB_LEVELS[finding.severity]} {place},title={title}::{text}"


def _command_value(text: str) -> str:
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        text = text.replace(character, code)
    return text


def gitlab(report: Report) -> Iterator[str]:
    """Yield a GitLab code quality report."""
    issues = []
    for finding in report.findings:
        at = finding.location
        identity = f"{finding.code}\0{at.path}\0{at.line}\0{at.pointer}\0{finding.message}"
        issues.append(
            {
                "description": f"{finding.slug}: {_with_hint(finding)}",
                "check_name": finding.code,
                "fingerprint": hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest(),
                "severity": _GITLAB_LEVELS[finding.severity],
                "location": {"path": at.path, "lines": {"begin": at.line or 1}},
            }
        )
    yield json.dumps(issues, ensure_ascii=False, indent=2)


def _with_hint(finding: Finding) -> str:
    return f"{finding.message} ({finding.hint})" if finding.hint else finding.message


def _dump(record: Json) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _attribute(text: str) -> str:
    # Readers turn the white space of an attribute into blanks, where it does not stand as a reference.
    return f'"{escape(_xml_safe(text))}"'.replace("\n", "&#10;").replace("\t", "&#9;")


def _xml_safe(text: str) -> str:
    return "".join(
        character if character >= " " or character in "\t\n" else f"\\x{ord(character):02x}" for character in text
    )
