"""What lies in the folder of a source and is no source: the destination, and files that nobody reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conversion.rows import beside, document, write_rows
from support import gzipped, run_cli, tree

import corpusfmt
from corpusfmt.model import UsageError


@pytest.mark.parametrize(("source", "destination"), [("a", "a/out"), ("a", "a"), ("a", "b/../a/x/y"), ("a/b", "a")])
def test_a_destination_in_the_source_or_around_it_is_refused(source: str, destination: str, tmp_path: Path) -> None:
    write_rows(tmp_path / source / "documents/0.jsonl.gz", [document(1)])
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="which is read"):
        corpusfmt.convert(tmp_path / source, tmp_path / destination, to="dolma")
    assert tree(tmp_path) == before


def test_a_link_to_the_source_is_the_source(tmp_path: Path) -> None:
    write_rows(tmp_path / "a/documents/0.jsonl.gz", [document(1)])
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError, match="choose a folder outside"):
        corpusfmt.convert(tmp_path / "a", tmp_path / "link/out", to="dolma")


def test_a_destination_beside_the_source_is_not_in_it(tmp_path: Path) -> None:
    write_rows(tmp_path / "a/documents/0.jsonl.gz", [document(1)])
    corpusfmt.convert(tmp_path / "a", tmp_path / "ab", to="dolma")
    corpusfmt.convert(tmp_path / "a/documents/0.jsonl.gz", tmp_path / "one", to="dolma")


def test_files_of_oscar_that_are_not_read_are_named(oscar_corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(oscar_corpus, tmp_path / "oscar")
    report = corpusfmt.convert(tmp_path / "oscar", tmp_path / "clean", to="dolma")
    assert report.results["unread"] == []
    strays = ["EN/EN.txt.gz", "de/de.txt", "de/old/de.txt.gz", "en/notes.md", "list.txt"]
    for name in [*strays, "README.md", "de/.hidden"]:
        (tmp_path / "oscar" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "oscar" / name).write_bytes(gzipped(b"stray\n\n"))
    with (tmp_path / "oscar/en/en_sha256.txt").open("a") as checksums:
        checksums.write(f"{'0' * 64}  notes.md\n")
    report = corpusfmt.convert(tmp_path / "oscar", tmp_path / "out", to="dolma")
    assert report.results["unread"] == strays
    done = run_cli("convert", tmp_path / "oscar", tmp_path / "again", "--to", "dolma")
    assert (done.returncode, done.stdout.split(b"\n")[1]) == (0, b"  not read: 5 files, like EN/EN.txt.gz")


def test_metadata_of_a_1_0_release_is_not_read(oscar_corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(oscar_corpus / "de", tmp_path / "oscar/de")
    report = corpusfmt.convert(tmp_path / "oscar", tmp_path / "out", to="dolma", source_format="oscar-1.0")
    assert report.results["unread"] == ["de/de_meta.jsonl.gz"]


def test_files_of_dolma_that_are_not_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "dolma"
    for number, name in enumerate(("a", "b")):
        write_rows(root / f"documents/x/{name}.jsonl.gz", [document(number)])
        write_rows(root / f"attributes/lid/x/{name}.jsonl.gz", [beside(document(number))])
    write_rows(root / "attributes/lid/x/gone.jsonl.gz", [beside(document(1))])
    (root / "documents/notes.csv").write_bytes(b"a,b\n")
    (root / "documents/x/dangling.jsonl.gz").symlink_to("nowhere")
    write_rows(root / "extra/c.jsonl.gz", [document(1)])
    report = corpusfmt.convert(root, tmp_path / "out", to="dolma", on_loss="allow")
    assert report.results["unread"] == ["documents/notes.csv", "documents/x/dangling.jsonl.gz", "extra/c.jsonl.gz"]
    assert report.results["losses"] == {"attributes files of no documents": 1}
    monkeypatch.chdir(tmp_path)
    assert corpusfmt.convert("dolma/documents/x", "part", to="dolma").results["unread"] == ["dangling.jsonl.gz"]


def test_files_beside_tables_are_named(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "tables/a.parquet")
    (tmp_path / "tables/a.csv").write_bytes(b"text\na\n")
    report = corpusfmt.convert(tmp_path / "tables", tmp_path / "out", to="dolma")
    assert report.results["unread"] == ["a.csv"]
