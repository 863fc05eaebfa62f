"""What commands write on a disk, to compare with what they write elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from remote.s3 import wet_files
from support import run_cli


@pytest.fixture(scope="session")
def wet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wet")
    wet_files(folder)
    return folder


@pytest.fixture(scope="session")
def local(wet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The outputs of a store, on a disk."""
    folder = tmp_path_factory.mktemp("local")
    for words in (
        ("build", wet, "-o", folder / "corpus"),
        ("convert", folder / "corpus", folder / "dolma", "--to", "dolma"),
        ("describe", folder / "dolma", "-o", folder / "described.json"),
    ):
        assert run_cli(*words).returncode == 0
    return folder
