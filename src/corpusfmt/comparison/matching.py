"""Internal: Match the documents of two releases, one range of digests at a time: by name, and what is left by text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from corpusfmt.io.runs import Runs, RunWriter, ranges
from corpusfmt.model import UsageError

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
#: Rows for matching by text have the text, whether their name is in both releases, and their place.
TEXT_COLUMNS = 4
_BY_TEXT, _IS_PAIRED = (0, 1), 2
_TASK_SHIFT, _LABEL_BITS = 54, 18
MOST_TASKS, MOST_LABELS = 1 << (64 - _TASK_SHIFT), 1 << _LABEL_BITS
#: The number of rows in a run, except the last one of a task.
RUN_ROWS = 1 << 17
#: Most rows that are matched at a time, unless they share a digest.
RANGE_ROWS = 1 << 18
#: Most rows that may share a digest: some 400 bytes each in memory.
MOST_ALIKE = 1 << 20
SHARD_SHIFT = 32

HAS_NUMPY = find_spec("numpy") is not None
if TYPE_CHECKING or HAS_NUMPY:
    import numpy as np
if TYPE_CHECKING:
    import numpy.typing as npt

    Rows = npt.NDArray[np.uint64]
    Mask = npt.NDArray[np.bool_]
    Numbers = npt.NDArray[np.int64]

#: The outcomes for a document in both releases, as fields of `Counts`; of several, the last.
FATES = ("same", "moved", "changed_attributes", "changed_metadata", "changed_text")
# The columns whose difference is an outcome, from the third on.
_COMPARED = ([ATTRIBUTES], [FIELDS], [TEXT, TEXT_REST])


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

    counts: dict[tuple[str, int], int] = field(default_factory=dict)
    shown: dict[str, list[Shown]] = field(default_factory=dict)

    def count(self, kind: str, rows: Rows, weight: int = 1) -> None:
        """Count documents of a kind by their labels."""
        numbers = np.bincount(rows[_LABEL].view(np.int64))
        for label in np.flatnonzero(numbers).tolist():
            key = (kind, label)
            self.counts[key] = self.counts.get(key, 0) + weight * int(numbers[label])

    def show(self, kind: str, old: Rows | None, new: Rows | None, most: int) -> None:
        """Keep the first documents of a kind, in the order of the new release, or of the old one."""
        sides = [None if rows is None else rows[_PLACE] for rows in (old, new)]
        by = sides[1] if sides[1] is not None else sides[0]
        if by is not None and len(by) and most:
            first = np.argsort(by, kind="stable")[:most]
            old_places, new_places = ([None] * len(first) if side is None else side[first].tolist() for side in sides)
            self._keep(kind, map(Shown, old_places, new_places), most)

    def add(self, other: Joined, most: int) -> None:
        """Add the result of another task."""
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        for kind, shown in other.shown.items():
            self._keep(kind, shown, most)

    def _keep(self, kind: str, shown: Iterable[Shown], most: int) -> None:
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


def join_names(task: Join) -> Joined:
    """Match documents by name; write rows, by text, of unmatched documents and of texts that have changed."""
    joined = Joined()
    writers = [RunWriter(folder, f"{task.number:09d}", TEXT_COLUMNS, RUN_ROWS) for folder in task.left]
    for rows_of in _rows_in(task, COLUMNS):
        pairs = paired(*rows_of, _BY_NAME)
        joined.count("removed", pairs.removed)
        joined.count("added", pairs.added)
        fates = _is_elsewhere(task, pairs).astype(np.int8)
        for number, columns in enumerate(_COMPARED, 2):
            fates[(pairs.old[columns] != pairs.new[columns]).any(axis=0)] = number
        for number, fate in enumerate(FATES):
            old, new = (rows.compress(fates == number, axis=1) for rows in (pairs.old, pairs.new))
            joined.count(fate, new)
            if number:
                joined.show(fate, old, new, task.most_shown)
        # `old` and `new` are those with another text now.
        for writer, alone, changed in ((writers[0], pairs.removed, old), (writers[1], pairs.added, new)):
            for rows, is_paired in ((alone, 0), (changed, 1)):
                written = *rows[[*_TEXT]], np.full_like(rows[0], is_paired), rows[_PLACE]
                writer.add_columns(column.tobytes() for column in written)
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


def _rows_in(task: Join, columns: int) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows of both releases, one range of digests at a time. Raises `UsageError` if one digest has too many."""
    runs = [Runs([folder], columns) for folder in (task.old, task.new)]
    for low, high in ranges(runs, RANGE_ROWS // 2, task.low, task.high):
        number = sum(each.number(low, high) for each in runs)
        if number > MOST_ALIKE:
            raise UsageError(f"{number:,} documents share one id or text: at most {MOST_ALIKE:,} can be compared")
        read = [np.array(each.read(low, high), np.uint64) for each in runs]
        old, new = (places.added_to(rows) for places, rows in zip(task.places, read, strict=True))
        yield old, new


def join_texts(task: Join) -> Joined:
    """Find documents that are in both releases under different names, and names that have the text of another one."""
    joined = Joined()
    for both in _rows_in(task, TEXT_COLUMNS):
        # Equal rows are paired in their order.
        old, new = (rows.take(np.argsort(rows[_PLACE]), axis=1) for rows in both)
        moved = paired(_with(old, paired=False), _with(new, paired=False), [_BY_TEXT])
        joined.count("removed", moved.old, -1)
        joined.count("added", moved.new, -1)
        joined.count("moved", moved.new)
        joined.count("renamed", moved.new)
        joined.show("moved", moved.old, moved.new, task.most_shown)
        joined.show("removed", moved.removed, None, task.most_shown)
        joined.show("added", None, moved.added, task.most_shown)
        others = np.concatenate((moved.removed, _with(old, paired=True)), axis=1)
        reassigned = paired(others, _with(new, paired=True), [_BY_TEXT])
        joined.count("reassigned", reassigned.new)
        joined.show("reassigned", reassigned.old, reassigned.new, task.most_shown)
    return joined


def _with(rows: Rows, *, paired: bool) -> Rows:
    return rows.compress(rows[_IS_PAIRED] == paired, axis=1)
