"""Internal: Match rows of two releases: find the rows of one document, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from corpusfmt.comparison.runs import COLUMNS, Rows, order_of

#: The numbers of a row; `PLACE` is made by `place_of`.
NAME, NAME_REST, TEXT, TEXT_REST, FIELDS, ATTRIBUTES, PLACE = range(COLUMNS)
_NAME = (NAME, NAME_REST)
_TEXT = (TEXT, TEXT_REST)
_TASK_SHIFT, _LABEL_SHIFT = 54, 36
MOST_TASKS, MOST_LABELS = 1 << (64 - _TASK_SHIFT), 1 << (_TASK_SHIFT - _LABEL_SHIFT)
_NUMBER_MASK = (1 << _LABEL_SHIFT) - 1
# If several rows share a name, another number, their place, helps to pair them.
_WHERE = COLUMNS
# Rows with the same name are paired by the largest number of equal columns.
_LEVELS = (
    (*_NAME, *_TEXT, FIELDS, ATTRIBUTES, _WHERE),
    (*_NAME, *_TEXT, FIELDS, ATTRIBUTES),
    (*_NAME, *_TEXT, FIELDS),
    (*_NAME, *_TEXT),
    _NAME,
)

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


class Pairs(Struct, frozen=True):
    """Paired rows of the old and new release, the nth of each being the same document; and the unpaired ones."""

    old: Rows
    new: Rows
    removed: Rows
    added: Rows


class Fate(IntEnum):
    """The outcome for a document; of several outcomes, the greatest."""

    SAME = 0
    MOVED = 1
    CHANGED_ATTRIBUTES = 2
    CHANGED_METADATA = 3
    CHANGED_TEXT = 4


def by_name(old: Rows, new: Rows, where: Sequence[Callable[[Rows], Numbers]]) -> Pairs:
    """Pair the rows of two releases that name the same documents; each row is in at most one pair.

    `where` says for each release where its rows are, in numbers that mean the same in both.
    """
    sorted_old, sorted_new = _Sorted(old, *order_of(old)), _Sorted(new, *order_of(new))
    if not sorted_old.has_repeats and not sorted_new.has_repeats:
        return _once(sorted_old, sorted_new)
    old, new = (each.rows.take(each.order, axis=0) for each in (sorted_old, sorted_new))
    several_old, several_new = _repeats(old), _repeats(new)
    numbers = np.concatenate((old[several_old, NAME], new[several_new, NAME]))
    several_old, several_new = np.isin(old[:, NAME], numbers), np.isin(new[:, NAME], numbers)
    sides = zip((old[several_old], new[several_new]), where, strict=True)
    several = [np.column_stack((rows, each(rows).astype(np.uint64))) for rows, each in sides]
    once = (_Sorted.of(old[~several_old]), _Sorted.of(new[~several_new]))
    return _together([_once(*once), _paired_by_most(*several)])


def _paired_by_most(old: Rows, new: Rows) -> Pairs:
    nothing = old[:0]
    found = []
    for columns in _LEVELS:
        pairs = equal_in(old, new, columns)
        old, new = pairs.removed, pairs.added
        found.append(Pairs(pairs.old, pairs.new, nothing, nothing))
    whole = _together([*found, Pairs(nothing, nothing, old, new)])
    return Pairs(*(each[:, :COLUMNS] for each in (whole.old, whole.new, whole.removed, whole.added)))


def place_of(task: int, label: int) -> int:
    """Return the place of a row; add the number of the document in its task."""
    return task << _TASK_SHIFT | label << _LABEL_SHIFT


def tasks_of(rows: Rows) -> Numbers:
    """Return the task of each row."""
    return (rows[:, PLACE] >> np.uint64(_TASK_SHIFT)).astype(np.int64)


def labels_of(rows: Rows) -> Numbers:
    """Return the label of each row in its task."""
    return ((rows[:, PLACE] >> np.uint64(_LABEL_SHIFT)) & np.uint64(MOST_LABELS - 1)).astype(np.int64)


def numbers_of(rows: Rows) -> Numbers:
    """Return the number of each document in its task, from 0."""
    return (rows[:, PLACE] & np.uint64(_NUMBER_MASK)).astype(np.int64)


def equal_in(old: Rows, new: Rows, columns: Sequence[int]) -> Pairs:
    """Pair rows that are equal in some columns, in their order."""
    if not len(old) or not len(new):
        return Pairs(old[:0], new[:0], old, new)
    keys = np.concatenate((old[:, columns], new[:, columns]))
    order = np.lexsort(keys.T[::-1])
    ordered = keys.take(order, axis=0)
    is_first = np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1)))
    group = np.cumsum(is_first) - 1
    start = np.flatnonzero(is_first)
    is_old = order < len(old)
    olds = np.bincount(group[is_old], minlength=len(start))
    news = np.bincount(group[~is_old], minlength=len(start))
    # In each group, old rows are first.
    rank = np.arange(len(order)) - start[group] - np.where(is_old, 0, olds[group])
    is_paired = rank < np.minimum(olds, news)[group]
    first, second = order[is_old & is_paired], order[~is_old & is_paired] - len(old)
    return Pairs(old[first], new[second], _without(old, first), _without(new, second))


def fates(pairs: Pairs, is_elsewhere: Mask) -> Numbers:
    """Return the outcome for each document paired by its name; `is_elsewhere` is whether its place has changed."""
    found = np.where(is_elsewhere, int(Fate.MOVED), int(Fate.SAME))
    found[~_same(pairs.old, pairs.new, (ATTRIBUTES,))] = Fate.CHANGED_ATTRIBUTES
    found[~_same(pairs.old, pairs.new, (FIELDS,))] = Fate.CHANGED_METADATA
    found[~_same(pairs.old, pairs.new, _TEXT)] = Fate.CHANGED_TEXT
    return found


class _Sorted(Struct, frozen=True):
    """Rows, their order by their first numbers, and these in that order: rows are moved only once they are paired."""

    rows: Rows
    order: Numbers
    numbers: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, rows: Rows) -> _Sorted:
        """Return rows that are in order."""
        return cls(rows, np.arange(len(rows)), np.ascontiguousarray(rows[:, NAME]))

    @property
    def has_repeats(self) -> bool:
        return bool((self.numbers[1:] == self.numbers[:-1]).any())

    def without(self, places: Numbers) -> Rows:
        """Return the rows at other places of the order."""
        left = np.ones(len(self.order), np.bool_)
        left[places] = False
        return self.rows.take(self.order[left], axis=0)


def _once(old: _Sorted, new: _Sorted) -> Pairs:
    """Pair rows whose first numbers occur once in each release."""
    place = np.searchsorted(new.numbers, old.numbers)
    inside = np.minimum(place, max(len(new.numbers) - 1, 0))
    found = np.flatnonzero(new.numbers.take(inside) == old.numbers) if len(new.numbers) else place[:0]
    place = inside.take(found)
    paired = old.rows.take(old.order.take(found), axis=0), new.rows.take(new.order.take(place), axis=0)
    same = paired[0][:, NAME_REST] == paired[1][:, NAME_REST]
    if not same.all():
        found, place = found[same], place[same]
        paired = paired[0][same], paired[1][same]
    return Pairs(*paired, old.without(found), new.without(place))


def _together(found: Sequence[Pairs]) -> Pairs:
    columns = zip(*((each.old, each.new, each.removed, each.added) for each in found), strict=True)
    return Pairs(*map(np.concatenate, columns))


def _same(old: Rows, new: Rows, columns: Sequence[int]) -> Mask:
    equal: Mask = old[:, columns[0]] == new[:, columns[0]]
    for column in columns[1:]:
        equal &= old[:, column] == new[:, column]
    return equal


def _repeats(rows: Rows) -> Mask:
    """Return whether each sorted row has the same first number as a neighbour."""
    numbers = rows[:, NAME]
    equal = numbers[1:] == numbers[:-1]
    found: Mask = np.concatenate((equal, [False])) | np.concatenate(([False], equal))
    return found if len(rows) else np.zeros(0, np.bool_)


def _without(rows: Rows, places: Numbers) -> Rows:
    left = np.ones(len(rows), np.bool_)
    left[places] = False
    return rows[left]
