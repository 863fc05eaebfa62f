"""Internal: Stage `compact`: join the containers of many inputs, so that later stages open few files.

Without it every language would open the container of every input: millions of times for the 60,000 files of a snapshot.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish
from corpusfmt.pipeline.dedup.keys import HASHES, keys_of, label_of_keys
from corpusfmt.pipeline.recipe import HashName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Columns = npt.NDArray[np.uint64]

# Fewest containers that are joined.
_SMALLEST_GROUP = 64
# Most lines of a section of keys: sorting takes about 100 bytes per line.
_LINES_A_SECTION = 1_000_000
# Most lines of all languages whose keys are in memory.
_LINES_HELD = 2_000_000


class CompactTask(Struct, frozen=True):
    """Containers in a folder, by name, in input order."""

    folder: Path
    names: tuple[str, ...]
    compacted: Path
    hash: HashName


class Compacted(Struct):
    """The number of joined containers."""

    containers: int


def groups(containers: int) -> list[int]:
    """Return the sizes of groups of containers, in input order: about as many groups as each has members.

    They depend only on the number of containers.
    """
    size = max(_SMALLEST_GROUP, math.isqrt(containers))
    return [min(size, containers - first) for first in range(0, containers, size)]


def share_joined(containers: int, jobs: int) -> float:
    """Return the share of containers that so many workers join at a time; each is removed when it has been joined."""
    number = len(groups(containers))
    return min(1.0, jobs / number) if number > 1 else 0.0


def compact(task: CompactTask) -> Compacted:
    """Join containers as if their inputs had been one: line numbers continue from one to the next."""
    with publish(task.compacted, sync="data") as file:
        joined = ContainerWriter(file)
        keys = _Keys(joined, HASHES[task.hash].words)
        for name in task.names:
            with Container(task.folder / name) as container:
                for key in container:
                    label = label_of_keys(key)
                    for section in container.sections(key):
                        if label is None:
                            joined.add(key, section)
                        else:
                            keys.add(label, section)
                    container.forget()
        keys.finish()
        joined.finish()
    return Compacted(len(task.names))


def remove_joined(task: CompactTask) -> None:
    """Remove the containers that have been joined."""
    for name in task.names:
        (task.folder / name).unlink(missing_ok=True)


class _Keys:
    """Writes the keys of each language, with continued line numbers, as few sorted sections.

    Stage `dedup` searches each section for every hash range.
    """

    def __init__(self, joined: ContainerWriter, words: int) -> None:
        self._joined = joined
        self._words = words
        self._following = Counter[str]()
        self._held: dict[str, list[Columns]] = {}
        self._lines = Counter[str]()

    def add(self, label: str, section: memoryview) -> None:
        import numpy as np  # noqa: PLC0415 - slow to import, and help pages do not need it

        columns = np.frombuffer(section, dtype=np.uint64).reshape(self._words + 1, -1).copy()
        lines = columns.shape[1]
        columns[-1] += np.uint64(self._following[label])
        self._following[label] += lines
        if self._lines[label] + lines > _LINES_A_SECTION:
            self._write(label)
        self._held.setdefault(label, []).append(columns)
        self._lines[label] += lines
        if self._lines.total() > _LINES_HELD:
            self._write(self._lines.most_common(1)[0][0])

    def finish(self) -> None:
        for label in sorted(self._held):
            self._write(label)

    def _write(self, label: str) -> None:
        if label in self._held:
            del self._lines[label]
            self._joined.add(keys_of(label), _in_order(self._held.pop(label)).tobytes())


def _in_order(parts: Sequence[Columns]) -> Columns:
    """Return the columns of consecutive parts, stably sorted by first word."""
    import numpy as np  # noqa: PLC0415

    columns: Columns = np.concatenate(parts, axis=1)
    return columns[:, np.argsort(columns[0], kind="stable")]
