"""Comparisons of 300 random pairs of releases: what is found is what the definition says, document by document."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from comparison import oracle
from msgspec.structs import asdict
from support import every

from corpusfmt.comparison import compare, matching
from corpusfmt.comparison.result import Counts
from corpusfmt.io.runs import END, Runs, RunWriter


def _as_counted(groups: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    counted = {name: {kind: n for kind, n in asdict(each).items() if n} for name, each in groups.items()}
    for each in counted.values():
        each.pop("reassigned", None)
    return counted


@pytest.mark.parametrize("seed", every(2, range(30)))
def test_what_is_found_is_what_there_is(seed: int, tmp_path: Path) -> None:
    for number in range(10):
        _check(seed * 10 + number, tmp_path / str(number))


def _check(seed: int, folder: Path) -> None:
    old, new = map(oracle.in_shards, oracle.random_pair(random.Random(seed)))
    expected = oracle.expected(old, new)
    found = compare(
        oracle.write(folder / "old", old), oracle.write(folder / "new", new), old_format="jsonl", new_format="jsonl"
    )
    assert {kind: n for kind, n in asdict(found.documents).items() if n} == +expected.whole, seed
    for groups, wanted in (
        (found.by_language, expected.by_language),
        (found.by_source, expected.by_source),
        (found.by_shard, expected.by_shard),
    ):
        assert _as_counted(groups) == {name: dict(each) for name, each in wanted.items()}, seed


def test_ranges_of_a_few_rows_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.comparison.run.RANGE_ROWS", 2)
    monkeypatch.setattr("corpusfmt.comparison.run._TASKS_OF_RANGES", 3)
    monkeypatch.setattr(matching, "RANGE_ROWS", 16)
    monkeypatch.setattr("corpusfmt.comparison.reading.RUN_ROWS", 4)
    monkeypatch.setattr(matching, "RUN_ROWS", 4)
    for seed in range(1_000, 1_020):
        _check(seed, tmp_path / str(seed))


class TestNamesOfMany:
    """Names that more documents have than can be held: these are told apart by their texts, then by all else."""

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(matching, "RANGE_ROWS", 6)
        monkeypatch.setattr("corpusfmt.comparison.reading.RUN_ROWS", 4)
        monkeypatch.setattr(matching, "RUN_ROWS", 4)

    def _compared(self, folder: Path, old: list[oracle.Doc], new: list[oracle.Doc]) -> dict[str, int]:
        releases = oracle.write(folder / "old", old), oracle.write(folder / "new", new)
        found = compare(*releases, old_format="jsonl", new_format="jsonl")
        return {kind: n for kind, n in asdict(found.documents).items() if n}

    @staticmethod
    def _doc(identity: str, text: str, url: str = "u") -> oracle.Doc:
        return oracle.Doc(identity, "a", text, "de", (("url", url),), (), "s")

    def test_an_id(self, tmp_path: Path) -> None:
        old = [self._doc("x", str(number)) for number in range(30)]
        new = [self._doc("x", str(number), "v" if number == 9 else "u") for number in range(5, 34)]
        found = {"old": 30, "new": 29, "removed": 5, "added": 4, "changed_metadata": 1, "same": 24}
        assert self._compared(tmp_path, old, new) == found

    def test_an_id_with_one_text(self, tmp_path: Path) -> None:
        old = [self._doc("x", "t", str(number)) for number in range(30)]
        new = [self._doc("x", "t", str(number)) for number in range(10, 25)]
        assert self._compared(tmp_path, old, new) == {"old": 30, "new": 15, "removed": 15, "same": 15}

    def test_documents_that_are_equal(self, tmp_path: Path) -> None:
        old, new = [self._doc("x", "t")] * 30, [self._doc("x", "t")] * 41
        assert self._compared(tmp_path, old, new) == {"old": 30, "new": 41, "added": 11, "same": 30}

    def test_a_text(self, tmp_path: Path) -> None:
        old = [self._doc(f"old {number}", "t") for number in range(30)] + [self._doc("x", "t"), self._doc("y", "u")]
        new = [self._doc(f"new {number}", "t") for number in range(20)] + [self._doc("x", "v"), self._doc("y", "t")]
        found = {"old": 32, "new": 22, "removed": 10, "moved": 20, "renamed": 20, "changed_text": 2, "reassigned": 1}
        assert self._compared(tmp_path, old, new) == found


# Names of which each release has most once, several times; names that differ in their last bits, or in their second number.
@pytest.mark.parametrize(("different", "shift", "rest"), [(99, 50, 1), (8, 60, 1), (99, 0, 1), (8, 0, 1), (40, 50, 2)])
def test_names_are_compared_to_their_last_bit(different: int, shift: int, rest: int) -> None:
    chance = np.random.default_rng(7)
    for count in range(1, 40):
        olds = int(chance.integers(0, count + 1))
        rows = np.zeros((matching.COLUMNS, count), np.uint64)
        rows[matching.NAME] = chance.integers(0, different, count) << shift
        rows[matching.NAME_REST] = chance.integers(0, rest, count)
        rows[-1] = np.arange(count)
        levels = [(*range(matching.COLUMNS),), (matching.NAME, matching.NAME_REST)]
        old, new, removed, added = matching.paired(rows[:, :olds], rows[:, olds:], levels)
        assert old[:2].tolist() == new[:2].tolist()
        names_before, names_after = (
            Counter(zip(*side[:2].tolist(), strict=True)) for side in (rows[:, :olds], rows[:, olds:])
        )
        assert Counter(zip(*old[:2].tolist(), strict=True)) == names_before & names_after
        assert sorted([*old[-1], *removed[-1]]) == list(range(olds))
        assert sorted([*new[-1], *added[-1]]) == list(range(olds, count))


def test_a_task_that_is_run_again_leaves_nothing_twice(tmp_path: Path) -> None:
    rows = np.arange(3 * matching.COLUMNS, dtype=np.uint64).reshape(-1, 3)
    for _ in range(2):
        writer = RunWriter(tmp_path, "rows", matching.COLUMNS, 8)
        writer.add_columns(rows)
        writer.close()
    assert Runs([tmp_path], matching.COLUMNS).read(0, END).tolist() == rows.tolist()
