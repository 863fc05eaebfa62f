"""Internal: Read saved reports, to render them again or as the baseline of a later run."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert, field
from msgspec.structs import asdict

from corpusfmt.io.paths import read_named
from corpusfmt.io.text import has_too_many_values
from corpusfmt.model import Coverage, Finding, Fix, Json, Known, Location, Problem, Report, Severity, Tally, UsageError

#: Start of a baseline entry in a message.
ENTRY = "baseline entry"
_KINDS = ("run", "finding", "summary")


class Baseline(Struct, frozen=True):
    """The occurrences that an earlier run counted, by (rule code, path), and the name of its report."""

    name: str = ""
    occurrences: Known = field(default_factory=dict)

    @property
    def reason(self) -> str:
        return f"known from {self.name}"

    def entry(self, code: str, path: str) -> str:
        """Return an entry as text for a message."""
        return f"{ENTRY} {code} in {path}"

    def below(self, root: str) -> Baseline:
        """Return the occurrences in one of several inputs, with paths relative to it; the input itself is also `.`.

        The name of a folder ends with `/`. The report of a file also contains paths next to it and next to its folder.
        """
        folder, name = posixpath.split(root)
        prefixes = {folder and f"{folder}/": ""}
        if name and folder:
            prefixes[posixpath.dirname(folder) and f"{posixpath.dirname(folder)}/"] = "../"
        found: dict[tuple[str, str], int] = {}
        for (code, path), count in self.occurrences.items():
            if path == root.rstrip("/"):
                found |= dict.fromkeys([(code, "."), (code, path.rpartition("/")[2])], count)
                continue
            for prefix, shown in prefixes.items():
                if path.startswith(prefix):
                    found[code, shown + path[len(prefix) :]] = count
                    break
        return Baseline(self.name, found)


#: Twice the findings that `validate` keeps, which are 24 MiB at most.
MOST_BYTES = 48 * 1024 * 1024
MOST_VALUES = 2_000_000


def load(path: str | Path) -> Report:
    """Return the report in a JSON or JSON Lines file. Raises `UsageError` if it contains none or a truncated one."""
    try:
        data = read_named(path, MOST_BYTES, "report")
        if has_too_many_values(data, MOST_VALUES):
            raise UsageError(f"report {path} has more than {MOST_VALUES:,} values, the most that can be read")
        records = _records(data)
        return _report(records)
    except OSError as error:
        raise UsageError(f"cannot read the report {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, ValidationError) as error:
        raise UsageError(f"{path} is not a complete corpusfmt report in JSON or JSON Lines: {error}") from error


def load_baseline(path: str | Path) -> Baseline:
    """Return the baseline in a saved report. Raises `UsageError` like `load`."""
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
        raise ValueError("the summary line is missing: the report is truncated")
    if not records["run"]:
        raise ValueError("the run line is missing: the beginning of the report is cut off")
    return records


def _report(records: dict[str, list[Json]]) -> Report:
    run, summary = convert(records["run"][0], _Run), convert(records["summary"][0], _Summary)
    if not _is_shallow([run.arguments, summary.results]):
        raise ValueError("arguments or results are nested too deeply")
    findings = [convert(record, FindingRecord).finding for record in records["finding"]]
    tally = Tally(cap=len(findings) + 1)
    for finding in findings:
        tally.add(finding)
    _complete(tally.counts, summary.by_path, summary.by_severity)
    tally.suppressed.update(_by_reason(summary.suppressed))
    tally.regraded.update(_by_reason(summary.regraded))
    return Report(
        summary.format,
        summary.version,
        tally,
        summary.coverage.coverage,
        started=run.started,
        finished=summary.finished,
        arguments=run.arguments,
        results=summary.results,
        unmatched=summary.unmatched,
        tool=run.tool.version,
    )


def _is_shallow(value: object, levels: int = 20) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_shallow(each, levels - 1) for each in inner)


def _complete(
    counts: Counter[tuple[str, Severity, str]],
    by_path: Mapping[str, Mapping[str, int]],
    by_severity: Mapping[str, Mapping[Severity, int]],
) -> None:
    """Add occurrences without a kept finding: their number is known per file and rule, their severity only per rule."""
    left = {code: dict(found) for code, found in by_severity.items()}
    for (code, severity, _), count in counts.items():
        left[code][severity] -= count
    for path, codes in by_path.items():
        for code, count in codes.items():
            missing = count - sum(counts[code, severity, path] for severity in Severity)
            for severity, available in left[code].items():
                taken = min(missing, available)
                if taken > 0:
                    counts[code, severity, path] += taken
                    left[code][severity] -= taken
                    missing -= taken


def _by_reason(records: Sequence[_Reason]) -> dict[tuple[str, str, str], int]:
    return {(each.rule, "", each.reason): each.count for each in records}


# The lines of a report, with the types that renderers rely on.
#: The code of a rule.
Code = Annotated[str, Meta(pattern=r"^[A-Z]{3}[0-9]{3}\Z")]
_Slug = Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]+\Z")]
#: A number of occurrences, documents or bytes.
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
_Ordinal = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class _Tool(Struct, frozen=True):
    version: str = ""


class _Run(Struct):
    started: str
    arguments: Json
    tool: _Tool = _Tool()


class _Location(Struct):
    path: str
    line: _Ordinal | None
    byte: Count | None
    column: _Ordinal | None
    pointer: str | None
    record: str | None


class FindingRecord(Struct):
    """A finding in a saved report."""

    rule: Code
    slug: _Slug
    severity: Severity
    message: str
    location: _Location
    hint: str
    count: _Ordinal
    fix: Fix | None = None

    @property
    def finding(self) -> Finding:
        """The finding, as a run made it."""
        problem = Problem(self.message, Location(**asdict(self.location)), self.hint, self.count, fix=self.fix)
        return Finding(self.rule, self.slug, self.severity, problem)


class _Reason(Struct):
    rule: Code
    reason: str
    count: _Ordinal


class _NotRun(_Reason):
    path: str


class _Gap(Struct):
    path: str
    what: str
    reason: str
    count: _Ordinal


class CoverageRecord(Struct):
    """The coverage in a saved report."""

    shards_seen: Count
    shards_total: Count
    documents: Count
    bytes: Count
    sampled: bool
    not_run: list[_NotRun]
    gaps: list[_Gap]
    checked: dict[str, Count] = {}

    @property
    def coverage(self) -> Coverage:
        """The coverage, as a run counted it."""
        return Coverage(
            self.shards_seen,
            self.shards_total,
            self.documents,
            self.bytes,
            sampled=self.sampled,
            not_run=Counter({(each.path, each.rule, each.reason): each.count for each in self.not_run}),
            gaps=Counter({(each.path, each.what, each.reason): each.count for each in self.gaps}),
            checked=Counter(self.checked),
        )


class _Summary(Struct):
    format: str
    version: str
    finished: str
    by_path: dict[str, dict[Code, Count]]
    by_severity: dict[Code, dict[Severity, Count]]
    suppressed: list[_Reason]
    regraded: list[_Reason]
    coverage: CoverageRecord
    unmatched: list[str]
    results: Json = {}
