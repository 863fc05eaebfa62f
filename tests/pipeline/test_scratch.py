"""Inputs of a run, and the limit on its scratch space."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from support import LONG_LINE, run_cli, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.engine.executors import available_processors
from corpusfmt.model import Incomplete
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


def state_bytes(out: Path) -> int:
    """What counts against the scratch limit, of which unfinished files of the corpus are no part."""
    sizes = 0
    for path in (out / ".corpusfmt").rglob("*"):
        try:
            sizes += path.stat().st_size if path.is_file() and "aside" not in path.parts else 0
        except FileNotFoundError:
            continue
    return sizes


def test_the_scratch_limit_holds_or_stops_the_run(tmp_path: Path, files: Path, plain: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    with pytest.raises(Incomplete, match=r"0\.warc\.wet\.gz may need .* of scratch space in addition to 0 B in use"):
        corpusfmt.build(files, out, scratch_limit=100)
    one = (files / "0.warc.wet.gz").stat().st_size
    with pytest.raises(Incomplete, match="run the same command again with a larger limit"):
        corpusfmt.build(files, out, scratch_limit=one, jobs=2)
    stored = list((out / ".corpusfmt" / "process").glob("*.box"))
    assert 0 < len(stored) < COUNT
    assert sum(path.stat().st_size for path in stored) <= one
    done = run_cli("build", files, "--output", out, "--scratch-limit", "1MiB")
    assert done.returncode == 0
    assert tree(out) == plain


def test_what_is_kept_of_standard_input_counts_against_the_scratch_limit(
    tmp_path: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (files / "0.warc.wet.gz").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    said = r"standard-input\.warc\.wet may need (.+) of scratch space in addition to \1 in use"
    with pytest.raises(Incomplete, match=said):
        corpusfmt.build("-", tmp_path / "out", scratch_limit=len(data))


@pytest.mark.parametrize("inputs_joined", [64, 2])
def test_running_inputs_wait_for_room(
    tmp_path: Path, files: Path, plain: dict[str, bytes], inputs_joined: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", inputs_joined)
    sizes: list[int] = []
    corpusfmt.build(files, tmp_path / "all", progress=lambda *_: sizes.append(state_bytes(tmp_path / "all")))
    limit = max(sizes) + 2 * max(path.stat().st_size for path in files.iterdir())
    sizes.clear()
    out = tmp_path / "out"
    corpusfmt.build(files, out, scratch_limit=limit, jobs=2, progress=lambda *_: sizes.append(state_bytes(out)))
    assert max(sizes) <= limit
    assert tree(out) == plain


def test_small_inputs_get_one_worker_and_those_of_unknown_size_as_many_as_there_are_processors(files: Path) -> None:
    for given, workers in ((str(files), 1), ("-", available_processors())):
        assert _default_jobs(inputs_named([given])) == workers


def test_the_manifest_names_what_was_taken(tmp_path: Path, copies: Path) -> None:
    (copies / BROKEN).write_bytes(b"")
    corpusfmt.build(copies, tmp_path / "out")
    inputs = json.loads((tmp_path / "out" / "MANIFEST.json").read_bytes())["inputs"]
    assert [each["name"] for each in inputs] == [*(f"{n}.warc.wet.gz" for n in range(COUNT)), BROKEN]
    assert "quarantined" in inputs[-1]
