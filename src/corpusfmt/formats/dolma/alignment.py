"""Internal: Rows that must line up: same number, same order, same ids and sources."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from corpusfmt.formats.dolma.rows import clipped
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.model import Fault, Location, Problem
from corpusfmt.wording import plural

SPEC = "dolma-data-format#dolma-toolkit-attributes-format"
# The number of rows from the first difference on that are kept to explain it: 8 bytes per row and side.
_KEPT_ROWS = 1 << 20


ROW_COUNT_MISMATCH = RULES.finding(
    "DOL501",
    "row-count-mismatch",
    """An attributes file has more or fewer rows than its documents file.

    Why: rows pair by position. If attributes end early, the mixer does not filter the rest of the documents, and stops
    reading all later attribute sets; extra rows are ignored.
    Example: a tagger that was killed; a document that was dropped without its attributes.
    Fix: run the tagger on the file again.
    """,
    spec=SPEC,
)


ROW_ID_MISMATCH = RULES.finding(
    "DOL502",
    "row-id-mismatch",
    """A row of attributes and the document on the same row have different ids.

    Reported once per file, at the first such row, with an explanation: rows are shifted, swapped or reordered. If the number
    of rows also differs, DOL501 reports it.

    Why: the mixer stops at a wrong id; if ids are missing or all equal, documents get the attributes of others.
    Example: a file that was sorted or shuffled without its attributes.
    Fix: run the tagger on the file again, or sort the rows in the order of the documents.
    """,
    spec=SPEC,
)


def other_count(at: Location, documents: int, attributes: int, difference: str = "") -> Fault:
    """Return the fault of a file with more or fewer rows than its documents; `difference` explains it, if known."""
    message = f"{attributes:,} rows, the documents file has {documents:,}"
    message += f"; {difference}" if difference else ""
    return Fault(ROW_COUNT_MISMATCH, Problem(message, at, "run the tagger on the documents file again"))


def other_id(at: Location, difference: str) -> Fault:
    """Return the fault of a row of attributes with another id than its document."""
    return Fault(ROW_ID_MISMATCH, Problem(difference, at, "sort the rows in the order of the documents"))


ROW_SOURCE_MISMATCH = RULES.finding(
    "DOL503",
    "row-source-mismatch",
    """A row of attributes has the id of its document, but a different source.

    Why: id and source together identify a document; the mixer does not compare sources.
    Example: attributes of `c4` next to documents of `github`, both with ids from 1.
    Fix: pair the files of the same source.
    """,
    spec=SPEC,
)


def other_source(at: Location, document: str | None, attributes: object) -> Fault:
    """Return the fault of a row of attributes with another source than its document."""
    message = f"the source is `{clipped(attributes)}`, the document has `{clipped(document)}`"
    return Fault(ROW_SOURCE_MISMATCH, Problem(message, at, "pair the files of the same source"))


class Difference:
    """Collects the ids of both sides from the first different row on, to explain the difference."""

    def __init__(self, row: int, place: Location, document_id: str | None, attributes_id: str | None) -> None:
        self.place = place
        self._row = row
        self._ids = (document_id, attributes_id)
        self._documents = array("q")
        self._attributes = array("q")

    def add_documents(self, ids: Sequence[str | None]) -> None:
        """Add ids of consecutive documents."""
        _add(self._documents, ids)

    def add_attributes(self, ids: Sequence[str | None]) -> None:
        """Add ids of consecutive rows of attributes."""
        _add(self._attributes, ids)

    def explained(self) -> str:
        """Return the explanation."""
        document_id, attributes_id = self._ids
        wrong = f"row {self._row + 1} has the id `{attributes_id}`, the document there `{document_id}`"
        return f"{wrong}: {_what_happened(self._documents, self._attributes, self._row)}"


def _add(kept: array[int], ids: Sequence[str | None]) -> None:
    if len(kept) < _KEPT_ROWS:
        kept.extend(map(hash, ids[: _KEPT_ROWS - len(kept)]))


def _what_happened(documents: array[int], attributes: array[int], row: int) -> str:
    """Explain the difference of two sequences of ids that differ at their first element, on `row` (from 0)."""
    common = min(len(documents), len(attributes))
    wrong = [place for place in range(common) if documents[place] != attributes[place]]
    if len(documents) == len(attributes):
        if len(wrong) == 1:
            return "no other row differs"
        if len(wrong) == 2 and _swapped(documents, attributes, *wrong):
            return f"rows {row + wrong[0] + 1} and {row + wrong[1] + 1} are swapped"
    for rows, (ahead, behind) in {"missing": (documents, attributes), "too many": (attributes, documents)}.items():
        shift = _shift(ahead, behind)
        if shift and len(ahead) - len(behind) == shift:
            return f"{plural(shift, 'row')} from row {row + 1} on {'is' if shift == 1 else 'are'} {rows}"
        if shift:
            direction = "up" if rows == "missing" else "down"
            return f"from there on the rows are shifted {direction} by {shift}"
    shared = (Counter(documents) & Counter(attributes)).total()
    if shared == len(documents) == len(attributes):
        return f"the rows are reordered: {len(wrong)} of {shared} from there on are elsewhere"
    return f"{len(wrong)} of {common} rows from there on differ, {shared} ids are in both files"


def _swapped(documents: array[int], attributes: array[int], one: int, other: int) -> bool:
    return documents[one] == attributes[other] and documents[other] == attributes[one]


def _shift(ahead: array[int], behind: array[int]) -> int:
    """Return the number of rows after which `behind` continues in `ahead`; 0 if it does not."""
    if not behind:
        return 0
    try:
        shift = ahead.index(behind[0])
    except ValueError:
        return 0
    overlap = min(len(ahead) - shift, len(behind))
    return shift if ahead[shift : shift + overlap] == behind[:overlap] else 0
