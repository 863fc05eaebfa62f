"""Internal: Parquet files for checking: whole arrays that are clearly valid, and values for all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from corpusfmt.formats.croissant.data.batches import Batch, Take
from corpusfmt.formats.croissant.data.casts import Cast, to_boolean, to_date, to_float, to_integer, to_number, to_text
from corpusfmt.formats.croissant.data.cells import Column, Uneven, keys_of, left_over
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.leaves import Leaf, takes_of
from corpusfmt.formats.croissant.data.plain import Accepted, KeyOf, bounds_of, hashes_of_integers, whole_key
from corpusfmt.formats.croissant.data.rows import of_parquet, values_of
from corpusfmt.io.parquet import MOST_ROWS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corpusfmt.formats.croissant.data.plain import Key

# The number of rows checked at a time: an array costs some calls, regardless of its size.
_ROWS = 16 * MOST_ROWS
# Follows the texts of a column, so 8-byte words can be read beyond their end.
_PADDING = b"\0" * 8
# Days since 1970 of the first and the last day with an ISO 8601 date of four digits.
_FIRST_DAY, _LAST_DAY = -719162, 2932896


def judged_arrays(opened: Opened, leaves: Sequence[Leaf], keys: Sequence[KeyOf]) -> Iterator[Accepted | Batch]:
    """Yield the rows of a Parquet file: `Accepted` if all values are clearly valid, else a batch to evaluate.

    `leaves` are columns without transformations; `keys` consist of some of them. Raises like `rows.batches`.
    """
    takes = takes_of(leaves)
    judging = partial(_accepted, takes, leaves, keys)
    for first, found in of_parquet(opened, takes, judging, _ROWS, keep_dictionaries=True):
        if isinstance(found, Accepted):
            yield found
            continue
        for number, (size, columns) in enumerate(found):
            yield Batch(opened.path, size, columns, first=first + number * MOST_ROWS)


def _accepted(
    takes: Sequence[Take], leaves: Sequence[Leaf], keys: Sequence[KeyOf], part: Any
) -> Accepted | list[tuple[int, dict[Take, list[Any]]]]:
    of_keys = {id(leaf) for key in keys for leaf in key.leaves}
    try:
        found = {id(leaf): _judged(part.column(leaf.take.name), leaf.cast, id(leaf) in of_keys) for leaf in leaves}
        return Accepted(part.num_rows, [whole_key(key, found) for key in keys])
    except (ValueError, Uneven):
        # In the same batches as other readers, so that findings come in the same order.
        return [values_of(takes, part.slice(at, MOST_ROWS)) for at in range(0, part.num_rows, MOST_ROWS)]


def _judged(array: Any, cast: Cast, is_key: bool) -> Key | None:
    """Return the keys of a column if all its values have a type. Raises `Uneven` if only a cast can decide."""
    import pyarrow as pa  # noqa: PLC0415 - large, and an extra

    if pa.types.is_dictionary(array.type):
        if cast is to_text and not is_key:
            array.validate(full=True)
            array.dictionary.validate(full=True)
            return None
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_string(kind):
        return _of_texts(array, cast, is_key)
    bounds = bounds_of(cast)
    if pa.types.is_integer(kind) and bounds is not None:
        if cast is not to_integer:
            _refuse_beyond(array, kind.to_pandas_dtype(), bounds)
    elif cast is to_date and pa.types.is_date32(kind):
        _refuse_beyond(array, "int32", (_FIRST_DAY, _LAST_DAY))
    elif not _is_plain(kind, cast):
        raise Uneven
    if not is_key:
        return None
    if kind != pa.int64() or cast is to_float:  # to which large numbers are rounded
        raise Uneven
    return hashes_of_integers(_numbers(array, "int64")), _present(array)


def _is_plain(kind: Any, cast: Cast) -> bool:
    """Return whether every value stored as one type also has another."""
    import pyarrow as pa  # noqa: PLC0415

    if cast is to_text:
        return bool(pa.types.is_integer(kind))
    if cast in (to_float, to_number):
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
    return cast is to_boolean and bool(pa.types.is_boolean(kind))


# Arrow's functions do the same, but their import takes as long as reading a small file.
def _numbers(array: Any, kind: Any) -> npt.NDArray[Any]:
    """Return the numbers of an array; for nulls, any number."""
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(array.buffers()[1] or b"", dtype=kind)[array.offset : array.offset + len(array)]


def _present(array: Any) -> npt.NDArray[np.bool_]:
    """Return which values of an array are not null."""
    import numpy as np  # noqa: PLC0415

    bits = array.buffers()[0]
    if bits is None:
        return np.ones(len(array), dtype=np.bool_)
    known = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    return known[array.offset : array.offset + len(array)].astype(np.bool_)


def _refuse_beyond(array: Any, kind: Any, bounds: tuple[int, int]) -> None:
    """Raise `Uneven` if a number of an array is outside a range."""
    numbers = _numbers(array, kind)[_present(array)]
    if len(numbers) and not bounds[0] <= int(numbers.min()) <= int(numbers.max()) <= bounds[1]:
        raise Uneven


def _of_texts(array: Any, cast: Cast, is_key: bool) -> Key | None:
    import numpy as np  # noqa: PLC0415

    array.validate(full=True)  # checks that it is UTF-8
    if cast is to_text and not is_key:
        return None
    _, offsets, texts = array.buffers()
    places = np.frombuffer(offsets, dtype=np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    low, high = int(places[0]), int(places[-1])
    data = texts[low:high].to_pybytes() if texts is not None else b""
    starts, ends = places[:-1] - low, places[1:] - low
    present = _present(array)
    if (present & (starts == ends)).any():
        raise Uneven  # the empty text is a value here, but not in a table of text
    column = Column(data, np.frombuffer(data + _PADDING, dtype=np.uint8)[: len(data) or 1], starts, ends, None)
    rest = left_over(column, cast)
    for row in rest.tolist():
        value = column.text(row)
        if value is not None:
            cast(value)
    return (keys_of(column, cast, rest), present) if is_key else None
