"""Internal: Tables checked block by block: the cells of many rows as arrays, and column checks without a loop.

Only cells that are clearly valid are accepted here. The standard library's reader and the casts decide on all others,
so both ways give the same verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from msgspec import Struct
from xxhash import xxh64_intdigest

from corpusfmt.formats.croissant.data.casts import Cast, to_date, to_float, to_integer, to_number, to_text, unchanged
from corpusfmt.formats.croissant.data.lookup import key_of

try:
    from corpusfmt.formats.croissant import _native
except ImportError:  # no wheel for this platform and no compiler: the same verdict, more slowly
    native: ModuleType | None = None
else:
    native = _native

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Mask = npt.NDArray[np.bool_]
    Hashes = npt.NDArray[np.uint64]

_QUOTE, _LF, _CR = 34, 10, 13
# Longer numbers are left to the casts; any number of this many digits fits 64 bits.
_MOST_DIGITS = 18
_MOST_CHARACTERS = 24
_DATE = b"0000-00-00"


class Column(Struct, frozen=True):
    """The cells of one column of a block: the start and end of each in `buffer`, without its quotes."""

    data: bytes
    buffer: npt.NDArray[np.uint8]
    starts: Ints
    ends: Ints
    #: Cells that contain doubled quotes, so their bytes are not their text.
    escaped: Mask | None

    @property
    def empty(self) -> Mask:
        same: Mask = self.starts == self.ends
        return same

    def text(self, row: int) -> str | None:
        """Return the text of a cell, None for an empty one."""
        cell = self.data[self.starts[row] : self.ends[row]].decode()
        if self.escaped is not None and self.escaped[row]:
            cell = cell.replace('""', '"')
        return cell or None


class Uneven(Exception):
    """A block is not a simple table; `is_open` if it ends inside quotes, which the next block may close."""

    def __init__(self, *, is_open: bool = False, is_odd: bool = False) -> None:
        super().__init__()
        self.is_open = is_open
        #: Whether quotes are in places that only the reader can interpret, so rows may cross the end of the block.
        self.is_odd = is_odd


def split(data: bytes, delimiter: str, width: int, wanted: Sequence[int]) -> tuple[int, list[Column]]:
    """Return the number of rows in whole lines of UTF-8 text, and the wanted columns.

    Raises `Uneven` if a row has another width or quotes are misplaced.
    """
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    buffer = np.frombuffer(data, dtype=np.uint8)
    ending = (buffer == ord(delimiter)) | (buffer == _LF)
    quoted = b'"' in data
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        raise Uneven(is_odd=True)
    if quoted:
        ending &= _outside(buffer, ord(delimiter))
    ends = np.flatnonzero(ending)
    if len(ends) % width or not len(ends):
        raise Uneven
    at_line_end = (buffer[ends] == _LF).reshape(-1, width)
    if not at_line_end[:, -1].all() or at_line_end[:, :-1].any():
        raise Uneven
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    if b"\r" in data:
        line_ends = ends[width - 1 :: width]
        ends[width - 1 :: width] = line_ends - ((buffer[np.maximum(line_ends - 1, 0)] == _CR) & (line_ends > 0))
    if width == 1 and (starts == ends).any():
        raise Uneven  # an empty line is not a row
    first, last = starts.reshape(-1, width), ends.reshape(-1, width)
    return len(first), [_column(data, buffer, first[:, at], last[:, at], quoted=quoted) for at in wanted]


def _column(data: bytes, buffer: npt.NDArray[np.uint8], starts: Ints, ends: Ints, *, quoted: bool) -> Column:
    if not quoted:
        return Column(data, buffer, starts, ends, None)
    import numpy as np  # noqa: PLC0415

    held = (buffer[starts] == _QUOTE) & (ends > starts)
    starts, ends = starts + held, ends - held
    escaped = None
    rows = np.flatnonzero(held)
    if len(rows):
        quotes = np.flatnonzero(buffer == _QUOTE)
        inside = np.searchsorted(quotes, ends[rows]) > np.searchsorted(quotes, starts[rows])
        if inside.any():
            escaped = np.zeros(len(starts), dtype=np.bool_)
            escaped[rows[inside]] = True
    return Column(data, buffer, starts, ends, escaped)


def _outside(buffer: npt.NDArray[np.uint8], delimiter: int) -> Mask:
    """Return which bytes are outside quotes. Raises `Uneven` if a quote is not at the edge of a cell."""
    import numpy as np  # noqa: PLC0415

    quotes = np.flatnonzero(buffer == _QUOTE)
    opening, closing = quotes[::2], quotes[1::2]
    border = np.zeros(256, dtype=np.bool_)
    border[[delimiter, _LF, _QUOTE]] = True
    before = border[buffer[np.maximum(opening - 1, 0)]] | (opening == 0)
    border[_CR] = True  # which occurs only before LF here
    after = border[buffer[np.minimum(closing + 1, len(buffer) - 1)]]
    if not before.all() or not after.all():
        raise Uneven(is_odd=True)
    if len(quotes) % 2:
        raise Uneven(is_open=True)
    # A doubled quote outside quotes, as in `a,"",b`, is an empty cell; `""a` was rejected above.
    inside = np.zeros(len(buffer) + 1, dtype=np.int8)
    inside[opening] = 1
    inside[closing] -= 1
    outside: Mask = np.cumsum(inside[:-1], dtype=np.int8) == 0
    return outside


def left_over(column: Column, cast: Cast) -> Ints:
    """Return the rows of a column that do not clearly have a type; only they need a cast."""
    import numpy as np  # noqa: PLC0415

    if cast in (to_text, unchanged):
        return np.empty(0, dtype=np.int64)
    if cast is to_date:
        return _no_date(column)
    if cast in (to_integer, to_float, to_number):
        return _no_number(column, fraction=cast is not to_integer)
    return np.flatnonzero(~column.empty)


def _no_number(column: Column, *, fraction: bool) -> Ints:
    import numpy as np  # noqa: PLC0415

    lengths = column.ends - column.starts
    longest = min(int(lengths.max(initial=0)), _MOST_CHARACTERS if fraction else _MOST_DIGITS)
    digits = np.zeros(len(lengths), dtype=np.int64)
    points = np.zeros(len(lengths), dtype=np.int64)
    limit = len(column.buffer) - 1
    first = column.buffer[np.minimum(column.starts, limit)]
    signs = ((first == ord("-")) | (first == ord("+"))) & (lengths > 0)
    for offset in range(longest):
        character = column.buffer[np.minimum(column.starts + offset, limit)]
        within = lengths > offset
        digits += ((character - np.uint8(ord("0"))) <= 9) & within
        if fraction:
            points += (character == ord(".")) & within
    plain = (digits + points + signs == lengths) & (digits > 0) & (points <= 1)
    return np.flatnonzero(~(plain | (lengths == 0)))


def _no_date(column: Column) -> Ints:
    import numpy as np  # noqa: PLC0415

    size = len(_DATE)
    lengths = column.ends - column.starts
    plain = lengths == size
    limit = len(column.buffer) - 1
    cells = [column.buffer[np.minimum(column.starts + offset, limit)] for offset in range(size)]
    for offset, shape in enumerate(_DATE):
        plain &= cells[offset] == shape if shape == ord("-") else (cells[offset] - np.uint8(ord("0"))) <= 9
    month = (cells[5] - np.uint8(ord("0"))) * np.uint8(10) + (cells[6] - np.uint8(ord("0")))
    day = (cells[8] - np.uint8(ord("0"))) * np.uint8(10) + (cells[9] - np.uint8(ord("0")))
    year = (cells[0] | cells[1] | cells[2] | cells[3]) != ord("0")
    # The cast checks the 29th and later against the calendar.
    plain &= year & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 28)
    return np.flatnonzero(~(plain | (lengths == 0)))


def keys_of(column: Column, cast: Cast, rest: Ints) -> Hashes:
    """Return the hash of each cell's key: the hash of its bytes if they are the key, else of the value's key.

    Raises `ValueError` if a cell of the `rest` has no value of the type.
    """
    import numpy as np  # noqa: PLC0415

    found = _hashes(column)
    others = {*rest.tolist()}
    if column.escaped is not None:
        others |= {*np.flatnonzero(column.escaped).tolist()}
    if cast is to_integer:
        first = column.buffer[np.minimum(column.starts, len(column.buffer) - 1)]
        spelt = (first == ord("0")) | (first == ord("+")) | (first == ord("-"))
        others |= {*np.flatnonzero(spelt & (column.ends - column.starts > 1)).tolist()}
    elif cast not in (to_text, unchanged, to_date):
        others = {*range(len(found))}
    rows = sorted(others)
    if rows:
        values = [column.text(row) for row in rows]
        found[rows] = hashes_of([key_of(None if value is None else cast(value)) or b"" for value in values])
    return found


def _hashes(column: Column) -> Hashes:
    """Return the hash of each cell."""
    import numpy as np  # noqa: PLC0415

    starts, ends = column.starts, column.ends
    # The texts of Arrow follow each other.
    if native is not None and len(ends) and starts[0] == 0 and (starts[1:] == ends[:-1]).all():
        return np.frombuffer(native.hashes_of_texts(column.data, ends), dtype=np.uint64).copy()
    return hashes_of([column.data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])


def hashes_of(keys: Sequence[bytes]) -> Hashes:
    """Return the hash of each key."""
    import numpy as np  # noqa: PLC0415

    return np.fromiter(map(xxh64_intdigest, keys), dtype=np.uint64, count=len(keys))


def combined(parts: Sequence[Hashes]) -> Hashes:
    """Return one hash for the hashes of several fields."""
    import numpy as np  # noqa: PLC0415

    found = parts[0].copy()
    for part in parts[1:]:
        found = (found ^ (found >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9) + part
    return found
