"""Items on disk are those that a list has, whichever of them are still in memory; hashes tell texts apart."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.io import ondisk
from corpusfmt.io.ondisk import Blocks, ByName, Hashes, Made, OnDisk, in_order, joined, order_of


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ondisk, "_MOST_IN_MEMORY", 3)
    monkeypatch.setattr(ondisk, "_A_BLOCK", 3)
    monkeypatch.setattr(ondisk, "_A_RUN", 4)
    monkeypatch.setattr(ondisk, "_AT_A_TIME", 3)


def append(items: Any, chosen: random.Random) -> None:
    items.append(chosen.randrange(99))


def put(items: Any, chosen: random.Random) -> None:
    if len(items):
        index, item = chosen.randrange(len(items)), "x" * chosen.randrange(99)
        if isinstance(items, list):
            items[index] = item
        else:
            items.put(index, item)


def sort(items: Any, chosen: random.Random) -> None:
    """Put some of the items in an order, and leave out the others."""
    order = chosen.sample(range(len(items)), chosen.randint(len(items) // 2, len(items)))
    if isinstance(items, list):
        items[:] = [items[each] for each in order]
    else:
        items.sort(order)


STEPS: list[Callable[[Any, random.Random], None]] = [append, append, append, put, sort]


@given(
    st.lists(st.integers(), max_size=8), st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 99)), max_size=30)
)
def test_items_are_those_of_a_list(first: list[int], steps: list[tuple[Callable[..., None], int]]) -> None:
    expected: list[object] = [*first]
    found = OnDisk[object](first)
    for step, seed in steps:
        step(expected, random.Random(seed))
        step(found, random.Random(seed))
        assert list(found) == expected
    assert (len(found), found[2:5], found[::-1]) == (len(expected), expected[2:5], expected[::-1])
    if expected:
        assert found[-1] == expected[-1]
    with pytest.raises(IndexError):
        found[len(expected)]


def test_an_empty_place_has_no_item() -> None:
    found = OnDisk[str](number=9)
    for place in 1, 0, 1, 1, 2, 3, 4:
        with pytest.raises(LookupError, match="no item was put at 8"):
            found[8]
        found.put(place, str(place))
    assert found[:5] == ["0", "1", "2", "3", "4"]


@given(st.lists(st.integers(), max_size=20), st.lists(st.integers(-20, 20), max_size=9))
def test_blocks_and_made_items_are_those_of_a_list(expected: list[int], asked: list[int]) -> None:
    blocks = Blocks[int]()
    made = Made(len(expected), lambda index: blocks[index])
    for item in expected:
        blocks.append(item)
        assert blocks[-1] == item
    for found in (blocks, made):
        assert list(found) == expected
        assert (len(found), found[2:5], found[::-1]) == (len(expected), expected[2:5], expected[::-1])
        for index in asked:
            if -len(expected) <= index < len(expected):
                assert found[index] == expected[index]
            else:
                with pytest.raises(IndexError):
                    found[index]
    assert pickle.loads(pickle.dumps(made)) == expected


@given(st.lists(st.integers(0, 9), max_size=40))
def test_many_items_are_sorted_as_few_are(items: list[int]) -> None:
    numbered = list(enumerate(items))
    assert list(in_order(iter(numbered), lambda each: each[1])) == sorted(numbered, key=lambda each: each[1])
    found = OnDisk(items)
    found.sort(order_of(-item for item in found))
    assert list(found) == sorted(items, reverse=True)


NAMED = st.lists(
    st.tuples(st.sampled_from(["", *"abdefghij", "é", "\udc80", "\U0001f600"]), st.integers()), max_size=30
)


@given(NAMED, NAMED, st.booleans())
def test_values_by_name_are_those_of_a_dict_in_order(
    first: list[tuple[str, int]], second: list[tuple[str, int]], is_sorted: bool
) -> None:
    first = sorted(first) if is_sorted else first
    expected, others = dict(sorted(dict(first).items())), dict(second)
    found = ByName(first)
    assert (dict(found), len(found), list(found)) == (expected, len(expected), list(expected))
    assert (list(found.items()), list(found.values())) == (list(expected.items()), list(expected.values()))
    assert all(name not in found for name in "!cz\U0001f601")
    together = joined(found.items(), ByName(second).items())
    assert list(together) == [(name, value, others.get(name)) for name, value in expected.items()]


def test_two_may_go_through_the_same_blocks() -> None:
    found = Blocks(range(9))
    assert [(one, other) for one in found for other in found] == [
        (one, other) for one in range(9) for other in range(9)
    ]


def test_hashes_are_of_texts() -> None:
    texts = ["", "a", "b", "é", "\udc80"]
    assert all(text in Hashes(texts) for text in texts)
    assert "c" not in Hashes(texts)
    assert "" not in Hashes([])
