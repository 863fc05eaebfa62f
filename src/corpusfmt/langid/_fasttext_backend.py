r"""Internal: The stock backend: any package that installs the module `fasttext`, which this module imports.

All of them answer `model.f.predict(text + "\n", k, threshold, "strict")` with the same bits. Their Python wrappers differ
and some fail (the list form in fasttext-predict, the single form of fasttext 0.9.3 under NumPy 2).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, TypeAlias

import fasttext

from corpusfmt.langid._model_file import Data, outline
from corpusfmt.langid._values import LABEL_PREFIX, Classified, Guesses, LangidError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from corpusfmt.langid._values import Buffer

_Scored: TypeAlias = "list[tuple[float, str]]"

_BLOCK_BYTES = 1024 * 1024
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class FasttextBackend:
    def __init__(self, path: Path, data: Data) -> None:
        # Stock fastText crashes on many damaged files, and its smallest package cannot list the labels.
        model = outline(path, data)
        self.format = model.format
        self.labels = tuple(label.removeprefix(LABEL_PREFIX) for label in model.labels)
        self._index_of = {label: index for index, label in enumerate(model.labels)}
        try:
            self._model = fasttext.load_model(str(path))
        except (RuntimeError, ValueError) as error:
            raise LangidError(f"{path}: stock fastText cannot load this model: {error}") from error

    def classify(self, buffer: Buffer, min_chars: int, remember: bool) -> Classified:
        del remember  # the reference for the native backend: always asks the model
        if min_chars < 0:
            raise ValueError("min_chars must not be negative")
        starts, ends, labels, scores = array("q"), array("q"), array("i"), array("f")
        short = invalid = unlabelled = 0
        for start, line in _lines(bytes(buffer)):
            if len(line) < min_chars or len(line.translate(None, _CONTINUATION_BYTES)) < min_chars:
                short += 1
            elif not _is_utf8(line):
                invalid += 1
            elif not (guesses := self._predict(line, 1, 0.0)):
                unlabelled += 1
            else:
                score, label = guesses[0]
                starts.append(start)
                ends.append(start + len(line))
                labels.append(self._index_of[label])
                scores.append(score)
        return Classified(
            starts=memoryview(starts),
            ends=memoryview(ends),
            label_indices=memoryview(labels),
            scores=memoryview(scores),
            labels=self.labels,
            short=short,
            invalid=invalid,
            unlabelled=unlabelled,
        )

    def predict(self, lines: Sequence[str], k: int, threshold: float) -> Guesses:
        counts, labels, scores = array("i"), array("i"), array("f")
        for line in lines:
            guesses = self._predict(line.encode(), k, threshold)
            counts.append(len(guesses))
            labels.extend(self._index_of[label] for _, label in guesses)
            scores.extend(score for score, _ in guesses)
        return Guesses(memoryview(counts), memoryview(labels), memoryview(scores))

    def _predict(self, line: bytes, k: int, threshold: float) -> _Scored:
        guesses: _Scored = self._model.f.predict(line + b"\n", k, threshold, "strict")
        return guesses


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their offsets, split block by block so that a buffer of line feeds does not fill the memory."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _BLOCK_BYTES) + 1 or len(data)
        lines = data[start:end].split(b"\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            yield start, line
            start += len(line) + 1
        start = end
