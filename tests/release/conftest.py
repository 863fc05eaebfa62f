"""A corpus, with statements and a signature."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from release.signed import write_keys
from support import SAMPLE

import corpusfmt


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_keys(tmp_path_factory.mktemp("keys"), "release", ec.SECP256R1())


@pytest.fixture(scope="module")
def other_keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_keys(tmp_path_factory.mktemp("other-keys"), "other", ec.SECP256R1())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "corpus"
    corpusfmt.build(SAMPLE / "commoncrawl-one-record.warc.wet.gz", folder)
    return folder


@pytest.fixture(scope="module")
def signed(built: Path, keys: tuple[Path, Path]) -> Path:
    """A corpus with statements and a signature."""
    folder = built.parent / "signed"
    shutil.copytree(built, folder)
    corpusfmt.seal(folder, attest=True, sign=keys[0])
    return folder


@pytest.fixture
def signed_release(signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same under another name, for a test to change."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copytree(signed, tmp_path / "release")
    return tmp_path / "release"
