"""For formats: Documents in batches, which a part takes at once if nothing needs to be known of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from corpusfmt.model import Json


class Batch(Struct):
    """Rows of JSON Lines in the form of Dolma, whole lines; `taken` is the number of documents that a part took."""

    data: bytes
    taken: int = 0


class EncodedRows(Batch, kw_only=True):
    """Rows as they are written, by a reader that knows that its documents would become the same.

    `names` has source and id of each, joined by a tab. `like` has one row with the same types in all columns, or all rows;
    the texts in it may be others.
    """

    names: Sequence[bytes]
    like: Sequence[Json]


class RowBlock(Batch, kw_only=True):
    """Rows that were read, to be taken at once or not at all; `each` reads them as documents.

    A part may take documents of the `language` that all of its documents have.
    """

    each: Callable[[], Iterator[Any]]
    language: str = ""
