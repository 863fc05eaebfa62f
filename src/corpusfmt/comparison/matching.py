"""Internal: Match the documents of two releases, one range of digests at a time: by name, and what is left by text."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from enum import IntEnum
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from corpusfmt.io.runs import END, Runs, RunWriter, ranges

#: The columns of a row on disk. The last one is its place (`place_of`), the others are digests.
COLUMNS = 7
NAME, NAME_REST, TEXT, TEXT_REST, FIELDS, ATTRIBUTES = range(COLUMNS - 1)
# In memory, two columns follow: the label among all labels of the release, and where the document is, in numbers that mean the
# same in both releases.
_PLACE, _LABEL, _WHERE = -3, -2, -1
_NAME, _TEXT = (NAME, NAME_REST), (TEXT, TEXT_REST)
_CONTENT = (*_TEXT, FIELDS, ATTRIBUTES)
# Rows with the same name are paired by the largest number of equal columns.
_BY_NAME = (
    (*_NAME, *_CONTENT, _WHERE),
    (*_NAME, *_CONTENT),
    (*_NAME, *_TEXT, FIELDS),
    (*_NAME, *_TEXT),
    _NAME,
)
# The columns that replace a name that too many rows have.
_INSTEAD = (_TEXT, (FIELDS, ATTRIBUTES), (ATTRIBUTES, FIELDS))
#: Rows for matching by text have the text, whether their name is in both releases, and their place.
TEXT_COLUMNS = 4
_BY_TEXT, _IS_PAIRED = (0, 1), 2
_TASK_SHIFT, _LABEL_BITS = 54, 18
MOST_TASKS, MOST_LABELS = 1 << (64 - _TASK_SHIFT), 1 << _LABEL_BITS
#: The number of rows in a run, except the last one of a task.
RUN_ROWS = 1 << 17
#: Most rows that are matched at a time. If a name has more, its documents are told apart by their texts, and so on.
RANGE_ROWS = 1 << 18
SHARD_SHIFT = 32

Rows = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


class Fate(IntEnum):
    """The outcome for a document; of several outcomes, the greatest."""

    SAME = 0
    MOVED = 1
    CHANGED_ATTRIBUTES = 2
    CHANGED_METADATA = 3
    CHANGED_TEXT = 4


#: Counted in addition to `Fate`: documents in one release only, documents with the text of another one, and documents that
#: have moved to another name.
REMOVED, ADDED, REASSIGNED, RENAMED = range(len(Fate), len(Fate) + 4)


class Shown(NamedTuple):
    """The place of a document that differs, in the old release, in the new one, or in both."""

    old: int | None
    new: int | None


class Places(Struct, frozen=True):
    """The labels of one release: the start of each task's labels, and where each label is."""

    first: Numbers
    #: Numbers that mean the same in both releases: of the shard, then (32 bits) of the language, 0 if it is unknown.
    where: Numbers

    def added_to(self, rows: Rows) -> Rows:
        """Return rows from disk with their label and where it is as further columns."""
        place = rows[-1]
        labels = (place & np.uint64(MOST_LABELS - 1)).view(np.int64)
        labels += self.first.take((place >> np.uint64(_TASK_SHIFT)).view(np.int64))
        return np.concatenate((rows, [labels.view(np.uint64), self.where.take(labels).view(np.uint64)]))


class Join(Struct, frozen=True):
    """A range of digests for one task, the folders with the runs of both releases, and how labels compare.

    Rows without a row of the same name in the other release, or with another text there, go to `left`, for matching by text.
    """

    number: int
    low: int
    high: int
    old: Path
    new: Path
    left: tuple[Path, Path]
    places: tuple[Places, Places]
    #: Both releases have the same shards, so a document in another shard has moved.
    same_shards: bool
    most_shown: int


class Joined(Struct):
    """The number of documents of each kind by label (of the old release if removed), and examples of each kind."""

    counts: dict[tuple[int, int], int] = field(default_factory=dict)
    shown: dict[int, list[Shown]] = field(default_factory=dict)

    def count(self, kind: int, rows: Rows, weight: int = 1) -> None:
        """Count documents of a kind by their labels."""
        numbers = np.bincount(rows[_LABEL].view(np.int64))
        for label in np.flatnonzero(numbers).tolist():
            key = (int(kind), label)
            self.counts[key] = self.counts.get(key, 0) + weight * int(numbers[label])

    def show(self, kind: int, old: Rows | None, new: Rows | None, most: int) -> None:
        """Keep the first documents of a kind, in the order of the new release, or of the old one."""
        sides = [None if rows is None else rows[_PLACE] for rows in (old, new)]
        by = sides[1] if sides[1] is not None else sides[0]
        if by is not None and len(by) and most:
            first = np.argsort(by, kind="stable")[:most]
            old_places, new_places = ([None] * len(first) if side is None else side[first].tolist() for side in sides)
            self._keep(int(kind), map(Shown, old_places, new_places), most)

    def add(self, other: Joined, most: int) -> None:
        """Add the result of another task."""
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        for kind, shown in other.shown.items():
            self._keep(kind, shown, most)

    def _keep(self, kind: int, shown: Iterable[Shown], most: int) -> None:
        def place(each: Shown) -> int:
            return (each.new if each.new is not None else each.old) or 0

        self.shown[kind] = sorted([*self.shown.get(kind, ()), *shown], key=place)[:most]


class Pairs(NamedTuple):
    """Paired rows of the old and new release, the nth of each being the same document; and the unpaired ones."""

    old: Rows
    new: Rows
    removed: Rows
    added: Rows


def place_of(task: int, number: int, label: int) -> int:
    """Return the place of a row: its task, the number of the document in it, from 0, and its label. Places are in document order."""
    return task << _TASK_SHIFT | number << _LABEL_BITS | label


def task_and_number(place: int) -> tuple[int, int]:
    """Return the task of a place, and the number of the document in it."""
    return place >> _TASK_SHIFT, place >> _LABEL_BITS & ((1 << (_TASK_SHIFT - _LABEL_BITS)) - 1)


def paired(old: Rows, new: Rows, levels: Sequence[Sequence[int]]) -> Pairs:
    """Pair rows that are equal in the columns of the first level, in their order; then the others by the second level, and so on.

    The last level is part of all others.
    """
    both = np.concatenate((old, new), axis=1)
    olds = old.shape[1]
    left = np.arange(both.shape[1])
    of_old, of_new = [left[:0]], [left[:0]]
    # A row that has only one possible partner needs no comparison in full.
    for number, columns in enumerate((levels[-1], *levels)):
        if not len(left):
            break
        keys = both[list(columns)].take(left, axis=1)
        order = np.lexsort(keys[::-1])
        keys = keys[:, order]
        starts = np.flatnonzero(np.concatenate(([True], (keys[:, 1:] != keys[:, :-1]).any(axis=0))))
        sizes = np.diff(starts, append=len(order))
        rows = left[order]
        is_old = rows < olds
        olds_of = np.add.reduceat(is_old, starts, dtype=np.int64)
        pairs_of = np.minimum(olds_of, sizes - olds_of)
        if number == 0:
            pairs_of[sizes != 2] = 0
        # In each group, old rows are first.
        rank = np.arange(len(order)) - np.repeat(starts, sizes) - np.where(is_old, 0, np.repeat(olds_of, sizes))
        is_paired = rank < np.repeat(pairs_of, sizes)
        of_old.append(rows[is_paired & is_old])
        of_new.append(rows[is_paired & ~is_old])
        left = np.sort(rows[~is_paired])
    numbers = np.concatenate(of_old), np.concatenate(of_new), left[left < olds], left[left >= olds]
    return Pairs(*(both.take(each, axis=1) for each in numbers))


def _equal(old: Rows, new: Rows, columns: Sequence[int]) -> Mask:
    equal: Mask = np.logical_and.reduce([old[column] == new[column] for column in columns])
    return equal


def join_names(task: Join) -> Joined:
    """Match documents by name; write rows, by text, of unmatched documents and of texts that have changed."""
    joined = Joined()
    writers = [RunWriter(folder, f"{task.number:09d}", TEXT_COLUMNS, RUN_ROWS) for folder in task.left]
    runs = Runs([task.old], COLUMNS), Runs([task.new], COLUMNS)
    for pairs in _pairs_in(task, *runs, task.low, task.high):
        joined.count(REMOVED, pairs.removed)
        joined.count(ADDED, pairs.added)
        fates = np.where(_is_elsewhere(task, pairs), int(Fate.MOVED), int(Fate.SAME))
        fates[~_equal(pairs.old, pairs.new, [ATTRIBUTES])] = Fate.CHANGED_ATTRIBUTES
        fates[~_equal(pairs.old, pairs.new, [FIELDS])] = Fate.CHANGED_METADATA
        fates[~_equal(pairs.old, pairs.new, _TEXT)] = Fate.CHANGED_TEXT
        for fate in Fate:
            old, new = (rows.compress(fates == fate, axis=1) for rows in (pairs.old, pairs.new))
            joined.count(fate, new)
            if fate:
                joined.show(fate, old, new, task.most_shown)
        # `old` and `new` are those with another text now.
        for writer, alone, changed in ((writers[0], pairs.removed, old), (writers[1], pairs.added, new)):
            for rows, is_paired in ((alone, 0), (changed, 1)):
                writer.add_columns(np.stack([*rows[[*_TEXT]], np.full_like(rows[0], is_paired), rows[_PLACE]]))
    for writer in writers:
        writer.close()
    return joined


def _is_elsewhere(task: Join, pairs: Pairs) -> Mask:
    """Return for each document whether its place in the new release is another one than in the old release."""
    old, new = pairs.old[_WHERE], pairs.new[_WHERE]
    old_language, new_language = (where & np.uint64((1 << SHARD_SHIFT) - 1) for where in (old, new))
    elsewhere: Mask = (old_language != new_language) & (old_language != 0) & (new_language != 0)
    if task.same_shards:
        elsewhere |= (old ^ new) >> np.uint64(SHARD_SHIFT) != 0
    return elsewhere


def _pairs_in(task: Join, old: Runs, new: Runs, low: int, high: int, depth: int = 0) -> Iterator[Pairs]:
    """Yield the pairs of a range; if too many rows have one name, another column replaces it."""
    for start, end in ranges([old, new], RANGE_ROWS // 2, low, high):
        if end - start > 1 or old.number(start, end) + new.number(start, end) <= RANGE_ROWS:
            yield paired(*_read(task, old, new, start, end), _BY_NAME)
        elif depth < len(_INSTEAD):
            folder = Path(tempfile.mkdtemp(prefix="names-", dir=task.left[0].parent))
            try:
                for runs, name in ((old, "old"), (new, "new")):
                    with closing(RunWriter(folder / name, "", COLUMNS, RUN_ROWS)) as writer:
                        for rows in runs.pieces(start, end, RUN_ROWS):
                            writer.add_columns(rows[[*_INSTEAD[depth], *range(TEXT, COLUMNS)]])
                renamed = Runs([folder / "old"], COLUMNS), Runs([folder / "new"], COLUMNS)
                yield from _pairs_in(task, *renamed, 0, END, depth + 1)
            finally:
                shutil.rmtree(folder)
        else:
            yield from _in_step(*_pieces(task, old, new, start, end))


def _read(task: Join, old: Runs, new: Runs, low: int, high: int) -> tuple[Rows, Rows]:
    return task.places[0].added_to(old.read(low, high)), task.places[1].added_to(new.read(low, high))


def _pieces(task: Join, old: Runs, new: Runs, low: int, high: int) -> Iterator[Iterator[Rows]]:
    for places, runs in zip(task.places, (old, new), strict=True):
        yield map(places.added_to, runs.pieces(low, high, RUN_ROWS))


def _in_step(old: Iterator[Rows], new: Iterator[Rows]) -> Iterator[Pairs]:
    """Yield pairs of the nth rows of two streams, then the rest of the longer one."""
    nothing = np.empty((COLUMNS + 2, 0), np.uint64)
    held_old = held_new = nothing
    while True:
        held_old = held_old if held_old.shape[1] else next(old, nothing)
        held_new = held_new if held_new.shape[1] else next(new, nothing)
        count = min(held_old.shape[1], held_new.shape[1])
        if count:
            yield Pairs(held_old[:, :count], held_new[:, :count], nothing, nothing)
            held_old, held_new = held_old[:, count:], held_new[:, count:]
        elif held_old.shape[1] or held_new.shape[1]:
            yield Pairs(nothing, nothing, held_old, held_new)
            held_old = held_new = nothing
        else:
            return


def join_texts(task: Join) -> Joined:
    """Find documents that are in both releases under different names, and names that have the text of another one."""
    joined = Joined()
    runs = Runs([task.old], TEXT_COLUMNS), Runs([task.new], TEXT_COLUMNS)
    for low, high in ranges(runs, RANGE_ROWS // 2, task.low, task.high):
        if high - low > 1 or sum(each.number(low, high) for each in runs) <= RANGE_ROWS:
            # Equal rows are paired in their order.
            old, new = (rows.take(np.argsort(rows[_PLACE]), axis=1) for rows in _read(task, *runs, low, high))
            moved = paired(_with(old, paired=False), _with(new, paired=False), [_BY_TEXT])
            _take_moved(task, moved, joined)
            others = np.concatenate((moved.removed, _with(old, paired=True)), axis=1)
            _take_reassigned(task, paired(others, _with(new, paired=True), [_BY_TEXT]), joined)
        else:
            _join_one_text(task, *runs, low, joined)
    return joined


def _join_one_text(task: Join, old: Runs, new: Runs, text: int, joined: Joined) -> None:
    """Do the same for a text of more documents than fit into memory."""

    def rows(side: int, *, paired: bool) -> Iterator[Rows]:
        for piece in (old, new)[side].pieces(text, text + 1, RUN_ROWS):
            if (chosen := _with(task.places[side].added_to(piece), paired=paired)).shape[1]:
                yield chosen

    moved = 0
    for pairs in _in_step(rows(0, paired=False), rows(1, paired=False)):
        _take_moved(task, pairs, joined)
        moved += pairs.old.shape[1]
    others = chain(_after(moved, rows(0, paired=False)), rows(0, paired=True))
    for pairs in _in_step(others, rows(1, paired=True)):
        _take_reassigned(task, pairs, joined)


def _after(count: int, pieces: Iterator[Rows]) -> Iterator[Rows]:
    """Yield the rows after a number of rows."""
    for piece in pieces:
        if count < piece.shape[1]:
            yield piece[:, count:]
        count = max(count - piece.shape[1], 0)


def _with(rows: Rows, *, paired: bool) -> Rows:
    return rows.compress(rows[_IS_PAIRED] == paired, axis=1)


def _take_moved(task: Join, pairs: Pairs, joined: Joined) -> None:
    joined.count(REMOVED, pairs.old, -1)
    joined.count(ADDED, pairs.new, -1)
    joined.count(Fate.MOVED, pairs.new)
    joined.count(RENAMED, pairs.new)
    joined.show(Fate.MOVED, pairs.old, pairs.new, task.most_shown)
    joined.show(REMOVED, pairs.removed, None, task.most_shown)
    joined.show(ADDED, None, pairs.added, task.most_shown)


def _take_reassigned(task: Join, pairs: Pairs, joined: Joined) -> None:
    joined.count(REASSIGNED, pairs.new)
    joined.show(REASSIGNED, pairs.old, pairs.new, task.most_shown)
