from corpusfmt.pipeline.hot import Ints

def wet_record(data: bytes, start: int, /) -> tuple[dict[str, str], bytes, int] | None: ...
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
) -> list[tuple[int, int, bytes, int, int, bytes]]: ...
def sorted_keys(digests: bytes | bytearray, words: int, /) -> bytes: ...
def repetitions(
    sections: list[tuple[int, memoryview[int]]], low: int, high: int, words: int, /
) -> list[tuple[int, bytes]]: ...
