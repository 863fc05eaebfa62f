"""The native backend answers as stock fastText does: equal labels, scores within 1e-5."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import fasttext
import pytest
from langid.fasttext_writer import SERVED, ModelSpec
from langid.stock import Oracle
from langid.texts import PIECES, RARE_PIECES, fuzzed_lines, sample_lines, sample_rows
from support import every

from corpusfmt.langid import Classifier
from corpusfmt.langid._model_file import bundled

if TYPE_CHECKING:
    from collections.abc import Sequence

pytest.importorskip("corpusfmt.langid._native", reason="the native extension is not built")

TOLERANCE = 1e-5  # a stock build with fused multiply-add has other last bits


def assert_same(classifier: Classifier, oracle: Oracle, lines: Sequence[str]) -> None:
    for line, (label, score) in zip(lines, classifier.predict(lines), strict=True):
        expected = oracle.predict(line)
        if not expected:
            assert (label, score) == ("", 0.0), line
        else:
            assert label == expected[0][1], line
            assert score == pytest.approx(expected[0][0], abs=TOLERANCE), line


@pytest.fixture(scope="module")
def lid176() -> tuple[Classifier, Oracle]:
    return Classifier(backend="native"), Oracle(bundled())


def test_468_languages(lid176: tuple[Classifier, Oracle]) -> None:
    lines = sample_lines()
    assert len(lines) > 900
    assert_same(*lid176, lines)


@pytest.mark.parametrize("seed", every(4, range(4)))
def test_100_000_fuzzed_lines(lid176: tuple[Classifier, Oracle], seed: int) -> None:
    assert_same(*lid176, fuzzed_lines(seed, 25_000))


def test_all_pieces_alone_and_in_pairs(lid176: tuple[Classifier, Oracle]) -> None:
    assert_same(*lid176, ["", *PIECES, *RARE_PIECES])
    assert_same(*lid176, [first + between + second for first in PIECES for second in PIECES for between in ("", " ")])


def test_words_of_every_length_around_a_chunk(lid176: tuple[Classifier, Oracle]) -> None:
    lines = [f"der {'é' * length} weg {'a' * length} fin" for length in (*range(500, 516), *range(1015, 1035))]
    lines += ["a " * count + "ende" for count in range(505, 520)]
    lines += ["x" * 1020 + space + "</s> après" for space in (" ", "  ", "   ", "    ", "     ")]
    lines += ["ha " * 400 + special + " mehr" for special in ("</s>", "__label__de", "__label__unbekannt")]
    assert_same(*lid176, lines)


def test_known_words_of_every_length_and_words_like_them(tmp_path: Path) -> None:
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    by_length = [alphabet[:length] for length in range(1, len(alphabet))]
    alike = [
        part
        for number in range(1000)
        for part in (f"{number:08}abcdefgh", f"abcdefgh{number:08}", f"abcdefgh{number:04}ijklmnop")
    ]
    path = tmp_path / "model"
    path.write_bytes(ModelSpec(words=("</s>", *by_length, *alike[::5])).to_bytes())
    changed = [word[:at] + "#" + word[at + 1 :] for word in by_length for at in range(len(word))]
    words = [*by_length, *alike, *changed]
    # A label makes a line take the way without the filter of the vocabulary.
    lines = [template.format(word) for word in words for template in ("{}", "x {} y", "{} __label__x")]
    assert_same(Classifier(path, backend="native"), Oracle(path), lines)


@pytest.mark.parametrize(("k", "threshold"), [(1, 0.5), (2, 0.0), (5, 0.01), (176, 0.0), (1000, 1e-6), (3, 1.5)])
def test_more_than_one_label(lid176: tuple[Classifier, Oracle], k: int, threshold: float) -> None:
    classifier, oracle = lid176
    lines = sample_lines()[::9] + fuzzed_lines(9, 200)
    expected = [oracle.predict(line, k, threshold) for line in lines]
    if k == 1:
        found = [[guess] if guess.label else [] for guess in classifier.predict(lines, threshold=threshold)]
    else:
        found = classifier.predict(lines, k, threshold)
    assert [[label for label, _ in guesses] for guesses in found] == [[label for _, label in e] for e in expected]
    for guesses, scored in zip(found, expected, strict=True):
        assert [score for _, score in guesses] == pytest.approx([score for score, _ in scored], abs=TOLERANCE)


@pytest.mark.parametrize("name", SERVED)
def test_models_of_every_layout(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.model"
    path.write_bytes(SERVED[name].to_bytes())
    classifier, oracle = Classifier(path, backend="native"), Oracle(path)
    assert classifier.labels == tuple(label.removeprefix("__label__") for label in SERVED[name].labels)
    assert classifier.model_format == ("ftz" if SERVED[name].quantized else "bin")
    lines = fuzzed_lines(5, 1500) + sample_lines()[::15]
    assert_same(classifier, oracle, lines)
    few = lines[:200]
    for k, threshold in ((2, 0.0), (3, 0.2), (400, 0.0)):
        found = [[label for label, _ in guesses] for guesses in classifier.predict(few, k, threshold)]
        assert found == [[label for _, label in oracle.predict(line, k, threshold)] for line in few]


TRAIN = """
import sys
import fasttext
text, model, loss = sys.argv[1:]
fasttext.train_supervised(text, dim=16, minn=2, maxn=4, bucket=50_000, epoch=3, thread=1, loss=loss).save_model(model)
"""


# Its fastText is built from source: fasttext-predict, as its name says, cannot train.
TRAINER = sys.executable if hasattr(fasttext, "train_supervised") else os.environ.get("CORPUSFMT_STOCK_PYTHON")


@pytest.mark.skipif(not TRAINER, reason="set CORPUSFMT_STOCK_PYTHON to a Python whose fastText can train")
@pytest.mark.parametrize("loss", ["hs", "softmax"])
def test_a_trained_dense_model(tmp_path: Path, loss: str) -> None:
    text, model = tmp_path / "text", tmp_path / "model.bin"
    text.write_text("".join(f"__label__{label} {line}\n" for label, line in sample_rows()), encoding="utf-8")
    assert TRAINER
    subprocess.run([TRAINER, "-c", TRAIN, text, model, loss], check=True, capture_output=True)
    classifier, oracle = Classifier(model, backend="native"), Oracle(model)
    assert classifier.model_format == "bin"
    assert len(set(classifier.labels)) > 400
    assert_same(classifier, oracle, sample_lines() + fuzzed_lines(6, 20_000))


@pytest.mark.skipif("CORPUSFMT_LANGID_TEXT" not in os.environ, reason="set CORPUSFMT_LANGID_TEXT to a text file")
def test_real_text() -> None:
    """Every line of at least 100 characters of the named file, by both backends."""
    native, stock = Classifier(backend="native"), Classifier(backend="fasttext")
    lines = 0
    with Path(os.environ["CORPUSFMT_LANGID_TEXT"]).open("rb") as text:
        while block := text.read(1 << 23) + text.readline():
            found, expected = native.classify(block, 100), stock.classify(block, 100)
            assert (found.starts, found.ends) == (expected.starts, expected.ends)
            assert (found.short, found.invalid) == (expected.short, expected.invalid)
            assert found.label_indices == expected.label_indices
            scores = zip(found.scores, expected.scores, strict=True)
            assert max((abs(ours - theirs) for ours, theirs in scores), default=0.0) <= TOLERANCE
            lines += len(found)
    print(f"{lines} lines agree")  # noqa: T201  # shown by `pytest -s`, for the record
