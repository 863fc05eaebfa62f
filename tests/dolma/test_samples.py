"""Samples of clean rows show a loader's columns as all rows do, wherever its blocks end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from dolma.lines import json_values
from hub.folders import card, default
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples

import corpusfmt
from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.dolma.check import check
from corpusfmt.formats.dolma.glance import glance_at_attributes, glance_at_documents
from corpusfmt.formats.rows.files import pieces
from corpusfmt.hub import check as hub
from corpusfmt.io import loading, looking
from corpusfmt.io.looking import Look, Looked
from corpusfmt.io.paths import entry_of
from corpusfmt.profiles import load_profile
from corpusfmt.rules import Grading

pytest.importorskip("corpusfmt.formats._native", reason="the native extension is not built")

TEXTS = (
    *(
        "",
        "word",
        "t",
        "true",
        "true ",
        "trueish",
        "false",
        "fals",
        "null",
        "nullable",
        '"quoted"',
        '"open',
        "[1]",
        "[1",
        "[]x",
    ),
    *(
        '{"a": 1}',
        "{",
        "{} ",
        "\\u0041",
        "é",
        "\u0660",
        "1",
        "007",
        "-1",
        "-",
        "1.5",
        "1.5e-7",
        "1e",
        "3e-f",
        "2e5",
        "12 ",
        "1\n",
    ),
    *(
        "NaN",
        "NaNx",
        "Infinity",
        "-Infinity",
        "I",
        "In",
        "None",
        " ",
        " 1",
        "\t[1]",
        "\r\n true",
        " word",
        "  2024-01-31",
        "-.5",
        "1.",
    ),
    *(
        '{"a": {"b": [1, null]}, "é": "\\u00e9\\n"}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": "\\ud800"}',
        '{"a": 1} {}',
        "[{}]",
    ),
    *("[" * 70 + "]" * 70, "[" * 60 + "]" * 60, f"[{10**40}]", "[1,]", "[[1]", '["]', "[\x01]", "{}{}", "[1]\n"),
    *("[NaN]", '["\t"]', "- ", "-a", "tr", "Nul", "\n", " \\ 1", "-I"),
    *("2024-01-31", "2023-02-29", "2024-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "2024-01-31T12:00:00Z"),
    *(
        "2024-01-31T12:00:60Z",
        "2024-01-31T12:00:00.5Z",
        "2024-01-31T12:00:00+02:00",
        "2024-01-31 12:00",
        "2024-01-31T12",
    ),
    *(
        "2024-01-31t12:00:00z",
        "2024-01-31T12:00:00x",
        "12345678901234567",
        "1234567890123456e7",
        "e" * 16,
        "1234567 9012345t",
    ),
    *(
        "0123456789ee4567890a",
        "012345678901234a",
        "0123456789eeeeeee",
        "-1234567890123 a",
        "01234567\\u0061 9012345",
        "1" * 16 + "a",
    ),
    *("0000-01-01T00:00:00Z", "2024-13-01", "2024-01-00", "20240131", "2024-35-7", "a" * 40, "1" * 40, "true\\"),
)
NUMBERS = (
    *(
        "0",
        "1",
        "-1",
        str(2**53),
        str(2**53 + 1),
        str(-(2**53)),
        str(2**62),
        str(2**63 - 1),
        "1e20",
        "0.5",
        "-0.5",
        "1.0",
        "1.50",
        "0.12345678901",
    ),
    *("0.49212999999999996", "0.10000000000000001", "0.9876543210123456", "1e5", "1.5e-5", "1e-12", "0e-9", "123456.5"),
    *("123456.12345678901", "0.99999999999999999", "0.49999999999999994", "1e-308", "1e-400", "100000.00000000001"),
)


def _object(members: dict[str, str]) -> str:
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


_SCALARS = st.one_of(
    st.sampled_from(TEXTS).map(json.dumps), st.sampled_from(NUMBERS), st.sampled_from(["null", "true", "false"])
)
_VALUES = st.one_of(
    st.recursive(
        _SCALARS,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4).map(lambda items: f"[{','.join(items)}]"),
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(_object),
        ),
        max_leaves=6,
    ),
    json_values.map(json.dumps),
)


def _document(text: str, value: str) -> str:
    return f'{{"id":"1","source":"s","text":{json.dumps(text)},"x":{value}}}'


def _attributes(value: str, spans: list[tuple[int, str]]) -> str:
    listed = ",".join(f"[{start},{start + 1},{score}]" for start, score in spans)
    return f'{{"id":"1","attributes":{{"e__t__n":[{listed}],"e__t__m":{value}}}}}'


def looked(data: bytes, glance_at: Any) -> tuple[Looked, Looked]:
    """Return what samples show of a block, where it is clean, and what all rows do."""
    sampled, noted = Look(), Look()
    noted.note(data, 1)
    for _, piece in pieces(data, loading.BLOCK_BYTES):
        start, line = 0, 1
        while start < len(piece):
            clean = glance_at(piece, start, sampled)
            end = start + clean.size if clean else piece.find(b"\n", start) + 1 or len(piece)
            if clean is None:
                sampled.note(piece[start:end], line)
            elif clean.samples:
                sampled.note_samples(piece[start:end], line, clean.rows, clean.samples)
            start, line = end, line + (clean.rows if clean else 1)
    return sampled.finish(), noted.finish()


@given(rows=st.lists(st.builds(_document, st.sampled_from(TEXTS), _VALUES), min_size=1, max_size=6))
@example([_document("a", value) for value in ("[1]", "[1,2.5]", "[null,false]", "[null]", "[[1],[2]]", "[{}]", "[[]]")])
@example([_document("a", value) for value in ("[]", "[[]]", "[[[]]]")])
@example([_document("a", f"{{{name}:1}}") for name in ('"a"', '"b"', '"a","b":2'.replace(",", ":1,", 1))])
@examples(200)
def test_samples_of_documents_show_what_all_rows_do(rows: list[str]) -> None:
    for escaped in (False, True):
        text = "\n".join(rows)
        data = (json_escaped(text) if escaped else text).encode() + b"\n"
        sampled, noted = looked(data, glance_at_documents)
        assert sampled == noted


def json_escaped(text: str) -> str:
    """Return JSON with every character beyond ASCII escaped."""
    return "".join(character if character < "\x80" else json.dumps(character)[1:-1] for character in text)


@given(
    rows=st.lists(
        st.builds(
            _attributes, _VALUES, st.lists(st.tuples(st.integers(0, 2**53), st.sampled_from(NUMBERS)), max_size=4)
        ),
        min_size=1,
        max_size=6,
    )
)
@examples(100)
def test_samples_of_attributes_show_what_all_rows_do(rows: list[str]) -> None:
    sampled, noted = looked("\n".join(rows).encode(), glance_at_attributes)
    assert sampled == noted


@pytest.mark.parametrize("first", ["word", "2024-01-31", "1", "[1]", "[NaN]", '{"a": 1}'])
def test_each_text_counts_next_to_another(first: str) -> None:
    for text in TEXTS:
        rows = [_document("a", json.dumps(each)) for each in (first, text, first)]
        sampled, noted = looked("\n".join(rows).encode(), glance_at_documents)
        assert sampled == noted, text


def test_of_rows_with_texts_that_are_json_one_tells_all() -> None:
    pytest.importorskip("corpusfmt.formats._native")
    texts = [json.dumps({"part": f"en_{each}", "record": {"offset": each, "headers": ["é\n"]}}) for each in range(9)]
    data = "\n".join(_document("a", json.dumps(text)) for text in texts).encode()
    clean = glance_at_documents(data, 0, Look())
    assert clean is not None
    assert len(clean.samples) == 1


def test_of_rows_with_overlapping_spans_one_tells_all() -> None:
    pytest.importorskip("corpusfmt.formats._native")
    rows = [_attributes("1", [(start, "0.5"), (0, "0.25")]) for start in range(1, 9)]
    clean = glance_at_attributes("\n".join(rows).encode(), 0, Look())
    assert clean is not None
    assert (clean.rows, len(clean.samples)) == (8, 1)


def test_a_kernel_whose_sampler_has_another_size_says_so() -> None:
    kernel = pytest.importorskip("corpusfmt.formats._native")
    for size in (0, 143, 145):
        with pytest.raises(ValueError, match="expected a sampler of 144 bytes"):
            kernel.documents(_document("a", "1").encode(), bytearray(size))


@pytest.mark.parametrize("first", ["1", "1.0", "0.5", "0.12345678901"])
def test_each_number_counts_next_to_another(first: str) -> None:
    for number in NUMBERS:
        rows = [_document("a", each) for each in (first, number, first)]
        sampled, noted = looked("\n".join(rows).encode(), glance_at_documents)
        assert sampled == noted, number
        rows = [_attributes("1", [(0, each)]) for each in (first, number, first)]
        sampled, noted = looked("\n".join(rows).encode(), glance_at_attributes)
        assert sampled == noted, number


@given(sizes=st.lists(st.integers(0, 90), min_size=1, max_size=30), limit=st.integers(1, 400))
@example([1, 89, 1], 150)
@examples(100)
def test_blocks_end_at_the_same_rows(sizes: list[int], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "BLOCK_BYTES", limit)
        values = [json.dumps(size % 3 or None) for size in sizes]
        # A name that occurs twice leaves a row to the rules.
        values = [f'{value},"x":{value}' if size == 89 else value for size, value in zip(sizes, values, strict=True)]
        rows = [_document("a" * size, value) for size, value in zip(sizes, values, strict=True)]
        sampled, noted = looked("".join(f"{row}\n" for row in rows).encode(), glance_at_documents)
        assert sampled == noted


def test_files_that_a_check_has_looked_at_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"documents/a.jsonl": _document("a", "1"), "documents/b.jsonl.gz": _document("b", '"x"')}
    rows |= {"attributes/e/a.jsonl": _attributes("1", []), "attributes/e/b.jsonl.gz": _attributes("1", [(0, "1")])}
    for path, row in rows.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = row.encode() + b"\n"
        file.write_bytes(gzip.compress(data, mtime=0) if path.endswith(".gz") else data)
    configs = (*default("documents/**"), '- config_name: e\n  data_files: "attributes/e/**"')
    (tmp_path / "README.md").write_bytes(card(*configs))
    before = corpusfmt.validate(tmp_path, profile="hub")

    def refused(_entry: object) -> Looked:
        raise AssertionError

    monkeypatch.setattr("corpusfmt.engine.loading.look_at", refused)
    report = corpusfmt.validate(tmp_path, profile="hub")
    assert (report.verdict, report.by_rule, report.findings) == (before.verdict, before.by_rule, before.findings)
    assert sorted(code for code in report.by_rule if code.startswith("HUB")) == ["HUB202"]


def test_a_check_finds_what_a_look_of_its_own_does(tmp_path: Path) -> None:
    odd = [_document("a", "1"), "", "  ", _document("é", '{"y": [1, 0.5]}') + "\r", '{"id": 1}', _document("b", "null")]
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(odd), "utf-8")
    entry = entry_of(str(path))
    options = CheckOptions(grading=Grading(profiles=(load_profile("hub"),)))
    result = check(Shard(0, entry.path, {"documents": entry}), options)
    assert result.looked == {entry.path: hub.look_at(entry)}
    path.write_text("\n".join([*odd, "[1]"]), "utf-8")
    assert check(Shard(0, entry.path, {"documents": entry}), options).looked == {
        entry.path: Looked(gap="line 7 is no JSON object")
    }


_OFTEN = (
    "1",
    "null",
    "0.5",
    '"a"',
    '"b"',
    "[1]",
    "[null]",
    '{"a":1}',
    '{"b":"2024-01-31"}',
    "true",
    '"1e5"',
    "1e20",
    "[]",
    "[0.5]",
)


@given(
    values=st.lists(st.sampled_from(_OFTEN), min_size=1, max_size=60),
    limit=st.integers(60, 600),
    few=st.integers(0, 8),
    most=st.integers(1, 8),
    longest=st.sampled_from([60, 70, 1000]),
)
@examples(200)
def test_blocks_of_shapes_that_are_known_have_the_same_columns(
    values: list[str], limit: int, few: int, most: int, longest: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "BLOCK_BYTES", limit)
        for name, value in (("_FEW", few), ("_MOST_KNOWN", most), ("_MOST_BYTES_KNOWN", longest), ("_known", {})):
            patch.setattr(looking, name, value)
        data = "".join(f"{_document('a' * (place % 9), value)}\n" for place, value in enumerate(values)).encode()
        sampled, noted = looked(data, glance_at_documents)
        assert sampled == noted
        assert looked(data, glance_at_documents)[0] == sampled  # what is known by now has not been changed
