"""Documents of a program are written as `convert` writes those of a corpus, in each target, or not at all."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conversion.rows import beside, data_files, document, write_rows

import corpusfmt
from corpusfmt import BadInput, Document, Progress, UsageError

EXCHANGED = ["oscar-1.1", "dolma", "parquet", "jsonl"]


def plain(path: Path) -> list[Document]:
    return sorted(corpusfmt.read(path), key=lambda each: each.id)


@pytest.mark.parametrize("to", [*EXCHANGED, "oscar-1.0", "text"])
def test_every_target_has_the_documents_that_convert_gives_it(to: str, oscar_corpus: Path, tmp_path: Path) -> None:
    converted = corpusfmt.convert(oscar_corpus, tmp_path / "converted", to=to, on_loss="allow")
    written = corpusfmt.write(corpusfmt.read(oscar_corpus), tmp_path / "written", to=to, on_loss="allow", jobs=2)
    assert written.results["losses"] == converted.results["losses"]
    assert (written.format, written.coverage.documents) == (converted.format, converted.coverage.documents)
    kind = to.partition("-")[0]
    for name in ("converted", "written"):
        report = corpusfmt.validate(tmp_path / name, format=kind)
        assert (report.verdict, report.counts["error"]) == ("valid", 0)
    if to in EXCHANGED:
        assert plain(tmp_path / "written") == plain(tmp_path / "converted")
    if kind == "oscar":
        assert data_files(tmp_path / "written") == data_files(tmp_path / "converted")
    manifest = json.loads((tmp_path / "written/MANIFEST.json").read_bytes())
    assert (manifest["inputs"], manifest["conversion"]["from"]) == ([], "documents")
    names = {path.name for path in (tmp_path / "written").iterdir()}
    assert names >= {"MANIFEST.json", "README.md", "croissant.json"}
    assert ".corpusfmt" not in names


def test_the_same_documents_give_the_same_bytes_with_any_number_of_workers(tmp_path: Path) -> None:
    documents = [Document(f"{number}", "Text. " * number, source="s") for number in range(1, 60)]
    for jobs in (1, 2):
        corpusfmt.write(documents, tmp_path / str(jobs), to="dolma", part_bytes=5_000, jobs=jobs)
    assert data_files(tmp_path / "1") == data_files(tmp_path / "2")
    assert len(list((tmp_path / "1/documents").iterdir())) > 2
    assert list(corpusfmt.read(tmp_path / "1")) == documents


def test_attribute_sets_stay_separate_or_are_merged(tmp_path: Path) -> None:
    rows = [document(number) for number in range(2)]
    write_rows(tmp_path / "in/documents/a.jsonl.gz", rows)
    for name in ("quality", "toxic"):
        attributes = [beside(row, **{f"{name}__score": [[0, 1, 0.5]]}) for row in rows]
        write_rows(tmp_path / f"in/attributes/{name}/a.jsonl.gz", attributes)
    documents = plain(tmp_path / "in")
    corpusfmt.write(documents, tmp_path / "out", to="dolma")
    assert corpusfmt.validate(tmp_path / "out").counts["error"] == 0
    assert plain(tmp_path / "out") == documents
    other = Document("2", "a", source="s", attribute_rows={"quality": documents[0].attribute_rows["quality"]})
    message = "document 3: attribute sets: quality, expected those of the first document: quality, toxic"
    with pytest.raises(UsageError, match=message):
        corpusfmt.write([*documents, other], tmp_path / "mixed", to="dolma")
    corpusfmt.write([*documents, other], tmp_path / "merged", to="dolma", merge_attributes=True)
    found = [sorted(each.attributes or {}) for each in corpusfmt.read(tmp_path / "merged")]
    assert found == [["quality__score", "toxic__score"]] * 2 + [["quality__score"]]


def test_mappings_are_documents(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": "1", "text": "a", "lang": "de"},
        {"id": "2", "text": "b", "metadata": {"k": 1}},
    ]
    corpusfmt.write(rows, tmp_path / "out", to="jsonl")
    assert list(corpusfmt.read(tmp_path / "out", format="jsonl", fields=["metadata"])) == [
        Document("1", "a"),
        Document("2", "b", metadata={"k": 1}),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"id": "1"}], "document 1: Missing required argument 'text'"),
        ([{"id": "1", "text": "a", "label": 1}], "document 1: Unexpected keyword argument 'label'"),
        ([Document("1", "a"), {"id": 2, "text": "a"}], "document 2: `id` is int, expected str"),
        ([{"id": "1", "text": "a", "lang": 5}], "document 1: `lang` is int, expected str"),
        ([{"id": "1", "text": "a", "metadata": []}], "document 1: `metadata` is list, expected dict"),
        ([{"id": "1", "text": "a", "metadata": {"x": object()}}], "document 1: Encoding objects of type object"),
        ([{"id": "1", "text": "\ud800"}], "document 1: 'utf-8' codec can't encode"),
        ([{"id": "1", "text": "a", "attribute_rows": 5}], "document 1: `attribute_rows` is int, expected dict"),
        ([{"id": "1", "text": "a", "attribute_rows": {5: "{}"}}], "document 1: attribute set: int, expected str"),
        ([{"id": "1", "text": "a", "attribute_rows": {"../s": "{}"}}], "document 1: attribute set '../s': not a name"),
        ([{"id": "1", "text": "a", "attribute_rows": {"s": {}}}], "document 1: attribute set 's': dict, expected str"),
        ([{"id": "1", "text": "a", "attribute_rows": {"s": "{"}}], "document 1: attribute set 's': not a row: "),
        (
            [{"id": "1", "text": "a", "attribute_rows": {"s": '{"id":"1","attributes":[]}'}}],
            "document 1: attribute set 's': not a row: Expected `object`, got `array` - at `$.attributes`",
        ),
        (
            [{"id": "1", "text": "a", "attribute_rows": {"s": '{"id":"1",\n"attributes":{}}'}}],
            "document 1: attribute set 's': not a row: more than one line",
        ),
        ([], "nothing to write: there are no documents"),
    ],
)
def test_values_that_are_no_documents_are_named_and_nothing_is_written(
    given: list[Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as raised:
        corpusfmt.write(given, tmp_path / "out", to="jsonl")
    assert str(raised.value).startswith(message)
    assert not list((tmp_path / "out").iterdir())


def test_an_exception_of_the_caller_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield Document("1", "a")
        raise KeyError("theirs")

    with pytest.raises(KeyError, match="theirs"):
        corpusfmt.write(broken(), tmp_path / "out", to="dolma")
    assert not list((tmp_path / "out").iterdir())
    corpusfmt.write([Document("1", "a")], tmp_path / "out", to="oscar", language_entry="l", on_bad_record="quarantine")


def test_repeated_ids_and_unknown_languages_stop_the_run_or_are_quarantined(tmp_path: Path) -> None:
    twice = [Document("1", "a", source="s"), Document("1", "b", source="s")]
    with pytest.raises(BadInput, match="CNV"):
        corpusfmt.write(twice, tmp_path / "out", to="dolma")
    report = corpusfmt.write(twice, tmp_path / "rest", to="dolma", on_bad_record="quarantine")
    assert report.results["rejected"] == 1
    with pytest.raises(BadInput, match="the language is unknown"):
        corpusfmt.write(twice, tmp_path / "oscar", to="oscar")
    named = [Document("1", "a", lang="de"), Document("2", "b", metadata={"l": "fr"}), Document("3", "c", lang="de")]
    with pytest.raises(UsageError, match="contains a finished corpus"):
        corpusfmt.write(named, tmp_path / "rest", to="oscar")
    for one, other in ((named[0], "de"), (named[1], "fr")):
        one.metadata = {"l": other}
    named[2].metadata = {"l": "fr"}
    corpusfmt.write(named, tmp_path / "oscar", to="oscar", language_entry="l")
    assert [(each.lang, each.text) for each in corpusfmt.read(tmp_path / "oscar")] == [
        ("de", "a"),
        ("fr", "b"),
        ("fr", "c"),
    ]


def test_memory_does_not_grow(tmp_path: Path) -> None:
    text = "word " * 20_000

    def peak(number: int) -> int:
        documents = (Document(f"{each}", f"{each} {text}", source="s", lang="de") for each in range(number))
        tracemalloc.start()
        corpusfmt.write(documents, tmp_path / f"{number}", to="oscar")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(600) < peak(200) + 15_000_000


def test_progress_is_shown(tmp_path: Path) -> None:
    seen: list[tuple[str, Progress]] = []
    documents = (Document(f"{each}", "a", source="s") for each in range(20_000))
    corpusfmt.write(documents, tmp_path / "out", to="jsonl", progress=lambda *step: seen.append(step))
    notes = [(stage, step.note) for stage, step in seen if step.note]
    assert notes == [("store", "10,000 documents"), ("store", "20,000 documents")]
    assert ("convert", 1) in {(stage, step.shards) for stage, step in seen}


def test_a_report_as_a_dictionary_is_its_json(oscar_corpus: Path) -> None:
    report = corpusfmt.validate(oscar_corpus)
    assert json.loads(corpusfmt.render(report, "json")) == json.loads(json.dumps(report.to_dict()))
    assert report.to_dict()["verdict"] == "valid"
