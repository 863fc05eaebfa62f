"""ARFF files: dense and sparse rows, quotes, missing values, and what is not so."""

from __future__ import annotations

import gzip
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpusfmt.formats.croissant.data.arff import arff
from corpusfmt.formats.croissant.data.batches import Broken, NotRead, Take
from corpusfmt.formats.croissant.data.files import Opened

HEADER = b"""% made by hand
@RELATION 'the weather'

@attribute outlook {sunny, 'over cast', rainy}
@ATTRIBUTE "the temperature" real
@attribute remark string
@data
"""
COLUMNS = ("outlook", "the temperature", "remark")


def read(data: bytes, columns: tuple[str, ...] = COLUMNS, name: str = "t.arff") -> tuple[list[Any], list[str]]:
    takes = [Take("column", column) for column in columns]
    rows: list[Any] = []
    faults: list[str] = []
    for batch in arff(Opened(name, name, iter([data])), takes):
        rows += [(batch.at(row).line, *(batch.columns[take][row] for take in takes)) for row in range(batch.size)]
        faults += [str(fault) for fault in batch.faults]
    return rows, faults


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"sunny,21.5,dry", ("sunny", "21.5", "dry")),
        (b"  rainy , -3 ,\t'two words' ", ("rainy", "-3", "two words")),
        (b"'over cast',?,?", ("over cast", None, None)),
        (b"'?',1,\"?\"", ("?", "1", "?")),
        (b"sunny,1,'it\\'s, \\\\ \\n so'", ("sunny", "1", "it's, \\ \n so")),
        (b"sunny,1,''", ("sunny", "1", "")),
        (b"sunny,1,a,{0.5}", ("sunny", "1", "a")),
        (b"{}", ("sunny", "0", None)),
        (b"{ 1 2.5 }", ("sunny", "2.5", None)),
        (b"{0 'over cast', 2 \"a, b\"}", ("over cast", "0", "a, b")),
        (b"{0 ?,1 4}", (None, "4", None)),
    ],
)
def test_rows(row: bytes, expected: tuple[str | None, ...]) -> None:
    data = HEADER + b"%\n\n" + row + b"\r\n"
    assert read(data) == ([(10, *expected)], [])
    assert read(gzip.compress(data), name="t.arff.gz") == ([(10, *expected)], [])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"sunny,1", "the row has 2 cells, the header 3"),
        (b"sunny,1,a,b", "the row has 4 cells, the header 3"),
        (b"sunny,1,'a", "a quote of the row is not closed"),
        (b"sunny,1,'a'b", "not at the border of a cell"),
        (b"{3 a}", "index 3 of a sparse row, and the last attribute is 2"),
        (b"{a b}", "a sparse row is not a list of index and value"),
        (b"{0 a", "a sparse row is not a list"),
        (b"sunny,1,\xff", "not UTF-8"),
    ],
)
def test_rows_that_are_wrong_are_left_out(row: bytes, expected: str) -> None:
    rows, (fault,) = read(HEADER + row + b"\nrainy,1,a")
    assert rows == [(9, "rainy", "1", "a")]
    assert expected in fault
    assert "t.arff:8" in fault or "line=8" in fault


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "no line `@data`"),
        (b"@relation a\n@attribute b real\n", "no line `@data`"),
        (b"@relation a\n1,2\n@data\n", "`1,2` is not a declaration"),
        (b"@attribute\n@data\n", "an attribute has no name"),
        (b"<html>\n", "`<html>` is not a declaration"),
        (b"\xff\n", "not UTF-8"),
    ],
)
def test_what_is_no_arff_is_an_error(data: bytes, expected: str) -> None:
    with pytest.raises(Broken) as broken:
        read(data)
    assert expected in str(broken.value.fault)


def test_columns_that_are_not_there_are_told_with_those_that_are() -> None:
    rows, (fault,) = read(HEADER + b"sunny,1,a\n", ("Outlook",))
    assert rows == []
    assert "did you mean `outlook`?" in fault


def test_relations_are_not_read() -> None:
    with pytest.raises(NotRead, match="relations are not read"):
        read(b"@attribute bag relational\n@attribute a real\n@end bag\n@data\n")


def test_many_rows_make_batches() -> None:
    rows, faults = read(HEADER + b"sunny,1,a\n" * 10_000)
    assert (len(rows), rows[-1][0], faults) == (10_000, 10_007, [])


@given(st.text("@data{}'\"\\,?% 01attribue\n\t", max_size=60))
def test_anything_has_an_answer(text: str) -> None:
    for data in (text.encode(), HEADER + text.encode()):
        with suppress(Broken, NotRead):
            read(data)
