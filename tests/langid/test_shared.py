"""Processes that use one file for the matrix of a model: the same answers, and no answer from a damaged file."""

from __future__ import annotations

import logging
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from langid.fasttext_writer import ModelSpec
from support import LONG_LINE, wet_file, wet_record

from corpusfmt.io.paths import entry_of
from corpusfmt.langid import Classifier, Prediction, _loading
from corpusfmt.model import Incomplete
from corpusfmt.pipeline.process.filters import AddressFilter
from corpusfmt.pipeline.process.store import ProcessTask, process
from corpusfmt.pipeline.recipe import load_recipe

pytest.importorskip("corpusfmt.langid._native", reason="the native extension is not built")

LINES = ["the land of the free", "la maison", "и в", "日本 的", "straße naïve", ""]
KINDS = [
    ModelSpec(),
    ModelSpec(loss="softmax", dim=5, buckets=700),
    ModelSpec(quantized=True),
    ModelSpec(quantized=True, kept=40, kept_oddly=True),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models of every size are worth a file."""
    monkeypatch.setattr("corpusfmt.langid._loading._SMALLEST_STORED", 1)


def stored_in(folder: Path) -> Path:
    (path,) = folder.glob("*.rows")
    return path


def files_mapped_here() -> str:
    return Path("/proc/self/maps").read_text("utf-8")


def predicted_and_mapped(classifier: Classifier) -> tuple[list[Prediction], str]:
    return classifier.predict(LINES), files_mapped_here() if sys.platform == "linux" else ""


@pytest.mark.parametrize("spec", KINDS, ids=["dense", "softmax", "quantized", "pruned"])
def test_all_processes_answer_from_one_file(spec: ModelSpec, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(spec.to_bytes())
    classifier = Classifier(path)
    expected = classifier.predict(LINES)
    classifier.share(tmp_path / "shared")
    assert classifier.predict(LINES) == expected
    file = stored_in(tmp_path / "shared")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found, maps = pool.submit(predicted_and_mapped, classifier).result()
    assert found == expected
    if sys.platform == "linux":
        assert str(file) in maps
        assert str(file) in files_mapped_here()
    # Removed, it is still there for those that use it.
    file.unlink()
    assert classifier.predict(LINES) == expected
    assert pickle.loads(pickle.dumps(classifier)).predict(LINES) == expected


def test_a_damaged_file_is_not_used(tmp_path: Path) -> None:
    path, other = tmp_path / "model", tmp_path / "other"
    path.write_bytes(ModelSpec(buckets=20).to_bytes())
    other.write_bytes(ModelSpec(buckets=20, seed=2).to_bytes())
    expected = Classifier(path).predict(LINES)
    Classifier(other).share(tmp_path / "others")
    Classifier(path).share(tmp_path / "shared")
    file = stored_in(tmp_path / "shared")
    whole = file.read_bytes()
    flips = [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(0, len(whole), 301)]
    for damaged in (
        b"",
        whole[:16],
        whole[:-1],
        whole[64:],
        whole + b"\0",
        stored_in(tmp_path / "others").read_bytes(),
        *flips,
    ):
        _loading.forget()
        file.write_bytes(damaged)
        classifier = Classifier(path, shared=tmp_path / "shared")
        assert classifier.predict(LINES) == expected
        assert not Path("/proc/self/maps").exists() or str(file) not in files_mapped_here()
    Classifier(path).share(tmp_path / "shared")
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "model"
    path.write_bytes(ModelSpec().to_bytes())
    (tmp_path / "file").touch()
    classifier = Classifier(path)
    expected = classifier.predict(LINES)
    with caplog.at_level(logging.WARNING):
        classifier.share(tmp_path / "file")
    assert classifier.predict(LINES) == expected
    assert "each process has its own copy of the model" in caplog.text


def test_a_model_that_changes_during_a_run_ends_it(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.write_bytes(ModelSpec().to_bytes())
    load = Classifier(model).loader()
    entry = entry_of(str(wet_file(tmp_path / "wet" / "0.warc.wet", [wet_record(0, f"{LONG_LINE}\n")])))
    task = ProcessTask(entry, tmp_path / "0.box", load_recipe("oscar-1.1"), AddressFilter(), load, bytes(16))
    model.write_bytes(ModelSpec(seed=2).to_bytes())
    with pytest.raises(Incomplete, match=r"model has changed since it was first loaded"):
        process(task)
    model.unlink()
    with pytest.raises(Incomplete, match=r"cannot read the model"):
        process(task)
    assert not (tmp_path / "0.box").exists()
