"""Internal: Report inputs that were excluded, and refuse to write a corpus without any input."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corpusfmt.formats.general import LINK_OUTSIDE_ROOT, broken_stream
from corpusfmt.io.paths import version_of
from corpusfmt.model import Coverage, Incomplete, Location, Problem, Report
from corpusfmt.pipeline.intake.inputs import Input
from corpusfmt.pipeline.intake.take import Taken
from corpusfmt.pipeline.rules import REST_NOT_READ, RULES, STEP_FAILED, wet_fault
from corpusfmt.rules import Grading, Judge
from corpusfmt.wording import plural

# Most inputs to name if none can be read.
_MOST_NAMED = 5


def report_of(taken: Sequence[Taken]) -> Report:
    """Return a report that names the inputs of which nothing or only a part is used."""
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
                hint = "write the file again or use a recipe with another reader"
                judge.report(REST_NOT_READ, Problem(f"the rest was not read: {processed.cut}", at, hint))
            for failure in processed.failures:
                message = f"document {failure.document}: step `{failure.step}` {failure.reason}"
                where = Location(each.input.path, record=failure.document)
                judge.report(STEP_FAILED, Problem(message, where, "correct the step", failure.count))
    return Report("wet", "", judge.tally, coverage)


def refuse_none(report: Report, cause: str) -> None:
    """Raise `Incomplete` if all inputs are excluded: an empty corpus must not look valid."""
    if report.coverage.shards_seen:
        return
    findings = report.findings
    excluded = [f"  {each.location}: {each.code} {each.message}" for each in findings]
    more = [f"  and {len(findings) - _MOST_NAMED:,} more"] if len(findings) > _MOST_NAMED else []
    hints = sorted({f"  help: {each.hint}" for each in findings if each.code == LINK_OUTSIDE_ROOT.code})
    raise Incomplete(
        f"none of {report.coverage.shards_total:,} inputs could be read, and no corpus was written{cause}",
        *excluded[:_MOST_NAMED],
        *more,
        *hints,
        "  help: repair the inputs or correct their paths, then run the command again with the same output folder",
    )


def refuse_changed(taken: Sequence[Taken]) -> None:
    """Raise `Incomplete` if local inputs have changed: the manifest would contain wrong digests."""
    inputs = (each.input for each in taken)
    changed = [each.path for each in inputs if Path(each.key).is_absolute() and _has_changed(each)]
    if changed:
        raise Incomplete(
            f"{plural(len(changed), 'input')} changed after being read, like {changed[0]}: "
            "run the same command again to read them again"
        )


def _has_changed(known: Input) -> bool:
    # A missing input was deleted after it was stored.
    return known.version != "" and version_of(known.key) not in {known.version, ""}
