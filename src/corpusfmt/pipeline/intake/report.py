"""Internal: What is to be said of inputs once all are taken: which were left out, and why there is no corpus
without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corpusfmt.formats.general import LINK_OUTSIDE_ROOT, broken_stream
from corpusfmt.io.paths import version_of
from corpusfmt.model import Coverage, Incomplete, Location, Problem, Report
from corpusfmt.pipeline.intake.inputs import Input
from corpusfmt.pipeline.intake.take import Taken
from corpusfmt.pipeline.rules import REST_NOT_READ, RULES, wet_fault
from corpusfmt.rules import Grading, Judge

# How many inputs are named where none could be read.
_MOST_TOLD = 5


def report_of(taken: Sequence[Taken]) -> Report:
    """Return a report that names the inputs of which nothing, or not all, is used."""
    judge = Judge(RULES, Grading(), version="", path=".")
    coverage = Coverage(shards_total=len(taken))
    for each in taken:
        at, processed = Location(each.input.path), each.processed
        if processed.fault:
            judge.report(*broken_stream(at, processed.fault.error))
        elif processed.defect:
            defect, reason = processed.defect
            judge.report(*wet_fault(defect, at, reason))
        else:
            documents = sum(size.documents for size in processed.original.values())
            coverage.add(Coverage(shards_seen=1, documents=documents, bytes=each.input.size))
            if processed.padding is not None:
                judge.report(*broken_stream(at, processed.padding.error))
            if processed.cut is not None:
                hint = "write the file again, or use another reader"
                judge.report(REST_NOT_READ, Problem(f"the rest was not read: {processed.cut}", at, hint))
    return Report("wet", "", judge.tally, coverage)


def refuse_none(report: Report, cause: str) -> None:
    """Raise `Incomplete` where all inputs are left out: a corpus without texts would pass for one."""
    if report.coverage.shards_seen:
        return
    findings = report.findings
    left_out = [f"  {each.location}: {each.code} {each.message}" for each in findings]
    more = [f"  and {len(findings) - _MOST_TOLD:,} more"] if len(findings) > _MOST_TOLD else []
    hints = sorted({f"  help: {each.hint}" for each in findings if each.code == LINK_OUTSIDE_ROOT.code})
    raise Incomplete(
        f"none of {report.coverage.shards_total:,} inputs could be read, and no corpus was written{cause}",
        *left_out[:_MOST_TOLD],
        *more,
        *hints,
        "  help: once they are repaired or named rightly, run the command again in the same folder",
    )


def refuse_changed(taken: Sequence[Taken]) -> None:
    """Raise `Incomplete` where local inputs are not what they were: the manifest would name the digests of others."""
    inputs = (each.input for each in taken)
    changed = [each.path for each in inputs if Path(each.key).is_absolute() and _has_changed(each)]
    if changed:
        raise Incomplete(
            f"{len(changed):,} inputs have changed since they were read, the first of them {changed[0]}: "
            "run the same command again to read them anew"
        )


def _has_changed(known: Input) -> bool:
    # One that is gone was deleted: by us, or by somebody else who knew that it was stored.
    return known.version != "" and version_of(known.key) not in {known.version, ""}
