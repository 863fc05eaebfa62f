"""The records that a Croissant description describes become documents: of samples of others, and of our own descriptions."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conversion.rows import document, read_rows, write_rows
from croissant.documents import SAMPLES
from croissant.test_records import field, file, files, record_set, write
from support import LONG_LINE, of_data, run_cli, tree

import corpusfmt
from corpusfmt.formats import CheckOptions, ReadOptions, named_format
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, UsageError

Json = dict[str, Any]

CAPTIONS = SAMPLES / "valid" / "coco2014-mini" / "metadata.json"
TEXT, ID = field("text", "t.jsonl", {"column": "text"}), field("id", "t.jsonl", {"column": "id"})


def described(folder: Path, rows: Sequence[Mapping[str, object]], *fields: Json, **more: Any) -> Path:
    """Write rows as JSON Lines with a description of them."""
    content = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    distribution = [file("t.jsonl", "application/jsonlines")]
    return write(folder, distribution, record_set(*fields, **more), t__jsonl=content)


def converted(path: Path, out: Path, **options: Any) -> list[Json]:
    """Return the rows that records become as Dolma, which is then valid; of texts, some may be empty."""
    corpusfmt.convert(path, out, to="dolma", **options)
    report = corpusfmt.validate(out)
    rows = read_rows(out)
    empty = {("GEN203", "info")} if not all(row["text"] for row in rows) else set()
    assert {(each.code, each.severity.value) for each in of_data(report)} == empty, corpusfmt.render(report)
    return rows


def test_dolma_comes_back_from_its_own_description(tmp_path: Path) -> None:
    source = tmp_path / "dolma"
    # What only some documents have: `created` and a `url`.
    write_rows(source / "documents/a.jsonl.gz", [document(1), document(2, created="2019-08-01T12:00:00Z")])
    other = {"id": "x", "text": "", "source": "other", "created": "2019-08-02", "metadata": {}}
    write_rows(source / "documents/b.jsonl.gz", [other])
    description = corpusfmt.describe(source)
    (source / "croissant.json").write_text(json.dumps(description), "utf-8")
    assert corpusfmt.validate(source / "croissant.json", data=True).by_rule.keys() & {"CRO606", "CRO609"} == set()
    rows = converted(source / "croissant.json", tmp_path / "back")
    expected = read_rows(source)
    for name in ("id", "text", "source"):
        assert [row[name] for row in rows] == [row[name] for row in expected]
    assert [row.get("metadata", {}).get("language") for row in rows] == ["en", "en", None]
    assert [row.get("created", "")[:10] for row in rows] == ["", "2019-08-01", "2019-08-02"]


def test_a_corpus_with_a_description_is_read_as_the_corpus(dolma_corpus: Path, tmp_path: Path) -> None:
    whole = read_rows(dolma_corpus)
    assert converted(dolma_corpus, tmp_path / "corpus") == whole
    rows = converted(dolma_corpus, tmp_path / "description", format="croissant")
    assert [(row["id"], row["text"]) for row in rows] == [(row["id"], row["text"]) for row in whole]
    written = ["MANIFEST.json", "README.md", "croissant.json", "documents/documents.jsonl.gz"]
    assert list(tree(tmp_path / "description")) == written


def test_the_result_does_not_depend_on_jobs_or_sizes(dolma_corpus: Path, tmp_path: Path) -> None:
    source = dolma_corpus / "croissant.json"
    for jobs in (1, 2):
        corpusfmt.convert(source, tmp_path / str(jobs) / "out", to="dolma", jobs=jobs)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    corpusfmt.convert(source, tmp_path / "cut", to="dolma", part_bytes=20_000)
    assert len(tree(tmp_path / "cut")) > 3
    corpusfmt.convert(source, tmp_path / "oscar", to="oscar")
    assert corpusfmt.validate(tmp_path / "oscar").counts["error"] == 0


def test_the_metadata_of_oscar_by_its_own_description(oscar_corpus: Path, tmp_path: Path) -> None:
    options: Any = {"record_set": "metadata", "field": {"text": "url", "id": "record_id"}}
    # A record of several languages has its metadata in each.
    options["on_bad_record"] = "quarantine"
    corpusfmt.convert(oscar_corpus / "croissant.json", tmp_path / "out", to="dolma", **options)
    assert (tmp_path / "out-quarantine").is_dir()
    rows = read_rows(tmp_path / "out")
    assert rows
    assert all(row["id"].startswith("<urn:uuid:") and row["text"].startswith("http") for row in rows)
    assert rows[0]["source"] == "croissant"
    assert rows[0]["metadata"].keys() == {"date", "offset", "nb_sentences"}


def test_parquet_by_its_own_description(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    columns = {"id": ["a", "b"], "text": ["one", "two"], "stars": [1, None], "score": [0.5, float("nan")]}
    pq.write_table(pa.table(columns), tmp_path / "theirs/t.parquet")
    description = json.dumps(corpusfmt.describe(tmp_path / "theirs"))
    (tmp_path / "theirs/croissant.json").write_text(description, "utf-8")
    rows = converted(tmp_path / "theirs", tmp_path / "out", format="croissant", source_name="theirs")
    assert rows == [
        {"id": "a", "text": "one", "source": "theirs", "metadata": {"stars": 1, "score": 0.5}},
        {"id": "b", "text": "two", "source": "theirs", "metadata": {"stars": None, "score": "NaN"}},
    ]


def test_a_published_sample(tmp_path: Path) -> None:
    rows = converted(CAPTIONS, tmp_path / "out", record_set="captions", field={"text": "caption"})
    assert (rows[0]["id"], rows[0]["text"]) == ("48", "A very clean and well decorated empty bathroom")
    assert rows[0]["metadata"] == {"image_id": 318556, "split": "train"}
    done = run_cli("convert", CAPTIONS, tmp_path / "cli", "--to", "dolma", "--field", "text=captions/caption")
    assert (done.returncode, read_rows(tmp_path / "cli")) == (0, rows)


def test_content_of_files_is_a_counted_loss(tmp_path: Path) -> None:
    name = field("name", "i-set", {"fileProperty": "filename"})
    content = field("content", "i-set", {"fileProperty": "content"}, "sc:ImageObject")
    path = write(tmp_path, [files("i-set", "*.png")], record_set(name, content), a__png=b"\x89", b__png=b"\x90")
    with pytest.raises(BadInput, match=r"a\.png: CNV101 would be lost: bytes in `content`"):
        corpusfmt.convert(path, tmp_path / "no", to="dolma", field={"text": "name"})
    with pytest.raises(BadInput, match=r"a\.png: CRO701 `r/content` is bytes, expected text"):
        corpusfmt.convert(path, tmp_path / "no", to="dolma", field={"text": "content"})
    report = corpusfmt.convert(path, tmp_path / "out", to="dolma", field={"text": "name"}, on_loss="allow")
    assert report.results["losses"] == {"bytes in `content`": 2}
    rows = read_rows(tmp_path / "out")
    assert [(row["text"], row["metadata"]) for row in rows] == [
        ("a.png", {"corpusfmt_synthetic_id": True}),
        ("b.png", {"corpusfmt_synthetic_id": True}),
    ]
    assert rows[0]["id"].startswith("r:1:")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ([], ["r:1:", "r:2:"]),
        ([{"@id": "r/a"}], ["1", "2"]),
        ([{"@id": "r/a"}, {"@id": "r/c"}], ["r:1:", "r:2:"]),
        ([{"@id": "r/a"}, {"@id": "r/b"}], ['[1,"x"]', '[2,"y"]']),
    ],
)
def test_ids_are_the_key_or_made(key: list[Json], expected: list[str], tmp_path: Path) -> None:
    fields = [field("a", "t.jsonl", {"column": "a"}, "sc:Integer"), field("b", "t.jsonl", {"column": "b"})]
    rows = [{"text": "one", "a": 1, "b": "x"}, {"text": "two", "a": 2, "b": "y"}]
    found = converted(described(tmp_path, rows, TEXT, *fields, key=key), tmp_path / "out")
    assert all(row["id"].startswith(name) for row, name in zip(found, expected, strict=True))
    assert [row["metadata"].get("corpusfmt_synthetic_id", False) for row in found] == [expected[0].startswith("r:")] * 2


def test_names_in_metadata(tmp_path: Path) -> None:
    inside = [field("who/name", "t.jsonl", {"column": "name"}), field("who/age", "t.jsonl", {"column": "age"})]
    who = {"@type": "cr:Field", "@id": "r/who", "subField": inside}
    same = [field("language", "t.jsonl", {"column": "a"}), field("a", "t.jsonl", {"column": "a"}) | {"@id": "a"}]
    other = field("a", "t.jsonl", {"column": "name"})
    path = described(tmp_path, [{"text": "t", "a": "en", "name": "N", "age": "7"}], TEXT, who, *same, other)
    (row,) = converted(path, tmp_path / "out")
    del row["metadata"]["corpusfmt_synthetic_id"]
    assert row["metadata"] == {"who": {"name": "N", "age": "7"}, "language": "en", "a": "en", "r/a": "N"}
    corpusfmt.convert(path, tmp_path / "oscar", to="oscar")
    assert (tmp_path / "oscar/en/en.txt.gz").exists()


BAD = [
    ({"id": "2", "text": None}, "CRO701", "`r/text` is null"),
    ({"id": None, "text": "two"}, "CRO702", "`r/id` is null"),
    ({"id": "", "text": "two"}, "CRO702", "`r/id` is empty"),
]


@pytest.mark.parametrize(("bad", "code", "message"), BAD)
def test_records_that_are_no_documents(bad: Json, code: str, message: str, tmp_path: Path) -> None:
    rows = [{"id": "1", "text": ""}, bad, {"id": "3", "text": "three"}]
    path = described(tmp_path, rows, ID, TEXT)
    with pytest.raises(BadInput, match=rf"t\.jsonl:2: {code} {message}"):
        corpusfmt.convert(path, tmp_path / "stop", to="dolma")
    done = run_cli("convert", path, tmp_path / "out", "--to", "dolma", "--on-bad-record", "quarantine")
    assert (done.returncode, b"rejected: 1 record," in done.stdout) == (0, True)
    assert [row["id"] for row in read_rows(tmp_path / "out")] == ["1", "3"]
    kept = json.loads((tmp_path / "out-quarantine/000000.jsonl").read_text("utf-8"))
    assert (kept["rule"], kept["line"]) == (code, 2)
    assert json.loads(kept["record"]) == {f"r/{name}": value for name, value in bad.items()}


def test_values_that_are_no_texts(tmp_path: Path) -> None:
    number = field("n", "t.jsonl", {"column": "n"}, "sc:Integer")
    part = field("p", "t.jsonl", {"column": "p"}, "sc:Float")
    path = described(
        tmp_path, [{"text": "one", "n": 1, "p": 0.5}, {"text": "two", "n": "x", "p": 1}], TEXT, number, part
    )
    with pytest.raises(BadInput, match="CRO701 `r/n` is a number, expected text"):
        corpusfmt.convert(path, tmp_path / "text", to="dolma", field={"text": "n"})
    with pytest.raises(BadInput, match="CRO702 `r/p` is a number, expected text or a whole number"):
        corpusfmt.convert(path, tmp_path / "id", to="dolma", field={"id": "r/p"})
    with pytest.raises(BadInput, match=r"t\.jsonl:2: CRO609 .*`x`"):
        corpusfmt.convert(path, tmp_path / "cast", to="dolma")
    report = corpusfmt.convert(path, tmp_path / "out", to="dolma", on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["rejected"]) == (1, 1)


def test_records_that_nest_deep(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(125):
        deep = [deep]
    nested = field("x", "t.jsonl", {"column": "x"}, "sc:ImageObject")
    path = described(tmp_path, [{"text": "one", "x": deep}, {"text": "two", "x": [deep]}], TEXT, nested)
    with pytest.raises(BadInput, match=r"t\.jsonl:2: CRO703 nested deeper than 127 levels"):
        corpusfmt.convert(path, tmp_path / "stop", to="dolma")
    report = corpusfmt.convert(path, tmp_path / "out", to="dolma", on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["rejected"]) == (1, 1)
    assert read_rows(tmp_path / "out")[0]["metadata"]["x"] == deep


def test_records_in_the_description(tmp_path: Path) -> None:
    fields = [{"@type": "cr:Field", "@id": f"r/{name}", "dataType": "sc:Text"} for name in ("id", "content")]
    path = write(tmp_path, [], record_set(*fields, data=[{"r/id": "1", "r/content": LONG_LINE}]))
    assert converted(path, tmp_path / "out") == [{"id": "1", "text": LONG_LINE, "source": "croissant"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"no record set has a text field: .* \(split_enums, images, captions, bounding_boxes\)"),
        ({"field": {"text": "split"}}, "several record sets have a text field: name one with `record_set`"),
        ({"record_set": "words"}, "unknown record set 'words'; known: split_enums"),
        ({"record_set": "captions"}, r"no field `text` or `content`: .*captions/image_id"),
        ({"record_set": "captions", "field": {"text": "words"}}, "no field `words`"),
        (
            {"field": {"text": "caption", "id": "words"}},
            r'^recordSet "captions" has no field `words` for `field` id \(captions/id, captions/image_id, captions/caption, captions/split\)$',
        ),
    ],
)
def test_what_is_not_meant_is_asked_for(options: Json, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        corpusfmt.convert(CAPTIONS, tmp_path / "out", to="dolma", **options)
    assert not (tmp_path / "out").exists()


def test_record_sets_are_of_descriptions(dolma_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="dolma has no record sets"):
        corpusfmt.convert(dolma_corpus, tmp_path / "out", to="dolma", record_set="documents")


def test_data_that_is_not_there(tmp_path: Path) -> None:
    path = described(tmp_path, [{"text": "one"}], TEXT)
    (tmp_path / "t.jsonl").unlink()
    with pytest.raises(BadInput, match="CRO601"):
        corpusfmt.convert(path, tmp_path / "out", to="dolma")
    web = file("t.jsonl", "application/jsonlines") | {"contentUrl": "https://data.example/t.jsonl"}
    with pytest.raises(UsageError, match="on the web, and nothing is fetched"):
        corpusfmt.convert(write(tmp_path, [web], record_set(TEXT)), tmp_path / "out", to="dolma")
    (tmp_path / "notes.json").write_text("[", "utf-8")
    with pytest.raises(BadInput, match="CRO10"):
        corpusfmt.convert(tmp_path / "notes.json", tmp_path / "out", to="dolma", format="croissant")


@pytest.mark.parametrize("changed", ["t.jsonl", "metadata.json"])
def test_what_changed_since_a_stop_starts_anew(changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(number), "text": LONG_LINE} for number in range(4)]
    path, out = described(tmp_path, rows, ID, TEXT), tmp_path / "out"
    run = import_module("corpusfmt.conversion.run")
    monkeypatch.setattr(run, "seal", None)
    with pytest.raises(TypeError):
        corpusfmt.convert(path, out, to="dolma", part_bytes=150)
    monkeypatch.undo()
    assert len([name for name in tree(out) if name.startswith("documents/")]) == 4
    if changed == "t.jsonl":
        described(tmp_path, rows[:1], ID, TEXT)
    else:
        described(tmp_path, rows, ID, field("text", "t.jsonl", {"column": "id"}))
    os.utime(tmp_path / changed, ns=(1, 1))
    corpusfmt.convert(path, out, to="dolma", part_bytes=150)
    corpusfmt.convert(path, tmp_path / "fresh" / "out", to="dolma", part_bytes=150)
    assert tree(out) == tree(tmp_path / "fresh" / "out")
    assert len(read_rows(out)) == (1 if changed == "t.jsonl" else 4)


def test_records_are_called_by_their_description_and_name() -> None:
    fmt, version = named_format("croissant-1.0")
    assert fmt.reader is not None
    assert fmt.reader.plan is not None
    options = CheckOptions(version=version, reading=ReadOptions(field={"text": "caption"}))
    (shard,) = fmt.reader.plan(entry_of(str(CAPTIONS)), options).shards
    assert shard.name == "metadata.json captions"
