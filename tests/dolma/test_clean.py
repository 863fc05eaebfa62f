"""Fast accept is sound: what it takes, strict JSON and the rules take too, and they read the same values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from corpusfmt.formats.dolma.clean import clean_attributes, clean_documents
from corpusfmt.formats.dolma.rowfiles import judged_document
from corpusfmt.formats.dolma.rows import AttributesRow, explain
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.io.text import strict_json
from corpusfmt.model import Json, Location
from corpusfmt.rules import Grading, Judge

DOCUMENT = '{"id":"1","text":"t","source":"s"'


def document_codes(line: bytes) -> list[str]:
    judge = Judge(RULES, Grading(), version="1.0", path="x")
    judged_document(line, Location("x"), judge)
    return [finding.code for finding in judge.tally.findings]


def attributes_codes(line: bytes) -> list[str]:
    judge = Judge(RULES, Grading(), version="1.0", path="x")
    row = explain(line, Location("x"), judge)
    if row is not None:
        judge.check(AttributesRow(Location("x"), row))
    return [finding.code for finding in judge.tally.findings]


# JSON as text, so that the same value comes in many spellings: white space, escapes, names that stand twice, numbers.

_spaces = st.sampled_from(["", "", "", " ", "\t", "\r"])
_characters = st.sampled_from(
    [
        "a",
        "é",
        "😀",
        "\u2028",
        "\x7f",
        '\\"',
        "\\\\",
        "\\\\\\\\",
        "\\n",
        "\\u0022",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\ud800",
        "\\/",
        "{",
        "}",
        "[",
        ":",
        ",",
        "\x01",
    ]
)
_strings = st.lists(_characters, max_size=4).map(lambda parts: '"' + "".join(parts) + '"')
_names = st.one_of(st.sampled_from(['"a"', '"b"', '"id"', '"text"', '"\\u0061"', '"x__y"']), _strings)
_numbers = st.sampled_from(
    [
        "0",
        "1",
        "-0",
        "1.5",
        "-1e-7",
        "1E5",
        "1e999",
        "01",
        "1.",
        ".5",
        "NaN",
        "-Infinity",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "1.0",
    ]
)
_scalars = st.one_of(_numbers, _strings, st.sampled_from(["true", "false", "null", "tru"]))


def _array(items: list[str]) -> str:
    return "[" + ",".join(items) + "]"


def _object(members: list[tuple[str, str, str]]) -> str:
    return "{" + ",".join(f"{space}{name}{space}:{value}" for space, name, value in members) + "}"


def _members(values: st.SearchStrategy[str], names: st.SearchStrategy[str] = _names) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(_spaces, names, values), max_size=4).map(_object)


_values = st.recursive(
    _scalars, lambda inner: st.one_of(st.lists(inner, max_size=3).map(_array), _members(inner)), max_leaves=6
)
_times = st.sampled_from(['"2023-04-07"', '"2023-04-07T15:24:38Z"', '"2023-02-30"', '""', "null"])
_fields = st.one_of(
    st.tuples(_spaces, st.sampled_from(['"id"', '"source"', '"text"', '"version"']), st.one_of(_strings, _scalars)),
    st.tuples(_spaces, st.sampled_from(['"added"', '"created"']), _times),
    st.tuples(_spaces, st.sampled_from(['"metadata"', '"attributes"']), _members(_values)),
    st.tuples(_spaces, _names, _values),
)
_required = st.fixed_dictionaries({'"id"': _strings, '"text"': _strings, '"source"': _strings}).map(
    lambda row: [("", *item) for item in row.items()]
)
_document_rows = st.tuples(
    _required, st.lists(_fields, max_size=3), st.sampled_from(["", "", " ", "\r", "x", " {}"])
).map(lambda row: _object(row[0] + row[1]) + row[2])
_offsets = st.sampled_from(["0", "1", "5", "9", "-1", "1.0", "true", "18446744073709551616"])
_spans = st.one_of(
    st.tuples(_offsets, _offsets, _numbers).map(lambda span: _array(list(span))),
    st.lists(_numbers, max_size=4).map(_array),
)
_attribute_values = st.one_of(st.lists(_spans, max_size=3).map(_array), _values)
_attributes_rows = st.tuples(
    _members(_attribute_values, st.one_of(st.sampled_from(['"e__t__n"', '"e__t__m"', '"n"']), _names)),
    st.sampled_from(["", ',"source":"s"', ',"source":null', ',"x":1', ',"id":"2"', ',"attributes":{}']),
).map(lambda row: f'{{"id":"1","attributes":{row[0]}{row[1]}}}')


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8")


@given(line=_document_rows.map(as_bytes))
@settings(max_examples=400, deadline=None)
@example(line=(DOCUMENT + ',"x":1,"y":"\\u0022\\u0022","x":2}').encode())
@example(line=(DOCUMENT + ',"x":"\\\\","x":"\\\\\\""}').encode())
@example(line=(DOCUMENT + ',"metadata":{"a":[[[[[[[[1]]]]]]]]}}').encode())
def test_documents_accepted_are_clean(line: bytes) -> None:
    clean = clean_documents(line)
    if clean is not None:
        assert document_codes(line) == []
        assert [{**clean.rows[0], "text": clean.texts[0]}] == [strict_json(line).value]


@given(line=_attributes_rows.map(as_bytes))
@settings(max_examples=400, deadline=None)
def test_attributes_accepted_are_clean(line: bytes) -> None:
    clean = clean_attributes(line)
    if clean is not None:
        assert attributes_codes(line) == []
        value = strict_json(line).value
        assert (clean.ids, clean.sources, clean.keys) == (
            [value["id"]],
            [value.get("source")],
            [tuple(value["attributes"])],
        )


_ROWS = st.lists(
    st.one_of(
        st.just(DOCUMENT + "}"), st.just(""), _document_rows, st.just(DOCUMENT + ',\n"x":1}'), st.just(DOCUMENT + "}{}")
    ),
    max_size=4,
)


@given(rows=_ROWS, ending=st.sampled_from(["", "\n", "\n\n", "\r\n"]))
@settings(max_examples=300, deadline=None)
@example(rows=[DOCUMENT + "} " + DOCUMENT + "}", ""], ending="\n")
@example(rows=[DOCUMENT + "} " + DOCUMENT + ',"x":', "1}"], ending="\n")
def test_a_block_is_accepted_only_if_each_of_its_lines_is(rows: list[str], ending: str) -> None:
    data = ("\n".join(rows) + ending).encode()
    clean = clean_documents(data)
    if clean is not None:
        *whole, rest = data.split(b"\n")
        lines = [*whole, rest] if rest else whole
        assert len(clean.ids) == len(lines)
        assert all(clean_documents(line) is not None for line in lines)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_no_damaged_byte_is_accepted_that_rules_reject(data: st.DataObject) -> None:
    line = bytearray((DOCUMENT + ',"metadata":{"é":"😀","n":[1,2.5,null]},"added":"2023-04-07"}').encode())
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(line)
    if b"\n" not in damaged and clean_documents(damaged) is not None:
        assert document_codes(damaged) == []


_json_values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"id": st.text(min_size=1), "text": st.text(), "source": st.text()},
            optional={
                "metadata": st.dictionaries(st.text(), _json_values, max_size=3),
                "version": st.none(),
                "other": _json_values,
            },
        ),
        min_size=1,
        max_size=4,
    ),
    ascii_only=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_ordinary_documents_are_accepted_at_a_glance(rows: list[Json], ascii_only: bool) -> None:
    data = b"".join(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\n" for row in rows)
    clean = clean_documents(data)
    assert clean is not None
    assert clean.texts == [row["text"] for row in rows]


@pytest.mark.parametrize("clean", [clean_documents, clean_attributes])
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[]\n", b"{}\n", b"1\n", b"[" * 10_000, b'{"a":' * 10_000, b'"' + b"\\" * 100 + b'"']
)
def test_what_is_no_row_is_not_accepted(clean: Callable[[bytes], Any], data: bytes) -> None:
    assert clean(data) is None


def test_long_runs_of_backslashes_take_the_slow_way() -> None:
    line = (DOCUMENT + ',"x":"' + "\\\\" * 40 + '"}').encode()
    assert clean_documents(line) is None
    assert document_codes(line) == []
