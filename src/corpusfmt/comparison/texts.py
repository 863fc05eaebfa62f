"""Internal: Match by text the rows that matching by name has left: documents under another name, and texts under other names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from corpusfmt.comparison.matching import FIELDS, NAME, NAME_REST, Fate, Pairs, equal_in, once
from corpusfmt.comparison.names import in_step
from corpusfmt.comparison.runs import BothRuns, Range, Rows, parts_of
from corpusfmt.comparison.tasks import ADDED, MOST_OF_A_NAME, REASSIGNED, REMOVED, RENAMED, Join, Joined, in_turn

# In these rows the text replaces the name.
_TEXT = (NAME, NAME_REST)


def join_texts(task: Join) -> Joined:
    """Find documents that are in both releases under different names, and names that have the text of another one."""
    found = Joined()
    runs = BothRuns(task.old, task.new, task.ranges)
    for each in task.ranges:
        _join(task, runs, each, found)
    return found


def _join(task: Join, runs: BothRuns, wanted: Range, found: Joined) -> None:
    read = runs.read(wanted, MOST_OF_A_NAME)
    if read is not None:
        pairs, *several = once(*read, wanted)
        _take_once(task, pairs, found)
        # Equal rows are paired in their order.
        old, new = (rows.take(in_turn(rows), axis=0) for rows in several)
        pairs = equal_in(old[~_is_paired(old)], new[~_is_paired(new)], _TEXT)
        _take_moved(task, pairs, found)
        others = np.concatenate((pairs.removed, old[_is_paired(old)]))
        _take_reassigned(task, equal_in(others, new[_is_paired(new)], _TEXT), found)
    elif wanted.high - wanted.low > 1:
        for half in wanted.halves():
            _join(task, runs, half, found)
    else:
        _join_one_text(task, wanted, found)


def _take_once(task: Join, pairs: Pairs, found: Joined) -> None:
    """Do the same for texts that no release has several times."""
    old, new = pairs.old, pairs.new
    is_in_both, is_reassigned = _is_paired(old), _is_paired(new)
    is_moved = ~(is_in_both | is_reassigned)
    removed = np.concatenate((old[~is_in_both & is_reassigned], pairs.removed[~_is_paired(pairs.removed)]))
    added = np.concatenate((new[is_in_both & ~is_reassigned], pairs.added[~_is_paired(pairs.added)]))
    _take_moved(task, Pairs(old[is_moved], new[is_moved], removed, added), found)
    _take_reassigned(task, Pairs(old[is_reassigned], new[is_reassigned], removed, added), found)


def _join_one_text(task: Join, wanted: Range, found: Joined) -> None:
    """Do the same for a text of more documents than fit into memory."""
    removed = 0
    for pairs in in_step(_those(task.old, wanted, paired=False), _those(task.new, wanted, paired=False)):
        _take_moved(task, pairs, found)
        removed += len(pairs.old)
    others = chain(_behind(removed, _those(task.old, wanted, paired=False)), _those(task.old, wanted, paired=True))
    for pairs in in_step(others, _those(task.new, wanted, paired=True)):
        _take_reassigned(task, pairs, found)


def _take_moved(task: Join, pairs: Pairs, found: Joined) -> None:
    found.count(REMOVED, task.old_places.labels(pairs.old), -1)
    found.count(ADDED, task.new_places.labels(pairs.new), -1)
    found.count(Fate.MOVED, task.new_places.labels(pairs.new))
    found.count(RENAMED, task.new_places.labels(pairs.new))
    found.show(Fate.MOVED, pairs.old, pairs.new, task.most_shown)
    found.show(REMOVED, pairs.removed, None, task.most_shown)
    found.show(ADDED, None, pairs.added, task.most_shown)


def _take_reassigned(task: Join, pairs: Pairs, found: Joined) -> None:
    found.count(REASSIGNED, task.new_places.labels(pairs.new))
    found.show(REASSIGNED, pairs.old, pairs.new, task.most_shown)


def _is_paired(rows: Rows) -> npt.NDArray[np.bool_]:
    paired: npt.NDArray[np.bool_] = rows[:, FIELDS] == 1
    return paired


def _those(files: Sequence[Path], wanted: Range, *, paired: bool) -> Iterator[Rows]:
    for part in parts_of(files, wanted):
        chosen = part[_is_paired(part) == paired]
        if len(chosen):
            yield chosen


def _behind(count: int, parts: Iterator[Rows]) -> Iterator[Rows]:
    """Yield the rows after a number of rows."""
    for part in parts:
        if count < len(part):
            yield part[count:]
        count = max(count - len(part), 0)
