"""Saved reports read back: to render them again, and as the baseline of a later run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpusfmt.model import Coverage, Finding, Json, Location, Problem, Report, Severity, Tally, UsageError

_KINDS = ("run", "finding", "summary")


def load(path: str | Path) -> Report:
    """Return the report that a JSON or JSON Lines file holds. Raises `UsageError` where it is none, or a cut run."""
    try:
        text = Path(path).read_bytes().decode("utf-8")
        records = _records(text)
        return _report(records)
    except OSError as error:
        raise UsageError(f"cannot read the report {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no whole corpusfmt report in JSON or JSON Lines: {error}") from error


def known_problems(path: str | Path) -> Mapping[tuple[str, str], int]:
    """Return the occurrences by (rule code, path) that a saved report counted: the baseline of a later run."""
    return {(code, where): n for where, codes in load(path).by_path.items() for code, n in codes.items()}


def _records(text: str) -> dict[str, list[Json]]:
    records: dict[str, list[Json]] = {kind: [] for kind in _KINDS}
    if text.lstrip().startswith("{\n"):
        whole = json.loads(text)
        return {"run": [whole], "finding": whole["findings"], "summary": [whole]}
    for line in text.split("\n"):
        if line.strip():
            record = json.loads(line)
            records[record["kind"]].append(record)
    if len(records["summary"]) != 1:
        raise ValueError("it has no summary line: the run was cut")
    return records


def _report(records: dict[str, list[Json]]) -> Report:
    run, summary = records["run"][0], records["summary"][0]
    findings = [_finding(record) for record in records["finding"]]
    tally = Tally(cap=len(findings) + 1)
    severities = {finding.code: finding.severity for finding in findings}
    kept: dict[tuple[str, Severity, str], int] = {}
    for finding in findings:
        tally.add(finding)
        key = (finding.code, finding.severity, finding.location.path)
        kept[key] = kept.get(key, 0) + finding.count
    for path, codes in summary["by_path"].items():
        for code, count in codes.items():
            seen = sum(kept.get((code, severity, path), 0) for severity in Severity)
            tally.counts[code, severities[code], path] += count - seen
    coverage = Coverage(**summary["coverage"])
    return Report(
        summary["format"],
        summary["version"],
        tally,
        coverage,
        started=run["started"],
        finished=summary["finished"],
        arguments=run["arguments"],
        results=summary.get("results", {}),
    )


def _finding(record: Any) -> Finding:
    problem = Problem(record["message"], Location(**record["location"]), record["hint"], record["count"])
    return Finding(record["rule"], record["slug"], Severity(record["severity"]), problem)
