"""Damage to Dolma: the mutations of tests/dolma/test_mutations.py, and those that no reader can detect."""

from __future__ import annotations

import random
from collections.abc import Callable

from damage.kinds import KINDS, Kind, Tree
from dolma.test_mutations import MUTATIONS, SETS, Dataset, Mutation, valid


def _make(mutate: Mutation) -> Callable[[random.Random], Tree]:
    def make(rng: random.Random) -> Tree:
        dataset = valid(random.Random(rng.randrange(10_000)))
        dataset.rng = rng
        mutate(dataset)
        return dataset.files()

    return make


for _name, (_code, _mutate) in MUTATIONS.items():
    KINDS.append(Kind("Dolma", _name.replace("_", " "), _make(_mutate), frozenset({_code})))


def undetectable(why: str) -> Callable[[Mutation], Mutation]:
    def register(mutate: Mutation) -> Mutation:
        KINDS.append(Kind("Dolma", mutate.__name__.replace("_", " "), _make(mutate), undetectable=why))
        return mutate

    return register


@undetectable("any text is a text")
def change_a_letter(dataset: Dataset) -> None:
    row = dataset.row("documents")
    row["text"] = ("y" if row["text"][:1] == "x" else "x") + row["text"][1:]


@undetectable("any span within the text is a span")
def shift_a_span(dataset: Dataset) -> None:
    found, key = dataset.span()
    found[key] = [[0, 1, 0.5]]


@undetectable("a score is a number")
def change_a_score(dataset: Dataset) -> None:
    found, key = dataset.span()
    found[key] = [[*span[:2], 0.125] for span in found[key]]


@undetectable("nothing lists the shards of a dataset")
def lose_a_shard_with_its_attributes(dataset: Dataset) -> None:
    path, _ = dataset.pick("documents")
    for name in ("documents", *(f"attributes/{name}" for name in SETS)):
        del dataset.rows[path.replace("documents", name, 1)]


@undetectable("nothing says how many rows there are, where documents and attributes agree")
def lose_a_document_with_its_attributes(dataset: Dataset) -> None:
    path, index = dataset.pick("documents")
    for name in ("documents", *(f"attributes/{name}" for name in SETS)):
        del dataset.rows[path.replace("documents", name, 1)][index]
