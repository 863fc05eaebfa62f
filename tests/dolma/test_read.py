"""Reading documents: all content of a row, and nothing silently dropped."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from dolma.corpus import Json, attributes, documents, encoded, write

from corpusfmt.formats import CheckOptions, LeftOut, Rejected
from corpusfmt.formats.dolma.format import DOLMA, FORMAT
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, Document


def read(root: Path, **options: Any) -> list[Document | Rejected]:
    plan = FORMAT.plan(entry_of(str(root)), CheckOptions())
    assert FORMAT.reader is not None
    return [
        item
        for shard in plan.shards
        for item in FORMAT.reader.read(shard, CheckOptions(**options))
        if not isinstance(item, LeftOut)
    ]


def read_line(line: bytes, tmp_path: Path) -> Document | Rejected:
    (item,) = read(write(tmp_path, {"documents/a.jsonl": line}))
    return item


def test_documents_in_order_with_all_that_they_hold(tmp_path: Path) -> None:
    rows = documents(3000)
    rows[7] |= {"version": None, "attributes": {"a__b__c": [[0, 1, 1]]}, "licence": "CC0", "created": "2020-01-01"}
    found = read(
        write(tmp_path, {"documents/a.jsonl.zst": encoded(rows[:10]), "documents/b.jsonl.gz": encoded(rows[10:])})
    )
    assert [item.id for item in found if isinstance(item, Document)] == [row["id"] for row in rows]
    assert found[7] == Document(
        id="doc-7",
        text=rows[7]["text"],
        source="web",
        added="2023-04-07T15:24:38Z",
        created="2020-01-01",
        metadata={"n": 7},
        attributes={"a__b__c": [[0, 1, 1]]},
        extra={"version": None, "licence": "CC0"},
    )


@pytest.mark.parametrize(
    "row",
    [
        {"id": "1", "text": "t", "source": "s"},
        {
            "id": "1",
            "text": "",
            "source": "s",
            "added": "2023-04-07",
            "metadata": {},
            "attributes": {},
            "version": "v0",
            "x": [1, 2.5],
        },
        {"id": "1", "text": "t", "source": "s", "metadata": None, "version": None},
        {"id": "1", "text": "t", "source": "s", "metadata": {"wide": 2**70, "deep": [[[[[[[[[[]]]]]]]]]]}},
        {"id": "1", "text": "t", "source": "s", "added": "yesterday"},
    ],
)
def test_what_is_written_again_is_the_same(row: Json, tmp_path: Path) -> None:
    document = read_line(encoded([row]), tmp_path)
    assert isinstance(document, Document)
    assert DOLMA.item(document).value.fields == row


def test_a_document_may_do_without_a_source(tmp_path: Path) -> None:
    document = read_line(b'{"id":"1","text":"t"}\n', tmp_path)
    assert isinstance(document, Document)
    assert document.source is None


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"language": "de"}, "de"),
        ({"language": ["de"]}, None),
        ({}, None),
    ],
)
def test_languages(metadata: Json, language: str | None, tmp_path: Path) -> None:
    document = read_line(encoded([{"id": "1", "text": "t", "source": "s", "metadata": metadata}]), tmp_path)
    assert isinstance(document, Document)
    assert document.lang == language


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"id":"1","text":"t","source":"s"', "GEN301"),
        (b"", "GEN301"),
        (b'{"id":"1","text":"\xff","source":"s"}', "GEN201"),
        (b"[]", "DOL201"),
        (b'{"id":"1","text":"t","text":"u","source":"s"}', "DOL202"),
        (b'{"text":"t","source":"s"}', "DOL301"),
        (b'{"id":1,"text":"t","source":"s"}', "DOL302"),
        (b'{"id":"","text":"t","source":"s"}', "DOL303"),
        (b'{"id":"1","source":"s"}', "DOL304"),
        (b'{"id":"1","text":null,"source":"s"}', "DOL305"),
        (b'{"id":"1","text":"t","source":"s","created":null}', "DOL308"),
        (b'{"id":"1","text":"t","source":"s","added":null}', "DOL308"),
        (b'{"id":"1","text":"t","source":"s","metadata":{"n":1e999}}', "GEN303"),
        (b'{"id":"1","text":"t","source":1}', "DOL307"),
        (b'{"id":"1","text":"t","source":"s","added":5}', "DOL308"),
        (b'{"id":"1","text":"t","source":"s","metadata":"m"}', "DOL311"),
        (b'{"id":"1","text":"t","source":"s","attributes":[]}', "DOL312"),
    ],
)
def test_rows_that_cannot_be_documents_keep_their_bytes(line: bytes, code: str, tmp_path: Path) -> None:
    good = b'{"id":"2","text":"t","source":"s"}'
    first, rejected, last = read(write(tmp_path, {"documents/a.jsonl": b"\n".join([good, line, good]) + b"\n"}))
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(rejected, Rejected)
    assert (rejected.finding.code, rejected.finding.location.line, rejected.raw) == (code, 2, line)


def test_long_lines_and_broken_streams_end_as_rejected(tmp_path: Path) -> None:
    data = b'{"id":"1","text":"' + b"x" * 500 + b'","source":"s"}\n' + encoded(documents(1))
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(data)[:-6])
    items = read(tmp_path / "cut.jsonl.gz", max_line_bytes=300)
    assert [item.finding.code if isinstance(item, Rejected) else item.id for item in items] == [
        "GEN302",
        "doc-0",
        "GEN101",
    ]


def test_a_file_that_is_named_otherwise_is_rejected_whole(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(gzip.compress(json.dumps({"id": "1"}).encode()))
    (item,) = read(tmp_path / "a.jsonl")
    assert isinstance(item, Rejected)
    assert item.finding.code == "DOL101"


def test_every_rejected_row_is_told_however_many_there_are(tmp_path: Path) -> None:
    line = b'{"id":"1","text":"' + b"x" * 500 + b'","source":"s"}\n'
    assert len(read(write(tmp_path / "long", {"a.jsonl": line * 50}), max_line_bytes=300)) == 50
    assert len(read(write(tmp_path / "bad", {"a.jsonl": b"[]\n" * 50}))) == 50


def with_attributes(second: bytes, folder: Path, **options: Any) -> list[Document | Rejected]:
    """Read three documents whose attributes are fine, but for those of the second."""
    first, _, third = encoded(attributes(documents(3))).split(b"\n")[:3]
    rows = b"\n".join([first, second, third, b""])
    return read(
        write(folder, {"documents/a.jsonl": encoded(documents(3)), "attributes/pii/a.jsonl": rows}),
        **options,
    )


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (b"{", "GEN301"),
        (b'{"id":"doc-1","attributes":[]}', "DOL406"),
        (b'{"id":"doc-1","attributes":{"a__b__c":[[0,9999,1]]}}', "DOL604"),
        (b'{"id":"doc-1","attributes":{"note":"' + b"x" * 2000 + b'"}}', "GEN302"),
    ],
)
def test_a_wrong_row_of_attributes_rejects_its_document_alone(row: bytes, code: str, tmp_path: Path) -> None:
    first, rejected, last = with_attributes(row, tmp_path, max_line_bytes=1000)
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert isinstance(rejected, Rejected)
    at = rejected.finding.location
    assert (rejected.finding.code, at.path, at.line) == (code, "attributes/pii/a.jsonl", 2)


def test_a_wrong_row_of_attributes_must_be_of_its_document_too(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="DOL502"):
        with_attributes(b'{"id":"doc-7","attributes":[]}', tmp_path)
