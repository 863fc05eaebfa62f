"""Internal: Report a finished conversion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from corpusfmt.conversion.options import OnLoss
from corpusfmt.conversion.rules import LOSSY_CONVERSION, finding
from corpusfmt.conversion.stages import Converted
from corpusfmt.conversion.way import Way
from corpusfmt.formats import Plan
from corpusfmt.model import Coverage, Location, Problem, Report, Severity, Tally

# With `error`, only losses that an option accepts can occur.
_LOSS_SEVERITIES: Mapping[str, Severity] = {"error": Severity.INFO, "warn": Severity.WARNING, "allow": Severity.INFO}


def report_of(way: Way, plan: Plan, converted: Iterable[Converted], on_loss: OnLoss, files: int) -> Report:
    """Return the report: remarks on the source, losses, and unreadable data."""
    missing = list(plan.errors(way.reader.missing_rules))
    losses: Counter[str] = Counter()
    documents, rejected, cut = 0, 0, []
    for each in converted:
        losses.update(each.losses)
        documents += each.documents
        rejected += each.rejected
        cut += each.cut
    cut.sort()
    tally = Tally()
    for remark in plan.tally.findings:
        if remark.severity is Severity.INFO:
            tally.add(remark)
    for error in missing:
        tally.add(replace(error, severity=Severity.WARNING))
    severity = _LOSS_SEVERITIES[on_loss]
    for what, count in sorted(losses.items()):
        problem = Problem(f"lost: {what}", Location("."), count=count)
        tally.add(replace(finding(LOSSY_CONVERSION, problem), severity=severity))
    shards = len(plan.shards)
    coverage = Coverage(shards, shards, documents, sum(shard.size for shard in plan.shards))
    for error in missing:
        coverage.gap(error.location.path, "layout", error.message)
    for path in cut:
        coverage.gap(path, "rest of the file", "truncated, the number of missing documents is unknown")
    report = Report(way.target.name, way.target_version, tally, coverage)
    report.results = {
        "files": files,
        "rejected": rejected,
        "cut": cut,
        "losses": dict(losses),
    }
    return report
