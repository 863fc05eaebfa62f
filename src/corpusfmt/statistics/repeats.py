"""Internal: Repeated lines and documents, exactly: among the sorted hashes of all of them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from pathlib import Path

from corpusfmt.io.keys import DEFAULT_MEMORY, Place, repeated
from corpusfmt.model import BadInput, Document
from corpusfmt.statistics.count import Part, documents_of
from corpusfmt.statistics.sizes import Repeats
from corpusfmt.wording import clipped

# For sorting, in bytes; more only if there would be more than some dozens of ranges of hashes, for each of which all runs are read.
_LEAST_MEMORY = 24 * 1024 * 1024


def repeats_in(folder: Path, compared: int, parts: Sequence[Part] = (), most: int = 0) -> Repeats:
    """Return the repeats among the hashes in a folder, with the `most` most repeated lines of `parts`."""
    found = Repeats(compared)
    largest: list[tuple[int, Place]] = []
    for group in repeated(folder, min(DEFAULT_MEMORY, max(_LEAST_MEMORY, compared))):
        found.repeated += len(group) - 1
        if most:
            shard, row = next(iter(group))
            # Of equal numbers, the earlier line wins.
            heapq.heappush(largest, (len(group), (-shard, -row)))
            if len(largest) > most:
                heapq.heappop(largest)
    places = [((-shard, -row), number) for number, (shard, row) in sorted(largest, reverse=True)]
    lines = _lines_at([place for place, _ in places], {part.task: part for part in parts})
    found.most = [(lines[place], number) for place, number in places if place in lines]
    return found


def _lines_at(places: Sequence[Place], parts: Mapping[int, Part]) -> dict[Place, str]:
    """Return lines by task and number, read again."""
    found: dict[Place, str] = {}
    for task in {task for task, _ in places}:
        wanted = {row for of, row in places if of == task}
        first, last = 0, max(wanted)
        for shard in parts[task].shards:
            try:
                for document in documents_of(parts[task], shard):
                    if not isinstance(document, Document):
                        continue
                    lines = document.text.split("\n")
                    found |= {
                        (task, row): clipped(lines[row - first]) for row in wanted if 0 <= row - first < len(lines)
                    }
                    first += len(lines)
                    if first > last:
                        break
            except BadInput:
                continue
            if first > last:
                break
    return found
