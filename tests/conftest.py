"""Corpora that many tests read, built once a run of a worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings
from support import SAMPLE

import corpusfmt

# How long an example takes says more about the machine than about the code.
settings.register_profile("corpusfmt", deadline=None)
settings.load_profile("corpusfmt")


@pytest.fixture(scope="session")
def oscar_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sample as OSCAR 1.1."""
    folder = tmp_path_factory.mktemp("built") / "oscar"
    assert corpusfmt.build(SAMPLE, folder).verdict.value == "valid"
    return folder


@pytest.fixture(scope="session")
def dolma_corpus(oscar_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as Dolma."""
    folder = tmp_path_factory.mktemp("converted") / "dolma"
    corpusfmt.convert(oscar_corpus, folder, to="dolma")
    return folder
