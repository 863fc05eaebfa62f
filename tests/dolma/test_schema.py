"""The published schemas and the rules agree, as far as a schema can express a rule."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from strategies import examples

from corpusfmt._resources import resource
from corpusfmt.formats.dolma.glance import clean_attributes, clean_documents
from corpusfmt.formats.dolma.rowfiles import judged_attributes, judged_document
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.model import Location, Severity
from corpusfmt.rules import Grading, Judge


def validator(name: str) -> Draft202012Validator:
    schema = json.loads(resource("schemas", f"dolma/{name}.schema.json").read_bytes())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


DOCUMENT = validator("document")
ATTRIBUTES = validator("attributes")

_scalars = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.just(0.5), st.sampled_from(["", "a"]))
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=2)),
    max_leaves=4,
)
_document_names = ("id", "text", "source", "added", "created", "version", "metadata", "attributes")
_documents = st.one_of(
    _values,
    st.builds(
        lambda valid, odd: {**valid, **odd},
        st.just({"id": "1", "text": "t", "source": "s"}),
        st.dictionaries(st.sampled_from(_document_names), _values, max_size=2),
    ),
    st.dictionaries(st.sampled_from(_document_names), _values, max_size=8),
)
_offsets = st.one_of(st.integers(-1, 4), _scalars)
_spans = st.one_of(st.tuples(_offsets, _offsets, _scalars).map(list), st.lists(_scalars, max_size=4), _values)
_attributes = st.one_of(
    _values,
    st.fixed_dictionaries(
        {
            "id": st.just("1"),
            "attributes": st.dictionaries(
                st.sampled_from(["a", "b"]), st.one_of(st.lists(_spans, max_size=2), _values), max_size=2
            ),
        }
    ),
    st.dictionaries(st.sampled_from(["id", "attributes", "source"]), _values, max_size=3),
)


def errors(judge: Judge, *beyond_a_schema: str) -> set[str]:
    found = {finding.code for finding in judge.tally.findings if finding.severity is Severity.ERROR}
    return found.difference(beyond_a_schema)


def fresh_judge() -> Judge:
    return Judge(RULES, Grading(), version="1.0", path="x", cap=1000)


@given(row=_documents)
@examples(400)
def test_documents(row: Any) -> None:
    line = json.dumps(row).encode()
    judge = fresh_judge()
    judged_document(line, Location("x"), judge)
    assert DOCUMENT.is_valid(row) == (not errors(judge))
    if clean_documents(line) is not None:
        assert DOCUMENT.is_valid(row)


@given(row=_attributes)
@examples(400)
@example(row={"id": "1", "attributes": {"a": [[0, -1, 0]]}})
@example(row={"id": "1", "attributes": {"a": [[0, 5, 0]]}})
def test_attributes(row: Any) -> None:
    line = json.dumps(row).encode()
    judge = fresh_judge()
    found = judged_attributes(line, Location("x"), judge)
    if found is not None:
        attributes = found.get("attributes")
        for key, value in attributes.items() if isinstance(attributes, dict) else ():
            if isinstance(value, list):
                judge.check(Spans(Location("x"), key, value, {"text": "a" * 4}))
    if ATTRIBUTES.is_valid(row):
        assert errors(judge, "DOL604", "DOL605") == set()  # no schema knows the text, or compares two numbers
    else:
        assert errors(judge)
    if clean_attributes(line) is not None:
        assert ATTRIBUTES.is_valid(row)


@pytest.mark.parametrize("number", ["1.0", "1e0"])
def test_a_schema_takes_a_whole_float_for_an_integer_and_the_rules_do_not(number: str) -> None:
    line = f'{{"id":"1","attributes":{{"a":[[0,{number},1]]}}}}'.encode()
    assert ATTRIBUTES.is_valid(json.loads(line))
    assert clean_attributes(line) is None
