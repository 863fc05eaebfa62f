"""Small OSCAR releases made from nothing but a seed: a tree of file contents by path, to be changed and written out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Tree = dict[str, bytes]

_SYLLABLES = {
    "af": [
        "die",
        "van",
        "het",
        "en",
        "land",
        "see",
        "boom",
        "water",
        "kind",
        "huis",
        "groot",
        "klein",
        "vir",
        "om",
        "te",
        "sê",
        "wêreld",
    ],
    "de": [
        "der",
        "die",
        "das",
        "und",
        "Straße",
        "Wälder",
        "über",
        "schön",
        "Haus",
        "Kind",
        "groß",
        "Licht",
        "für",
        "Wasser",
        "Zeit",
        "Löwe",
    ],
    "ru": [
        "мир",
        "дом",
        "река",
        "ночь",
        "и",
        "в",
        "на",
        "лес",
        "солнце",
        "вода",
        "люди",
        "слово",
        "книга",
        "город",
        "время",
        "жизнь",
    ],
    "ja": ["私", "は", "山", "川", "の", "水", "空", "人", "本", "を", "読", "む", "時", "間", "世", "界"],
}
_ISO = {"af": "afr", "de": "deu", "ru": "rus", "ja": "jpn"}


def sentence(rng: random.Random, language: str, length: int = 101) -> str:
    """Return a line of at least `length` code points."""
    words = _SYLLABLES[language]
    glue = "" if language == "ja" else " "
    line = rng.choice(words)
    while len(line) < length:
        line += glue + rng.choice(words)
    return line


@dataclass
class Doc:
    """A document and the headers of its record."""

    lines: list[str]
    headers: dict[str, Any]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def headers(rng: random.Random, language: str, size: int) -> dict[str, str]:
    """Return the usual nine headers."""
    digest = base64.b32encode(rng.randbytes(20)).decode()
    return {
        "content-length": str(size + rng.randrange(5000)),
        "warc-target-uri": f"https://example.org/{language}/{rng.randrange(10**6)}",
        "warc-type": "conversion",
        "content-type": "text/plain",
        "warc-date": f"2021-02-{rng.randrange(1, 29):02d}T17:{rng.randrange(60):02d}:29Z",
        "warc-identified-content-language": f"{_ISO[language]},eng",
        "warc-refers-to": f"<urn:uuid:{uuid.UUID(int=rng.getrandbits(128))}>",
        "warc-block-digest": f"sha1:{digest}",
        "warc-record-id": f"<urn:uuid:{uuid.UUID(int=rng.getrandbits(128))}>",
    }


def documents(rng: random.Random, language: str, counts: Iterable[int]) -> list[Doc]:
    """Return documents of so many lines each."""
    made = []
    for count in counts:
        lines = [sentence(rng, language, rng.randrange(101, 140)) for _ in range(count)]
        made.append(Doc(lines, headers(rng, language, len("\n".join(lines).encode()))))
    return made


def records(docs: Sequence[Doc]) -> list[dict[str, Any]]:
    """Return the metadata records of documents that stand one after the other."""
    made, offset = [], 0
    for doc in docs:
        made.append({"headers": doc.headers, "offset": offset, "nb_sentences": len(doc.lines)})
        offset += len(doc.lines) + 1
    return made


def text_of(docs: Sequence[Doc]) -> bytes:
    return "".join(doc.text + "\n\n" for doc in docs).encode()


def jsonl(values: Iterable[Any]) -> bytes:
    return "".join(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n" for value in values).encode()


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def gunzip(data: bytes) -> bytes:
    return gzip.decompress(data)


def checksums(tree: Mapping[str, bytes], folder: str) -> bytes:
    """Return the checksum list of a language directory, in the portable notation."""
    prefix = f"{folder}/" if folder else ""
    names = sorted(path for path in tree if path.startswith(prefix) and path.endswith(".gz"))
    return "".join(f"{hashlib.sha256(tree[path]).hexdigest()}  {path[len(prefix) :]}\n" for path in names).encode()


@dataclass
class Release:
    """Documents by language and part. A language of one part is a single file."""

    version: str = "1.1"
    languages: dict[str, list[list[Doc]]] = field(default_factory=dict)

    def tree(self) -> Tree:
        """Return the files of the release by path."""
        made: Tree = {}
        for code, parts in self.languages.items():
            for number, docs in enumerate(parts, 1):
                part = "" if len(parts) == 1 else f"_part_{number}"
                made[f"{code}/{code}{part}.txt.gz"] = gz(text_of(docs))
                if self.version == "1.1":
                    made[f"{code}/{code}_meta{part}.jsonl.gz"] = gz(jsonl(records(docs)))
            made[f"{code}/{code}_sha256.txt"] = checksums(made, code)
        return made


def release(version: str, parts: Mapping[str, Sequence[Sequence[int]]], seed: int = 1) -> Release:
    """Return a release whose documents have so many lines: numbers by document, part and language."""
    rng = random.Random(seed)
    made = {code: [documents(rng, code, counts) for counts in numbers] for code, numbers in parts.items()}
    return Release(version, made)


def relisted(tree: Tree) -> Tree:
    """Return a tree with the checksum lists that its files deserve."""
    folders = {path.rpartition("/")[0] for path in tree if path.endswith("_sha256.txt")}
    lists = {f"{folder}/{folder.rpartition('/')[2]}_sha256.txt": checksums(tree, folder) for folder in folders}
    return tree | lists


def write(tree: Mapping[str, bytes], root: Path) -> Path:
    """Write a tree below a folder, which is made new."""
    root.mkdir(parents=True, exist_ok=True)
    for path, data in tree.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return root
