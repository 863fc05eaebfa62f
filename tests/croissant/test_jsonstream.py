"""JSON that is too large to be held: read element by element, it gives the records that it gives as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corpusfmt.formats.croissant.data import rows
from corpusfmt.formats.croissant.data.batches import Broken, Lacking, NotRead, Take
from corpusfmt.formats.croissant.data.files import Opened
from corpusfmt.formats.croissant.model.graph import FileObject

JSON = ("application/json",)


class View(FileObject):
    """As much of a FileObject as reading it takes."""

    def __init__(self) -> None:
        pass

    @property
    def formats(self) -> list[str]:
        return [*JSON]


def read(data: bytes, takes: list[Take], size: int) -> tuple[list[Any], list[str]]:
    """Return the records, each with its place, and what is wrong."""
    chunks = (data[start : start + size] for start in range(0, len(data), size))
    found: list[Any] = []
    faults: list[str] = []
    try:
        for batch in rows.batches(View(), Opened("a.json", "a.json", chunks), takes):
            found += [
                (batch.at(row).record, *(batch.columns[take][row] for take in takes)) for row in range(batch.size)
            ]
            faults += [str(fault) for fault in batch.faults]
    except Broken as broken:
        faults.append(broken.fault.type.code)
    except Lacking as lacking:
        faults.append(str(lacking.fault))
    return found, faults


def streamed(data: bytes, takes: list[Take], size: int) -> tuple[list[Any], list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_JSON", 0)
        return read(data, takes, size)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('a"\\{}[],:é', max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
PATHS = st.sampled_from(["$.rows[*].a", "$.rows[*].b[0]", "$.rows[*]['c']", "$.rows[*]"])


@given(
    st.lists(OBJECTS, min_size=1, max_size=5),
    st.lists(st.tuples(st.sampled_from(["x", "y", "rows2"]), VALUES), max_size=2),
    st.lists(PATHS, min_size=1, max_size=2, unique=True),
    st.sampled_from([None, 1]),
    st.integers(1, 60),
)
@example([{"a": 'x"]}'}], [("x", "\\")], ["$.rows[*].a"], None, 1)
def test_records_are_those_of_the_whole(
    objects: list[Any], beside: list[tuple[str, Any]], paths: list[str], indent: int | None, size: int
) -> None:
    takes = [Take("jsonPath", path) for path in paths]
    members = [*beside[:1], ("rows", objects), *beside[1:]]
    data = json.dumps(dict(members), indent=indent, ensure_ascii=False).encode()
    assert streamed(data, takes, size) == read(data, takes, size)
    lists = [Take("jsonPaths", "$.rows[*].b[*]"), Take("jsonPath", "$.rows[*].a")]
    if len(objects) > 1:
        assert streamed(data, lists, size) == read(data, lists, size)
    columns = [Take("column", "a"), Take("column", "b")]
    data = json.dumps([1, *objects], indent=indent).encode()
    assert streamed(data, columns, size) == read(data, columns, size)


@given(st.text('[]{}",:1a \n\\', max_size=30), st.integers(1, 40))
@example('{"rows": [{"a": 1}] x}', 3)
@example('{"rows": [{"a": 1}], "rows2": [1}', 3)
@example('{"rows": [{"a": 1}]} 1', 3)
@example('{"rows": [{"a": 1},]}', 3)
@example('{"rows": [{"a": 1}', 3)
def test_what_is_not_json_is_an_error_either_way(text: str, size: int) -> None:
    takes = [Take("jsonPath", "$.rows[*].a")]
    for data in (text.encode(), b'{"rows": [{"a": 1}, ' + text.encode()):
        assert ("CRO604" in streamed(data, takes, size)[1]) is ("CRO604" in read(data, takes, size)[1])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"rows": [{"a": 1}, {"a": \xff}]}', "CRO604"),
        (b'{"rows": [{"a": 1}, {"a": 1e999}]}', "GEN306"),
        (b'{"rows": [{"a": 1}], "rows": [{"a": 2}]}', "CRO604"),
    ],
)
def test_records_before_an_error_are_read(data: bytes, code: str) -> None:
    found, faults = streamed(data, [Take("jsonPath", "$.rows[*].a")], 7)
    assert found[:1] in ([("record 1", 1)], [])
    assert len(faults) == 1
    assert faults[0].startswith(code[:3])


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["$..a"], "only one array of such JSON is read"),
        (["$.rows[*].a[*]"], "only one array"),
        (["$.rows[0].a"], "only one array"),
        (["$.rows[*].a", "$.others[*].b"], "only one array"),
        (["$.rows[?@.a == 1]"], "only one array"),
        (["$.object[*]"], "has an object where an array of records was expected"),
    ],
)
def test_other_paths_are_a_gap(paths: list[str], reason: str) -> None:
    data = b'{"object": {"a": 1}, "rows": [{"a": 1}]}'
    with pytest.raises(NotRead, match=reason):
        streamed(data, [Take("jsonPath", path) for path in paths], 9)


def test_an_element_that_is_too_large_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_ELEMENT", 1000)
    takes = [Take("jsonPath", "$.rows[*].a")]
    fitting = {"rows": [{"a": "x" * 400}] * 100}
    assert len(streamed(json.dumps(fitting).encode(), takes, 100)[0]) == 100
    for large in ({"rows": [{"a": "x" * 4000}]}, {"b": [1] * 4000, "rows": []}, {"rows": [{"a": [1] * 4000}]}):
        with pytest.raises(NotRead, match="a value of over 1,000 bytes"):
            streamed(json.dumps(large).encode(), takes, 100)


def test_other_encodings_are_a_gap() -> None:
    with pytest.raises(NotRead, match="not UTF-8"):
        streamed('[{"a": 1}]'.encode("utf-16"), [Take("jsonPath", "$[*].a")], 100)
    assert streamed(b'\xef\xbb\xbf[{"a": 1}]', [Take("jsonPath", "$[*].a")], 100) == ([("record 1", 1)], [])


def test_memory_does_not_grow_with_the_document() -> None:
    import tracemalloc

    def chunks() -> Iterator[bytes]:
        yield b'{"rows": ['
        for _ in range(100):
            yield b'{"a": 1, "b": "%s"},' % (b"x" * 1000) * 200
        yield b'{"a": 1}]}'

    takes = [Take("jsonPath", "$.rows[*].a")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "MAX_JSON", 1 << 16)
        tracemalloc.start()
        count = sum(batch.size for batch in rows.batches(View(), Opened("a.json", "a.json", chunks()), takes))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert count == 20_001
    assert peak < 12_000_000
