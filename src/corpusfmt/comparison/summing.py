"""Internal: Add up the results of all tasks."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.comparison.described import bump, changes, stated
from corpusfmt.comparison.matching import Fate
from corpusfmt.comparison.reading import MOST_FINDINGS, MOST_NAMES, id_of
from corpusfmt.comparison.result import Comparison, Counts, Difference, Release
from corpusfmt.comparison.sides import Side
from corpusfmt.comparison.tasks import ADDED, REASSIGNED, REMOVED, RENAMED, Joined
from corpusfmt.conversion.layout import path_of

# The name of a kind in `Counts`.
_COUNTED = {
    Fate.SAME: "same",
    Fate.MOVED: "moved",
    Fate.CHANGED_ATTRIBUTES: "changed_attributes",
    Fate.CHANGED_METADATA: "changed_metadata",
    Fate.CHANGED_TEXT: "changed_text",
    REMOVED: "removed",
    ADDED: "added",
    REASSIGNED: "reassigned",
    RENAMED: "renamed",
}
# Worst first.
_ORDER = (
    REMOVED,
    REASSIGNED,
    Fate.CHANGED_TEXT,
    Fate.CHANGED_METADATA,
    Fate.CHANGED_ATTRIBUTES,
    Fate.MOVED,
    ADDED,
)


def summed(old: Side, new: Side, joined: Joined, *, same_shards: bool) -> Comparison:
    """Return the comparison of two releases after their documents were matched."""
    counts = _Grouped(old, new)
    for side in (old, new):
        for label, count in enumerate(count for read in side.read for count in read.counts):
            counts.add(side, label, "old" if side is old else "new", count)
    for (kind, label), count in joined.counts.items():
        counts.add(old if kind == REMOVED else new, label, _COUNTED[kind], count)
    said_before, said = (stated(side.entry, _fields(side)) for side in (old, new))
    changed = changes(said_before, said)
    by_language, by_source, by_shard = (dict(sorted(group.items())) for group in counts.groups)
    differ = (old.format, _files(old)) != (new.format, _files(new))
    return Comparison(
        _release(old),
        _release(new),
        counts.whole,
        by_language,
        by_source,
        by_shard,
        same_shards,
        bump(said_before, said, counts.whole, changed, differ=differ),
        list(_differences(old, new, joined)),
        changed,
        [f"{name}: {note}" for name, each in (("old", said_before), ("new", said)) for note in each.notes],
    )


class _Grouped:
    """Counts of all documents, and by language, source and shard."""

    def __init__(self, old: Side, new: Side) -> None:
        self.whole = Counts()
        self.groups: tuple[dict[str, Counts], dict[str, Counts], dict[str, Counts]] = ({}, {}, {})
        self._names = {
            id(side): [(label.language, label.source, side.titles[label.shard]) for label in side.labels]
            for side in (old, new)
        }

    def add(self, side: Side, label: int, what: str, count: int) -> None:
        """Count documents that have a label of a release."""
        names = self._names[id(side)][label]
        counted = (group.setdefault(name, Counts()) for group, name in zip(self.groups, names, strict=True))
        for each in (self.whole, *counted):
            setattr(each, what, getattr(each, what) + count)


def _fields(side: Side) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for read in side.read:
        for name, kinds in read.fields.items():
            if name in found or len(found) < MOST_NAMES:
                found.setdefault(name, set()).update(kinds)
    return found


def _files(side: Side) -> set[tuple[str, int]]:
    return {(file.path, file.size) for shard in side.shards for file in shard.files.values()}


def _release(side: Side) -> Release:
    left_out = side.left_out.copy()
    for read in side.read:
        left_out.update(read.left_out)
    return Release(
        side.entry.shown,
        side.format.name,
        side.version,
        sum(sum(read.counts) for read in side.read),
        len(side.shards),
        sum(read.rejected for read in side.read),
        sorted(path for read in side.read for path in read.cut),
        dict(sorted(left_out.items())),
        len(side.unread),
        [finding for read in side.read for finding in read.findings][:MOST_FINDINGS],
    )


def _differences(old: Side, new: Side, joined: Joined) -> Iterator[Difference]:
    names = {kind: name.replace("_", "-") for kind, name in _COUNTED.items()}
    for kind in _ORDER:
        for shown in joined.shown.get(kind, ()):
            side, place = (old, shown.old) if shown.new is None else (new, shown.new)
            assert place is not None
            identity = id_of(side.parts[place[0]].runs, place[1])
            yield Difference(names[kind], identity, _place(old, shown.old), _place(new, shown.new))


def _place(side: Side, place: tuple[int, int] | None) -> str | None:
    """Return the file of a document, and its number among the readable documents of that file, from 1."""
    if place is None:
        return None
    task, number = place
    first_rows = side.read[task].first_rows
    shard = max(index for index, first in enumerate(first_rows) if first <= number)
    path = path_of(side.parts[task].shards[shard][1])
    return f"{path}#{number - first_rows[shard] + 1}"
