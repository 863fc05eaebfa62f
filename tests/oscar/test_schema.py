"""The published JSON Schema is the contract: our judgement of records and its own are one."""

from __future__ import annotations

import json
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oscar.corpus import records, release

from corpusfmt._resources import resource
from corpusfmt.formats.oscar.format import FORMAT
from corpusfmt.formats.oscar.metadata import MetadataScan
from corpusfmt.io.lines import Block
from corpusfmt.rules import Grading, Judge

SCHEMA = json.loads(resource("schemas", "oscar/1.1/metadata.schema.json").read_bytes())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
USUAL = records(release("1.1", {"af": [[1]]}).languages["af"][0])[0]

NUMBERS = st.one_of(
    st.sampled_from(
        ["0", "-0", "-0.0", "3.0", "1e2", "1.5", "1e400", "-1", "true", "null", '"3"', "[]", "1E-2", "100e-2"]
    ),
    st.integers(-5, 10**30).map(str),
    st.integers(4300, 5000).map(lambda digits: "9" * digits),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
# What is no JSON at all, to be told as such.
NO_NUMBERS = st.sampled_from(["NaN", "Infinity", "-Infinity", "01", "+1", "1.", ".5", "0x1", "\u0661"])
STRINGS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(
    lambda text: json.dumps(text, ensure_ascii=bool(len(text) % 2))
)
VALUES = st.one_of(STRINGS, STRINGS, STRINGS, NUMBERS, st.just("{}"))
USUAL_HEADERS = st.just(json.dumps(USUAL["headers"], separators=(",", ":")))
HEADERS = st.one_of(
    USUAL_HEADERS,
    st.lists(st.tuples(STRINGS, VALUES), max_size=4).map(
        lambda pairs: "{" + ",".join(f"{name}:{value}" for name, value in pairs) + "}"
    ),
    VALUES,
)


def record_of(headers: str, count: str, offset: str, order: list[int], more: str) -> str:
    pairs = [f'"headers":{headers}', f'"nb_sentences":{count}', f'"offset":{offset}', more]
    return "{" + ",".join(pairs[index] for index in order if pairs[index]) + "}"


ORDERS = st.lists(st.integers(0, 3), min_size=1, max_size=6)
MORE = st.sampled_from(["", '"more":[]', '"offset":1', '"headers":{}', '"offset":null'])
WHOLE = st.permutations([0, 1, 2, 3])


def judged(line: bytes) -> set[str]:
    """Return the rules that a line of metadata breaks, alone and between two lines that are as usual."""
    usual = json.dumps(USUAL, separators=(",", ":")).encode()
    found = []
    for data in (line + b"\n", usual + b"\n" + line + b"\n" + usual + b"\n"):
        judge = Judge(FORMAT.rules, Grading(), version="1.1", path="x")
        scan = MetadataScan("x", "af", judge, 1 << 20)
        scan.feed(Block(data, 1, 0))
        scan.finish()
        found.append({finding.code for finding in judge.tally.findings})
    assert found[0] == found[1]
    return found[0]


def expected(line: str) -> tuple[bool, bool]:
    """Return whether a line is JSON, and whether that follows the schema."""

    def refuse(name: str) -> Any:
        raise ValueError(name)

    def integer(digits: str) -> Any:
        # Python makes no integers of more digits than this; as a number it is beyond any reader anyway.
        return int(digits) if len(digits) <= sys.get_int_max_str_digits() else float(digits)

    try:
        value = json.loads(line, parse_constant=refuse, parse_int=integer)
    except ValueError:
        return False, False
    return True, VALIDATOR.is_valid(value)


@given(record=st.builds(record_of, HEADERS, NUMBERS, NUMBERS, st.one_of(WHOLE, ORDERS), MORE))
def test_one_verdict_on_records(record: str) -> None:
    found = judged(record.encode())
    is_json, follows = expected(record)
    assert is_json
    assert "GEN301" not in found
    assert found == {"GEN303"} or follows == found.isdisjoint({"OSC402", "OSC403"}), found


@given(record=st.builds(record_of, USUAL_HEADERS, NUMBERS, NO_NUMBERS, WHOLE, MORE))
def test_one_verdict_on_what_is_no_json(record: str) -> None:
    assert judged(record.encode()) == {"GEN301"}
    assert expected(record) == (False, False)


@given(
    value=st.recursive(VALUES, lambda inner: st.lists(inner, max_size=3).map(lambda values: f"[{','.join(values)}]"))
)
def test_one_verdict_on_any_value(value: str) -> None:
    found = judged(value.encode())
    assert found == {"GEN303"} or expected(value)[1] == found.isdisjoint({"OSC402", "OSC403"})


@pytest.mark.parametrize(
    ("record", "duplicate"),
    [
        ('{"headers":{},"nb_sentences":1,"offset":0,"offset":0}', True),
        ('{"headers":{"a":"x","a":"x"},"nb_sentences":1,"offset":0}', True),
        ('{"headers":{},"nb_sentences":1,"offset":0,"more":{"a":1,"b":{"a":1}}}', False),
        (json.dumps(USUAL)[:-1] + ', "offset": 0}', True),
        (json.dumps(USUAL).replace('"offset"', '"o\\u0066fset"'), False),
        (json.dumps(USUAL)[:-1] + ', "o\\u0066fset": 0}', True),
    ],
)
def test_names_that_stand_twice(record: str, *, duplicate: bool) -> None:
    assert ("OSC404" in judged(record.encode())) == duplicate


def test_the_schema_is_as_published() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["required"] == ["headers", "nb_sentences", "offset"]
    assert "additionalProperties" not in SCHEMA
