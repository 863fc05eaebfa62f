"""Kinds of tampering with a sealed release, each with the file that a verifier must name; for tests and for a table of means."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from support import LONG_LINE, gzipped

import corpusfmt

FORMATS = ("oscar-1.0", "oscar-1.1", "dolma", "parquet", "jsonl")
MANIFEST = "MANIFEST.json"
_LANGUAGES = ("af", "de", "en", "fr")

#: Changes a release, of which the data files are given with the largest first; returns the path to be named.
Tamper = Callable[[Path, list[str]], str]


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


def _edited(number: int, change: Callable[[bytearray], Any]) -> Tamper:
    """Change the bytes of a data file."""

    def tamper(root: Path, data: list[str]) -> str:
        content = bytearray((root / data[number]).read_bytes())
        change(content)
        (root / data[number]).write_bytes(content)
        return data[number]

    return tamper


def _flipped(number: int, position: float) -> Tamper:
    def flip(content: bytearray) -> None:
        content[int(position * (len(content) - 1))] ^= 1

    return _edited(number, flip)


def _written(path: str, content: bytes) -> Tamper:
    return lambda root, _: str((root / path).write_bytes(content) and path)


def _compressed_again(root: Path, data: list[str]) -> str:
    path = root / data[0]
    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path, schema=pq.read_schema(path)).replace_schema_metadata({}), path)
    else:
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1, mtime=1))
    return data[0]


def _removed(root: Path, data: list[str]) -> str:
    (root / data[0]).unlink()
    return data[0]


def _removed_with_its_folder(root: Path, data: list[str]) -> str:
    folder = (root / data[0]).parent
    files = [path for path in folder.rglob("*") if path.is_file()]
    shutil.rmtree(folder)
    return data[0] if len(files) == 1 else folder.relative_to(root).as_posix()


def _removed_with_its_entry(root: Path, data: list[str]) -> str:
    (root / data[0]).unlink()
    manifest = json.loads((root / MANIFEST).read_bytes())
    del manifest["files"][data[0]]
    (root / MANIFEST).write_text(json.dumps(manifest))
    return MANIFEST


def _renamed(root: Path, data: list[str]) -> str:
    new = data[0].replace(".", "_2.", 1)
    (root / data[0]).rename(root / new)
    return new


def _moved(root: Path, data: list[str]) -> str:
    new = f"{data[1].rpartition('/')[0]}/{data[0].rpartition('/')[2]}"
    (root / data[0]).rename(root / new)
    return new


def _swapped(root: Path, data: list[str]) -> str:
    one, other = root / data[0], root / data[1]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    return min(data[:2])


def _replaced(root: Path, data: list[str]) -> str:
    shutil.copyfile(root / data[1], root / data[0])
    return data[0]


def _copied(root: Path, data: list[str]) -> str:
    new = data[0].replace(".", "_2.", 1)
    shutil.copyfile(root / data[0], root / new)
    return new


def _described_otherwise(root: Path, _: list[str]) -> str:
    path = root / "croissant.json"
    path.write_bytes(path.read_bytes().replace(b"sc:Dataset", b"sc:dataset"))
    return path.name


KINDS: dict[str, Tamper] = {
    "first bit flipped": _flipped(0, 0),
    "bit flipped in the middle": _flipped(1, 0.5),
    "last bit flipped": _flipped(2, 1),
    "byte appended": _edited(0, lambda content: content.append(10)),
    "padded with zeros": _edited(0, lambda content: content.extend(bytes(512))),
    "cut by one byte": _edited(1, lambda content: content.pop()),
    "cut in half": _edited(0, lambda content: content.__delitem__(slice(len(content) // 2, None))),
    "emptied": _edited(0, lambda content: content.clear()),
    "content replaced at the same size": _edited(0, lambda content: content.reverse()),
    "written again with the same documents": _compressed_again,
    "removed": _removed,
    "removed with its folder": _removed_with_its_folder,
    "removed with its entry in the manifest": _removed_with_its_entry,
    "renamed": _renamed,
    "moved to another folder": _moved,
    "two files swapped": _swapped,
    "replaced by a copy of another": _replaced,
    "copy added": _copied,
    "foreign file added": _written("extra.bin", b"foreign"),
    "card edited": _written("README.md", b"# A release with another licence\n"),
    "description edited": _described_otherwise,
}
