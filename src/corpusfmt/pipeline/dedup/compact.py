"""Internal: Stage `compact`: join the containers of many inputs, so that later stages open few files.

Without it every language would open the container of every input: millions of times for the 60,000 files of a snapshot.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish
from corpusfmt.pipeline.dedup.keys import HASHES, keys_of
from corpusfmt.pipeline.recipe import HashName

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Columns = npt.NDArray[np.uint64]

T = TypeVar("T")

# Fewest containers that are joined.
_SMALLEST_GROUP = 64
# Most lines of a section of keys: sorting takes about 100 bytes per line.
_LINES_A_SECTION = 1_000_000


class CompactTask(Struct, frozen=True):
    """Containers in input order, with the number of lines that each has by language."""

    containers: tuple[tuple[Path, dict[str, int]], ...]
    compacted: Path
    hash: HashName


class Compacted(Struct):
    """The number of joined containers."""

    containers: int


def groups(containers: Sequence[T]) -> list[Sequence[T]]:
    """Split containers, in input order, into about as many groups as each has members, so that few are open at once.

    The groups depend only on the number of containers.
    """
    size = max(_SMALLEST_GROUP, math.isqrt(len(containers)))
    return [containers[first : first + size] for first in range(0, len(containers), size)]


def compact(task: CompactTask) -> Compacted:
    """Join containers as if their inputs had been one: line numbers continue from one to the next."""
    labels = sorted({label for _, lines in task.containers for label in lines})
    with ExitStack() as stack:
        opened = [(stack.enter_context(Container(path)), lines) for path, lines in task.containers]
        joined = ContainerWriter(stack.enter_context(publish(task.compacted)))
        for label in labels:
            for container, _ in opened:
                for section in container.sections(label):
                    joined.add(label, section)
                container.forget()
            for columns in _merged(_numbered_on(opened, label, task.hash)):
                joined.add(keys_of(label), columns.tobytes())
        joined.finish()
    return Compacted(len(task.containers))


def _numbered_on(opened: Sequence[tuple[Container, dict[str, int]]], label: str, name: HashName) -> Iterator[Columns]:
    """Yield the columns of each container, with continued line numbers."""
    import numpy as np  # noqa: PLC0415 - slow to import, and help pages do not need it

    first = 0
    for container, lines in opened:
        for section in container.sections(keys_of(label)):
            columns = np.frombuffer(section, dtype=np.uint64).reshape(HASHES[name].words + 1, -1).copy()
            columns[-1] += np.uint64(first)
            yield columns
        container.forget()
        first += lines.get(label, 0)


def _merged(parts: Iterable[Columns]) -> Iterator[Columns]:
    """Yield fewer columns of the same lines, sorted again, because stage `dedup` searches each for every hash range."""
    held: list[Columns] = []
    lines = 0
    for part in parts:
        if held and lines + part.shape[1] > _LINES_A_SECTION:
            yield _in_order(held)
            held, lines = [], 0
        held.append(part)
        lines += part.shape[1]
    if held:
        yield _in_order(held)


def _in_order(parts: Sequence[Columns]) -> Columns:
    """Return the columns of consecutive parts, stably sorted by first word."""
    import numpy as np  # noqa: PLC0415

    columns: Columns = np.concatenate(parts, axis=1)
    return columns[:, np.argsort(columns[0], kind="stable")]
