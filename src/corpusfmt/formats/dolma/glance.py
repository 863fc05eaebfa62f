"""Internal: What a check needs of clean rows, from a native kernel if it is built and else from `clean`.

Both find the same. Neither accepts a row on which a rule may fire, but they may leave different other rows to
the rules.
"""

from __future__ import annotations

from array import array
from operator import le
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct, defstruct
from msgspec.structs import astuple

from corpusfmt.formats import COUNTED_METADATA, Tables, Texts
from corpusfmt.formats.dolma.clean import Values, clean_attributes, clean_documents
from corpusfmt.io.jsonlines import UNDECODABLE, may_lose_digits
from corpusfmt.io.loading import BLOCK_BYTES
from corpusfmt.io.looking import Look, Samples, each_row
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.model import Json

try:
    from corpusfmt.formats import _native
except ImportError:  # no wheel for this platform and no compiler: the same verdicts, more slowly
    _BUILT = False
else:
    _BUILT = True

if TYPE_CHECKING:
    from corpusfmt.formats._native import KeptRows

#: The values of clean rows, or the rows themselves, which the kernel keeps until somebody asks for their values.
Kept: TypeAlias = "Values | KeptRows"

# Bytes in one call: a loader's block ends in it at most once before its last row, and the intermediate values in `clean` fit a
# processor's cache.
PIECE = BLOCK_BYTES if _BUILT else 32 * 1024


class DocumentsGlance(Struct, frozen=True):
    """Rows of documents on which no rule can fire, unless it is about what texts say; they take up `size` bytes.

    `kept` is what pairs them. `suspects` has the texts that may be encoded twice: row and place. `samples` are rows that together
    have the types of all that were not in samples before, see `io.looking`; without the kernel, all rows.
    """

    size: int
    rows: int
    kept: Kept
    suspects: list[tuple[int, int]] = []
    samples: Samples = ()


class AttributesGlance(Struct, frozen=True):
    """Rows of attributes on which only rules on spans can fire; `shapes` as `CleanAttributes` has them, the rest as above."""

    size: int
    rows: int
    kept: Kept
    shapes: list[tuple[int, tuple[str, ...]]]
    samples: Samples = ()


def values_of(kept: Kept) -> Values:
    """Return the values of rows that were kept."""
    return kept if isinstance(kept, Values) else Values(*_native.values(kept))


def agree(documents: Kept, row: int, attributes: Kept, start: int, end: int) -> bool:
    """Return whether rows of attributes have the ids and sources of the documents from a row on, and spans within their texts."""
    if not isinstance(documents, Values) and not isinstance(attributes, Values):
        return _native.agree(documents, row, attributes, start, end)
    its, mine = values_of(documents), values_of(attributes)
    rows = row + end - start
    sources = zip(mine.sources[start:end], its.sources[row:rows], strict=True)
    return (
        its.ids[row:rows] == mine.ids[start:end]
        and all(source in (None, beside) for source, beside in sources)
        and all(map(le, mine.sizes[start:end], its.sizes[row:rows]))
    )


def empty_texts(documents: Kept) -> tuple[int, int]:
    """Return the number of rows with an empty text, and the first of them."""
    if not isinstance(documents, Values):
        return _native.empty_texts(documents)
    count = documents.sizes.count(0)
    return count, documents.sizes.index(0) if count else 0


def keys_of(documents: KeptRows) -> array[int]:
    """Return the XXH64 of the source, a tab and the id of each document."""
    return array("Q", _native.keys(documents))


def _rows_to_try(data: bytes, start: int) -> bytes:
    """Return whole lines that are clean or not, without the kernel: all, or once these are not, one at a time."""
    return data[start : data.find(b"\n", start) + 1 or len(data)] if start else data


def glance_at_documents(data: bytes, start: int = 0, look: Look | None = None) -> DocumentsGlance | None:
    """Return the columns of the first of whole lines from `start` on, or None if a rule may fire there.

    With a `look` they are sampled for it.
    """
    if not _BUILT:
        data = _rows_to_try(data, start)
        doubtful = may_lose_digits(data) or double_encoding_at(data, 0, True) >= 0
        clean = None if doubtful else clean_documents(data)
        if clean is None:
            return None
        values = Values([*clean.ids], [*clean.sources], list(map(len, clean.texts)))
        return DocumentsGlance(len(data), len(clean.ids), values, samples=each_row(data) if look else ())
    columns = _native.documents(memoryview(data)[start:], look.sampler if look else None)
    return None if columns is None else DocumentsGlance(*columns)


_Metadata = defstruct(
    "_Metadata", [(name, Any, None) for name in ("language", *COUNTED_METADATA)], frozen=True, gc=False
)


class _Row(Struct, gc=False):
    source: str
    created: str | None = None
    added: str | None = None
    attributes: Json = {}
    metadata: _Metadata = _Metadata()  # type: ignore[valid-type]


_decode_rows = msgspec.json.Decoder(_Row).decode_lines


def clean_texts(data: bytes, tables: Tables) -> Texts | None:
    """Return the documents of a block of whole lines as what is counted; None without the kernel, or if one may be faulty."""
    before = bytes(tables.letters)
    found = _native.texts(data, tables.keeps_texts, tables.classes, tables.states, tables.letters) if _BUILT else None
    if found is None:
        return None
    texts, measures, others = found
    try:
        rows = _decode_rows(others)
    except UNDECODABLE:
        tables.letters[:] = before
        return None
    sources, created, added, attributes, metadata = zip(*map(astuple, rows), strict=True)
    columns = dict(zip(_Metadata.__struct_fields__, zip(*map(astuple, metadata), strict=True), strict=True))
    languages = [language if isinstance(language, str) else None for language in columns.pop("language")]
    # Most columns have a value in all rows, or in none.
    occurring = {
        name: column for name, column in columns.items() if column[0] is not None or column.count(None) < len(column)
    }
    return Texts(texts, b"", measures, languages, sources, created, added, occurring, attributes)


def glance_at_attributes(data: bytes, start: int = 0, look: Look | None = None) -> AttributesGlance | None:
    """Return the columns of the first of whole lines from `start` on, or None if a rule may fire there.

    With a `look` they are sampled for it.
    """
    if not _BUILT:
        data = _rows_to_try(data, start)
        clean = None if may_lose_digits(data) else clean_attributes(data)
        if clean is None:
            return None
        samples = each_row(data) if look else ()
        return AttributesGlance(len(data), len(clean.values.ids), clean.values, clean.shapes, samples)
    columns = _native.attributes(memoryview(data)[start:], look.sampler if look else None)
    return None if columns is None else AttributesGlance(*columns)
