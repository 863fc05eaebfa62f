"""A large language is packaged by several tasks: the same bytes as by one, and each of them only once."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest
from pipeline.dying import armed
from pipeline.test_build import assert_strictly_valid
from support import LONG_LINE, tree, wet_file, wet_record

import corpusfmt
from corpusfmt.model import Incomplete, Report, Verdict
from corpusfmt.pipeline.recipe import recipe_text

GERMAN = "Alle Menschen sind frei und gleich an Würde und Rechten geboren, sie sind mit Vernunft und Gewissen begabt."


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    """Ten inputs with documents of one to six lines, many of which repeat; German is small."""
    chance = random.Random(1)
    for number in range(10):
        records = [
            wet_record(
                10 * number + each,
                "".join(f"{LONG_LINE} {chance.randrange(60)}\n" for _ in range(chance.randrange(1, 7)))
                + f"{GERMAN} {number}\n",
            )
            for each in range(8)
        ]
        wet_file(tmp_path / "wet" / f"{number}.warc.wet.gz", records)
    return tmp_path / "wet"


def recipe(folder: Path, base: str, part_bytes: int, more: str = "") -> str:
    """Write a recipe with parts of this size; return its path."""
    own = ("part-bytes", more.partition(" ")[0] or "part-bytes")
    lines = [line for line in recipe_text(base).split("\n") if not line.startswith(own)]
    at = lines.index("[output]") + 1
    path = folder / f"{base}-{part_bytes}.toml"
    path.write_text("\n".join([*lines[:at], f"part-bytes = {part_bytes}", more, *lines[at:]]))
    return str(path)


def divide(patch: pytest.MonkeyPatch, task_bytes: int = 1, joined: int = 3) -> None:
    """Let several tasks package a language of more than ten lines, and join few containers at a time."""
    patch.setattr("corpusfmt.pipeline.stages._LINES_A_SHARE", 10)
    patch.setattr("corpusfmt.pipeline.package.divide._BYTES_A_TASK", task_bytes)
    patch.setattr("corpusfmt.pipeline.dedup._SMALLEST_GROUP", joined)


def stages_of(seen: list[str], inputs: Path, destination: Path, **options: Any) -> Report:
    def see(stage: str, _: object) -> None:
        if stage not in seen:
            seen.append(stage)

    return corpusfmt.build(inputs, destination, progress=see, **options)


@pytest.mark.parametrize(
    ("part_bytes", "jobs"),
    [
        (1, 1),
        (700, 2),
        (9_000, 1),
        *(pytest.param(part_bytes, 1, marks=pytest.mark.deep) for part_bytes in (700, 2_000, 10**6)),
    ],
)
@pytest.mark.parametrize(
    ("base", "more", "options"),
    [
        ("oscar-1.1", "", {}),
        ("oscar-1.1", "", {"keep_original": True}),
        ("oscar-1.0", "", {}),
        ("dolma", "", {}),
        ("dolma", "language-scores = true", {}),
    ],
    ids=["oscar", "original", "1.0", "dolma", "scores"],
)
def test_several_tasks_write_the_same_bytes_as_one(
    tmp_path: Path, wet: Path, base: str, more: str, options: dict[str, Any], part_bytes: int, jobs: int
) -> None:
    own = recipe(tmp_path, base, part_bytes, more)
    corpusfmt.build(wet, tmp_path / "one", recipe=own, **options)
    seen: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        divide(patch, task_bytes=3_000)
        report = stages_of(seen, wet, tmp_path / "many", recipe=own, jobs=jobs, **options)
    assert seen == ["process", "compact", "dedup", "divide", "package"]
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert report.verdict is Verdict.VALID
    assert_strictly_valid(corpusfmt.validate(tmp_path / "many", profile="strict"))


def test_a_run_that_was_stopped_within_a_language_does_only_what_is_left(
    tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = recipe(tmp_path, "oscar-1.1", 700)
    corpusfmt.build(wet, tmp_path / "one", recipe=own)
    divide(monkeypatch)
    out = tmp_path / "many"
    markers = out / ".corpusfmt" / "package"

    def stop(stage: str, _: object) -> None:
        if stage == "package" and len(list(markers.glob("en-*.json"))) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpusfmt.build(wet, out, recipe=own, progress=stop)
    written = {path: path.stat().st_ino for path in (out / "en").glob("en_part_*.txt.gz")}
    assert len(written) == 4
    corpusfmt.build(wet, out, recipe=own)
    assert {path: path.stat().st_ino for path in written} == written
    assert tree(out) == tree(tmp_path / "one")


def test_parts_whose_size_changes_are_made_anew_and_none_of_another_size_stays(
    tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    divide(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr("corpusfmt.pipeline.run.seal", lambda *_: (_ for _ in ()).throw(Incomplete("stopped")))
        with pytest.raises(Incomplete, match="stopped"):
            corpusfmt.build(wet, tmp_path / "out", recipe=recipe(tmp_path, "oscar-1.1", 700))
    assert len(list((tmp_path / "out" / "en").glob("en_part_*.txt.gz"))) == 8
    own = recipe(tmp_path, "oscar-1.1", 5_000)
    corpusfmt.build(wet, tmp_path / "out", recipe=own)
    monkeypatch.undo()
    corpusfmt.build(wet, tmp_path / "fresh", recipe=own)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks runs")
def test_killed_runs_lose_nothing_of_a_language(tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = recipe(tmp_path, "oscar-1.1", 700)
    corpusfmt.build(wet, tmp_path / "one", recipe=own)
    divide(monkeypatch)
    points = [
        "corpusfmt.pipeline.stages:remove_joined:2",
        "corpusfmt.pipeline.run:lost_containers:1",
        "corpusfmt.pipeline.stages:divide:3",
        "corpusfmt.pipeline.package.divide:ContainerWriter.finish:2",
        "corpusfmt.pipeline.stages:package:1",
        "corpusfmt.formats.parts:publish_all:2",
        "corpusfmt.formats.parts:publish_all:3",
        "corpusfmt.engine.stages:publish_bytes:4",
        "corpusfmt.pipeline.stages:joined:1",
        "corpusfmt.pipeline.run:data_files:1",
        "corpusfmt.manifest.listed:manifest_pieces:1",
    ]
    for point in points:
        child = os.fork()
        if not child:
            armed(*point.split(":"))
            corpusfmt.build(wet, tmp_path / "many", recipe=own)
            os._exit(0)
        assert (point, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])) == (point, -signal.SIGKILL)
    corpusfmt.build(wet, tmp_path / "many", recipe=own)
    assert tree(tmp_path / "many") == tree(tmp_path / "one")


def test_shards_package_a_language(tmp_path: Path, wet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = recipe(tmp_path, "oscar-1.1", 700)
    corpusfmt.build(wet, tmp_path / "one", recipe=own)
    divide(monkeypatch)
    for shard in ("1/2", "2/2"):
        corpusfmt.build(wet, tmp_path / "many", recipe=own, shard=shard)
        assert not (tmp_path / "many" / "en" / "en_sha256.txt").exists()
    corpusfmt.build(wet, tmp_path / "many", recipe=own, finish=True)
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
