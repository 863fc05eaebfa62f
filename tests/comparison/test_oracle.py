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
