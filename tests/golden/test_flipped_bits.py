"""One bit of what an unfinished run has left on disk changes, in its state or in what it has already written of the output: the run
is resumed to the same corpus, at once or after it has said what is damaged.

`make flips` tries 200 bits instead of some for each kind of file.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from golden.unfinished import RUNS, Run, fill_store, interrupt, join_all
from support import tree

from corpusfmt.model import Incomplete, UsageError

FLIPS = int(os.environ.get("CORPUSFMT_FLIPS", "60"))


class Point(NamedTuple):
    """Where a run was stopped; the markers that match `undone` are removed, so that what is below them is read again."""

    run: str
    stage: str
    nth: int = 1
    undone: str = ""


POINTS = [
    Point("build", "process"),
    Point("build", "compact"),
    Point("build", "dedup"),
    Point("build", "divide"),
    Point("build", "package"),
    Point("convert-to-dolma", "convert"),
    Point("convert-to-dolma", "identify"),
    Point("convert-to-dolma", "convert", nth=2, undone="convert/*.json"),
    Point("convert-to-oscar", "sort"),
    Point("convert-to-oscar", "pack"),
]


@pytest.fixture(autouse=True)
def _ready(monkeypatch: pytest.MonkeyPatch) -> None:
    fill_store()
    join_all(monkeypatch)


def stopped(point: Point, folder: Path) -> list[Path]:
    """Run up to a point; return the files that are then in the state and outside, by path from `folder`."""
    interrupt(point.run, folder / "out", nth=point.nth, stage=point.stage)
    for path in (folder / "out" / ".corpusfmt").glob(point.undone) if point.undone else ():
        path.unlink()
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    return sorted(path.relative_to(folder) for path in files)


def bits(files: list[Path], folder: Path, number: int, seed: str) -> Iterator[tuple[Path, int]]:
    """Yield a bit of one file after the other, so that small files have as many as large ones."""
    chance = random.Random(seed)
    files = chance.sample(files, len(files))
    for flip in range(number):
        file = files[flip % len(files)]
        yield file, chance.randrange((folder / file).stat().st_size * 8)


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def refusal(run: Run, out: Path) -> str:
    """Return why a run did not end, or nothing where it did."""
    try:
        run(out)
    except (Incomplete, UsageError) as error:
        return str(error)
    return ""


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.run}-{point.stage}-{point.nth}")
def test_a_changed_bit_never_makes_another_corpus(point: Point, tmp_path: Path) -> None:
    run = RUNS[point.run].run
    run(tmp_path / "whole" / "out")
    whole = tree(tmp_path / "whole")
    files = stopped(point, tmp_path / "stopped")
    for file, bit in bits(files, tmp_path / "stopped", max(1, FLIPS // len(POINTS)), f"{point}"):
        folder = tmp_path / "tried"
        shutil.copytree(tmp_path / "stopped", folder)
        flip(folder / file, bit)
        about = f"bit {bit} of {file}"
        said = refusal(run, folder / "out")
        if said:
            assert str(folder / file) in said, f"{about}: {said}"
            assert refusal(run, folder / "out") == "", about
        assert tree(folder) == whole, about
        shutil.rmtree(folder)
