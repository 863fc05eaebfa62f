"""Stock fastText as the oracle, called in the one way that works in all of its packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import fasttext

if TYPE_CHECKING:
    from pathlib import Path

Scored: TypeAlias = "list[tuple[float, str]]"


class Oracle:
    def __init__(self, path: Path) -> None:
        self._model = fasttext.load_model(str(path))

    def predict(self, line: str | bytes, k: int = 1, threshold: float = 0.0) -> Scored:
        text = line.encode() if isinstance(line, str) else line
        guesses = self._model.f.predict(text + b"\n", k, threshold, "strict")
        return [(score, label.removeprefix("__label__")) for score, label in guesses]


class Reference(NamedTuple):
    kept: list[tuple[int, int, str, float]]
    short: int
    invalid: int
    unlabelled: int


def classify(oracle: Oracle, buffer: bytes, min_chars: int) -> Reference:
    """What `Classifier.classify` promises, in as few words as possible."""
    kept, short, invalid, unlabelled, end = [], 0, 0, 0, -1
    lines = buffer.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for line in lines:
        start, end = end + 1, end + 1 + len(line)
        if sum(byte & 0xC0 != 0x80 for byte in line) < min_chars:
            short += 1
            continue
        try:
            line.decode("utf-8", "strict")
        except UnicodeDecodeError:
            invalid += 1
            continue
        guesses = oracle.predict(line)
        if guesses:
            kept.append((start, end, guesses[0][1], guesses[0][0]))
        else:
            unlabelled += 1
    return Reference(kept, short, invalid, unlabelled)
