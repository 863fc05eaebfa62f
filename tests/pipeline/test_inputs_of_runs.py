"""Inputs of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import LONG_LINE, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.executors import available_processors
from corpusfmt.pipeline.intake.inputs import inputs_named
from corpusfmt.pipeline.run import _default_jobs

COUNT = 5
BROKEN = "broken.warc.wet.gz"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs that share lines, so that the order of arrival would show."""
    folder = tmp_path_factory.mktemp("files")
    for number in range(COUNT):
        lines = [f"{LONG_LINE} {(number * 7 + line) % 30}\n" for line in range(20)]
        wet_file(folder / f"{number}.warc.wet.gz", [wet_record(number * 100 + n, line) for n, line in enumerate(lines)])
    return folder


@pytest.fixture(scope="session")
def plain(files: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a plain build makes of them."""
    out = tmp_path_factory.mktemp("plain") / "out"
    corpusfmt.build(files, out)
    return tree(out)


@pytest.fixture
def copies(files: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(files, tmp_path / "wet"))


def test_small_inputs_get_one_worker_and_those_of_unknown_size_as_many_as_there_are_processors(files: Path) -> None:
    for given, workers in ((str(files), 1), ("-", available_processors())):
        assert _default_jobs(inputs_named([given])) == workers


def test_the_manifest_names_what_was_taken(tmp_path: Path, copies: Path) -> None:
    (copies / BROKEN).write_bytes(b"")
    corpusfmt.build(copies, tmp_path / "out")
    inputs = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["inputs"]
    assert [each["name"] for each in inputs] == [*(f"{n}.warc.wet.gz" for n in range(COUNT)), BROKEN]
    assert "quarantined" in inputs[-1]
