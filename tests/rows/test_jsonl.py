"""JSON Lines of any maker: what is claimed, what becomes of each field, and that glances and rules agree."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import lz4.frame
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import examples
from support import LONG_LINE, gzipped, run_cli, tree

import corpusfmt
from corpusfmt.formats import CheckOptions, ReadOptions, Rejected, Shard, detect, formats
from corpusfmt.formats.jsonl.layout import RULES
from corpusfmt.formats.rows.columned import ColumnRecords
from corpusfmt.formats.rows.reading import _PIECE
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.paths import entry_of
from corpusfmt.io.text import json_line
from corpusfmt.model import BadInput, Document, Location, UsageError
from corpusfmt.rules import Grading, Judge

Json = dict[str, Any]


def write(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows))
    return path


def converted(source: Path, to: Path, **options: Any) -> list[Json]:
    """Return the documents that a source becomes in Dolma."""
    corpusfmt.convert(source, to, to="dolma", format="jsonl", **options)
    files = sorted((to / "documents").rglob("*.gz"))
    return [json.loads(line) for path in files for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a.jsonl": [{"text": "x"}]}, "jsonl"),
        ({"a.ndjson": [{"text": "x", "url": "y"}]}, "jsonl"),
        ({"a.jsonl": [{"text": "x", "id": "1"}]}, "jsonl"),
        ({"a.jsonl": [{"text": "x", "id": "1", "source": "s"}]}, "dolma"),
        ({"a.jsonl": [{"text": "x", "id": "1", "source": "s"}] * 2 + [{"text": "x"}]}, "dolma"),
        ({"a.jsonl": [{"text": "x", "id": "1", "source": "s"}] + [{"text": "x"}] * 2}, "jsonl"),
        ({"a.jsonl": [{"q": 1}], "b.jsonl": [{"text": "x", "id": "1", "source": "s"}]}, "dolma"),
        ({"b.jsonl": [{"text": "x"}] * 9, "a.jsonl": [{"text": "x", "id": "1", "source": "s"}]}, "jsonl"),
        ({"b.jsonl": [{"q": 1}] * 99, "a.jsonl": [{"text": "x"}]}, "jsonl"),
        ({"a.jsonl": [{"q": 1}] * 99, "b.jsonl": [{"text": "x"}]}, "jsonl"),
        ({"documents/a.jsonl": [{"text": "x"}]}, "dolma"),
        ({"a.jsonl": [{"content": "x"}]}, "jsonl"),
        ({"a.jsonl": [{"q": 1}], "croissant.json": [{"q": 1}]}, None),
        ({"a.jsonl": [["text"]]}, None),
        ({"a.json": [{"text": "x"}]}, "jsonl"),
        ({"a.json": [[{"text": "x"}]]}, None),
        ({"stats.json": [{"text": "x"}]}, None),
        ({"a.json": [{"name": "x"}], "b.jsonl": [{"text": "x"}]}, "jsonl"),
        ({".a.jsonl": [{"text": "x"}]}, None),
        ({"a.jsonl": []}, None),
        ({"a.jsonl": [], "b.jsonl": [{"text": "x"}]}, "jsonl"),
        ({"a.jsonl": [], "b.jsonl": [{"id": "1", "text": "x", "source": "s"}]}, "dolma"),
    ],
)
def test_what_is_taken_for_json_lines(files: dict[str, list[Any]], expected: str | None, tmp_path: Path) -> None:
    for name, rows in files.items():
        write(tmp_path / name, *rows)
    if expected is not None:
        assert detect(entry_of(str(tmp_path)))[0].name == expected
        return
    with pytest.raises(UsageError, match="no known format recognises"):
        detect(entry_of(str(tmp_path)))


@pytest.mark.parametrize("before", ["\n", "\ufeff", " \r\n\n"])
def test_what_stands_before_the_first_row_hides_no_format(before: str, tmp_path: Path) -> None:
    for name, row in {"jsonl": {"text": "x"}, "dolma": {"id": "1", "text": "x", "source": "s"}}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jsonl").write_text(f"{before}{json.dumps(row)}\n", "utf-8")
        assert detect(entry_of(str(tmp_path / name)))[0].name == name


OSCAR_ROW = {"content": "x", "warc_headers": {}, "metadata": {}}


@pytest.mark.parametrize(
    "nothing",
    [b"", gzipped(b""), gzipped(b"\n"), b"version https://git-lfs.github.com/spec/v1\n"],
    ids=["empty", "gzip of nothing", "gzip of a blank line", "pointer"],
)
@pytest.mark.parametrize(
    ("name", "row", "expected"),
    [
        ("0.jsonl.gz", {"text": "x"}, "jsonl"),
        ("0.jsonl.gz", {"id": "1", "text": "x", "source": "s"}, "dolma"),
        ("c4-de.tfrecord-00000-of-00002.json.gz", {"text": "x", "timestamp": "t", "url": "u"}, "mc4"),
        ("de_meta/de_meta_part_0.jsonl.gz", OSCAR_ROW, "oscar2"),
        ("de/de_part_0.jsonl.gz", OSCAR_ROW, "oscar2"),
    ],
)
def test_files_without_rows_hide_no_format(nothing: bytes, name: str, row: Json, expected: str, tmp_path: Path) -> None:
    first = tmp_path / name
    write(first.with_name(first.name.replace("0.jsonl", "1.jsonl").replace("00000-of", "00001-of")), row)
    for path in list(tmp_path.rglob("*.gz")):
        path.write_bytes(gzipped(path.read_bytes()))
    first.write_bytes(nothing)
    assert detect(entry_of(str(tmp_path)))[0].name == expected


def test_a_first_file_without_rows_does_not_decide_of_which_corpus_the_others_are(tmp_path: Path) -> None:
    row = {"text": "x", "url": "https://example.org/", "timestamp": "2019-04-25T12:57:54Z"}
    with_rows = write(tmp_path / "c4" / "c4-train.00001-of-00002.json", row)
    expected = converted(with_rows, tmp_path / "one")
    with_rows.with_name("c4-train.00000-of-00002.json.gz").write_bytes(gzipped(b""))
    assert [each["source"] for each in converted(with_rows.parent, tmp_path / "two")] == ["c4"]
    assert expected[0]["source"] == "c4"


def test_rows_come_before_their_description(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"text": "x"})
    description = corpusfmt.describe(tmp_path)
    (tmp_path / "croissant.json").write_text(json.dumps(description), "utf-8")
    assert detect(entry_of(str(tmp_path)))[0].name == "jsonl"


def test_what_becomes_of_each_field(tmp_path: Path) -> None:
    rows = [
        {"text": "one", "url": "u", "language": "de", "n": 2**70},
        {"text": "two", "id": 7, "source": "s", "added": "2024-01-01", "created": 5},
        {
            "text": "three",
            "id": "x",
            "metadata": {"language": "fr", "k": None},
            "url": "u",
            "attributes": {"a__b__c": []},
        },
    ]
    one, two, three = converted(write(tmp_path / "in/a.jsonl", *rows), tmp_path / "out", added="2024-02-02")
    assert one.pop("id").startswith("a.jsonl:1:")
    mark = {"corpusfmt_synthetic_id": True, "corpusfmt_row": '{"made":["source"]}'}
    metadata = {"url": "u", "language": "de", "n": 2**70, **mark}
    assert one == {"text": "one", "source": "jsonl", "added": "2024-02-02", "metadata": metadata}
    assert two == {
        "id": "7",
        "text": "two",
        "source": "s",
        "added": "2024-01-01",
        "metadata": {"created": 5, "corpusfmt_row": '{"id":"id","number":true}'},
    }
    metadata = {"language": "fr", "k": None, "corpusfmt_row": '{"id":"id","made":["source"],"apart":true}'}
    kept = {"metadata": metadata, "url": "u", "attributes": {"a__b__c": []}}
    assert three == {"id": "x", "text": "three", "source": "jsonl", "added": "2024-02-02", **kept}


def test_fields_are_called_as_options_say(tmp_path: Path) -> None:
    path = write(tmp_path / "in/a.jsonl", {"content": "one", "key": "k1", "id": [1]}, {"content": "two", "key": "k2"})
    found = converted(path, tmp_path / "out", field={"text": "content", "id": "key"})
    mark = {"corpusfmt_row": '{"text":"content","id":"key","made":["source"]}'}
    assert [(each["id"], each["text"], each["metadata"]) for each in found] == [
        ("k1", "one", {"id": [1], **mark}),
        ("k2", "two", mark),
    ]
    (same,) = converted(write(tmp_path / "same/a.jsonl", {"id": "x"}), tmp_path / "same-out", field={"text": "id"})
    assert (same["id"], same["text"]) == ("x", "x")
    with pytest.raises(BadInput, match=r"a\.jsonl:2: JSL302 `n` is missing, expected a string or a whole number"):
        converted(
            write(tmp_path / "b/a.jsonl", {"text": "a", "n": 1}, {"text": "b"}), tmp_path / "no", field={"id": "n"}
        )


def test_documents_survive_the_way_there_and_back(dolma_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(dolma_corpus, tmp_path / "rows", to="jsonl")
    assert {path.partition("/")[0] for path in tree(tmp_path / "rows")} == {
        "MANIFEST.json",
        "README.md",
        "croissant.json",
        "data",
    }
    corpusfmt.convert(tmp_path / "rows", tmp_path / "back", to="dolma", format="jsonl")
    assert tree(tmp_path / "back/documents") == tree(dolma_corpus / "documents")


def test_what_is_wrong_is_rejected_with_its_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "in/a.jsonl", {"text": "one"}, {"text": None}, {"text": "three"})
    path.write_bytes(path.read_bytes() + b'{"text": "long' + b"g" * 2000 + b'"}\n\n\n{"text": "last"}')
    options = CheckOptions(version="1.0", max_line_bytes=1000)
    fmt = formats()["jsonl"]
    (shard,) = fmt.plan(entry_of(str(path)), options).shards
    assert fmt.reader is not None
    found = list(fmt.reader.read(shard, options))
    rejected = [
        (each.finding.code, each.finding.location.line, each.raw) for each in found if isinstance(each, Rejected)
    ]
    assert rejected == [("JSL301", 2, b'{"text": null}'), ("GEN302", 4, b""), ("GEN301", 5, b""), ("GEN301", 6, b"")]
    blank, again = [each.finding.location.byte for each in found if isinstance(each, Rejected)][2:]
    assert (blank, again) == (path.read_bytes().index(b"\n\n\n") + 1, path.read_bytes().index(b"\n\n\n") + 2)
    ids = [each.id for each in found if isinstance(each, Document)]
    assert [identity.rpartition(":")[0] for identity in ids] == ["a.jsonl:1", "a.jsonl:3", "a.jsonl:7"]
    assert fmt.check(shard, options).coverage.documents == 3


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = write(tmp_path / "a.jsonl", *({"text": LONG_LINE, "n": number} for number in range(1000))).read_bytes()
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jsonl.gz").write_bytes(gzip.compress(data)[:-20])
    report = corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma", on_bad_record="quarantine")
    assert (report.results["cut"], report.verdict.value) == (["a.jsonl.gz"], "incomplete")
    assert 900 < report.coverage.documents < 1000


def test_equal_rows_without_a_glance_are_all_read(tmp_path: Path) -> None:
    rows = [{"text": "cafÃ© crÃ¨me"}] * 3 + [{"text": "plain"}] * 2
    assert len(converted(write(tmp_path / "in/a.jsonl", *rows), tmp_path / "out")) == 5
    report = corpusfmt.validate(tmp_path / "in")
    assert (report.by_rule, report.coverage.documents) == ({"GEN202": 3}, 5)


def test_places_in_a_long_file(tmp_path: Path) -> None:
    rows: list[Any] = [{"text": LONG_LINE, "n": number} for number in range(4 * _PIECE // len(LONG_LINE))]
    rows[-2] = {"text": 5}
    path = write(tmp_path / "a.jsonl", *rows)
    (finding,) = corpusfmt.validate(path, format="jsonl").findings
    before = path.read_bytes().split(b"\n")[: len(rows) - 2]
    assert finding.location == Location("a.jsonl", len(rows) - 1, sum(map(len, before)) + len(before))


def test_a_file_alone_may_have_any_name(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.txt", {"text": "x"})
    done = run_cli("validate", path, "--format", "jsonl")
    assert (done.returncode, done.stdout) == (
        0,
        b"  jsonl 1.0 \xc2\xb7 1 of 1 shard \xc2\xb7 1 document \xc2\xb7 14 B\nVALID: 0 errors, 0 warnings\n",
    )


_VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
_ROWS = st.dictionaries(
    st.sampled_from(["text", "id", "content", "metadata", "x"]),
    _VALUES | st.lists(_VALUES, max_size=2) | st.dictionaries(st.sampled_from(["text", "x"]), _VALUES),
)
_READING = st.sampled_from(
    [ReadOptions(), ReadOptions(field={"text": "content", "id": "x"}), ReadOptions(field={"text": "/content/text"})]
)


@given(_ROWS | _VALUES, _READING)
def test_what_is_clean_at_a_glance_breaks_no_rule(row: Any, reading: ReadOptions) -> None:
    line = json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")
    records = ColumnRecords(Shard(0, "a.jsonl", {}), CheckOptions(reading=reading))
    judge = Judge(RULES, Grading(), version="1.0", path="")
    records.judged(line, Location(""), judge)
    fit = records.fit(line)
    assert fit is None or (fit == [row] and {each.code for each in judge.tally.findings} <= {"GEN202"})
    assert (records.passed(line) is None) == (fit is None)
    if not judge.tally.findings and isinstance(row, dict) and not any(map(_is_integer, row.values())):
        assert fit == [row]


@given(
    row=_ROWS,
    escaped=st.booleans(),
    reading=_READING,
)
@example(row={"text": "a/b\x01\x1f\x7f\u2028 \\u0041 \U0001f642"}, escaped=True, reading=ReadOptions())
@example(row={"text": "a"}, escaped=False, reading=ReadOptions(field={"id": "text"}))
@example(row={"text": "a", "id": ""}, escaped=False, reading=ReadOptions())
def test_a_text_that_stays_encoded_is_written_as_if_it_were_decoded(
    row: Json, escaped: bool, reading: ReadOptions
) -> None:
    line = json.dumps(row, ensure_ascii=escaped).replace("/", "\\/").encode("utf-8", "surrogatepass")
    decoded, encoded = (_written(line, CheckOptions(reading=reading, encoded_texts=each)) for each in (False, True))
    assert encoded == decoded


@pytest.mark.parametrize("form", ["%04x", "%04X"])
def test_each_escape_of_ascii_is_written_as_if_it_were_decoded(form: str) -> None:
    for number in range(0x80):
        line = b'{"text":"\\u%b\\\\u%b"}' % ((form % number).encode(), (form % number).encode())
        assert _written(line, CheckOptions(encoded_texts=True)) == _written(line, CheckOptions())


@pytest.mark.parametrize(
    "text",
    [rb'"\ud800"', rb'"\udc00"', b'"\x01"', rb'"\q"', b'"\xff"', b'"\xed\xa0\x80"', b'"', b'"a","text":"b"', b"1"],
)
def test_a_text_that_is_none_does_not_stay_encoded(text: bytes) -> None:
    assert _written(b'{"id":"1","text":%b}' % text, CheckOptions(encoded_texts=True)) is None


TEXTS = ["naïve", "a cafÃ©", "x\n\\nSPAẞ: CAFÉ®\nof one lineâ€¦\n\\", "\\\na cafÃ©\\\nb\n", "cafÃ", "©", 1]


@examples(100)
@given(
    rows=st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(["1", 2, None]), st.integers(1, 3)), max_size=9),
    escaped=st.booleans(),
    line_feed=st.sampled_from([rb"\n", rb"\u000a", rb"\u000A"]),
)
def test_suspect_texts_are_judged_as_row_by_row(
    rows: list[tuple[object, object, int]], escaped: bool, line_feed: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = [
        json.dumps({"text": text, "id": identity}, ensure_ascii=escaped).encode().replace(rb"\n", line_feed) + b"\n"
        for text, identity, times in rows
        for _ in range(times)
    ]
    path: Path = tmp_path_factory.mktemp("rows") / "a.jsonl"
    path.write_bytes(b"".join(lines))
    found = corpusfmt.validate(path, format="jsonl", jobs=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ColumnRecords, "passed", lambda _records, _data: None)
        expected = corpusfmt.validate(path, format="jsonl", jobs=1)
    assert (found.findings, found.by_rule, found.coverage) == (expected.findings, expected.by_rule, expected.coverage)


def test_suspect_texts_are_found_at_their_rows(tmp_path: Path) -> None:
    long = {"id": 3, "text": TEXTS[2]}
    rows = [{"id": "1", "text": "a"}, *[{"id": "2", "text": "a cafÃ©"}] * 2, long, {"text": 1}, long, long]
    found = corpusfmt.validate(write(tmp_path / "a.jsonl", *rows), format="jsonl", ignore=["GEN401"], jobs=1)
    places = (
        ("a.jsonl:2", "GEN202", 2),
        ("a.jsonl:4", "GEN202", 1),
        ("a.jsonl:5", "JSL301", 1),
        ("a.jsonl:6", "GEN202", 2),
    )
    assert sorted((str(each.location), each.code, each.count) for each in found.findings) == list(places)


def _written(line: bytes, options: CheckOptions) -> bytes | None:
    records = ColumnRecords(Shard(0, "a.jsonl", {}), options)
    rows = records.fit(line)
    return json_line(fields_of(records.document(rows[0], 1))) if rows else None


def _is_integer(value: object) -> bool:
    return isinstance(value, int)


def test_general_formats_are_asked_last() -> None:
    assert [fmt.name for fmt in formats().values() if fmt.is_general] == ["jsonl", "text"]


@pytest.mark.parametrize("compress", [lzma.compress, bz2.compress, lz4.frame.compress])
def test_documents_in_compressions_that_dolma_lacks_are_json_lines(compress: Any, tmp_path: Path) -> None:
    suffix = {lzma.compress: "xz", bz2.compress: "bz2"}.get(compress, "lz4")
    row = {"id": "1", "text": "x", "source": "web"}
    path = tmp_path / "in" / f"a.jsonl.{suffix}"
    path.parent.mkdir()
    path.write_bytes(compress(json.dumps(row).encode() + b"\n"))
    for place in (path, path.parent):
        fmt, detection = detect(entry_of(str(place)))
        assert (fmt.name, detection.evidence) == ("jsonl", f"rows with text, as in `{path.name}`")
        assert corpusfmt.validate(place).verdict.value == "valid"
    assert converted(path.parent, tmp_path / "out")[0].items() >= row.items()


def test_three_of_many_repeated_names_are_told(tmp_path: Path) -> None:
    names = ", ".join(f'"{name}": 1, "{name}": 2' for name in "abcd")
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "x", {names}}}\n', "utf-8")
    (finding,) = corpusfmt.validate(path).findings
    assert finding.message == "`a`, `b`, `c` occurs more than once in one object"


def test_what_json_lines_are_described_as(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", {"text": "x"})
    files = corpusfmt.describe(tmp_path)["distribution"]
    assert [(each["contentUrl"], each["encodingFormat"]) for each in files] == [("a.jsonl", "application/jsonlines")]


def test_what_leads_out_of_the_folder_is_told_once(tmp_path: Path) -> None:
    write(tmp_path / "in/a.jsonl", {"text": "x"})
    for name in ("b.jsonl", "c.jsonl.xz"):
        (tmp_path / "in" / name).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").touch()
    report = corpusfmt.validate(tmp_path / "in")
    assert [(each.code, each.location.path) for each in report.findings] == [
        ("GEN002", "b.jsonl"),
        ("GEN002", "c.jsonl.xz"),
    ]


def test_what_is_neither_compressed_nor_rows_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"<html>")
    assert corpusfmt.validate(tmp_path / "a.jsonl.gz", format="jsonl").by_rule == {"GEN101": 1}


def test_a_name_of_texts_that_is_not_utf_8_is_in_no_row() -> None:
    records = ColumnRecords(Shard(0, "a", {}), CheckOptions(reading=ReadOptions(field={"text": "\udcff"})))
    assert records._around_texts(b'{"text":"a"}', written=True) is None
