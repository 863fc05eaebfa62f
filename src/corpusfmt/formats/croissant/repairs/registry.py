"""Internal: The repair of each rule: a function from a draft and a defect to the edits that repair it."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.croissant.model.graph import Description
from corpusfmt.formats.croissant.model.jsontree import Places, name_at, parent_of
from corpusfmt.formats.croissant.repairs.draft import (
    Draft,
    NoPlace,
    fix_of_bytes,
    fix_of_syntax,
)
from corpusfmt.io.paths import Entry
from corpusfmt.model import Edit, Finding, Fix

# Repairs of a description without meaning, because of its contexts.
_OF_CONTEXTS = ("CRO112", "CRO113")
_MOST_EDITS_OF_A_REPAIR = 1_000
# A string or number in a piece of JSON; a name in an object is none.
_VALUE = re.compile(r'("(?:[^"\\]++|\\.)*+"|[^\s{}\[\],:"]++)(\s*+:)?', re.DOTALL)
_WORDS = re.compile(r"\s|[^\x00-\x7f]")


class Defect(Struct, frozen=True):
    """A finding at a place of a draft, with the `value` there; `text` is empty if the value is not a string."""

    code: str
    message: str
    hint: str
    pointer: str
    value: object

    @property
    def text(self) -> str:
        return self.value if isinstance(self.value, str) else ""

    @property
    def name(self) -> str:
        return name_at(self.pointer)

    @property
    def above(self) -> str:
        return parent_of(self.pointer)

    @property
    def meant(self) -> str:
        """The name that the hint suggests instead of a wrong one, "" if it suggests none."""
        return self._in_hint("did you mean")

    @property
    def to_write(self) -> str:
        """The text that the hint says to write, "" if it says none."""
        return self._in_hint("write")

    def _in_hint(self, before: str) -> str:
        match = re.search(f"{before} `([^`]+)`", self.hint)
        return match[1] if match else ""


#: Yields the edits that repair one defect, none if it cannot be repaired.
Repair = Callable[[Draft, Defect], Iterable[Edit]]

_REPAIRS: dict[str, tuple[Repair, bool]] = {}


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


def rewrites(*codes: str, safe: bool = True) -> Callable[[Callable[[str], str]], None]:
    """Register the repair of some rules about a string: a function to the right one, or to "" if it does not know it."""

    def register(rewritten: Callable[[str], str]) -> None:
        @repairs(*codes, safe=safe)
        def repair(draft: Draft, at: Defect) -> Iterator[Edit]:
            if isinstance(at.value, str) and (text := rewritten(at.value)) not in ("", at.value):
                yield draft.replace(at.pointer, text)

    return register


def repaired_codes() -> Iterator[str]:
    """Yield the codes of the rules that have a repair."""
    return iter(sorted(_REPAIRS))


def fix_of(draft: Draft, finding: Finding, data: bytes) -> Fix | None:
    """Return the repair of a finding in a file with this content, None if only the author can repair it."""
    pointer = finding.location.pointer
    if (
        finding.code not in _REPAIRS
        or pointer is None
        or (value := draft.at(pointer)) is None
        or not (draft.is_understood or finding.code in _OF_CONTEXTS)
    ):
        return None
    repair, safe = _REPAIRS[finding.code]
    most = min(_MOST_EDITS_OF_A_REPAIR, draft.edits_left)
    try:
        defect = Defect(finding.code, finding.message, finding.hint, pointer, value)
        edits = tuple(islice(repair(draft, defect), most + 1))
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


def sure(is_sure: bool, *edits: Edit) -> tuple[Edit, ...]:
    """Return edits; raises `Review` with them if they may be wrong."""
    if not is_sure:
        raise Review(*edits)
    return edits


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
