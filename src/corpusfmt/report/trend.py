"""Internal: What changed between two reports of the same corpus or description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from corpusfmt.model import Finding, Json, Report, UsageError, finding_record
from corpusfmt.report.machine import dumped
from corpusfmt.report.text import entry_line
from corpusfmt.report.view import SEVERITIES, folded
from corpusfmt.wording import markdown as code
from corpusfmt.wording import unknown

_MOST_EXAMPLES = 20


class Change(Struct, frozen=True):
    """The occurrences of a rule that are only in the old report, only in the new one, and in both.

    Occurrences are paired by file: as many as both reports count there are unchanged.
    """

    rule: str
    gone: int
    new: int
    unchanged: int


class Trend(Struct, frozen=True):
    """Two reports, what changed by rule, and kept findings that are in one of them only, errors first."""

    old: Report
    new: Report
    changes: Sequence[Change]
    appeared: Sequence[Finding]
    disappeared: Sequence[Finding]

    @property
    def totals(self) -> Mapping[str, int]:
        """Occurrences by `new`, `gone` and `unchanged`."""
        return {name: sum(getattr(each, name) for each in self.changes) for name in ("new", "gone", "unchanged")}


def trend(old: Report, new: Report) -> Trend:
    """Compare two reports. A finding is the same if rule, file, place in a document and message are; lines may move."""
    before, after = _counts(old), _counts(new)
    by_rule: dict[str, Counter[str]] = {}
    for key in before.keys() | after.keys():
        same = min(before[key], after[key])
        by_rule.setdefault(key[0], Counter()).update(
            {"gone": before[key] - same, "new": after[key] - same, "unchanged": same}
        )
    changes = [Change(rule, each["gone"], each["new"], each["unchanged"]) for rule, each in sorted(by_rule.items())]
    return Trend(old, new, changes, _only(new, old, after - before), _only(old, new, before - after))


def _counts(report: Report) -> Counter[tuple[str, str]]:
    return Counter({(code, path): count for path, codes in report.by_path.items() for code, count in codes.items()})


def _only(here: Report, there: Report, more: Mapping[tuple[str, str], int]) -> list[Finding]:
    """Return the kept findings of a report that the other does not have, at most as many per rule and file as it has more."""
    known = Counter(map(_identity, there.findings))
    left = Counter(more)
    found = []
    for finding in here.findings:
        identity, place = _identity(finding), (finding.code, finding.location.path)
        if known[identity]:
            known[identity] -= 1
        elif left[place] > 0:
            left[place] -= finding.count
            found.append(finding)
    return sorted(found, key=lambda each: SEVERITIES.index(each.severity))


def _identity(finding: Finding) -> tuple[str, ...]:
    at = finding.location
    return finding.code, at.path, at.pointer or "", at.record or "", finding.message


def _examples(found: Trend) -> Iterator[tuple[str, Sequence[Finding], int]]:
    """Yield the findings that are listed as new and as gone, and the number of occurrences that are not, even if reports keep none."""
    for title, findings in (("new", found.appeared), ("gone", found.disappeared)):
        examples = findings[:_MOST_EXAMPLES]
        yield title, examples, max(found.totals[title] - sum(each.count for each in examples), 0)


def text(found: Trend) -> Iterator[str]:
    """Yield lines for a terminal."""
    for title, examples, further in _examples(found):
        for entry in folded(examples):
            yield f"{title}: {entry_line(entry)}"
        if further:
            yield f"{title}: … {further:,} more"
    for each in found.changes:
        if each.new or each.gone:
            yield f"{each.rule}: {each.new:,} new, {each.gone:,} gone, {each.unchanged:,} unchanged"
    yield _summary(found)


def markdown(found: Trend) -> Iterator[str]:
    """Yield lines for a comment on a change."""
    yield f"## corpusfmt: {found.old.verdict.value} → {found.new.verdict.value}"
    yield ""
    yield _summary(found)
    changed = [each for each in found.changes if each.new or each.gone]
    if changed:
        yield ""
        yield "| rule | new | gone | unchanged |"
        yield "|---|--:|--:|--:|"
        for each in changed:
            yield f"| {code(each.rule)} | {each.new:,} | {each.gone:,} | {each.unchanged:,} |"
    for title, examples, further in _examples(found):
        if examples:
            yield ""
            yield f"{title.capitalize()}:"
            yield ""
            for finding in examples:
                where, what = code(str(finding.location)), code(finding.message)
                yield f"- {where} {finding.code} {finding.severity}: {what}"
            if further:
                yield f"- {further:,} more"


def json_object(found: Trend) -> Iterator[str]:
    """Yield one JSON object."""
    whole: Json = {
        "schema": "corpusfmt-trend/1",
        "old": found.old.verdict.value,
        "new": found.new.verdict.value,
        "totals": found.totals,
        "by_rule": {
            each.rule: {"new": each.new, "gone": each.gone, "unchanged": each.unchanged} for each in found.changes
        },
        "appeared": [finding_record(each) for each in found.appeared],
        "disappeared": [finding_record(each) for each in found.disappeared],
    }
    yield dumped(whole, indent=2)


def _summary(found: Trend) -> str:
    verdicts = f"{found.old.verdict.value} → {found.new.verdict.value}"
    totals = ", ".join(f"{count:,} {name}" for name, count in found.totals.items())
    return f"{verdicts}: {totals}"


#: Each function yields the lines of an output, without line ends.
RENDERERS: Mapping[str, Callable[[Trend], Iterator[str]]] = {"text": text, "json": json_object, "markdown": markdown}


def renderer(name: str) -> Callable[[Trend], Iterator[str]]:
    """Return the function for an output format. Raises `UsageError` for an unknown name."""
    if name not in RENDERERS:
        raise UsageError(unknown("output format", name, RENDERERS))
    return RENDERERS[name]
