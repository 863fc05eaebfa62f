"""Releases by schema 2 as a source: every field arrives, what is wrong is named with its place, glances and rules agree."""

from __future__ import annotations

import gzip
import json
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from support import run_cli, tree, zstd

import corpusfmt
from corpusfmt.formats import CheckOptions, Rejected, Shard, named_format
from corpusfmt.formats.oscar2.layout import RULES
from corpusfmt.formats.oscar2.records import ReleaseRecords
from corpusfmt.io.paths import entry_of
from corpusfmt.model import BadInput, Location, UsageError
from corpusfmt.rules import Grading, Judge

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53)
IDENTIFICATION = st.fixed_dictionaries({"label": TEXT, "prob": NUMBER})
TAGS = st.none() | st.lists(TEXT, max_size=2)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    lines = draw(st.lists(st.sampled_from(["", "\r", "\x85", "\u2028", "\0", "a b", "é" * 200]) | TEXT, max_size=4))
    content = "\n".join(lines)
    count = content.count("\n") + 1
    metadata = st.fixed_dictionaries(
        {
            "identification": IDENTIFICATION,
            "sentence_identifications": st.lists(st.none() | IDENTIFICATION, min_size=count, max_size=count),
        },
        optional={
            "annotation": TAGS,
            "quality_warnings": TAGS,
            "categories": TAGS,
            "tlsh": st.none() | TEXT,
            "harmful_pp": st.none() | NUMBER,
            "language": TEXT,
        },
    )
    headers = st.dictionaries(st.sampled_from(["warc-record-id", "warc-target-uri", "warc-date"]) | TEXT, TEXT)
    record = {"content": content, "warc_headers": draw(headers), "metadata": draw(metadata)}
    return record | draw(st.dictionaries(TEXT.filter(lambda name: name not in record), NUMBER | TEXT, max_size=2))


def of(language: str | None) -> ReleaseRecords:
    return ReleaseRecords(Shard(0, "x", {}, payload=language), CheckOptions())


def release(root: Path, rows: list[dict[str, Any]], name: str = "de_meta/de_meta_part_1.jsonl.gz") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
    path.write_bytes(zstd.compress(data) if name.endswith(".zst") else gzip.compress(data, mtime=0))
    return root


def documents(root: Path) -> list[dict[str, Any]]:
    rows = []
    for path in sorted((root / "documents").rglob("*.gz")):
        rows += [json.loads(line) for line in gzip.decompress(path.read_bytes()).split(b"\n")[:-1]]
    return rows


def record(number: int = 1, label: str = "de") -> dict[str, Any]:
    return {
        "content": "eins\nzwei",
        "warc_headers": {
            "warc-record-id": f"<urn:uuid:00000000-0000-4000-8000-00000000000{number}>",
            "warc-target-uri": "http://a.example",
            "warc-date": "2021-09-16T11:07:14Z",
        },
        "metadata": {
            "identification": {"label": label, "prob": 0.7},
            "annotation": ["tiny"],
            "sentence_identifications": [None, {"label": label, "prob": 1}],
        },
    }


@examples(40)
@given(rows=st.lists(records(), min_size=1, max_size=4), packed=st.sampled_from(["gz", "zst"]))
def test_every_field_arrives(rows: list[dict[str, Any]], packed: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        release(root / "release", rows, f"de_meta/de_meta_part_1.jsonl.{packed}")
        corpusfmt.convert(root / "release", root / "dolma", to="dolma", format="oscar-2")
        found = documents(root / "dolma")
        corpusfmt.convert(root / "release", root / "oscar", to="oscar", format="oscar-2")
        corpusfmt.convert(root / "oscar", root / "back", to="dolma")
        assert documents(root / "back") == found
    assert [{"content": each["text"], **each["metadata"]["oscar"]} for each in found] == rows
    assert len({each["id"] for each in found}) == len(rows)
    assert {each["metadata"]["language"] for each in found} == {"de"}


VALUES = st.sampled_from(
    [None, True, 1, 1.5, "x", [], ["x"], [None], [1], {}, {"label": "x"}, {"label": "x", "prob": 1}]
)


@examples(300)
@given(row=records(), place=st.integers(0, 20), value=VALUES, language=st.sampled_from([None, "de"]))
def test_glance_and_rules_agree(row: dict[str, Any], place: int, value: Any, language: str | None) -> None:
    holders: list[tuple[Any, Any]] = [(row, name) for name in list(row)]
    holders += [(row["metadata"], name) for name in list(row["metadata"])]
    holders += [(row["warc_headers"], name) for name in list(row["warc_headers"])]
    changed, name = holders[place % len(holders)]
    changed[name] = deepcopy(value)
    line = json.dumps(row).encode()
    judge = Judge(RULES, Grading(), version="22.01", path="")
    of(language).judged(line, Location(""), judge)
    assert "GEN000" not in judge.tally
    if of(language).fit(line) is not None:
        assert not judge.tally.findings


@pytest.mark.parametrize(("lines", "clean"), [(0, False), (1, False), (2, True), (3, False)])
def test_a_glance_takes_a_record_with_an_identification_for_each_line(lines: int, clean: bool) -> None:
    row = record()
    row["metadata"]["sentence_identifications"] = [None] * lines
    assert of("de").fit(json.dumps(row).encode()) == ([row] if clean else None)


@pytest.mark.parametrize("twice", ['"content": "x", ', '"metadata": {}, ', '"\\u0063ontent": "x", '])
def test_a_name_that_stands_twice_is_never_clean(twice: str) -> None:
    line = json.dumps(record()).replace("{", "{" + twice, 1).encode()
    assert of("de").fit(line) is None
    judge = Judge(RULES, Grading(), version="22.01", path="")
    of("de").judged(line, Location(""), judge)
    assert [finding.code for finding in judge.tally.findings] == ["OSJ202"]


def test_what_is_wrong_stops_the_conversion_at_its_place(tmp_path: Path) -> None:
    broken = record(2)
    del broken["content"]
    release(tmp_path / "release", [record(), broken, record(3)])
    with pytest.raises(BadInput, match=r"de_meta_part_1\.jsonl\.gz:2: OSJ301") as caught:
        corpusfmt.convert(tmp_path / "release", tmp_path / "dolma", to="dolma")
    at = caught.value.finding.location
    assert (at.line, at.byte, at.record) == (
        2,
        len(json.dumps(record())) + 1,
        "<urn:uuid:00000000-0000-4000-8000-000000000002>",
    )
    assert not list((tmp_path / "dolma").rglob("*.gz"))


def test_what_is_wrong_far_into_a_file_is_told_at_its_place(tmp_path: Path) -> None:
    rows = [record(number) for number in range(4)]
    for long in rows[:2]:
        long["content"] = "x" * 300_000 + "\n"
    del rows[3]["content"]
    (finding,) = corpusfmt.validate(release(tmp_path, rows)).findings
    byte = sum(len(json.dumps(row, ensure_ascii=False).encode()) + 1 for row in rows[:3])
    assert (finding.code, finding.location.line, finding.location.byte) == ("OSJ301", 4, byte)


def test_what_cannot_be_read_is_no_document(tmp_path: Path) -> None:
    path = release(tmp_path, [record(), record(2) | {"content": "x" * 5000}, record(3)])
    report = corpusfmt.validate(path, max_line_bytes=2000)
    assert (report.by_rule, report.coverage.documents) == ({"GEN302": 1}, 2)


def test_a_source_of_their_own_is_given_to_all(tmp_path: Path) -> None:
    root = release(tmp_path / "release", [record(), record(2)])
    corpusfmt.convert(root, tmp_path / "dolma", to="dolma")
    assert {row["source"] for row in documents(tmp_path / "dolma")} == {"oscar"}
    corpusfmt.convert(root, tmp_path / "named", to="dolma", source_name="web")
    assert {row["source"] for row in documents(tmp_path / "named")} == {"web"}


def test_what_is_wrong_is_put_aside(tmp_path: Path) -> None:
    path = release(tmp_path / "release", [record()]) / "de_meta/de_meta_part_1.jsonl.gz"
    path.write_bytes(
        gzip.compress(b"nothing\n") + path.read_bytes() + gzip.compress(b'{"content": ""}\n') + b"\x1f\x8b"
    )
    options: dict[str, Any] = {"format": "oscar-2", "on_bad_record": "quarantine"}
    report = corpusfmt.convert(tmp_path / "release", tmp_path / "dolma", to="dolma", **options)
    assert (report.results["rejected"], report.results["cut"]) == (2, ["de_meta/de_meta_part_1.jsonl.gz"])
    assert [row["text"] for row in documents(tmp_path / "dolma")] == ["eins\nzwei"]
    (sidecar,) = tree(tmp_path / "dolma-quarantine").values()
    assert [json.loads(line)["rule"] for line in sidecar.split(b"\n")[:-1]] == ["GEN301", "OSJ302", "GEN101"]


def test_parts_and_languages_keep_their_places(tmp_path: Path) -> None:
    root = tmp_path / "release"
    for part in (1, 2):
        release(root, [record(part)], f"compressed/de_meta/de_meta_part_{part}.jsonl.gz")
    release(root, [record(3, "fr"), record(3, "fr")], "compressed/fr_meta/fr_meta.jsonl.zst")
    report = corpusfmt.convert(root, tmp_path / "oscar", to="oscar", jobs=2)
    assert report.coverage.documents == 4
    files = [name for name in tree(tmp_path / "oscar") if name.endswith(".txt.gz")]
    assert files == ["de/de_part_1.txt.gz", "de/de_part_2.txt.gz", "fr/fr.txt.gz"]
    assert corpusfmt.validate(tmp_path / "oscar").counts["error"] == 0
    headers = json.loads(gzip.decompress((tmp_path / "oscar/de/de_meta_part_1.jsonl.gz").read_bytes()))["headers"]
    assert headers["warc-target-uri"] == "http://a.example"
    corpusfmt.convert(root, tmp_path / "dolma", to="dolma")
    assert [row["id"] for row in documents(tmp_path / "dolma")] == [
        "urn:uuid:00000000-0000-4000-8000-000000000001#de",
        "urn:uuid:00000000-0000-4000-8000-000000000002#de",
        "urn:uuid:00000000-0000-4000-8000-000000000003#fr",
        "fr/fr:2",
    ]


def test_a_record_in_two_parts_of_a_language_has_the_id_of_its_place(tmp_path: Path) -> None:
    release(tmp_path / "release", [record(1), record(2)])
    release(tmp_path / "release", [record(3), record(1)], "de_meta/de_meta_part_2.jsonl.gz")
    release(tmp_path / "release", [record(1, "fr")], "fr_meta/fr_meta_part_1.jsonl.gz")
    corpusfmt.convert(tmp_path / "release", tmp_path / "dolma", to="dolma")
    named = [f"urn:uuid:00000000-0000-4000-8000-00000000000{number}#de" for number in (1, 2, 3)]
    assert [row["id"] for row in documents(tmp_path / "dolma")] == [*named, "de/de_part_2:2", f"{named[0][:-2]}fr"]


def test_without_a_name_the_language_is_the_identified_one(tmp_path: Path) -> None:
    release(tmp_path / "release", [record(1, "de"), record(2, "fr")], "sample.jsonl.gz")
    corpusfmt.convert(tmp_path / "release", tmp_path / "oscar", to="oscar")
    assert sorted(path.name for path in (tmp_path / "oscar").iterdir() if path.is_dir()) == ["de", "fr"]


def test_schema_1_1_and_schema_2_are_told_apart_by_their_rows(oscar_corpus: Path, tmp_path: Path) -> None:
    release(tmp_path, [record()], "de_meta.jsonl.gz")
    assert b"oscar2 22.01" in run_cli("detect", tmp_path / "de_meta.jsonl.gz").stdout
    assert b"oscar 1.1" in run_cli("detect", oscar_corpus / "de" / "de_meta.jsonl.gz").stdout


@pytest.mark.parametrize(("name", "version"), [("oscar-2", ""), ("oscar-22.01", "22.01"), ("oscar-23.01", "23.01")])
def test_names(name: str, version: str) -> None:
    fmt, found = named_format(name)
    assert (fmt.name, found) == ("oscar2", version)


def test_unknown_names_are_answered_with_all_names() -> None:
    with pytest.raises(UsageError, match=r"oscar-22\.01"):
        named_format("oscar-22.02")


def test_a_vanished_file_is_rejected(tmp_path: Path) -> None:
    root = release(tmp_path, [record()])
    fmt, version = named_format("oscar-22.01")
    options = CheckOptions(version=version)
    (shard,) = fmt.plan(entry_of(str(root)), options).shards
    (root / "de_meta/de_meta_part_1.jsonl.gz").unlink()
    assert fmt.reader is not None
    (found,) = fmt.reader.read(shard, options)
    assert isinstance(found, Rejected)
    assert found.finding.code == "GEN001"


def test_a_release_is_described(tmp_path: Path) -> None:
    release(tmp_path, [record(1, "als")], "als_meta/als_meta_part_1.jsonl.gz")
    description = corpusfmt.describe(tmp_path)
    assert description["inLanguage"] == ["gsw"]
    fields = {field["name"]: field["source"] for field in description["recordSet"][0]["field"]}
    assert fields["content"]["extract"] == {"column": "content"}
    assert fields["language"]["transform"] == {"jsonPath": "$.identification.label"}


def test_identified_lines_become_spans(tmp_path: Path) -> None:
    row = record()
    row["content"] = "eins\n\n\U0001d51b two\ndrei"
    found = [{"label": "de", "prob": 0.9}, None, {"label": "en", "prob": 0.8}, {"label": "de", "prob": 1}]
    row["metadata"]["sentence_identifications"] = found
    corpusfmt.convert(release(tmp_path / "source", [row]), tmp_path / "out", to="dolma", language_attributes=True)
    assert corpusfmt.validate(tmp_path / "out").counts["error"] == 0
    (path,) = (tmp_path / "out/attributes/oscar-language").rglob("*.gz")
    assert json.loads(gzip.decompress(path.read_bytes()))["attributes"] == {
        "oscar__language__de": [[0, 4, 0.9], [12, 16, 1]],
        "oscar__language__en": [[6, 11, 0.8]],
    }
    corpusfmt.convert(tmp_path / "out", tmp_path / "oscar", to="oscar")


def test_where_a_document_comes_from(tmp_path: Path) -> None:
    corpusfmt.convert(release(tmp_path / "in", [record()]), tmp_path / "out", to="dolma")
    (document,) = documents(tmp_path / "out")
    assert (document["metadata"]["url"], document["metadata"]["language"]) == ("http://a.example", "de")
    assert (document["source"], document["created"]) == ("oscar", "2021-09-16T11:07:14Z")
