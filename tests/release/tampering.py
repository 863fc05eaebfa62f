"""Kinds of tampering with a sealed release, each with the file that a verifier must name; for tests and for a table of means."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support import LONG_LINE, gzipped

import corpusfmt

FORMATS = ("oscar-1.0", "oscar-1.1", "dolma", "parquet", "jsonl")
MANIFEST = "MANIFEST.json"
_LANGUAGES = ("af", "de", "en", "fr")

#: Changes a release, of which the data files are given with the largest first; returns the path to be named.
Tamper = Callable[[Path, list[str]], str]
KINDS: dict[str, Tamper] = {}


def kind(tamper: Tamper) -> Tamper:
    KINDS[tamper.__name__.replace("_", " ")] = tamper
    return tamper


def make(folder: Path) -> dict[str, Path]:
    """Write a release of some documents in each format; return their folders."""
    rows = folder / "rows/documents"
    for number, language in enumerate(_LANGUAGES):
        path = rows / language / f"{language}.jsonl.gz"
        path.parent.mkdir(parents=True)
        documents = [
            {
                "id": f"{language}-{each}",
                "text": f"{language} {each} {LONG_LINE}\n{LONG_LINE}",
                "source": "s",
                "added": "2024-01-01",
                "metadata": {"language": language},
            }
            for each in range(number + 2)
        ]
        path.write_bytes(gzipped(b"".join(json.dumps(row).encode() + b"\n" for row in documents)))
    releases = {}
    for name in FORMATS:
        release = folder / name
        options = {"language_entry": "language"} if name.startswith("oscar") else {}
        corpusfmt.convert(folder / "rows", release, to=name, on_loss="allow", **options)  # type: ignore[arg-type]
        (release / "README.md").write_text("# A release\n")
        corpusfmt.seal(release)
        releases[name] = release
    return releases


def data_of(release: Path) -> list[str]:
    """Return the files with documents, the largest first."""
    files = json.loads((release / MANIFEST).read_bytes())["files"]
    return sorted(
        (path for path, each in files.items() if each.get("documents")), key=lambda path: -files[path]["size"]
    )


def _changed(path: Path, change: Callable[[bytearray], Any]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)


def _flipped(position: float) -> Callable[[bytearray], None]:
    def flip(data: bytearray) -> None:
        data[int(position * (len(data) - 1))] ^= 1

    return flip


@kind
def first_bit_flipped(root: Path, data: list[str]) -> str:
    _changed(root / data[0], _flipped(0))
    return data[0]


@kind
def bit_flipped_in_the_middle(root: Path, data: list[str]) -> str:
    _changed(root / data[1], _flipped(0.5))
    return data[1]


@kind
def last_bit_flipped(root: Path, data: list[str]) -> str:
    _changed(root / data[2], _flipped(1))
    return data[2]


@kind
def byte_appended(root: Path, data: list[str]) -> str:
    _changed(root / data[0], lambda each: each.append(10))
    return data[0]


@kind
def padded_with_zeros(root: Path, data: list[str]) -> str:
    _changed(root / data[0], lambda each: each.extend(bytes(512)))
    return data[0]


@kind
def cut_by_one_byte(root: Path, data: list[str]) -> str:
    _changed(root / data[1], lambda each: each.pop())
    return data[1]


@kind
def cut_in_half(root: Path, data: list[str]) -> str:
    os.truncate(root / data[0], (root / data[0]).stat().st_size // 2)
    return data[0]


@kind
def emptied(root: Path, data: list[str]) -> str:
    os.truncate(root / data[0], 0)
    return data[0]


@kind
def content_replaced_at_the_same_size(root: Path, data: list[str]) -> str:
    _changed(root / data[0], lambda each: each.reverse())
    return data[0]


@kind
def written_again_with_the_same_documents(root: Path, data: list[str]) -> str:
    path = root / data[0]
    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path, schema=pq.read_schema(path)).replace_schema_metadata({}), path)
        assert pa
    else:
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1, mtime=1))
    return data[0]


@kind
def removed(root: Path, data: list[str]) -> str:
    (root / data[0]).unlink()
    return data[0]


@kind
def removed_with_its_folder(root: Path, data: list[str]) -> str:
    folder = (root / data[0]).parent
    files = [path for path in folder.rglob("*") if path.is_file()]
    shutil.rmtree(folder)
    return data[0] if len(files) == 1 else folder.relative_to(root).as_posix()


@kind
def renamed(root: Path, data: list[str]) -> str:
    new = data[0].replace(".", "_2.", 1)
    (root / data[0]).rename(root / new)
    return new


@kind
def moved_to_another_folder(root: Path, data: list[str]) -> str:
    new = f"{data[1].rpartition('/')[0]}/{data[0].rpartition('/')[2]}"
    (root / data[0]).rename(root / new)
    return new


@kind
def two_files_swapped(root: Path, data: list[str]) -> str:
    one, other = root / data[0], root / data[1]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    return min(data[:2])


@kind
def replaced_by_a_copy_of_another(root: Path, data: list[str]) -> str:
    shutil.copyfile(root / data[1], root / data[0])
    return data[0]


@kind
def copy_added(root: Path, data: list[str]) -> str:
    new = data[0].replace(".", "_2.", 1)
    shutil.copyfile(root / data[0], root / new)
    return new


@kind
def foreign_file_added(root: Path, data: list[str]) -> str:
    (root / "extra.bin").write_bytes(b"foreign")
    return "extra.bin"


@kind
def card_edited(root: Path, data: list[str]) -> str:
    (root / "README.md").write_text("# A release with another licence\n")
    return "README.md"


@kind
def description_edited(root: Path, data: list[str]) -> str:
    path = root / "croissant.json"
    path.write_bytes(path.read_bytes().replace(b"sc:Dataset", b"sc:dataset"))
    return "croissant.json"


@kind
def removed_with_its_entry_in_the_manifest(root: Path, data: list[str]) -> str:
    (root / data[0]).unlink()
    manifest = json.loads((root / MANIFEST).read_bytes())
    del manifest["files"][data[0]]
    (root / MANIFEST).write_text(json.dumps(manifest))
    return MANIFEST
