"""Saved reports read back: to render them again, and as the baseline of a later run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpusfmt.io.paths import read_named
from corpusfmt.io.text import has_too_many_values
from corpusfmt.model import Coverage, Finding, Json, Known, Location, Problem, Report, Severity, Tally, UsageError

#: How an entry of a baseline begins, in a message.
ENTRY = "baseline entry"
_KINDS = ("run", "finding", "summary")


@dataclass(frozen=True, slots=True)
class Baseline:
    """What an earlier run counted, by (rule code, path), and how its report is called."""

    name: str = ""
    occurrences: Known = field(default_factory=dict)

    @property
    def reason(self) -> str:
        return f"known from {self.name}"

    def entry(self, code: str, path: str) -> str:
        """Return one entry for a message."""
        return f"{ENTRY} {code} in {path}"

    def below(self, root: str) -> Baseline:
        """Return what it counted below one of several inputs, whose paths begin with it; of a file itself it is `.`, too."""
        found: dict[tuple[str, str], int] = {}
        for (code, path), count in self.occurrences.items():
            if path == root:
                found |= dict.fromkeys([(code, "."), (code, root.rpartition("/")[2])], count)
            elif path.startswith(f"{root}/"):
                found[code, path[len(root) + 1 :]] = count
        return Baseline(self.name, found)


# As much as fits into memory: `validate` keeps findings of 24 MiB at most.
_MOST_BYTES = 48 * 1024 * 1024
_MOST_VALUES = 2_000_000


def load(path: str | Path) -> Report:
    """Return the report that a JSON or JSON Lines file holds. Raises `UsageError` where it holds none, or one cut short."""
    try:
        data = read_named(path, _MOST_BYTES, "report")
        if has_too_many_values(data, _MOST_VALUES):
            raise UsageError(f"report {path} has more than {_MOST_VALUES} values, the most that are read of one")
        records = _records(data)
        return _report(records)
    except OSError as error:
        raise UsageError(f"cannot read the report {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{path} is not a whole corpusfmt report in JSON or JSON Lines: {error}") from error


def load_baseline(path: str | Path) -> Baseline:
    """Return what a saved report counted. Raises `UsageError` as `load` does."""
    return Baseline(Path(path).name, known_problems(path))


def known_problems(path: str | Path) -> Known:
    """Return the occurrences by (rule code, path) that a saved report counted."""
    return {(code, where): n for where, codes in load(path).by_path.items() for code, n in codes.items()}


def _records(data: bytes) -> dict[str, list[Json]]:
    records: dict[str, list[Json]] = {kind: [] for kind in _KINDS}
    if data.lstrip().startswith(b"{\n"):
        whole = json.loads(data.decode("utf-8"))
        return {"run": [whole], "finding": whole["findings"], "summary": [whole]}
    for line in data.split(b"\n"):
        if line.strip():
            record = json.loads(line.decode("utf-8"))
            records[record["kind"]].append(record)
    if len(records["summary"]) != 1:
        raise ValueError("it has no summary line: the run was cut")
    if not records["run"]:
        raise ValueError("it has no run line: its beginning is missing")
    return records


def _report(records: dict[str, list[Json]]) -> Report:
    run, summary = records["run"][0], records["summary"][0]
    findings = [_finding(record) for record in records["finding"]]
    tally = Tally(cap=len(findings) + 1)
    for finding in findings:
        tally.add(finding)
    _complete(tally.counts, summary["by_path"], summary["by_severity"])
    tally.suppressed.update(_by_reason(summary["suppressed"]))
    tally.regraded.update(_by_reason(summary["regraded"]))
    return Report(
        summary["format"],
        summary["version"],
        tally,
        _coverage(summary["coverage"]),
        started=run["started"],
        finished=summary["finished"],
        arguments=run["arguments"],
        results=summary.get("results", {}),
        unmatched=[str(each) for each in summary["unmatched"]],
    )


def _complete(
    counts: Counter[tuple[str, Severity, str]],
    by_path: Mapping[str, Mapping[str, int]],
    by_severity: Mapping[str, Mapping[str, int]],
) -> None:
    """Add what was counted and not kept: how much of a rule is in a file is known, how severe only in sum."""
    left = {code: {Severity(each): count for each, count in found.items()} for code, found in by_severity.items()}
    for (code, severity, _), count in counts.items():
        left[code][severity] -= count
    for path, codes in by_path.items():
        for code, count in codes.items():
            missing = _count(count) - sum(counts[code, severity, path] for severity in Severity)
            for severity, available in left[code].items():
                taken = min(missing, available)
                if taken > 0:
                    counts[code, severity, path] += taken
                    left[code][severity] -= taken
                    missing -= taken


def _by_reason(records: Sequence[Json]) -> dict[tuple[str, str, str], int]:
    return {(record["rule"], "", record["reason"]): record["count"] for record in records}


def _count(value: object) -> int:
    if type(value) is not int:
        raise ValueError(f"`{value!r}` is not a number of anything")
    return value


def _coverage(record: Json) -> Coverage:
    return Coverage(
        _count(record["shards_seen"]),
        _count(record["shards_total"]),
        _count(record["documents"]),
        _count(record["bytes"]),
        sampled=record["sampled"],
        not_run=Counter({(each["path"], each["rule"], each["reason"]): each["count"] for each in record["not_run"]}),
        gaps=Counter({(each["path"], each["what"], each["reason"]): each["count"] for each in record["gaps"]}),
    )


def _finding(record: Any) -> Finding:
    problem = Problem(record["message"], Location(**record["location"]), record["hint"], _count(record["count"]))
    return Finding(record["rule"], record["slug"], Severity(record["severity"]), problem)
