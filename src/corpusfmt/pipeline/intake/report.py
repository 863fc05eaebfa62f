"""Internal: Report inputs that were excluded, and refuse to write a corpus without any input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from corpusfmt.formats.general import LINK_OUTSIDE_ROOT, broken_stream
from corpusfmt.io.paths import version_of
from corpusfmt.model import Coverage, Incomplete, Location, Problem, Report
from corpusfmt.pipeline.intake.take import Inputs, Taken, container_name
from corpusfmt.pipeline.process.store import Size
from corpusfmt.pipeline.rules import FALSE_DIGEST, REST_NOT_READ, RULES, STEP_FAILED, wet_fault
from corpusfmt.rules import Grading, Judge
from corpusfmt.wording import plural

# Most inputs to name if none can be read.
_MOST_NAMED = 5


class Usable(Struct):
    """What later stages need to know of all inputs: the SHA-256 of those that are used, and sums."""

    inputs: Inputs
    #: The number of inputs that are used.
    number: int = 0
    lines: Counter[str] = field(default_factory=Counter)
    original: dict[str, Size] = {}
    dropped: Counter[str] = field(default_factory=Counter)
    cleaned: Counter[str] = field(default_factory=Counter)
    steps: dict[str, Counter[str]] = {}
    #: Whether nothing of any input was left out because of an error.
    is_whole: bool = True
    # Of each input; empty for those that are not used.
    _digests: list[str] = field(default_factory=list)

    @property
    def containers(self) -> Iterator[tuple[str, str]]:
        """The names of the containers of inputs, in order, each with the SHA-256 of its input."""
        for each, digest in zip(self.inputs.known, self._digests, strict=True):
            if digest:
                yield container_name(each), digest

    def add(self, taken: Taken) -> None:
        """Count an input, unless it is quarantined."""
        processed = taken.processed
        self.is_whole = self.is_whole and processed.is_whole
        for label, size in processed.original.items():
            sums = self.original.setdefault(label, Size())
            sums += size
        for name, counts in processed.steps.items():
            self.steps.setdefault(name, Counter()).update(msgspec.structs.asdict(counts))
        self.dropped.update(processed.dropped)
        self.cleaned.update(processed.cleaned)
        if processed.quarantined is None:
            self.number += 1
            self.lines.update(processed.stored)
        self._digests.append("" if processed.quarantined is not None else processed.sha256)


def report_of(inputs: Inputs) -> tuple[Report, Usable]:
    """Return a report that names the inputs of which nothing or only a part is used, and what is used."""
    usable = Usable(inputs)

    def counted() -> Iterator[Taken]:
        for taken in inputs:
            usable.add(taken)
            yield taken

    return judged(counted(), len(inputs)), usable


def judged(results: Iterable[Taken], total: int) -> Report:
    """Return a report on inputs that were read, of `total`."""
    judge = Judge(RULES, Grading(), version="", path=".")
    coverage = Coverage(shards_total=total)
    for each in results:
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
            false, first = processed.false_digests
            if false:
                message = f"conversion record {first} is not the text that its digest is of"
                judge.report(FALSE_DIGEST, Problem(message, at, "fetch the file again", false))
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


def refuse_changed(inputs: Inputs) -> None:
    """Raise `Incomplete` if local inputs have changed: the manifest would contain wrong digests."""
    # What has been removed since was read before.
    changed = [
        each.path
        for each in inputs.known
        if Path(each.key).is_absolute() and each.version and version_of(each.key) not in {each.version, ""}
    ]
    if changed:
        raise Incomplete(
            f"{plural(len(changed), 'input')} changed after being read, like {changed[0]}: "
            "run the same command again to read them again"
        )
