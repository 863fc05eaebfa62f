"""Internal: Numbers counted in buckets of bounded relative width, so that quantiles of merged counts are exact up to that width.

A bucket has the numbers with the same sign, binary exponent and first eight bits of the mantissa; integers below 256 have
their own bucket each. It is the layout of HdrHistogram.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from corpusfmt.model import Json

_BITS = 8
_EXPONENT_BIAS = 1_100
#: The maximum relative error of a quantile.
ERROR = 2.0**-_BITS
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


class Sketch(Struct):
    """Counts of numbers by bucket, with their exact number, minimum, maximum and sum."""

    number: int = 0
    least: float = math.inf
    most: float = -math.inf
    total: float = 0
    buckets: Counter[int] = field(default_factory=Counter)

    def add(self, values: npt.NDArray[np.int64] | Sequence[float]) -> None:
        """Count finite numbers."""
        array = np.asarray(values)
        if not len(array):
            return
        self.number += len(array)
        self.least = min(self.least, array.min().item())
        self.most = max(self.most, array.max().item())
        # As numbers of Python, because the sum of large integers exceeds 64 bits.
        self.total += sum(array.tolist())
        mantissas, exponents = np.frexp(np.abs(array.astype(np.float64)))
        bits = np.floor(mantissas * (1 << _BITS)).astype(np.int64)
        keys = np.where(
            array == 0, 0, (exponents.astype(np.int64) + _EXPONENT_BIAS) << _BITS | (bits & ((1 << _BITS) - 1))
        )
        keys = np.sort(np.where(array < 0, -keys, keys))
        starts = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))
        counts = np.diff(starts, append=len(keys))
        for key, count in zip(keys[starts].tolist(), counts.tolist(), strict=True):
            self.buckets[key] += count

    def merge(self, other: Sketch) -> None:
        """Add the numbers of another sketch."""
        self.number += other.number
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.total += other.total
        self.buckets.update(other.buckets)

    def quantiles(self) -> dict[str, float]:
        """Return the numbers at `QUANTILES` by nearest rank, each with a relative error of at most `ERROR`."""
        found: dict[str, float] = {}
        wanted = list(QUANTILES)
        seen = 0
        for key in sorted(self.buckets):
            seen += self.buckets[key]
            while wanted and seen >= math.ceil(wanted[0] * self.number):
                found[str(wanted.pop(0))] = min(max(_middle(key), self.least), self.most)
        return found

    def as_json(self) -> Json:
        """Return the numbers that are known of the counted ones."""
        if not self.number:
            return {"number": 0}
        mean = self.total / self.number
        known: Json = {"number": self.number, "min": self.least, "max": self.most, "mean": mean}
        return known | {"quantiles": self.quantiles(), "relative_error": ERROR}


def _middle(key: int) -> float:
    if not key:
        return 0
    exponent, bits = (abs(key) >> _BITS) - _EXPONENT_BIAS, abs(key) & ((1 << _BITS) - 1)
    low, width = math.ldexp(bits, exponent - _BITS), math.ldexp(1, exponent - _BITS)
    # Buckets of integers contain the first one and those before the next bucket.
    middle = low if width <= 1 and low == int(low) else low + width / 2
    return math.copysign(int(middle) if width > 1 else middle, key)
