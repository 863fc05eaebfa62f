"""The native backend: our own kernel for fastText models. Importing this module needs the compiled extension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpusfmt.langid._native import Model
from corpusfmt.langid._values import Classified, Guesses, LangidError, UnsupportedModelError, without_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from corpusfmt.langid._values import Buffer, ModelFormat


class NativeBackend:
    def __init__(self, path: Path, data: bytes) -> None:
        try:
            self._model = Model(data)
            self.labels = without_prefix(self._model.labels)
        except NotImplementedError as error:
            raise UnsupportedModelError(
                f"{path}: the native backend does not serve this model: {error}; choose the backend `fasttext`"
            ) from error
        except ValueError as error:
            raise LangidError(f"{path}: not a usable fastText model: {error}") from error
        self.format: ModelFormat = "ftz" if self._model.quantized else "bin"

    def classify(self, buffer: Buffer, min_chars: int, memory: bytearray | None) -> Classified:
        starts, ends, labels, scores, short, invalid, unlabelled = self._model.classify(buffer, min_chars, memory)
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

    def predict(self, lines: Sequence[str], k: int, threshold: float) -> Guesses:
        counts, labels, scores = self._model.predict(lines, k, threshold)
        return Guesses(memoryview(counts).cast("i"), memoryview(labels).cast("i"), memoryview(scores).cast("f"))
