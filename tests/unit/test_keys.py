"""Repeated keys are found with all their places, in any cut of the hash space."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpusfmt.formats.croissant.data.tables import Hashes, few_hashes
from corpusfmt.io import keys, runs
from corpusfmt.io.keys import KeyWriter, repeated, repeated_in_batches, unmatched

_TOP = (1 << 64) - 1
_HASHES = st.sampled_from([0, 1, 2, 1 << 63, _TOP, _TOP - 1]) | st.integers(0, _TOP)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shards=st.lists(st.lists(_HASHES, max_size=20), max_size=4),
    memory=st.sampled_from([64, 512, 1 << 20]),
    held=st.sampled_from([1, 8, 1 << 10]),
)
def test_groups_are_those_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[int]], memory: int, held: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "_MOST_HELD", held)
        _assert_groups_are_those_of_a_dictionary(tmp_path_factory, shards, memory)


def _assert_groups_are_those_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[int]], memory: int
) -> None:
    folder = tmp_path_factory.mktemp("keys")
    expected: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for shard, hashes in enumerate(shards):
        writer = KeyWriter(folder, shard)
        writer.extend(hashes[:5], 0)
        for row, key in enumerate(hashes[5:], 5):
            writer.add(key, row)
        writer.close()
        for row, key in enumerate(hashes):
            expected[key].append((shard, row))
    groups = sorted((list(group), len(group)) for group in repeated(folder, memory))
    assert groups == sorted((places, len(places)) for places in expected.values() if len(places) > 1)


@pytest.fixture(scope="module")
def plain() -> Iterator[ModuleType]:
    """The module as it is where the kernel is not built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "corpusfmt.io._native", None)
        patch.delitem(sys.modules, "corpusfmt.io.runs")
        yield import_module("corpusfmt.io.runs")


@given(
    rows=st.lists(st.tuples(_HASHES, _HASHES, _HASHES), max_size=30),
    width=st.integers(1, 3),
)
def test_columns_are_sorted_with_and_without_the_kernel(
    plain: ModuleType, rows: list[tuple[int, ...]], width: int
) -> None:
    columns = b"".join(array("Q", (row[column] for row in rows)) for column in range(width))
    order = sorted(range(len(rows)), key=lambda number: rows[number][0])
    expected = [*([rows[number][column] for number in order] for column in range(width)), order]
    for sort in (runs.sorted_columns, plain.sorted_columns):
        assert sort(columns, width) == b"".join(array("Q", column) for column in expected)


def test_nothing_written_nothing_repeated(tmp_path: Path) -> None:
    assert list(repeated(tmp_path)) == []
    found = few_hashes(tmp_path)
    assert found is not None
    assert found.have(np.array([0, 7], np.uint64)).tolist() == [False, False]
    assert list(unmatched(tmp_path, [])) == []
    writer = KeyWriter(tmp_path, 1)
    writer.add(7, 5)
    writer.close()
    assert list(unmatched(tmp_path, [])) == [(1, 5)]
    (tmp_path / "none").mkdir()
    assert list(unmatched(tmp_path / "none", [tmp_path])) == []


@given(
    st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 20), max_size=30),
    st.lists(st.integers(0, (1 << 64) - 1) | st.integers(0, 20), max_size=30),
)
def test_hashes_are_looked_up(known: list[int], asked: list[int]) -> None:
    found = Hashes(np.sort(np.array(known, np.uint64))).have(np.array(asked + known, np.uint64))
    assert found.tolist() == [each in known for each in asked + known]


@pytest.fixture
def of_one_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys of which most have one hash, far more of them than fit into the memory that is given."""
    monkeypatch.setattr(keys, "_MOST_HELD", 16)
    for shard in range(3):
        writer = KeyWriter(tmp_path, shard)
        writer.extend([_TOP - 1 if row % 10 else row for row in range(1000)], 0)
        writer.close()
    return tmp_path


def test_no_group_is_held_that_does_not_fit(of_one_hash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "CANDIDATES_AT_A_TIME", 500)
    batches = list(repeated_in_batches(of_one_hash))
    assert max(len(batch.positions) for batch in batches) == 500
    assert [batch.continues for batch in batches] == [False, *[True] * 5]
    rows = [(shard, row) for batch in batches for shard, rows in batch.rows_by_shard() for row in rows]
    assert sorted(rows) == sorted(place for group in repeated(of_one_hash) for place in group)
    large = [group for group in repeated(of_one_hash) if len(group) > 16]
    assert [len(group) for group in large] == [2700]
    assert not any(isinstance(group, list) for group in large)
    assert list(large[0]) == [(shard, row) for shard in range(3) for row in range(1000) if row % 10]
    assert (2, 999) in large[0]
    assert (2, 990) not in large[0]


@pytest.mark.parametrize(("most", "sizes"), [(30, [30] * 10), (28, [30] * 10), (1_000_000, [300])])
def test_a_batch_holds_so_many_hashes_of_shards(
    most: int, sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "HASHES_AT_A_TIME", most)
    for shard in range(3):
        writer = KeyWriter(tmp_path, shard)
        writer.extend(range(100), 0)
        writer.close()
    assert [len(batch.positions) for batch in repeated_in_batches(tmp_path)] == sizes


def test_one_hash_of_many_rows_is_one_batch(of_one_hash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "HASHES_AT_A_TIME", 400)
    assert [len(batch.positions) for batch in repeated_in_batches(of_one_hash)] == [3000]


@pytest.mark.parametrize("memory", [64, 1 << 20])
def test_keys_that_no_target_has_are_told_by_their_places(memory: int, tmp_path: Path) -> None:
    sources, targets = tmp_path / "sources", tmp_path / "targets"
    for folder, wanted in ((sources, range(60)), (targets, range(0, 80, 2))):
        folder.mkdir()
        for shard in range(3):
            writer = KeyWriter(folder, shard)
            writer.extend([number * (_TOP // 80) for number in wanted if number % 3 == shard], 0)
            writer.close()
    assert sorted(unmatched(sources, [targets], memory)) == [
        (shard, row) for shard in range(3) for row in range(20) if (3 * row + shard) % 2
    ]


def test_a_hash_that_too_many_keys_have_is_matched_without_holding_them(of_one_hash: Path, tmp_path: Path) -> None:
    targets = tmp_path / "targets"
    targets.mkdir()
    assert sum(1 for _ in unmatched(of_one_hash, [targets], 640)) == 3000
    writer = KeyWriter(targets, 0)
    writer.add(_TOP - 1, 0)
    writer.close()
    assert sorted(unmatched(of_one_hash, [targets], 640)) == [
        (shard, row) for shard in range(3) for row in range(0, 1000, 10)
    ]


def test_a_hash_without_a_position_is_left_out(tmp_path: Path) -> None:
    writer = KeyWriter(tmp_path, 1)
    writer.extend([1, 2, 2], 0)

    def interrupted() -> Iterator[int]:
        yield 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.extend(interrupted(), 3)
    writer.close()
    assert [list(group) for group in repeated(tmp_path)] == [[(1, 1), (1, 2)]]
