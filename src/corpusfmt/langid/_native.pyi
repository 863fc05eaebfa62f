from mmap import mmap
from typing import final

@final
class Model:
    def __new__(cls, data: bytes | bytearray | memoryview | mmap, /) -> Model: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def quantized(self) -> bool: ...
    def classify(
        self,
        buffer: bytes | bytearray | memoryview,
        min_chars: int,
        memory: bytearray | None,
        k: int = 1,
        threshold: float = 0.0,
        /,
    ) -> tuple[bytes, bytes, bytes, bytes, int, int, int]: ...
