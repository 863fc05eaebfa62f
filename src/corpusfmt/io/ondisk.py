"""Internal: Items in a temporary file, or as hashes, instead of in memory: a snapshot has a hundred thousand inputs."""

from __future__ import annotations

import os
from abc import abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import chain, count, islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar, overload

import xxhash

if TYPE_CHECKING:
    from multiprocessing.reduction import ForkingPickler

T = TypeVar("T")
R = TypeVar("R")

_WORD_BYTES = 8
_MOST_IN_MEMORY = 256
_A_BLOCK = 256
# Items that are sorted in memory, and how many of each such run are read at one time while runs are merged.
_A_RUN, _AT_A_TIME = 512, 4


class _Scratch:
    """A temporary file with objects, by the place where each begins; it ends with this process."""

    def __init__(self) -> None:
        self._file = _temporary()

    def __del__(self) -> None:
        self._file.close()

    def append(self, item: object) -> int:
        data = _pickler().dumps(item)
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(len(data).to_bytes(_WORD_BYTES, "little"))
        self._file.write(data)
        return place

    def __getitem__(self, place: int) -> Any:
        self._file.seek(place)
        size = int.from_bytes(self._file.read(_WORD_BYTES), "little")
        return _pickler().loads(self._file.read(size))


def _temporary() -> IO[bytes]:
    import tempfile  # noqa: PLC0415 - small runs write nothing

    return tempfile.TemporaryFile()


def _pickler() -> type[ForkingPickler]:
    from multiprocessing.reduction import ForkingPickler  # noqa: PLC0415 - small runs write nothing

    return ForkingPickler


class ByIndex(Sequence[T], Generic[T]):
    """Items that are not all in memory; pickled, they are a list."""

    @abstractmethod
    def at(self, index: int) -> T:
        """Return the item at an index from 0 on that there is."""

    def __iter__(self) -> Iterator[T]:
        return map(self.at, range(len(self)))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        indexes = range(len(self))[index]
        return self.at(indexes) if isinstance(indexes, int) else list(map(self.at, indexes))

    def __reduce__(self) -> tuple[type, tuple[list[T]]]:
        return list, (list(self),)


class OnDisk(ByIndex[T]):
    """Items by index, the last ones in memory, at most `held` of them. `number` is that of places that are empty at first."""

    def __init__(self, items: Iterable[T] = (), *, number: int = 0, held: int | None = None) -> None:
        self._held = held or _MOST_IN_MEMORY
        self._in_memory: dict[int, T] = {}
        self._number = number
        self._scratch: _Scratch | None = None
        #: Where each item is in the scratch file, as 64-bit integers; all bits are 0 if there is none.
        self._places: IO[bytes] | None = None
        for item in items:
            self.append(item)

    def __del__(self) -> None:
        if self._places is not None:
            self._places.close()

    def append(self, item: T) -> None:
        self._number += 1
        self.put(self._number - 1, item)

    def put(self, index: int, item: T) -> None:
        """Fill an empty place, or replace the item there."""
        self._in_memory[index] = item
        if len(self._in_memory) >= self._held:
            self._spill()

    def sort(self, order: Iterable[int]) -> None:
        """Put the items in an order, given by their indexes."""
        if self._places is None:
            self._in_memory = {new: self._in_memory[old] for new, old in enumerate(order)}
            self._number = len(self._in_memory)
            return
        self._spill()
        places = _temporary()
        # The order may come from the items themselves.
        for old in order:
            self._places.seek(old * _WORD_BYTES)
            places.write(self._places.read(_WORD_BYTES).ljust(_WORD_BYTES, b"\0"))
        self._places.close()
        self._places, self._number = places, places.tell() // _WORD_BYTES

    def _spill(self) -> None:
        if self._scratch is None or self._places is None:
            self._scratch, self._places = _Scratch(), _temporary()
        for index, item in self._in_memory.items():
            place = self._scratch.append(item)
            self._places.seek(index * _WORD_BYTES)
            self._places.write((place + 1).to_bytes(_WORD_BYTES, "little"))
        self._in_memory.clear()

    def __len__(self) -> int:
        return self._number

    def at(self, index: int) -> T:
        if index in self._in_memory:
            return self._in_memory[index]
        place = 0
        if self._places is not None:
            self._places.seek(index * _WORD_BYTES)
            place = int.from_bytes(self._places.read(_WORD_BYTES), "little")
        if self._scratch is None or not place:
            raise LookupError(f"no item was put at {index}")
        item: T = self._scratch[place - 1]
        return item


class Blocks(ByIndex[T]):
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
            self._file = _temporary()
        self._file.seek(self._begins[-1])
        self._file.write(_pickler().dumps(self._last))
        self._begins.append(self._file.tell())
        self._last = []

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(map(self.block, range(len(self._begins))))

    def __len__(self) -> int:
        return (len(self._begins) - 1) * _A_BLOCK + len(self._last)

    def at(self, index: int) -> T:
        number, place = divmod(index, _A_BLOCK)
        return self.block(number)[place]

    def block(self, number: int) -> list[T]:
        """Return the items of a block; its number is from 0."""
        if number == len(self._begins) - 1:
            return self._last
        if number != self._read[0]:
            assert self._file is not None
            begin, end = self._begins[number : number + 2]
            self._file.seek(begin)
            self._read = number, _pickler().loads(self._file.read(end - begin))
        return self._read[1]


class Made(ByIndex[T]):
    """Items that are made from their indexes whenever they are asked for."""

    def __init__(self, number: int, make: Callable[[int], T]) -> None:
        self._number = number
        self._make = make

    def at(self, index: int) -> T:
        return self._make(index)

    def __len__(self) -> int:
        return self._number


class ByName(Mapping[str, T], Generic[T]):
    """Values by name, in the order of names; of a name that occurs several times, the last value."""

    def __init__(self, items: Iterable[tuple[str, T]]) -> None:
        left = iter(items)
        few = deque(islice(left, _A_RUN))
        self._items: Sequence[tuple[str, T]] = []
        # The first name of each block on disk: one block is read to find a name.
        self._firsts: list[str] = []
        if len(few) < _A_RUN:
            self._items = list(_last_of_each(sorted(few, key=itemgetter(0))))
        # Most items come in order.
        elif odd := self._write(every := chain(_drained(few), left)):
            self._write(_last_of_each(in_order(chain(self._items, odd, every), itemgetter(0))))

    def _write(self, items: Iterable[tuple[str, T]]) -> list[tuple[str, T]]:
        """Write items as long as they come in the order of their names; return the one that does not."""
        blocks = self._items = Blocks()
        self._firsts = []
        last = None
        for item in items:
            if last is not None and item[0] <= last:
                return [item]
            if len(blocks) % _A_BLOCK == 0:
                self._firsts.append(item[0])
            blocks.append(item)
            last = item[0]
        return []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._items)

    def __getitem__(self, name: str) -> T:
        items = self._items
        if isinstance(items, Blocks):
            items = items.block(max(bisect_right(self._firsts, name) - 1, 0))
        index = bisect_left(items, name, key=itemgetter(0))
        if index < len(items):
            found, value = items[index]
            if found == name:
                return value
        raise KeyError(name)

    def items(self) -> ItemsView[str, T]:
        return _Items(self)

    def values(self) -> ValuesView[T]:
        return _Values(self)

    def pairs(self) -> Iterator[tuple[str, T]]:
        return iter(self._items)


# Those of a mapping look up each name.
class _Items(ItemsView[str, T]):
    _mapping: ByName[T]

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return self._mapping.pairs()


class _Values(ValuesView[T]):
    _mapping: ByName[T]

    def __iter__(self) -> Iterator[T]:
        return (value for _, value in self._mapping.pairs())


def _drained(items: deque[T]) -> Iterator[T]:
    while items:
        yield items.popleft()


def _last_of_each(items: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    """Yield the last item of each name; equal names follow each other."""
    before = None
    for item in items:
        if before is not None and before[0] != item[0]:
            yield before
        before = item
    if before is not None:
        yield before


def joined(left: Iterable[tuple[str, T]], right: Iterable[tuple[str, R]]) -> Iterator[tuple[str, T, R | None]]:
    """Yield the names and values of one side with the value of each name on the other; both are in the order of names."""
    others = iter(right)
    other = next(others, None)
    for name, value in left:
        while other is not None and other[0] < name:
            other = next(others, None)
        yield name, value, other[1] if other is not None and other[0] == name else None


def in_order(items: Iterable[T], key: Callable[[T], Any]) -> Iterator[T]:
    """Return items sorted by a key, after all were taken; few are in memory at any time."""
    left = iter(items)
    run = sorted(islice(left, _A_RUN), key=key)
    if len(run) < _A_RUN:
        return iter(run)
    from heapq import merge  # noqa: PLC0415 - for many items only

    scratch = _Scratch()
    runs = []
    while run:
        places = [scratch.append(run[first : first + _AT_A_TIME]) for first in range(0, len(run), _AT_A_TIME)]
        runs.append(chain.from_iterable(map(scratch.__getitem__, array("q", places))))
        run = sorted(islice(left, _A_RUN), key=key)
    return merge(*runs, key=key)


def order_of(keys: Iterable[Any]) -> Iterator[int]:
    """Return the indexes of keys in the order of the keys; equal keys keep theirs."""
    return (index for _, index in in_order(zip(keys, count()), itemgetter(0)))


class Hashes:
    """Texts by their hashes: eight bytes each."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._sorted = array("Q", in_order(map(_hashed, texts), int))

    def __contains__(self, text: str) -> bool:
        wanted = _hashed(text)
        index = bisect_left(self._sorted, wanted)
        return index < len(self._sorted) and self._sorted[index] == wanted


def _hashed(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
