"""Fast accept is sound: strict JSON and the rules accept what it accepts, and read the same values."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from dolma.lines import (
    DOCUMENT,
    as_bytes,
    attributes_codes,
    attributes_rows,
    document_codes,
    document_rows,
    json_values,
)
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples

from corpusfmt.formats.dolma.clean import clean_attributes, clean_documents
from corpusfmt.io.text import strict_json
from corpusfmt.model import Json

# Digits that a decoder has lost cannot be seen in what it gives: they are looked for before it is asked.
LEFT_TO_THE_GLANCE = {"DOL203"}


@given(line=document_rows.map(as_bytes))
@examples(400)
@example(line=(DOCUMENT + ',"x":1,"y":"\\u0022\\u0022","x":2}').encode())
@example(line=(DOCUMENT + ',"x":"\\\\","x":"\\\\\\""}').encode())
@example(line=(DOCUMENT + ',"metadata":{"a":[[[[[[[[1]]]]]]]]}}').encode())
def test_documents_accepted_are_clean(line: bytes) -> None:
    clean = clean_documents(line)
    if clean is not None:
        assert set(document_codes(line)) <= LEFT_TO_THE_GLANCE
        assert [{**clean.rows[0], "text": clean.texts[0]}] == [strict_json(line).value]


@given(line=attributes_rows.map(as_bytes))
@examples(400)
def test_attributes_accepted_are_clean(line: bytes) -> None:
    clean = clean_attributes(line)
    if clean is not None:
        assert set(attributes_codes(line)) <= LEFT_TO_THE_GLANCE
        value = strict_json(line).value
        assert (clean.values.ids, clean.values.sources, clean.shapes) == (
            [value["id"]],
            [value.get("source")],
            [(0, tuple(value["attributes"]))],
        )


_ROWS = st.lists(
    st.one_of(
        st.just(DOCUMENT + "}"), st.just(""), document_rows, st.just(DOCUMENT + ',\n"x":1}'), st.just(DOCUMENT + "}{}")
    ),
    max_size=4,
)


@given(rows=_ROWS, ending=st.sampled_from(["", "\n", "\n\n", "\r\n"]))
@examples(300)
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
@examples(300)
def test_no_damaged_byte_is_accepted_that_rules_reject(data: st.DataObject) -> None:
    line = bytearray((DOCUMENT + ',"metadata":{"é":"😀","n":[1,2.5,null]},"added":"2023-04-07"}').encode())
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(line)
    if b"\n" not in damaged and clean_documents(damaged) is not None:
        assert document_codes(damaged) == []


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"id": st.text(min_size=1), "text": st.text(), "source": st.text()},
            optional={
                "metadata": st.dictionaries(st.text(), json_values, max_size=3),
                "version": st.none(),
                "other": json_values,
            },
        ),
        min_size=1,
        max_size=4,
    ),
    ascii_only=st.booleans(),
)
@examples(200)
def test_ordinary_documents_are_accepted_at_a_glance(rows: list[Json], ascii_only: bool) -> None:
    data = b"".join(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\n" for row in rows)
    clean = clean_documents(data)
    assert clean is not None
    assert clean.texts == [row["text"] for row in rows]


_values_of_attributes = st.one_of(
    st.text(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.dictionaries(st.text(), json_values, max_size=3),
    st.lists(st.tuples(st.just(0), st.integers(1, 9), st.floats(0, 1)), max_size=1),
)


@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"id": st.text(), "attributes": st.dictionaries(st.text(), _values_of_attributes, max_size=4)},
            optional={"source": st.text()},
        ),
        min_size=1,
        max_size=4,
    ),
    ascii_only=st.booleans(),
)
@examples(200)
def test_ordinary_attributes_are_accepted_at_a_glance(rows: list[Json], ascii_only: bool) -> None:
    data = b"".join(json.dumps(row, ensure_ascii=ascii_only).encode() + b"\n" for row in rows)
    clean = clean_attributes(data)
    assert clean is not None
    values = clean.values
    assert (values.ids, values.sources) == ([row["id"] for row in rows], [row.get("source") for row in rows])


@pytest.mark.parametrize("clean", [clean_documents, clean_attributes])
@pytest.mark.parametrize(
    "data", [b"", b"\n", b"[]\n", b"{}\n", b"1\n", b"[" * 10_000, b'{"a":' * 10_000, b'"' + b"\\" * 100 + b'"']
)
def test_what_is_no_row_is_not_accepted(clean: Callable[[bytes], Any], data: bytes) -> None:
    assert clean(data) is None


@pytest.mark.parametrize("backslashes", [0, 1, 40])
def test_a_name_that_stands_twice_is_found_behind_backslashes(backslashes: int) -> None:
    value = "\\\\" * backslashes
    assert clean_documents(f'{DOCUMENT},"x":"{value}"}}'.encode()) is not None
    assert clean_documents(f'{DOCUMENT},"x":"{value}","x":""}}'.encode()) is None
