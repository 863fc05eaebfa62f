"""Internal: Documents of both releases matched by name, one range of digests at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

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
    by_name,
    fates,
)
from corpusfmt.comparison.runs import EVERYTHING, Range, Rows, RunWriter, empty_rows, parts_of, read_range
from corpusfmt.comparison.tasks import ADDED, MOST_OF_A_NAME, REMOVED, Join, Joined

# The columns that replace a name that too many rows have.
_INSTEAD = ((TEXT, TEXT_REST), (FIELDS, ATTRIBUTES), (ATTRIBUTES, FIELDS))


def join_names(task: Join) -> Joined:
    """Match documents by name; write rows, by text, of unmatched documents and of texts that have changed."""
    found = Joined()
    left_old, left_new = RunWriter(task.left_old), RunWriter(task.left_new)
    for each in task.ranges:
        for pairs in _pairs_of(task, (task.old, task.new), each, 0):
            new_labels = task.new_places.labels(pairs.new)
            fate = fates(pairs, _is_elsewhere(task, pairs, new_labels))
            found.count(REMOVED, task.old_places.labels(pairs.removed))
            found.count(ADDED, task.new_places.labels(pairs.added))
            found.count(Fate.SAME, new_labels[fate == Fate.SAME])
            # Few documents differ, as a rule.
            differing = np.flatnonzero(fate != Fate.SAME)
            for kind in Fate if len(differing) else ():
                chosen = differing[fate[differing] == kind]
                found.count(kind, new_labels[chosen])
                found.show(kind, pairs.old[chosen], pairs.new[chosen], task.most_shown)
            changed = fate == Fate.CHANGED_TEXT
            for left, alone, paired in ((left_old, pairs.removed, pairs.old), (left_new, pairs.added, pairs.new)):
                left.add(_by_text(alone, is_paired=False))
                left.add(_by_text(paired[changed], is_paired=True))
    left_old.close()
    left_new.close()
    return found


def _is_elsewhere(task: Join, pairs: Pairs, new_labels: Numbers) -> npt.NDArray[np.bool_]:
    old_labels = task.old_places.labels(pairs.old)
    old, new = task.old_places.languages[old_labels], task.new_places.languages[new_labels]
    elsewhere: npt.NDArray[np.bool_] = (old != new) & (old != 0) & (new != 0)
    if task.same_shards:
        elsewhere |= task.old_places.shards[old_labels] != task.new_places.shards[new_labels]
    return elsewhere


def _by_text(rows: Rows, *, is_paired: bool) -> Rows:
    """Return rows to match by text: text and name are swapped, and `FIELDS` is whether the name is in both releases."""
    found = rows[:, [TEXT, TEXT_REST, NAME, NAME_REST, FIELDS, ATTRIBUTES, PLACE]]
    found[:, FIELDS] = is_paired
    return found


def _pairs_of(task: Join, files: Sequence[Sequence[Path]], wanted: Range, depth: int) -> Iterator[Pairs]:
    """Yield the pairs of a range; if too many rows have one name, another column replaces it."""
    old, new = files
    old_rows = read_range(old, wanted, MOST_OF_A_NAME)
    new_rows = None if old_rows is None else read_range(new, wanted, MOST_OF_A_NAME - len(old_rows))
    if old_rows is not None and new_rows is not None:
        yield by_name(old_rows, new_rows, (task.old_places.where, task.new_places.where))
    elif wanted.high - wanted.low > 1:
        for half in wanted.halves():
            yield from _pairs_of(task, files, half, depth)
    elif depth < len(_INSTEAD):
        yield from _renamed(task, files, wanted, depth)
    else:
        yield from in_step(parts_of(old, wanted), parts_of(new, wanted))


def _renamed(task: Join, files: Sequence[Sequence[Path]], wanted: Range, depth: int) -> Iterator[Pairs]:
    folder = Path(tempfile.mkdtemp(prefix="names-", dir=task.left_old.parent))
    renamed = folder / "old", folder / "new"
    try:
        for side, path in zip(files, renamed, strict=True):
            runs = RunWriter(path)
            for part in parts_of(side, wanted):
                rows = part.copy()
                rows[:, [NAME, NAME_REST]] = part[:, _INSTEAD[depth]]
                runs.add(rows)
            runs.close()
        yield from _pairs_of(task, [[path] for path in renamed], EVERYTHING, depth + 1)
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
