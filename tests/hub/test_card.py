"""The card of a release: which files are loaded as which table, and what remains of a card written by hand."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support import tree

import corpusfmt
from corpusfmt.description.card import Release, card_of, features_of
from corpusfmt.formats.dolma.format import DOLMA
from corpusfmt.formats.oscar.write import OSCAR_1_1
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.loading import BLOCK_BYTES, LIST, Columns, Seen
from corpusfmt.model import Json, UsageError

OWN = """---
license: cc0-1.0
language: xx
tags:
- web   # by hand
---
# Our corpus

Written by hand.
"""


def release(*paths: str, loaded: Any = DOLMA.loaded, default: str | None = None, **facts: Any) -> Release:
    files = {path: FileFacts(1, "0" * 64, 2, **facts) for path in paths}
    return Release("corpus", "A corpus", "original", dict(sorted(files.items())), loaded, default)


def head(card: bytes) -> Json:
    properties: Json = yaml.safe_load(card.decode().split("---\n")[1])
    return properties


def globs(card: bytes) -> dict[str, Any]:
    return {each["config_name"]: each["data_files"][0]["path"] for each in head(card)["configs"]}


def test_configs_by_language_variant_and_attribute_set() -> None:
    card = card_of(
        release(
            "documents/no/no_part_1.jsonl.gz", "documents/no/no_part_2.jsonl.gz", "documents/de/de.jsonl.gz",
            "attributes/lid/no/no_part_1.jsonl.gz", "MANIFEST.json", "croissant.json",
        )
    )  # fmt: skip
    assert globs(card) == {
        "default": "documents/*/*.jsonl.gz",
        "de": "documents/de/*.jsonl.gz",
        "no": "documents/no/*.jsonl.gz",
        "attributes-lid": "attributes/lid/no/*.jsonl.gz",
    }
    assert head(card)["language"] == ["de", "no"]
    assert b"| `no` | no | 2 | 4 | 2 |" in card


def test_variants_of_oscar() -> None:
    names = [f"{kind}/af/af{rest}.gz" for kind in ("packaged", "packaged_nondedup") for rest in (".txt", "_meta.jsonl")]
    lists = [f"{kind}/af/af_sha256.txt" for kind in ("packaged", "packaged_nondedup")]
    card = card_of(release(*names, *lists, loaded=OSCAR_1_1.loaded, default="packaged"))
    assert globs(card) == {
        "default": "packaged/af/*.txt.gz",
        "packaged": "packaged/af/*.txt.gz",
        "packaged_nondedup": "packaged_nondedup/af/*.txt.gz",
        "packaged_af": "packaged/af/*.txt.gz",
        "packaged_nondedup_af": "packaged_nondedup/af/*.txt.gz",
        "metadata": "packaged/af/*.jsonl.gz",
        "metadata-packaged_nondedup": "packaged_nondedup/af/*.jsonl.gz",
    }
    assert [each.get("sample_by") for each in head(card)["configs"]] == ["paragraph"] * 5 + [None] * 2


@pytest.mark.parametrize("name", ["a[1].jsonl.gz", "__x/a.jsonl.gz", 'a"\n.jsonl.gz', "*.jsonl.gz"])
def test_odd_names_are_patterns_of_themselves(name: str) -> None:
    path = f"documents/{name}"
    patterns = globs(card_of(release(path, "documents/.x/b.jsonl")))["default"]
    assert path in {re.sub(r"\[(.)\]", r"\1", each) for each in patterns}


def test_what_was_written_by_hand_remains() -> None:
    corpus = release("documents/de/de.jsonl.gz")
    first = card_of(corpus, OWN)
    assert head(first) | {"configs": []} == {
        "language": ["de"], "license": "cc0-1.0", "size_categories": ["n<1K"], "source_datasets": ["original"],
        "task_categories": ["text-generation"], "tags": ["web"], "configs": [],
    }  # fmt: skip
    assert b"- web   # by hand" in first
    assert first.decode().split("---\n")[2].startswith("# Our corpus\n\nWritten by hand.\n\n<!-- corpusfmt: begin")
    later = first.replace(b"| `de` | de | 1 | 2 |", b"| `de` | de | 9 | 9 |") + b"\nMore.\n"
    assert card_of(corpus, later.decode()) == first + b"\nMore.\n"
    assert card_of(corpus, card_of(corpus).decode()) == card_of(corpus)


def test_what_is_made_does_not_depend_on_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/a.jsonl").write_text('{"id": "1", "text": "a page"}\n')
    (tmp_path / "rows/README.md").write_text(OWN)
    corpusfmt.convert(tmp_path / "rows", tmp_path / "with", to="parquet")
    monkeypatch.setitem(sys.modules, "yaml", None)
    corpusfmt.convert(tmp_path / "rows", tmp_path / "without", to="parquet")
    assert tree(tmp_path / "without") == tree(tmp_path / "with")
    (tmp_path / "rows/CITATION.cff").write_text("title: Own\n")
    with pytest.raises(UsageError, match=r"CITATION.cff is not read: reading YAML needs a package: pip install"):
        corpusfmt.convert(tmp_path / "rows", tmp_path / "cited", to="parquet")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("README.md", OWN, {"language": "xx", "license": "cc0-1.0", "tags": ["web"]}),
        ("README.md", "---\nlicense: other\nlicense_name: ours\n---\n", {"license": "other", "license_name": "ours"}),
        ("README.md", "---\npretty_name: Own\nsize_categories: [n>1T]\nlanguage: [de, fr]\n---\n", {"pretty_name": "Own", "language": ["de", "fr"]}),
        ("README.md", "---\nlicense: [\n---\n", {}),
        ("README.md", '---\nlicense: mit\n    path: "de/*.gz"\ntags:\n- a\nviewer:\n- data_files: b\n---\n', {"tags": ["a"]}),
        ("README.md", "# No head", {}),
        ("CITATION.cff", "title: Own\nlicense: ODC-By-1.0\n", {"pretty_name": "Own", "license": "odc-by"}),
        ("LICENSE", "MIT License\n", {"license": "mit"}),
        ("LICENSE", "All rights reserved.\n", {}),
    ],
)  # fmt: skip
def test_what_is_said_of_a_source_is_said_of_what_is_made_of_it(
    name: str, text: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    source = tmp_path / "rows"
    source.mkdir()
    (source / "a.jsonl").write_text('{"id": "1", "text": "a page"}\n')
    (source / name).write_text(text)
    corpusfmt.convert(source, tmp_path / "out", to="parquet")
    found = head((tmp_path / "out" / "README.md").read_bytes())
    del found["configs"], found["source_datasets"], found["task_categories"]
    assert found == {"license": "unknown", "size_categories": ["n<1K"]} | expected


def test_a_card_in_an_unfinished_corpus_is_extended(tmp_path: Path, dolma_corpus: Path) -> None:
    corpusfmt.convert(dolma_corpus, tmp_path / "out", to="jsonl")
    whole = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert yaml.safe_load(whole.split("---\n")[1])["size_categories"] == ["n<1K"]
    for card in (b"\xff", b" " * (4 * 1024 * 1024 + 1)):
        state = tmp_path / "again" / ".corpusfmt"
        (tmp_path / "again").mkdir(exist_ok=True)
        (tmp_path / "again" / "README.md").unlink(missing_ok=True)

        def adding(_name: str, _progress: object, card: bytes = card) -> None:
            (tmp_path / "again" / "README.md").write_bytes(card)

        with pytest.raises(UsageError, match=r"README\.md (is not UTF-8|has more than)"):
            corpusfmt.convert(dolma_corpus, tmp_path / "again", to="jsonl", progress=adding)
        assert state.is_dir()
    (tmp_path / "again" / "README.md").write_text(OWN)
    corpusfmt.convert(dolma_corpus, tmp_path / "again", to="jsonl")
    assert "Written by hand." in (tmp_path / "again" / "README.md").read_text("utf-8")
    assert corpusfmt.verify(tmp_path / "again").verdict.value == "valid"


def dtypes(*rows: Json, size: int = 10) -> Json:
    columns = Columns()
    for row in rows:
        columns.note(row, size)
    return {each.pop("name"): each.get("dtype", each) for each in features_of(columns.finish())}


def test_features_keep_every_value() -> None:
    assert dtypes({"a": None}, {"a": "x", "b": 1, "c": True}) == {"a": "string", "b": "int64", "c": "bool"}
    assert dtypes({"a": 1, "b": 2**53 + 1}, {"a": 0.5, "b": 0.5}) == {"a": "float64", "b": "json"}
    assert dtypes({"a": 1, "b": {}, "c": []}, {"a": "x"}) == {"a": "json", "b": "json", "c": "json"}
    assert dtypes({"a": {"b": 1}}, {"a": {"c": 1}}) == {"a": "json"}
    assert dtypes({"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}, {"a": {"b": 1}}) == {"a": "json"}
    assert dtypes({"a": [[0, 3, 1]]}, {"a": [[0, 3, 0.5]]}) == {"a": {"list": {"list": "float64"}}}
    struct = {"struct": [{"name": "b", "dtype": "string"}]}
    assert dtypes({"a": [{"b": "x"}]}, {"a": [{"b": None}]}) == {"a": {"list": struct}}
    day = "2018-11-12"
    assert dtypes({"id": day, "created": f"{day}T18:01:06Z"}) == {"id": "json", "created": "timestamp[s]"}
    assert dtypes({"a": f"{day}T18:01:06+02:00"}) == {"a": "json"}
    assert dtypes({"a": day}, {"a": "2018-02-30"}) == {"a": "string"}
    assert dtypes({"a": day}, {"a": "no day"}, size=BLOCK_BYTES + 1) == {"a": "json"}


_SOME: list[Any] = [None, True, 1, 2**53 + 1, 2**63, 2**64 + 1, 1.0, 0.5, 0.123456789012345]
_SOME += ["a", "12", "[1]", "2024-01-31", "2024-02-30T03:04:05Z", "2024-01-30T03:04:05Z", "2024-01-02T03:04:05+02:00"]
_VALUES = st.recursive(
    st.sampled_from(_SOME),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(values=st.lists(_VALUES))
def test_values_noted_together_give_what_each_gives_alone(values: list[Any]) -> None:
    together, alone = Seen(), Seen()
    together.note_all(values)
    for each in values:
        alone.note(each)
    assert together == alone


def test_nested_rows_are_noted_once() -> None:
    """Were an element noted twice on each level, this would take 2^60 steps."""
    for beside in ([], [{"a": None}]):
        value: Any = None
        for _ in range(60):
            value = [{"a": value}, *beside]
        seen = Seen()
        seen.note_all([value, value])
        assert seen.kinds == LIST
