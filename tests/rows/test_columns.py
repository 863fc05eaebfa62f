"""Column profiles: rows in the published shapes are detected, valid, and the same after a conversion and back."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lz4.frame
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import of_data, run_cli, tree, zstd

import corpusfmt
from corpusfmt.formats import CheckOptions, ReadOptions, Shard, detect, formats
from corpusfmt.formats.columns import best_columns, columns_names, load_columns
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.formats.rows.columned import ColumnRecords, restored
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.paths import entry_of
from corpusfmt.io.text import json_line, path_to
from corpusfmt.model import BadInput, Document, UsageError

Json = dict[str, Any]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstd.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "lz4": lz4.frame.compress,
}
WARC = {
    "WARC-Date": "2013-05-18T05:48:59Z",
    "WARC-Record-ID": "<urn:uuid:0da49ea7-8fb9-41f6-bc30-1b60f2e97604>",
    "Content-Length": "61769",
}


def url(number: int) -> str:
    return f"https://example.org/{number}"


def text(number: int) -> str:
    return f"Absatz {number}: größer\nals \U0001f642, mit „Zitat“ und \t Tab"


def web(number: int, language: str) -> Json:
    return {
        "text": text(number),
        "id": f"<urn:uuid:0da49ea7-8fb9-41f6-bc30-{number:012x}>",
        "dump": "CC-MAIN-2023-50",
        "url": url(number),
        "date": "2023-11-30T07:12:01Z",
        "file_path": "s3://commoncrawl/crawl-data/CC-MAIN-2023-50/x.warc.gz",
        "language": language,
        "language_score": 0.5 + number / 100,
    }


def hplt(number: int) -> Json:
    return {
        "f": "./wide00015/x.warc.gz", "o": 374173 + number, "s": 8078, "rs": 59354, "u": url(number), "c": "text/html",
        "ts": "2023-10-13T03:53:51Z", "lang": ["deu_Latn", "eng_Latn"], "prob": [0.9, 0.05], "text": text(number),
        "seg_langs": ["deu_Latn", "deu_Latn"], "id": f"{number:032x}", "filter": "keep", "pii": [[3, 9]],
        "doc_scores": [8.4, 10.0],
    }  # fmt: skip


SHAPES: dict[str, tuple[str, Callable[[int], Json]]] = {
    "fineweb": ("data/00000.jsonl.gz", lambda n: web(n, "en") | {"token_count": 7 * n}),
    "fineweb-edu": (
        "data/CC-MAIN-2023-50/000_00000.jsonl.gz",
        lambda n: web(n, "en") | {"token_count": 7 * n, "score": 2.5 + n, "int_score": 3},
    ),
    "fineweb-2": (
        "data/deu_Latn/00000.jsonl.gz",
        lambda n: web(n, "deu")
        | {"language_script": "Latn", "minhash_cluster_size": n, "top_langs": '{"deu_Latn": 0.9}'},
    ),
    "c4": (
        "en/c4-train.00000-of-01024.json.gz",
        lambda n: {"text": text(n), "timestamp": "2019-04-25T12:57:54Z", "url": url(n)},
    ),
    "mc4": (
        "multilingual/c4-de.tfrecord-00000-of-00002.json.gz",
        lambda n: {"text": text(n), "timestamp": "2019-04-25T12:57:54Z", "url": url(n)},
    ),
    "dclm": (
        "global-shard_01_of_10/local-shard_0_of_10/shard_00000001_processed.jsonl.zst",
        lambda n: {
            "bff_contained_ngram_count_before_dedupe": n,
            "language_id_whole_page_fasttext": {"en": 0.95},
            "metadata": WARC,
            "previous_word_count": 100 + n,
            "text": text(n),
            "url": url(n),
            "warcinfo": "robots: classic\r\nformat: WARC File Format 1.0\r\n",
            "fasttext_openhermes_reddit_eli5_vs_rw_v2_bigram_200k_train_prob": 0.02 * n,
        },
    ),
    "pile": ("00.jsonl.zst", lambda n: {"text": text(n), "meta": {"pile_set_name": "Pile-CC"}}),
    "slimpajama": (
        "train/chunk1/example_train_0.jsonl.zst",
        lambda n: {"text": text(n), "meta": {"redpajama_set_name": "RedPajamaBook"}},
    ),
    "redpajama-1": (
        "wikipedia/wiki.jsonl",
        lambda n: {
            "text": text(n),
            "meta": {"url": url(n), "timestamp": "20230320", "language": "de", "title": "x"} if n % 2 else '{"a": 1}',
            "red_pajama_subset": "wikipedia",
        },
    ),
    "redpajama-2": (
        "documents/2023-06/0000/de_head.json.gz",
        lambda n: {
            "url": url(n), "date_download": "2023-01-31T07:03:04Z", "digest": "sha1:RFHLKOAH", "length": 80,
            "nlines": 2, "source_domain": "example.org", "title": "Titel", "raw_content": text(n),
            "cc_segment": "crawl-data/CC-MAIN-2023-06/x.warc.wet.gz", "original_nlines": 9, "original_length": 400,
            "line_ids": [0, 3], "language": "de", "language_score": 0.98, "perplexity": 150.2, "bucket": "head",
        },
    ),
    "culturax": (
        "de/de_part_00000.jsonl.lz4",
        lambda n: {"text": text(n), "timestamp": "2019-01-22T00:00:00Z", "url": url(n), "source": "OSCAR-2301"},
    ),
    "madlad-400": ("data-v1p5/ctd_Latn/clean_docs_v2-00002-of-00010.jsonl.gz", lambda n: {"text": f"a\\n{n}"}),
    "hplt-2": (
        "deu_Latn/1.jsonl.zst",
        lambda n: hplt(n) | {"collection": "wide15", "robotstxt": "allowed"},
    ),
    "hplt-3": (
        "deu_Latn/10_1.jsonl.zst",
        lambda n: hplt(n)
        | {"crawl_id": "CC-MAIN-2014", "de": "windows-1252", "xml": "<doc/>", "html_lang": ["de"], "cluster_size": n}
        | {"web-register": {"MT": 0.01, "NA": 0.7}},
    ),
    "common-pile": (
        "documents/00000_wikimedia.jsonl.gz",
        lambda n: {
            "id": str(n),
            "text": text(n),
            "source": "wikimedia",
            "added": "2025-02-18T01:02:03.000456",
            "created": "2025-01-01T00:00:00",
            "metadata": {"license": "CC0", "url": url(n), "authors": ["a", "b"]},
        },
    ),
    "txt360": (
        "data/wikipedia/en/chunk_1.jsonl.gz",
        lambda n: {"text": text(n), "meta": {"url": url(n), "title": "Titel"}, "subset": "wikipedia"},
    ),
    "dolma-3": (
        "data/common_crawl-sports/shard_00000001.jsonl.zst",
        lambda n: {
            "id": f"{n:08x}",
            "text": text(n),
            "metadata": WARC | {"cc_dump": "CC-MAIN-2020-05", "minhash": {"cc_size": n}},
            "original_word_count": 5 * n,
            "sa_remove_ranges": [[0, 4]],
            "warcinfo": "isPartOf: CC-MAIN-2020-05\r\n",
        },
    ),
    "colossal-oscar": (
        "de_meta/de_meta_part_1.jsonl.zst",
        lambda n: {
            "content": text(n),
            "warc_headers": {
                "warc-record-id": f"<urn:uuid:0da49ea7-8fb9-41f6-bc30-{n:012x}>",
                "warc-date": "2023-01-29T01:02:03Z",
                "warc-target-uri": url(n),
                "content-type": "text/plain",
                "content-length": "90",
            },
            "metadata": {
                "identification": {"label": "de", "prob": 0.9},
                "harmful_pp": 1.5,
                "tlsh": None,
                "quality_warnings": None,
                "categories": None,
                "sentence_identifications": [{"label": "de", "prob": 0.9}, None],
            },
        },
    ),
}  # fmt: skip
#: Formats with these rows that are detected as such.
DETECTED = {"c4": "mc4", "mc4": "mc4", "common-pile": "dolma", "colossal-oscar": "oscar2"}


def compressed(name: str, data: bytes) -> bytes:
    return COMPRESS.get(name.rpartition(".")[2], bytes)(data)


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def write(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compressed(path.name, lines(rows)))
    return path


def rows_below(folder: Path) -> list[Any]:
    files = sorted(folder.rglob("*.jsonl.gz"))
    return [json.loads(line) for path in files for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]


def test_every_profile_has_a_shape_here() -> None:
    others = {name for name in columns_names() if load_columns(name).format == "text" or load_columns(name).is_table}
    assert columns_names() == sorted({*SHAPES, *others})


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_rows_of_a_published_corpus_come_back(name: str, tmp_path: Path) -> None:
    place, row_of = SHAPES[name]
    rows = [row_of(number) for number in range(10)]
    write(tmp_path / "in" / place, rows)
    assert detect(entry_of(str(tmp_path / "in")))[0].name == DETECTED.get(name, "jsonl")
    found = corpusfmt.validate(tmp_path / "in")
    assert (found.verdict.value, found.coverage.documents) == ("valid", 10)
    named = corpusfmt.validate(tmp_path / "in", columns=name, profile="strict", ignore=["GEN403"])
    assert (named.verdict.value, named.findings, named.coverage.documents) == ("valid", [], 10)

    corpusfmt.convert(tmp_path / "in", tmp_path / "dolma", to="dolma", columns=name)
    dolma = corpusfmt.validate(tmp_path / "dolma", profile="strict")
    assert (dolma.format, dolma.coverage.documents) == ("dolma", 10)
    assert not any(each.severity == "error" for each in of_data(dolma))
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    assert rows_below(tmp_path / "back/data") == rows


#: Rows of these have no language, which OSCAR needs.
WITHOUT_LANGUAGE = {"pile", "slimpajama", "redpajama-1", "dolma-3", "txt360"}
ODD: list[Json] = [
    {"zz": None, "": 2**70, "a b": [1, "a", None]},
    {"zz": {"": [{"c": 1e300}]}, "Text": "\x00\u2028\ufeff", "A": -0.0},
    {"zz": "null", "corpusfmt_row": "01", "attributes": {}, "added": 2**53 + 1},
]


RETURNS = [
    (name, way)
    for name in sorted(SHAPES.keys() - {"common-pile"})
    for way in ("dolma", "oscar", "parquet", "jsonl")
    if (name, way) not in {(each, "oscar") for each in WITHOUT_LANGUAGE}
]


@pytest.mark.parametrize(("name", "way"), RETURNS)
def test_rows_come_back_from_every_target(name: str, way: str, tmp_path: Path) -> None:
    place, row_of = SHAPES[name]
    rows = [dict(reversed((row_of(number) | odd).items())) for number, odd in enumerate(ODD)]
    write(tmp_path / "in" / place, rows)
    corpusfmt.convert(tmp_path / "in", tmp_path / "there", to=way, columns=name)
    assert corpusfmt.validate(tmp_path / "there/croissant.json", data=True).verdict.value == "valid"
    corpusfmt.convert(tmp_path / "there", tmp_path / "back", to="jsonl", format=way)
    assert rows_below(tmp_path / "back/data") == rows


@pytest.mark.parametrize("name", sorted(SHAPES.keys() - {"common-pile"}))
def test_rows_that_are_converted_together_become_the_same_bytes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, row_of = SHAPES[name]
    good = [row_of(number) | odd for number, odd in enumerate([*ODD, *[{}] * 400])]
    field = str(load_columns(name).fields.text)
    without_text: Json = row_of(500) | {field: None}
    rows: list[Any] = [*good, without_text, [row_of(501)], *map(row_of, range(502, 900)), good[5]]
    if load_columns(name).fields.id is not None:
        rows.pop()  # its id is known
    write(tmp_path / "in" / place, rows)

    def converted(target: Path) -> dict[str, bytes]:
        corpusfmt.convert(tmp_path / "in", target, to="dolma", columns=name, on_bad_record="quarantine")
        return tree(target) | tree(target.with_name(f"{target.name}-quarantine"))

    together = converted(tmp_path / "together")
    reader = formats()["jsonl"].reader
    assert reader is not None
    assert isinstance(reader.batches, dict)
    monkeypatch.delitem(reader.batches, EncodedRows)
    assert converted(tmp_path / "singly") == together


_PAGES = {"text": "x", "timestamp": "2019-04-25T12:57:54Z", "url": "u"}
_MINED = SHAPES["redpajama-2"][1](1)


@pytest.mark.parametrize(
    ("place", "row", "options", "source"),
    [
        ("en/c4-train.00000-of-01024.json.gz", _PAGES, {}, "c4"),
        ("pages.jsonl.gz", _PAGES, {}, "jsonl"),
        ("pages.jsonl.gz", _PAGES, {"columns": "c4"}, "c4"),
        ("documents/2023-06/0000/de_head.json.gz", _MINED, {}, "redpajama-2"),
        ("mined/2019-09/de_head_0000.json.gz", _MINED, {}, "jsonl"),
        (
            "mined/2019-09/de_head_0000.json.gz",
            _MINED,
            {"columns": "redpajama-2", "field": {"source": "bucket"}},
            "head",
        ),
        ("00.jsonl.zst", SHAPES["pile"][1](1), {}, "Pile-CC"),
        ("00.jsonl.zst", SHAPES["slimpajama"][1](1), {}, "RedPajamaBook"),
        ("data/common_crawl-sports/a.jsonl.zst", SHAPES["dolma-3"][1](1), {}, "common_crawl-sports"),
        ("data/wiki/en/chunk_1.jsonl.gz", SHAPES["txt360"][1](1), {}, "wikipedia"),
        ("data/common-crawl/CC/1/a.jsonl", {"text": "x", "meta": "{}"}, {"columns": "txt360"}, "common-crawl"),
        ("a.jsonl", {"text": "x", "meta": {"set": "news"}}, {"field": {"source": "/meta/set"}}, "news"),
        ("a.jsonl", {"text": "x", "meta": {"set": 7}}, {"field": {"source": "/meta/set"}}, "jsonl"),
        ("a.jsonl", {"text": "x", "set": ""}, {"field": {"source": "set"}, "source_name": "own"}, "own"),
        ("a.jsonl", {"text": "x", "source": "s", "set": "news"}, {"field": {"source": "set"}}, "s"),
    ],
)
def test_the_source_is_part_of_what_a_document_is(
    place: str, row: Json, options: Json, source: str, tmp_path: Path
) -> None:
    write(tmp_path / "in" / place, [row])
    corpusfmt.convert(tmp_path / "in", tmp_path / "dolma", to="dolma", **options)
    assert [each["source"] for each in rows_below(tmp_path / "dolma/documents")] == [source]
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    assert rows_below(tmp_path / "back/data") == [row]


def test_ids_are_unique_in_the_source_that_a_field_names(tmp_path: Path) -> None:
    rows = [{"id": 1, "text": "x", "set": name} for name in ("a", "b")]
    write(tmp_path / "in/a.jsonl", rows)
    assert corpusfmt.validate(tmp_path / "in", field={"source": "set"}).by_rule == {}
    assert corpusfmt.validate(tmp_path / "in").by_rule == {"GEN401": 1}
    assert corpusfmt.stats(tmp_path / "in", field={"source": "set"}).by_source.keys() == {"a", "b"}


def test_without_its_origin_a_row_keeps_what_no_field_can_hold(tmp_path: Path) -> None:
    rows = [{"id": 1, "text": "x", "set": "a"}, {"id": 2, "text": "y", "metadata": {"k": 1}, "attributes": 7}]
    write(tmp_path / "in/a.jsonl", rows)
    corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma", no_origin=True)
    first, second = rows_below(tmp_path / "out/documents")
    assert first == {"id": "1", "text": "x", "source": "jsonl", "metadata": {"set": "a"}}
    assert json.loads(second["metadata"]["corpusfmt_row"])["displaced"] == {"attributes": 7}
    with pytest.raises(UsageError, match="`no_origin` does not apply to dolma"):
        corpusfmt.convert(tmp_path / "out", tmp_path / "again", to="parquet", no_origin=True)


def test_dolma_3_under_another_name_is_read_as_named(tmp_path: Path) -> None:
    rows = [SHAPES["dolma-3"][1](number) for number in range(10)]
    source = write(tmp_path / "in/a.jsonl.gz", rows).parent
    report = corpusfmt.validate(source)
    assert (report.format, report.by_rule) == ("jsonl", {})
    named = corpusfmt.validate(source, columns="dolma-3", profile="strict")
    assert (named.format, named.verdict.value, named.findings) == ("jsonl", "valid", [])
    corpusfmt.convert(source, tmp_path / "dolma", to="dolma", columns="dolma-3")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    assert rows_below(tmp_path / "back/data") == rows


def as_table(path: Path, rows: list[Json]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


# Those of rows whose objects differ, and those that need the names of JSON Lines, are not published as tables.
TABLES = sorted(SHAPES.keys() - {"redpajama-1", "madlad-400", "dolma-3"})


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_a_published_corpus_come_back(name: str, tmp_path: Path) -> None:
    place, row_of = SHAPES[name]
    rows = [row_of(number) for number in range(3)]
    as_table(tmp_path / "in" / f"{place.removeprefix('documents/').partition('.json')[0]}.parquet", rows)
    evidence = detect(entry_of(str(tmp_path / "in")))[1].evidence
    assert evidence.endswith(f"(column profile {name})")
    for columns in (None, name):
        report = corpusfmt.validate(tmp_path / "in", columns=columns, profile="strict", ignore=["GEN403"])
        assert (report.format, report.findings, report.coverage.documents) == ("parquet", [], 3)

    corpusfmt.convert(tmp_path / "in", tmp_path / "dolma", to="dolma", columns=name)
    dolma = corpusfmt.validate(tmp_path / "dolma", profile="strict")
    assert (dolma.format, dolma.coverage.documents) == ("dolma", 3)
    assert not any(each.severity == "error" for each in of_data(dolma))
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    assert rows_below(tmp_path / "back/data") == rows
    text_of = [row[str(load_columns(name).fields.text)] for row in rows]
    assert [document.text for document in corpusfmt.read(tmp_path / "in")] == text_of
    assert corpusfmt.describe(tmp_path / "in")["recordSet"]


def test_a_table_needs_the_fields_of_its_profile(tmp_path: Path) -> None:
    row = SHAPES["fineweb"][1](1)
    path = as_table(tmp_path / "a.parquet", [row, row | {"id": "2", "url": None}])
    (found,) = corpusfmt.validate(path).findings
    assert (found.code, found.location.line) == ("PQT304", 2)
    assert found.message == "`url` is null, expected a string (column profile fineweb)"
    assert {each.code for each in corpusfmt.validate(path, columns="redpajama-2").findings} == {"PQT201"}
    with pytest.raises(BadInput, match=r"a\.parquet:2: PQT304"):
        corpusfmt.convert(path, tmp_path / "out", to="dolma")


def test_an_id_in_an_object_of_a_table_is_judged(tmp_path: Path) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text('summary = "s"\n[fields]\nid = "/meta/key"\n')
    rules = {}
    for kind, meta in {"good": {"key": 7}, "float": {"key": 0.5}, "none": {"other": "x"}, "bytes": b"x"}.items():
        report = corpusfmt.validate(
            as_table(tmp_path / f"{kind}.parquet", [{"text": "x", "meta": meta}]), columns=str(profile)
        )
        rules[kind] = sorted(report.by_rule)
    assert rules == {"good": [], "float": ["PQT202"], "none": ["PQT202"], "bytes": ["PQT202", "PQT203"]}


def test_a_table_of_another_writer_comes_back_without_a_profile(tmp_path: Path) -> None:
    row = {"number": 5, "body": "x", "metadata": {"a": 1}, "url": "u", "version": 2, "created": None}
    path = as_table(tmp_path / "a.parquet", [row])
    corpusfmt.convert(path, tmp_path / "dolma", to="dolma", field={"text": "body", "id": "number", "url": "url"})
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="jsonl")
    assert rows_below(tmp_path / "back/data") == [row]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from([*"ab", "url"]), inner, max_size=2),
    max_leaves=4,
)
_NAMES = [
    "id",
    "text",
    "source",
    "added",
    "created",
    "metadata",
    "attributes",
    "version",
    "url",
    "language",
    "lang",
    "x",
]
_OWN = st.sampled_from(["corpusfmt_row", "corpusfmt_synthetic_id"])
_ROWS = st.dictionaries(st.sampled_from(_NAMES) | _OWN, _JSON, max_size=6)
_READING = st.sampled_from(
    [
        ReadOptions(),
        ReadOptions(field={"text": "x", "url": "/metadata/url", "language": "lang"}),
        ReadOptions(field={"id": "x", "created": "url"}, source="web"),
        ReadOptions(field={"id": "text"}, columns="dclm"),
        ReadOptions(field={"text": "/x/text"}),
        ReadOptions(field={"text": "/metadata/a~1b/text", "id": "/metadata/id"}),
    ]
)


@given(_ROWS, st.text("ab \n", max_size=3), st.text("ab", min_size=1) | st.integers(-99, 99), _READING)
def test_any_row_comes_back_through_dolma(row: Json, words: str, identity: str | int, reading: ReadOptions) -> None:
    named: Json = {reading.field.get("id", "id"): identity, reading.field.get("text", "text"): words}
    for path, value in ((path_to(name), value) for name, value in named.items()):
        row = row | reduce(lambda inner, step: {step: inner}, reversed(path), value)
    if reading.field.get("id") == "text":
        row["text"] = words or "x"
    records = ColumnRecords(Shard(0, "a.jsonl", {}), CheckOptions(reading=reading))
    document = records.document(row, 1)
    (again,) = read_dolma(json_line(fields_of(document)))
    assert restored(again) == row


def read_dolma(line: bytes) -> list[Document]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(line)
        fmt, options = formats()["dolma"], CheckOptions(version="1.0")
        assert fmt.reader is not None
        (shard,) = fmt.plan(entry_of(str(path)), options).shards
        found = list(fmt.reader.read(shard, options))
    return [each for each in found if isinstance(each, Document)]


@pytest.mark.parametrize(
    "mark", ["", "[]", '{"text": 5}', '{"more": 1}', '{"text": "id", "id": "id"}', '{"text": "u"}', "\\"]
)
def test_a_mark_of_others_loses_nothing(mark: str) -> None:
    document = Document("1", "words", "web", metadata={"u": 1, "corpusfmt_row": mark})
    assert restored(document) == fields_of(document)


def test_a_row_is_of_the_profile_with_most_of_its_fields() -> None:
    page = {"text": "x", "timestamp": "2019-04-25T12:57:54Z", "url": "u"}

    def name_of(row: Json, path: str = "a.jsonl") -> str | None:
        found = best_columns(row, path)
        return found.name if found else None

    assert name_of(page) == "c4"
    assert name_of(page, "c4-de.tfrecord-00000-of-00002.json.gz") == "mc4"
    assert name_of(page | {"source": "mC4"}) == "culturax"
    assert name_of(page | {"id": "1"}) is None
    assert name_of({"text": "x"}) is None
    assert name_of({"text": "x"}, "in/deu_Latn/clean_docs_v2-00000-of-00001.jsonl.gz") == "madlad-400"
    assert name_of({"id": "1", "text": "x", "metadata": {}}) is None
    assert name_of({"id": "1", "text": "x", "metadata": {}}, "a.jsonl.zst") == "dolma-3"


def test_dolma_keeps_its_folders_and_rows(tmp_path: Path) -> None:
    fineweb = SHAPES["fineweb"][1](1)
    write(tmp_path / "1/documents/a.jsonl", [fineweb])
    write(tmp_path / "2/a.jsonl.gz", [fineweb | {"source": "web"}])
    write(tmp_path / "3/a.jsonl", [{"id": "1", "text": "x", "source": "web"}])
    write(tmp_path / "4/documents/2023-06/0000/en_head.json.gz", [{"id": "1", "text": "x"}])
    assert [detect(entry_of(str(tmp_path / name)))[0].name for name in "1234"] == ["dolma"] * 4


def test_a_field_that_the_last_of_many_rows_lacks_is_found(tmp_path: Path) -> None:
    row = {"text": "x", "timestamp": "2019-04-25T12:57:54Z", "url": "u"}
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines([row]) * 99_999 + lines([{"text": "x", "timestamp": ""}]))
    (found,) = corpusfmt.validate(path, columns="c4").findings
    assert (found.code, found.location.line, found.message) == (
        "JSL301",
        100_000,
        "`url` is missing, expected a string",
    )


def test_fields_by_options(tmp_path: Path) -> None:
    row = {"body": "x", "page": {"href": "u"}, "when": "2020-01-02", "langs": ["deu_Latn", "fr"], "n": 5}
    path = write(tmp_path / "a.jsonl", [row])
    corpusfmt.convert(
        path, tmp_path / "out", to="dolma", format="jsonl", source_name="web",
        field={"text": "body", "id": "n", "url": "/page/href", "created": "when", "language": "langs"},
    )  # fmt: skip
    (found,) = rows_below(tmp_path / "out/documents")
    metadata = found.pop("metadata")
    assert found == {"id": "5", "text": "x", "source": "web", "created": "2020-01-02"}
    assert (metadata["url"], metadata["language"]) == ("u", "deu_Latn")
    named: Any = {
        "field": {"text": "body", "id": "n", "url": "/page/href", "created": "when", "language": "langs"}
    }  # fmt: skip
    (document,) = corpusfmt.read(path, format="jsonl", **named)
    assert (document.id, document.created, document.lang) == ("5", "2020-01-02", "deu_Latn")
    assert corpusfmt.validate(path, format="jsonl", **named).verdict == "valid"
    assert corpusfmt.stats(path, format="jsonl", **named).to_dict()["languages"].keys() == {"deu_Latn"}
    assert (
        corpusfmt.compare(path, path, old_format="jsonl", new_format="jsonl", **named).as_json()["documents"]["same"]
        == 1
    )
    fields = corpusfmt.describe(path, **named)["recordSet"][0]["field"]
    assert ("when", "When the document was created") in [(each["name"], each["description"]) for each in fields]
    with pytest.raises(UsageError, match="dolma has fixed field names"):
        corpusfmt.validate(tmp_path / "out", **named)


PROFILE = """
[fields]
text = "body"
created = "/at/day"
[required]
body = "string"
[optional]
n = ["integer", "string"]
[files]
names = ["{language}/*.jsonl"]
without-script = true
"""


def test_a_profile_in_a_file(tmp_path: Path) -> None:
    profile = tmp_path / "mine.toml"
    profile.write_text(f'summary = "Mine"{PROFILE}', "utf-8")
    write(tmp_path / "in/deu_Latn/a.jsonl", [{"body": "x", "at": {"day": "2020-01-02"}}, {"body": "y", "n": 1.5}])
    report = corpusfmt.validate(tmp_path / "in", columns=profile)
    assert [(each.code, each.severity.value, each.location.line) for each in report.findings] == [
        ("JSL303", "warning", 2)
    ]
    assert [(each.text, each.lang, each.source) for each in corpusfmt.read(tmp_path / "in", columns=profile)] == [
        ("x", "deu", "mine"),
        ("y", "deu", "mine"),
    ]
    assert corpusfmt.stats(tmp_path / "in", columns=profile).to_dict()["languages"].keys() == {"deu"}
    for command in ("show in", "stats in", "compare in in", "datasheet in -o x.html"):
        assert run_cli(*command.split(), "--columns", "mine.toml", cwd=tmp_path).returncode == 0
    corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma", columns=profile)
    one, two = rows_below(tmp_path / "out/documents")
    assert (one["created"], one["source"], one["metadata"]["language"]) == ("2020-01-02", "mine", "deu")
    assert two["metadata"]["n"] == 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`summary` is missing"),
        ('summary = "x"\nmore = 1', "unknown field `more`"),
        ('summary = "x"\n[required]\na = "text"', "Invalid enum value"),
        ('summary = "x"\n[files]\nnames = ["*/*/*/*"]', "more than 3 wildcards"),
        ("summary = ", "Invalid value"),
    ],
)
def test_profiles_that_cannot_be_used(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=rf"column profile .*mine\.toml: .*{message}"):
        load_columns(str(path))


def test_options_that_do_not_apply(dolma_corpus: Path, tmp_path: Path) -> None:
    page = write(tmp_path / "a.jsonl", [{"text": "x"}])
    with pytest.raises(UsageError, match="unknown column profile 'fine'; known: c4, "):
        corpusfmt.validate(page, columns="fine")
    for function in (corpusfmt.validate, corpusfmt.read, corpusfmt.stats):
        with pytest.raises(UsageError, match="dolma has no column profiles"):
            function(dolma_corpus, format="dolma", columns="c4")
        with pytest.raises(UsageError, match="dolma has fixed field names"):
            function(dolma_corpus, field={"text": "body"})
    with pytest.raises(UsageError, match="the column profile cc-100 is of text, the source is jsonl"):
        corpusfmt.validate(page, format="jsonl", columns="cc-100")
    with pytest.raises(UsageError, match="dolma has fixed field names: remove `field` url, or add `format`"):
        corpusfmt.convert(dolma_corpus, tmp_path / "out", to="jsonl", field={"url": "u"})
    with pytest.raises(UsageError, match="cannot read the column profile missing"):
        corpusfmt.validate(page, columns="missing.toml")


def test_a_pointer_is_not_read_by_a_conversion(tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", [{"text": "x"}])
    (tmp_path / "in/b.jsonl").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(BadInput, match=r"b\.jsonl: GEN105 the file is a pointer of Git LFS, expected data"):
        corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma")
    report = corpusfmt.convert(tmp_path / "in", tmp_path / "rest", to="dolma", on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["cut"], report.verdict.value) == (1, ["b.jsonl"], "incomplete")


def test_a_checkout_of_pointers_is_told(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    for name in ("a.jsonl.zst", "b.jsonl"):
        (tmp_path / name).write_bytes(pointer)
    (tmp_path / "config.json").write_text('{"name": "x"}', "utf-8")
    report = corpusfmt.validate(tmp_path)
    assert (report.format, report.by_rule) == ("jsonl", {"GEN105": 2, "JSL104": 1})
    write(tmp_path / "c.jsonl", [SHAPES["hplt-2"][1](1)])
    assert "hplt-2" in detect(entry_of(str(tmp_path)))[1].evidence
    assert corpusfmt.validate(tmp_path).by_rule == {"GEN105": 2, "JSL104": 1}


def test_damaged_lz4_is_a_finding(tmp_path: Path) -> None:
    data = lz4.frame.compress(lines([{"text": text(n)} for n in range(2000)]), content_checksum=True)
    for number, damaged in enumerate(
        [data[:-9], data[:50] + b"\0" * 50 + data[100:], data + b"more", data[:-1] + b"x"]
    ):
        (tmp_path / "a.jsonl.lz4").write_bytes(damaged)
        expected = "GEN102" if number == 2 else "GEN101"
        assert expected in corpusfmt.validate(tmp_path / "a.jsonl.lz4", format="jsonl").by_rule
