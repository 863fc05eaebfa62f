"""Corpora that many tests read, built once a run of a worker."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings
from support import SAMPLE

import corpusfmt

# How long an example takes says more about the machine than about the code.
settings.register_profile("corpusfmt", deadline=None)
settings.load_profile("corpusfmt")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors: tests also wait, for commands that they kill, stop or let run out of time."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


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
