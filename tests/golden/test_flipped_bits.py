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


def flip(path: Path, *bits: int) -> None:
    data = bytearray(path.read_bytes())
    for bit in bits:
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


def lists_of(folder: Path) -> list[Path]:
    return sorted((folder / "out" / ".corpusfmt").rglob("published"))


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.run}-{point.stage}-{point.nth}")
def test_a_list_of_published_names_may_be_damaged_anywhere(point: Point, tmp_path: Path) -> None:
    run = RUNS[point.run].run
    run(tmp_path / "whole" / "out")
    whole = tree(tmp_path / "whole")
    stopped(point, tmp_path / "stopped")
    chance = random.Random(f"{point} lists")
    lists = [path.relative_to(tmp_path / "stopped") for path in lists_of(tmp_path / "stopped")]
    for number in range(min(len(lists) * 3, max(1, FLIPS // len(POINTS)))):
        file = lists[number % len(lists)]
        folder = tmp_path / "tried"
        shutil.copytree(tmp_path / "stopped", folder)
        flip(folder / file, *chance.sample(range((folder / file).stat().st_size * 8), chance.choice([2, 3, 40])))
        assert refusal(run, folder / "out") == "", file
        assert tree(folder) == whole, file
        shutil.rmtree(folder)


@pytest.mark.parametrize("left", ["de/de_part_9.txt.gz", "notes.txt"])
def test_what_only_a_damaged_list_could_name_is_left_to_the_user(left: str, tmp_path: Path) -> None:
    """It may be an output of an earlier run that this one does not make, or a file of the user's."""
    run, out = RUNS["build"].run, tmp_path / "out"
    run(tmp_path / "whole")
    stopped(Point("build", "package"), tmp_path)
    for path in lists_of(tmp_path):
        path.write_bytes(bytes(path.stat().st_size))
    (out / left).parent.mkdir(exist_ok=True)
    (out / left).write_bytes(b"old")
    damaged = rf"out/\.corpusfmt/.*published is damaged.*remove these files.*\n{out / left}$"
    for _ in range(2):
        with pytest.raises(Incomplete, match=damaged):
            run(out)
        assert (out / left).read_bytes() == b"old"
    (out / left).unlink()
    run(out)
    assert {path: data for path, data in tree(out).items() if data} == tree(tmp_path / "whole")
