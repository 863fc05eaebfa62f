"""Folders of the kinds that people publish, with the records that they hold.

python tests/description/kinds.py FOLDER writes them, each below a folder of its own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from description.folders import PNG, Files, Folder, csv, jsonl, sound, table, write
from msgspec import Struct
from support import gzipped, tarred, zipped

Rows = list[dict[str, Any]]
ROWS: Rows = [{"id": n, "text": f"Sentence {n}, with a comma.", "label": n % 3, "score": n / 4} for n in range(12)]
TURNS: Rows = [
    {"id": f"c{n}", "turns": [{"role": "user", "text": f"q{n}"}, {"role": "model", "text": "a"}]} for n in range(4)
]
NESTED: Rows = [{"prompt": f"p{n}", "model": {"name": "m", "size": n}, "tags": ["x", "y"][: n % 3]} for n in range(4)]
DOCUMENTS: Rows = [
    {"id": f"d{n}", "text": f"A text of {n}.", "source": "web", "added": "2024-01-31T10:00:00Z"} for n in range(6)
]


class Kind(Struct, frozen=True):
    """Files, and by record set the records that they hold: all of them, with some of their fields."""

    files: Files
    records: Mapping[str, Rows]


def separated(rows: Rows, separator: str = ",") -> bytes:
    cells = [list(rows[0]), *(map(str, row.values()) for row in rows)]
    quoted = ([f'"{cell}"' if separator in cell else cell for cell in row] for row in cells)
    return csv(*(separator.join(row) for row in quoted))


def columns(rows: Rows) -> bytes:
    return table({name: [row[name] for row in rows] for name in rows[0]})


def files_of(paths: list[str], **more: Any) -> Rows:
    return [{"file": path, **more} for path in paths]


def cut(suffix: str, made: Any, *names: str) -> dict[str, bytes]:
    """Return rows in files of equal size."""
    size = len(ROWS) // len(names)
    return {f"{name}{suffix}": made(ROWS[n * size : (n + 1) * size]) for n, name in enumerate(names)}


def split(name: str, start: int, end: int) -> Rows:
    return [row | {"split": name} for row in ROWS[start:end]]


def sample(n: int) -> Files:
    return {f"{n:05}.png": PNG, f"{n:05}.json": b'{"n": %d}' % n, f"{n:05}.txt": b"caption %d" % n}


_IMAGES = [f"images/{n}.png" for n in range(3)]
_LABELS: Rows = [{"image": f"{n % 3}.png", "label": f"l{n}"} for n in range(5)]
_CLIPS = [f"clips/{n}.wav" for n in range(3)]
_COCO: dict[str, Rows] = {"images": [{"id": n, "file_name": f"{n}.png"} for n in range(2)],
         "annotations": [{"id": n, "image_id": n % 2, "area": n + 0.5} for n in range(3)]}  # fmt: skip
_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 9\n" % (b"0" * 64)

KINDS: dict[str, Kind] = {
    "parquet of the Hub": Kind(
        cut(".parquet", columns, "data/train-00000-of-00002", "data/train-00001-of-00002", "data/test-00000-of-00001"),
        {"data": [*split("test", 8, 12), *split("train", 0, 8)]}),
    "parquet by year": Kind(cut(".parquet", columns, "year=2023/part-0", "year=2024/part-0"), {"records": ROWS}),
    "csv": Kind({"data.csv": separated(ROWS), "README.md": b"# Data\n"}, {"data": ROWS}),
    "csv with splits": Kind(cut(".csv", separated, "train", "test"),
                            {"records": [*split("test", 6, 12), *split("train", 0, 6)]}),
    "csv in gzip": Kind({"data.csv.gz": gzipped(separated(ROWS))}, {"data": ROWS}),
    "tsv": Kind({"data.tsv": separated(ROWS, "\t")}, {"data": ROWS}),
    "tsv without header": Kind({"pairs.tsv": b"0\tone\teins\n1\ttwo\tzwei\n"},
                               {"pairs": [{"file": "pairs.tsv", "content": "0\tone\teins\n1\ttwo\tzwei\n"}]}),
    "classification": Kind({"train.jsonl": jsonl(*ROWS)}, {"train": ROWS}),
    "instructions": Kind({"data.jsonl": jsonl(*NESTED)},
                         {"data": [{name: row[name] for name in ("prompt", "tags")} for row in NESTED]}),
    "conversations": Kind({"chat.jsonl": jsonl(*TURNS)}, {"chat": [{"id": row["id"]} for row in TURNS]}),
    "shards in gzip": Kind(cut(".jsonl.gz", lambda rows: gzipped(jsonl(*rows)), "c4-00000", "c4-00001"), {"records": ROWS}),
    "dolma": Kind({"documents/a.jsonl.gz": gzipped(jsonl(*DOCUMENTS))},
                  {"documents": [{name: row[name] for name in ("id", "text", "source")} for row in DOCUMENTS]}),
    "rows like dolma": Kind({"a.jsonl": jsonl(*(row | {"lang": "de"} for row in DOCUMENTS))},
                            {"a": [{"id": row["id"], "lang": "de"} for row in DOCUMENTS]}),
    "coco": Kind({"instances.json": json.dumps(_COCO).encode()},
                 {"instances": _COCO["images"], "instances_2": _COCO["annotations"]}),
    "documents of json": Kind({f"docs/{n}.json": json.dumps(ROWS[n]).encode() for n in range(4)}, {"docs": ROWS[:4]}),
    "images by class": Kind({f"train/{name}/{n}.png": PNG for name in ("cat", "dog") for n in range(2)},
                            {"train": files_of([f"train/{name}/{n}.png" for name in ("cat", "dog") for n in range(2)])}),
    "images and labels": Kind(dict.fromkeys(_IMAGES, PNG) | {"labels.csv": separated(_LABELS)},
                              {"labels": _LABELS, "images": files_of(_IMAGES)}),
    "webdataset": Kind({f"train-{n:06}.tar": tarred({**sample(2 * n), **sample(2 * n + 1)}) for n in range(2)},
                       {"image": files_of([f"{n:05}.png" for n in range(4)]),
                        "json": [{"file": f"{n:05}.json", "content": f'{{"n": {n}}}'} for n in range(4)],
                        "text": [{"file": f"{n:05}.txt", "content": f"caption {n}"} for n in range(4)]}),
    "sounds": Kind({"clips.tar": tarred(dict.fromkeys(_CLIPS, sound())), "clips.csv": separated([{"clip": "0.wav", "n": 1}])},
                   {"clips": [{"clip": "0.wav", "n": 1}], "audio": files_of(_CLIPS)}),
    "books": Kind({f"books/{n}.txt": b"Call me %d." % n for n in range(3)},
                  {"books": [{"file": f"books/{n}.txt", "content": f"Call me {n}."} for n in range(3)]}),
    "tables in a zip": Kind({"all.zip": zipped({"a.csv": separated(ROWS), "b.jsonl": jsonl(*TURNS)})},
                            {"a": ROWS, "b": [{"id": row["id"]} for row in TURNS]}),
    "checkout without git lfs": Kind({"index.csv": separated(ROWS), "data/0.bin": _POINTER}, {"index": ROWS}),
    "zarr": Kind({"x.zarr/.zarray": b"{}", "x.zarr/0.0": b"\0", "x.csv": separated(ROWS)}, {"x": ROWS}),
}  # fmt: skip


if __name__ == "__main__":
    for name, kind in KINDS.items():
        write(Folder(kind.files, {}), Path(sys.argv[1]) / name)
