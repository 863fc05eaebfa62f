"""Internal: Progress of a run, within large shards, too, and from all worker processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.io.temporary import temporary_folder

_COUNT_BYTES = 8


class Progress(Struct, frozen=True):
    """Progress of a run: finished tasks and input bytes on disk, and their totals; a total of 0 is not known yet."""

    shards: int
    shards_total: int
    bytes: int
    bytes_total: int
    note: str = ""


class Gauge(Struct, frozen=True):
    """Bytes that each task has read so far; `moved` is called now and then with the counts of the running tasks.

    Tasks write their counts to a shared file; tasks on another machine do not.
    """

    file: Path
    moved: Callable[[dict[int, int]], None]

    def look(self, tasks: Iterable[int]) -> None:
        """Report the bytes that some tasks have read."""
        counts = {}
        with self.file.open("rb") as file:
            for task in tasks:
                file.seek(task * _COUNT_BYTES)
                counts[task] = int.from_bytes(file.read(_COUNT_BYTES), "little")
        self.moved(counts)


def note_read(gauge: Path, task: int, read: int) -> None:
    """Write the bytes that a task has read to the shared file."""
    with suppress(OSError), gauge.open("r+b") as file:
        file.seek(task * _COUNT_BYTES)
        file.write(read.to_bytes(_COUNT_BYTES, "little"))


class ShardProgress:
    """Shows the progress of checking or describing shards, if `show` is given."""

    def __init__(self, show: Callable[[Progress], None] | None, sizes: Sequence[int]) -> None:
        self.gauge: Gauge | None = None
        self._show = show
        self._sizes = sizes
        self._done = Progress(0, len(sizes), 0, sum(sizes))
        self._inside: dict[int, int] = {}
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        if self._show:
            folder = self._closing.enter_context(temporary_folder())
            file = folder / "read"
            file.touch()
            self.gauge = Gauge(file, self._moved)
            self._update()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def finished(self, index: int, _: object) -> None:
        """Count a finished shard."""
        self._inside.pop(index, None)
        self._done = replace(
            self._done, shards=self._done.shards + 1, bytes=self._done.bytes + self._sizes[index], note=""
        )
        self._update()

    def compared(self, read: int) -> None:
        """Show the bytes read after all shards, to compare files."""
        self._done = replace(
            self._done, note=f"comparing files, {read / 1e6:,.0f} MB read" if read else "comparing files"
        )
        self._update()

    def _moved(self, counts: dict[int, int]) -> None:
        self._inside = counts
        self._update()

    def _update(self) -> None:
        if self._show:
            inside = sum(min(read, self._sizes[index]) for index, read in self._inside.items())
            self._show(replace(self._done, bytes=self._done.bytes + inside))
