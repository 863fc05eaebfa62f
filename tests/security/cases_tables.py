"""Parquet files that end a process or fill its memory, keys chosen to collide, rows nested too deeply for Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from security.attacks import Attack, Outcome

_VALIDATE = ("validate", "{data}", "--output-format", "json")
_HUB = (*_VALIDATE, "--profile", "hub")


def _reports(*rules: str, status: int) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        assert outcome.status == status, outcome.text
        assert set(rules) <= outcome.rules, outcome.rules

    return promise


def _says(text: str, *statuses: int) -> Callable[[Outcome], None]:
    def promise(outcome: Outcome) -> None:
        assert outcome.status in statuses, outcome.text
        assert text in outcome.text

    return promise


# --- Parquet ---


def _parquet(folder: Path, table: Any, **options: Any) -> None:
    pq.write_table(table, folder / "data" / "a.parquet", **{"compression": "zstd", "write_statistics": False} | options)


def _columns(folder: Path, count: int) -> None:
    _parquet(folder, pa.table({"id": ["1"], "text": ["x"], **{f"c{i}": [i] for i in range(count)}}))


def _nested_columns(folder: Path, count: int) -> None:
    _parquet(folder, pa.table({"text": ["x"], "n": [{f"c{i}": i for i in range(count)}]}))


def _row_groups(folder: Path, count: int) -> None:
    _parquet(folder, pa.table({"text": ["x"] * count}), row_group_size=1)


def _levels(folder: Path, count: int) -> None:
    kind, value = pa.int32(), 1
    for _ in range(count):
        kind, value = pa.list_(kind), [value]  # type: ignore[assignment]
    _parquet(folder, pa.table({"text": ["x"], "n": pa.array([value], kind)}), store_schema=False)


def _equal_names(folder: Path, name: str, kind: Any) -> None:
    text = pa.array(["x"])
    _parquet(folder, pa.Table.from_arrays([text, text.cast(kind), text], names=["text", name, name]))


def _lists(folder: Path, rows: int, values: int) -> None:
    lists = pa.ListArray.from_arrays(
        pa.array(range(0, rows * values + 1, values), pa.int32()),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows * values, np.int8)), pa.array(["x"])),
    )
    _parquet(folder, pa.table({"id": ["1"] * rows, "text": ["x"] * rows, "n": lists}), store_schema=False)


# --- keys ---


def _colliding(count: int, prefix: bytes = b"s\t") -> Sequence[str]:
    """Return ids whose keys, 16 bytes with the prefix, have one XXH64: the last 8 bytes follow from the first."""
    primes = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
    p1, p2, p4, p5 = map(np.uint64, primes)
    i1, i2 = (np.uint64(pow(prime, -1, 1 << 64)) for prime in primes[:2])

    def rotated(word: Any, bits: int) -> Any:
        return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))

    digits = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_", np.uint8)
    found: list[str] = []
    number = 0
    with np.errstate(over="ignore"):
        want = rotated((np.uint64(0x1234567812345678) - p4) * i1, 64 - 27)
        while len(found) < count:
            numbers = np.arange(number, number + (1 << 20))
            number += 1 << 20
            heads = np.empty((len(numbers), 8), np.uint8)
            heads[:, : len(prefix)] = np.frombuffer(prefix, np.uint8)
            for place in range(len(prefix), 8):
                heads[:, place] = digits[(numbers >> 6 * (place - len(prefix))) & 63]
            lane = heads.view(np.uint64)[:, 0]
            state = rotated((p5 + np.uint64(16)) ^ (rotated(lane * p2, 31) * p1), 27) * p1 + p4
            tails = rotated((state ^ want) * i1, 33) * i2
            ascii_only = np.flatnonzero((tails & np.uint64(0x8080808080808080)) == 0)
            keys = (heads[index].tobytes() + tails[index].tobytes() for index in ascii_only)
            found += [key[len(prefix) :].decode() for key in keys]
    assert len({xxhash.xxh64_intdigest(prefix + each.encode()) for each in found[:10]}) == 1
    return found[:count]


def _ids(folder: Path, count: int, files: int = 1) -> None:
    documents = folder / "data" / "documents"
    documents.mkdir()
    ids = _colliding(count)
    for file in range(files):
        rows = (json.dumps({"id": each, "text": "t", "source": "s"}) for each in ids[file::files])
        (documents / f"{file}.jsonl").write_text("\n".join(rows) + "\n", "utf-8")


# --- nesting ---


def _nested_rows(folder: Path, start: str, end: str, count: int) -> None:
    documents = folder / "data" / "documents"
    documents.mkdir()
    (folder / "data" / "README.md").write_text("---\nlicense: mit\n---\n", "utf-8")
    row = '{"id":"%d","text":"t","source":"s","metadata":{"language":%s}}\n'
    (documents / "a.jsonl").write_text(row % (1, start * count + "1" + end * count) + row % (2, '"en"'), "utf-8")


ATTACKS: list[Attack] = [
    *(
        Attack(f"parquet-columns-{count}", partial(_columns, count=count), _VALIDATE, _reports("PQT102", status=1))
        for count in (20_000, 40_000)
    ),
    Attack(
        "parquet-columns-described", partial(_columns, count=40_000), ("describe", "{data}"), _says("no records", 0, 1)
    ),
    Attack("parquet-columns-shown", partial(_columns, count=20_000), ("show", "{data}"), _says("PQT102", 0, 1, 3)),
    Attack("parquet-nested-columns", partial(_nested_columns, count=12_000), _VALIDATE, _reports("PQT102", status=1)),
    Attack("parquet-row-groups", partial(_row_groups, count=25_000), _VALIDATE, _reports("PQT102", status=1)),
    Attack("parquet-levels", partial(_levels, count=300), _VALIDATE, _reports("PQT102", status=1)),
    *(
        Attack(f"parquet-equal-names-{command[0]}", partial(_equal_names, name=name, kind=kind), command, promise)
        for name, kind, command, promise in (
            ("text", pa.string(), ("describe", "{data}"), _says("two columns are called `text`", 0, 1)),
            ("", pa.string(), _VALIDATE, _reports("PQT102", status=1)),
            ("n", pa.binary(), ("datasheet", "{data}", "-o", "{out}.html"), _says("", 0, 1, 3)),
            ("n", pa.binary(), ("stats", "{data}"), _says("two columns are called `n`", 0, 1, 3)),
        )
    ),
    *(
        Attack(
            f"parquet-lists-{rows}-{values}",
            partial(_lists, rows=rows, values=values),
            ("describe", "{data}"),
            _says("", 0, 1, 3),
        )
        for rows, values in ((2, 12_000_000), (1, 40_000_000), (4, 3_000_000), (100, 400_000))
    ),
    Attack("parquet-lists-checked", partial(_lists, rows=2, values=12_000_000), _VALIDATE, _says("", 0, 1, 3)),
    Attack("dolma-colliding-ids", partial(_ids, count=410_000), _VALIDATE, _reports("GEN003", status=3)),
    Attack(
        "dolma-colliding-ids-of-files", partial(_ids, count=410_000, files=3), _VALIDATE, _reports("GEN003", status=3)
    ),
    Attack("dolma-few-colliding-ids", partial(_ids, count=2000), _VALIDATE, _says("", 0)),
    *(
        Attack(
            f"hub-nested-{name}-{count}",
            partial(_nested_rows, start=start, end=end, count=count),
            _HUB,
            _says("nested", 1),
        )
        for name, start, end, count in (
            ("arrays", "[", "]", 300),
            ("arrays", "[", "]", 400),
            ("arrays", "[", "]", 500),
            ("objects", '{"a":', "}", 400),
        )
    ),
]
