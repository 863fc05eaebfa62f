"""Files in the source folder that are not the source: the destination, and files that no format reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conversion.rows import beside, document, write_rows
from support import gzipped, run_cli, tree

import corpusfmt
from corpusfmt.model import BadInput, UsageError


@pytest.mark.parametrize(("source", "destination"), [("a", "a/out"), ("a", "a"), ("a", "b/../a/x/y"), ("a/b", "a")])
def test_a_destination_in_the_source_or_around_it_is_refused(source: str, destination: str, tmp_path: Path) -> None:
    write_rows(tmp_path / source / "documents/0.jsonl.gz", [document(1)])
    before = tree(tmp_path)
    with pytest.raises(UsageError, match="inside the"):
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


def lost(oscar_corpus: Path, root: Path, how: str) -> Path:
    """Return a copy of two languages of which some data cannot be found."""
    for language in ("de", "en"):
        shutil.copytree(oscar_corpus / language, root / language)
    if how == "a language without text":
        (root / "fr").mkdir()
        (root / "fr/fr_sha256.txt").write_bytes(b"")
    else:
        for name in ("de.txt.gz", "de_meta.jsonl.gz"):
            (root / "de" / name).rename(root / "de" / name.replace(".", "_part_2.", 1))
    return root


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("a language without text", "OSC105"),
        ("a part that is missing", "OSC107"),
    ],
)
def test_data_that_cannot_be_found_stops_the_run_unless_it_can_be_done_without(
    how: str, code: str, oscar_corpus: Path, tmp_path: Path
) -> None:
    source = lost(oscar_corpus, tmp_path / "oscar", how)
    assert code in corpusfmt.validate(source).by_rule
    done = run_cli("convert", source, tmp_path / "out", "--to", "dolma")
    assert (done.returncode, not (tmp_path / "out").exists()) == (1, True)
    assert f": {code} ".encode() in done.stderr
    assert done.stderr.endswith(b", or convert the rest with --on-bad-record quarantine\n")
    done = run_cli("convert", source, tmp_path / "out", "--to", "dolma", "--on-bad-record", "quarantine")
    assert done.returncode == 3
    assert f"  {code} ".encode() in done.stdout
    assert (tmp_path / "out/documents/en/en.jsonl.gz").exists()


def test_documents_that_only_attributes_know_stop_the_run(tmp_path: Path) -> None:
    root = tmp_path / "dolma"
    for name in ("a", "b"):
        write_rows(root / f"documents/{name}.jsonl.gz", [document(1)])
        for each in ("lid", "pii"):
            write_rows(root / f"attributes/{each}/{name}.jsonl.gz", [beside(document(1))])
    (root / "documents/b.jsonl.gz").unlink()
    with pytest.raises(BadInput, match="DOL109"):
        corpusfmt.convert(root, tmp_path / "out", to="dolma", on_loss="allow")
    report = corpusfmt.convert(root, tmp_path / "out", to="dolma", on_loss="allow", on_bad_record="quarantine")
    assert (report.verdict, report.by_rule["DOL109"], report.coverage.documents) == ("incomplete", 1, 1)


@pytest.mark.parametrize("policy", ["stop", "quarantine"])
def test_what_cannot_be_read_at_all_stops_the_run(policy: str, tmp_path: Path) -> None:
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", [document(1)])
    (tmp_path / "dolma/documents/b.jsonl.gz").symlink_to("nowhere")
    arguments = ("convert", tmp_path / "dolma", tmp_path / "out", "--to", "dolma", "--on-bad-record", policy)
    for done in (run_cli(*arguments), run_cli("describe", tmp_path / "dolma")):
        assert (done.returncode, done.stdout) == (3, b"")
        assert b"documents/b.jsonl.gz: GEN001 cannot be read: a link to `nowhere`" in done.stderr
    assert not (tmp_path / "out").exists()


def test_metadata_of_a_1_0_release_is_not_read(oscar_corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(oscar_corpus / "de", tmp_path / "oscar/de")
    report = corpusfmt.convert(tmp_path / "oscar", tmp_path / "out", to="dolma", format="oscar-1.0")
    assert report.results["unread"] == ["de/de_meta.jsonl.gz"]


def test_files_of_dolma_that_are_not_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "dolma"
    for number, name in enumerate(("a", "b")):
        write_rows(root / f"documents/x/{name}.jsonl.gz", [document(number)])
        write_rows(root / f"attributes/lid/x/{name}.jsonl.gz", [beside(document(number))])
    write_rows(root / "attributes/lid/x/gone.jsonl.gz", [beside(document(1))])
    (root / "documents/notes.csv").write_bytes(b"a,b\n")
    (root / "documents/x/empty.jsonl.gz.tmp").write_bytes(b"")
    write_rows(root / "extra/c.jsonl.gz", [document(1)])
    report = corpusfmt.convert(root, tmp_path / "out", to="dolma", on_loss="allow")
    assert report.results["unread"] == ["documents/notes.csv", "documents/x/empty.jsonl.gz.tmp", "extra/c.jsonl.gz"]
    assert report.results["losses"] == {"attributes files of no documents": 1}
    monkeypatch.chdir(tmp_path)
    assert corpusfmt.convert("dolma/documents/x", "part", to="dolma").results["unread"] == ["empty.jsonl.gz.tmp"]


def test_files_beside_tables_are_named(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "tables/a.parquet")
    (tmp_path / "tables/a.csv").write_bytes(b"text\na\n")
    report = corpusfmt.convert(tmp_path / "tables", tmp_path / "out", to="dolma")
    assert report.results["unread"] == ["a.csv"]
