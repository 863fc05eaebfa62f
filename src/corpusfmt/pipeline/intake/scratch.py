"""Internal: The bound on what a run keeps on disk beside its output."""

from __future__ import annotations

from msgspec import Struct, field

from corpusfmt.model import Incomplete
from corpusfmt.report.text import human_size


class Scratch(Struct):
    """Bytes of scratch that finished inputs take, and that running ones may take; `limit` 0 is no limit.

    What an input will leave is estimated by the largest share of its size that one has left so far, and by its whole
    size before the first has ended.
    """

    limit: int
    #: Whether there are so many inputs that stage `compact` writes their containers once more.
    twice: bool = False
    used: int = 0
    _share: float = 0.0
    _kept: dict[str, int] = field(default_factory=dict)
    _reserved: dict[str, int] = field(default_factory=dict)

    def need(self, size: int) -> int:
        """Return the bytes that an input of this size may leave."""
        return round(size * (self._share or 1.0))

    def admits(self, size: int) -> bool:
        """Tell whether so many more bytes fit beside those in use and reserved."""
        return not self.limit or self.used + sum(self._reserved.values()) + size <= self.limit

    def reserve(self, key: str, size: int) -> None:
        self._reserved[key] = size

    def release(self, key: str) -> None:
        self._reserved.pop(key, None)

    def hold(self, size: int) -> None:
        """Count bytes that lie there, until they are given back as a negative number."""
        self.used += size

    def keep(self, key: str, size: int, stored: int, later: int) -> None:
        """Count what an input of this size has left: what is stored of it, and what else later stages write for it."""
        left = stored * (1 + self.twice) + later
        self.used += left - self._kept.get(key, 0)
        self._kept[key] = left
        if size:
            self._share = max(self._share, left / size)

    def refuse(self, name: str, size: int) -> Incomplete:
        """Return the error that says why an input cannot be started."""
        return Incomplete(
            f"{name} may need {human_size(size)} of scratch space beside the {human_size(self.used)} in use, and "
            f"--scratch-limit is {human_size(self.limit)}; run the same command again with a larger limit to resume"
        )

    def check(self) -> None:
        """Raise `Incomplete` where what is kept, with what the later stages may write, is beyond the limit."""
        if self.limit and self.used > self.limit:
            raise Incomplete(
                f"the stages that are left may need up to {human_size(self.used)} of scratch space, and --scratch-limit "
                f"is {human_size(self.limit)}; run the same command again with a larger limit to resume"
            )
