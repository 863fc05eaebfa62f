"""Comparisons of 300 random pairs of releases: what is found is what the definition says, document by document."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

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
