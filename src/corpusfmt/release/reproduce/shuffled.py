"""Internal: Lines that the build has shuffled by a seed: the number that each had before is known, so the order can be checked.

The order depends only on the seed and the number of lines.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xxhash
from msgspec import Struct, field

from corpusfmt.pipeline.package.shuffle import shuffled
from corpusfmt.release.reproduce.locate import NOWHERE, Places, Seen
from corpusfmt.release.reproduce.parts import Stream, Unit, units
from corpusfmt.release.reproduce.rebuild import Hashes

_NUMBER = struct.Struct("<Q")
_AT_ONCE = 1_000_000


def _numbers(lines: int, seed: int, folder: Path) -> Iterator[tuple[int, Places]]:
    """Yield the numbers that the lines of a release had before they were shuffled, in its order, from a place on."""
    order = shuffled(map(_NUMBER.pack, range(lines)), seed, folder)
    for first in range(0, lines, _AT_ONCE):
        yield first, np.fromiter((_NUMBER.unpack(each)[0] for each in order), np.int64, min(_AT_ONCE, lines - first))


def unshuffle(seen: Seen, seed: int, folder: Path) -> None:
    """Replace the places of wanted lines by those that they had before."""
    places = seen.first.copy()
    for first, numbers in _numbers(seen.units, seed, folder):
        inside = (places >= first) & (places < first + len(numbers))
        seen.first[inside] = numbers[places[inside] - first]


class Shuffled(Struct):
    """The lines that are not at their places, by their number among those expected: nowhere in the release, or elsewhere."""

    missing: dict[int, Unit | None] = field(default_factory=dict)
    moved: int = 0
    first: Unit | None = None


def out_of_place(stream: Stream, seen: Seen, expected: Hashes, start: int, seed: int, folder: Path) -> Shuffled:
    """Compare lines with those at their places, from `start` on; of missing ones, return what is there instead."""
    found = Shuffled()
    is_missing = seen.places(expected) == NOWHERE
    found.missing.update((int(each), None) for each in np.flatnonzero(is_missing))
    places = np.full(len(expected), NOWHERE, dtype=np.int64)
    for first, numbers in _numbers(seen.units, seed, folder):
        inside = np.flatnonzero((numbers >= start) & (numbers < start + len(expected)))
        places[numbers[inside] - start] = first + inside
    order = np.argsort(places, kind="stable")
    wanted = iter([(int(places[each]), int(each)) for each in order if places[each] != NOWHERE])
    found.moved = int(((places == NOWHERE) & ~is_missing).sum())
    place, own = next(wanted, (NOWHERE, 0))
    for number, unit in enumerate(units(stream)):
        if number != place:
            continue
        digest = xxhash.xxh64_intdigest(unit.pieces[0].data)
        if is_missing[own] and not seen.wants(digest):
            found.missing[own] = unit
        elif not is_missing[own] and digest != int(expected[own]):
            found.moved += 1
            found.first = found.first or unit
        place, own = next(wanted, (NOWHERE, 0))
    return found
