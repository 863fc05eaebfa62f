"""Internal: Match rows of two releases: find the rows of one document, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from corpusfmt.comparison.runs import COLUMNS, Range, Rows

#: The numbers of a row; `PLACE` is made by `place_of`.
NAME, NAME_REST, TEXT, TEXT_REST, FIELDS, ATTRIBUTES, PLACE = range(COLUMNS)
_NAME = (NAME, NAME_REST)
_TEXT = (TEXT, TEXT_REST)
_CONTENT = (*_TEXT, FIELDS, ATTRIBUTES)
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


def by_name(rows: Rows, olds: int, wanted: Range, where: Sequence[Callable[[Rows], Numbers]]) -> Iterator[Pairs]:
    """Pair the rows of a range, of which the first `olds` are old; each row is in at most one pair.

    `where` says for each release where its rows are, in numbers that mean the same in both.
    """
    pairs, *several = once(rows, olds, wanted)
    yield pairs
    if any(map(len, several)):
        sides = zip(several, where, strict=True)
        yield _paired_by_most(*(np.column_stack((side, each(side).astype(np.uint64))) for side, each in sides))


def once(rows: Rows, olds: int, wanted: Range) -> tuple[Pairs, Rows, Rows]:
    """Pair rows of a range, of which the first `olds` are old, by names that no release has several times.

    Also return the old and the new rows of all other names.
    """
    order, first = _neighbours(rows, wanted)
    old, new = order.take(first), order.take(first + 1)
    is_pair = (old < olds) & (new >= olds)
    follows = first[1:] == first[:-1] + 1
    is_pair[1:] &= ~follows
    is_pair[:-1] &= ~follows
    is_alone, is_several = np.ones(len(rows), np.bool_), np.zeros(len(rows), np.bool_)
    for places in (first, first + 1):
        is_alone[places] = False
        is_several[places[~is_pair]] = True
    if not is_pair.all():
        old, new = old[is_pair], new[is_pair]
    # Old rows stay in the order in which they are in memory.
    partner = np.full(olds, -1)
    partner[old] = new
    paired = np.flatnonzero(partner >= 0)
    old_rows, new_rows = (rows.take(each, axis=0) for each in (paired, partner.take(paired)))
    if not _same(old_rows, new_rows, _NAME).all():
        nothing = rows[:0]
        return Pairs(nothing, nothing, nothing, nothing), rows[:olds], rows[olds:]
    removed, added, several_old, several_new = (
        rows.take(places, axis=0)
        for each in (order[is_alone], order[is_several])
        for places in (each[each < olds], each[each >= olds])
    )
    return Pairs(old_rows, new_rows, removed, added), several_old, several_new


def _neighbours(rows: Rows, wanted: Range) -> tuple[Numbers, Numbers]:
    """Return the order of rows by name, and the places in it whose name is probably that of the next place."""
    bits = len(rows).bit_length()
    mask = np.uint64((1 << bits) - 1)
    keys = rows[:, NAME] - np.uint64(wanted.low)
    # The first bits in which names of the range differ, and the place of the row, are sorted as one number: numbers are sorted
    # much faster than places.
    keys <<= np.uint64(min(64 - (wanted.high - wanted.low - 1).bit_length(), 63))
    keys &= ~mask
    keys |= np.arange(len(rows), dtype=np.uint64)
    keys.sort()
    order = (keys & mask).view(np.int64)
    keys >>= np.uint64(bits)
    return order, np.flatnonzero(keys[1:] == keys[:-1])


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
    return (rows[:, PLACE] >> np.uint64(_TASK_SHIFT)).view(np.int64)


def labels_of(rows: Rows) -> Numbers:
    """Return the label of each row in its task."""
    labels = rows[:, PLACE] >> np.uint64(_LABEL_SHIFT)
    labels &= np.uint64(MOST_LABELS - 1)
    return labels.view(np.int64)


def numbers_of(rows: Rows) -> Numbers:
    """Return the number of each document in its task, from 0."""
    return (rows[:, PLACE] & np.uint64(_NUMBER_MASK)).view(np.int64)


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


def are_equal(old: Rows, new: Rows) -> Mask:
    """Return whether rows of the same name have the same content."""
    return _same(old, new, _CONTENT)


def fates(pairs: Pairs, is_elsewhere: Mask) -> Numbers:
    """Return the outcome for each document paired by its name; `is_elsewhere` is whether its place has changed."""
    found = np.where(is_elsewhere, int(Fate.MOVED), int(Fate.SAME))
    found[~_same(pairs.old, pairs.new, (ATTRIBUTES,))] = Fate.CHANGED_ATTRIBUTES
    found[~_same(pairs.old, pairs.new, (FIELDS,))] = Fate.CHANGED_METADATA
    found[~_same(pairs.old, pairs.new, _TEXT)] = Fate.CHANGED_TEXT
    return found


def _together(found: Sequence[Pairs]) -> Pairs:
    columns = zip(*((each.old, each.new, each.removed, each.added) for each in found), strict=True)
    return Pairs(*map(np.concatenate, columns))


def _same(old: Rows, new: Rows, columns: Sequence[int]) -> Mask:
    equal: Mask = old == new
    found = equal[:, columns[0]]
    for column in columns[1:]:
        found &= equal[:, column]
    return found


def _without(rows: Rows, places: Numbers) -> Rows:
    left = np.ones(len(rows), np.bool_)
    left[places] = False
    return rows[left]
