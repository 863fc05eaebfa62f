"""Every single mutation of a valid dataset is reported, with the right rule and no other error.

A few hundred by default; CORPUSFMT_FUZZ=5000 asks for as many.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dolma.corpus import Json, attributes, check, documents, encoded, packed

COUNT = int(os.environ.get("CORPUSFMT_FUZZ", "300"))
CHUNK = 50
SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz", ".jsonl.zst", ".json.zst")
SETS = ("pii", "lang")


@dataclass
class Dataset:
    """Rows by path, raw lines in place of rows where a mutation put them, and bytes in place of whole files."""

    rng: random.Random
    rows: dict[str, list[Json | bytes]] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)

    def pick(self, side: str) -> tuple[str, int]:
        """Return a file of one side, and one of its rows."""
        path = self.rng.choice([path for path in self.rows if path.startswith(side)])
        return path, self.rng.randrange(len(self.rows[path]))

    def row(self, side: str) -> Json:
        """Return one row of one side, to be changed in place."""
        path, index = self.pick(side)
        row = deepcopy(self.rows[path][index])
        assert isinstance(row, dict)
        self.rows[path][index] = row
        return row

    def span(self) -> tuple[Json, str]:
        """Return the attributes of a row and the name of one of them."""
        found = self.row("attributes")["attributes"]
        return found, self.rng.choice(list(found))

    def files(self) -> dict[str, bytes]:
        """Return every file by path, as it is on disk."""
        return {path: packed(path, b"".join(map(_line, rows))) for path, rows in self.rows.items()} | self.raw

    def write(self, root: Path) -> None:
        shutil.rmtree(root, ignore_errors=True)
        for path, data in self.files().items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)


def _line(row: Json | bytes) -> bytes:
    return row + b"\n" if isinstance(row, bytes) else encoded([row])


def valid(rng: random.Random) -> Dataset:
    """Return a valid dataset of two documents files with two sets."""
    found = Dataset(rng)
    for number in range(2):
        rows = documents(rng.randint(3, 12), seed=rng.randrange(1000), start=100 * number)
        name = f"{rng.choice(['', 'x/', 'x/y/'])}part-{number}{rng.choice(SUFFIXES)}"
        found.rows[f"documents/{name}"] = list(rows)
        for each in SETS:
            found.rows[f"attributes/{each}/{name}"] = list(attributes(rows, each))
    return found


Mutation = Callable[[Dataset], None]
MUTATIONS: dict[str, tuple[str, Mutation]] = {}


def mutation(code: str) -> Callable[[Mutation], Mutation]:
    """Register a mutation with the rule that must report it."""

    def register(mutate: Mutation) -> Mutation:
        MUTATIONS[mutate.__name__] = (code, mutate)
        return mutate

    return register


def field_of(side: str, code: str, name: str, *values: Any) -> None:
    """Register a mutation that gives a field one of some values; `...` takes it away."""

    def mutate(dataset: Dataset) -> None:
        row = dataset.row(side)
        value = dataset.rng.choice(values)
        if value is ...:
            del row[name]
        else:
            row[name] = value

    MUTATIONS[f"{side} {name} {code}"] = (code, mutate)


field_of("documents", "DOL301", "id", ...)
field_of("documents", "DOL302", "id", 7, None, [], {}, True)
field_of("documents", "DOL303", "id", "")
field_of("documents", "DOL304", "text", ...)
field_of("documents", "DOL305", "text", 7, None, ["a"], {}, False)
field_of("documents", "DOL306", "source", ...)
field_of("documents", "DOL307", "source", 7, None, [])
field_of("documents", "DOL308", "added", 7, None, {})
field_of("documents", "DOL309", "added", "", "soon", "2023-13-01", "2023-02-30", "2023-04-07T25:00:00Z")
field_of("documents", "DOL310", "version", 7, [], False)
field_of("documents", "DOL311", "metadata", 7, "a", [], None)
field_of("documents", "DOL312", "attributes", 7, "a", [], None)
field_of("documents", "DOL203", "metadata", {"a": 2**64}, {"a": [-(2**63) - 1]}, {"a": {"b": 10**30}})
field_of("attributes", "DOL403", "id", ...)
field_of("attributes", "DOL404", "id", 7, None, [])
field_of("attributes", "DOL405", "attributes", ...)
field_of("attributes", "DOL406", "attributes", 7, "a", [], None)
field_of("attributes", "DOL407", "attributes", {"a__b": []}, {"a-b": []}, {"": []}, {"é": 1})
field_of("attributes", "DOL502", "id", "another", "")
field_of("attributes", "DOL503", "source", "another", "", 7)


def spans_of(code: str, make: Callable[[random.Random, int], list[Any]]) -> None:
    """Register a mutation that replaces the spans of an attribute; `make` gets the length of the text."""

    def mutate(dataset: Dataset) -> None:
        found, key = dataset.span()
        found[key] = make(dataset.rng, found[key][0][1] + 1)

    MUTATIONS[f"spans {code} {len(MUTATIONS)}"] = (code, mutate)


spans_of("DOL601", lambda rng, _: [rng.choice([[0, 1], [0, 1, 1, 1], [], 5, {}, "a"])])
spans_of("DOL601", lambda _rng, length: [0, length, 0.5])
spans_of(
    "DOL602",
    lambda rng, length: [
        rng.choice([[0.0, length, 1], [0, float(length), 1], [False, 1, 1], ["0", 1, 1], [None, 1, 1]])
    ],
)
spans_of("DOL603", lambda rng, length: [[0, length, rng.choice([None, "1", True, [], {}])]])
spans_of("DOL604", lambda rng, length: [[0, length + rng.randint(2, 500), 0.5]])
spans_of("DOL604", lambda rng, length: [[-rng.randint(1, 9), length, 0.5]])
spans_of("DOL605", lambda rng, length: [[length, rng.randrange(length), 0.5]])
spans_of("DOL608", lambda rng, length: rng.sample([[0, length - 2, 1], [length - 3, length, 1]], 2))
spans_of("DOL609", lambda rng, length: [[at := rng.randrange(length), at, 1]])


@mutation("GEN201")
def invalid_byte(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    line = bytearray(_line(dataset.rows[path][index])[:-1])
    line[line.index(b"doc-") + dataset.rng.randrange(5)] = dataset.rng.choice([0x80, 0xC0, 0xFE, 0xFF])
    dataset.rows[path][index] = bytes(line)


@mutation("GEN301")
def no_json(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    line = _line(dataset.rows[path][index])[:-1]
    broken = [line[:-1], line + b" {}", b"\xef\xbb\xbf" + line, b"", b" ", line.replace(b'"', b"'")]
    broken += [
        line[:-1] + b',"n":' + value + b"}" for value in (b"NaN", b"-Infinity", b"01", b"'a'", b'"\\ud800"', b'"\t"')
    ]
    dataset.rows[path][index] = dataset.rng.choice(broken)


@mutation("DOL201")
def no_object(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    dataset.rows[path][index] = dataset.rng.choice([b"[]", b"null", b"7", b'"a"', b"true"])


@mutation("DOL202")
def name_twice(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    line = _line(dataset.rows[path][index])[:-1]
    more = dataset.rng.choice(
        [b',"n":1,"n":1}', b',"n":{"a":[{"b":1,"b":2}]}}', b',"id":"' + line.split(b'"')[3] + b'"}']
    )
    dataset.rows[path][index] = line[:-1] + more


@mutation("DOL204")
def carriage_return(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    dataset.rows[path][index] = _line(dataset.rows[path][index])[:-1] + b"\r"


@mutation("DOL313")
def id_again(dataset: Dataset) -> None:
    (path, index), (other, place) = dataset.pick("documents"), dataset.pick("documents")
    while (path, index) == (other, place):
        other, place = dataset.pick("documents")
    before, now = dataset.rows[path][index], dataset.rows[other][place]
    assert isinstance(before, dict)
    assert isinstance(now, dict)
    dataset.rows[other][place] = {**now, "id": before["id"]}
    for name in SETS:
        tags = dataset.rows[other.replace("documents", f"attributes/{name}", 1)]
        row = tags[place]
        assert isinstance(row, dict)
        tags[place] = {**row, "id": before["id"]}


@mutation("DOL409")
def null_an_attribute(dataset: Dataset) -> None:
    row = dataset.row("attributes")
    row["attributes"] = dict.fromkeys(row["attributes"])


@mutation("DOL411")
def misspell_an_attribute(dataset: Dataset) -> None:
    row = dataset.row("attributes")
    row["attributes"] = {f"{name}s": value for name, value in row["attributes"].items()}


@mutation("DOL401")
def file_missing(dataset: Dataset) -> None:
    path, _ = dataset.pick("attributes")
    del dataset.rows[path]


@mutation("DOL401")
def file_elsewhere(dataset: Dataset) -> None:
    path, _ = dataset.pick("attributes")
    folder, _, name = path.rpartition("/")
    stem, _, suffix = name.partition(".")
    other = dataset.rng.choice([each for each in SUFFIXES if each != f".{suffix}"])
    elsewhere = dataset.rng.choice([f"{folder}/deeper/{name}", f"{folder}/{stem}{other}"])
    dataset.rows[elsewhere] = dataset.rows.pop(path)


@mutation("DOL402")
def file_of_nothing(dataset: Dataset) -> None:
    dataset.rows[f"attributes/{dataset.rng.choice(SETS)}/other.jsonl"] = []


@mutation("DOL101")
def named_otherwise(dataset: Dataset) -> None:
    path, _ = dataset.pick("")
    content = b"".join(map(_line, dataset.rows[path]))
    kinds = [packed(suffix, content) for suffix in (".json", ".json.gz", ".json.zst")]
    dataset.raw[path] = dataset.rng.choice([data for data in kinds if data != packed(path, content)])


@mutation("GEN101")
def stream_cut(dataset: Dataset) -> None:
    path, data = _compressed(dataset)
    dataset.raw[path] = data[: dataset.rng.randrange(4, len(data))]


@mutation("GEN101")
def bit_flipped(dataset: Dataset) -> None:
    """In the checksum, where no decoder of ours can stumble before."""
    path, data = _compressed(dataset)
    place = len(data) - (dataset.rng.randint(5, 8) if path.endswith(".gz") else dataset.rng.randint(1, 4))
    dataset.raw[path] = data[:place] + bytes([data[place] ^ 1 << dataset.rng.randrange(8)]) + data[place + 1 :]


@mutation("GEN102")
def something_behind(dataset: Dataset) -> None:
    path, data = _compressed(dataset)
    dataset.raw[path] = data + dataset.rng.choice([b"x", b"{}\n", b"\0" * 9, b"\0\0x"])


def _compressed(dataset: Dataset) -> tuple[str, bytes]:
    path, _ = dataset.pick("")
    name = path if path.endswith((".gz", ".zst")) else f"{path}.gz"
    if name != path:  # the whole shard changes its name
        for other in [
            other for other in dataset.rows if other.endswith(path.partition("/part-")[2].join(["part-", ""]))
        ]:
            dataset.rows[f"{other}.gz"] = dataset.rows.pop(other)
    return name, packed(name, b"".join(map(_line, dataset.rows[name])))


@mutation("DOL501")
def row_missing(dataset: Dataset) -> None:
    path, index = dataset.pick("attributes")
    del dataset.rows[path][index]


@mutation("DOL501")
def row_too_many(dataset: Dataset) -> None:
    path, index = dataset.pick("attributes")
    dataset.rows[path].insert(index, attributes(documents(1, start=900), path.split("/")[1])[0])


@mutation("DOL501")
def document_missing(dataset: Dataset) -> None:
    path, index = dataset.pick("documents")
    del dataset.rows[path][index]


@mutation("DOL502")
def rows_swapped(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    rows = dataset.rows[path]
    other = (index + dataset.rng.randrange(1, len(rows))) % len(rows)
    rows[index], rows[other] = rows[other], rows[index]


@mutation("DOL502")
def rows_shifted(dataset: Dataset) -> None:
    path, index = dataset.pick("")
    rows = dataset.rows[path]
    dataset.rows[path] = rows[index or 1 :] + rows[: index or 1]


@mutation("DOL104")
def no_rows(dataset: Dataset) -> None:
    path, _ = dataset.pick("documents")
    for name in ("documents", *(f"attributes/{name}" for name in SETS)):
        dataset.rows[path.replace("documents", name, 1)] = []


@mutation("DOL103")
def leftover(dataset: Dataset) -> None:
    path, _ = dataset.pick("")
    dataset.raw[f"{path}.tmp"] = b"half"


@mutation("DOL102")
def foreign_file(dataset: Dataset) -> None:
    dataset.raw[
        f"{dataset.rng.choice(['documents', 'attributes'])}/notes.{dataset.rng.choice(['csv', 'jsonl.xz'])}"
    ] = b"a"


@pytest.mark.parametrize("chunk", range(-(-COUNT // CHUNK)))
def test_every_mutation_is_reported(chunk: int, tmp_path: Path) -> None:
    names = sorted(MUTATIONS)
    for number in range(chunk * CHUNK, min(COUNT, (chunk + 1) * CHUNK)):
        rng = random.Random(number)
        code, mutate = MUTATIONS[names[number % len(names)]]
        dataset = valid(rng)
        mutate(dataset)
        dataset.write(tmp_path / "set")
        report = check(tmp_path / "set")
        said = f"{names[number % len(names)]}, seed {number}: {[str(each.location) + ' ' + each.message for each in report.findings]}"
        assert set(report.by_rule) == {code}, said


def test_what_is_not_mutated_is_valid(tmp_path: Path) -> None:
    for seed in range(20):
        valid(random.Random(seed)).write(tmp_path / "set")
        assert not check(tmp_path / "set").findings
