"""Internal: The fast path of Dolma: rows that the native kernel accepts at once.

It accepts no row on which a rule may fire, except those on spans and on what texts say. Without it, the rules judge every row.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from corpusfmt.formats.dolma.rows import AttributesRow, DocumentRow
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.formats.rows.records import Row
from corpusfmt.io.jsonlines import decode_objects, decoded_lines
from corpusfmt.model import Json

try:
    from corpusfmt.formats import _native
except ImportError:  # no wheel for this platform and no compiler: the same verdicts, more slowly
    _BUILT = False
else:
    _BUILT = True

if TYPE_CHECKING:
    from corpusfmt.formats._native import KeptRows


class Values(Struct):
    """What pairs rows, a column each; None where a row lacks it.

    `sizes` are the lengths of texts in code points; of attributes, what a text must have, the greatest end of each row's spans,
    or `UNCLEAR` if they need a closer look.
    """

    ids: list[str | None] = []
    sources: list[Any] = []
    sizes: list[int] = []

    def extend(self, others: Values) -> None:
        self.ids += others.ids
        self.sources += others.sources
        self.sizes += others.sizes


UNCLEAR = 1 << 63

#: The values of rows that were judged, or clean rows, which the kernel keeps until somebody asks for their values.
Kept: TypeAlias = "Values | KeptRows"

# Bytes in one call.
PIECE = 10 * 1024 * 1024


class Glance(Struct, frozen=True):
    """Rows of documents on which no rule can fire, unless it is about what texts say, or of attributes, unless it is on spans.

    They take up `size` bytes; `kept` is what pairs them. `marks` are the texts that may be encoded twice, as row and place; or the
    names of attributes that occur together in consecutive rows, after the first of these rows (from 0).
    """

    size: int
    rows: int
    kept: KeptRows
    marks: list[Any]


def values_of(kept: Kept) -> Values:
    """Return the values of rows that were kept."""
    return kept if isinstance(kept, Values) else Values(*_native.values(kept))


def agree(documents: Kept, row: int, attributes: Kept, start: int, end: int) -> bool:
    """Return whether rows of attributes certainly have the ids and sources of documents from a row on, and fit their texts."""
    if isinstance(documents, Values) or isinstance(attributes, Values):
        return False
    return _native.agree(documents, row, attributes, start, end)


def empty_texts(documents: KeptRows) -> tuple[int, int]:
    """Return the number of rows with an empty text, and the first of them."""
    return _native.empty_texts(documents)


def keys_of(documents: KeptRows) -> array[int]:
    """Return the XXH64 of the source, a tab and the id of each document."""
    return array("Q", _native.keys(documents))


def glance_at(data: bytes, *subjects: type, start: int = 0) -> Glance | None:
    """Return the first of whole lines from `start` on, or None without the kernel, or if a rule over the subjects may fire there."""
    if not _BUILT or not RULES.accepts_unseen(*subjects):
        return None
    read = _native.documents if DocumentRow in subjects else _native.attributes
    found = read(memoryview(data)[start:])
    return None if found is None else Glance(*found)


def clean_documents(data: bytes) -> list[Json] | None:
    """Return the objects on whole lines, None without the kernel, or if a rule may fire."""
    found = glance_at(data, Row, DocumentRow)
    return decoded_lines(decode_objects, data) if found is not None and found.size == len(data) else None


def clean_attributes(data: bytes) -> Values | None:
    """Return what pairs whole lines, None without the kernel, or if a rule may fire that is not on spans."""
    found = glance_at(data, Row, AttributesRow, Spans)
    return values_of(found.kept) if found is not None and found.size == len(data) else None
