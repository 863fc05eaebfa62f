"""Internal: Parquet files for checking: whole arrays that are clearly valid, and values for all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pyarrow import types

from corpusfmt.formats.croissant.data.batches import Batch
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.leaves import Leaf, takes_of
from corpusfmt.formats.croissant.data.rows import batch_of, of_parquet, stored_in
from corpusfmt.formats.croissant.data.tables import (
    Accepted,
    KeyOf,
    Uneven,
    bounds_of,
    hashes_of,
    native,
    whole_key,
)
from corpusfmt.formats.croissant.model.arrays import ANY_LIST, ArrayShape
from corpusfmt.formats.croissant.model.casts import (
    FLOAT_BITS,
    Cast,
    to_boolean,
    to_date,
    to_float,
    to_integer,
    to_number,
    to_text,
    unchanged,
)
from corpusfmt.io.parquet import MOST_ROWS

if TYPE_CHECKING:
    from corpusfmt.formats.croissant.data.tables import Key

# The number of rows checked at a time: an array costs some calls, regardless of its size.
_ROWS = 16 * MOST_ROWS
# Days since 1970 of the first and the last day with an ISO 8601 date of four digits.
_FIRST_DAY, _LAST_DAY = -719162, 2932896
_DAY_IN = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_MOST_INT = (1 << 63) - 1


def judged_arrays(opened: Opened, leaves: Sequence[Leaf], keys: Sequence[KeyOf]) -> Iterator[Accepted | Batch]:
    """Yield the rows of a Parquet file: `Accepted` if all values are clearly valid, else a batch to evaluate.

    `leaves` are columns without transformations, perhaps of lists; `keys` consist of some of them. Raises like `rows.batches`.
    """
    takes = takes_of(leaves)
    for parts in of_parquet(
        opened, takes, partial(_judged_part, opened.path, leaves, keys), _ROWS, keep_dictionaries=True
    ):
        yield from parts


def _judged_part(
    path: str, leaves: Sequence[Leaf], keys: Sequence[KeyOf], part: Any, first: int
) -> Sequence[Accepted | Batch]:
    takes = takes_of(leaves)
    of_keys = {id(leaf) for key in keys for leaf in key.leaves}
    try:
        found = {id(leaf): _keys_in(part.column(leaf.take.name), leaf, id(leaf) in of_keys) for leaf in leaves}
        return [Accepted(part.num_rows, [whole_key(key, found) for key in keys], path, stored_in(takes, part))]
    except (ValueError, Uneven):
        # In the same batches as other readers, so that findings come in the same order.
        starts = range(0, part.num_rows, MOST_ROWS)
        return [batch_of(path, takes, part.slice(at, MOST_ROWS), first + at) for at in starts]


def _keys_in(array: Any, leaf: Leaf, is_key: bool) -> Key | None:
    """Return the keys of a column if all its values are valid. Raises `Uneven` if only a cast can decide."""
    if not leaf.repeated:
        return _judged(array, leaf.cast, is_key)
    if is_key:
        raise Uneven
    return _judged(_inside(array, leaf.shape or ANY_LIST, is_open=leaf.shape is None), leaf.cast, is_key)


def _inside(array: Any, shape: ArrayShape, *, is_open: bool) -> Any:
    """Return the values in lists of a shape. Raises `Uneven` for any other shape, unless it `is_open` to further lists."""
    for dimension, size in enumerate(shape):
        kind = array.type
        if types.is_fixed_size_list(kind):
            fits = size in (-1, kind.list_size)
        elif types.is_list(kind) or types.is_large_list(kind):
            ends = _offsets(array, is_large=types.is_large_list(kind))
            fits = size == -1 or bool((np.diff(ends)[_present(array)] == size).all())
        else:
            raise Uneven
        if not fits or (dimension and array.null_count):
            raise Uneven
        array = array.flatten()
    if types.is_nested(array.type) and not is_open:
        raise Uneven
    return array


def _judged(array: Any, cast: Cast, is_key: bool) -> Key | None:
    """Return the keys of a column if all its values have a type. Raises `Uneven` if only a cast can decide."""
    kind = array.type
    if types.is_dictionary(kind):
        return _of_dictionary(array, cast, is_key)
    if types.is_string(kind) or types.is_large_string(kind):
        return _of_texts(array, cast, is_key)
    if cast is unchanged and not is_key:
        array.validate(full=True)
        return None
    bounds = bounds_of(cast)
    if types.is_integer(kind) and bounds is not None:
        if cast is not to_integer:
            _refuse_beyond(array, bounds)
    elif types.is_date32(kind) and cast in (to_date, to_text):
        _refuse_beyond(array, (_FIRST_DAY, _LAST_DAY))
    elif types.is_timestamp(kind) and cast in (to_date, to_text):
        a_day = _DAY_IN[kind.unit]
        _refuse_beyond(array, ((_FIRST_DAY + 1) * a_day, _LAST_DAY * a_day))  # of any time zone
    elif not _is_plain(kind, cast):
        raise Uneven
    return _of_numbers(array, cast) if is_key else None


def _is_plain(kind: Any, cast: Cast) -> bool:
    """Return whether every value stored as one type also has another."""
    if types.is_null(kind):
        return True
    if cast in (to_float, to_number):
        return bool(types.is_integer(kind) or types.is_floating(kind))
    if cast in FLOAT_BITS:
        return bool(types.is_floating(kind)) and kind.bit_width <= FLOAT_BITS[cast]
    if cast is to_text and (types.is_integer(kind) or types.is_floating(kind)):
        return True
    return cast in (to_boolean, to_text) and bool(types.is_boolean(kind))


def _of_dictionary(array: Any, cast: Cast, is_key: bool) -> Key | None:
    """Judge each value of a dictionary once, if used or not."""
    array.validate(full=True)
    found = _judged(array.dictionary, cast, is_key)
    if found is None:
        return None
    keys, known = found
    present = _present(array.indices)
    places = np.where(present, _numbers(array.indices), len(keys))
    return np.append(keys, keys.dtype.type(0))[places], np.append(known, np.False_)[places]


def _of_numbers(array: Any, cast: Cast) -> Key:
    """Return keys from valid numbers, days or nulls."""
    present = _present(array)
    if types.is_null(array.type):
        return np.zeros(len(array), np.int64), np.zeros(len(array), np.bool_)
    if types.is_date32(array.type):
        days = np.where(present, _numbers(array), 0).astype("datetime64[D]")
        texts = np.datetime_as_string(days).astype("S10")
        return hashes_of(texts.tolist()), present
    if not types.is_integer(array.type) or cast is to_float:  # to which large numbers are rounded
        raise Uneven
    if types.is_uint64(array.type):
        _refuse_beyond(array, (0, _MOST_INT))
    return _numbers(array).astype(np.int64, copy=False), present


# Arrow's functions do the same, but their import takes as long as reading a small file.
def _numbers(array: Any) -> npt.NDArray[Any]:
    """Return the numbers in an array of numbers, days or times; for nulls, any number."""
    is_number = types.is_integer(array.type) or types.is_floating(array.type)
    kind = array.type.to_pandas_dtype() if is_number else f"int{array.type.bit_width}"
    return np.frombuffer(array.buffers()[1] or b"", dtype=kind)[array.offset : array.offset + len(array)]


def _offsets(array: Any, *, is_large: bool) -> npt.NDArray[np.int64]:
    """Return where each text or list begins, and where the last ends."""
    found = np.frombuffer(array.buffers()[1] or b"", dtype=np.int64 if is_large else np.int32)
    return found[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _present(array: Any) -> npt.NDArray[np.bool_]:
    """Return which values of an array are not null."""
    bits = array.buffers()[0]
    if bits is None:
        return np.ones(len(array), dtype=np.bool_)
    known = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    return known[array.offset : array.offset + len(array)].astype(np.bool_)


def _refuse_beyond(array: Any, bounds: tuple[int, int]) -> None:
    """Raise `Uneven` if a number of an array is outside a range."""
    numbers = _numbers(array)
    if array.null_count:
        numbers = numbers[_present(array)]
    if len(numbers) and not bounds[0] <= int(numbers.min()) <= int(numbers.max()) <= bounds[1]:
        raise Uneven


def _of_texts(array: Any, cast: Cast, is_key: bool) -> Key | None:
    array.validate(full=True)  # checks that it is UTF-8
    if cast in (to_text, unchanged) and not is_key:
        return None
    if cast not in (to_text, unchanged):
        raise Uneven
    places = _offsets(array, is_large=types.is_large_string(array.type))
    texts = array.buffers()[2]
    low, high = (int(places[0]), int(places[-1])) if len(places) else (0, 0)
    data = texts[low:high].to_pybytes() if texts is not None else b""
    starts, ends = places[:-1] - low, places[1:] - low
    present = _present(array)
    if (present & (starts == ends)).any():
        raise Uneven  # the empty text is a value here, but not in a table of text
    if native is not None:
        return np.frombuffer(native.hashes_of_texts(data, ends), dtype=np.uint64), present
    return hashes_of([data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]), present
