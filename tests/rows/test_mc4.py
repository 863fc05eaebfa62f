"""mC4: the language is that of the file's name, and rows with ids are of another format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import corpusfmt
from corpusfmt.formats import detect
from corpusfmt.io.paths import entry_of

ROW = {"text": "eins", "timestamp": "2019-04-25T12:57:54Z", "url": "http://example.org/"}


@pytest.mark.parametrize(
    ("name", "source", "language"),
    [
        ("multilingual/c4-de.tfrecord-00000-of-02048.json.gz", "mc4", "de"),
        ("multilingual/c4-zh-Latn.tfrecord-00000-of-00001.json.gz", "mc4", "zh-Latn"),
        ("c4-haw-validation.tfrecord-00000-of-00001.json.gz", "mc4", "haw"),
        ("en/c4-train.00000-of-01024.json.gz", "c4", "en"),
        ("en.noblocklist/c4-validation.00000-of-00008.json.gz", "c4", "en"),
        ("c4-train.00000-of-01024.json.gz", "c4", None),
        ("pages.json.gz", "jsonl", None),
    ],
)
def test_a_document_has_the_source_and_language_of_its_file(
    name: str, source: str, language: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "pages" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(json.dumps(ROW).encode() + b"\n"))
    assert corpusfmt.convert(tmp_path / "pages", tmp_path / "out", to="dolma").coverage.documents == 1
    (written,) = (tmp_path / "out/documents").rglob("*.gz")
    document = json.loads(gzip.decompress(written.read_bytes()))
    assert document["id"].startswith(f"{name}:1:")
    assert document["source"] == source
    made = {"made": ["source", "language"] if language else ["source"]}
    assert json.loads(document["metadata"].pop("corpusfmt_row")) == made
    expected = {"timestamp": ROW["timestamp"], "url": ROW["url"], "corpusfmt_synthetic_id": True}
    assert document["metadata"] == expected | ({"language": language} if language else {})


def test_rows_with_ids_are_not_of_mc4(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(ROW | {"id": "1"}).encode() + b"\n"))
    assert detect(entry_of(str(tmp_path)))[0].name == "jsonl"


def test_what_each_field_is_described_as(tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(json.dumps(ROW).encode() + b"\n"))
    (records,) = corpusfmt.describe(tmp_path)["recordSet"]
    assert [(each["name"], each["dataType"], each["description"]) for each in records["field"]] == [
        ("text", "sc:Text", "Text of the page"),
        ("timestamp", "sc:DateTime", "When the page was crawled"),
        ("url", "sc:URL", "Address of the page"),
    ]
