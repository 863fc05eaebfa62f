"""Internal: Numbers counted in buckets of bounded relative width, so that quantiles of merged counts are exact up to that width.

A bucket has the numbers with the same sign, binary exponent and first bits of the mantissa; small integers have their own
bucket each. It is the layout of HdrHistogram.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from operator import mul

from msgspec import Struct, field

from corpusfmt.model import Json

_EXPONENT_BIAS = 1_100
# The buckets of lengths below that are looked up.
_SMALL = 1 << 16
#: Bits of the mantissa that tell buckets apart: of all documents, and of each of many groups.
FINE, COARSE = 8, 6
#: The maximum relative error of a quantile with `FINE` buckets.
ERROR = 2.0**-FINE
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


class Sketch(Struct):
    """Counts of numbers by bucket, with their exact number, minimum, maximum and sum.

    The sum is an `int` if all numbers are.
    """

    bits: int = FINE
    number: int = 0
    least: float = math.inf
    most: float = -math.inf
    total: float = 0
    counts: dict[int, int] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """The maximum relative error of a quantile."""
        return 2.0**-self.bits

    def add(self, values: array[int] | Sequence[float]) -> None:
        """Count finite numbers."""
        if not values:
            return
        if isinstance(values, array):
            counts = Counter(values.tolist())
            self.total += sum(map(mul, counts.keys(), counts.values()))
        elif float in set(map(type, values)):
            counts = Counter(map(float, values))
            self.total += math.fsum(values)
        else:
            counts = Counter(values)
            self.total += sum(values)
        self.number += len(values)
        least, most = min(counts), max(counts)
        self.least, self.most = min(self.least, least), max(self.most, most)
        are_small = isinstance(values, array) and 0 <= least <= most < _SMALL
        keys = map(_small_keys(self.bits).__getitem__, counts) if are_small else _keys_of(counts, self.bits)
        self._count(zip(keys, counts.values(), strict=True))

    def coarse(self) -> Sketch:
        """Return the same numbers in `COARSE` buckets."""
        found = Sketch(COARSE, self.number, self.least, self.most, self.total)
        shift = self.bits - COARSE
        found._count((key >> shift if key >= 0 else -(-key >> shift), count) for key, count in self.counts.items())
        return found

    def merge(self, other: Sketch) -> None:
        """Add the numbers of another sketch with the same buckets."""
        self.number += other.number
        self.least = min(self.least, other.least)
        self.most = max(self.most, other.most)
        self.total += other.total
        self._merge(other.counts)

    def _merge(self, counts: Mapping[int, int]) -> None:
        if self.counts:
            self._count(counts.items())
        else:
            self.counts = dict(counts)

    def _count(self, counts: Iterable[tuple[int, int]]) -> None:
        mine = self.counts
        for key, count in counts:
            mine[key] = mine.get(key, 0) + count

    def quantiles(self) -> dict[str, float]:
        """Return the numbers at `QUANTILES` by nearest rank, each with a relative error of at most `error`."""
        keys = sorted(self.counts)
        seen = list(accumulate(self.counts[key] for key in keys))
        found: dict[str, float] = {}
        for share in QUANTILES if self.number else ():
            key = keys[bisect_left(seen, math.ceil(share * self.number))]
            middle = _middle(key, self.bits, whole=isinstance(self.total, int))
            found[str(share)] = min(max(middle, self.least), self.most)
        return found

    def as_json(self, *, quantiles: bool = True) -> Json:
        """Return the numbers that are known of the counted ones; mean and quantiles follow from the others."""
        if not self.number:
            return {"number": 0}
        known: Json = {"number": self.number, "min": self.least, "max": self.most, "total": self.total}
        if quantiles:
            known |= {"mean": self.total / self.number, "quantiles": self.quantiles()}
        keys = sorted(self.counts)
        histogram = {"from": [_bound(key, self.bits) for key in keys], "count": [self.counts[key] for key in keys]}
        return known | {"relative_error": self.error, "histogram": histogram}

    @classmethod
    def of(
        cls, bits: int, ends: tuple[float, float], total: float, histogram: tuple[Sequence[float], Sequence[int]]
    ) -> Sketch:
        """Return the sketch that has these ends, and the buckets of a histogram that `as_json` has returned."""
        found = cls(bits, sum(histogram[1]), *ends, total)
        found._count(zip(_keys_of(histogram[0], bits), histogram[1], strict=True))
        return found


@cache
def _small_keys(bits: int) -> Sequence[int]:
    """Return the bucket of each natural number below `_SMALL`."""
    keys = _keys_of(range(1 << bits), bits)
    while len(keys) < _SMALL:
        # Twice a number is in the bucket with the next exponent; the bit that is added last does not matter.
        upper = [key + (1 << bits) for key in keys[len(keys) // 2 :]]
        keys.extend(chain.from_iterable(zip(upper, upper, strict=True)))
    return keys


def _keys_of(values: Iterable[float], bits: int) -> list[int]:
    """Return the bucket of each number."""
    scale, zero = 1 << bits, _EXPONENT_BIAS << bits
    keys = []
    for mantissa, exponent in map(math.frexp, values):
        key = int(abs(mantissa) * scale) + (exponent << bits) + zero
        keys.append(key if mantissa > 0 else -key if mantissa else 0)
    return keys


def _low(key: int, bits: int) -> tuple[float, float]:
    """Return the least magnitude in a bucket, and the width of the bucket."""
    exponent, first = (abs(key) >> bits) - _EXPONENT_BIAS, abs(key) & ((1 << bits) - 1)
    return math.ldexp(first, exponent - bits), math.ldexp(1, exponent - bits)


def _bound(key: int, bits: int) -> float:
    bound = math.copysign(_low(key, bits)[0], key) if key else 0.0
    return int(bound) if bound.is_integer() else bound


def _middle(key: int, bits: int, *, whole: bool) -> float:
    """Return the middle of a bucket, of integers if they are `whole`."""
    if not key:
        return 0
    low, width = _low(key, bits)
    if not whole:
        return math.copysign(low + width / 2, key)
    return int(math.copysign(low + width / 2 if width > 1 else low, key))
