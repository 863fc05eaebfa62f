"""Internal: Tables of 64-bit integers in order, from a native kernel if it is built."""

from __future__ import annotations

from array import array
from importlib.util import find_spec

#: Fewer rows are sorted in less time than importing numpy takes.
FEW_TO_SORT = 1 << 13


def has_numpy() -> bool:
    """Return whether NumPy can be imported: in WebAssembly it cannot, and the keys of one file fit into memory."""
    return find_spec("numpy") is not None


try:
    from corpusfmt.io._native import sorted_columns
except ImportError:  # no wheel for this platform and no compiler: same results, more slowly

    def sorted_columns(columns: bytes, width: int, /) -> bytes:
        """Return the columns of a table, its rows stably sorted by the first, and then the numbers that they had.

        Columns follow each other, as native 64-bit integers.
        """
        values = array("Q", columns)
        rows = len(values) // width
        if rows > FEW_TO_SORT and has_numpy():
            import numpy as np  # noqa: PLC0415 - slow to import

            table = np.frombuffer(columns, dtype=np.uint64).reshape(width, rows)
            numbers = np.argsort(table[0], kind="stable")
            return table[:, numbers].tobytes() + numbers.astype(np.uint64).tobytes()
        order = sorted(range(rows), key=values.__getitem__)
        starts = range(0, width * rows, max(rows, 1))
        sorted_values = (map(values[start : start + rows].__getitem__, order) for start in starts)
        return b"".join(array("Q", column).tobytes() for column in (*sorted_values, order))


__all__ = ["FEW_TO_SORT", "has_numpy", "sorted_columns"]
