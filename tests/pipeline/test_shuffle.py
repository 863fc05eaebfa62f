"""Shuffling: an order decided by the seed, the same for any memory."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import xxhash

from corpusfmt.pipeline.package.write import shuffled

LINES = [b"line %d" % number * (number % 5) for number in range(500)]


@pytest.mark.parametrize("memory", [0, 8000, 1 << 30])
@pytest.mark.parametrize("seed", [0, 2019, 2**63 - 1])
def test_lines_come_in_the_order_of_their_keys_whatever_the_memory(tmp_path: Path, seed: int, memory: int) -> None:
    keys = [xxhash.xxh64_intdigest(number.to_bytes(8, "little"), seed) for number in range(len(LINES))]
    expected = [LINES[number] for number in sorted(range(len(LINES)), key=keys.__getitem__)]
    assert list(shuffled(iter(LINES), seed, tmp_path, memory)) == expected
    assert not list(tmp_path.iterdir())
    assert sorted(expected) == sorted(LINES)


def test_seeds_give_different_orders_and_none_is_the_given_one(tmp_path: Path) -> None:
    orders = [list(shuffled(LINES, seed, tmp_path)) for seed in range(4)]
    assert all(first != second for first in (*orders, LINES) for second in orders if first is not second)


def test_equal_keys_keep_their_order_at_any_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    keys = [rng.choice([0, 1, 2**64 - 1]) for _ in LINES]
    numbers = iter(keys * 2)
    monkeypatch.setattr(xxhash, "xxh64_intdigest", lambda *_: next(numbers))
    expected = [LINES[number] for number in sorted(range(len(LINES)), key=keys.__getitem__)]
    assert list(shuffled(LINES, 1, tmp_path, 1000)) == expected
    assert list(shuffled(LINES, 1, tmp_path)) == expected


def test_a_line_alone_needs_no_file_however_long_it_is(tmp_path: Path) -> None:
    assert list(shuffled([b"line" * 1000], 7, tmp_path / "none", 1000)) == [b"line" * 1000]


def test_what_a_killed_run_left_behind_does_no_harm(tmp_path: Path) -> None:
    expected = list(shuffled(LINES, 7, tmp_path))
    cut = shuffled(LINES, 7, tmp_path, 1000)
    next(cut)
    assert list(tmp_path.iterdir())
    assert list(shuffled(LINES, 7, tmp_path, 1000)) == expected
