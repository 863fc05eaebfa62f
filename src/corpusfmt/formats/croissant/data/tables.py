"""Internal: CSV and TSV files for checking: whole blocks that the kernel finds valid, and rows for all others."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh64_intdigest

from corpusfmt.formats.croissant.data.batches import Batch, Take
from corpusfmt.formats.croissant.data.csvrows import BOM, CsvRows, places_of, table
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.leaves import Leaf, takes_of
from corpusfmt.formats.croissant.data.lookup import key_of
from corpusfmt.formats.croissant.model.casts import (
    CASTS,
    Cast,
    to_boolean,
    to_date,
    to_float,
    to_integer,
    to_number,
    to_text,
    to_url,
    unchanged,
)
from corpusfmt.io.lines import Block, Line, LongLine, blocks, lines
from corpusfmt.io.runs import END, Runs

#: Without NumPy, which only extras install, rows that have keys are judged one by one: the same verdict, more slowly.
HAS_NUMPY = find_spec("numpy") is not None
if TYPE_CHECKING or HAS_NUMPY:
    import numpy as np
    import numpy.typing as npt

try:
    from corpusfmt.formats.croissant import _native
except ImportError:  # no wheel for this platform and no compiler: the same verdict, more slowly
    native: ModuleType | None = None
else:
    native = _native

if TYPE_CHECKING:
    #: The key of each row, as a hash or as the whole number it is, and which rows have one.
    Keys = npt.NDArray[np.uint64 | np.int64]
    Key = tuple[Keys, npt.NDArray[np.bool_]]

# This many keys of another field may be in memory, in a table whose places have at most so many bits.
_FEW_KEYS, _MOST_BITS = 1 << 20, 21
# A mark for each number of a range takes no more memory than the hashes of this many times fewer numbers.
_DENSE = 8
# Whole numbers of fewer digits are compared in 64 bits.
_MOST = 10**18
# The kernel's names; the cells of other types are left over.
_TEXT, _INTEGER, _NUMBER, _DATE, _BOOLEAN, _URL, _OTHER = range(7)
_KINDS: dict[Cast, tuple[int, int, int]] = {
    to_text: (_TEXT, 0, 0),
    unchanged: (_TEXT, 0, 0),
    to_integer: (_INTEGER, -_MOST, _MOST),
    to_float: (_NUMBER, 0, 0),
    to_number: (_NUMBER, 0, 0),
    to_date: (_DATE, 0, 0),
    to_boolean: (_BOOLEAN, 0, 0),
    to_url: (_URL, 0, 0),
    **{
        CASTS[f"cr:Int{bits}"]: (_INTEGER, max(-(1 << bits - 1), -_MOST), min((1 << bits - 1) - 1, _MOST))
        for bits in (8, 16, 32, 64)
    },
    **{CASTS[f"cr:UInt{bits}"]: (_INTEGER, 0, min((1 << bits) - 1, _MOST)) for bits in (8, 16, 32, 64)},
}
# The text of a cell of these types is its key.
_KINDS_OF_KEYS = (_TEXT, _INTEGER, _DATE, _URL)


class Uneven(Exception):
    """A row lacks a required key, or only a cast can decide on a column."""


class KeyOf(Struct, frozen=True):
    """Wanted keys: the values of some leaves together; `required` if each row must have them."""

    leaves: Sequence[Leaf]
    required: bool = True


class Accepted(Struct, frozen=True):
    """Valid rows: their number, and each wanted key; for Parquet also the path, and the Arrow types of columns."""

    size: int
    keys: Sequence[Key]
    path: str = ""
    stored: Mapping[Take, Any] | None = None


def bounds_of(cast: Cast) -> tuple[int, int] | None:
    """Return the range of a type of whole numbers; None for other types."""
    kind, low, high = _KINDS.get(cast, (_OTHER, 0, 0))
    return (low, high) if kind == _INTEGER else None


def plainly(
    data: bytes, delimiter: str, width: int, places: Sequence[int], leaves: Sequence[Leaf], keys: Sequence[KeyOf]
) -> Accepted | None:
    """Return the rows of whole lines if the kernel can read all of them, else None; `places` are the leaves' columns.

    Raises `ValueError` and `Uneven` if a cell is certainly wrong.
    """
    assert native is not None
    of_keys = {id(leaf) for key in keys for leaf in key.leaves}
    wanted = []
    for place, leaf in zip(places, leaves, strict=True):
        kind, low, high = _KINDS.get(leaf.cast, (_OTHER, 0, 0))
        if id(leaf) in of_keys and kind not in _KINDS_OF_KEYS:
            return None
        wanted.append((place, kind, id(leaf) in of_keys, low, high))
    order = sorted(range(len(leaves)), key=places.__getitem__)
    found = native.plain_table(data, delimiter.encode(), width, [wanted[at] for at in order])
    if found is None:
        return None
    size, columns = found
    by_leaf: dict[int, Key | None] = {}
    for at, (left_over, hashes, present) in zip(order, columns, strict=True):
        leaf = leaves[at]
        values = [(row, leaf.cast(_text(cell, escaped=escaped))) for row, cell, escaped in left_over]
        if id(leaf) in of_keys:
            by_leaf[id(leaf)] = _key(hashes, present, values)
    return Accepted(size, [whole_key(key, by_leaf) for key in keys])


def _text(cell: bytes, *, escaped: bool) -> str:
    text = cell.decode()
    return text.replace('""', '"') if escaped else text


def _key(hashes: bytes, present: bytes, values: Sequence[tuple[int, object]]) -> Key:
    column = np.frombuffer(hashes, dtype=np.uint64)
    if values:
        column = column.copy()
        column[[row for row, _ in values]] = hashes_of([key_of(value) or b"" for _, value in values])
    return column, np.frombuffer(present, dtype=np.bool_)


def whole_key(wanted: KeyOf, by_leaf: Mapping[int, Key | None]) -> Key:
    """Return the key that some columns form together. Raises `Uneven` if a row lacks a required key."""
    parts = [part for leaf in wanted.leaves if (part := by_leaf[id(leaf)]) is not None]
    present = parts[0][1]
    for _, each in parts[1:]:
        present = present & each
    if wanted.required and not present.all():
        raise Uneven
    return combined([as_hashes(keys) for keys, _ in parts]) if len(parts) > 1 else parts[0][0], present


def hashes_of(keys: Sequence[bytes]) -> npt.NDArray[np.uint64]:
    """Return the hash of each key."""
    return np.fromiter(map(xxh64_intdigest, keys), dtype=np.uint64, count=len(keys))


def combined(parts: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    """Return one hash for the hashes of several fields."""
    found = parts[0].copy()
    for part in parts[1:]:
        found = (found ^ (found >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9) + part
    return found


def as_hashes(keys: Keys) -> npt.NDArray[np.uint64]:
    """Return the hashes of keys that may be whole numbers: those of their texts."""
    if keys.dtype != np.int64:
        return keys.view(np.uint64)
    if native is None:
        return hashes_of([b"%d" % number for number in keys.tolist()])
    return np.frombuffer(native.hashes_of_integers(keys), dtype=np.uint64)


def few_hashes(folder: Path) -> Hashes | None:
    """Return the hashes of all keys in a folder, or None if they are too many for memory."""
    runs = Runs([folder], 2)
    return Hashes(np.sort(np.array(runs.read(0, END)[0]))) if HAS_NUMPY and len(runs) <= _FEW_KEYS else None


class Hashes:
    """Hashes in which others are looked up: most are found, or missed, at the place that their first bits name."""

    def __init__(self, hashes: npt.NDArray[np.uint64]) -> None:
        self._sorted = hashes
        bits = min(max((16 * len(hashes)).bit_length(), 1), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        self._table = np.zeros(1 << bits, dtype=np.uint64)
        self._table[hashes >> self._shift] = hashes

    def have(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        """Tell which of some hashes are among these."""
        found: npt.NDArray[np.bool_] = (self._table[hashes >> self._shift] == hashes) & (hashes != 0)
        others = np.flatnonzero(~found)
        if len(others) and len(self._sorted):
            sought = hashes[others]
            nearest = np.minimum(np.searchsorted(self._sorted, sought), len(self._sorted) - 1)
            found[others] = self._sorted[nearest] == sought
        return found


def absent_in(known: Hashes, keys: Keys) -> npt.NDArray[np.int64]:
    """Return the places of keys that are not among some."""
    each, places = keys, None
    if keys.dtype == np.int64:
        low, high = _range_of([keys])
        if high - low < len(keys):
            each, places = np.arange(low, high + 1), keys - low  # each number once
    absent = ~known.have(as_hashes(each))
    if places is not None and absent.any():
        absent = absent[places]
    return np.flatnonzero(absent)


def _range_of(parts: Sequence[Keys]) -> tuple[int, int]:
    """Return the least and the greatest of some numbers."""
    return min(int(part.min()) for part in parts if len(part)), max(int(part.max()) for part in parts if len(part))


def are_distinct(parts: Sequence[Keys]) -> bool:
    """Return whether some keys are all different."""
    if all(part.dtype == np.int64 for part in parts):
        low, high = _range_of(parts)
        number = sum(map(len, parts))
        if high - low < _DENSE * number:
            seen = np.zeros(high - low + 1, dtype=np.bool_)
            for part in parts:
                seen[part - low] = True
            return int(np.count_nonzero(seen)) == number
    hashes = [as_hashes(part) for part in parts]
    ordered = np.sort(np.concatenate(hashes))
    return not (ordered[1:] == ordered[:-1]).any()


# --- tables ---


# A quoted cell may cross blocks; a longer one is left to the reader of rows.
_MOST_PENDING = 16 * 1024 * 1024


def judged(opened: Opened, delimiter: str, leaves: Sequence[Leaf], keys: Sequence[KeyOf]) -> Iterator[Accepted | Batch]:
    """Yield the rows of a table: `Accepted` if they are clearly valid, else a batch to evaluate.

    `leaves` are columns without transformations; `keys` consist of some of them. Raises `Broken` like `rows.batches`.
    """
    takes = takes_of(leaves)
    pieces = blocks(opened.contents)
    first = next(pieces, Block(b"", 1, 0))
    head, newline, rest = (first.data.removeprefix(BOM) if isinstance(first, Block) else b"").partition(b"\n")
    header = _header(head, delimiter)
    is_known = newline and {take.name for take in takes} <= set(header)
    if native is None or isinstance(first, LongLine) or not is_known:
        yield from table(opened.path, _lines_of(chain([first], pieces)), delimiter, takes)
        return

    def row_by_row(begun: Block, others: Iterable[Block | LongLine] = ()) -> Iterator[Batch]:
        found = _lines_of(chain([begun] if begun.data else [], others))
        return CsvRows(opened.path, found, delimiter).batches(header, takes)

    place_of = places_of(header, (leaf.take.name for leaf in leaves))
    places = [place_of[leaf.take.name] for leaf in leaves]
    start = Block(rest, 2, first.byte + len(first.data) - len(rest))
    begun = replace(start, data=b"")
    for piece in chain([start] if rest else [], pieces):
        if isinstance(piece, LongLine):
            yield from row_by_row(begun, chain([piece], pieces))
            return
        begun = replace(begun, data=begun.data + piece.data) if begun.data else piece
        data = begun.data
        try:
            accepted = plainly(data, delimiter, len(header), places, leaves, keys)
        except (ValueError, Uneven):
            yield from row_by_row(begun)
        else:
            if accepted is not None:
                yield accepted
            elif data.count(b'"') % 2 and len(data) < _MOST_PENDING:
                continue
            elif b'"' in data or b"\r" in data:
                # A row may cross the end of the block where only the reader can interpret a quote or CR.
                yield from row_by_row(begun, pieces)
                return
            else:
                yield from row_by_row(begun)
        begun = Block(b"", piece.line, piece.byte)
    if begun.data:
        yield from row_by_row(begun)


def _header(head: bytes, delimiter: str) -> list[str]:
    """Return the names of the columns, or none if only the reader of rows can parse them."""
    try:
        text = head.decode()
    except UnicodeDecodeError:
        return []
    if '"' in text and (text.count('"') % 2 or "\r" in text.rstrip("\r")):
        return []
    try:
        return next(csv.reader([text], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def _lines_of(pieces: Iterable[Block | LongLine]) -> Iterator[Line | LongLine]:
    for piece in pieces:
        if isinstance(piece, Block):
            for line in lines([piece.data]):
                yield replace(line, line=line.line + piece.line - 1, byte=line.byte + piece.byte)
        else:
            yield piece
