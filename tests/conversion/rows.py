"""Dolma rows on disk, and the content of a converted corpus."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from support import LONG_LINE, gzipped, tree

Json = dict[str, Any]


def write_rows(path: Path, rows: list[Json]) -> None:
    """Write rows as one gzip file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n" for row in rows)
    path.write_bytes(gzipped(b"".join(lines)))


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of one gzip file."""
    return gzip.decompress(path.read_bytes()).split(b"\n")[:-1]


def read_rows(root: Path, below: str = "documents") -> list[Json]:
    """Return the rows of all files below a folder, files in the order of their paths."""
    return [json.loads(line) for path in sorted((root / below).rglob("*.jsonl.gz")) for line in lines_of(path)]


def document(number: int, language: str = "en", **fields: Any) -> Json:
    """Return a document whose id and text are made of a number."""
    row = {"id": f"d{number}", "text": f"{number} {LONG_LINE}\n{LONG_LINE}", "source": "test"}
    return row | {"metadata": {"language": language}} | fields


def beside(row: Json, **attributes: Any) -> Json:
    """Return a row of attributes about a document."""
    return {"source": row["source"], "id": row["id"], "attributes": attributes}


def data_files(root: Path) -> dict[str, bytes]:
    """Return all files of a corpus but its description, which carries the folder's name."""
    return {
        name: data for name, data in tree(root).items() if name not in {"croissant.json", "MANIFEST.json", "README.md"}
    }


def texts(folder: Path) -> list[bytes]:
    """Return the text files of a language directory, parts in the order of their numbers."""
    files = sorted(folder.glob("*.txt.gz"), key=lambda path: (len(path.name), path.name))
    return [gzip.decompress(path.read_bytes()) for path in files]
