"""Strict JSON: how deep, how large and how exact, to the very limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from math import ulp
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from corpusfmt.io.jsonlines import UNDECODABLE, decode_plain, decoded_lines, strict_row
from corpusfmt.io.text import (
    INTEGER_RANGE,
    MAX_DEPTH,
    DepthFault,
    JsonFault,
    NumberFault,
    StrictJson,
    json_object,
    parsed_json,
    strict_json,
)

GREATEST = 1.7976931348623157e308
#: Halfway to what would be the next float: from there on a number is rounded to infinity.
TOO_GREAT = int(GREATEST) + 2**969 * 2

SMALLEST = Decimal(ulp(0.0))


def nested(levels: int, inside: str) -> str:
    return '[{"a":' * (levels // 2) + "[" * (levels % 2) + inside + "]" * (levels % 2) + "}]" * (levels // 2)


@given(
    st.lists(st.sampled_from(["[", "[" * MAX_DEPTH, "]", "{", "}", '"', "\\", '\\"', '"]"', "é", "1,"]), max_size=12)
)
def test_levels_are_counted_outside_of_strings_alone(pieces: list[str]) -> None:
    text = "".join(pieces)
    depth = deepest = 0
    is_inside = is_escaped = False
    for character in text:
        if is_inside:
            is_inside = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
        elif character == "\\":
            return  # an error, up to which alone the text is decoded
        elif character == '"':
            is_inside = True
        else:
            depth += (character in "[{") - (character in "]}")
            deepest = max(deepest, depth)
    try:
        parsed_json(text)
        is_too_deep = False
    except JsonFault as error:
        is_too_deep = isinstance(error, DepthFault)
    assert is_too_deep == (deepest > MAX_DEPTH)


@pytest.mark.parametrize("inside", ["", "1", '"["'])
def test_as_many_levels_as_are_documented(inside: str) -> None:
    inside = f"[{inside}]"
    assert parsed_json(nested(MAX_DEPTH - 1, inside)).value
    with pytest.raises(DepthFault, match="nested deeper than 128 levels") as raised:
        parsed_json(f' "": {nested(MAX_DEPTH, inside)}'[4:])
    assert raised.value.column == nested(MAX_DEPTH, inside).index(inside) + 2


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[" * 129, '{"a":' * 2000, nested(5000, "1")])
def test_bottomless_nesting_is_too_deep_whatever_follows(text: str) -> None:
    with pytest.raises(DepthFault, match="nested deeper than 128 levels"):
        parsed_json(text)


@pytest.mark.parametrize(("text", "ended"), [('{"a": [1 \n, ]}', "array"), ('[{"a": 1,\n}]', "object")])
def test_a_trailing_comma_is_named_at_its_place(text: str, ended: str) -> None:
    with pytest.raises(JsonFault, match=f"^illegal trailing comma before end of {ended}$") as raised:
        parsed_json(text)
    assert raised.value.column == text.index(",") + 1


def test_a_string_without_its_end_is_looked_at_once() -> None:
    with pytest.raises(JsonFault, match="unterminated string"):
        parsed_json("[" * 100 + '"' + r"\"" * 500_000 + "[" * 100)


@pytest.mark.parametrize(
    ("number", "column"),
    [
        ("1e999", 1),
        ("-1e999", 1),
        ("1E+309", 1),
        ("1.8e308", 1),
        (str(TOO_GREAT), 1),
        (f"-{TOO_GREAT}", 1),
        (f"{TOO_GREAT}.0", 1),
        ("9" * 310, 1),
        ("9" * 100_000, 1),
        ("9" * 100_000 + "e-99000", 1),
        ('["1e999\\"", 0, 1e999, 1e999]', 16),
    ],
)
def test_numbers_that_are_infinite(number: str, column: int) -> None:
    with pytest.raises(NumberFault) as raised:
        strict_json(number.encode())
    assert raised.value.column == column
    assert raised.value.number == number.strip("[]").split(", ")[-1]
    assert raised.value.count == number.count(", ") or 1


@pytest.mark.parametrize(
    "number", [f"{int(GREATEST)}", f"-{int(GREATEST)}", f"{TOO_GREAT - 1}", "1.7976931348623157e308"]
)
def test_the_greatest_numbers_are_numbers(number: str) -> None:
    assert abs(float(strict_json(number.encode()).value)) == GREATEST


@pytest.mark.parametrize(
    "number",
    [
        "1e-999",
        "9" * 100 + "e-9999999999",
        "0." + "0" * 100_000 + "1",
        "0e" + "9" * 30,
        "1.234567890123456789e-" + "9" * 30,
        "0.1000000000000000055511151231257827",
    ],
)
def test_small_and_long_numbers_are_numbers(number: str) -> None:
    assert parsed_json(number).inexact == ()


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (f"{INTEGER_RANGE.stop - 1}", True),
        (f"{INTEGER_RANGE.stop}", False),
        (f"{INTEGER_RANGE.start}", True),
        (f"{INTEGER_RANGE.start - 1}", False),
        ("0.12345678901234567", True),
        ("0.123456789012345678", False),
        ("123456789012345.678", False),
        ("0.500000000000000000000", True),
        ("0.10000000000000000555", True),
        ("0.10000000000000000556", False),
        ("0.000000000000000000012345678901234567", True),
        (f"{Decimal('0.1000000000000000055511151231257827021181583404541015625')}", True),
        (f"{SMALLEST:f}", True),
        (f"{SMALLEST:f}1", False),
    ],
)
def test_digits_that_64_bits_do_not_keep(number: str, exact: bool) -> None:
    assert parsed_json(f"[{number}]").inexact == (() if exact else (number,))


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 40))
@examples(300)
def test_a_float_in_any_number_of_digits_is_exact(value: float, digits: int) -> None:
    assert parsed_json(f"{value:.{17 + digits}e}").inexact == ()


_NUMBERS = st.one_of(
    st.integers(),
    st.integers(300, 312).map(lambda digits: 10**digits),
    st.sampled_from(
        [int(GREATEST), TOO_GREAT, TOO_GREAT - 1, *(bound + by for bound in (2**63, 2**64) for by in (-1, 0))]
    ),
    st.floats(allow_nan=False, allow_infinity=False),
).map(str)


@given(
    st.recursive(
        st.one_of(_NUMBERS, st.sampled_from(["1e999", "-1e400", "null", '"1e999"', "tru", "NaN", '"\\ud800"'])),
        lambda inner: st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]"),
    ),
    st.integers(0, MAX_DEPTH + 4),
)
@examples(300)
def test_what_is_decoded_fast_is_decoded_strictly(text: str, levels: int) -> None:
    text = nested(levels, text)
    try:
        value = decode_plain(text)
    except UNDECODABLE:
        return
    found = parsed_json(text)
    assert found.value == value
    assert found.inexact == ()


_ODD = [
    "1e999",
    "tru",
    "NaN",
    '"\\ud800"',
    '"\x01"',
    '"é"',
    "0." + "1" * 20,
    "-0",
    "-0.0",
    "1.0",
    "9" * 19,
    "true",
    "\ufeff1",
    "",
]


@given(
    st.recursive(
        st.one_of(_NUMBERS, st.sampled_from([*_ODD, '"a"', r'"\"\\"', "null"])),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
            st.lists(st.tuples(st.sampled_from("aab"), inner), max_size=3).map(
                lambda items: "{" + ",".join(f'"{name}" :{value}' for name, value in items) + "}"
            ),
        ),
        max_leaves=8,
    )
)
@examples(600)
def test_a_row_is_decoded_fast_as_it_is_strictly(text: str) -> None:
    def outcome(decode: Callable[[bytes], StrictJson]) -> str:
        try:
            return repr(decode(text.encode()))
        except JsonFault as fault:
            return f"{fault!r} {fault.column} {fault.hint}"

    assert outcome(strict_row) == outcome(strict_json)


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b'{"a":1}\n', [{"a": 1}]),
        (b'{"a":1}', [{"a": 1}]),
        (b'{"a":1}\n{"b":{}}\n{}\n', [{"a": 1}, {"b": {}}, {}]),
        (b'{"a":1}\n{"b":2}', [{"a": 1}, {"b": 2}]),
        (b'{"a":1}{"b":2}\n', None),
        (b'{"a":1}\n\n{"b":2}\n', None),
        (b'{"a":1} \n{"b":2}\n', None),
        (b'{"a":1}\n {"b":2}\n', None),
        (b'{"a":\n1}\n', None),
        (b'{"a":1}\n\n', None),
        (b'{"a":1}\n{"b":', None),
        (b"[1]\n", None),
        (b"", None),
    ],
)
def test_lines_of_one_object_each_are_decoded_at_once(data: bytes, values: list[object] | None) -> None:
    """Else the speed is lost in silence, or a place is wrong."""
    assert decoded_lines(msgspec.json.Decoder(Any).decode_lines, data) == values


def test_an_object_or_none() -> None:
    assert json_object('{"a": 1}') == json_object(b'{"a": 1}') == {"a": 1}
    for text in ("[]", "{", '{"a":1e999}', "[" * 1000, b"\xff", json.dumps({"a": 0}) + "x"):
        assert json_object(text) is None


@pytest.mark.parametrize(
    ("text", "column"), [('["\\ud83d\\ude00\\ud800"]', 15), ('["\\udc00"]', 3), ('[{"\\ud800": 1}]', 4)]
)
def test_lone_surrogates_have_a_place(text: str, column: int) -> None:
    with pytest.raises(JsonFault, match="a lone surrogate escape") as raised:
        parsed_json(text)
    assert raised.value.column == column
