"""Attribute sets stay aligned with their documents, are merged into and split from them, and provide languages."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import Json, beside, data_files, document, lines_of, read_rows, texts, write_rows
from support import gzipped, of_data, run_cli

import corpusfmt
from corpusfmt.model import BadInput, UsageError, Verdict

ROWS = [document(number) for number in range(4)]


def dolma(root: Path, rows: list[Json] = ROWS, **sets: list[Json]) -> Path:
    """Write documents, and a file of rows for each attribute set."""
    write_rows(root / "documents/x/a.jsonl.gz", rows)
    for name, found in sets.items():
        write_rows(root / f"attributes/{name}/x/a.jsonl.gz", found)
    return root


def test_attribute_sets_stay_as_they_are(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row) for row in ROWS])
    lines = [
        b'{"attributes": {"b__c__d": [[0, 3, 0.50]]}, "id": "d0"}',
        b'{"id":"d1","attributes":{},"more":{"wide":123456789012345678901234567890}}',
        '{"source":"test","id":"d2","attributes":{"note":"\u2028\u00e9\\u00e9"}}'.encode(),
        b'{"id":"d3","attributes":{"flag":true}} \r',
    ]
    path = root / "attributes/deep/er/x/a.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzipped(b"\n".join(lines) + b"\n"))
    corpusfmt.convert(root, tmp_path / "out", to="dolma", jobs=2)
    assert lines_of(tmp_path / "out/attributes/deep/er/x/a.jsonl.gz") == [*lines[:3], lines[3].rstrip(b" \r")]
    assert read_rows(tmp_path / "out", "attributes/pii") == [beside(row) for row in ROWS]
    assert read_rows(tmp_path / "out") == ROWS


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ([beside(row) for row in ROWS[:3]], "DOL501", "3 rows, the documents file has 4"),
        ([beside(row) for row in [*ROWS, ROWS[0]]], "DOL501", "5 rows, the documents file has 4"),
        ([beside(ROWS[place]) for place in (0, 2, 1, 3)], "DOL502", "row 2 has the id `d2`, the document there `d1`"),
        ([beside(row | {"source": "other"}) for row in ROWS], "DOL503", "the source is `other`"),
        ([beside(row | {"source": []}) for row in ROWS], "DOL503", "the source is `[]`"),
        ([{"attributes": {}}] * 4, "DOL403", "`id` is missing"),
        ([beside(row, b__c__d=[[0, 9999, 1]]) for row in ROWS], "DOL604", "beyond the text of"),
        ([{"id": row["id"], "attributes": []} for row in ROWS], "DOL406", "an array"),
    ],
)
def test_rows_out_of_step_stop_the_shard(rows: list[Json], code: str, words: str, tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=rows)
    with pytest.raises(BadInput, match=code) as caught:
        corpusfmt.convert(root, tmp_path / "out", to="dolma")
    assert words in caught.value.finding.message
    assert caught.value.finding.location.path == "attributes/pii/x/a.jsonl.gz"
    assert not list((tmp_path / "out").glob("[a-z]*"))


def test_an_attributes_file_that_breaks_off_stops_the_shard(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row) for row in ROWS])
    path = root / "attributes/pii/x/a.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(BadInput, match="GEN101"):
        corpusfmt.convert(root, tmp_path / "out", to="dolma")
    assert not list((tmp_path / "out").glob("[a-z]*"))


def test_a_set_that_does_not_cover_all_documents_stops_before_anything_is_written(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row) for row in ROWS])
    write_rows(root / "documents/x/b.jsonl.gz", [document(9)])
    with pytest.raises(BadInput, match="DOL401"):
        corpusfmt.convert(root, tmp_path / "out", to="dolma")
    assert not (tmp_path / "out").exists()


def test_attributes_of_no_documents_are_a_declared_loss(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row) for row in ROWS])
    write_rows(root / "attributes/pii/x/stray.jsonl.gz", [beside(ROWS[0])])
    with pytest.raises(BadInput, match="attributes files of no documents"):
        corpusfmt.convert(root, tmp_path / "error", to="dolma")
    report = corpusfmt.convert(root, tmp_path / "warn", to="dolma", on_loss="warn")
    assert report.results["losses"] == {"attributes files of no documents": 1}


def test_a_rejected_row_takes_its_partner_along(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row, flag=number) for number, row in enumerate(ROWS)])
    lines = [json.dumps(row).encode() for row in ROWS]
    lines[1] = b'{"id":"d1","text":null,"source":"test"}'
    (root / "documents/x/a.jsonl.gz").write_bytes(gzipped(b"\n".join(lines) + b"\n"))
    rows = [json.dumps(beside(row, flag=number)).encode() for number, row in enumerate(ROWS)]
    rows[2] = b'{"id":"d2","attributes":7}'
    (root / "attributes/pii/x/a.jsonl.gz").write_bytes(gzipped(b"\n".join(rows) + b"\n"))
    report = corpusfmt.convert(root, tmp_path / "out", to="dolma", on_bad_record="quarantine")
    assert (report.coverage.documents, report.results["rejected"]) == (2, 2)
    assert [row["id"] for row in read_rows(tmp_path / "out")] == ["d0", "d3"]
    assert [row["attributes"] for row in read_rows(tmp_path / "out", "attributes/pii")] == [{"flag": 0}, {"flag": 3}]
    (sidecar,) = (tmp_path / "out-quarantine").iterdir()
    first, second = [json.loads(line) for line in sidecar.read_bytes().split(b"\n")[:-1]]
    assert (first["rule"], second["rule"]) == ("DOL305", "DOL406")
    assert first["record"].encode() == lines[1] + b"\n" + rows[1]
    document_line, _, row_line = second["record"].partition("\n")
    assert (json.loads(document_line), row_line.encode()) == (ROWS[2], rows[2])


def test_merged_attributes(tmp_path: Path) -> None:
    embedded = [row | {"attributes": {"own": 1}} for row in ROWS]
    sets = {
        "pii": [beside(row, a__b__c=[[0, 1, 0.5]]) for row in ROWS],
        "quality": [beside(row, score=number, own=1) for number, row in enumerate(ROWS)],
    }
    root = dolma(tmp_path / "dolma", embedded, **sets)
    report = corpusfmt.convert(root, tmp_path / "out", to="dolma", merge_attributes=True)
    assert report.verdict is Verdict.VALID
    assert data_files(tmp_path / "out").keys() == {"documents/x/a.jsonl.gz"}
    assert [row["attributes"] for row in read_rows(tmp_path / "out")] == [
        {"own": 1, "a__b__c": [[0, 1, 0.5]], "score": number} for number in range(4)
    ]


def test_names_that_collide_are_refused_unless_one_set_is_preferred(tmp_path: Path) -> None:
    embedded = [row | {"attributes": {"score": -1}} for row in ROWS]
    root = dolma(tmp_path / "dolma", embedded, new=[beside(row, score=number) for number, row in enumerate(ROWS)])
    with pytest.raises(BadInput, match="CNV103") as caught:
        corpusfmt.convert(root, tmp_path / "error", to="dolma", merge_attributes=True)
    message = "attribute `score` has different values in `embedded` and `new`"
    assert caught.value.finding.message.startswith(message)
    for prefer, scores in {"new": [0, 1, 2, 3], "embedded": [-1] * 4}.items():
        out = tmp_path / prefer
        report = corpusfmt.convert(root, out, to="dolma", merge_attributes=True, prefer_attributes=[prefer])
        assert [row["attributes"]["score"] for row in read_rows(out)] == scores
        assert report.results["losses"] == {"attributes that others were preferred to": 4}
        assert report.verdict is Verdict.VALID


def test_fields_of_rows_that_merging_cannot_place_are_a_loss(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", new=[beside(row) | {"tagger": "v2"} for row in ROWS])
    with pytest.raises(BadInput, match="other fields of attribute rows"):
        corpusfmt.convert(root, tmp_path / "error", to="dolma", merge_attributes=True)
    report = corpusfmt.convert(root, tmp_path / "allow", to="dolma", merge_attributes=True, on_loss="allow")
    assert report.results["losses"] == {"other fields of attribute rows": 4}


def test_split_attributes_and_merged_again(tmp_path: Path) -> None:
    found: list[Json] = [{"pii__e__mail": [[0, 2, 1]], "pii_x": 1, "score": 0.5}, {"score": 1}, {}, {"wide": 2**80}]
    rows = [row | {"attributes": attributes} for row, attributes in zip(ROWS, found, strict=True)]
    root = dolma(tmp_path / "dolma", rows)
    corpusfmt.convert(root, tmp_path / "split", to="dolma", split_attributes=["rest", "taggers/pii=pii__"])
    assert corpusfmt.validate(tmp_path / "split").counts["error"] == 0
    kept = [{name: value for name, value in row.items() if name != "attributes"} for row in rows]
    kept[2]["attributes"] = {}
    assert read_rows(tmp_path / "split") == kept
    assert read_rows(tmp_path / "split", "attributes/taggers/pii") == [
        beside(ROWS[0], pii__e__mail=[[0, 2, 1]]),
        *(beside(row) for row in ROWS[1:]),
    ]
    assert read_rows(tmp_path / "split", "attributes/rest")[3] == beside(ROWS[3], wide=2**80)
    corpusfmt.convert(tmp_path / "split", tmp_path / "merged", to="dolma", merge_attributes=True)
    assert read_rows(tmp_path / "merged") == rows


def test_attributes_without_a_set_stay_embedded(tmp_path: Path) -> None:
    rows = [row | {"attributes": {"a_x": 1, "b_x": 2}} for row in ROWS]
    corpusfmt.convert(dolma(tmp_path / "dolma", rows), tmp_path / "out", to="dolma", split_attributes=["a=a_"])
    assert [row["attributes"] for row in read_rows(tmp_path / "out")] == [{"b_x": 2}] * 4


def test_attribute_sets_are_a_loss_for_oscar_unless_they_are_merged(tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row, flag=1) for row in ROWS])
    with pytest.raises(BadInput, match="attribute sets"):
        corpusfmt.convert(root, tmp_path / "error", to="oscar")
    report = corpusfmt.convert(root, tmp_path / "allow", to="oscar", on_loss="allow")
    assert report.results["losses"] == {"attribute sets": 4}
    corpusfmt.convert(root, tmp_path / "oscar", to="oscar", merge_attributes=True)
    corpusfmt.convert(tmp_path / "oscar", tmp_path / "back", to="dolma")
    assert read_rows(tmp_path / "back") == [row | {"attributes": {"flag": 1}} for row in ROWS]


def test_languages_of_oscar_as_an_attribute_set(oscar_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(oscar_corpus, tmp_path / "dolma", to="dolma", language_attributes=True, jobs=2)
    report = corpusfmt.validate(tmp_path / "dolma")
    assert {each.severity for each in of_data(report)} <= {"info"}, corpusfmt.render(report)
    documents, rows = (
        read_rows(tmp_path / "dolma/documents/de", ""),
        read_rows(tmp_path / "dolma/attributes", "oscar-language/de"),
    )
    assert rows == [beside(row, oscar__language__de=[[0, len(row["text"]), 1.0]]) for row in documents]
    corpusfmt.convert(tmp_path / "dolma", tmp_path / "back", to="oscar")
    assert data_files(tmp_path / "back") == {
        name: data for name, data in data_files(oscar_corpus).items() if not name.endswith((".json", ".md"))
    }


def tagged(number: int, **languages: Any) -> Json:
    row = document(number)
    del row["metadata"]
    return beside(row, **{f"lid__tagger__{language}": value for language, value in languages.items()})


LENGTH = len(ROWS[0]["text"])


@pytest.mark.parametrize(
    ("found", "language"),
    [
        ({"en": [[0, LENGTH, 0.4]], "fr": [[0, LENGTH, 0.6]]}, "fr"),
        ({"en": [[0, 10, 0.99]], "fr": [[10, LENGTH, 0.6]]}, "fr"),
        ({"en": 0.7, "fr": 0.2, "not_fr": 0.6}, "en"),
        ({"eng_Latn": 0.98, "de": 0.02}, "en"),
        ({"__label__deu_Latn": 0.6, "__label__eng_Latn": 0.4}, "de"),
        ({"en": [], "de": [[0, LENGTH, 1]]}, "de"),
    ],
)
def test_the_language_by_an_attribute(found: Json, language: str, tmp_path: Path) -> None:
    rows = [{name: value for name, value in document(0).items() if name != "metadata"}]
    root = dolma(tmp_path / "dolma", rows, lid=[tagged(0, **found)])
    corpusfmt.convert(root, tmp_path / "out", to="oscar", language_attribute="lid/lid__tagger", on_loss="allow")
    assert texts(tmp_path / "out" / language) == [f"{rows[0]['text']}\n\n".encode()]
    corpusfmt.convert(
        root, tmp_path / "merged", to="oscar", language_attribute="lid/lid__tagger", merge_attributes=True
    )
    corpusfmt.convert(root, tmp_path / "embedded", to="dolma", merge_attributes=True)
    corpusfmt.convert(tmp_path / "embedded", tmp_path / "again", to="oscar", language_attribute="lid__tagger")
    assert data_files(tmp_path / "again") == data_files(tmp_path / "merged")


def test_an_empty_text_has_the_language_of_the_highest_score(tmp_path: Path) -> None:
    rows = [{"id": "d0", "text": "", "source": "test"}]
    root = dolma(tmp_path / "dolma", rows, lid=[tagged(0, en=[[0, 0, 0.3]], fr=[[0, 0, 0.4]])])
    corpusfmt.convert(root, tmp_path / "out", to="oscar", language_attribute="lid/lid__tagger", merge_attributes=True)
    assert (tmp_path / "out/fr").is_dir()


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ({"en": [[0, LENGTH, 0.0]], "not_en": [[0, LENGTH, 1.0]]}, "CNV104"),
        ({"en": 0.4, "fr": 0.1, "unknown": 0.5}, "CNV104"),
        ({"en": 0.4, "fr": [[0, LENGTH, 0.5]], "zh__Hans": 0.6}, "CNV104"),
        ({"en": [[0, LENGTH, -0.5]], "de": [[0, LENGTH, -3.0]]}, "CNV102"),
        ({"en": 0, "de": []}, "CNV102"),
        ({"en": [[0, 0, 0.9]]}, "CNV102"),
        ({"en": 0.1, "de": "0.9"}, "CNV102"),
        ({"en": 0.1, "de": [[0, LENGTH, 0.9], [0, 1]]}, "CNV102"),
    ],
)
def test_attributes_that_tell_no_language(found: Json, code: str, tmp_path: Path) -> None:
    rows = [{name: value for name, value in document(0).items() if name != "metadata"}]
    root = dolma(tmp_path / "dolma", [rows[0] | {"attributes": tagged(0, **found)["attributes"]}])
    with pytest.raises(BadInput, match=code):
        corpusfmt.convert(root, tmp_path / "out", to="oscar", language_attribute="lid__tagger")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"merge_attributes": True, "split_attributes": ["a"]}, "choose one"),
        ({"prefer_attributes": ["a"]}, "add `merge_attributes`"),
        ({"split_attributes": ["../evil"]}, "is not a folder name"),
        ({"split_attributes": ["a=x", "a=y"]}, "names a set or prefix twice"),
        ({"split_attributes": ["pii"]}, "already"),
        ({"language_entry": "a", "language_attribute": "b/c"}, "choose one"),
        ({"language_attribute": "b/"}, "SET/KEY"),
        ({"added": "yesterday"}, "`added` is"),
        ({"source_name": ""}, "`source_name` is empty"),
        ({"to": "oscar", "language_attributes": True}, "only Dolma"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    root = dolma(tmp_path / "dolma", pii=[beside(row) for row in ROWS])
    with pytest.raises(UsageError, match=words):
        corpusfmt.convert(root, tmp_path / "out", **({"to": "dolma"} | options))
    assert not (tmp_path / "out").exists()


def test_the_command_line_knows_them(tmp_path: Path) -> None:
    root = dolma(
        tmp_path / "dolma", pii=[beside(row, flag=1) for row in ROWS], new=[beside(row, flag=2) for row in ROWS]
    )
    merged = ["--merge-attributes", "--prefer-attributes", "new", "--prefer-attributes", "pii"]
    done = run_cli("convert", root, tmp_path / "merged", "--to", "dolma", *merged)
    assert (done.returncode, b"lost: attributes that others were preferred to, 4 times" in done.stdout) == (0, True)
    done = run_cli("convert", tmp_path / "merged", tmp_path / "split", "--to", "dolma", "--split-attributes", "all=f")
    assert done.returncode == 0
    assert [row["attributes"] for row in read_rows(tmp_path / "split", "attributes/all")] == [{"flag": 2}] * 4
    assert gzip.decompress((tmp_path / "split/documents/x/a.jsonl.gz").read_bytes()).count(b"attributes") == 0


@pytest.mark.parametrize("source", [{}, {"source": "s"}])
def test_what_the_deduper_writes_beyond_a_text_goes_along(source: dict[str, str], tmp_path: Path) -> None:
    row = {"id": "1", "attributes": {"a__b__c": [[0, 3, 1]]}, **source}
    for folder, each in (("documents", {"id": "1", "text": "né", "source": "s"}), ("attributes/dup", row)):
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "a.jsonl").write_text(json.dumps(each) + "\n", "utf-8")
    if not source:
        assert corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma").coverage.documents == 1
        return
    with pytest.raises(BadInput, match="DOL604"):
        corpusfmt.convert(tmp_path / "in", tmp_path / "out", to="dolma")
