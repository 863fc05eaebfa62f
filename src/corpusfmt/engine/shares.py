"""Internal: Shares of a run: shard i of n takes every n-th task, so that several processes need to know nothing of each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from msgspec import Struct

from corpusfmt.model import UsageError
from corpusfmt.wording import clipped

T = TypeVar("T")

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


class Share(Struct, frozen=True):
    """What one process does of a run: shard `number` of `of`."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def taken(self, tasks: Sequence[T]) -> list[T]:
        """Return the tasks that the shard has."""
        return [tasks[position] for position in range(self.number - 1, len(tasks), self.of)]


def share_of(shard: str | None, *, finish: bool = False, engine: str | None = None) -> Share | None:
    """Return the share that `--shard` names, if it is given. Raises `UsageError`."""
    if shard is not None and finish:
        raise UsageError("--shard and --finish are two steps: run all shards, then --finish alone")
    if shard is None:
        return None
    if engine not in {None, "serial", "processes"}:
        raise UsageError(f"--engine is {clipped(engine)}, and shards run on their own machines: remove one of the two")
    match = _SHARD.fullmatch(shard)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f"--shard is {clipped(shard)!r}, expected i/n with i from 1 to n, like 3/8")
    return Share(number, of)
