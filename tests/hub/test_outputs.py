"""`datasets` loads what builds and conversions write: exactly its documents, ids and texts (`make hub`)."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from hub.loader import MEMORY, loaded, needs_datasets
from support import SAMPLE, zstd

import corpusfmt
from corpusfmt.pipeline.recipe import recipe_text

pytestmark = needs_datasets

RECIPES = ("oscar-1.1", "oscar-1.0", "oscar-1.0-shuffled", "goclassy-2019", "dolma")
TARGETS = ("dolma", "parquet", "jsonl", "text", "oscar-1.1", "oscar-1.0")
BY_LINE = {"oscar-1.0-shuffled", "goclassy-2019"}


@pytest.fixture(scope="module")
def releases() -> Iterator[dict[str, Path]]:
    """Every recipe, variants, and conversions of them to every target."""
    with TemporaryDirectory(dir=MEMORY) as root:
        yield written(Path(root))


@pytest.fixture(scope="module")
def answers(releases: dict[str, Path]) -> dict[str, Any]:
    """What `datasets` loads of each of them."""
    return dict(zip(releases, loaded(releases.values()), strict=True))


def written(root: Path) -> dict[str, Path]:
    found = {}
    for name in RECIPES:
        found[name] = root / name
        corpusfmt.build(SAMPLE, root / name, recipe=name)
    found["variants"] = root / "variants"
    corpusfmt.build(SAMPLE, root / "variants", recipe="oscar-1.0", keep_original=True)
    for source, targets in (("oscar-1.1", TARGETS), ("dolma", TARGETS), ("variants", ("dolma", "oscar-1.0"))):
        for target in targets:
            name = f"{source} to {target}"
            found[name] = root / name
            corpusfmt.convert(found[source], root / name, to=target, on_loss="allow")
    found["oscar-1.1 with languages to dolma"] = root / "languages"
    corpusfmt.convert(found["oscar-1.1"], root / "languages", to="dolma", language_attributes=True)
    return found


def content(path: Path) -> str:
    decompress = {".gz": gzip.decompress, ".zst": zstd.decompress}.get(path.suffix, bytes)
    return decompress(path.read_bytes()).decode()


def rows_of(paths: list[Path], *, by_line: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of files, as this project's formats define them."""
    for path in paths:
        if path.suffix == ".parquet":
            yield from pq.read_table(path).to_pylist()
        elif ".txt" in path.name:
            yield from ({"text": text} for text in content(path).split("\n" if by_line else "\n\n")[:-1])
        else:
            yield from map(json.loads, content(path).split("\n")[:-1])


def same(found: Any, expected: Any) -> bool:
    """Return whether a loaded value is a written one: missing fields are null, times may be read as such."""
    if isinstance(found, dict) and found.keys() == {"time"}:
        if not isinstance(expected, str):
            return bool(found == expected)
        time = dt.datetime.fromisoformat(found["time"])
        return dt.datetime.fromisoformat(expected if time.tzinfo else expected.removesuffix("Z")) == time
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() >= expected.keys() and all(same(found[name], expected.get(name)) for name in found)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)


def test_every_output_loads_as_its_documents(releases: dict[str, Path], answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        assert "error" not in answer, (name, answer)
        root = releases[name]
        by_line = name in BY_LINE
        data = "unshuffled/deduplicated" if (root / "unshuffled").is_dir() else "*"
        kinds = (
            "documents/**/*.gz",
            "data/**/*.jsonl.gz",
            "data/**/*.parquet",
            f"{data}/**/*.txt.gz",
            "classified/*.txt",
        )
        paths = next(found for kind in kinds if (found := sorted(root.glob(kind))))
        expected = list(rows_of(paths, by_line=by_line))
        found = answer["configs"][""]["train"]
        assert len(found) == len(expected), name
        assert all(map(same, found, expected)), name


def test_statistics_count_what_is_loaded(releases: dict[str, Path], answers: dict[str, Any]) -> None:
    # Of two variants of the same documents, one is loaded, and both are counted.
    for name in sorted(answers.keys() - BY_LINE - {"variants", "variants to oscar-1.0"}):
        texts = [row["text"] for row in answers[name]["configs"][""]["train"]]
        expected = (len(texts), sum(map(len, texts)), sum(len(text.encode()) for text in texts))
        for jobs in (1, 2, 5):
            found = corpusfmt.stats(releases[name], jobs=jobs).total
            assert (found.documents, found.characters, found.bytes) == expected, (name, jobs)


def configs(root: Path, *names: str) -> list[list[dict[str, Any]]]:
    """Return the rows of some configs."""
    (answer,) = loaded([root], names)
    return [answer["configs"][name]["train"] for name in names]


def test_languages_variants_and_attributes_are_configs(releases: dict[str, Path]) -> None:
    every, original, language = configs(
        releases["variants"], "default", "unshuffled_original", "unshuffled_original_af"
    )
    text = releases["variants"] / "unshuffled" / "original" / "af" / "af.txt.gz"
    assert language == list(rows_of([text], by_line=False))
    assert len(original) > len(every)
    documents, scores, yiddish = configs(releases["dolma"], "default", "attributes-corpusfmt_langid", "yi")
    assert [row["id"] for row in scores] == [row["id"] for row in documents]
    assert {tuple(row["attributes"]) for row in scores} == {("corpusfmt_langid__line__score",)}
    assert [row for row in documents if row["metadata"]["language"] == "yi"] == yiddish
    texts, records = configs(releases["oscar-1.1"], "default", "metadata")
    assert len(texts) == len(records)
    assert records[0]["text"] == content(releases["oscar-1.1"] / "af" / "af_meta.jsonl.gz").partition("\n")[0]
    documents, languages = configs(
        releases["oscar-1.1 with languages to dolma"], "default", "attributes-oscar-language"
    )
    assert languages[0]["attributes"] == {"oscar__language__af": [[0, len(documents[0]["text"]), 1.0]]}


def test_annotations_of_steps_are_one_table_each(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "def rated(document):\n"
        "    return {'share': len(document.text), 'label': None if document.lang == 'af' else document.lang, 'long': True}\n"
        "def counted(lines, language):\n"
        "    return [{'size': len(line)} if language != 'af' else True for line in lines]\n"
    )
    types = {"rated": '{ share = "number", label = "string", long = "boolean" }', "counted": '{ size = "number" }'}
    steps = "".join(
        f"\n[[step]]\nname = '{name}'\nfunction = 'py:own.py:{name}'\nannotations = {of}\n"
        for name, of in types.items()
    )
    (tmp_path / "own.toml").write_text(recipe_text("dolma") + steps + "on = 'lines'\n")
    root = tmp_path / "out"
    corpusfmt.build(SAMPLE, root, recipe=str(tmp_path / "own.toml"))
    for name in types:
        (found,) = configs(root, f"attributes-{name}")
        expected = list(rows_of(sorted((root / "attributes" / name).rglob("*.gz")), by_line=False))
        assert len(found) == len(expected) == 171
        assert all(map(same, found, expected))
