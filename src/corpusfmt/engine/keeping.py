"""Internal: Whether a run keeps what its checks give; only then it imports `engine.cache`, which keeps it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from corpusfmt.formats import CheckOptions, Format, Shard, formats

if TYPE_CHECKING:
    from corpusfmt.engine.cache import Kept

#: Checking fewer bytes takes about as long as looking whether they have changed.
WORTH_KEEPING = 64 << 20


class Cache(Struct, frozen=True):
    """A folder of entries; crosses processes. Nothing is kept of a run over less than `least` bytes.

    If it `is_asked` for, there is an error if there can be none.
    """

    folder: Path
    least: int = WORTH_KEEPING
    is_asked: bool = False

    def for_run(self, fmt: Format, shards: Iterable[Shard], options: CheckOptions, engine: str | None) -> Kept | None:
        """Return the entries for shards that are checked with these options, None if none of them can be kept.

        Raises `UsageError`.
        """
        is_here = engine in {None, "serial", "processes"}
        # With a cache, a run would read less, and come to another end.
        is_counted = options.limits.max_total_bytes is not None
        if not is_here or is_counted or not fmt.reads_only_its_files:
            return None
        sizes = array("q", (shard.size for shard in shards if can_be_kept(shard)))
        if not sizes or sum(sizes) < self.least:
            return None
        if fmt.name not in formats():  # asked last: it imports all formats
            return None
        from corpusfmt.engine.cache import kept  # noqa: PLC0415 - small runs do not need it

        return kept(self, fmt, options)


def can_be_kept(shard: Shard) -> bool:
    """Return whether what the check of a shard gives depends on nothing but local files."""
    return bool(shard.files) and not any(each.is_remote or each.is_barred for each in shard.files.values())
