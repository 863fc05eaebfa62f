"""Internal: The lines that the build writes for an input against those of the release, both streamed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec import Struct, field

from corpusfmt.model import FindingType, Location, Problem
from corpusfmt.release.reproduce.parts import Piece, Unit
from corpusfmt.release.reproduce.rules import LINE_ADDED, LINE_DIFFERS, LINE_MISSING, ORDER_DIFFERS
from corpusfmt.rules import Judge
from corpusfmt.wording import plural

# Units, and bytes of them, among which the two sides are brought together again after a difference.
_WINDOW = 1024
_WINDOW_BYTES = 16 * 1024 * 1024
# Units that are only on one side so far: they may be on the other side later.
_MOST_WAITING = 10_000
# Bytes of a line that a message shows around the first difference.
_SHOWN_BEFORE, _SHOWN = 20, 60
_HINT = "fetch the file again; if it is as published, build the release again"


class _Window:
    """The next units of one side."""

    def __init__(self, units: Iterator[Unit]) -> None:
        self._units = units
        self.held: deque[Unit] = deque()
        self.taken = 0

    def fill(self, most: int) -> int:
        """Hold up to `most` units, if they are not too large; return how many there are."""
        size = sum(_size(each) for each in self.held) if most > 1 else 0
        while len(self.held) < most and size < _WINDOW_BYTES:
            unit = next(self._units, None)
            if unit is None:
                break
            self.held.append(unit)
            size += _size(unit)
        return len(self.held)

    def take(self, number: int) -> list[Unit]:
        self.taken += number
        return [self.held.popleft() for _ in range(number)]


def _size(unit: Unit) -> int:
    return sum(len(each.data) for each in unit.pieces)


class Comparison(Struct):
    """Reports differences of an input, named `origin`; `path` is the file to name if there is none at the place."""

    judge: Judge
    origin: str
    path: str
    _removed: dict[bytes, tuple[Unit, Location]] = field(default_factory=dict)
    _added: dict[bytes, Unit] = field(default_factory=dict)
    #: The last place where both sides were equal.
    _at: Location | None = None

    def run(self, expected: Iterator[Unit], actual: Iterator[Unit]) -> int:
        """Compare the units of an input with those of the release at the same place; return how many of the latter are its."""
        ours, theirs = _Window(expected), _Window(actual)
        while ours.fill(1):
            if theirs.fill(1) and ours.held[0].key == theirs.held[0].key:
                self._at = _place(theirs.held[0].pieces[0])
                ours.take(1)
                theirs.take(1)
                continue
            ours.fill(_WINDOW)
            theirs.fill(_WINDOW)
            self._differ(ours, theirs)
        self.settle()
        return theirs.taken

    def added(self, units: Iterator[Unit]) -> None:
        """Report units after those of the last input."""
        for unit in units:
            self._add(unit)
        self.settle()

    def lacks(self, expected: Unit, instead: Unit | None) -> None:
        """Report a line that is missing from the release, and the one at its place, unless that is another line of the input."""
        if instead is None:
            self._say_missing(expected.pieces[0], expected.record, Location(self.path))
        else:
            self._say_differs(expected.pieces[0], instead.pieces[0], expected.record)

    def disordered(self, lines: int, first: Unit | None) -> None:
        """Report lines that are not where the seed puts them, from the first of them on."""
        at = _place(first.pieces[0]) if first else Location(self.path)
        message = f"{plural(lines, 'line')} of `{self.origin}` not where the seed of the recipe puts them"
        self._report(ORDER_DIFFERS, message, at)

    def _differ(self, ours: _Window, theirs: _Window) -> None:
        """Take the units up to the next equal ones, and report them; without such, up to the last that resembles one."""
        places: dict[bytes, int] = {}
        for number, unit in enumerate(theirs.held):
            places.setdefault(unit.key, number)
        meetings = [(number, places[unit.key]) for number, unit in enumerate(ours.held) if unit.key in places]
        if meetings:
            mine, found = min(meetings, key=sum)
            left, right = ours.take(mine), theirs.take(found)
            pairs = _pairs(left, right, both_end=True)
        else:
            left = ours.take(len(ours.held))
            pairs = _pairs(left, list(theirs.held), both_end=False)
            right = theirs.take(max((number for _, number in pairs), default=-1) + 1)
        paired = dict(pairs)
        mates = set(paired.values())
        for place, unit in enumerate(left):
            if place in paired:
                self._changed(unit, right[paired[place]])
            else:
                self._remove(unit)
        for number, unit in enumerate(right):
            if number not in mates:
                self._add(unit)

    def _remove(self, unit: Unit) -> None:
        other = self._added.pop(unit.key, None)
        if other is not None:
            self._moved(unit, other)
        else:
            self._removed[unit.key] = unit, self._at or Location(self.path)
            if len(self._removed) > _MOST_WAITING:
                self.settle()

    def _add(self, unit: Unit) -> None:
        other = self._removed.pop(unit.key, None)
        if other is not None:
            self._moved(other[0], unit)
        else:
            self._added[unit.key] = unit
            if len(self._added) > _MOST_WAITING:
                self.settle()

    def settle(self) -> None:
        """Report the units that are on one side only."""
        for unit, at in self._removed.values():
            for piece in unit.pieces:
                self._say_missing(piece, unit.record, at)
        for unit in self._added.values():
            self._say_added(unit.pieces)
        self._removed.clear()
        self._added.clear()

    def _moved(self, expected: Unit, actual: Unit) -> None:
        self._say_order(actual.pieces[0], expected.record)

    def _changed(self, expected: Unit, actual: Unit) -> None:
        """Report the lines in which two units differ."""
        own, other = expected.pieces, actual.pieces
        start, end = _common_ends(own, other)
        own, other = own[start : len(own) - end], other[start : len(other) - end]
        there, wanted = {each.data for each in other}, {each.data for each in own}
        gone = [each for each in own if each.data not in there]
        new = [each for each in other if each.data not in wanted]
        for before, after in zip_longest(gone, new):
            if before is None:
                self._say_added([after])
            elif after is None:
                self._say_missing(before, expected.record, _place(actual.pieces[0]))
            else:
                self._say_differs(before, after, expected.record)
        if not gone and not new:
            if len(own) < len(other):
                self._say_added(other[len(own) :])
            elif len(own) > len(other):
                for each in own[len(other) :]:
                    self._say_missing(each, expected.record, _place(actual.pieces[0]))
            else:
                self._say_order(other[0], expected.record)

    def _say_differs(self, expected: Piece, actual: Piece, record: str) -> None:
        first = _common_prefix(expected.data, actual.data)
        message = (
            f"`{_around(actual.data, first)}`, expected `{_around(expected.data, first)}` of {self._whose(record)}"
        )
        column = len(actual.data[:first].decode("utf-8", "replace")) + 1
        at = Location(actual.path, actual.line, actual.byte, column, record=record or None)
        self.judge.report(LINE_DIFFERS, Problem(message, at, _HINT))

    def _say_missing(self, expected: Piece, record: str, at: Location) -> None:
        place = Location(at.path, at.line, at.byte, record=record or None)
        self._report(LINE_MISSING, f"`{_around(expected.data, 0)}` of {self._whose(record)} is missing", place)

    def _say_added(self, actual: Sequence[Piece]) -> None:
        for each in actual:
            self._report(LINE_ADDED, f"`{_around(each.data, 0)}` is not of `{self.origin}`", _place(each))

    def _say_order(self, actual: Piece, record: str) -> None:
        place = Location(actual.path, actual.line, actual.byte, record=record or None)
        self._report(ORDER_DIFFERS, f"{self._whose(record)} at another place than the build puts it", place)

    def _whose(self, record: str) -> str:
        return f"record `{record}` of `{self.origin}`" if record else f"`{self.origin}`"

    def _report(self, kind: FindingType, message: str, at: Location) -> None:
        self.judge.report(kind, Problem(message, at, _HINT))


def _place(piece: Piece) -> Location:
    return Location(piece.path, piece.line, piece.byte)


def _pairs(left: Sequence[Unit], right: Sequence[Unit], *, both_end: bool) -> list[tuple[int, int]]:
    """Return which units are versions of each other: those that share a line, else those at the same place that are alike."""
    pairs = []
    by_line: dict[bytes, int] = {}
    for number, unit in enumerate(right):
        for piece in unit.pieces if len(unit.pieces) > 1 else ():
            by_line.setdefault(piece.data, number)
    free = set(range(len(right)))
    for place, unit in enumerate(left):
        shared = next((by_line[each.data] for each in unit.pieces if by_line.get(each.data) in free), None)
        same_place = place in free and (
            (both_end and len(left) == len(right)) or _are_alike(unit.pieces[0].data, right[place].pieces[0].data)
        )
        mate = place if shared is None and same_place else shared
        if mate is not None:
            free.remove(mate)
            pairs.append((place, mate))
    return pairs


def _are_alike(one: bytes, other: bytes) -> bool:
    """Return whether most of two lines is the same at their ends."""
    start = _common_prefix(one, other)
    end = _common_prefix(one[start:][::-1], other[start:][::-1])
    return 2 * (start + end) >= max(len(one), len(other))


def _common_prefix(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_ends(own: Sequence[Piece], other: Sequence[Piece]) -> tuple[int, int]:
    """Return how many lines are equal at the start and, apart from these, at the end."""
    most = min(len(own), len(other))
    start = next((n for n in range(most) if own[n].data != other[n].data), most)
    end = next((n for n in range(most - start) if own[-1 - n].data != other[-1 - n].data), most - start)
    return start, end


def _around(data: bytes, at: int) -> str:
    start = max(0, at - _SHOWN_BEFORE)
    shown = data[start : start + _SHOWN].decode("utf-8", "replace")
    return f"{'…' if start else ''}{shown}{'…' if start + _SHOWN < len(data) else ''}"
