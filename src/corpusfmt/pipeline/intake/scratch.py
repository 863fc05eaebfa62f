"""Internal: The limit on the scratch space of a run."""

from __future__ import annotations

from msgspec import Struct, field

from corpusfmt.model import Incomplete
from corpusfmt.report.text import human_size


class Scratch(Struct):
    """Bytes of scratch that finished inputs take and running ones may take; `limit` 0 means no limit.

    The estimate for an input is its size times the largest ratio so far of stored bytes to size (at first 1).
    """

    limit: int
    #: The share of the containers that exist a second time at most, because stage `compact` joins them.
    again: float = 0.0
    used: int = 0
    _share: float = 0.0
    _kept: dict[str, int] = field(default_factory=dict)
    _stored: dict[str, int] = field(default_factory=dict)
    _reserved: dict[str, int] = field(default_factory=dict)

    def need(self, size: int) -> int:
        """Return the estimated scratch bytes of an input of this size."""
        return round(size * (self._share or 1.0))

    def admits(self, size: int) -> bool:
        """Return whether this many more bytes fit in addition to those in use and reserved."""
        return not self.limit or self.used + sum(self._reserved.values()) + size <= self.limit

    def reserve(self, key: str, size: int) -> None:
        self._reserved[key] = size

    def release(self, key: str) -> None:
        self._reserved.pop(key, None)

    def hold(self, size: int) -> None:
        """Count bytes in use, or with a negative number free them."""
        self.used += size

    def keep(self, key: str, size: int, stored: int, later: int) -> None:
        """Count the scratch of a finished input: its stored bytes, and those that later stages write for it."""
        left = round(stored * (1 + self.again)) + later
        self.used += left - self._kept.get(key, 0)
        self._kept[key], self._stored[key] = left, stored
        if size:
            self._share = max(self._share, left / size)

    def keep_all_twice(self) -> None:
        """Count that no container is removed when it has been joined."""
        for key, stored in self._stored.items():
            more = round(stored * (1 - self.again))
            self.used += more
            self._kept[key] += more
        self.again = 1.0

    def refuse(self, name: str, size: int) -> Incomplete:
        """Return the error for an input that does not fit."""
        return Incomplete(
            f"{name} may need {human_size(size)} of scratch space in addition to {human_size(self.used)} in use, and "
            f"--scratch-limit is {human_size(self.limit)}; run the same command again with a larger limit to resume"
        )

    def check(self) -> None:
        """Raise `Incomplete` if the scratch, including that of later stages, may exceed the limit."""
        if self.limit and self.used > self.limit:
            raise Incomplete(
                f"the remaining stages may need up to {human_size(self.used)} of scratch space, and --scratch-limit "
                f"is {human_size(self.limit)}; run the same command again with a larger limit to resume"
            )
