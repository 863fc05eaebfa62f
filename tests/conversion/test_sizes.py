"""Shards stay as they are unless a size is asked for; then parts are cut between documents, numbered through."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from conversion.rows import Json, beside, data_files, document, lines_of, read_rows, texts, write_rows
from support import LONG_LINE, gzipped, of_data

import corpusfmt
from corpusfmt.model import UsageError

TWO_DOCUMENTS = 500


def parts_of_english(root: Path) -> list[Json]:
    """Write a language in parts 1, 2 and 10, and return its rows in the order of the parts."""
    rows = [document(number) for number in range(9)]
    for place, part in enumerate((1, 2, 10)):
        write_rows(root / f"documents/en/en_part_{part}.jsonl.gz", rows[3 * place : 3 * place + 3])
    return rows


def test_parts_keep_their_order_and_are_numbered_through(tmp_path: Path) -> None:
    parts_of_english(tmp_path / "dolma")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar")
    names = [
        f"en{kind}_part_{part}.{end}" for part in (1, 2, 3) for kind, end in [("", "txt.gz"), ("_meta", "jsonl.gz")]
    ]
    assert {path.name for path in (tmp_path / "oscar/en").iterdir()} == {*names, "en_sha256.txt"}


def test_oscar_parts_are_cut_anew_through_the_language(tmp_path: Path) -> None:
    rows = parts_of_english(tmp_path / "dolma")
    write_rows(tmp_path / "dolma/documents/de/de.jsonl.gz", [document(99, "de")])
    for jobs in (1, 2):
        out = tmp_path / f"oscar-{jobs}"
        corpusfmt.convert(tmp_path / "dolma", out, to="oscar", part_bytes=TWO_DOCUMENTS, jobs=jobs)
    assert data_files(tmp_path / "oscar-1") == data_files(tmp_path / "oscar-2")
    report = corpusfmt.validate(tmp_path / "oscar-1")
    assert {each.severity for each in of_data(report)} <= {"info"}, corpusfmt.render(report)
    found = texts(tmp_path / "oscar-1/en")
    assert [text.count(b"\n\n") for text in found] == [3, 3, 3]
    assert b"".join(found).decode() == "".join(f"{row['text']}\n\n" for row in rows)
    assert (tmp_path / "oscar-1/de/de.txt.gz").exists()


def test_parts_join_where_the_size_is_larger(tmp_path: Path) -> None:
    rows = parts_of_english(tmp_path / "dolma")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar", part_bytes=10**6)
    assert texts(tmp_path / "oscar/en") == ["".join(f"{row['text']}\n\n" for row in rows).encode()]
    records = [json.loads(line) for line in lines_of(tmp_path / "oscar/en/en_meta.jsonl.gz")]
    assert [record["offset"] for record in records] == [3 * number for number in range(9)]


def test_documents_of_mixed_languages_are_cut_as_well(tmp_path: Path) -> None:
    rows = [document(number, "en" if number % 2 else "de") for number in range(12)]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows[:7])
    write_rows(tmp_path / "dolma/documents/b.jsonl.gz", rows[7:])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar", part_bytes=TWO_DOCUMENTS, jobs=2)
    assert corpusfmt.validate(tmp_path / "oscar").counts["error"] == 0
    assert [text.count(b"\n\n") for text in texts(tmp_path / "oscar/de")] == [3, 3]
    german = "".join(f"{row['text']}\n\n" for row in rows if row["metadata"]["language"] == "de")
    assert b"".join(texts(tmp_path / "oscar/de")).decode() == german


def test_dolma_shards_and_their_attributes_are_cut_at_the_same_rows(tmp_path: Path) -> None:
    rows = parts_of_english(tmp_path / "dolma")
    for place, part in enumerate((1, 2, 10)):
        found = [beside(row, pii__x__y=[[0, 1, 0.5]]) for row in rows[3 * place : 3 * place + 3]]
        write_rows(tmp_path / f"dolma/attributes/pii/en/en_part_{part}.jsonl.gz", found)
    for jobs in (1, 2):
        out = tmp_path / f"out-{jobs}"
        corpusfmt.convert(tmp_path / "dolma", out, to="dolma", part_bytes=TWO_DOCUMENTS, jobs=jobs)
    assert data_files(tmp_path / "out-1") == data_files(tmp_path / "out-2")
    assert corpusfmt.validate(tmp_path / "out-1").counts["error"] == 0
    names = {f"{tree}/en/en_part_{part}.jsonl.gz" for tree in ("documents", "attributes/pii") for part in range(1, 6)}
    assert data_files(tmp_path / "out-1").keys() == names
    assert read_rows(tmp_path / "out-1") == rows
    assert [row["id"] for row in read_rows(tmp_path / "out-1", "attributes/pii")] == [row["id"] for row in rows]


def test_two_shards_that_would_become_one_file_are_refused(tmp_path: Path) -> None:
    row = {"id": "1", "text": LONG_LINE, "source": "test"}
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", [row])
    write_rows(tmp_path / "dolma/documents/a.json.gz", [row | {"id": "2"}])
    with pytest.raises(UsageError, match=r"documents/a\.json\.gz and documents/a\.jsonl\.gz"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma")
    assert not (tmp_path / "out").exists()


def test_datasets_of_several_sources_share_one_tree(tmp_path: Path) -> None:
    rows = [{"id": "1", "text": LONG_LINE, "source": source} for source in ("books", "web")]
    for row in rows:
        write_rows(tmp_path / f"dolma/{row['source']}/documents/x/0.jsonl.gz", [row])
        write_rows(tmp_path / f"dolma/{row['source']}/attributes/pii/x/0.jsonl.gz", [beside(row, flag=1)])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma", format="dolma")
    assert corpusfmt.validate(tmp_path / "out").counts["error"] == 0
    assert sorted(data_files(tmp_path / "out")) == [
        "attributes/pii/books/x/0.jsonl.gz",
        "attributes/pii/web/x/0.jsonl.gz",
        "documents/books/x/0.jsonl.gz",
        "documents/web/x/0.jsonl.gz",
    ]


def test_deduplicated_parts_of_oscar_1_0_come_back_by_their_names(tmp_path: Path) -> None:
    for path, text in {"af/af_dedup": "a", "de/de_part_1": "b", "de/de_part_2": "c"}.items():
        target = tmp_path / f"oscar/{path}.txt.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzipped(f"{text} {LONG_LINE}\n\n".encode()))
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "dolma", to="dolma", format="oscar-1.0")
    assert (tmp_path / "dolma/documents/af/af_dedup.jsonl.gz").exists()
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="oscar-1.0")
    assert {name for name in data_files(tmp_path / "back") if name.endswith(".gz")} == {
        "af/af_dedup.txt.gz",
        "de/de_part_1.txt.gz",
        "de/de_part_2.txt.gz",
    }


def test_names_stay_within_the_target_however_the_source_is_named(tmp_path: Path) -> None:
    row = {"id": "1", "text": LONG_LINE, "source": "test"}
    write_rows(tmp_path / "dolma/documents/a\nb/0.jsonl.gz", [row])
    write_rows(tmp_path / "dolma/attributes/pii/a\nb/0.jsonl.gz", [beside(row)])
    corpusfmt.convert(tmp_path / "dolma/attributes", tmp_path / "out", to="dolma", format="dolma")
    assert data_files(tmp_path / "out").keys() == {"documents/a%0Ab/0.jsonl.gz", "attributes/pii/a%0Ab/0.jsonl.gz"}


@pytest.mark.parametrize("end", ["", "\n"])
def test_parts_that_end_oddly_are_not_glued_together(end: str, tmp_path: Path) -> None:
    rows = parts_of_english(tmp_path / "first")
    corpusfmt.convert(tmp_path / "first", tmp_path / "oscar", to="oscar")
    for path in (tmp_path / "oscar/en").glob("*.txt.gz"):
        path.write_bytes(gzipped(gzip.decompress(path.read_bytes()).rstrip(b"\n") + end.encode()))
    (tmp_path / "oscar/en/en_sha256.txt").unlink()
    meta = tmp_path / "oscar/en"
    for path in meta.glob("*_meta*"):
        records = [json.loads(line) for line in lines_of(path)]
        headers = [{"warc-record-id": json.loads(each["headers"]["corpusfmt-document"])["id"]} for each in records]
        write_rows(path, [each | {"headers": own} for each, own in zip(records, headers, strict=True)])
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "joined", to="oscar", part_bytes=10**6)
    whole = "\n\n".join(row["text"] for row in rows) + end
    assert texts(tmp_path / "joined/en") == [whole.encode()]
    corpusfmt.convert(tmp_path / "joined", tmp_path / "dolma", to="dolma")
    assert [row["text"] for row in read_rows(tmp_path / "dolma")] == [row["text"] for row in rows]


def test_shuffled_lines_of_oscar_1_0_stay_lines(tmp_path: Path) -> None:
    (tmp_path / "oscar/en").mkdir(parents=True)
    for part in (1, 2):
        lines = "".join(f"{part} {number} {LONG_LINE}\n" for number in range(3))
        (tmp_path / f"oscar/en/en_part_{part}.txt.gz").write_bytes(gzipped(lines.encode()))
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "out", to="oscar-1.0", format="oscar-1.0", part_bytes=10**6)
    before = [gzip.decompress((tmp_path / f"oscar/en/en_part_{part}.txt.gz").read_bytes()) for part in (1, 2)]
    assert texts(tmp_path / "out/en") == [b"".join(before)]
