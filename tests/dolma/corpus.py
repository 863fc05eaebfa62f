"""A small valid dataset to break: rows as objects, files as bytes."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import corpusfmt
from corpusfmt.model import Report

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Json = dict[str, Any]
Files = dict[str, bytes]

ALPHABETS = ("abcdefghij klmno", "äöüßé ñ", "日本語 テキスト", "кириллица ", "😀👍 a\u0301")


def encoded(rows: Iterable[Json]) -> bytes:
    """Return rows as JSON Lines."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def packed(path: str, data: bytes) -> bytes:
    """Compress as a path's suffix says."""
    if path.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    return (
        zstd.compress(data, options={int(zstd.CompressionParameter.checksum_flag): 1})
        if path.endswith(".zst")
        else data
    )


def write(root: Path, files: Files) -> Path:
    """Write files, compressed as their names say."""
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(packed(path, data))
    return root


def documents(count: int, *, seed: int = 0, start: int = 0) -> list[Json]:
    """Return documents in several scripts, each of at least ten code points."""
    rng = random.Random(seed)
    rows = []
    for number in range(start, start + count):
        text = "".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(10, 60)))
        row = {
            "id": f"doc-{number}",
            "text": text,
            "source": "web",
            "added": "2023-04-07T15:24:38Z",
            "metadata": {"n": number},
        }
        rows.append(row)
    return rows


def attributes(rows: Iterable[Json], tagger: str = "pii") -> list[Json]:
    """Return attributes that fit documents: one span in the middle of each text."""
    return [
        {
            "id": row["id"],
            "attributes": {f"exp__{tagger}__x": [[1, len(row["text"]) - 1, 0.5]]},
            "source": row["source"],
        }
        for row in rows
    ]


def check(root: Path | str, **options: Any) -> Report:
    return corpusfmt.validate(root, format="dolma", **options)


def codes(report: Report) -> list[str]:
    """Return the code of every finding, as often as it occurred."""
    return sorted(code for code, count in report.by_rule.items() for _ in range(count))
