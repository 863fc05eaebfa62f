"""Internal: Results of language identification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

Buffer: TypeAlias = "bytes | bytearray | memoryview"
BackendName: TypeAlias = Literal["native", "fasttext"]
ModelFormat: TypeAlias = Literal["ftz", "bin"]

LABEL_PREFIX = "__label__"


class LangidError(ValueError):
    """Language identification cannot start; the message says what to do."""


class UnsupportedModelError(LangidError):
    """The model is valid, but the native backend cannot reproduce its results exactly."""


class Prediction(NamedTuple):
    """A language and its probability.

    `label` is the language code, without fastText's `__label__`; empty if nothing reached the threshold.
    `score` is fastText's probability; as in stock fastText, it can exceed 1 by about 1e-5.
    """

    label: str
    score: float


class Classified(Struct, frozen=True):
    """The kept lines of a buffer as four columns of equal length, and the numbers of dropped lines.

    Iterating yields `(start, end, label, score)` for every kept line, in order. The columns are memoryviews, so
    `numpy.asarray(result.scores)` does not copy.
    """

    #: Byte offsets of the starts of lines (int64).
    starts: memoryview[int]
    #: Byte offsets of the ends of lines, line feed excluded (int64).
    ends: memoryview[int]
    #: Indexes into `labels` (int32).
    label_indices: memoryview[int]
    #: fastText's probabilities (float32).
    scores: memoryview[float]
    #: The model's labels, without `__label__`.
    labels: tuple[str, ...]
    #: Lines with fewer than `min_chars` characters, which are bytes other than UTF-8 continuation bytes.
    short: int
    #: Lines that are long enough but not UTF-8.
    invalid: int
    #: Lines without any feature that the model knows; fastText's own models know the line end and label even an empty line.
    unlabelled: int

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int, str, float]]:
        labels = map(self.labels.__getitem__, self.label_indices)
        return zip(self.starts, self.ends, labels, self.scores, strict=True)


class Guesses(NamedTuple):
    """Predictions of many lines as columns: the number of guesses per line, then all guesses."""

    counts: memoryview[int]
    label_indices: memoryview[int]
    scores: memoryview[float]
