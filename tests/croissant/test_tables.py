"""Tables judged by blocks: what is accepted without a loop is what the reader of rows finds nothing wrong with."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples

from corpusfmt.formats.croissant.data import tables
from corpusfmt.formats.croissant.data.batches import Batch, Broken, Lacking, Take
from corpusfmt.formats.croissant.data.csvrows import table
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.data.lookup import key_of
from corpusfmt.formats.croissant.data.rows import batch_of, of_parquet
from corpusfmt.formats.croissant.data.tables import Accepted, Hashes, KeyOf, hashes_of
from corpusfmt.formats.croissant.model.arrays import ArrayShape
from corpusfmt.formats.croissant.model.casts import CASTS, Cast, cast_all, unchanged
from corpusfmt.io.lines import lines

TYPES = ("sc:Integer", "sc:Float", "sc:Number", "sc:Date", "sc:Text", "sc:Boolean", "sc:URL", "cr:Int8", "cr:UInt64")


@dataclass(eq=False)
class Column:
    """As much of a leaf as judging a table takes."""

    take: Take
    cast: Cast
    repeated: bool = False
    shape: ArrayShape | None = None


@dataclass
class Seen:
    """What reading a table shows: rows, the hash of each key by row, and what is wrong with lines or the whole file."""

    rows: int
    keys: dict[int, int]
    faults: list[str]


def chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def seen(parts: Iterator[Any], column: Column, *, has_key: bool = True) -> Seen:
    found = Seen(0, {}, [])
    try:
        for part in parts:
            if isinstance(part, Batch):
                take(part, column, found)
            elif not has_key:
                found.rows += part.size
            else:
                keys, present = part.keys[0]
                hashes = tables.as_hashes(keys)
                found.keys |= {found.rows + row: int(hashes[row]) for row in np.flatnonzero(present).tolist()}
                found.rows += part.size
    except Broken as broken:
        found.faults.append(str(broken.fault))
    except Lacking as lacking:
        found.faults += map(str, lacking.faults)
    found.faults.sort()
    if not has_key:
        found.keys.clear()
    return found


def take(batch: Batch, column: Column, found: Seen) -> None:
    found.faults += map(str, batch.faults)
    for row, value in enumerate(batch.columns[column.take]):
        (cast,), faults = cast_all(column.cast, [value], repeated=column.repeated, shape=column.shape)
        found.faults += [f"{batch.at(row)} {fault}" for fault in faults.values()]
        if (key := key_of(cast)) is not None:
            found.keys[found.rows + row] = int(hashes_of([key])[0])
    found.rows += batch.size


CELLS = st.one_of(
    st.from_regex(r"[+-]?[0-9]{1,3}(\.[0-9]{0,2})?", fullmatch=True),
    st.sampled_from(
        [
            "",
            "2024-02-28",
            "2024-02-30",
            "2024-02-29",
            "0000-01-01",
            "1e5",
            "nan",
            "007",
            "-0",
            "true",
            "200",
            "-7",
            "1e-999",
        ]
    ),
    st.text('ab1 .,"\n\r\0é𝄞', max_size=6),
    st.text("0123456789.", max_size=30),
)


@st.composite
def csv_bytes(draw: st.DrawFn) -> bytes:
    """Return a table, most of it well formed: quoted where it must be, or anyhow."""
    rows = draw(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=12))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    quoting = draw(st.sampled_from(["needed", "all", "none"]))

    def cell(text: str) -> str:
        must = any(mark in text for mark in ',"\n\r')
        if quoting == "all" or (quoting == "needed" and must):
            return '"' + text.replace('"', '""') + '"'
        return text

    lines = [",".join(map(cell, row)) for row in [["a", "b"], *rows]]
    return (end.join(lines) + draw(st.sampled_from(["", end]))).encode() + draw(st.sampled_from([b"", b"\xff\n", b'"']))


@examples(300)
@given(csv_bytes(), st.sampled_from("ab"), st.sampled_from(TYPES), st.integers(1, 40))
@example(b'a,b\n1,"x\n2,y"\n3,z\n', "a", "sc:Integer", 6)
@example(b'a,b\n1,5" pipe\n2,6" pipe\n', "a", "sc:Integer", 100)
@example(b'a,b\n"1","x ""y"" z"\r\n', "b", "sc:Text", 100)
@example(b"a,b\r\n1,10\n2,20\r\n3,30\n", "b", "sc:Text", 100)
@example(b'a,b\n"1" ,x\n', "a", "sc:Text", 100)
@example(b'"b"x,a\n1,2\n', "a", "sc:Integer", 100)
@example(b"\xef\xbb\xbfa,b\n1,2\n", "a", "sc:Integer", 100)
@example(b"a,b\xff\n", "b", "sc:Text", 1)
def test_blocks_and_rows_agree(data: bytes, name: str, kind: str, size: int) -> None:
    column = Column(Take("column", name), CASTS[kind])
    columns: Sequence[Any] = [column]
    slow = seen(table("t.csv", lines(chunks(data, size)), ",", [column.take]), column)
    key = KeyOf(columns, required=False)
    for native in {tables.native, None}:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tables, "native", native)
            fast = seen(tables.judged(Opened("t.csv", "t.csv", chunks(data, size)), ",", columns, [key]), column)
        assert fast == slow


@pytest.mark.parametrize("kind", TYPES)
def test_plain_tables_take_no_loop(kind: str) -> None:
    cells = {"sc:Date": "2024-01-05", "sc:Boolean": "true"}
    rows = "".join(f'{cells.get(kind, "17")},"x, y"\n' for _ in range(100))
    column: Any = Column(Take("column", "a"), CASTS[kind])
    opened = Opened("t.csv", "t.csv", iter([b"a,b\n" + rows.encode()]))
    keys = [] if kind in ("sc:Boolean", "sc:Float", "sc:Number") else [KeyOf([column])]
    parts = list(tables.judged(opened, ",", [column], keys))
    assert [type(part).__name__ for part in parts] == ["Accepted"]
    assert parts[0].size == 100


def test_quoted_cells_may_cross_blocks() -> None:
    column: Any = Column(Take("column", "a"), CASTS["sc:Text"])
    opened = Opened("t.csv", "t.csv", chunks(b"a\n" + b'"x\ny"\n' * 50, 16))
    parts = list(tables.judged(opened, ",", [column], [KeyOf([column])]))
    assert {type(part).__name__ for part in parts} == {"Accepted"}
    assert len(parts) > 1
    assert sum(part.size for part in parts) == 50


def test_a_key_of_two_columns_is_there_where_both_are() -> None:
    columns: list[Any] = [Column(Take("column", name), CASTS["sc:Text"]) for name in "ab"]
    opened = Opened("t.csv", "t.csv", iter([b"a,b\n,x\nz,\nz,x\n"]))
    (part,) = tables.judged(opened, ",", columns, [KeyOf(columns, required=False)])
    assert isinstance(part, Accepted)
    assert part.keys[0][1].tolist() == [False, False, True]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=9))
@example([0, -1, 1 << 62, -(1 << 63), (1 << 63) - 1])
def test_whole_numbers_have_the_hashes_of_their_texts(numbers: list[int]) -> None:
    found = tables.as_hashes(np.array(numbers, dtype=np.int64))
    assert found.tolist() == hashes_of([b"%d" % number for number in numbers]).tolist()


def test_hashes_that_are_there_twice_are_found() -> None:
    for hashes in ([*range(3000)], [number << 52 for number in range(3000)]):
        parts = np.array_split(np.array(hashes, dtype=np.uint64), 3)
        assert tables.are_distinct(parts)
        for again in (0, 1, 2999):
            assert not tables.are_distinct([*parts, np.array([hashes[again]], dtype=np.uint64)])


@pytest.mark.parametrize("is_native", [True, False])
def test_numbers_that_are_there_twice_are_found(is_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_native:
        monkeypatch.setattr(tables, "native", None)
    edges = [-(1 << 63), (1 << 63) - 1]
    for numbers in ([*range(-50, 50)], [*range(0, 10_000, 7)], [*edges, 0, 1]):
        parts = np.array_split(np.array(numbers, dtype=np.int64), 3)
        assert tables.are_distinct(parts)
        for again in (numbers[0], numbers[-1]):
            assert not tables.are_distinct([*parts, np.array([again], dtype=np.int64)])
            # A batch that was not accepted has hashes.
            assert not tables.are_distinct([*parts, hashes_of([b"%d" % again])])


@given(st.lists(st.integers(-5, 20) | st.sampled_from([-(1 << 63), (1 << 63) - 1]), min_size=1, max_size=9))
def test_numbers_that_are_absent_are_found_by_hash_or_range(numbers: list[int]) -> None:
    known = [2, 3, 5, 7, -(1 << 63)]
    keys = np.array(numbers, dtype=np.int64)
    have = Hashes(np.sort(hashes_of([b"%d" % number for number in known])))
    expected = [place for place, number in enumerate(numbers) if number not in known]
    assert tables.absent_in(have, keys).tolist() == expected
    assert tables.absent_in(have, tables.as_hashes(keys)).tolist() == expected


TEXTS = st.sampled_from(["", "a", "é", "17", "007", " 1", "[1]", "2024-01-05", "2024-02-30", "true", "1.5", "nan"])
NUMBERS = st.integers(-128, 127)
#: By what of an Arrow type follows `pa.`, the values of an array.
ARRAYS = {
    "int64()": st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-300, 300),
    "uint64()": st.integers(0, (1 << 64) - 1) | st.integers(0, 300),
    "int8()": NUMBERS,
    "float64()": st.floats() | NUMBERS.map(float),
    "float32()": st.floats(width=32),
    "bool_()": st.booleans(),
    "string()": TEXTS,
    "large_string()": TEXTS,
    "binary()": st.binary(max_size=3),
    "null()": st.none(),
    "date32()": st.integers(-719_163, 2_932_897) | st.integers(0, (1 << 31) - 1),
    "date64()": st.dates(),
    "timestamp('ns')": st.integers(-(1 << 63), (1 << 63) - 1),
    "timestamp('s')": st.integers(-(1 << 40), 1 << 40) | st.integers(0, 1 << 30),
    "timestamp('us', 'Europe/Berlin')": st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 1 << 50),
    "timestamp('us', 'Nowhere')": st.integers(0, 1 << 50),
    "time64('us')": st.times(),
    "list_(pa.int8())": st.lists(st.none() | NUMBERS, max_size=3),
    "large_list(pa.string())": st.lists(TEXTS, max_size=3),
    "list_(pa.float64(), 2)": st.lists(st.floats(), min_size=2, max_size=2),
    "list_(pa.list_(pa.float32()))": st.lists(
        st.none() | st.lists(st.none() | NUMBERS.map(float), min_size=1, max_size=2), max_size=2
    ),
    "list_(pa.timestamp('ns'))": st.lists(st.integers(0, 1 << 62), max_size=2),
    "struct({'x': pa.string()})": st.fixed_dictionaries({"x": TEXTS}),
}
CAST = {**{kind: CASTS[kind] for kind in (*TYPES, "sc:Time")}, "sc:ImageObject": unchanged}


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="an extra")
@examples(150)
@given(
    st.data(),
    st.sampled_from(sorted(ARRAYS)),
    st.sampled_from(sorted(CAST)),
    st.booleans(),
    st.sampled_from([None, (), (-1,), (2,), (2, -1), (-1, 1)]),
)
def test_arrays_and_values_agree(
    data: st.DataObject, stored: str, kind: str, is_key: bool, shape: ArrayShape | None
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from corpusfmt.formats.croissant.data.arrays import judged_arrays

    column = Column(Take("column", "a"), CAST[kind], shape is not None, shape or None)
    columns: Sequence[Any] = [column]
    # Of many rows, few different texts stay a dictionary.
    times, rows_a_group = data.draw(st.sampled_from([(1, 3), (40, 1000)]))
    values = data.draw(st.lists(st.none() | ARRAYS[stored], max_size=8)) * times
    table = pa.table({"a": pa.array(values, eval(f"pa.{stored}", {"pa": pa}))})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=rows_a_group)
    keys = [KeyOf(columns, required=data.draw(st.booleans()))] if is_key and shape is None else []

    def opened() -> Opened:
        return Opened("t.parquet", "t.parquet", iter([file.getvalue()]))

    fast = seen(judged_arrays(opened(), columns, keys), column, has_key=bool(keys))
    rows = of_parquet(opened(), [column.take], partial(batch_of, "t.parquet", [column.take]))
    slow = seen(rows, column, has_key=bool(keys))
    assert fast == slow


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="an extra")
@pytest.mark.parametrize(
    ("stored", "kind", "shape"),
    [
        ("int8()", "sc:Integer", None),
        ("uint64()", "cr:UInt64", None),
        ("float32()", "sc:Float", None),
        ("large_string()", "sc:Text", None),
        ("dictionary(pa.int32(), pa.string())", "sc:Text", None),
        ("date32()", "sc:Date", None),
        ("timestamp('us', 'Europe/Berlin')", "sc:DateTime", None),
        ("timestamp('ns')", "sc:Text", None),
        ("list_(pa.float32())", "sc:Float", ()),
        ("list_(pa.float32(), 3)", "sc:Float", (3,)),
        ("list_(pa.large_list(pa.int64()))", "sc:Integer", (-1, 1)),
        ("struct({'bytes': pa.binary()})", "sc:ImageObject", None),
    ],
)
def test_arrays_of_a_type_take_no_loop(stored: str, kind: str, shape: ArrayShape | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from corpusfmt.formats.croissant.data.arrays import judged_arrays

    values: dict[str, Any] = {"string": "a", "list_(pa.float32()": [1, 2, 3], "list_(pa.l": [[1], [2]], "struct": {}}
    value = next((value for name, value in values.items() if name in stored), 17)
    file = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array([value, None] * 3, eval(f"pa.{stored}", {"pa": pa}))}), file)
    leaf: Any = Column(Take("column", "a"), CASTS.get(kind, unchanged), shape is not None, shape or None)
    keys = [KeyOf([leaf], required=False)] if kind in ("sc:Integer", "cr:UInt64", "sc:Date") and shape is None else []
    (part,) = judged_arrays(Opened("t.parquet", "t", iter([file.getvalue()])), [leaf], keys)
    assert isinstance(part, Accepted)
    assert part.size == 6


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="an extra")
def test_arrays_of_texts_that_are_not_utf8_are_not_accepted() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from corpusfmt.formats.croissant.data.arrays import judged_arrays

    file = io.BytesIO()
    halves = pa.array([b"\xc3", b"\xa4"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"a": halves}), file)
    column = Column(Take("column", "a"), CASTS["sc:Text"])
    columns: Sequence[Any] = [column]
    found = seen(judged_arrays(Opened("t.parquet", "t", iter([file.getvalue()])), columns, []), column)
    assert (found.rows, len(found.faults)) == (0, 1)
    assert "is corrupt" in found.faults[0]
