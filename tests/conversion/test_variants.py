"""Several corpora in one folder, such as variants of a release, stay separate in every target format."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest
from conversion.rows import data_files, document, read_rows, write_rows
from support import LONG_LINE, SAMPLE, gzipped, tree

import corpusfmt
from corpusfmt.model import BadInput, UsageError

# What a build writes besides the corpus.
REPORTS = {"stats.json", "stats.md", "MANIFEST.json"}


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled sample as OSCAR 1.1, before and after deduplication."""
    folder = tmp_path_factory.mktemp("built") / "both"
    corpusfmt.build(SAMPLE, folder, keep_original=True)
    return folder


def files_of(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in data_files(root).items() if name not in REPORTS}


def test_variants_of_oscar_1_1_stay_apart(variants: Path, tmp_path: Path) -> None:
    corpusfmt.convert(variants, tmp_path / "oscar", to="oscar-1.1", jobs=2)
    assert files_of(tmp_path / "oscar") == files_of(variants)
    converted, built = (json.loads((each / "croissant.json").read_bytes()) for each in (tmp_path / "oscar", variants))
    assert converted["distribution"] == built["distribution"]
    # The amount of text is in the statistics of a build only.
    assert [each["annotation"] for each in converted["recordSet"]] == [
        [one for one in each["annotation"] if not one["name"].startswith(("lines", "characters", "bytes"))]
        if each["name"] == "files"
        else each["annotation"]
        for each in built["recordSet"]
    ]
    assert corpusfmt.validate(tmp_path / "oscar").verdict.value == "valid"


@pytest.mark.parametrize("target", ["oscar-1.1", "dolma", "jsonl"])
def test_variants_in_hidden_folders_become_files_that_manifests_list(target: str, tmp_path: Path) -> None:
    for variant in ("...", ".b"):
        folder = tmp_path / "there" / variant / "en"
        folder.mkdir(parents=True)
        (folder / "en.txt.gz").write_bytes(gzipped(f"{variant} {LONG_LINE}\n".encode()))
    corpusfmt.convert(tmp_path / "there", tmp_path / "out", to=target, on_loss="allow")
    assert not corpusfmt.validate(tmp_path / "out").counts["error"]


@pytest.mark.parametrize("target", ["dolma", "parquet"])
def test_variants_come_back_from_other_formats(target: str, variants: Path, tmp_path: Path) -> None:
    corpusfmt.convert(variants, tmp_path / "there", to=target)
    assert corpusfmt.validate(tmp_path / "there").verdict == "valid"
    corpusfmt.convert(tmp_path / "there", tmp_path / "back", to="oscar")
    assert files_of(tmp_path / "back") == files_of(variants)


def test_documents_of_variants_in_one_dolma_corpus_have_sources_of_their_own(variants: Path, tmp_path: Path) -> None:
    corpusfmt.convert(variants, tmp_path / "dolma", to="dolma")
    for variant in ("packaged", "packaged_nondedup"):
        rows = read_rows(tmp_path / "dolma", f"documents/{variant}")
        assert {row["source"] for row in rows} == {f"oscar/{variant}"}
    with pytest.raises(BadInput, match="CNV106 the id `"):
        corpusfmt.convert(variants, tmp_path / "one", to="dolma", source_name="web")
    corpusfmt.convert(variants / "packaged", tmp_path / "alone", to="dolma")
    assert {row["source"] for row in read_rows(tmp_path / "alone")} == {"oscar"}


def test_deduplicated_text_of_oscar_1_0_keeps_its_name(tmp_path: Path) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "both", recipe="oscar-1.0", keep_original=True)
    files = files_of(tmp_path / "both")
    assert {"unshuffled/original/af/af.txt.gz", "unshuffled/deduplicated/af/af_dedup.txt.gz"} <= files.keys()
    corpusfmt.convert(tmp_path / "both", tmp_path / "again", to="oscar-1.0")
    assert files_of(tmp_path / "again") == files
    corpusfmt.convert(tmp_path / "both", tmp_path / "dolma", to="dolma")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="oscar-1.0")
    assert files_of(tmp_path / "back") == files
    corpusfmt.convert(tmp_path / "both/unshuffled/deduplicated", tmp_path / "1.1", to="oscar-1.1")
    assert {path.name for path in (tmp_path / "1.1/af").iterdir()} == {
        "af.txt.gz", "af_meta.jsonl.gz", "af_sha256.txt",
    }  # fmt: skip
    corpusfmt.convert(tmp_path / "both/unshuffled/deduplicated", tmp_path / "cut", to="oscar-1.0", part_bytes=1_000)
    assert {"en_part_1.txt.gz", "en_part_2.txt.gz"} <= {path.name for path in (tmp_path / "cut/en").iterdir()}


def test_text_that_is_not_deduplicated_is_not_called_so(tmp_path: Path) -> None:
    texts = {"af": f"a {LONG_LINE}\n\nb {LONG_LINE}\n\na {LONG_LINE}\n\n", "de": f"a {LONG_LINE}\n\n"}
    for language, text in texts.items():
        path = tmp_path / f"oscar/{language}/{language}_dedup.txt.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzipped(text.encode()))
    assert "OSC309" in corpusfmt.validate(tmp_path / "oscar").by_rule
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "dolma", to="dolma")
    for source in ("oscar", "dolma"):
        with pytest.raises(BadInput, match=r"af_dedup\.(txt|jsonl)\.gz: CNV101 would be lost: `_dedup` in the name"):
            corpusfmt.convert(tmp_path / source, tmp_path / "refused", to="oscar-1.0")
        assert not list((tmp_path / "refused").glob("af/*"))
        shutil.rmtree(tmp_path / "refused")
        out = tmp_path / f"from-{source}"
        report = corpusfmt.convert(tmp_path / source, out, to="oscar-1.0", on_loss="warn")
        assert report.results["losses"] == {"`_dedup` in the name of a text that repeats a line": 1}
        assert {path.name for path in out.glob("*/*.txt.gz")} == {"af.txt.gz", "de_dedup.txt.gz"}
        assert gzip.decompress((out / "af/af.txt.gz").read_bytes()) == texts["af"].encode()
        assert corpusfmt.validate(out).verdict == "valid"


def test_parts_of_variants_are_cut_apart(variants: Path, tmp_path: Path) -> None:
    corpusfmt.convert(variants, tmp_path / "small", to="oscar", part_bytes=20_000)
    for variant in ("packaged", "packaged_nondedup"):
        corpusfmt.convert(variants / variant, tmp_path / variant, to="oscar", part_bytes=20_000)
        assert data_files(tmp_path / "small" / variant) == data_files(tmp_path / variant)


def test_datasets_side_by_side_stay_apart_where_documents_are_sorted_by_language(tmp_path: Path) -> None:
    for name in ("before", "after"):
        rows = [document(number, "en" if number % 2 else "de", variant=name, source=name) for number in range(4)]
        write_rows(tmp_path / "both" / name / "documents/data.jsonl.gz", rows)
        write_rows(tmp_path / "one/documents" / name / "data.jsonl.gz", rows)
    corpusfmt.convert(tmp_path / "both", tmp_path / "oscar", to="oscar")
    assert {path.rpartition("/")[0] for path in tree(tmp_path / "oscar")} == {
        "", "after/de", "after/en", "before/de", "before/en",
    }  # fmt: skip
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="dolma")
    assert [row["variant"] for row in read_rows(tmp_path / "back", "documents/before")] == ["before"] * 4
    corpusfmt.convert(tmp_path / "one", tmp_path / "sorted", to="oscar")
    assert {path.rpartition("/")[0] for path in tree(tmp_path / "sorted")} == {"", "de", "en"}


@pytest.mark.parametrize("others", [("first", "first/more"), ("", "more"), ("a/b/c", "d")])
def test_corpora_that_oscar_cannot_have_side_by_side_are_refused(others: tuple[str, str], tmp_path: Path) -> None:
    for name in others:
        write_rows(tmp_path / "dolma" / name / "documents/data.jsonl.gz", [document(1)])
    with pytest.raises(UsageError, match="convert one folder"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="oscar")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("part_bytes", [None, 500])
@pytest.mark.parametrize("target", ["oscar-1.0", "oscar-1.1"])
def test_a_language_that_lies_in_a_folder_of_its_name_comes_to_lie_there(
    target: str, part_bytes: int | None, tmp_path: Path
) -> None:
    for name in ("de/de/de_part_1", "de/de/de_part_2"):
        write_rows(tmp_path / f"dolma/documents/{name}.jsonl.gz", [document(1, "de", source=name)])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to=target, on_loss="allow", part_bytes=part_bytes)
    assert {path.rpartition("/")[0] for path in tree(tmp_path / "out")} == {"", "de"}
    assert corpusfmt.validate(tmp_path / "out").verdict == "valid"
    write_rows(tmp_path / "dolma/documents/other/fr/fr.jsonl.gz", [document(1, "fr")])
    with pytest.raises(UsageError, match="`de/de` is the folder of a language in a folder of the same name"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "both", to=target, on_loss="allow", part_bytes=part_bytes)
    assert not (tmp_path / "both").exists()


def test_corpora_named_for_their_language_are_refused_where_documents_are_sorted_by_it(tmp_path: Path) -> None:
    for name, language in (("de", "de"), ("other", "fr")):
        write_rows(tmp_path / f"dolma/{name}/documents/data.jsonl.gz", [document(1, language)])
    with pytest.raises(UsageError, match="`de/de` is the folder of a language in a folder of the same name"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="oscar")
