"""Internal: What language identification gives back, and what both of its backends agree on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Buffer: TypeAlias = "bytes | bytearray | memoryview"
BackendName: TypeAlias = Literal["native", "fasttext"]
ModelFormat: TypeAlias = Literal["ftz", "bin"]

LABEL_PREFIX = "__label__"


class LangidError(ValueError):
    """Language identification cannot start as asked; the message says what to do about it."""


class UnsupportedModelError(LangidError):
    """The model is sound, but of a kind that the native backend does not serve exactly."""


class Prediction(NamedTuple):
    """A language and how sure the model is of it.

    `label` is the language code, without fastText's `__label__`; empty if nothing reached the threshold.
    `score` is fastText's probability; it can exceed 1 by some 1e-5, as stock fastText's does.
    """

    label: str
    score: float


class Classified(Struct, frozen=True):
    """The lines of a buffer that were kept, as four columns of equal length, and how many were not.

    Iterating gives `(start, end, label, score)` for every kept line, in order. The columns are memoryviews, so that
    `numpy.asarray(result.scores)` costs nothing.
    """

    #: Byte offsets into the buffer where the lines begin (int64).
    starts: memoryview[int]
    #: Byte offsets where they end, line feed excluded (int64).
    ends: memoryview[int]
    #: Positions in `labels` (int32).
    label_indices: memoryview[int]
    #: fastText's probabilities (float32).
    scores: memoryview[float]
    #: The model's labels, without `__label__`.
    labels: tuple[str, ...]
    #: Lines with fewer characters than asked for; characters are bytes other than UTF-8 continuation bytes.
    short: int
    #: Lines that are long enough but not UTF-8.
    invalid: int
    #: Lines in which the model knows nothing at all; a model that knows the end of a line, as all of fastText's own do,
    #: labels even an empty line.
    unlabelled: int

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[int, int, str, float]]:
        labels = map(self.labels.__getitem__, self.label_indices)
        return zip(self.starts, self.ends, labels, self.scores, strict=True)


class Guesses(NamedTuple):
    """Predictions of many lines without an object for each: guesses per line, then all lines' guesses in a row."""

    counts: memoryview[int]
    label_indices: memoryview[int]
    scores: memoryview[float]


class Backend(Protocol):
    """A loaded model. `labels` have no prefix; lines are given without a line feed.

    With `remember`, a backend may give an answer again that it gave before, without asking the model.
    """

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def format(self) -> ModelFormat: ...

    def classify(self, buffer: Buffer, min_chars: int, remember: bool) -> Classified: ...

    def predict(self, lines: Sequence[str], k: int, threshold: float) -> Guesses: ...


def without_prefix(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(label.removeprefix(LABEL_PREFIX) for label in labels)
