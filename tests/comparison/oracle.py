"""The expected result of a comparison, computed document by document: slow, but by definition."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KINDS = (
    "same",
    "moved",
    "changed_attributes",
    "changed_metadata",
    "changed_text",
    "removed",
    "added",
    "reassigned",
    "renamed",
)


@dataclass(frozen=True)
class Doc:
    id: str | None
    source: str
    text: str
    language: str | None
    fields: tuple[tuple[str, str], ...]
    attributes: tuple[tuple[str, int], ...]
    shard: str

    @property
    def name(self) -> tuple[str, str, str]:
        return ("id", self.source, self.id) if self.id is not None else ("text", self.source, self.text)

    @property
    def known(self) -> tuple[object, ...]:
        return self.fields, self.language

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"text": self.text, "source": self.source, "metadata": dict(self.fields)}
        if self.id is not None:
            row["id"] = self.id
        if self.language is not None:
            row["metadata"]["language"] = self.language
        if self.attributes:
            row["attributes"] = {f"a__{name}": [[0, 1, score]] for name, score in self.attributes}
        return row


@dataclass
class Found:
    whole: Counter[str] = field(default_factory=Counter)
    by_language: dict[str, Counter[str]] = field(default_factory=dict)
    by_source: dict[str, Counter[str]] = field(default_factory=dict)
    by_shard: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, doc: Doc, kind: str, count: int = 1) -> None:
        self.whole[kind] += count
        for groups, name in (
            (self.by_language, doc.language or ""),
            (self.by_source, doc.source),
            (self.by_shard, doc.shard),
        ):
            groups.setdefault(name, Counter())[kind] += count


Pairs = list[tuple[Doc, Doc]]


def _pair(old: list[Doc], new: list[Doc], alike: Callable[[Doc, Doc], bool]) -> Pairs:
    """Pair each old document with the first new one that is left and alike; take both off the lists."""
    pairs = []
    for one in list(old):
        other = next((each for each in new if alike(one, each)), None)
        if other is not None:
            pairs.append((one, other))
            _take(old, one)
            _take(new, other)
    return pairs


def _take(docs: list[Doc], doc: Doc) -> None:
    del docs[next(index for index, each in enumerate(docs) if each is doc)]


def expected(old_docs: Sequence[Doc], new_docs: Sequence[Doc]) -> Found:
    found = Found()
    for doc in old_docs:
        found.add(doc, "old")
    for doc in new_docs:
        found.add(doc, "new")
    same_shards = {doc.shard for doc in old_docs} == {doc.shard for doc in new_docs}
    old, new = list(old_docs), list(new_docs)
    levels: list[Callable[[Doc], tuple[object, ...]]] = [
        lambda doc: (doc.name, doc.text, doc.known, doc.attributes, doc.shard, doc.language),
        lambda doc: (doc.name, doc.text, doc.known, doc.attributes),
        lambda doc: (doc.name, doc.text, doc.known),
        lambda doc: (doc.name, doc.text),
        lambda doc: (doc.name,),
    ]
    pairs: Pairs = []
    for level in levels:
        pairs += _pair(old, new, lambda one, other, level=level: level(one) == level(other))  # type: ignore[misc]
    edited: Pairs = []
    for one, other in pairs:
        if one.text != other.text:
            found.add(other, "changed_text")
            edited.append((one, other))
        elif one.known != other.known:
            found.add(other, "changed_metadata")
        elif one.attributes != other.attributes:
            found.add(other, "changed_attributes")
        else:
            elsewhere = same_shards and one.shard != other.shard
            found.add(other, "moved" if elsewhere else "same")
    for _, other in _pair(old, new, lambda one, other: one.text == other.text):
        found.add(other, "moved")
        found.add(other, "renamed")
    for doc in old:
        found.add(doc, "removed")
    for doc in new:
        found.add(doc, "added")
    texts = Counter(doc.text for doc in [*old, *(one for one, _ in edited)])
    taken: Counter[str] = Counter()
    for _, other in edited:
        if taken[other.text] < texts[other.text]:
            taken[other.text] += 1
            found.whole["reassigned"] += 1
    return found


def random_pair(chance: random.Random) -> tuple[list[Doc], list[Doc]]:
    """Return two releases with few values to choose from, so that names, texts and all else repeat."""
    shards = [f"s{number}" for number in range(chance.randint(1, 3))]
    with_ids = chance.random() < 0.8

    def doc() -> Doc:
        return Doc(
            str(chance.randint(0, 12)) if with_ids or chance.random() < 0.5 else None,
            chance.choice("ab"),
            f"text {chance.randint(0, 8)}",
            chance.choice(["de", "en", None]),
            tuple((name, chance.choice("xy")) for name in ("url", "page") if chance.random() < 0.3),
            (("q", chance.randint(0, 1)),) if chance.random() < 0.2 else (),
            chance.choice(shards),
        )

    old = [doc() for _ in range(chance.randint(1, 25))]
    new = [each for each in old if chance.random() < 0.8]
    for index, each in enumerate(new):
        if chance.random() < 0.3:
            other = doc()
            name = chance.choice(["id", "source", "text", "language", "fields", "attributes", "shard"])
            new[index] = Doc(**{**vars(each), name: getattr(other, name)})
    new += [doc() for _ in range(chance.randint(not new, 5))]
    if chance.random() < 0.2:
        new = [Doc(**{**vars(each), "shard": f"t{chance.randint(0, 2)}"}) for each in new]
    return old, new


def in_shards(docs: Sequence[Doc]) -> list[Doc]:
    """Return documents in the order in which they are stored."""
    return sorted(docs, key=lambda each: each.shard)


def write(folder: Path, docs: Sequence[Doc]) -> Path:
    """Write a release as JSON Lines."""
    for shard in sorted({doc.shard for doc in docs}):
        rows = [json.dumps(doc.row()) for doc in docs if doc.shard == shard]
        path = folder / "data" / f"{shard}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n", "utf-8")
    return folder
