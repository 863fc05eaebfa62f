"""Internal: Documents of both releases matched by name, one range of digests at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corpusfmt.comparison.matching import (
    ATTRIBUTES,
    FIELDS,
    NAME,
    NAME_REST,
    PLACE,
    TEXT,
    TEXT_REST,
    Fate,
    Numbers,
    Pairs,
    are_equal,
    by_name,
    fates,
)
from corpusfmt.comparison.runs import EVERYTHING, BothRuns, Range, Rows, RunWriter, empty_rows, parts_of
from corpusfmt.comparison.tasks import ADDED, MOST_OF_A_NAME, REMOVED, Join, Joined

# The columns that replace a name that too many rows have.
_INSTEAD = ((TEXT, TEXT_REST), (FIELDS, ATTRIBUTES), (ATTRIBUTES, FIELDS))


def join_names(task: Join) -> Joined:
    """Match documents by name; write rows, by text, of unmatched documents and of texts that have changed."""
    found = Joined()
    left_old, left_new = RunWriter(task.left_old), RunWriter(task.left_new)
    runs = BothRuns(task.old, task.new, task.ranges)
    for each in task.ranges:
        for pairs in _pairs_of(task, runs, each, 0):
            differing, fate = _differing(task, pairs, found)
            old, new = differing.old, differing.new
            found.count(REMOVED, task.old_places.labels(pairs.removed))
            found.count(ADDED, task.new_places.labels(pairs.added))
            for kind in Fate if len(fate) else ():
                chosen = np.flatnonzero(fate == kind)
                found.count(kind, task.new_places.labels(new[chosen]))
                found.show(kind, old[chosen], new[chosen], task.most_shown)
            changed = fate == Fate.CHANGED_TEXT
            for left, alone, paired in ((left_old, pairs.removed, old), (left_new, pairs.added, new)):
                left.add(_by_text(alone, is_paired=False))
                left.add(_by_text(paired[changed], is_paired=True))
    left_old.close()
    left_new.close()
    return found


def _differing(task: Join, pairs: Pairs, found: Joined) -> tuple[Pairs, Numbers]:
    """Count the pairs that are the same; return the others, usually few, and what has become of each."""
    old_labels, new_labels = task.old_places.labels(pairs.old), task.new_places.labels(pairs.new)
    old, new = task.old_places.where.take(old_labels), task.new_places.where.take(new_labels)
    is_elsewhere = task.is_elsewhere(old, new)
    chosen = np.flatnonzero(is_elsewhere | ~are_equal(pairs.old, pairs.new))
    found.count(Fate.SAME, new_labels)
    found.count(Fate.SAME, new_labels[chosen], -1)
    differing = Pairs(pairs.old.take(chosen, axis=0), pairs.new.take(chosen, axis=0), pairs.removed, pairs.added)
    return differing, fates(differing, is_elsewhere[chosen])


def _by_text(rows: Rows, *, is_paired: bool) -> Rows:
    """Return rows to match by text: text and name are swapped, and `FIELDS` is whether the name is in both releases."""
    found = rows[:, [TEXT, TEXT_REST, NAME, NAME_REST, FIELDS, ATTRIBUTES, PLACE]]
    found[:, FIELDS] = is_paired
    return found


def _pairs_of(task: Join, runs: BothRuns, wanted: Range, depth: int) -> Iterator[Pairs]:
    """Yield the pairs of a range; if too many rows have one name, another column replaces it."""
    read = runs.read(wanted, MOST_OF_A_NAME)
    if read is not None:
        yield from by_name(*read, wanted, (task.old_places.of, task.new_places.of))
    elif wanted.high - wanted.low > 1:
        for half in wanted.halves():
            yield from _pairs_of(task, runs, half, depth)
    elif depth < len(_INSTEAD):
        yield from _renamed(task, runs, wanted, depth)
    else:
        yield from in_step(parts_of(runs.old, wanted), parts_of(runs.new, wanted))


def _renamed(task: Join, runs: BothRuns, wanted: Range, depth: int) -> Iterator[Pairs]:
    folder = Path(tempfile.mkdtemp(prefix="names-", dir=task.left_old.parent))
    renamed = folder / "old", folder / "new"
    try:
        for files, path in zip((runs.old, runs.new), renamed, strict=True):
            writer = RunWriter(path)
            for part in parts_of(files, wanted):
                rows = part.copy()
                rows[:, [NAME, NAME_REST]] = part[:, _INSTEAD[depth]]
                writer.add(rows)
            writer.close()
        yield from _pairs_of(task, BothRuns([renamed[0]], [renamed[1]]), EVERYTHING, depth + 1)
    finally:
        shutil.rmtree(folder)


def in_step(old: Iterator[Rows], new: Iterator[Rows]) -> Iterator[Pairs]:
    """Yield pairs of the nth rows of two streams, then the rest of the longer one."""
    held_old = held_new = nothing = empty_rows()
    while True:
        if not len(held_old):
            held_old = next(old, nothing)
        if not len(held_new):
            held_new = next(new, nothing)
        count = min(len(held_old), len(held_new))
        if count:
            yield Pairs(held_old[:count], held_new[:count], nothing, nothing)
            held_old, held_new = held_old[count:], held_new[count:]
        elif len(held_old) or len(held_new):
            yield Pairs(nothing, nothing, held_old, held_new)
            held_old = held_new = nothing
        else:
            return
