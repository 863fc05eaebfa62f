"""Internal: Lines of a file, drawn at random with equal chances while it is read once, without knowing how many there are."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Iterable, Iterator
from itertools import accumulate

from msgspec import Struct

from corpusfmt.io.lines import Block, LongLine


class Draw(Struct, frozen=True):
    """How many lines are drawn, and what decides which."""

    count: int
    seed: str

    def of(self, found: Iterable[Block | LongLine]) -> Iterator[Block | LongLine]:
        """Yield the drawn lines in their order, each as a block, after all blocks are read."""
        turns = _Turns(self)
        # By place in the sample: line, byte, and where in the file of lines it begins and ends; LongLines are not in it.
        drawn: dict[int, tuple[int, int, int, int] | LongLine] = {}
        with tempfile.TemporaryFile() as lines:
            for block in found:
                for line in _lines_of(block, turns.before(block.line, block.line + _count(block))):
                    place = turns.place()
                    if isinstance(line, LongLine):
                        drawn[place] = line
                    else:
                        start = lines.tell()
                        drawn[place] = line.line, line.byte, start, start + lines.write(line.data)
            for each in sorted(drawn.values(), key=lambda each: each.line if isinstance(each, LongLine) else each[0]):
                if isinstance(each, LongLine):
                    yield each
                else:
                    line_number, byte, start, end = each
                    lines.seek(start)
                    yield Block(lines.read(end - start), line_number, byte)


class _Turns:
    """Which lines take a place in the sample, and whose (K.-H. Li, algorithm L)."""

    def __init__(self, draw: Draw) -> None:
        self._random = random.Random(draw.seed)
        self._count = draw.count
        self._filled = 0
        self._next = 1
        self._weight = 1.0

    def before(self, first: int, end: int) -> Iterator[int]:
        """Yield the lines from `first` on that are drawn; each must be given a `place` before the next."""
        while first <= self._next < end:
            yield self._next

    def place(self) -> int:
        """Return the place in the sample for the line."""
        if self._filled < self._count:
            self._filled += 1
            if self._filled == self._count:
                self._skip()
            else:
                self._next += 1
            return self._filled - 1
        place = self._random.randrange(self._count)
        self._skip()
        return place

    def _skip(self) -> None:
        self._weight *= math.exp(math.log(1 - self._random.random()) / self._count)
        left = math.log(1 - self._random.random()) / math.log1p(-self._weight) if self._weight < 1 else 0.0
        self._next += 1 + (math.floor(left) if left < 2**62 else 2**62)


def _count(block: Block | LongLine) -> int:
    if isinstance(block, LongLine):
        return 1
    return block.data.count(b"\n") + (not block.data.endswith(b"\n"))


def _lines_of(block: Block | LongLine, numbers: Iterator[int]) -> Iterator[Block | LongLine]:
    """Yield some lines of a block."""
    lines: list[bytes] = []
    starts: list[int] = []
    for number in numbers:
        if isinstance(block, LongLine):
            yield block
            continue
        if not lines:
            lines = block.data.split(b"\n")
            starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        index = number - block.line
        yield Block(block.data[starts[index] : starts[index + 1]], number, block.byte + starts[index])
