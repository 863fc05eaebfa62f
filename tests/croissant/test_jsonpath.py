"""JSON paths: what parses, and what they select."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.formats.croissant.model import jsonpath
from corpusfmt.formats.croissant.model.jsonpath import jsonpath_fault, parse_path, select
from corpusfmt.formats.croissant.rules.records import _PLAIN_PATH
from corpusfmt.io.text import MAX_DEPTH

STORE = {"books": [{"id": 1, "tags": ["a", "b"]}, {"id": 2}, {"id": 3, "tags": []}], "a b": {"id": 4}}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$", [STORE]),
        ("books[0].id", [1]),
        ("$.books[*].tags[*]", ["a", "b"]),
        ("$.books[*]['id','tags']", [1, ["a", "b"], 2, 3, []]),
    ],
)
def test_selected(path: str, expected: list[Any]) -> None:
    assert select(STORE, parse_path(path)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("(@.id>1)", [2, 3, 5]),
        ("@.kind == 'it\\'s'", [2]),
        ("@.new == 1", []),
        ("@.id == true", []),
        ("@.tags == $.wanted", [1]),
        ("@.absent == @.missing", [1, 2, 3, None, 5]),
        ("(@.id == 1 || @.id == 2) && @.new == false", [2]),
    ],
)
def test_filters(condition: str, expected: list[Any]) -> None:
    rows = [
        {"id": 1, "kind": "a", "new": True, "tags": ["x", "y"]},
        {"id": 2, "kind": "it's", "new": False},
        {"id": 3, "kind": "a"},
        {"kind": 7, "id": None},
        {"id": 5, "tags": None},
    ]
    tree = {"rows": rows, "wanted": ["x", "y"], "least": 2}
    found = select(tree, parse_path(f"$.rows[?{condition}]"))
    assert found is not None
    assert [row["id"] for row in found] == expected
    assert select(rows, parse_path(f"$[?({condition})].id")) == expected or "$" in condition


def test_filters_compare_deep_values() -> None:
    one: Any = []
    other: Any = []
    for _ in range(MAX_DEPTH):
        one, other = [one], [other]
    assert len(select([{"a": one, "b": other}], parse_path("$[?@.a == @.b]")) or []) == 1


def test_filters_of_members() -> None:
    assert select(STORE, parse_path("$[?(@.id == 4)].id")) == [4]
    assert select(STORE, parse_path("$..[?(@.id >= 2)].id")) == [4, 2, 3]


@pytest.mark.parametrize(
    "condition",
    [
        "(@.id =~ /a/)", "(size(@.tags) > 1)", "(@.tags[*] == 1)", "(@..id == 1)", "(1)", "(@.id > )", "(@.a-b > 1)",
        "(length(@.tags))", "(match(@.id))", "(count(1) > 1)", "(@.tags[?@ =~ 1])",
        "(" * 3000 + "@.a" + ")" * 3000,
    ],
)  # fmt: skip
def test_filters_that_are_not_followed(condition: str) -> None:
    assert select(STORE, parse_path(f"$.books[?{condition}].id")) is None


def test_scripts_are_not_followed() -> None:
    assert select(STORE, parse_path("$.books[(@.length-1)].id")) is None


def test_a_filter_of_too_many_values_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonpath, "_MOST_VALUES", 5000)
    steps = parse_path("$[?(@.a == 1 || @.b == 1 || @.c == 1 || @.d == 1)]")
    assert select([{}] * 200, steps) == []
    assert select([{}] * 300, steps) is None


@pytest.mark.deep
def test_a_path_that_multiplies_is_not_followed() -> None:
    nested: Any = 1
    for _ in range(60):
        nested = [nested, 1]
    assert select(nested, parse_path("$" + "..*" * 100)) is None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "empty"),
        ("$a", "unexpected token 'a' at character 2"),
        ("a b", "unexpected token 'b' at character 3"),
        ("$.", "expected a shorthand selector at the end"),
        ("$[1,]", "unexpected trailing comma at character 5"),
        ("$.a['b'", "unexpected end of segment at the end"),
        ("$.a[?(@.a]", "unbalanced parentheses at character 6"),
        ("$[9007199254740992]", "index out of range at character 3"),
        ("$" + ".a" * 201, "more than 200 steps"),
    ],
)
def test_what_is_said_of_a_fault(path: str, expected: str) -> None:
    assert jsonpath_fault(path) == expected


CASES = [
    json.loads(line) for line in (Path(__file__).parent / "jsonpath" / "cases.jsonl").read_bytes().split(b"\n")[:-1]
]
# Names as Goessner's paths have them, and published descriptions.
NAMES_OF_OLD = ("$.&", "$.1", "$[+1]")


def is_refused(path: str) -> bool:
    return jsonpath_fault(path) is not None or select([{"a": 1}, {"a": {"a": 1}}, 1], parse_path(path)) is None


def test_the_compliance_suite() -> None:
    assert len(CASES) > 700
    for case in CASES:
        selector = case["selector"]
        if case.get("invalid"):
            assert selector in NAMES_OF_OLD or is_refused(selector), selector
        elif "\\p" not in selector.lower():
            assert json.dumps(select(case["document"], parse_path(selector))) in map(json.dumps, case["results"]), (
                selector
            )


@pytest.mark.parametrize(
    ("pattern", "text", "whole", "part"),
    [
        ("a.*", "abc", True, True),
        ("^b", "abc", False, False),
        ("^ab", "abc", False, True),
        ("bc$", "abc", False, True),
        ("ab$", "ab\n", False, False),
        ("^a|b$", "ca", False, False),
        ("a{2,3}", "aaaa", False, True),
        ("[^a-c]", "a", False, False),
        (r"[\]\-x]", "-", True, True),
        ("[b-a]", "a", False, False),
        (".", "\n", False, False),
        ("a||b", "", True, True),
    ],
)
def test_patterns(pattern: str, text: str, whole: bool, part: bool) -> None:
    for function, expected in (("match", whole), ("search", part)):
        assert select([text], parse_path(f"$[?{function}(@, {json.dumps(pattern)})]")) == [text] * expected


OTHER_PATTERNS = [
    r"\d",
    "(a",
    "a)",
    "(a+)+",
    "[a",
    "[]",
    "[a&&b]",
    "*a",
    "a+?",
    r"\p{Lu}",
    "a\\",
    "a^b",
    "(?:a)",
    "a" * 1001,
]


@pytest.mark.parametrize("pattern", [*OTHER_PATTERNS, "a?" * 20])
def test_patterns_of_other_kinds_are_not_followed(pattern: str) -> None:
    assert select(["a" * 100], parse_path(f"$[?match(@, {json.dumps(pattern)})]")) is None


def test_patterns_are_counted() -> None:
    assert select(["a" * 2000 + "b", "aa"], parse_path("$[?match(@, 'a*a*')]")) == ["aa"]
    assert select(["a" * 200_000 + "b"], parse_path("$[?match(@, 'a*a*')]")) is None


def test_queries_in_filters_are_counted() -> None:
    rows = [[1] * 3000] * 2000
    assert select(rows, parse_path("$[?count($[*][*]) > 1]")) is None
    assert len(select(rows[:100], parse_path("$[?count(@[*]) == 3000]")) or []) == 100


@given(st.text("$.[]*'\"?(@)0-:, ab", max_size=20) | st.text("@.a[0]'\"=!<>&|()1 ", max_size=20).map("$[?({})]".format))
def test_any_text_has_an_answer(path: str) -> None:
    if jsonpath_fault(path) is None:
        select(STORE, parse_path(path))


@given(st.from_regex(_PLAIN_PATH, fullmatch=True))
def test_paths_that_need_no_parser_are_right(path: str) -> None:
    assert jsonpath_fault(path) is None
