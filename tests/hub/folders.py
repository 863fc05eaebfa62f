"""Generated folders: homogeneous ones, and heterogeneous ones in each way that `datasets` refuses, changes or leaves alone."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support import zstd

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
    "big ints of few bits": ([2**63], [2**70]),
    "big negative ints": ([-(2**63) - 1], [1]),
    "float and big int of few bits": ([1.5], [2**64]),
    "int and big float": ([1], [1e20]),
    "wide int and whole float in the second file": ([1], [2**53 + 1, 2.0]),
    "int and float in one file": ([1, 2.5], [3]),
    "wide int and float in one file": ([2**53 + 1, 2.5], [3.5]),
    "wide int of few bits and float in one file": ([2**62, 2.5], [3.5]),
    "int and text in one file": ([1, "x"], ["y"]),
    "int and digits in one file": ([1, "02"], ["y"]),
    "int and NaN in one file": ([1, "NaN", "y"], ["y"]),
    "int and a dash in one file": ([1, "-", "y"], ["y"]),
    "int and a space before digits in one file": ([1, " 2", "y"], ["y"]),
    "int and words like JSON in one file": ([1, "None", "In", " y", "+1"], ["y"]),
    "long float in a list next to mixed": ([1, [0.12345678901234567]], ["y"]),
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
    "big ints deep in JSON": ([{"a": [1, {"b": [2**64]}]}, {"b": 1}], [{"c": 1}]),
    "floats in JSON": ([{"a": 0.95}, {"b": 0.7}], [{"b": 1.5}]),
    "floats in JSON that are kept": ([{"a": 0.5}, {"b": 304.6}], [{"b": 1.5}]),
    "large floats in JSON": ([{"a": 1.25e16}, {"b": 1.7e300}], [{"b": 1.5}]),
    "floats in JSON of the second file": ([{"a": 0.5}, {"b": [0.5]}], [{"b": [1, 0.7]}]),
    "floats in a part that is JSON": (
        [{"a": 0.7, "b": {"c": 1}}, {"a": 0.7, "b": {"d": 1.5}}],
        [{"a": 0.7, "b": {"e": 1.5}}],
    ),
    "times in the year 0": (["0000-11-12T18:01:06Z", "2018-11-12T18:01:06Z"], ["2018-11-12T18:01:06Z"]),
    "times, of the year 0 in the second file": (["2018-11-12"], ["0000-02-29"]),
    "text and days of the year 0": (["unknown", "0000-11-12"], ["unknown"]),
    "a day that the year 0 has not": (["0000-02-30"], ["0000-02-30"]),
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


_CLASSES = "dtype:\n  class_label:\n    names:\n      '0': bad\n      '1': good"
_BYTES = "struct:\n- name: a\n  dtype: int8"

# What a card declares, and values of the column in the first and in the second file.
DECLARED: dict[str, tuple[str, list[Any], list[Any]]] = {
    "int32": ("dtype: int32", [1], [2]),
    "int32, wider": ("dtype: int32", [1], [2**40]),
    "int32, decimals": ("dtype: int32", [1], [2.5]),
    "int32, whole float": ("dtype: int32", [1], [2.0]),
    "uint8, negative": ("dtype: uint8", [1], [-1]),
    "uint64": ("dtype: uint64", [1], [2]),
    "float16": ("dtype: float16", [1.5], [2.5]),
    "float16, longer": ("dtype: float16", [1.5], [0.1]),
    "float16, ints": ("dtype: float16", [1], [2]),
    "float32": ("dtype: float32", [1.5], [2.5]),
    "float32, longer": ("dtype: float32", [1.5], [0.1]),
    "float32, larger": ("dtype: float32", [1.5], [1e300]),
    "float32, ints": ("dtype: float32", [1], [2]),
    "float32, wide ints": ("dtype: float32", [1], [2**24 + 1]),
    "float64, ints": ("dtype: float64", [1], [2]),
    "float64, wide ints": ("dtype: float64", [1], [2**53 + 1]),
    "large_string": ("dtype: large_string", ["x"], ["y"]),
    "large_string, int": ("dtype: large_string", ["x"], [1]),
    "string, int": ("dtype: string", ["x"], [1]),
    "int64, text": ("dtype: int64", ["x"], ["y"]),
    "int64, digits": ("dtype: int64", ["1"], ["2"]),
    "bool": ("dtype: bool", [True], [False]),
    "bool, int": ("dtype: bool", [1], [1]),
    "binary, text": ("dtype: binary", ["x"], ["y"]),
    "null": ("dtype: 'null'", [None], [None]),
    "null, text": ("dtype: 'null'", [None], ["x"]),
    "decimal, floats": ("dtype: decimal128(5, 2)", [1.5], [2.5]),
    "date32, days": ("dtype: date32", ["2020-01-01"], ["2020-01-02"]),
    "time32, times": ("dtype: time32[s]", ["00:00:01"], ["00:00:02"]),
    "timestamp[ms]": ("dtype: timestamp[ms]", ["2020-01-01T00:00:00.5"], ["2020-01-02"]),
    "timestamp[ms], seconds": ("dtype: timestamp[ms]", ["2020-01-01T00:00:00"], ["2020-01-02"]),
    "timestamp[ms], microseconds": ("dtype: timestamp[ms]", ["2020-01-01T00:00:00.500001"], ["2020-01-02"]),
    "timestamp[us]": ("dtype: timestamp[us]", ["2020-01-01T00:00:00.500001"], ["2020-01-02 00:00:00"]),
    "timestamp[ms], zone": ("dtype: timestamp[ms]", ["2020-01-01T00:00:00.5Z"], ["2020-01-02"]),
    "timestamp[ms], year 0": ("dtype: timestamp[ms]", ["0000-01-01T00:00:00"], ["2020-01-02"]),
    "timestamp[ms], text": ("dtype: timestamp[ms]", ["x"], ["y"]),
    "timestamp in UTC": ("dtype: timestamp[s, tz=UTC]", ["2020-01-01T00:00:00Z"], ["2020-01-02T00:00:00Z"]),
    "class, numbers": (_CLASSES, [0], [1]),
    "class, none": (_CLASSES, [None], [-1]),
    "class, names": (_CLASSES, ["bad"], ["good"]),
    "class, other name": (_CLASSES, ["bad"], ["x"]),
    "json, text": ("dtype: json", ['{"a": 1}'], ["12"]),
    "list of int32": ("list: int32", [[1]], [[2]]),
    "list of int32, wider": ("list: int32", [[1]], [[2**40]]),
    "sequence of float32, longer": ("sequence: float32", [[1.5]], [[0.1]]),
    "list of two": ("list: int32\nlength: 2", [[1, 2]], [[2, 3]]),
    "list of two, one": ("list: int32\nlength: 2", [[1, 2]], [[2]]),
    "large_list": ("large_list: int32", [[1, 2]], [[2, 3]]),
    "object of int8": (_BYTES, [{"a": 1}], [{"a": 2}]),
    "object of int8, wider": (_BYTES, [{"a": 1}], [{"a": 200}]),
    "object of int8, one more key": (_BYTES, [{"a": 1}], [{"a": 2, "b": 1}]),
    "object of two, fewer keys": (f"{_BYTES}\n- name: b\n  dtype: string", [{"a": 1}], [{"a": 2, "b": "x"}]),
    "list of objects": (_BYTES.replace("struct", "list"), [[{"a": 1}]], [[{"a": 2}]]),
    "list of objects, wider": (_BYTES.replace("struct", "list"), [[{"a": 1}]], [[{"a": 200}]]),
    "sequence of objects": (_BYTES.replace("struct", "sequence"), [[{"a": 1}]], [[{"a": 2}]]),
}

TWO: Files = {A: plain("a"), B: plain("b")}
ATTRIBUTES = json.dumps({"id": "a0", "source": "web", "attributes": {"s": [[0, 1, 0.5]]}}).encode() + b"\n"
WITH_SET: Files = {A: rows([ABSENT], "a"), "attributes/set/a.jsonl": ATTRIBUTES}
COLUMNS = {"id": "string", "text": "string", "source": "string"}


def layouts() -> Iterator[tuple[str, Files]]:
    yield "two files", TWO
    yield "empty second file and gzip", {A: plain("a"), "documents/b.jsonl.gz": gzip.compress(plain("b"))}
    yield "gzip in two members", {"documents/a.jsonl.gz": gzip.compress(plain("a")) + gzip.compress(plain("b"))}
    compressed = {key: zstd.compress(plain(key)) for key in "ab"}
    yield "zstd", {f"documents/{key}.jsonl.zst": data for key, data in compressed.items()}
    yield "zstd in two frames", {"documents/a.jsonl.zst": compressed["a"] + compressed["b"]}
    yield "zstd, gzip and none", {
        "documents/a.jsonl.zst": compressed["a"], "documents/b.jsonl.gz": gzip.compress(plain("b")), "documents/c.jsonl": plain("c"),
    }  # fmt: skip
    yield (
        "empty first file, zstd",
        {"documents/0.jsonl.zst": zstd.compress(b""), "documents/b.jsonl.zst": compressed["b"]},
    )
    yield "int and text, zstd", {
        f"documents/{key}.jsonl.zst": zstd.compress(rows([value], key)) for key, value in (("a", 1), ("b", "x"))
    }  # fmt: skip
    yield "names with brackets, zstd", {f"documents/{key}[1].jsonl.zst": data for key, data in compressed.items()}
    yield "empty first file", {"documents/0.jsonl": b""} | TWO
    yield (
        "empty first file, empty object and bool",
        {"documents/0.jsonl": b"", A: rows([{}], "a"), B: rows([True], "b")},
    )
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
    yield "two keywords of one split", {
        "documents/dev.jsonl": rows([1, "y"], "a"), "documents/valid.jsonl": rows(["x"], "b"),
    }  # fmt: skip
    yield "names with # and %", {"documents/a#1.jsonl": plain("a"), "documents/b%20.jsonl": plain("b")}
    brackets = {"documents/a[1].jsonl": plain("a"), "documents/b].jsonl": plain("b")}
    yield "names with brackets", brackets
    yield "extension in capitals", {A: plain("a"), "documents/b.JSONL": plain("b")}
    yield "names with brackets, gzip", {f"{path}.gz": gzip.compress(data) for path, data in brackets.items()}
    yield "folder with brackets, gzip", {f"documents/[1]/{key}.jsonl.gz": gzip.compress(plain(key)) for key in "ab"}
    yield "name with a backslash", {A: plain("a"), "documents/b\\c.jsonl": plain("b")}
    zipped = {f"documents/{key}\\c.jsonl.gz": gzip.compress(plain(key)) for key in "ab"}
    yield "names with a backslash, gzip", zipped
    yield "name with two colons", {A: plain("a"), "documents/b::c.jsonl": plain("b")}
    feed = {A: plain("a"), "documents/b\nc.jsonl": plain("b")}
    yield "name with a line feed", feed
    yield "name with a line feed, with a card", feed | {"README.md": card(*default("documents/*"))}
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
    for name, big in {"big": 2**63, "too big": 2**64 - 1}.items():
        yield f"declared uint64, {name}", {
            A: rows([1], "a"), B: rows([big], "b"),
            "README.md": card(*default("documents/*"), *features(**COLUMNS, x="uint64")),
        }  # fmt: skip
    yield "types without configs", TWO | {"README.md": card(*features(**COLUMNS))}
    yield "types without configs, text", {
        A: rows([1], "a"), B: rows(["x"], "b"), "README.md": card(*features(**COLUMNS, x="int64")),
    }  # fmt: skip
    other = card(*features(**COLUMNS)).replace(b": default", b": other")
    yield "types of another config, without configs", TWO | {"README.md": other}
    two_infos = card(*features(**COLUMNS, x="int64"), "- config_name: other")
    yield "types of two configs, without configs", {A: rows(["x"], "a"), B: rows(["y"], "b"), "README.md": two_infos}
    sizes = ["dataset_info:", "- config_name: default", "  splits:", "  - name: train", "    num_examples: 4"]
    yield "right size of the split", TWO | {"README.md": card(*default("documents/*"), *sizes)}
    yield "wrong size of the split", TWO | {"README.md": card(*default("documents/*"), *sizes).replace(b": 4", b": 5")}


def tables() -> Iterator[tuple[str, Files]]:
    import pyarrow as pa

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
    for name, (one, other) in (arrays() | nested_arrays()).items():
        yield f"parquet, {name}", both({"x": one}, {"x": other})
    as_json = card(*default("data/*"), *features(id="string", text="string", x="json"))
    declared: dict[str, tuple[Any, Any]] = {
        "objects of ints": ([{"a": [1, None]}], [{"a": []}]),
        "short floats": ([[1.5]], [[2.0]]),
        "long floats": ([[1.5]], [[0.12345678901234567]]),
        "days": ([dt.date(2020, 1, 2)], [dt.date(2020, 1, 3)]),
        "bytes": ([b"x"], [b"y"]),
        "texts of a dictionary": (pa.array(["x"]).dictionary_encode(), pa.array(["12"]).dictionary_encode()),
        "bytes of a dictionary": (pa.array([b"x"]).dictionary_encode(), pa.array([b"y"]).dictionary_encode()),
    }
    for name, (one, other) in declared.items():
        yield f"parquet, declared json, {name}", both({"x": one}, {"x": other}) | {"README.md": as_json}


def declarations() -> Iterator[tuple[str, Files]]:
    """Yield folders of JSON Lines and of Parquet whose cards declare types, which values fit or do not."""
    for name, (declared, one, other) in DECLARED.items():
        x = ["  - name: x", *(f"    {line}" for line in declared.split("\n"))]
        head = [*default("documents/*"), *features(**COLUMNS), *x]
        yield f"declared {name}", {A: rows(one, "a"), B: rows(other, "b"), "README.md": card(*head)}
        fixed = {key: {"id": [key], "text": [f"text {key}"], "source": ["web"]} for key in "ab"}
        yield (
            f"parquet, declared {name}",
            {
                "data/a.parquet": parquet(fixed["a"] | {"x": one}),
                "data/b.parquet": parquet(fixed["b"] | {"x": other}),
                "README.md": card(*default("data/*"), *head[3:]),
            },
        )


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
        "days of the year 10000": (pa.array([0], pa.date32()), pa.array([2_932_897], pa.date32())),
        "times in UTC of the year 0": (
            pa.array([-(2**36)], pa.timestamp("s", "UTC")),
            pa.array([0], pa.timestamp("s", "UTC")),
        ),
        "times of many years in nanoseconds": (
            pa.array([0], pa.timestamp("ns")),
            pa.array([-4_611_686_018_427_387_000], pa.timestamp("ns")),
        ),
        "decimal and text": (pa.array([Decimal("1.50")], price), ["2.50"]),
    }


def nested_arrays() -> dict[str, tuple[Any, Any]]:
    """Return values inside lists and objects, and those whose types JSON has only in one width."""
    import pyarrow as pa

    small, short, pair = pa.list_(pa.int32()), pa.list_(pa.float32()), pa.list_(pa.int64(), 2)
    noon = dt.datetime.fromisoformat("2020-01-01T12:00:00")
    tiny = pa.struct([("a", pa.int8())])
    seconds, millis = (pa.struct([("a", pa.timestamp(unit))]) for unit in ("s", "ms"))
    long_text = pa.array(["x"], pa.large_string())
    kind = pa.map_(pa.string(), pa.int64())
    return {
        "list of int32 and of int64": (pa.array([[1]], small), [[2]]),
        "list of int32 and of wider int64": (pa.array([[1]], small), [[2**40]]),
        "list of int64 and of int32": ([[2**40]], pa.array([[1]], small)),
        "list and large list": ([[1]], pa.array([[1]], pa.large_list(pa.int64()))),
        "large list and list": (pa.array([[1]], pa.large_list(pa.int64())), [[1]]),
        "list and list of fixed length": ([[1, 2]], pa.array([[1, 2]], pair)),
        "list of fixed length and list": (pa.array([[1, 2]], pair), [[1, 2]]),
        "list of fixed length and longer list": (pa.array([[1, 2]], pair), [[1, 2, 3]]),
        "lists of other fixed lengths": (pa.array([[1, 2]], pair), pa.array([[1, 2, 3]], pa.list_(pa.int64(), 3))),
        "list of float32 and of float64": (pa.array([[1.5]], short), [[0.1]]),
        "list of texts and of ints": ([["x"]], [[1]]),
        "list of texts and of large texts": ([["x"]], pa.array([["x"]], pa.list_(pa.large_string()))),
        "list of nulls and of ints": (pa.array([[None]], pa.list_(pa.null())), [[1]]),
        "list of ints and of nulls": ([[1]], pa.array([[None]], pa.list_(pa.null()))),
        "list of ints and empty one of texts": ([[1]], pa.array([[]], pa.list_(pa.string()))),
        "null and list": ([None], [[1]]),
        "list and null": ([[1]], [None]),
        "null and object": ([None], [{"a": 1}]),
        "object and null": ([{"a": 1}], [None]),
        "object of int8 and of wider int64": (pa.array([{"a": 1}], tiny), [{"a": 300}]),
        "object of int8 and of int64": (pa.array([{"a": 1}], tiny), [{"a": 3}]),
        "object with one more key": ([{"a": 1}], [{"a": 1, "b": 2}]),
        "object with fewer keys": ([{"a": 1, "b": 2}], [{"a": 1}]),
        "keys in another order": ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
        "lists in objects, of int32 and of wider int64": (pa.array([{"a": [1]}], pa.struct([("a", small)])), [{"a": [2**40]}]),
        "lists of objects with fewer keys": ([[{"a": 1, "b": 2}]], [[{"a": 1}]]),
        "lists of objects with one more key": ([[{"a": 1}]], [[{"a": 1, "b": 2}]]),
        "object and text": ([{"a": 1}], ["x"]),
        "text and object": (["x"], [{"a": 1}]),
        "text and list": (["x"], [[1]]),
        "list and object": ([[1]], [{"a": 1}]),
        "maps": (pa.array([[("k", 1)]], kind), pa.array([[("k", 1)]], kind)),
        "seconds and milliseconds in objects": (pa.array([{"a": noon}], seconds), pa.array([{"a": noon}], millis)),
        "times of the year 10000 in lists": (pa.array([[0]], pa.list_(pa.timestamp("us"))), pa.array([[2**58]], pa.list_(pa.timestamp("us")))),
        "few texts and texts": (pa.array(["x"]).dictionary_encode(), ["y"]),
        "texts and few texts": (["y"], pa.array(["x"]).dictionary_encode()),
        "bytes and text": ([b"x"], ["y"]),
        "text and bytes": (["y"], [b"x"]),
        "text and large text": (["y"], long_text),
        "large text and text": (long_text, ["y"]),
        "float16 and float64": (pa.array([1.5], pa.float16()), [0.1]),
        "bool and int": ([True], [1]),
        "int and bool": ([1], [True]),
    }  # fmt: skip


def folders() -> dict[str, Files]:
    """Return all folders by what is special about them."""
    found = {name: {A: rows(first, "a"), B: rows(second, "b")} for name, (first, second) in PAIRS.items()}
    return found | dict(layouts()) | dict(cards()) | dict(tables()) | dict(declarations())


def write(files: Files, root: Path) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


TALK = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
#: Rows as most are published, by name, with the column whose type a defect changes.
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "text": ({"text": "eins"}, "text"),
    "text and label": ({"text": "eins", "label": 1}, "label"),
    "web": ({"id": "a", "text": "eins", "url": "https://example.org/", "score": 0.5}, "score"),
    "content": ({"content": "eins", "size": 4}, "size"),
    "chat": ({"messages": TALK}, "messages"),
    "sharegpt": ({"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}, "conversations"),
    "preference": ({"prompt": "p", "chosen": "a", "rejected": "b", "margin": 2.5}, "margin"),
    "instruction": ({"instruction": "do", "input": "", "output": "done"}, "output"),
    "translation": ({"translation": {"en": "hi", "fr": "salut"}}, "translation"),
    "question": ({"question": "a?", "answer": "b", "votes": 3}, "votes"),
    "sentence": ({"sentence": "good", "label": 0}, "label"),
    "pair": ({"premise": "a", "hypothesis": "b", "label": True}, "label"),
}


def _written(rows: list[dict[str, Any]], kind: str) -> bytes:
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), sink)
        return sink.getvalue()
    if kind == "csv":
        sink_of_text = io.StringIO()
        writer = csv.writer(sink_of_text, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows([json.dumps(x) if isinstance(x, dict | list) else x for x in row.values()] for row in rows)
        return sink_of_text.getvalue().encode()
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    if kind == "jsonl":
        return data
    return gzip.compress(data) if kind == "jsonl.gz" else zstd.compress(data)


def shapes() -> Iterator[tuple[str, Files]]:
    """Yield 240 folders of two files: each shape, in each kind of file, without a defect and with three, in the second file."""
    for shape, (row, column) in SHAPES.items():
        rows = [row | ({"id": f"a{number}"} if "id" in row else {}) for number in range(4)]
        value = row[column]
        odd: Any = {"a": 1} if isinstance(value, str) else "neither"
        for kind in ("jsonl", "jsonl.gz", "jsonl.zst", "parquet", "csv"):
            second = {
                "clean": _written(rows[2:], kind),
                "type": _written([each | {column: odd} for each in rows[2:]], kind),
                "column": _written([each | {"further": "x"} for each in rows[2:]], kind),
                "cut": _written(rows[2:], kind)[:-12],
            }
            for defect, data in second.items():
                yield f"{shape}, {kind}, {defect}", {f"data/a.{kind}": _written(rows[:2], kind), f"data/b.{kind}": data}
