"""Internal: Items in a temporary file, or as hashes, instead of in memory: a snapshot has a hundred thousand inputs."""

from __future__ import annotations

import os
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Generic, TypeVar, overload

import xxhash

if TYPE_CHECKING:
    from multiprocessing.reduction import ForkingPickler

T = TypeVar("T")

_LENGTH_BYTES = 8
_MOST_IN_MEMORY = 256
_A_BLOCK = 128
_NONE = -1


class OnDisk(Sequence[T], Generic[T]):
    """Items by index, the last ones in memory; the file ends with this process. `number` is that of places that are empty at first."""

    def __init__(self, items: Iterable[T] = (), *, number: int = 0) -> None:
        self._in_memory: dict[int, T] = {}
        self._begins = array("q", [_NONE]) * number
        self._file: IO[bytes] | None = None
        for item in items:
            self.append(item)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, item: T) -> None:
        self._begins.append(_NONE)
        self.put(len(self) - 1, item)

    def put(self, index: int, item: T) -> None:
        """Fill an empty place, or replace the item there."""
        self._in_memory[index] = item
        if len(self._in_memory) == _MOST_IN_MEMORY:
            self._spill()

    def sort(self, order: Iterable[int]) -> None:
        """Put the items in an order, given by their indexes."""
        before = array("q", order)
        self._in_memory = {new: self._in_memory[old] for new, old in enumerate(before) if old in self._in_memory}
        self._begins = array("q", (self._begins[old] for old in before))

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - ends with this object
        self._file.seek(0, os.SEEK_END)
        for index, item in self._in_memory.items():
            data = _pickler().dumps(item)
            self._begins[index] = self._file.tell()
            self._file.write(len(data).to_bytes(_LENGTH_BYTES, "little"))
            self._file.write(data)
        self._in_memory.clear()

    def __len__(self) -> int:
        return len(self._begins)

    def __iter__(self) -> Iterator[T]:
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        if index in self._in_memory:
            return self._in_memory[index]
        if self._file is None or self._begins[index] == _NONE:
            raise LookupError(f"no item was put at {index}")
        self._file.seek(self._begins[index])
        size = int.from_bytes(self._file.read(_LENGTH_BYTES), "little")
        item: T = _pickler().loads(self._file.read(size))
        return item


def _pickler() -> type[ForkingPickler]:
    from multiprocessing.reduction import ForkingPickler  # noqa: PLC0415 - small runs write nothing

    return ForkingPickler


class Blocks(Sequence[T], Generic[T]):
    """Items that are read in order, for the most part: they are written in blocks, and that of the last one read stays in memory.

    Reading them in another order takes much longer than that of an `OnDisk`.
    """

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._file: IO[bytes] | None = None
        self._begins = array("q", [0])
        self._last: list[T] = []
        self._read: tuple[int, list[T]] = -1, []
        for item in items:
            self.append(item)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, item: T) -> None:
        if len(self._last) == _A_BLOCK:
            self._spill()
        self._last.append(item)

    def _spill(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - ends with this object
        self._file.seek(self._begins[-1])
        self._file.write(_pickler().dumps(self._last))
        self._begins.append(self._file.tell())
        self._last = []

    def __len__(self) -> int:
        return (len(self._begins) - 1) * _A_BLOCK + len(self._last)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        indexes = range(len(self))[index]
        return self._at(indexes) if isinstance(indexes, int) else list(map(self._at, indexes))

    def __iter__(self) -> Iterator[T]:
        return map(self._at, range(len(self)))

    def _at(self, index: int) -> T:
        number, place = divmod(index, _A_BLOCK)
        return self._block(number)[place]

    def _block(self, number: int) -> list[T]:
        if number == len(self._begins) - 1:
            return self._last
        if number != self._read[0]:
            assert self._file is not None
            begin, end = self._begins[number : number + 2]
            self._file.seek(begin)
            self._read = number, _pickler().loads(self._file.read(end - begin))
        return self._read[1]


class Made(Sequence[T], Generic[T]):
    """Items that are made from their indexes whenever they are asked for; pickled, they are a list."""

    def __init__(self, number: int, make: Callable[[int], T]) -> None:
        self._number = number
        self._make = make

    def __reduce__(self) -> tuple[type, tuple[list[T]]]:
        return list, (list(self),)

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[T]:
        return map(self._make, range(self._number))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        indexes = range(self._number)[index]
        return self._make(indexes) if isinstance(indexes, int) else list(map(self._make, indexes))


class Hashes:
    """Texts by their hashes: eight bytes each."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._sorted = array("Q", sorted(map(_hashed, texts)))

    def __contains__(self, text: str) -> bool:
        wanted = _hashed(text)
        index = bisect_left(self._sorted, wanted)
        return index < len(self._sorted) and self._sorted[index] == wanted


def _hashed(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
