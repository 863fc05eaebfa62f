"""What is found in batches of rows at once is what is found row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.parquet.cases import OWN
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import corpusfmt
from corpusfmt.formats.parquet import check
from corpusfmt.formats.parquet.arrow import JSON_COLUMNS

TEXTS = ["", "naïve", "cafÃ", "© 2020", None]
#: Not UTF-8 each, but one after the other.
BYTES = [b"a\xc3", b"\xa9 2020", b"\xff"]
OBJECTS = ["{}", '{"language":"en","n":[1,0.5,null]}', '{"a":\n1}', '{"a":1}\n{"b":2}', "", "[]", '"a"', "{", None]
OBJECTS += [
    '{"a":1e999}',
    '{"n":' + "9" * 30 + "}",
    '{"a":"\\ud800"}',
    '{"a":1,"a":2}',
    '{"a":' + "[" * 9 + "]" * 9 + "}",
]
OWN_ROW = pa.table(OWN).to_pylist()[0]
FINEWEB = {
    "text": "plain",
    "id": "<urn:uuid:1>",
    "dump": "CC-MAIN-2023-50",
    "url": "https://example.org/",
    "date": "2023-11-30T07:12:01Z",
    "file_path": "x.warc.gz",
    "language": "en",
    "language_score": 0.5,
    "token_count": 1,
}
KINDS = {float: pa.float64(), int: pa.int64()}


def table_of(rows: list[dict[str, Any]], kinds: dict[str, Any], *, ours: bool) -> pa.Table:
    """Return a table, in which texts may be bytes that are not UTF-8."""
    columns = {}
    for name, kind in kinds.items():
        values = [row[name] for row in rows]
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            stored = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
            encoded = [each.encode() if isinstance(each, str) else each for each in values]
            columns[name] = pa.Array.from_buffers(kind, len(rows), pa.array(encoded, stored).buffers())
        else:
            columns[name] = pa.array(values, kind)
    table = pa.table(columns)
    return table.replace_schema_metadata({"corpusfmt": "documents-1"}) if ours else table


@st.composite
def tables(draw: st.DrawFn, *, ours: bool) -> pa.Table:
    """Draw rows in which one column may be odd, and of which the text may be encoded twice."""
    row = OWN_ROW if ours else FINEWEB
    odd: dict[str, list[Any]] = {"text": [*TEXTS, *BYTES], "id": ["", None]}
    odd |= dict.fromkeys(JSON_COLUMNS, OBJECTS) if ours else {name: [None] for name in row.keys() - odd}
    odd |= {} if ours else {"language_score": [None, float("nan")]}
    name = draw(st.sampled_from(sorted(odd)))
    value = st.sampled_from([row[name], *odd[name]])
    text = st.sampled_from([row["text"], "a cafÃ©\nof one lineâ€¦"])
    rows = draw(st.lists(st.builds(lambda text, value: row | {"text": text, name: value}, text, value), max_size=9))
    kinds = kinds_of(row)
    if not ours and draw(st.booleans()):
        kinds = {name: pa.large_string() if pa.types.is_string(kind) else kind for name, kind in kinds.items()}
    return table_of(rows, kinds, ours=ours)


def kinds_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: KINDS.get(type(value), pa.string()) for name, value in row.items()}


def compare(path: Path, table: pa.Table, rows_a_group: int, columns: str | None) -> None:
    pq.write_table(table, path, row_group_size=rows_a_group)
    found = corpusfmt.validate(path, jobs=1, columns=columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check, "clean_rows", lambda *_: None)
        expected = corpusfmt.validate(path, jobs=1, columns=columns)
    assert corpusfmt.render(found) == corpusfmt.render(expected)
    assert found.coverage == expected.coverage


@pytest.mark.parametrize("ours", [False, True])
@examples(150)
@given(data=st.data(), rows_a_group=st.integers(1, 5), columns=st.sampled_from([None, "fineweb"]))
def test_both_ways_find_the_same(
    ours: bool, data: st.DataObject, rows_a_group: int, columns: str | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compare(tmp_path_factory.mktemp("table") / "a.parquet", data.draw(tables(ours=ours)), rows_a_group, columns)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("text", [b"a\xc3", b"\xa9 2020"]),
        ("metadata", ['{"a":1}\n{"b":2}', ""]),
        ("language_score", [0.5, float("nan")]),
        ("text", []),
    ],
)
def test_what_is_wrong_only_row_by_row(name: str, values: list[Any], tmp_path: Path) -> None:
    row = OWN_ROW if name in OWN_ROW else FINEWEB
    rows = [row | {name: value} for value in values]
    compare(tmp_path / "a.parquet", table_of(rows, kinds_of(row), ours=row is OWN_ROW), 9, None)


@pytest.mark.parametrize("ours", [False, True])
def test_clean_rows_are_not_judged_one_by_one(ours: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = table_of([OWN_ROW | {"id": str(number)} for number in range(9)], dict.fromkeys(OWN, pa.string()), ours=ours)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    monkeypatch.delattr(check, "judge_row")
    assert not corpusfmt.validate(tmp_path / "a.parquet", jobs=1).findings
