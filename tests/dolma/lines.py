"""Rows as JSON text, so that the same value comes in many spellings: white space, escapes, names twice, odd numbers."""

from __future__ import annotations

from hypothesis import strategies as st

from corpusfmt.formats.dolma.rowfiles import judged_attributes, judged_document
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.model import Location
from corpusfmt.rules import Grading, Judge

DOCUMENT = '{"id":"1","text":"t","source":"s"'


def document_codes(line: bytes) -> list[str]:
    judge = Judge(RULES, Grading(), version="1.0", path="x")
    judged_document(line, Location("x"), judge)
    return [finding.code for finding in judge.tally.findings]


def attributes_codes(line: bytes) -> list[str]:
    judge = Judge(RULES, Grading(), version="1.0", path="x")
    judged_attributes(line, Location("x"), judge)
    return [finding.code for finding in judge.tally.findings]


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
        "1e308",
        "1.8e308",
        "1" * 309,
        "9" * 309,
        "9" * 5000,
        "0.12345678901234567",
        "0.123456789012345678",
        "0.10000000000000000555",
        "0.000012345678901234567",
        "123456789012345678.5",
        "1234567890123456789e0",
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
document_rows = st.tuples(
    _required, st.lists(_fields, max_size=3), st.sampled_from(["", "", " ", "\r", "x", " {}"])
).map(lambda row: _object(row[0] + row[1]) + row[2])
_offsets = st.sampled_from(["0", "1", "5", "9", "-1", "1.0", "true", "18446744073709551616"])
_spans = st.one_of(
    st.tuples(_offsets, _offsets, _numbers).map(lambda span: _array(list(span))),
    st.lists(_numbers, max_size=4).map(_array),
)
_attribute_values = st.one_of(st.lists(_spans, max_size=3).map(_array), _values)
attributes_rows = st.tuples(
    _members(_attribute_values, st.one_of(st.sampled_from(['"e__t__n"', '"e__t__m"', '"n"']), _names)),
    st.sampled_from(["", ',"source":"s"', ',"source":null', ',"x":1', ',"id":"2"', ',"attributes":{}']),
).map(lambda row: f'{{"id":"1","attributes":{row[0]}{row[1]}}}')


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8")


json_values = st.recursive(
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
