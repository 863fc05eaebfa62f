"""Documents of a corpus in Python: all, some, sampled; faults are raised, skipped or passed on."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import gzipped

import corpusfmt
from corpusfmt import BadInput, Document, Finding, UsageError


def test_documents_of_oscar_and_of_its_dolma_are_the_same(oscar_corpus: Path, dolma_corpus: Path) -> None:
    found = list(corpusfmt.read(oscar_corpus))
    shards = sorted((dolma_corpus / "documents").rglob("*.gz"))
    rows = [json.loads(line) for shard in shards for line in gzip.decompress(shard.read_bytes()).splitlines()]
    assert [(each.id, each.text) for each in found] == [(row["id"], row["text"]) for row in rows]
    assert [each.id for each in corpusfmt.read(dolma_corpus)] == [row["id"] for row in rows]


def test_documents_are_chosen(oscar_corpus: Path) -> None:
    every = list(corpusfmt.read(oscar_corpus))
    german = corpusfmt.read(oscar_corpus, languages="de")
    assert [each.id for each in german] == [each.id for each in every if each.lang == "de"] != []
    assert list(german) == list(german), "each iteration reads again"
    assert list(corpusfmt.read(oscar_corpus, sources=["oscar"], limit=3)) == every[:3]
    assert not list(corpusfmt.read(oscar_corpus, sources="other"))
    assert not list(corpusfmt.read(oscar_corpus, limit=0))
    (narrow,) = corpusfmt.read(oscar_corpus, fields=["lang"], limit=1)
    assert dict(narrow) == {"id": every[0].id, "text": every[0].text, "lang": every[0].lang}


def test_a_sample_depends_on_its_seed_only(oscar_corpus: Path) -> None:
    every = [each.id for each in corpusfmt.read(oscar_corpus)]
    one, same, other = ([each.id for each in corpusfmt.read(oscar_corpus, sample=0.3, seed=n)] for n in (1, 1, 2))
    assert one == same != other
    assert len(every) * 0.15 < len(one) < len(every) * 0.5
    assert [each for each in every if each in set(one)] == one
    assert [each.id for each in corpusfmt.read(oscar_corpus, sample=1)] == every


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": 0}, "sample is 0, expected a share above 0 and at most 1, like 0.01"),
        ({"sample": 1.5}, "sample is 1.5, expected a share above 0 and at most 1, like 0.01"),
        ({"limit": -1}, "limit is -1, expected 0 or more"),
        (
            {"fields": ["id", "title"]},
            "unknown field 'title'; known: id, text, source, lang, added, created, metadata, attributes",
        ),
        ({"on_error": "stop"}, "on_error is 'stop', expected 'raise', 'skip' or a function"),
        ({"format": "croissant"}, "no record set has a text field: "),
    ],
)
def test_wrong_arguments(options: dict[str, object], message: str, oscar_corpus: Path) -> None:
    with pytest.raises(UsageError) as raised:
        corpusfmt.read(oscar_corpus, **options)  # type: ignore[arg-type]
    assert str(raised.value).startswith(message)


def test_a_bad_record_is_raised_skipped_or_passed_on(tmp_path: Path) -> None:
    rows = [b'{"id":"1","text":"a","source":"s"}', b'{"id":"2","text":', b'{"id":"3","text":"c","source":"s"}']
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/a.jsonl.gz").write_bytes(gzipped(b"\n".join(rows) + b"\n"))
    found = corpusfmt.read(tmp_path)
    with pytest.raises(BadInput, match=r"documents/a\.jsonl\.gz:2:18: GEN301 "):
        list(found)
    skipping = corpusfmt.read(tmp_path, on_error="skip")
    assert [each.id for each in skipping] == ["1", "3"]
    assert skipping.skipped == 1
    passed_on: list[Finding] = []
    assert [each.id for each in corpusfmt.read(tmp_path, on_error=passed_on.append)] == ["1", "3"]
    assert [(each.code, each.location.line) for each in passed_on] == [("GEN301", 2)]


def test_unreadable_data_is_never_skipped(oscar_corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(oscar_corpus / "de", tmp_path / "de")
    (tmp_path / "de/de.txt.gz").unlink()
    (tmp_path / "de/de.txt.gz").symlink_to("/etc/passwd")
    with pytest.raises(BadInput, match="GEN0"):
        list(corpusfmt.read(tmp_path, on_error="skip"))


def test_a_document_is_a_row_for_data_frames() -> None:
    document = Document("1", "<b> text", source="s", metadata={"a": 1})
    assert dict(document) == {"id": "1", "text": "<b> text", "source": "s", "metadata": {"a": 1}}
    assert (len(document), list(document), document["lang"]) == (4, ["id", "text", "source", "metadata"], None)
    with pytest.raises(KeyError):
        document["title"]
    assert document._repr_html_() == (
        "<table><tr><th>id</th><td>1</td></tr><tr><th>source</th><td>s</td></tr>"
        "<tr><th>metadata</th><td>{&#x27;a&#x27;: 1}</td></tr></table>"
        '<pre style="white-space: pre-wrap">&lt;b&gt; text</pre>'
    )
    assert "y… [3,000 characters]</pre>" in Document("1", "y" * 3_000)._repr_html_()
    assert issubclass(Document, Mapping)


def test_progress_is_told_after_each_shard(oscar_corpus: Path) -> None:
    told: list[Any] = []
    documents = corpusfmt.read(oscar_corpus, languages="de", progress=told.append)
    assert told == []
    assert len(list(documents)) == 1
    shards = told[0].shards_total
    assert [each.shards for each in told] == list(range(shards + 1))
    assert told[-1].bytes == told[-1].bytes_total > 0


def test_what_is_read_is_displayed_and_a_data_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"source": "s", "metadata": {"language": "<b>"}, "added": "2024-01-02T03:04:05.000Z", "text": "A text."}
    rows = [json.dumps({"id": str(number), **row}) + "\n" for number in range(9)]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/a.jsonl.gz").write_bytes(gzipped("".join(rows).encode()))
    documents = corpusfmt.read(tmp_path, languages=["<b>"])
    shown = documents._repr_html_()
    assert (shown.count("<tr>"), shown.count("<td>&lt;b&gt;</td>")) == (6, 5), "heads, and the first documents"
    assert "dolma, 1 shard&gt;" in shown
    frames = SimpleNamespace(DataFrame=lambda rows: [dict(row) for row in rows])
    monkeypatch.setitem(sys.modules, "pandas", frames)
    assert documents.to_pandas() == [dict(each) for each in documents]
    for result in (corpusfmt.stats(tmp_path), corpusfmt.compare(tmp_path, tmp_path)):
        assert "<td>9</td>" in result._repr_html_()
    sheet = corpusfmt.datasheet(tmp_path, statistics=corpusfmt.stats(tmp_path), verdict=corpusfmt.validate(tmp_path))
    assert sheet.to_html().startswith("<!doctype html>\n")
    assert corpusfmt.detect(tmp_path).format == "dolma"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (corpusfmt.detect, "name one with `format` ("),
        (corpusfmt.verify, "with `manifest`, or write it with `corpusfmt seal`"),
    ],
)
def test_messages_name_arguments(call: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("{}")
    with pytest.raises(UsageError) as error:
        call(tmp_path)
    assert said in str(error.value)
