"""Internal: Arguments and results of the tasks that match documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from corpusfmt.comparison.matching import Fate, Mask, Numbers, labels_of, numbers_of, tasks_of
from corpusfmt.comparison.runs import Range, Rows

#: Counted in addition to `Fate`: documents in one release only, documents with the text of another one, and documents that
#: have moved to another name.
REMOVED, ADDED, REASSIGNED, RENAMED = range(len(Fate), len(Fate) + 4)
#: If a name has more rows than this, its documents are distinguished by their texts, and so on.
MOST_OF_A_NAME = 1 << 18
SHARD_SHIFT = 32


class Shown(NamedTuple):
    """A document that differs: its task and number in the old release, in the new one, or in both."""

    old: tuple[int, int] | None
    new: tuple[int, int] | None


class Places(Struct, frozen=True):
    """The labels of one release: the start of each task's labels, and the place of each label."""

    first: Numbers
    #: Numbers that mean the same in both releases: of the shard, then (32 bits) of the language, 0 if it is unknown.
    where: Numbers

    def labels(self, rows: Rows) -> Numbers:
        """Return the label of each row among all labels of the release."""
        labels = labels_of(rows)
        labels += self.first.take(tasks_of(rows))
        return labels

    def of(self, rows: Rows) -> Numbers:
        """Return the place of each row."""
        return self.where.take(self.labels(rows))


class Join(Struct, frozen=True):
    """Ranges for one task, the files to read, and how labels compare.

    Rows without a row of the same name in the other release, or with another text there, go to `left_old` and `left_new`.
    """

    old: Sequence[Path]
    new: Sequence[Path]
    ranges: Sequence[Range]
    old_places: Places
    new_places: Places
    #: Both releases have the same shards, so a document in another shard has moved.
    same_shards: bool
    most_shown: int
    left_old: Path
    left_new: Path

    def is_elsewhere(self, old: Numbers, new: Numbers) -> Mask:
        """Return for each document whether its place in the new release is another one than in the old release."""
        found: Mask = old != new
        if found.any():
            languages = [each & ((1 << SHARD_SHIFT) - 1) for each in (old, new)]
            found = (languages[0] != languages[1]) & (languages[0] != 0) & (languages[1] != 0)
            if self.same_shards:
                found |= old >> SHARD_SHIFT != new >> SHARD_SHIFT
        return found


class Joined(Struct):
    """The number of documents of each kind by label (of the old release if removed), and examples of each kind."""

    counts: dict[tuple[int, int], int] = field(default_factory=dict)
    shown: dict[int, list[Shown]] = field(default_factory=dict)

    def count(self, kind: int, labels: Numbers, weight: int = 1) -> None:
        """Count documents of a kind by their labels."""
        found = np.bincount(labels) if len(labels) else labels
        for label in np.flatnonzero(found).tolist():
            key = (int(kind), label)
            self.counts[key] = self.counts.get(key, 0) + weight * int(found[label])

    def show(self, kind: int, old: Rows | None, new: Rows | None, most: int) -> None:
        """Keep the first documents of a kind, in the order of the new release, or of the old one."""
        rows = new if new is not None else old
        if rows is None or not len(rows) or not most:
            return
        first = in_turn(rows)[:most]
        sides = [[None] * len(first) if side is None else _numbers(side[first]) for side in (old, new)]
        self.shown[int(kind)] = _first_of([*self.shown.get(kind, ()), *map(Shown, *sides)], most)

    def add(self, other: Joined, most: int) -> None:
        """Add the result of another task."""
        for key, count in other.counts.items():
            self.counts[key] = self.counts.get(key, 0) + count
        for kind, shown in other.shown.items():
            self.shown[kind] = _first_of([*self.shown.get(kind, ()), *shown], most)


def _first_of(shown: Sequence[Shown], most: int) -> list[Shown]:
    return sorted(shown, key=lambda each: each.new or each.old or (0, 0))[:most]


def _numbers(rows: Rows) -> list[tuple[int, int] | None]:
    return list(zip(tasks_of(rows).tolist(), numbers_of(rows).tolist(), strict=True))


def in_turn(rows: Rows) -> Numbers:
    """Return the order of rows in their release."""
    return np.lexsort((numbers_of(rows), tasks_of(rows)))
