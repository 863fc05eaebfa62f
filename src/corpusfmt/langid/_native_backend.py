"""Internal: The native backend, a kernel for fastText models. Importing it needs the compiled extension."""

from __future__ import annotations

from array import array
from collections import Counter
from contextlib import contextmanager, nullcontext
from itertools import accumulate
from typing import TYPE_CHECKING

from corpusfmt.langid._native import Model
from corpusfmt.langid._values import LABEL_PREFIX, Classified, Guesses, LangidError, UnsupportedModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from corpusfmt.langid._model_file import Data
    from corpusfmt.langid._values import Buffer, ModelFormat


# For 262,144 answers; four times as many found only 3 to 5 % more of the long lines in 600 MB of text.
_MEMORY_BYTES = 1 << 22


class NativeBackend:
    def __init__(self, path: Path, data: Data) -> None:
        try:
            self._model = Model(data)
            self.labels = tuple(label.removeprefix(LABEL_PREFIX) for label in self._model.labels)
        except NotImplementedError as error:
            raise UnsupportedModelError(
                f"{path}: the native backend does not support this model: {error}; choose the backend `fasttext`"
            ) from error
        except ValueError as error:
            raise LangidError(f"{path}: not a usable fastText model: {error}") from error
        self.format: ModelFormat = "ftz" if self._model.quantized else "bin"
        self._memories: list[bytearray] = []

    def classify(self, buffer: Buffer, min_chars: int, remember: bool) -> Classified:
        with self._memory() if remember else nullcontext() as memory:
            columns = self._model.classify(buffer, min_chars, memory)
        starts, ends, labels, scores, short, invalid, unlabelled = columns
        return Classified(
            starts=memoryview(starts).cast("q"),
            ends=memoryview(ends).cast("q"),
            label_indices=memoryview(labels).cast("i"),
            scores=memoryview(scores).cast("f"),
            labels=self.labels,
            short=short,
            invalid=invalid,
            unlabelled=unlabelled,
        )

    @contextmanager
    def _memory(self) -> Iterator[bytearray]:
        """Provide the memory of answers; a thread that asks meanwhile gets another one."""
        try:
            memory = self._memories.pop()
        except IndexError:
            memory = bytearray(_MEMORY_BYTES)
        try:
            yield memory
        finally:
            self._memories.append(memory)

    def predict(self, lines: Sequence[str], k: int, threshold: float) -> Guesses:
        texts = [line.encode() + b"\n" for line in lines]
        starts, _, labels, scores, *_ = self._model.classify(b"".join(texts), 0, None, k, threshold)
        guesses_at = Counter(memoryview(starts).cast("q"))
        counts = array("i", (guesses_at[start] for start in accumulate(map(len, texts[:-1]), initial=0) if texts))
        return Guesses(memoryview(counts), memoryview(labels).cast("i"), memoryview(scores).cast("f"))
