from typing import TypeAlias

_Samples: TypeAlias = list[tuple[int, int, int]]

def documents(lines: bytes, sampled: bool = ..., /) -> tuple[list[str], list[str], list[int], _Samples] | None: ...
def attributes(
    lines: bytes, sampled: bool = ..., /
) -> tuple[list[str], list[str | None], list[int], list[tuple[int, tuple[str, ...]]], _Samples] | None: ...
