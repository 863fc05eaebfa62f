"""Internal: The repair of each rule: a function from a draft and a finding to the edits that repair it."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from msgspec.structs import replace

from corpusfmt.formats.croissant.model.graph import Description
from corpusfmt.formats.croissant.model.jsontree import Places
from corpusfmt.formats.croissant.repairs.draft import Draft, NoPlace, fix_of_bytes, fix_of_syntax
from corpusfmt.io.paths import Entry
from corpusfmt.model import Edit, Finding, Fix

#: Yields the edits that repair one finding at a place, none if it cannot be repaired.
Repair = Callable[[Draft, str, Finding], Iterable[Edit]]

_REPAIRS: dict[str, tuple[Repair, bool]] = {}
# Repairs of a description without meaning, because of its contexts.
_OF_CONTEXTS = ("CRO112", "CRO113")
_MOST_EDITS_OF_A_REPAIR = 1_000
# A string or number in a piece of JSON; a name in an object is none.
_VALUE = re.compile(r'("(?:[^"\\]++|\\.)*+"|[^\s{}\[\],:"]++)(\s*+:)?', re.DOTALL)
_WORDS = re.compile(r"\s|[^\x00-\x7f]")
_MEANT = re.compile(r"did you mean `([^`]+)`")


class Review(Exception):
    """Edits of a repair that is usually safe, but needs a review here."""

    def __init__(self, *edits: Edit) -> None:
        super().__init__()
        self.edits = edits


def repairs(*codes: str, safe: bool = True) -> Callable[[Repair], Repair]:
    """Register the repair of some rules. A repair that is not `safe` may change the meaning of the description."""

    def register(repair: Repair) -> Repair:
        for code in codes:
            if code in _REPAIRS:
                raise ValueError(f"{code} has two repairs")
            _REPAIRS[code] = repair, safe
        return repair

    return register


def repaired_codes() -> Iterator[str]:
    """Yield the codes of the rules that have a repair."""
    return iter(sorted(_REPAIRS))


def fix_of(draft: Draft, finding: Finding, data: bytes) -> Fix | None:
    """Return the repair of a finding in a file with this content, None if only the author can repair it."""
    repair, safe = _REPAIRS.get(finding.code, (None, True))
    pointer = finding.location.pointer
    if (
        repair is None
        or pointer is None
        or draft.at(pointer) is None
        or not (draft.is_understood or finding.code in _OF_CONTEXTS)
    ):
        return None
    most = min(_MOST_EDITS_OF_A_REPAIR, draft.edits_left)
    try:
        edits = tuple(islice(repair(draft, pointer, finding), most + 1))
    except Review as review:
        edits, safe = review.edits, False
    except NoPlace:
        return None
    draft.edits_left = max(0, draft.edits_left - len(edits))
    if len(edits) > most:
        return None
    lost = _lost(edits, data)
    edits = tuple(
        each
        for each in dict.fromkeys(edits)
        if data[each.start : each.end] != each.text.encode("utf-8", "surrogatepass")
    )
    # What an author says in words is never removed.
    if not edits or _overlap(edits) or any(_WORDS.search(value) for value in lost):
        return None
    return Fix(edits, safe, removes=bool(lost))


def _lost(edits: Iterable[Edit], data: bytes) -> set[str]:
    """Return the values that edits remove: that they neither write elsewhere nor replace by others."""
    before = {value for edit in edits for value in _values(data[edit.start : edit.end].decode())}
    after = {value for edit in edits for value in _values(edit.text)}
    lost = {value for value in before if not any(value in each for each in after)}
    return lost if len(lost) > len(after - before) else set()


def _values(text: str) -> Iterator[str]:
    for piece, colon in _VALUE.findall(text):
        if not colon and piece != "null":
            yield json.loads(piece, strict=False) if piece[0] == '"' else piece


def _overlap(edits: tuple[Edit, ...]) -> bool:
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    return any(one.end > other.start for one, other in pairwise(ordered))


def meant(finding: Finding) -> str:
    """Return the name that the rule's hint suggests instead of a wrong one, "" if it suggests none."""
    found = _MEANT.search(finding.hint)
    return found.group(1) if found else ""


def is_slip(written: Any, right: str) -> bool:
    """Return whether a name differs from the right one only in case and marks, or by a path before it."""
    if not isinstance(written, str):
        return False
    return _plain(written) == _plain(right) or right.endswith(f"/{written}")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9:/]", "", name.lower())


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
    return fix_of(draft, finding, data) if draft.tree is not None else None
