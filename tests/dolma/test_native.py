"""The native kernel accepts what the rules have nothing to say of, and nothing else; it reads what they read."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
import xxhash
from dolma.corpus import Json, attributes, check, documents, encoded
from dolma.lines import (
    DOCUMENT,
    as_bytes,
    attributes_codes,
    attributes_rows,
    document_codes,
    document_rows,
    json_values,
)
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import examples
from support import zstd

from corpusfmt.formats.dolma import glance
from corpusfmt.formats.dolma.glance import UNCLEAR
from corpusfmt.formats.dolma.rows import is_timestamp
from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.dolma.spans import Spans
from corpusfmt.formats.rows import files
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.io.text import MOST_VALUES, strict_json
from corpusfmt.model import Location, Report
from corpusfmt.rules import Grading, Judge

kernel = pytest.importorskip("corpusfmt.formats._native", reason="the native extension is not built")


class native:  # noqa: N801 - the kernel on whole blocks, without samples of rows: see `test_samples.py`
    @staticmethod
    def documents(data: Any) -> Any:
        found = kernel.documents(data)
        return kernel.values(found[2]) if found and found[0] == len(data) and not found[3] else None

    @staticmethod
    def attributes(data: Any) -> Any:
        found = kernel.attributes(data)
        return (*kernel.values(found[2]), found[3]) if found and found[0] == len(data) else None


LEVELS = 64  # of nesting in a value that the kernel follows
ATTRIBUTES = '{"id":"1","attributes":{"e__t__n":[[0,5,0.5],[5,9,1]],"e__t__m":0.5},"source":"s"'
LONG_ENOUGH = "a" * 1000


def span_codes(line: bytes) -> list[str]:
    """Return what the rules say of the spans of a row whose text is longer than they are."""
    judge = Judge(RULES, Grading(), version="1.0", path="x")
    for key, value in strict_json(line).value["attributes"].items():
        if isinstance(value, list):
            judge.check(Spans(Location("x"), key, value, {"text": LONG_ENOUGH}))
    return [finding.code for finding in judge.tally.findings]


def is_in_doubt(line: bytes) -> bool:
    """Tell whether a row has a number that is fine, but needs a closer look than that of the kernel."""
    return any(number in line for number in (b"18446744073709551615", b"0.10000000000000000555", b"1e308", b"-0"))


def assert_same_verdict_on_documents(line: bytes) -> None:
    columns = native.documents(line)
    if columns is None:
        assert document_codes(line) or is_in_doubt(line)
        return
    assert document_codes(line) == []
    value = strict_json(line).value
    assert columns == ([value["id"]], [value["source"]], [len(value["text"])])


def assert_same_verdict_on_attributes(line: bytes) -> None:
    columns = native.attributes(line)
    if columns is None:
        assert attributes_codes(line) or span_codes(line) or is_in_doubt(line)
        return
    assert attributes_codes(line) == []
    value = strict_json(line).value
    ids, sources, (reach,), shapes = columns
    assert (ids, sources, shapes) == ([value["id"]], [value.get("source")], [(0, tuple(value["attributes"]))])
    if reach != UNCLEAR:
        spans = [span for spans in value["attributes"].values() if isinstance(spans, list) for span in spans]
        assert span_codes(line) == []
        assert reach == max((end for _, end, _ in spans), default=0)


@given(line=document_rows.map(as_bytes))
@examples(600)
@example(line=(DOCUMENT + ',"x":1,"y":"\\u0022\\u0022","x":2}').encode())
@example(line=(DOCUMENT + ',"x":"\\\\","x":"\\\\\\""}').encode())
def test_documents_have_one_verdict(line: bytes) -> None:
    assert_same_verdict_on_documents(line)


@given(line=attributes_rows.map(as_bytes))
@examples(600)
def test_attributes_have_one_verdict(line: bytes) -> None:
    assert_same_verdict_on_attributes(line)


@given(data=st.data())
@examples(600)
def test_damaged_rows_have_one_verdict(data: st.DataObject) -> None:
    line = bytearray(
        (DOCUMENT + ',"metadata":{"é":"😀","n":[1,2.5e3,null]},"added":"2023-04-07","a":"\\u00e9"}').encode()
    )
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(
            st.one_of(st.integers(0, 255), st.sampled_from(b'"\\{}[],: 0e-'))
        )
    if b"\n" not in line and b"\\u" in line:
        assert_same_verdict_on_documents(bytes(line))


DEEPEST = "[" * LEVELS + "]" * LEVELS


@pytest.mark.parametrize(
    "more",
    [
        '"x":"\u2028\u0085\x7f\ufeff"',
        '"x":"\\u0000\\"\\\\\\/\\b\\f\\n\\r\\t\\uD83D\\uDE00"',
        '"x":-0,"y":-0.0,"z":1e-9999,"é":123456.75E+2',
        '"x":9223372036854775807,"y":-9223372036854775808,"z":9999999999999999999',
        '"x":1e307,"y":9e307,"z":0.000001e300',
        '"a":1,"b":{"a":1,"b":{"a":1}},"c":[{"a":1},{"a":1}]',
        f'"x":{DEEPEST}',
        '"x" : [ 1 , { "y" : true } , [ ] , { } ] \t\r',
        '"version":null,"metadata":{},"attributes":{}',
        '"":"the empty name","\\n":1,"\\u0061":"a"',
        '"\\u00e9":1,"e":2',
        '"metadata":{' + ",".join(f'"{number}":{number}' for number in range(1000)) + "}",
    ],
)
def test_odd_documents_that_are_accepted(more: str) -> None:
    for line in (f"{DOCUMENT},{more}}}", f"{DOCUMENT},{more}}}\r", f" {DOCUMENT},{more}}}\t "):
        assert native.documents(line.encode()) == (["1"], ["s"], [1])
        assert document_codes(line.encode()) == []


@pytest.mark.parametrize(
    "more",
    [
        b'"x":1,"x":1',
        b'"\\u0069d":"2"',
        b'"\\u0061":1,"a":2',
        b'"\xc3\xa9":1,"\\u00E9":2',
        b'"\xf0\x9f\x98\x80":1,"\\ud83d\\ude00":2',
        b'"metadata":{"a":[{"b":{"":1,"":1}}]}',
        b'"metadata":{' + b",".join(b'"%d":1' % (number % 999) for number in range(1000)) + b"}",
        b'"x":"\xff"',
        b'"x":"\xc0\xaf"',
        b'"x":"\xed\xa0\x80"',
        b'"x":"\xf4\x90\x80\x80"',
        b'"x":"\xe2\x80"',
        b'"\x80":1',
        b'"x":"\\ud800"',
        b'"x":"\\udc00\\ud800"',
        b'"x":"\\ud800\\u0041"',
        b'"x":"\\ud800\\ud800"',
        b'"\\ud800":1',
        b'"x":"\\U0041"',
        b'"x":"\\x41"',
        b'"x":"\\u00g1"',
        b'"x":"\\u00+1"',
        b'"x":"\t"',
        b'"x":"\x00"',
        b'"x":NaN',
        b'"x":Infinity',
        b'"x":-Infinity',
        b'"x":nul',
        b'"x":True',
        b"'x':1",
        b'"x":01',
        b'"x":-',
        b'"x":+1',
        b'"x":1.',
        b'"x":.5',
        b'"x":1e',
        b'"x":1e+',
        b'"x":0x10',
        b'"x":1_000',
        b'"x":18446744073709551616',
        b'"x":-9223372036854775809',
        b'"x":1e309',
        b'"x":-1e999999999999999999999',
        b'"x":' + b"9" * 400 + b".0",
        b'"x":' + b"9" * 400 + b"e-1",
        b'"x":[1,]',
        b'"x":[,1]',
        b'"x":{"y":1,}',
        b'"x":[1}',
        b'"x":/**/1',
        b'"x":1,',
        b"",
        b'"x":1}{',
        b'"x":1}\xc2\xa0',
        b'"x":1}\x0c',
        b'"x":1}\x00',
        b'"version":1',
        b'"metadata":null',
        b'"metadata":[]',
        b'"attributes":""',
        b'"added":null',
        b'"created":"2023-02-30"',
    ],
)
def test_odd_documents_that_are_not_accepted(more: bytes) -> None:
    line = (
        DOCUMENT.encode()
        + b","
        + more
        + (b"" if b"}{" in more or more.endswith((b"}\xc2\xa0", b"}\x0c", b"}\x00")) else b"}")
    )
    assert native.documents(line) is None
    assert document_codes(line)


@pytest.mark.parametrize(
    "line",
    [
        b"\xef\xbb\xbf" + DOCUMENT.encode() + b"}",
        *(b"", b"\n", b"\r\n", b"[]", b"null", b"1", b'"id"', b"{}", b"{", b"\x00"),
        *(DOCUMENT.replace(field, "").encode() + b"}" for field in ('"id":"1",', '"text":"t",', ',"source":"s"')),
        DOCUMENT.replace('"1"', '""').encode() + b"}",
    ],
)
def test_what_is_no_document_is_not_accepted(line: bytes) -> None:
    assert native.documents(line) is None
    assert native.documents(line + b"\n") is None


def test_doubts_are_left_to_the_rules() -> None:
    deeper = f"[{DEEPEST}]"
    for more in (f'"x":{deeper}', '"x":18446744073709551615', '"x":0e999', '"added":"2023-04\\u002d07"'):
        line = f"{DOCUMENT},{more}}}".encode()
        assert native.documents(line) is None
        assert document_codes(line) == []
    assert native.attributes(_attributes_line("[[0,9223372036854775808,1]]")) is None


@pytest.mark.parametrize("row", [f"{DOCUMENT}}}", f"{ATTRIBUTES}}}"])
@pytest.mark.parametrize("separators", [rb"\"\\,[{" * 9, b"[,{"])
def test_rows_of_too_many_values_are_not_accepted(row: str, separators: bytes) -> None:
    read, codes = (
        (native.documents, document_codes) if row.startswith(DOCUMENT) else (native.attributes, attributes_codes)
    )
    others = len(re.findall(r"[,{\[]", row)) + 2
    for values, is_accepted in ((MOST_VALUES - others, True), (MOST_VALUES - others + 1, False)):
        more = b',"x":["%b"%b]}' % (separators, b",1" * values)
        line = row.encode()[:-1] + more
        assert (read(line) is not None, codes(line)) == (is_accepted, [] if is_accepted else ["GEN301"])


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"id":"1","attributes":{"a":['])
def test_bottomless_nesting_is_not_accepted(opening: bytes) -> None:
    for data in (opening * 100_000, DOCUMENT.encode() + b',"x":' + opening * 100_000):
        assert native.documents(data) is None
        assert native.attributes(data) is None


def _attributes_line(value: str) -> bytes:
    return f'{{"id":"","attributes":{{"a":{value}}}}}'.encode()


@pytest.mark.parametrize(
    ("value", "reach"),
    [
        ("[]", 0),
        ("{}", 0),
        ('"a"', 0),
        ("true", 0),
        ("-1.5", 0),
        ('{"a":[null,{"b":[]}]}', 0),
        ("[[0,1,1]]", 1),
        ("[[0,1,-1],[1,2,0.5],[7,9,1e-9]]", 9),
        ("[ [ 0 , 1 , 1 ] , [ 1 , 3 , 1 ] ]", 3),
        ("[[0,1000,1]]", 1000),
        ("[[0,0,1]]", UNCLEAR),
        ("[[5,5,1]]", UNCLEAR),
        ("[[5,4,1]]", UNCLEAR),
        ("[[5,9,1],[0,5,1]]", UNCLEAR),
        ("[[0,5,1],[4,9,1]]", UNCLEAR),
        ("[[0,5,1],[4,9,1],[9,10,1]]", UNCLEAR),
    ],
)
def test_spans_that_are_accepted(value: str, reach: int) -> None:
    line = _attributes_line(value)
    assert native.attributes(line) == ([""], [None], [reach], [(0, ("a",))])
    assert_same_verdict_on_attributes(line)


@pytest.mark.parametrize(
    "value",
    [
        "null",
        "[1]",
        "[[]]",
        "[[0,1]]",
        "[[0,1,1,1]]",
        "[[0,1,1],5]",
        "[[true,1,1]]",
        "[[0,true,1]]",
        "[[0,1,true]]",
        "[[0.0,1,1]]",
        "[[0,1.0,1]]",
        "[[0,1e0,1]]",
        "[[-1,1,1]]",
        '[["0",1,1]]',
        "[[0,1,null]]",
        '[[0,1,"1"]]',
        "[[0,1,1e999]]",
        "[[0,1,NaN]]",
        "[[0,1,[]]]",
        "[[0,1,99999999999999999999]]",
        "[[[0,1,1]]]",
        "[{}]",
        '["a"]',
        "[[0,1,1]",
    ],
)
def test_spans_that_are_not_accepted(value: str) -> None:
    line = _attributes_line(value)
    assert native.attributes(line) is None
    assert attributes_codes(line) or span_codes(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"1"}',
        b'{"attributes":{}}',
        b'{"id":1,"attributes":{}}',
        b'{"id":"1","attributes":[]}',
        b'{"id":"1","attributes":null}',
        b'{"id":"1","attributes":{},"attributes":{}}',
        b'{"id":"1","attributes":{},"\\u0069d":"1"}',
        b'{"id":"1","attributes":{"a":1,"\\u0061":1}}',
        b'{"id":"1","attributes":{},"source":1}',
    ],
)
def test_what_is_no_row_of_attributes_is_not_accepted(line: bytes) -> None:
    assert native.attributes(line) is None


def test_names_of_rows_that_are_not_accepted_are_not_noted() -> None:
    line = b'{"id":"1","attributes":{"%b":1}}\n'
    found = kernel.attributes(line % b"a" + (line % b"b").replace(b"}}", b"}}x"))
    assert (found[1], found[3]) == (1, [(0, ("a",))])


_clocks = st.one_of(
    st.from_regex(r"\A\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d([.,]\d{1,3})?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?\Z"),
    st.tuples(st.sampled_from(["0000", "1900", "2000", "2023", "2024"]), st.integers(0, 13), st.integers(0, 32)).map(
        lambda date: f"{date[0]}-{date[1]:02}-{date[2]:02}"
    ),
    st.text("0123456789-:.+TZ ", max_size=25),
)


@given(clock=_clocks, data=st.data())
@examples(600)
@example(clock="2023-12-31T23:59:60.123456+14:00", data=None)
@example(clock="2023-04-07T15:24+", data=None)
def test_timestamps_are_those_of_the_rules(clock: str, data: st.DataObject | None) -> None:
    if data is not None and clock and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(clock) - 1))
        clock = clock[:place] + data.draw(st.sampled_from("0 9:T-Z٣é")) + clock[place + 1 :]
    line = f"{DOCUMENT},{json.dumps({'created': clock}, ensure_ascii=False)[1:]}".encode()
    assert (native.documents(line) is not None) == is_timestamp(clock)


def _no_number_is_in_doubt(value: Any) -> bool:
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, float) and abs(node) >= 1e307:
            return False
        pending.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
    return True


_documents = st.fixed_dictionaries(
    {"id": st.text(min_size=1), "text": st.text(), "source": st.text()},
    optional={"metadata": st.dictionaries(st.text(), json_values), "version": st.none(), "other": json_values},
).filter(_no_number_is_in_doubt)


@given(rows=st.lists(_documents, min_size=1, max_size=4), ascii_only=st.booleans(), separators=st.booleans())
@examples(200)
def test_ordinary_documents_are_accepted(rows: list[Json], ascii_only: bool, separators: bool) -> None:
    tight = (",", ":") if separators else None
    data = b"".join(json.dumps(row, ensure_ascii=ascii_only, separators=tight).encode() + b"\n" for row in rows)
    assume(double_encoding_at(data, 0, True) < 0)
    expected = ([row["id"] for row in rows], [row["source"] for row in rows], [len(row["text"]) for row in rows])
    assert native.documents(data) == expected


def test_short_names_are_told_apart() -> None:
    names = {
        "",
        *map(chr, range(1, 128)),
        *(chr(first) + chr(second) for first in range(1, 40) for second in range(1, 40)),
    }
    row = {"id": "a", "text": "", "source": "", "metadata": dict.fromkeys(sorted(names), 1)}
    assert native.documents(json.dumps(row, ensure_ascii=False).encode() + b"\n") == (["a"], [""], [0])


def test_typical_rows_are_accepted_and_read_as_without_the_kernel() -> None:
    rows = documents(500)
    for each in rows[::7]:
        each["text"] += "\n“naïve” \\ \t" * 100
    expected = [row["id"] for row in rows], [row["source"] for row in rows], [len(row["text"]) for row in rows]
    assert native.documents(encoded(rows)) == expected
    assert glance.clean_documents(encoded(rows)) == rows
    tags = attributes(rows)
    for number, tag in enumerate(tags):
        tag["attributes"] |= {"exp__pii__none": [], "exp__gopher__count": [[0, len(rows[number]["text"]), 7]]}
        if number % 5 == 0:
            del tag["source"]
        if number % 100 == 99:
            tag["attributes"]["toxicity"] = 0.5
    *values, shapes = native.attributes(encoded(tags))
    assert values == [expected[0], [tag.get("source") for tag in tags], expected[2]]
    starts = sorted({0, *range(99, 500, 100), *range(100, 500, 100)})
    assert shapes == [(start, tuple(tags[start]["attributes"])) for start in starts]


def test_invalid_utf8_is_seen_wherever_it_stands() -> None:
    for size in range(150):
        for text in (b"\xff", b"\xc3", "é".encode() + b"\xa9", b"\xe2\x82", b"\xf0\x9f\x98"):
            assert native.documents(b'{"id":"1","source":"s","text":"%b%b"}' % (b"a" * size, text)) is None
        whole = "é€😀".encode()
        columns = native.documents(b'{"id":"1","source":"s","text":"%b%b%b"}' % (b"a" * size, whole, b"b" * size))
        assert columns == (["1"], ["s"], [2 * size + 3])


@given(text=st.text('aþ€😀\n"\\', max_size=50), times=st.sampled_from([1, 40, 300]), ascii_only=st.booleans())
@examples(150)
def test_texts_are_measured_in_code_points(text: str, times: int, ascii_only: bool) -> None:
    line = json.dumps({"id": "1", "text": text * times, "source": "s"}, ensure_ascii=ascii_only).encode()
    assert native.documents(line) == (["1"], ["s"], [len(text) * times])


@pytest.mark.parametrize("ascii_only", [False, True])
def test_texts_that_may_be_double_encoded_are_named(ascii_only: bool) -> None:
    rows: list[bytes] = []
    expected: list[int] = []
    for text, is_suspect in (("cafÃ©", True), ("NESCAFÉ®", False), ("Привет", False), ("ÐŸÑ€Ð¸", True)):
        for fields in ({"text": text}, {"text": "x", "other": text}):
            if is_suspect and "other" not in fields:
                expected.append(len(rows))
            rows.append(json.dumps({"id": "1", "source": "s"} | fields, ensure_ascii=ascii_only).encode())
    data = b"\n".join(rows)
    for start in (0, len(rows[0]) + 1):
        size, count, _, suspects = kernel.documents(memoryview(data)[start:])
        first = 1 if start else 0
        assert (size, count) == (len(data) - start, len(rows) - first)
        assert [row + first for row, _ in suspects] == [row for row in expected if row >= first]
        assert all(data[start : start + place].endswith(b'"text": "') for _, place in suspects)


@given(
    rows=st.lists(
        st.one_of(st.sampled_from([DOCUMENT + "}", "", DOCUMENT + ',\n"x":1}', DOCUMENT + "}{}"]), document_rows),
        max_size=4,
    ),
    ending=st.sampled_from(["", "\n", "\n\n", "\r\n"]),
)
@examples(300)
def test_a_block_is_accepted_up_to_the_first_of_its_lines_that_is_not(rows: list[str], ending: str) -> None:
    data = ("\n".join(rows) + ending).encode()
    for start in [0, *(place + 1 for place, byte in enumerate(data) if byte == ord("\n"))]:
        accepted, size = [], 0
        for line in re.findall(rb"[^\n]*\n|[^\n]+", data[start:]):
            alone = kernel.documents(line)
            if alone is None:
                break
            accepted.append(kernel.values(alone[2]))
            size += len(line)
        found = kernel.documents(memoryview(data)[start:])
        if not accepted:
            assert found is None
        else:
            values = tuple([value for (value,) in column] for column in zip(*accepted, strict=True))
            assert (*found[:2], kernel.values(found[2])) == (size, len(accepted), values)


def test_only_bytes_are_taken() -> None:
    for take in (native.documents, native.attributes):
        with pytest.raises(TypeError):
            take("text")


_IDS = st.sampled_from(["1", "2", "é", 'a"b'])
_SOURCES = st.sampled_from(["s", "t", "é"])


@given(
    rows=st.lists(
        st.tuples(_IDS, _SOURCES, st.integers(1, 3), _IDS, st.none() | _SOURCES, st.integers(1, 3)),
        min_size=1,
        max_size=5,
    ),
    before=st.integers(0, 2),
    ahead=st.integers(0, 2),
    equal=st.booleans(),
)
@examples(300)
def test_rows_agree_as_their_values_do(rows: list[Any], before: int, ahead: int, equal: bool) -> None:
    if equal:
        rows = [(*row[:3], row[0], row[4] and row[1], row[2]) for row in rows]
    texts = [{"id": row[0], "source": row[1], "text": "a" * row[2]} for row in rows]
    tags: list[Json] = [{"id": row[3], "attributes": {"e__t__a": [[0, row[5], 1]]}} for row in rows]
    for tag, row in zip(tags, rows, strict=True):
        tag.update({"source": row[4]} if row[4] else {})
    one = kernel.documents(encoded([{"id": "0", "source": "s", "text": ""}] * before + texts))
    other = kernel.attributes(encoded([{"id": "0", "attributes": {}}] * ahead + tags))
    for start, end in ((0, len(rows)), (0, 1), (len(rows) - 1, len(rows)), (1, 1)):
        places = before + start, ahead + start, ahead + end
        found = glance.agree(one[2], places[0], other[2], *places[1:])
        pairs = rows[start:end]
        assert found == all(row[0] == row[3] and row[4] in (None, row[1]) and row[5] <= row[2] for row in pairs)
        assert found or not equal
    keys = [xxhash.xxh64_intdigest(f"{row['source']}\t{row['id']}".encode()) for row in texts]
    assert glance.keys_of(one[2]).tolist()[before:] == keys
    for row, start, end in (
        (0, 1, 0),
        (0, 0, ahead + len(rows) + 1),
        (before + len(rows) + 1, 0, 0),
        (before + len(rows), 0, 1),
    ):
        with pytest.raises(IndexError, match="expected rows of both blocks"):
            kernel.agree(one[2], row, other[2], start, end)
    for take in (kernel.values, kernel.keys):
        with pytest.raises(ValueError, match="PyCapsule"):
            take(one)


# Whole datasets: the report is the same with the kernel, without it, and whatever the blocks are.


def said(report: Report) -> tuple[Any, ...]:
    coverage = report.coverage
    return report.verdict, report.by_rule, report.findings, coverage.documents, coverage.bytes, coverage.rules_not_run


def without_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "_BUILT", False)
    monkeypatch.delattr(glance, "_native")


@pytest.mark.parametrize("profile", ["standard", "hub"])
@pytest.mark.parametrize("seed", range(4))
def test_reports_on_odd_rows_among_clean_ones_are_the_same_without_the_kernel(
    seed: int, profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    lines, tags = encoded(rows := documents(90, seed=seed)).split(b"\n"), encoded(attributes(rows)).split(b"\n")
    places = iter(rng.sample(range(0, 88, 4), 21))
    for kind in ("clean", "garbled", "escaped", "version", "no JSON", "blank", "null"):
        for number in islice(places, 3):
            row = {**rows[number], "text": "un cafÃ© crÃ¨me\n" + rows[number]["text"]}
            odd = {
                "clean": lines[number],
                "garbled": json.dumps(row, ensure_ascii=False).encode(),
                "escaped": json.dumps(row).encode(),
                "version": json.dumps({**rows[number], "version": 1}).encode(),
                "no JSON": lines[number][:-1],
            }.get(kind, b"" if kind == "blank" else b"null")
            again = rng.randrange(1, 4)  # equal rows are judged as one
            lines[number : number + again] = [odd] * again
            if kind in ("no JSON", "null", "blank"):
                tags[number] = odd
    for path, content in (("documents/a.jsonl", lines), ("attributes/pii/a.jsonl", tags)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"\n".join(content))
    with_kernel = said(check(tmp_path, profile=profile))
    assert with_kernel[1]["GEN202"] > 6
    without_kernel(monkeypatch)
    assert said(check(tmp_path, profile=profile)) == with_kernel


def _cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    return [data[start:end] for start, end in pairwise([0, *cuts, len(data)])]


@pytest.mark.parametrize("seed", range(6))
def test_reports_are_the_same_whatever_the_blocks(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    rows = documents(60, seed=seed)
    tags = attributes(rows)
    rows[rng.randrange(60)]["version"] = 1
    del rows[rng.randrange(60)]["source"]
    tags[rng.randrange(60)]["attributes"]["exp__pii__x"] = [[0, 500, 1]]
    tags[rng.randrange(60)]["attributes"]["a__b"] = None
    kind, pack = (("gz", gzip.compress), ("zst", zstd.compress))[seed % 2]
    for folder, table in (("documents", rows), ("attributes/pii", tags)):
        data = encoded(table)
        (tmp_path / folder).mkdir(parents=True)
        members = _cut(data, sorted(rng.sample(range(len(data)), 9)))
        (tmp_path / folder / f"a.jsonl.{kind}").write_bytes(b"".join(map(pack, members)))
    whole = said(check(tmp_path))
    assert whole[1] == {"DOL306": 1, "DOL310": 1, "DOL407": 1, "DOL409": 1, "DOL604": 1}
    for step in (1, 37, 1000):
        monkeypatch.setattr(files, "_STEP", step)
        assert said(check(tmp_path)) == whole
