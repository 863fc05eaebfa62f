"""JSON paths: what parses, and what they select."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.formats.croissant.jsonpath import jsonpath_fault, parse_path, select

STORE = {"books": [{"id": 1, "tags": ["a", "b"]}, {"id": 2}, {"id": 3, "tags": []}], "a b": {"id": 4}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", [STORE]),
        ("$.books[*].id", [1, 2, 3]),
        ("books[0].id", [1]),
        ("$['a b'].id", [4]),
        ('$["a b"]["id"]', [4]),
        ("$..id", [1, 2, 3, 4]),
        ("$.books[-1].id", [3]),
        ("$.books[7].id", []),
        ("$.books[0:2].id", [1, 2]),
        ("$.books[::2].id", [1, 3]),
        ("$.books[0,2].id", [1, 3]),
        ("$.books[*].tags[*]", ["a", "b"]),
        ("$.books[*]['id','tags']", [1, ["a", "b"], 2, 3, []]),
        ("$.books.id", []),
        ("$.*.id", [4]),
    ],
)
def test_selected(path: str, expected: list[Any]) -> None:
    assert select(STORE, parse_path(path)) == expected


def test_filters_are_not_followed() -> None:
    assert select(STORE, parse_path("$.books[?(@.id > 1)].id")) is None


def test_a_path_that_multiplies_is_not_followed() -> None:
    nested: Any = 1
    for _ in range(60):
        nested = [nested, 1]
    assert select(nested, parse_path("$" + "..*" * 100)) is None


@pytest.mark.parametrize(
    "path", ["", " ", "$...a", "a b c", "$[", "$['a'", "$.", "$[1", "$[1,]", "$[?(@.a]", "$[::0]", "$a", "$.a$"]
)
def test_faults(path: str) -> None:
    assert jsonpath_fault(path) is not None


@given(st.text("$.[]*'\"?(@)0-:, ab", max_size=20))
def test_any_text_has_an_answer(path: str) -> None:
    if jsonpath_fault(path) is None:
        select(STORE, parse_path(path))
