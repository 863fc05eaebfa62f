"""`classify` keeps, drops and counts lines as documented, for any bytes; both backends give the same result."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from langid import stock
from langid.fasttext_writer import ModelSpec
from langid.texts import BROKEN, PIECES, fuzzed_buffer, sample_lines
from strategies import examples

from corpusfmt.langid import Classified, Classifier
from corpusfmt.langid._model_file import bundled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

native = pytest.importorskip("corpusfmt.langid._native", reason="the native extension is not built")

NATIVE = Classifier(backend="native")
STOCK = Classifier(backend="fasttext")
ORACLE = stock.Oracle(bundled())
# What is remembered of a line: its hash, the number of its label from 1, its score.
ANSWER = struct.Struct("Qif")


def assert_same(found: Classified, expected: stock.Reference) -> None:
    assert [row[:3] for row in found] == [row[:3] for row in expected.kept]
    assert list(found.scores) == pytest.approx([row[3] for row in expected.kept], abs=1e-5)
    assert (found.short, found.invalid, found.unlabelled) == expected[1:]


@pytest.mark.parametrize("min_chars", [0, 1, 2, 30])
@pytest.mark.parametrize("backend", [NATIVE, STOCK], ids=["native", "fasttext"])
def test_fuzzed_buffers(backend: Classifier, min_chars: int) -> None:
    buffer = fuzzed_buffer(min_chars, 2500)
    assert_same(backend.classify(buffer, min_chars), stock.classify(ORACLE, buffer, min_chars))


@examples(150)
@given(
    st.lists(
        st.sampled_from([piece.encode() for piece in PIECES] + list(BROKEN) + [b"\n", b"\n", b"\n\n"]) | st.binary()
    ),
    st.integers(0, 12),
)
def test_any_buffer(parts: list[bytes], min_chars: int) -> None:
    buffer = b"".join(parts)
    expected = stock.classify(ORACLE, buffer, min_chars)
    for classifier in (NATIVE, STOCK):
        assert_same(classifier.classify(buffer, min_chars), expected)


def test_every_pair_and_edge_of_utf8() -> None:
    edges = [0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF]
    edges += [0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
    sequences = [bytes((a, b, c)) for a in edges for b in edges for c in edges]
    sequences += [bytes((a, b, c, 0xBF)) for a in edges for b in edges for c in edges]
    buffer = b"\n".join(sequences)
    found = NATIVE.classify(buffer, 0)
    assert_same(found, stock.classify(ORACLE, buffer, 0))
    assert found.invalid > 0
    assert len(found) > 0


@pytest.mark.parametrize("backend", [NATIVE, STOCK], ids=["native", "fasttext"])
def test_lines_end_at_lf_alone(backend: Classifier) -> None:
    buffer = "one\r\ntwo\vtwo\x85two\u2028two\n\nlast".encode()
    rows = [(buffer[start:end].decode(), label) for start, end, label, _ in backend.classify(buffer, 0)]
    assert [text for text, _ in rows] == ["one\r", "two\vtwo\x85two\u2028two", "", "last"]


@pytest.mark.parametrize("backend", [NATIVE, STOCK], ids=["native", "fasttext"])
def test_a_line_is_counted_once(backend: Classifier) -> None:
    result = backend.classify(b"abc\nabcd\nab\xff\nabc\xff\n\xc3\xa9\xc3\xa9\xc3\xa9\n\n", 4)
    assert (len(result), result.short, result.invalid, result.unlabelled) == (1, 4, 1, 0)
    assert list(result.ends) == [8]


@pytest.mark.parametrize("buffer", [b"", bytearray(), memoryview(b"")])
@pytest.mark.parametrize("backend", [NATIVE, STOCK], ids=["native", "fasttext"])
def test_empty_input(backend: Classifier, buffer: bytes | bytearray | memoryview) -> None:
    result = backend.classify(buffer, 0)
    assert (list(result), result.short, result.invalid, result.unlabelled) == ([], 0, 0, 0)
    assert backend.predict([]) == []
    assert [prediction.label for prediction in backend.predict([""])] == ["en"]


def test_columns_are_arrays() -> None:
    result = NATIVE.classify(b"one line\nand another", 0)
    columns = (result.starts, result.ends, result.label_indices, result.scores)
    assert [np.asarray(column).dtype for column in columns] == ["int64", "int64", "int32", "float32"]


def test_lines_in_which_the_model_knows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "words.bin"
    path.write_bytes(ModelSpec(words=("known",), minn=0, maxn=0, buckets=0).to_bytes())
    for backend in ("native", "fasttext"):
        classifier = Classifier(path, backend=backend)
        result = classifier.classify(b"known word\nnothing else\n\n", 0)
        assert (len(result), result.unlabelled) == (1, 2)
        assert [guess.label == "" for guess in classifier.predict(["known", "unheard of", ""])] == [False, True, True]
        assert classifier.predict(["unheard of"], 2) == [[]]


def test_a_long_line_is_no_different() -> None:
    paragraph = " ".join(sample_lines())
    text = (paragraph * (5_000_000 // len(paragraph.encode()) + 1)).encode()
    assert_same(NATIVE.classify(text, 100), stock.classify(ORACLE, text, 100))


def test_one_word_of_a_megabyte() -> None:
    for word in (b"a" * 1_000_000, "é漢🙂".encode() * 100_000):
        assert_same(NATIVE.classify(word, 100), stock.classify(ORACLE, word, 100))


@pytest.mark.parametrize("backend", ["native", "fasttext"])
def test_what_is_remembered_changes_no_answer(backend: Literal["native", "fasttext"]) -> None:
    remembering = Classifier(backend=backend, remember=True)
    for seed in (1, 2, 1, 3, 2, 1):
        for min_chars in (5, 0, 30):
            buffer = fuzzed_buffer(seed, 600)
            assert_same(remembering.classify(buffer, min_chars), stock.classify(ORACLE, buffer, min_chars))


def memories_of(classifier: Classifier) -> list[bytearray]:
    backend: Any = classifier._loaded.backend
    found: list[bytearray] = backend._memories
    return found


def test_a_classifier_that_remembers_shares_that_with_others_of_its_model(tmp_path: Path) -> None:
    path = tmp_path / "small.bin"
    path.write_bytes(ModelSpec().to_bytes())
    found = list(Classifier(path, remember=True).classify(b"la mer\n", 0))
    (memory,) = memories_of(Classifier(path))
    ((place, answer),) = [
        (number * ANSWER.size, answer) for number, answer in enumerate(ANSWER.iter_unpack(memory)) if any(answer)
    ]
    line_hash, label_number, _ = answer
    ANSWER.pack_into(memory, place, line_hash, label_number, 0.25)
    assert [score for *_, score in Classifier(path, remember=True).classify(b"la mer\n", 0)] == [0.25]
    assert list(Classifier(path).classify(b"la mer\n", 0)) == found
    with pytest.raises(ValueError, match="negative"):
        Classifier(path, remember=True).classify(b"", -1)
    assert memories_of(Classifier(path)) == [memory]


def test_threads_share_a_classifier_that_remembers() -> None:
    remembering = Classifier(backend="native", remember=True)
    buffers = [fuzzed_buffer(seed, 3000) for seed in range(4)]
    alone = [list(NATIVE.classify(buffer, 1)) for buffer in buffers]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda buffer: list(remembering.classify(buffer, 1)), buffers * 5))
    assert together == alone * 5
    assert 1 <= len(memories_of(remembering)) <= 4


def test_a_line_is_remembered_until_another_takes_its_place() -> None:
    model = native.Model(bundled().read_bytes())
    one, other = (line.encode() + b"\n" for line in sample_lines()[:2])

    def scores(buffer: bytes, memory: bytearray) -> Sequence[float]:
        return memoryview(model.classify(buffer, 0, memory)[3]).cast("f").tolist()

    memory = bytearray(ANSWER.size)  # of one place
    expected = scores(one, memory)
    line_hash, label_number, score = ANSWER.unpack(memory)
    assert line_hash not in {0, xxhash.xxh64_intdigest(one[:-1])}  # it has a key
    assert [score] == expected
    ANSWER.pack_into(memory, 0, line_hash, label_number, 0.25)
    assert scores(one * 2, memory) == [0.25, 0.25]
    assert scores(one + other + one, memory) == [0.25, *scores(other, bytearray(16)), *expected]


@pytest.mark.parametrize("size", [0, 8, 24, 48])
def test_memory_has_a_power_of_two_of_bytes(size: int) -> None:
    model = native.Model(bundled().read_bytes())
    with pytest.raises(ValueError, match="power of two"):
        model.classify(b"", 0, bytearray(size))
    with pytest.raises(BufferError):
        model.classify(b"", 0, bytes(64))


@pytest.mark.parametrize("backend", [NATIVE, STOCK], ids=["native", "fasttext"])
def test_wrong_usage(backend: Classifier) -> None:
    with pytest.raises(ValueError, match="min_chars must not be negative"):
        backend.classify(b"", -1)
    with pytest.raises(ValueError, match="k must be 1 or more"):
        backend.predict(["a"], 0)
    with pytest.raises(ValueError, match="line 1 holds a line feed"):
        backend.predict(["a", "b\nc"])
    with pytest.raises(UnicodeEncodeError):
        backend.predict(["\ud800"])
    with pytest.raises(TypeError, match="found one string"):
        backend.predict("a line")
    with pytest.raises(TypeError):
        backend.classify("a line", 0)  # type: ignore[arg-type]  # that is the point
