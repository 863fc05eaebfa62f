"""One corpus in many shapes compares as the same: formats, shards and compressors make no difference."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import gzipped, tree, zstd

import corpusfmt
from corpusfmt.comparison.result import Comparison

_ROWS: list[dict[str, object]] = [
    {
        "id": "1",
        "text": "eins\n\nzwei",
        "source": "web",
        "created": "2024-01-31",
        "metadata": {"language": "de", "n": 1.5},
    },
    {"id": "2", "text": "", "source": "web", "metadata": {"language": "de"}, "attributes": {"a__b": [[0, 0, 1]]}},
    {"id": "3", "text": "three", "source": "books", "metadata": {"language": "en"}, "version": "v0"},
    {"id": "3", "text": "four", "source": "web", "metadata": {"language": "en", "url": "https://example.org/"}},
    {"id": "5", "text": "five", "source": "web", "metadata": {"language": "en", "": None, "big": 2**63}},
]


def dolma(folder: Path, shards: dict[str, list[dict[str, object]]]) -> Path:
    for name, rows in shards.items():
        path = folder / "documents" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def are_same(found: Comparison) -> bool:
    counts = found.documents
    return counts.same == counts.old == counts.new > 0


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return dolma(tmp_path / "dolma", {"de/de": _ROWS[:2], "en/en": _ROWS[2:]})


@pytest.mark.parametrize("to", ["oscar-1.1", "parquet", "jsonl"])
def test_a_release_is_the_same_as_what_it_was_converted_to(to: str, corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(corpus, tmp_path / "to", to=to)
    found = corpusfmt.compare(corpus, tmp_path / "to", new_format=to)
    assert are_same(found), found.documents
    assert found.same_shards
    assert found.fields == []


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_oscar_is_the_same_as_its_own_dolma(version: str, tmp_path: Path) -> None:
    from support import SAMPLE

    corpusfmt.build([SAMPLE], tmp_path / "built", recipe="oscar-1.1")
    corpusfmt.convert(tmp_path / "built", tmp_path / "oscar", to=f"oscar-{version}", on_loss="allow")
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "dolma", to="dolma")
    corpusfmt.convert(
        tmp_path / "oscar", tmp_path / "cut", to=f"oscar-{version}", part_bytes=10_000, compression="zlib-9"
    )
    for other in ("dolma", "cut"):
        found = corpusfmt.compare(tmp_path / "oscar", tmp_path / other)
        assert are_same(found), found.documents
        assert found.same_shards


def test_parts_are_no_place(corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(corpus, tmp_path / "cut", to="dolma", part_bytes=1)
    found = corpusfmt.compare(corpus, tmp_path / "cut")
    assert are_same(found)
    assert (found.old.shards, found.new.shards, found.same_shards) == (2, 5, True)


def test_other_shards_are_no_difference(corpus: Path, tmp_path: Path) -> None:
    found = corpusfmt.compare(corpus, dolma(tmp_path / "one", {"all": _ROWS[::-1]}))
    assert are_same(found)
    assert not found.same_shards


def test_a_document_in_another_of_the_same_shards_has_moved(corpus: Path, tmp_path: Path) -> None:
    found = corpusfmt.compare(corpus, dolma(tmp_path / "new", {"de/de": _ROWS[:3], "en/en": _ROWS[3:]}))
    assert (found.documents.moved, found.documents.same, found.documents.renamed) == (1, 4, 0)
    assert [(each.id, each.old, each.new) for each in found.differences] == [
        ("3", "documents/en/en.jsonl#1", "documents/de/de.jsonl#3")
    ]


@pytest.mark.parametrize("compress", [gzipped, zstd.compress])
def test_compression_is_no_difference(compress: object, corpus: Path, tmp_path: Path) -> None:
    assert callable(compress)
    shutil.copytree(corpus, tmp_path / "new")
    for path in (tmp_path / "new").rglob("*.jsonl"):
        suffix = ".gz" if compress is gzipped else ".zst"
        path.with_name(path.name + suffix).write_bytes(compress(path.read_bytes()))
        path.unlink()
    assert are_same(corpusfmt.compare(corpus, tmp_path / "new"))


def test_attribute_sets_are_compared_with_their_documents(corpus: Path, tmp_path: Path) -> None:
    for folder, scores in (("old", (1, 2)), ("new", (1, 3))):
        shutil.copytree(corpus, tmp_path / folder)
        for name, rows in (("de/de", _ROWS[:2]), ("en/en", _ROWS[2:])):
            path = tmp_path / folder / "attributes" / "q" / f"{name}.jsonl"
            path.parent.mkdir(parents=True)
            lines = [
                {"id": row["id"], "attributes": {"q__s": [[0, len(str(row["text"])), scores[index % 2]]]}}
                for index, row in enumerate(rows)
            ]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    found = corpusfmt.compare(tmp_path / "old", tmp_path / "new")
    assert (found.documents.changed_attributes, found.documents.same) == (2, 3)


def test_variants_side_by_side_are_told_apart(tmp_path: Path) -> None:
    from support import SAMPLE, run_cli

    assert run_cli("build", SAMPLE, "--keep-original", "-o", tmp_path / "both").returncode == 0
    corpusfmt.convert(tmp_path / "both", tmp_path / "dolma", to="dolma")
    found = corpusfmt.compare(tmp_path / "both", tmp_path / "dolma")
    assert are_same(found)
    assert sorted(found.by_source) == ["oscar/packaged", "oscar/packaged_nondedup"]


def test_a_corpus_at_the_root_is_the_same_with_and_without_one_beside_it(tmp_path: Path) -> None:
    for name in ("both/en_meta", "both/x/fr_meta", "one/en_meta"):
        path = tmp_path / name / f"{Path(name).name}.jsonl"
        path.parent.mkdir(parents=True)
        metadata = {"identification": {"label": path.name[:2], "prob": 0.9}, "sentence_identifications": []}
        record = {"content": path.name, "warc_headers": {"warc-record-id": "<urn:uuid:1>"}, "metadata": metadata}
        path.write_text(json.dumps(record) + "\n", "utf-8")
    found = corpusfmt.compare(tmp_path / "both", tmp_path / "one")
    assert (found.documents.same, found.documents.removed) == (1, 1)
    assert sorted(found.by_source) == ["oscar", "oscar/x"]


def test_neither_workers_nor_ranges_make_a_difference(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = dolma(tmp_path / "new", {"de/de": _ROWS[1:3], "en/en": _ROWS[3:]})
    before = tree(tmp_path)
    alone = corpusfmt.compare(corpus, new)
    assert corpusfmt.compare(corpus, new, jobs=2, engine="processes") == alone
    monkeypatch.setattr("corpusfmt.comparison.run._BYTES_A_TASK", 1)
    assert corpusfmt.compare(corpus, new) == alone
    assert tree(tmp_path) == before


def test_fields_without_fixed_names_are_named(corpus: Path, tmp_path: Path) -> None:
    rows = [{"content": row["text"], "key": row["id"], "source": row["source"]} for row in _ROWS]
    path = tmp_path / "new" / "a.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = corpusfmt.compare(corpus, path.parent, field={"text": "content", "id": "key"}, new_format="jsonl").documents
    assert (found.changed_metadata, found.changed_text, found.added, found.removed) == (5, 0, 0, 0)
    with pytest.raises(corpusfmt.UsageError, match="fixed names"):
        corpusfmt.compare(corpus, corpus, field={"text": "content"})


def test_files_that_are_none_of_the_format_are_noted(corpus: Path) -> None:
    (corpus / "documents" / "notes.txt").write_text("notes", "utf-8")
    assert corpusfmt.compare(corpus, corpus).new.unread == 1
