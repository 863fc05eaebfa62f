"""Whatever goes into another format comes back: text, fields, order, and for our own corpora every byte."""

from __future__ import annotations

import gzip
import json
import tempfile
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import read_rows, write_rows
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from support import LONG_LINE, SAMPLE, gzipped, run_cli, tree

import corpusfmt
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, UsageError

DATA_FILES = (".gz", "_sha256.txt")


def data_files(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(root).items() if name.endswith(DATA_FILES)}


def test_a_corpus_of_ours_comes_back_byte_by_byte(oscar_corpus: Path, dolma_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(dolma_corpus, tmp_path / "oscar", to="oscar", jobs=2)
    assert data_files(tmp_path / "oscar") == data_files(oscar_corpus)


@pytest.mark.parametrize("compression", ["zlib-9", "isal-0"])
def test_a_corpus_of_another_compressor_comes_back_by_its_name(compression: str, tmp_path: Path) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "built", compression=compression)
    corpusfmt.convert(tmp_path / "built", tmp_path / "dolma", to="dolma")
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "plain", to="oscar")
    assert data_files(tmp_path / "plain") != data_files(tmp_path / "built")
    done = run_cli("convert", tmp_path / "dolma", tmp_path / "back", "--to", "oscar", "--compression", compression)
    assert (done.returncode, done.stderr) == (0, b"")
    assert data_files(tmp_path / "back") == data_files(tmp_path / "built")


def test_a_compressor_that_there_is_none_of_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", [{"id": "1", "text": LONG_LINE, "source": "test"}])
    with pytest.raises(UsageError, match="unknown compression 'xz-9'; known: isal-0, "):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma", compression="xz-9")
    with pytest.raises(UsageError, match="parquet has none"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="parquet", compression="zlib-9")


def test_workers_change_nothing(oscar_corpus: Path, dolma_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(oscar_corpus, tmp_path / "dolma", to="dolma", jobs=2)
    assert tree(tmp_path / "dolma") == tree(dolma_corpus)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
LINES = st.lists(st.sampled_from(["", "\r", "\u2205", "\u0085", "\u2028", "\0", "a b", "é"]) | TEXT, max_size=6).map(
    "\n".join
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {"text": LINES, "source": TEXT.filter(bool)},
        optional={
            "added": st.just("2024-01-31T00:00:00Z"),
            "created": st.just("2019-08-01"),
            "version": st.just("v0") | st.none(),
            "attributes": st.dictionaries(TEXT, VALUES, max_size=2),
            "score": VALUES,
        },
    ),
    min_size=1,
    max_size=5,
)


@examples(40)
@given(rows=ROWS, metadata=st.lists(st.dictionaries(TEXT, VALUES, max_size=2), min_size=5, max_size=5))
def test_dolma_through_oscar_keeps_every_field(rows: list[dict[str, Any]], metadata: list[dict[str, Any]]) -> None:
    documents = [
        {"id": str(number)} | row | {"metadata": metadata[number] | {"language": "en"}}
        for number, row in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_rows(root / "dolma/documents/data.jsonl.gz", documents)
        corpusfmt.convert(root / "dolma", root / "oscar", to="oscar", language_entry="language")
        report = corpusfmt.validate(root / "oscar")
        assert report.counts["error"] == 0, corpusfmt.render(report)
        corpusfmt.convert(root / "oscar", root / "back", to="dolma")
        assert read_rows(root / "back") == documents


@examples(40)
@given(rows=ROWS)
def test_dolma_to_dolma_keeps_every_field(rows: list[dict[str, Any]]) -> None:
    documents = [{"id": str(number)} | row for number, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_rows(root / "dolma/documents/a/data.jsonl.gz", documents)
        corpusfmt.convert(root / "dolma", root / "back", to="dolma")
        assert read_rows(root / "back") == documents


def oscar_1_0(folder: Path, text: bytes) -> Path:
    language = folder / "en"
    language.mkdir(parents=True)
    (language / "en.txt.gz").write_bytes(gzipped(text))
    return folder


LINE_1_0 = st.sampled_from([LONG_LINE, "short", "a\rb", "\0", "\u2028", "é" * 100])


@examples(40)
@given(
    documents=st.lists(st.lists(LINE_1_0, min_size=1, max_size=3).map("\n".join), min_size=1, max_size=4),
    gaps=st.lists(st.integers(2, 4), min_size=4, max_size=4),
    lead=st.integers(0, 2),
    end=st.integers(0, 3),
)
def test_oscar_1_0_text_comes_back(documents: list[str], gaps: list[int], lead: int, end: int) -> None:
    text = "\n" * lead + "".join(d + "\n" * gap for d, gap in zip(documents, gaps, strict=False))
    text = text.rstrip("\n") + "\n" * end
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        oscar_1_0(root / "oscar", text.encode())
        corpusfmt.convert(root / "oscar", root / "dolma", to="dolma", format="oscar-1.0")
        corpusfmt.convert(root / "dolma", root / "back", to="oscar-1.0")
        assert gzip.decompress((root / "back/en/en.txt.gz").read_bytes()) == text.encode()


def test_what_oscar_1_0_cannot_hold_is_counted_and_refused(oscar_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="CNV101"):
        corpusfmt.convert(oscar_corpus, tmp_path / "error", to="oscar-1.0")
    report = corpusfmt.convert(oscar_corpus, tmp_path / "allow", to="oscar-1.0", on_loss="allow")
    assert report.results["losses"] == {"metadata": report.coverage.documents}
    assert (report.by_rule["CNV101"], report.counts["error"]) == (report.coverage.documents, 0)
    text = gzip.decompress((tmp_path / "allow/en/en.txt.gz").read_bytes())
    assert text == gzip.decompress((oscar_corpus / "en/en.txt.gz").read_bytes())


def test_documents_of_no_known_language_stop_the_way_to_oscar(tmp_path: Path) -> None:
    row = {"id": "1", "text": LONG_LINE, "source": "test"}
    write_rows(tmp_path / "dolma/documents/data.jsonl.gz", [row])
    with pytest.raises(BadInput, match="CNV102"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="oscar")
    write_rows(tmp_path / "lying/documents/en/en.jsonl.gz", [row | {"metadata": {"language": "de"}}])
    with pytest.raises(BadInput, match="language is `de`"):
        corpusfmt.convert(tmp_path / "lying", tmp_path / "out2", to="oscar", language_entry="language")


# No text of ours may end like this.
_TAILS = (r'"\n\n\n"', '"x"', "[]")


@pytest.mark.parametrize(
    "oscar",
    ["", "[]", "{", '{"record": {}}', '{"record": {"headers": {"a": 1}}, "tail": 7}', {"record": 1}]
    + [
        f'{{"version": "1.1", "part": "en/en", "record": {{"headers": {{"a": "1"}}}}, "tail": {tail}}}'
        for tail in _TAILS
    ],
)
def test_metadata_that_only_looks_like_ours_is_kept_as_it_is(tmp_path: Path, oscar: object) -> None:
    row = {"id": "1", "text": LONG_LINE, "source": "test", "metadata": {"language": "en", "oscar": oscar}}
    write_rows(tmp_path / "dolma/documents/en/en.jsonl.gz", [row])
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar")
    assert not corpusfmt.validate(tmp_path / "oscar").counts["error"]
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="dolma")
    assert read_rows(tmp_path / "back") == [row]


def test_a_language_cannot_name_a_place_outside(tmp_path: Path) -> None:
    row = {"id": "1", "text": LONG_LINE, "source": "test", "metadata": {"language": "../../evil"}}
    write_rows(tmp_path / "dolma/documents/data.jsonl.gz", [row])
    with pytest.raises(BadInput, match="CNV104"):
        corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="oscar", language_entry="language")
    assert not (tmp_path.parent / "evil").exists()


def test_a_part_without_metadata_stops_before_anything_is_written(oscar_corpus: Path, tmp_path: Path) -> None:
    broken = tmp_path / "oscar" / "en"
    broken.mkdir(parents=True)
    for path in (oscar_corpus / "en").iterdir():
        if "_meta" not in path.name:
            (broken / path.name).write_bytes(path.read_bytes())
    (tmp_path / "oscar" / "de").mkdir()
    for path in (oscar_corpus / "de").iterdir():
        (tmp_path / "oscar" / "de" / path.name).write_bytes(path.read_bytes())
    with pytest.raises(BadInput, match="OSC401"):
        corpusfmt.convert(tmp_path / "oscar", tmp_path / "dolma", to="dolma")
    assert not (tmp_path / "dolma").exists()


def test_what_cannot_be_converted(oscar_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="describe"):
        corpusfmt.convert(oscar_corpus, tmp_path / "out", to="croissant")
    with pytest.raises(UsageError, match=r"with `record_set` and `field` text=FIELD \(files, metadata\)"):
        corpusfmt.convert(oscar_corpus / "croissant.json", tmp_path / "out", to="dolma")
    assert entry_of(str(oscar_corpus)).kind == "directory"


def test_a_corpus_that_was_built_as_dolma_comes_back_through_oscar(tmp_path: Path) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "built", recipe="dolma")
    report = corpusfmt.convert(tmp_path / "built", tmp_path / "oscar", to="oscar", on_loss="allow")
    assert report.results["losses"].keys() == {"attribute sets"}
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="dolma")
    built, back = ({row["id"]: row for row in read_rows(tmp_path / name)} for name in ("built", "back"))
    assert built.keys() == back.keys()
    for name in ("text", "source", "created"):
        assert [back[key][name] for key in built] == [row[name] for row in built.values()]
    assert {row["source"] for row in back.values()} == {"common-crawl"}


def test_a_built_corpus_has_no_headers_of_ours(oscar_corpus: Path) -> None:
    for path in oscar_corpus.glob("*/*_meta*.jsonl.gz"):
        assert b"corpusfmt-" not in gzip.decompress(path.read_bytes())


def test_ids_and_dates_of_oscar_documents(oscar_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(oscar_corpus, tmp_path / "dolma", to="dolma", source_name="crawl", added="2024-01-31")
    rows = read_rows(tmp_path / "dolma")
    for row in rows:
        headers = json.loads(row["metadata"]["oscar"])["record"]["headers"]
        assert row["id"] == f"{headers['warc-record-id'].strip('<>')}#{row['metadata']['language']}"
        assert (row["created"], row["added"], row["source"]) == (headers["warc-date"], "2024-01-31", "crawl")
    assert len({row["id"] for row in rows}) == len(rows)
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar")
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="dolma")
    assert read_rows(tmp_path / "back") == rows


def test_ids_of_oscar_1_0_are_derived_and_say_so(tmp_path: Path) -> None:
    oscar_1_0(tmp_path / "oscar", f"{LONG_LINE}\n\n{LONG_LINE}\n\n".encode())
    for name in ("one", "two"):
        corpusfmt.convert(tmp_path / "oscar", tmp_path / name, to="dolma", format="oscar-1.0")
    rows = read_rows(tmp_path / "one")
    assert rows == read_rows(tmp_path / "two")
    assert all(json.loads(row["metadata"]["oscar"])["synthetic_id"] for row in rows)
    assert len({row["id"] for row in rows}) == 2
    assert {"added", "created"}.isdisjoint(rows[0])


def test_source_and_added_leave_alone_what_documents_have(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "text": LONG_LINE, "source": "own", "added": "2020-01-01"},
        {"id": "2", "text": LONG_LINE},
    ]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows)
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "out", to="dolma", source_name="new", added="2024-01-31")
    assert read_rows(tmp_path / "out") == [rows[0], rows[1] | {"source": "new", "added": "2024-01-31"}]


def test_equal_ids_in_different_sources(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": f"{source} {LONG_LINE}", "source": source, "metadata": {"language": "en"}}
        for source in ("books", "web")
    ]
    write_rows(tmp_path / "dolma/documents/a.jsonl.gz", rows)
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "oscar", to="oscar")
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="dolma")
    assert read_rows(tmp_path / "back") == rows


# What some reader takes for the end of a line, a document or a text, and what some writer cannot hold as it is.
ODD_LINES = st.sampled_from(
    ["", "", " ", "\t", "\r", "a\r", "\rb", "\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\0"]
) | (
    st.sampled_from(
        ["\ufeff", "\u2205", "🙂", "e\u0301", "\u200d", "\ufffd", "\ufffe", "\U0010ffff", '"\\', "<urn:uuid:1>"]
    )
    | st.sampled_from([LONG_LINE, "é" * 5_000])
)
ODD_TEXTS = st.lists(ODD_LINES, max_size=5).map("\n".join)


@st.composite
def odd_documents(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for number in range(draw(st.integers(1, 5))):
        row = {"id": f"{number}{draw(ODD_TEXTS)}", "text": draw(ODD_TEXTS), "source": f"s{draw(ODD_LINES)}"}
        row |= draw(st.fixed_dictionaries({}, optional={"created": st.just("2019-08-01"), "version": ODD_LINES}))
        rows.append(
            row | {"metadata": {"language": draw(st.sampled_from(["en", "de", "als"])), "note": draw(ODD_LINES)}}
        )
    return rows


@examples(30)
@given(rows=odd_documents(), ways=st.lists(st.sampled_from(["oscar-1.1", "parquet", "dolma"]), min_size=1, max_size=4))
def test_documents_survive_any_way(rows: list[dict[str, Any]], ways: list[str]) -> None:
    # A file, which has all documents of a language or of several, may have no text.
    with_text = {row["metadata"]["language"] for row in rows if row["text"]}
    without_text = {"GEN203"} if {row["metadata"]["language"] for row in rows} - with_text else set()
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder) / "start"
        write_rows(here / "documents/data.jsonl.gz", rows)
        for number, to in enumerate([*ways, "dolma"]):
            there = Path(folder) / f"{number}-{to}"
            field = "language" if to.startswith("oscar") else None
            corpusfmt.convert(here, there, to=to, language_entry=field)
            report = corpusfmt.validate(there)
            wrong = {each.code for each in report.findings if each.severity == "error"}
            assert wrong <= without_text, corpusfmt.render(report)
            here = there
        assert sorted(read_rows(here), key=itemgetter("id")) == sorted(rows, key=itemgetter("id"))


LINE_OF_1_0 = ODD_LINES.filter(lambda line: line.strip(" \t\r"))


@examples(30)
@given(
    texts=st.lists(st.lists(LINE_OF_1_0, min_size=1, max_size=3).map("\n".join), min_size=1, max_size=4),
    between=st.lists(st.sampled_from(["\n\n", "\n\n\n", "\n \n", "\n\r\n"]), min_size=4, max_size=4),
    end=st.sampled_from(["", "\n", "\n\n", "\n \n"]),
    ways=st.lists(st.sampled_from(["oscar-1.1", "parquet", "dolma", "oscar-1.0"]), min_size=1, max_size=4),
)
def test_a_text_of_1_0_survives_any_way(texts: list[str], between: list[str], end: str, ways: list[str]) -> None:
    text = "".join(part for pair in zip(texts, between, strict=False) for part in pair)
    text = text.removesuffix(between[len(texts) - 1]) + end
    with tempfile.TemporaryDirectory() as folder:
        here = oscar_1_0(Path(folder) / "start", text.encode())
        source_format = "oscar-1.0"
        for number, to in enumerate([*ways, "oscar-1.0"]):
            there = Path(folder) / f"{number}-{to}"
            corpusfmt.convert(here, there, to=to, format=source_format)
            here, source_format = there, "auto"
        assert gzip.decompress((here / "en/en.txt.gz").read_bytes()) == text.encode()
