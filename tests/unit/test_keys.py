"""Repeated keys are found with all their places, in any cut of the hash space."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corpusfmt.io import keys
from corpusfmt.io.keys import KeyWriter, repeated

_TOP = (1 << 64) - 1
_HASHES = st.sampled_from([0, 1, 2, 1 << 63, _TOP, _TOP - 1]) | st.integers(0, _TOP)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shards=st.lists(st.lists(_HASHES, max_size=20), max_size=4),
    memory=st.sampled_from([64, 512, 1 << 20]),
    few=st.sampled_from([0, 8, 1 << 10]),
)
def test_groups_are_those_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, shards: list[list[int]], memory: int, few: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "_FEW_TO_SORT", few // 2)
        patch.setattr(keys, "_FEW_TO_SEARCH", few)
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
    groups = sorted(repeated(folder, memory))
    assert groups == sorted(places for places in expected.values() if len(places) > 1)


def test_nothing_written_nothing_repeated(tmp_path: Path) -> None:
    assert list(repeated(tmp_path)) == []
