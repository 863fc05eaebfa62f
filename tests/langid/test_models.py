"""A model file that is damaged, foreign or not served is refused with the reason; it never brings the process down."""

from __future__ import annotations

import random
import struct
from typing import TYPE_CHECKING

import pytest
from langid.fasttext_writer import REFUSED, SERVED, ModelSpec
from langid.texts import fuzzed_buffer, sample_lines

from corpusfmt.langid import Classifier, LangidError, _model_file

if TYPE_CHECKING:
    from pathlib import Path

native = pytest.importorskip("corpusfmt.langid._native", reason="the native extension is not built")

SMALL = {
    "dense": ModelSpec(dim=2, buckets=40, words=("</s>", "a"), labels=("__label__x", "__label__y")),
    "pruned": ModelSpec(dim=2, buckets=40, words=("</s>", "a"), labels=("__label__x",), quantized=True, kept=9),
}
EXTREMES = (-(2**31), -1, 0, 1, 2, 3, 255, 65537, 2**28, 2**31 - 1)
TEXT = fuzzed_buffer(1, 40)


def refusal(data: bytes) -> str | None:
    """Why the model is refused; None if it is accepted, and then it must also work."""
    try:
        model = native.Model(data)
    except (ValueError, NotImplementedError) as error:
        return str(error)
    model.classify(TEXT, 0, None)
    model.classify(b"a b c\n\n", 0, None, 3, 0.0)
    return None


def outlined(path: Path, data: bytes) -> bool:
    try:
        _model_file.outline(path, data)
    except LangidError:
        return False
    return True


@pytest.mark.parametrize("name", SMALL)
def test_cut_anywhere(tmp_path: Path, name: str) -> None:
    data = SMALL[name].to_bytes()
    assert refusal(data) is None
    assert outlined(tmp_path, data)
    for size in range(len(data)):
        assert refusal(data[:size]), size
        assert not outlined(tmp_path, data[:size]), size
    assert refusal(data + b"\0")
    assert not outlined(tmp_path, data + b"\0")


@pytest.mark.parametrize(("step", "cuts"), [(28, 3), pytest.param(7, 25, marks=pytest.mark.deep)])
def test_the_published_model_cut(tmp_path: Path, step: int, cuts: int) -> None:
    data = _model_file.bundled().read_bytes()
    source = random.Random(1)
    for size in [*range(0, 120, step), *(source.randrange(len(data)) for _ in range(cuts)), len(data) - 1]:
        path = tmp_path / "cut.ftz"
        path.write_bytes(data[:size])
        for backend in ("native", "fasttext", "auto"):
            with pytest.raises(LangidError, match="not a usable fastText model"):
                Classifier(path, backend=backend)


@pytest.mark.parametrize("name", SMALL)
def test_any_number_changed(tmp_path: Path, name: str) -> None:
    data = SMALL[name].to_bytes()
    for at in range(len(data) - 3 if len(data) < 1000 else 1000):
        for value in EXTREMES:
            changed = data[:at] + struct.pack("<i", value) + data[at + 4 :]
            assert refusal(changed) != ""
            outlined(tmp_path, changed)


@pytest.mark.parametrize("name", SERVED)
def test_random_damage(tmp_path: Path, name: str) -> None:
    data = SERVED[name].to_bytes()
    source = random.Random(name)
    for _ in range(30):
        changed = bytearray(data)
        for _ in range(source.randrange(1, 6)):
            changed[source.randrange(min(len(data), source.choice((100, 1000, len(data)))))] = source.randrange(256)
        assert refusal(bytes(changed)) != ""
        outlined(tmp_path, bytes(changed))


@pytest.mark.parametrize("backend", ["native", "fasttext", "auto"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "does not begin like a fastText model"),
        ("\n".join(sample_lines()[:50]).encode(), "does not begin like a fastText model"),
        (struct.pack("<2i", 793712314, 12), "shorter than its header says"),
        (ModelSpec(dim=0).to_bytes(), "impossible vector dimension"),
        (ModelSpec(buckets=0).to_bytes(), "n-grams without buckets"),
        (ModelSpec(label_counts=(1, 2, 3, 4, 10**16)).to_bytes(), "impossible label counts"),
        (ModelSpec(labels=()).to_bytes(), "sizes contradict each other"),
        (ModelSpec(kept=3).to_bytes(), "a matrix that is not quantised"),
    ],
    ids=["empty", "text", "header-only", "no-dimension", "no-buckets", "label-counts", "no-labels", "dense-and-pruned"],
)
def test_reasons(tmp_path: Path, backend: str, data: bytes, reason: str) -> None:
    path = tmp_path / "bad.model"
    path.write_bytes(data)
    with pytest.raises(LangidError, match=reason) as caught:
        Classifier(path, backend=backend)  # type: ignore[arg-type]  # the names are right
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), 1e30])
def test_weights_that_could_spoil_a_sum(tmp_path: Path, weight: float) -> None:
    data = ModelSpec().to_bytes()
    with pytest.raises(ValueError, match="a weight is not a number"):
        native.Model(data[:-4] + struct.pack("<f", weight))


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_are_not_served(tmp_path: Path, name: str) -> None:
    spec, reason = REFUSED[name]
    path = tmp_path / "other.model"
    path.write_bytes(spec.to_bytes())
    with pytest.raises(LangidError, match=reason) as caught:
        Classifier(path, backend="native")
    assert "choose the backend `fasttext`" in str(caught.value)


def test_what_native_does_not_serve_stock_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "ova.bin"
    path.write_bytes(REFUSED["one-vs-all"][0].to_bytes())
    classifier = Classifier(path)
    assert classifier.backend == "fasttext"
    assert len(caplog.records) == 1
    assert "loss number 4" in caplog.text


@pytest.mark.parametrize("place", ["missing.ftz", "."])
def test_no_such_file(tmp_path: Path, place: str) -> None:
    with pytest.raises(LangidError, match="cannot read the model"):
        Classifier(tmp_path / place)
