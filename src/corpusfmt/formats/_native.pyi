from typing import TypeAlias

_Samples: TypeAlias = list[tuple[int, int, int]]

def documents(
    lines: bytes | memoryview, room: int = ..., shapes: bytearray = ..., /
) -> tuple[int, list[str], list[str], list[int], list[tuple[int, int]], _Samples] | None: ...
def texts(
    lines: bytes, kept: bool, classes: bytes, states: bytes, letters: bytearray, /
) -> tuple[bytes, bytes, bytes] | None: ...
def rows_of_pairs(
    text: memoryview, records: memoryview, row: bytes, line: int, most: int, /
) -> tuple[bytes, bytes, int, int, int]: ...
def pairs_of_rows(lines: bytes, language: bytes, line: int, /) -> tuple[bytes, bytes, int] | None: ...
def attributes(
    lines: bytes | memoryview, room: int = ..., shapes: bytearray = ..., /
) -> tuple[int, list[str], list[str | None], list[int], list[tuple[int, tuple[str, ...]]], _Samples] | None: ...
def records(
    lines: memoryview, /
) -> (
    tuple[int, list[int], list[int], list[int | None], list[int | None], list[int], list[tuple[int, int, str | None]]]
    | None
): ...
