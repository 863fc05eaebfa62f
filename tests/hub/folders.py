"""Generated folders: homogeneous ones, and heterogeneous ones in each way that `datasets` refuses, changes or leaves alone."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from corpusfmt.io.loading import BLOCK_BYTES
from corpusfmt.model import Json

Files = dict[str, bytes]
A, B = "documents/a.jsonl", "documents/b.jsonl"
ABSENT = object()

# Values of a column `x` in the first and in the second file.
PAIRS: dict[str, tuple[list[Any], list[Any]]] = {
    "text and text": (["x"], ["y"]),
    "text and null": (["x"], [None]),
    "text and nothing": (["x"], [ABSENT]),
    "nothing and text": ([ABSENT], ["x"]),
    "null and text": ([None], ["x"]),
    "null and null": ([None], [None]),
    "empty list and list": ([[]], [["x"]]),
    "list and empty list": ([["x"]], [[]]),
    "int and int": ([1], [2]),
    "int and float": ([1], [2.5]),
    "int and whole float": ([1], [2.0]),
    "float and int": ([1.5], [2]),
    "float and wide int": ([1.5], [2**53 + 1]),
    "int and text": ([1], ["x"]),
    "int and digits": ([1], ["02"]),
    "float and digits": ([1.5], ["2.50"]),
    "text and int": (["x"], [2]),
    "digits and digits": (["01"], ["02"]),
    "bool and bool": ([True], [False]),
    "bool and int": ([True], [1]),
    "int and bool": ([1], [True]),
    "text and bool": (["x"], [True]),
    "int and big int": ([1], [2**63]),
    "wide ints": ([2**53 + 1], [2**62]),
    "big ints": ([2**63], [2**64 - 1]),
    "int and float in one file": ([1, 2.5], [3]),
    "wide int and float in one file": ([2**53 + 1, 2.5], [3.5]),
    "int and text in one file": ([1, "x"], ["y"]),
    "int and digits in one file": ([1, "02"], ["y"]),
    "int and text in the second file": ([1], [1, "x"]),
    "text and int in the second file": (["x"], ["y", 1]),
    "long float next to mixed": ([1, "x"], [0.12345678901234567]),
    "long floats": ([0.12345678901234567], [0.5]),
    "null then text in one file": ([None, "x"], ["y"]),
    "nothing then text in one file": ([ABSENT, "x"], ["y"]),
    "times": (["2018-11-12T18:01:06Z"], ["2019-01-01T00:00:00Z"]),
    "days": (["2018-11-12"], ["2019-01-01"]),
    "times and text": (["2018-11-12"], ["unknown"]),
    "text and times": (["unknown"], ["2018-11-12"]),
    "text and times in one file": (["unknown", "2018-11-12"], ["known"]),
    "times with offsets": (["2018-11-12T18:01:06+02:00"], ["2018-11-12T18:01:06+02:00"]),
    "times of milliseconds": (["2018-11-12T18:01:06.123Z"], ["2018-11-12T18:01:06.124Z"]),
    "times and milliseconds": (["2018-11-12T18:01:06Z"], ["2018-11-12T18:01:06.124Z"]),
    "impossible day": (["2018-02-30"], ["2018-02-31"]),
    "time and int": (["2018-11-12"], [5]),
    "objects": ([{"a": 1}], [{"a": 2}]),
    "object with another key": ([{"a": 1}], [{"b": 2}]),
    "object with one more key": ([{"a": 1}], [{"a": 2, "b": 3}]),
    "object with fewer keys": ([{"a": 1, "b": 2}], [{"a": 2}]),
    "keys in another order": ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
    "empty object and object": ([{}], [{"a": 1}]),
    "object and empty object": ([{"a": 1}], [{}]),
    "objects of different keys in one file": ([{"a": 1}, {"b": 2}], [{"c": 3}]),
    "digits in objects of different keys": ([{"a": "01"}, {"b": "02"}], [{"c": "03"}]),
    "object and text": ([{"a": 1}], ["x"]),
    "text and object": (["x"], [{"a": 1}]),
    "object and text in one file": ([{"a": 1}, "x"], ["y"]),
    "objects as text": (['{"a": 1}'], ['{"b": 2}']),
    "nested text and null": ([{"a": {"b": "x"}}], [{"a": {"b": None}}]),
    "nested null and text": ([{"a": {"b": None}}], [{"a": {"b": "x"}}]),
    "nested times and text": ([{"a": "2018-11-12"}], [{"a": "x"}]),
    "spans of floats": ([[[0, 3, 0.5]]], [[[0, 4, 0.25]]]),
    "spans of floats, then ints": ([[[0, 3, 0.5]]], [[[0, 4, 1]]]),
    "spans of ints, then floats": ([[[0, 3, 1]]], [[[0, 4, 0.25]]]),
    "list and text": ([["x"]], ["y"]),
    "list of ints and texts": ([[1]], [["x"]]),
    "list of texts and ints": ([["x"]], [[1]]),
    "list of mixed values": ([[1, "x"]], [["y", 2]]),
    "lists of objects": ([[{"a": 1}]], [[{"a": 2}, {"a": 3}]]),
    "lists of objects with other keys": ([[{"a": 1}]], [[{"b": 2}]]),
}


def rows(values: list[Any], prefix: str) -> bytes:
    return b"".join(
        json.dumps(row(f"{prefix}{number}") | ({} if value is ABSENT else {"x": value})).encode() + b"\n"
        for number, value in enumerate(values)
    )


def row(name: str) -> Json:
    return {"id": name, "text": f"text of {name}", "source": "web"}


def plain(prefix: str) -> bytes:
    return rows([ABSENT, ABSENT], prefix)


def late(value: Json) -> bytes:
    """Return a file in which only the first row after the first block has another value."""
    first = [
        json.dumps(row(f"l{number}") | {"text": "x" * 100_000, "x": None})
        for number in range(BLOCK_BYTES // 100_000 + 1)
    ]
    return ("\n".join([*first, json.dumps(row("last") | value)]) + "\n").encode()


def parquet(columns: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), out)
    return out.getvalue()


def card(*lines: str) -> bytes:
    return "\n".join(["---", *lines, "---", "# Corpus", ""]).encode()


def default(path: str) -> list[str]:
    return ["configs:", '- config_name: "default"', f'  data_files: "{path}"']


def features(**types: str) -> list[str]:
    listed = [line for name, kind in types.items() for line in (f"  - name: {name}", f"    dtype: {kind}")]
    return ["dataset_info:", "- config_name: default", "  features:", *listed]


TWO: Files = {A: plain("a"), B: plain("b")}
ATTRIBUTES = json.dumps({"id": "a0", "source": "web", "attributes": {"s": [[0, 1, 0.5]]}}).encode() + b"\n"
WITH_SET: Files = {A: rows([ABSENT], "a"), "attributes/set/a.jsonl": ATTRIBUTES}
COLUMNS = {"id": "string", "text": "string", "source": "string"}


def layouts() -> Iterator[tuple[str, Files]]:
    yield "two files", TWO
    yield "empty second file and gzip", {A: plain("a"), "documents/b.jsonl.gz": gzip.compress(plain("b"))}
    yield "attributes without a card", WITH_SET
    yield "attributes with a card", WITH_SET | {"README.md": card(*default("documents/**"))}
    yield "one json file next to data", TWO | {"extra.json": b'{"y": 1}\n'}
    yield (
        "manifest next to data, with a card",
        TWO | {"extra.json": b'{"y": 1}\n', "README.md": card(*default("documents/*"))},
    )
    yield "text files next to data", TWO | {"LICENSE": b"MIT\n", "notes.csv": b"a,b\n"}
    yield "more text files than data", {A: plain("a")} | {f"{name}.txt": b"x\n" for name in "pq"}
    yield "a language called test", {"documents/en/a.jsonl": plain("a"), "documents/test/b.jsonl": plain("b")}
    yield "a file called val", {"documents/val.jsonl": plain("a"), "documents/en.jsonl": plain("b")}
    yield "splits by name", {"documents/train.jsonl": plain("a"), "documents/test.jsonl": plain("b")}
    yield "two keywords in one name", {"documents/train.training.jsonl": plain("a")}
    yield "names with # and %", {"documents/a#1.jsonl": plain("a"), "documents/b%20.jsonl": plain("b")}
    yield "folder of two underscores", {A: plain("a"), "documents/__b/b.jsonl": plain("b")}
    yield "languages called test with a card", {
        "documents/en/a.jsonl": plain("a"), "documents/test/b.jsonl": plain("b"), "README.md": card(*default("documents/**")),
    }  # fmt: skip
    yield "text after ten megabytes", {A: late({"x": "late"})}
    yield "column after ten megabytes", {A: late({"x": None, "y": 1})}
    yield "nothing after ten megabytes", {A: late({"x": None})}


def cards() -> Iterator[tuple[str, Files]]:
    norwegian = ["configs:", "- config_name: no", '  data_files: "documents/*"']
    two = [
        "configs:",
        '- config_name: "a"',
        '  data_files: "documents/a*"',
        '- config_name: "b"',
        '  data_files: "documents/b*"',
    ]
    yield "unquoted no", TWO | {"README.md": card(*norwegian)}
    yield "quoted no", TWO | {"README.md": card(*norwegian).replace(b": no", b': "no"')}
    yield "no default", TWO | {"README.md": card(*two)}
    yield "path without files", TWO | {"README.md": card(*default("data/*"))}
    yield "path of a folder", TWO | {"README.md": card(*default("documents"))}
    yield "path of half the files", TWO | {"README.md": card(*default("documents/a*"))}
    yield "name with a slash", TWO | {"README.md": card(*norwegian).replace(b": no", b': "a/b"')}
    yield "not YAML", TWO | {"README.md": b"---\nconfigs: [\n---\n"}
    yield "no head", TWO | {"README.md": b"# Corpus\n"}
    yield "declared types", TWO | {"README.md": card(*default("documents/*"), *features(**COLUMNS))}
    yield (
        "declared types without a column",
        TWO | {"README.md": card(*default("documents/*"), *features(id="string", text="string"))},
    )
    both = {A: rows([None], "a"), B: rows(["x"], "b")}
    yield (
        "declared text, first null",
        both | {"README.md": card(*default("documents/*"), *features(**COLUMNS, x="string"))},
    )
    yield "declared json, objects", {
        A: rows([{"a": 1}], "a"), B: rows([{"b": [1]}], "b"),
        "README.md": card(*default("documents/*"), *features(**COLUMNS, x="json")),
    }  # fmt: skip
    yield "declared text, times", {
        A: rows(["2018-11-12"], "a"), B: rows(["x"], "b"),
        "README.md": card(*default("documents/*"), *features(**COLUMNS, x="string")),
    }  # fmt: skip
    sizes = ["dataset_info:", "- config_name: default", "  splits:", "  - name: train", "    num_examples: 4"]
    yield "right size of the split", TWO | {"README.md": card(*default("documents/*"), *sizes)}
    yield "wrong size of the split", TWO | {"README.md": card(*default("documents/*"), *sizes).replace(b": 4", b": 5")}


def tables() -> Iterator[tuple[str, Files]]:
    def both(first: dict[str, list[Any]], second: dict[str, list[Any]]) -> Files:
        return {
            f"data/{name}.parquet": parquet({"id": [name], "text": [f"text {name}"]} | more)
            for name, more in (("a", first), ("b", second))
        }

    yield "parquet", both({}, {})
    yield "parquet, column added", both({}, {"x": [1]})
    yield "parquet, column missing", both({"x": [1]}, {})
    yield "parquet, int and text", both({"x": [1]}, {"x": ["y"]})
    yield "parquet, null and text", both({"x": [None]}, {"x": ["y"]})
    yield "parquet, objects with other keys", both({"x": [{"a": 1}]}, {"x": [{"b": 1}]})
    yield from ((f"parquet, {name}", both({"x": one}, {"x": other})) for name, (one, other) in arrays().items())


def arrays() -> dict[str, tuple[Any, Any]]:
    """Return values of a column in the first and in the second Parquet file, of types that JSON does not have."""
    import pyarrow as pa

    day, noon = dt.date(2020, 1, 1), dt.datetime.fromisoformat("2020-01-01T12:00:00")
    small, price, longer = pa.array([1], pa.int8()), pa.decimal128(5, 2), pa.decimal128(7, 3)
    return {
        "int8 and int64": (small, [2]),
        "int8 and wider int64": (small, [300]),
        "int64 and int8": ([2], small),
        "uint8 and negative": (pa.array([1], pa.uint8()), [-1]),
        "int64 and big uint64": ([1], pa.array([2**63], pa.uint64())),
        "float32 and float64": (pa.array([1.5], pa.float32()), [0.1]),
        "text and int": (["x"], [1]),
        "days": ([day], pa.array([day], pa.date64())),
        "day and text": ([day], ["2020-01-01"]),
        "text and day": (["x"], [day]),
        "day and time": ([day], [noon]),
        "int and day": ([1], [day]),
        "seconds and milliseconds": (pa.array([noon], pa.timestamp("s")), pa.array([noon], pa.timestamp("ms"))),
        "times and times in UTC": ([noon], pa.array([noon], pa.timestamp("us", "UTC"))),
        "decimals": (pa.array([Decimal("1.50")], price), pa.array([Decimal("1.500")], longer)),
        "decimal and longer decimal": (pa.array([Decimal("1.50")], price), pa.array([Decimal("1.505")], longer)),
        "decimal and text": (pa.array([Decimal("1.50")], price), ["2.50"]),
    }


def folders() -> dict[str, Files]:
    """Return all folders by what is special about them."""
    found = {name: {A: rows(first, "a"), B: rows(second, "b")} for name, (first, second) in PAIRS.items()}
    return found | dict(layouts()) | dict(cards()) | dict(tables())


def write(files: Files, root: Path) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root
