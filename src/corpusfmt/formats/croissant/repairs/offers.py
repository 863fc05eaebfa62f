"""Internal: The findings about a description with the edits that repair each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from corpusfmt.formats.croissant.model.graph import Description
from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.formats.croissant.repairs.draft import Draft
from corpusfmt.formats.croissant.repairs.registry import fix_of
from corpusfmt.formats.croissant.repairs.text import fix_of_bytes, fix_of_syntax
from corpusfmt.io.paths import Entry
from corpusfmt.model import Finding, Fix

#: A JSON text in the file: its position, its content, its model.
Text = tuple[Places, Any, Description | None]


def offered(
    findings: Sequence[Finding], entry: Entry, data: bytes, texts: Sequence[Text], *, reading: bool
) -> Iterator[Finding]:
    """Yield the findings of a check, with their repairs if they have any; files are measured only with `reading`."""
    drafts = [Draft(*text, entry.folder(), reading=reading) for text in texts]
    ends = [draft.end for draft in drafts]
    for finding in findings:
        fix = _fix(finding, data, drafts, ends) if finding.location.path == entry.path else None
        yield replace(finding, problem=replace(finding.problem, fix=fix)) if fix is not None else finding


def _fix(finding: Finding, data: bytes, drafts: Sequence[Draft], ends: Sequence[int]) -> Fix | None:
    if finding.code == "CRO102":
        return fix_of_bytes(data)
    index = bisect_left(ends, finding.location.byte or 0)
    if index == len(drafts):
        return None
    draft = drafts[index]
    if finding.code == "CRO101":
        return fix_of_syntax(finding, draft.text, draft.places)
    if finding.code == "CRO105":
        return draft.repetitions.get(finding.location.byte or 0)
    return fix_of(draft, finding) if draft.tree is not None else None
