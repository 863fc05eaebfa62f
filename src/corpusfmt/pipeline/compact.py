"""Stage `compact`: the containers of many inputs joined into one, so that later stages open few files.

Without it every language would open every input's container: with the 60,000 files of a snapshot, millions of times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from corpusfmt.io.containers import Container, ContainerWriter
from corpusfmt.io.publish import publish
from corpusfmt.pipeline.dedup import keys_of

T = TypeVar("T")

# How many containers become one at least.
_SMALLEST_GROUP = 64


@dataclass(frozen=True, slots=True)
class CompactTask:
    """Containers in input order, with the number of lines that each has by language."""

    containers: tuple[tuple[Path, dict[str, int]], ...]
    compacted: Path


class Compacted(msgspec.Struct):
    """How many containers became one."""

    containers: int


def groups(containers: Sequence[T]) -> list[Sequence[T]]:
    """Return which containers, given in input order, are joined: as many groups as members, so that few are open at once.

    It depends on their number alone.
    """
    size = max(_SMALLEST_GROUP, math.isqrt(len(containers)))
    return [containers[first : first + size] for first in range(0, len(containers), size)]


def compact(task: CompactTask) -> Compacted:
    """Join containers as if their inputs had been one: lines are numbered on from one to the next."""
    import numpy as np  # noqa: PLC0415 - a help page needs no arrays

    labels = sorted({label for _, lines in task.containers for label in lines})
    with ExitStack() as stack:
        opened = [(stack.enter_context(Container(path)), lines) for path, lines in task.containers]
        joined = ContainerWriter(stack.enter_context(publish(task.compacted)))
        for label in labels:
            first = 0
            for container, lines in opened:
                for section in container.sections(label):
                    joined.add(label, section)
                for section in container.sections(keys_of(label)):
                    columns = np.array(np.frombuffer(section, dtype=np.uint64).reshape(2, -1))
                    columns[1] += np.uint64(first)
                    joined.add(keys_of(label), columns.tobytes())
                first += lines.get(label, 0)
        joined.finish()
    return Compacted(len(task.containers))
