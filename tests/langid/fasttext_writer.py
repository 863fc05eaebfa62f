"""Writes small random fastText models, in every layout that stock fastText reads: training is not needed to compare.

`python fasttext_writer.py FOLDER` writes one of each kind, as the fuzzing harness wants them.

The layout is that of fastText 0.9 (`FastText::saveModel`). All numbers are little-endian.
"""

from __future__ import annotations

import random
import struct
import sys
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

MAGIC, VERSION = 793712314, 12
LOSSES = {"hs": 1, "ns": 2, "softmax": 3, "ova": 4}
WORDS = ("</s>", "the", "and", "of", "de", "la", "и", "в", "的", "日本", "é", "naïve", "🙂", "straße")
LABELS = ("__label__en", "__label__fr", "__label__ru", "__label__zh", "__label__de")


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """What a random model looks like. `kept`: how many n-grams pruning left, None for a model that is not pruned."""

    dim: int = 16
    words: tuple[str, ...] = WORDS
    labels: tuple[str, ...] = LABELS
    label_counts: tuple[int, ...] | None = None
    minn: int = 2
    maxn: int = 4
    buckets: int = 3000
    loss: Literal["hs", "ns", "softmax", "ova"] = "hs"
    kind: int = 3
    word_ngrams: int = 1
    version: int = VERSION
    quantized: bool = False
    quantized_output: bool = False
    part_width: int = 2
    norms: bool = True
    kept: int | None = None
    kept_oddly: bool = False  # some n-grams twice, and some that no line can hold
    seed: int = 1
    repeat_weights: bool = False  # for a large model: only some thousand different weights, over and over
    output_spread: float = 1.0  # the larger, the surer the model is of its labels
    _random: random.Random = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_random", random.Random(self.seed))

    def to_bytes(self) -> bytes:
        rows = len(self.words) + (self.buckets if self.kept is None else self.kept)
        return b"".join(
            [
                self._header(),
                self._dictionary(),
                struct.pack("<?", self.quantized),
                self._quantized_matrix(rows) if self.quantized else self._dense_matrix(rows),
                struct.pack("<?", self.quantized_output),
                self._dense_matrix(len(self.labels), self.output_spread),
            ]
        )

    def _header(self) -> bytes:
        window, epochs, least_count, negatives, update_rate, sampling = 5, 5, 1, 5, 100, 1e-4
        return struct.pack(
            "<14id",
            MAGIC,
            self.version,
            self.dim,
            window,
            epochs,
            least_count,
            negatives,
            self.word_ngrams,
            LOSSES[self.loss],
            self.kind,
            self.buckets,
            self.minn,
            self.maxn,
            update_rate,
            sampling,
        )

    def _dictionary(self) -> bytes:
        counts = self.label_counts or tuple(range(100 * len(self.labels), 0, -100))
        entries = [word.encode() + struct.pack("<xqb", 1000, 0) for word in self.words]
        entries += [
            label.encode() + struct.pack("<xqb", count, 1) for label, count in zip(self.labels, counts, strict=True)
        ]
        if self.kept_oddly:
            kept = self._random.choices(range(self.buckets + 9), k=self.kept or 0)
        else:
            kept = self._random.sample(range(self.buckets), self.kept or 0)
        pruned = -1 if self.kept is None else self.kept
        sizes = struct.pack("<3i2q", len(entries), len(self.words), len(self.labels), 10**6, pruned)
        pairs = b"".join(struct.pack("<2i", bucket, row) for row, bucket in enumerate(kept))
        return sizes + b"".join(entries) + pairs

    def _floats(self, count: int, spread: float = 1.0) -> bytes:
        different = min(count, 65_521) if self.repeat_weights else count
        weights = array("f", (self._random.gauss(0, spread) for _ in range(different))).tobytes()
        repetitions = -(-count // max(1, different))
        return (weights * repetitions)[: count * 4]

    def _dense_matrix(self, rows: int, spread: float = 1.0) -> bytes:
        return struct.pack("<2q", rows, self.dim) + self._floats(rows * self.dim, spread)

    def _quantizer(self, dim: int, part_width: int) -> bytes:
        parts = -(-dim // part_width)
        shape = struct.pack("<4i", dim, parts, part_width, dim - (parts - 1) * part_width)
        return shape + self._floats(256 * dim)

    def _quantized_matrix(self, rows: int) -> bytes:
        code_bytes = rows * -(-self.dim // self.part_width)
        matrix = struct.pack("<?2qi", self.norms, rows, self.dim, code_bytes) + self._random.randbytes(code_bytes)
        matrix += self._quantizer(self.dim, self.part_width)
        if self.norms:
            matrix += self._random.randbytes(rows) + self._quantizer(1, 1)
        return matrix


#: One model per layout and parameter that changes the path a line takes.
SERVED = {
    "dense-hs": ModelSpec(),
    "dense-softmax": ModelSpec(loss="softmax"),
    "quantized-hs": ModelSpec(quantized=True),
    "quantized-softmax": ModelSpec(quantized=True, loss="softmax", norms=False),
    "pruned-hs": ModelSpec(quantized=True, kept=1200),
    "pruned-softmax": ModelSpec(quantized=True, kept=1200, loss="softmax"),
    "pruned-to-words": ModelSpec(quantized=True, kept=0),
    "pruned-oddly": ModelSpec(quantized=True, kept=2000, buckets=1000, kept_oddly=True),
    "uneven-parts": ModelSpec(quantized=True, kept=500, dim=7, part_width=3),
    "words-only": ModelSpec(minn=0, maxn=0, buckets=0),
    "words-only-with-buckets": ModelSpec(minn=0, maxn=0, buckets=50),
    "old-format": ModelSpec(version=11, buckets=0),
    "unigrams": ModelSpec(minn=1, maxn=1),
    "bigrams": ModelSpec(minn=2, maxn=2),
    "unigrams-and-bigrams": ModelSpec(minn=1, maxn=2),
    "unigrams-to-trigrams": ModelSpec(minn=0, maxn=3, quantized=True, kept=1000),
    "long-ngrams": ModelSpec(minn=3, maxn=6, dim=10),
    "longest-ngrams": ModelSpec(minn=30, maxn=32),
    "only-trigrams": ModelSpec(minn=3, maxn=3),
    "minn-above-maxn": ModelSpec(minn=5, maxn=4),
    "one-bucket": ModelSpec(buckets=1),
    "power-of-two-buckets": ModelSpec(buckets=4096),
    "awkward-buckets": ModelSpec(buckets=2741, quantized=True, kept=900),
    "wide": ModelSpec(dim=100, loss="softmax"),
    "one-dimension": ModelSpec(dim=1),
    "sure-of-itself": ModelSpec(output_spread=40.0),
    "one-label": ModelSpec(labels=("__label__en",)),
    "two-labels": ModelSpec(labels=("__label__en", "__label__fr")),
    "labels-without-prefix": ModelSpec(labels=("english", "french", "russian")),
    "no-end-of-line": ModelSpec(words=WORDS[1:]),
    "no-words": ModelSpec(words=()),
    "repeated-words": ModelSpec(words=(*WORDS, "the", "de")),
    "many-labels": ModelSpec(labels=tuple(f"__label__{n}" for n in range(300)), dim=8),
    "tree-like-a-list": ModelSpec(
        labels=tuple(f"__label__{n}" for n in range(80)), label_counts=tuple(0 for _ in range(80))
    ),
    "equal-counts": ModelSpec(label_counts=(5, 5, 5, 5, 5)),
}

REFUSED = {
    "one-vs-all": (ModelSpec(loss="ova"), "loss number 4"),
    "negative-sampling": (ModelSpec(loss="ns"), "loss number 2"),
    "word-ngrams": (ModelSpec(word_ngrams=2), "word n-grams"),
    "unsupervised": (ModelSpec(kind=2), "not a supervised model"),
    "unknown-version": (ModelSpec(version=13), "file format version 13"),
    "quantized-output": (ModelSpec(quantized=True, quantized_output=True), "quantised output"),
    "very-long-ngrams": (ModelSpec(maxn=33), "n-grams longer than 32"),
}


def write_all(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, spec in (SERVED | {name: spec for name, (spec, _) in REFUSED.items()}).items():
        (folder / f"{name}.model").write_bytes(spec.to_bytes())


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
