"""Internal: Batches of rows that no rule on a row fires on, found without a Python string for each text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from corpusfmt.formats.columns import values_at
from corpusfmt.formats.parquet.arrow import JSON_COLUMNS, json_rows, pyarrow
from corpusfmt.formats.parquet.rows import Columns
from corpusfmt.formats.rows.columned import is_id
from corpusfmt.io.jsonlines import decode_objects, decoded_lines
from corpusfmt.io.scan import double_encoding_at, is_utf8
from corpusfmt.model import Json

# Bytes that a character in UTF-8 does not begin with.
_CONTINUING = range(0x80, 0xC0)


class Suspect(Struct):
    """A row whose text may be encoded twice: its number from 0, the fields but the text, and the text in UTF-8."""

    number: int
    fields: Json
    text: bytes


class CleanRows(Struct):
    """So many rows, what identifies them if they have ids, and those whose texts may be encoded twice."""

    count: int
    keys: list[bytes | None]
    suspects: list[Suspect]
    #: The numbers of rows with an empty text, and the fields of the first of them.
    empty: Sequence[int] = ()
    first_empty: Json = {}


#: Returns what identifies rows, encoded; a table without ids has None instead.
KeysOf = Callable[[list[Json]], list[bytes | None]] | None


def clean_rows(batch: Any, columns: Columns, keys_of: KeysOf) -> CleanRows | None:
    """Return the rows of a table in memory, None if a rule may fire that is not about what texts say."""
    texts = _Texts(batch, columns.text)
    if not texts.are_whole():
        return None
    try:
        rows = json_rows(batch.drop_columns([columns.text]))
    except UnicodeDecodeError:
        return None
    if not _are_clean(rows, columns):
        return None
    suspects = [Suspect(number, rows[number], text) for number, text in texts.suspects()]
    empty = texts.empty()
    keys = keys_of(rows) if keys_of else []
    return CleanRows(batch.num_rows, keys, suspects, empty, rows[empty[0]] if empty else {})


def _are_clean(rows: list[Json], columns: Columns) -> bool:
    if columns.id is not None and not all(map(is_id, values_at(rows, columns.id))):
        return False
    if columns.ours:
        return all(_are_objects([row[name] for row in rows if row[name] is not None]) for name in JSON_COLUMNS)
    values = (each for each in columns.profile.values if each.name != columns.text)
    return all({*map(type, values_at(rows, each.path))} <= each.kinds for each in values)


def _are_objects(texts: list[str]) -> bool:
    """Return whether all texts are JSON objects; those with a line feed are in doubt."""
    lines = "\n".join(texts).encode()
    return not texts or (lines.count(b"\n") == len(texts) - 1 and decoded_lines(decode_objects, lines) is not None)


class _Texts:
    """A column of strings as the bytes of all of them, and where each begins and ends."""

    def __init__(self, batch: Any, name: str) -> None:
        column = batch.column(name).combine_chunks()
        self._nulls = column.null_count
        _, ends, data = column.buffers()
        kind: Literal["q", "i"] = "q" if pyarrow().types.is_large_string(column.type) else "i"
        self._ends = memoryview(ends).cast(kind)[column.offset : column.offset + len(column) + 1].tolist()
        self._data = data.slice(0, self._ends[-1]) if data else b""

    def are_whole(self) -> bool:
        """Return whether all are there and UTF-8."""
        if self._nulls or not is_utf8(self._data):
            return False
        data = memoryview(self._data).cast("B")
        return not any(data[end] in _CONTINUING for end in self._ends if end < len(data))

    def empty(self) -> Sequence[int]:
        """Return the numbers of those that are empty."""
        if len(set(self._ends)) == len(self._ends):
            return ()
        return [number for number, (start, end) in enumerate(pairwise(self._ends)) if start == end]

    def suspects(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each that may be encoded twice, and its bytes."""
        place = double_encoding_at(self._data, self._ends[0], False)
        while place >= 0:
            number = bisect_right(self._ends, place) - 1
            start, end = self._ends[number : number + 2]
            yield number, bytes(memoryview(self._data)[start:end])
            place = double_encoding_at(self._data, end, False)
