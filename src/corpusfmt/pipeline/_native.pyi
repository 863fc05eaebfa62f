from typing import NewType

from corpusfmt.pipeline.hot import Ints

_Lines = NewType("_Lines", object)

def line_set(key: bytes, most: int, /) -> _Lines: ...
def new_lines(lines: _Lines, text: bytes, /) -> tuple[bytes, bytes, bytes]: ...
def wet_records(data: bytes, start: int, /) -> tuple[list[bytes], bytes, bytes, int, int]: ...
def documents(
    text: bytes,
    record_ends: Ints,
    starts: Ints,
    ends: Ints,
    labels: Ints,
    scores: memoryview[float],
    least: float,
    adjacent: bool,
    /,
) -> list[tuple[int, int, bytes, int, bytes]]: ...
def repetitions(sections: list[tuple[int, bytes]], words: int, /) -> list[tuple[int, bytes]]: ...
