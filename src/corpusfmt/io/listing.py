"""Internal: The entries of a folder in little memory: a file that is numbered by its name takes some twenty bytes."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import merge

from corpusfmt.io.ondisk import ByIndex
from corpusfmt.io.paths import Entry, Root

# The first ones stay as they are.
_MOST_IN_MEMORY = 256
# After a letter, digits may be part of a word, as in `sha256`. A longer number would not fit next to a place, into 64 bits.
_NUMBERED = re.compile(r"(|.*[^0-9A-Za-z])([0-9]{1,9})([^0-9]*)", re.DOTALL)
_PLACE_BITS = 32
_MOST_SERIES = _ALONE = (1 << 16) - 1
_A_RUN = 4096

# What is before and after the number in the names of a series, and the width to which zeros fill it, or 0.
_Affixes = tuple[str, str, int]


class Series:
    """Files of a folder whose names differ in a number only, in its order."""

    def __init__(self, packed: Iterable[int] = ()) -> None:
        runs = [array("Q", packed)]
        if len(runs[0]) > 1:
            whole = runs[0]
            # Sorting all at once would make an object of each.
            runs = [array("Q", sorted(whole[first : first + _A_RUN])) for first in range(0, len(whole), _A_RUN)]
        self._packed = runs[0] if len(runs) == 1 else array("Q", merge(*runs))

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[int]:
        return (each >> _PLACE_BITS for each in self._packed)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and self.place_of(number) is not None

    def place_of(self, number: int) -> int | None:
        """Return the place of a number in the folder, None if there is none."""
        at = bisect_left(self._packed, number << _PLACE_BITS)
        if at == len(self._packed) or self._packed[at] >> _PLACE_BITS != number:
            return None
        return self._packed[at] & ((1 << _PLACE_BITS) - 1)


class Listing(ByIndex[Entry]):
    """The entries of one folder, in their order."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        #: The entries that are in no series, by their places.
        self.alone: dict[int, Entry] = {}
        self._above: tuple[str, str, Root] = ("", "", Root())
        self._kinds, self._numbers, self._sizes = array("H"), array("I"), array("q")
        # By kind: the names, the first place, and how many there are.
        self._affixes: list[_Affixes] = []
        self._kind_of: dict[_Affixes, int] = {}
        self._first, self._counts = array("I"), array("I")
        self._series: dict[int, Series] = {}
        self._named: dict[str, int] | None = None
        for entry in entries:
            self.append(entry)

    def append(self, entry: Entry) -> None:
        place = len(self)
        kind, number = self._numbered(entry) if place >= _MOST_IN_MEMORY else (_ALONE, 0)
        if kind == _ALONE:
            self.alone[place] = entry
        else:
            if kind == len(self._first):
                self._first.append(place)
                self._counts.append(0)
            self._counts[kind] += 1
        self._kinds.append(kind)
        self._numbers.append(number)
        self._sizes.append(entry.size)

    def _numbered(self, entry: Entry) -> tuple[int, int]:
        """Return the kind of an entry and its number, if its name and its kind are all that it has."""
        name = entry.name
        affixes, number = _split(name)
        if affixes is None:
            return _ALONE, 0
        if not self._affixes:
            self._above = entry.path.removesuffix(name), entry.url.removesuffix(name), entry.root
        if entry != self._file(name, entry.size) or len(self._affixes) == _MOST_SERIES:
            return _ALONE, 0
        if affixes not in self._kind_of:
            self._kind_of[affixes] = len(self._affixes)
            self._affixes.append(affixes)
        return self._kind_of[affixes], number

    def _file(self, name: str, size: int) -> Entry:
        path, url, root = self._above
        return Entry(path + name, url + name, "file", size, "", root)

    def __len__(self) -> int:
        return len(self._kinds)

    def at(self, place: int) -> Entry:
        """Return the entry at a place, from 0."""
        kind = self._kinds[place]
        if kind == _ALONE:
            return self.alone[place]
        before, after, width = self._affixes[kind]
        return self._file(f"{before}{self._numbers[place]:0{width}}{after}", self._sizes[place])

    def alike(self) -> Iterator[tuple[Entry, int]]:
        """Yield the first entry of each series with the number of its files, and every other one, in their order."""
        for place in sorted([*self.alone, *self._first]):
            kind = self._kinds[place]
            yield self.at(place), 1 if kind == _ALONE else self._counts[kind]

    def place_of(self, name: str) -> int | None:
        """Return the place of a name, None if there is no such entry."""
        if self._named is None:
            self._named = {entry.name: place for place, entry in self.alone.items()}
        if (place := self._named.get(name)) is not None:
            return place
        affixes, number = _split(name)
        return None if affixes is None else self._series_of(affixes).place_of(number)

    def series(self, name: str) -> Series:
        """Return the files that are named like another, apart from those among the first entries."""
        affixes, _ = _split(name)
        return Series() if affixes is None else self._series_of(affixes)

    def _series_of(self, affixes: _Affixes) -> Series:
        kind = self._kind_of.get(affixes, _ALONE)
        if kind not in self._series:
            packed = (
                number << _PLACE_BITS | place
                for place, (own, number) in enumerate(zip(self._kinds, self._numbers, strict=True))
                if own == kind != _ALONE
            )
            self._series[kind] = Series(packed)
        return self._series[kind]


def _split(name: str) -> tuple[_Affixes | None, int]:
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None, 0
    before, digits, after = match.groups()
    return (before, after, len(digits) if digits[0] == "0" else 0), int(digits)
