"""Properties that only the owner knows come from a file: checked, with hints, and written as RAI and PROV-O."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from description.folders import jsonl
from support import REPOSITORY, SAMPLE, run_cli

import corpusfmt
from corpusfmt.description.provenance import Release
from corpusfmt.formats.croissant.model.shapes import DATASET
from corpusfmt.model import UsageError

FILE = """
[[creator]]
type = "Person"
name = "Jane"
affiliation = "Example"

[rai]
dataBiases = "none"
dataLimitations = ["small", "old"]
personalSensitiveInformation = "none"
dataUseCases = "tests"
dataSocialImpact = "none"
dataCollectionTimeframe = 2024-01-31
hasSyntheticData = false

[provenance]
wasDerivedFrom = "https://example.org/a"

[[provenance.wasGeneratedBy]]
label = "by hand"
startedAtTime = 2024-01-01T10:00:00Z
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_bytes(b"id\n1\n")
    return tmp_path / "data"


def test_what_the_owner_says_is_written(table: Path, tmp_path: Path) -> None:
    (tmp_path / "owner.toml").write_text(FILE)
    made: dict[str, Any] = corpusfmt.describe(
        table,
        rai=tmp_path / "owner.toml",
        url="https://example.org",
        license="https://example.org/l",
        date_published="2024-01-31",
    )
    assert made["conformsTo"] == ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
    (creator,) = made["creator"]
    assert (creator["@type"], creator["affiliation"]["name"]) == ("sc:Person", "Example")
    assert made["rai:dataLimitations"] == ["small", "old"]
    assert made["rai:dataCollectionTimeframe"] == "2024-01-31"
    assert made["rai:hasSyntheticData"] is False
    assert made["prov:wasDerivedFrom"] == [{"@id": "https://example.org/a"}]
    (activity,) = made["prov:wasGeneratedBy"]
    assert (activity["rdfs:label"], activity["prov:startedAtTime"]) == ("by hand", "2024-01-01T10:00:00+00:00")
    (table / "croissant.json").write_text(json.dumps(made))
    report = corpusfmt.validate(table / "croissant.json", profile=["strict", "neurips-2026"], data=True)
    assert report.counts["error"] == 0, corpusfmt.render(report)


def test_version_1_0_claims_one_specification(table: Path, tmp_path: Path) -> None:
    (tmp_path / "owner.toml").write_text(FILE)
    made = corpusfmt.describe(table, rai=tmp_path / "owner.toml", croissant="1.0")
    assert made["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert "annotation" not in json.dumps(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[rai]\ndataBias = 'x'\n", "`rai.dataBias` is unknown; did you mean `dataBiases`?"),
        ("[rai]\ndataBiases = 3\n", "`rai.dataBiases` is 3, expected a text, or a list of texts"),
        ("[rai]\ndataCollection = ['a', 'b']\n", '`rai.dataCollection` is ["a", "b"], expected a text'),
        (
            "[rai]\ndataCollectionTimeframe = 'in spring'\n",
            '`rai.dataCollectionTimeframe` is "in spring", expected a date',
        ),
        ("[[creator]]\nurl = 'https://x.org'\n", "`creator.0` has no `name`"),
        ("[creator]\nname = 'x'\n", "expected tables `[[creator]]`"),
        ("[provenance]\nwasDerivedFrom = 'here'\n", "expected a URL, or a list of URLs"),
        ("[zoo]\nx = 1\n", "`zoo` is unknown; known: creator"),
        ("rai = [", "owner.toml"),
    ],
)
def test_wrong_keys_are_named_with_what_is_meant(text: str, said: str, table: Path, tmp_path: Path) -> None:
    (tmp_path / "owner.toml").write_text(text)
    with pytest.raises(UsageError) as raised:
        corpusfmt.describe(table, rai=tmp_path / "owner.toml")
    assert said in str(raised.value)


def test_the_schema_has_each_property_of_rai() -> None:
    schema = json.loads((REPOSITORY / "schemas/description/owner.schema.json").read_text())
    known = {f"rai:{name}" for name in schema["properties"]["rai"]["properties"]}
    assert known == {row.name for row in DATASET.properties if row.name.startswith("rai:")} | {"rai:hasSyntheticData"}


def test_a_corpus_has_the_provenance_of_its_manifest(oscar_corpus: Path) -> None:
    made = corpusfmt.describe(oscar_corpus)
    manifest = json.loads((oscar_corpus / "MANIFEST.json").read_bytes())
    inputs = [each["name"] for each in manifest["inputs"]]
    assert made["prov:wasDerivedFrom"] == [{"@type": "prov:Entity", "rdfs:label": name} for name in inputs]
    (activity,) = made["prov:wasGeneratedBy"]
    tool = f"corpusfmt {corpusfmt.__version__}"
    assert activity["rdfs:label"] == f"{tool}, recipe oscar-1.1"
    agents = [each["rdfs:label"] for each in activity["prov:wasAssociatedWith"]]
    assert agents == [tool, f"language identification model, SHA-256 {manifest['model']['sha256']}"]


def test_of_many_inputs_only_the_folders_are_named() -> None:
    inputs = [
        {"name": f"{number % folders}/{number}.gz", "sha256": ""} for folders in (3, 5000) for number in range(9000)
    ]
    for some, named, first in ((inputs[:1000], 1000, "0/0.gz"), (inputs[:1001], 3, "0"), (inputs, 1000, "0")):
        sources = Release({}, {"tool": {}, "inputs": some}, {}).provenance["prov:wasDerivedFrom"]
        assert (len(sources), sources[0]["rdfs:label"]) == (named, first)


def statistics_of(annotated: dict[str, Any]) -> dict[str, Any]:
    """Return the annotations of a record set or a field: their values, or those of their parts."""
    found = annotated["annotation"]
    return {
        each["name"]: each["value"] if "value" in each else {one["name"]: one["value"] for one in each["subField"]}
        for each in (found if isinstance(found, list) else [found])
    }


def test_a_corpus_has_the_statistics_of_its_manifest(oscar_corpus: Path) -> None:
    files, metadata = corpusfmt.describe(oscar_corpus)["recordSet"]
    known = json.loads((oscar_corpus / "stats.json").read_bytes())
    assert known["documents"] == json.loads((oscar_corpus / "MANIFEST.json").read_bytes())["tree"]["documents"]
    found = statistics_of(files)
    by_language = {name: size["documents"] for name, size in known["languages"].items()}
    assert found.pop("documents_by_language") == by_language
    units = ["lines", "characters", "bytes"]
    sizes = {name: known[name] for name in ("documents", *units)}
    assert [found.pop(f"{unit}_of_a_document").keys() for unit in units] == [
        {"minimum", "median", "maximum", "mean"}
    ] * 3
    assert found == {"count": len(files["data"]), "languages": len(by_language), **sizes}
    assert statistics_of(metadata) == {"count": known["documents"]}


def test_what_is_built_or_converted_is_described_alike(oscar_corpus: Path, dolma_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.build(SAMPLE, tmp_path / "dolma", recipe="dolma")
    for corpus in (oscar_corpus, dolma_corpus, tmp_path / "dolma"):
        written = json.loads((corpus / "croissant.json").read_bytes())
        written["distribution"] = [each for each in written["distribution"] if "_sha256." not in each["name"]]
        described = corpusfmt.describe(corpus, name=written["name"])
        if corpus == dolma_corpus:  # a conversion counts no languages
            del described["inLanguage"]
        assert written["prov:wasGeneratedBy"]
        assert described == written


def test_a_conversion_does_not_name_its_own_files_as_sources(oscar_corpus: Path, tmp_path: Path) -> None:
    corpusfmt.convert(oscar_corpus, tmp_path / "out", to="oscar-1.0", on_loss="allow")
    made = json.loads((tmp_path / "out" / "croissant.json").read_bytes())
    own = {each["@id"] for each in made["distribution"]}
    sources = made["prov:wasDerivedFrom"]
    assert own & {each["rdfs:label"] for each in sources}
    assert not [each for each in sources if "@id" in each]


def test_a_sealed_corpus_of_dolma_has_the_statistics_next_to_it(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "x y", "source": "s"} for n in range(3)]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.jsonl").write_bytes(jsonl(*rows))
    sizes = {"documents": 3, "lines": 3, "words": 6, "bytes": 9}
    stats = {**sizes, "languages": {"de": {"documents": 3}, "x": {"documents": "3"}, "y": 1}}
    (tmp_path / "stats.json").write_text(json.dumps(stats))
    assert run_cli("seal", tmp_path).returncode == 0
    (documents,) = corpusfmt.describe(tmp_path)["recordSet"]
    assert statistics_of(documents) == {"count": 3, "languages": 1, "documents_by_language": {"de": 3}}
    text = next(each for each in documents["field"] if each["name"] == "text")
    assert statistics_of(text) == {"lines": 3, "words": 6, "bytes": 9}
    (tmp_path / "documents" / "b.jsonl").write_bytes(jsonl({"id": "b", "text": "z", "source": "s"}))
    (documents,) = corpusfmt.describe(tmp_path)["recordSet"]
    assert statistics_of(documents) == {"count": 4}


def test_a_sealed_corpus_has_the_statistics_that_were_counted(tmp_path: Path) -> None:
    rows = [
        {"id": str(number), "text": "x y\n" * number, "source": "s", "metadata": {"language": language}}
        for number, language in enumerate(["de", "fr", None])
    ]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.jsonl").write_bytes(jsonl(*rows))
    assert run_cli("stats", tmp_path, "--report", f"json={tmp_path}/stats.json").returncode == 0
    assert run_cli("seal", tmp_path).returncode == 0
    described = corpusfmt.describe(tmp_path)
    (documents,) = described["recordSet"]
    assert statistics_of(documents) == {"count": 3, "languages": 2, "documents_by_language": {"de": 1, "fr": 1}}
    found = statistics_of(next(each for each in documents["field"] if each["name"] == "text"))
    assert {name: found[name] for name in ("lines", "words", "characters", "bytes")} == {
        "lines": 3,
        "words": 6,
        "characters": 12,
        "bytes": 12,
    }
    assert found["words_of_a_document"] == {"minimum": 0, "median": 2, "maximum": 4, "mean": 2.0}
    (tmp_path / "croissant.json").write_text(json.dumps(described))
    assert run_cli("validate", tmp_path / "croissant.json").returncode == 0


def test_a_manifest_of_other_data_says_nothing(oscar_corpus: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    shutil.copytree(oscar_corpus, corpus)
    (corpus / "stats.json").write_bytes((corpus / "stats.json").read_bytes() + b" ")
    files, _ = corpusfmt.describe(corpus)["recordSet"]
    assert {"documents_by_language", "words"} & statistics_of(files).keys() == {"documents_by_language"}
    text = corpus / "de" / "de.txt.gz"
    text.write_bytes(gzip.compress(gzip.decompress(text.read_bytes()), 1))
    evidence: list[Any] = []
    made = corpusfmt.describe(corpus, evidence=evidence.append)
    assert not [name for name in made if name.startswith("prov:")]
    assert statistics_of(made["recordSet"][0]).keys() == {"count", "lines"}
    said = "de/de.txt.gz: not as MANIFEST.json lists it, so its statistics and provenance are left out"
    assert evidence[0]["notes"] == [said]


def test_a_manifest_of_somebody_else_says_nothing(table: Path) -> None:
    for text in ("[]", "{", '{"tool": 1, "inputs": {}}', "null"):
        (table / "MANIFEST.json").write_text(text)
        assert "prov:wasDerivedFrom" not in corpusfmt.describe(table)


def test_reasons_are_written_and_notes_shown(table: Path, tmp_path: Path) -> None:
    for number in range(25):
        (table / f"x{number}.bin").write_bytes(b"\0")
    done = run_cli("describe", table, "--evidence", tmp_path / "why.json", "-o", tmp_path / "croissant.json")
    notes = [line for line in done.stderr.decode().split("\n") if line.startswith("note: ")]
    assert (done.returncode, len(notes)) == (0, 21)
    assert notes[-1] == f"note: 5 more in {tmp_path / 'why.json'}"
    found = json.loads((tmp_path / "why.json").read_bytes())
    assert len(found["notes"]) == 25
    assert found["recordSets"]["a"]["fields"]["id"] == {"type": "sc:Integer", "why": "1 value"}


def test_an_unknown_version_and_an_empty_folder_are_refused(table: Path, tmp_path: Path) -> None:
    done = run_cli("describe", table, "--croissant", "0.8")
    assert done.returncode == 2
    assert b"known: 1.0, 1.1" in done.stderr
    (tmp_path / "empty").mkdir()
    done = run_cli("describe", tmp_path / "empty")
    assert (done.returncode, b"nothing to describe" in done.stderr) == (2, True)


def test_links_out_of_a_folder_are_left_out(table: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_bytes(b"password\n1\n")
    (table / "link.csv").symlink_to(tmp_path / "secret.csv")
    (table / "b.csv").write_bytes(b"id\n2\n")
    evidence: list[Any] = []
    made = corpusfmt.describe(table, base=table, evidence=evidence.append)
    assert "password" not in json.dumps(made)
    assert [each for each in evidence[0]["notes"] if each.startswith("link.csv: left out")]
    (table / "croissant.json").write_text(json.dumps(made))
    report = corpusfmt.validate(table / "croissant.json", data=True)
    assert report.counts["error"] == 0, corpusfmt.render(report)


def test_links_out_of_a_folder_of_texts_are_noted(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "a.txt").write_text("Text.\n")
    (folder / "link").symlink_to("..")
    (folder / "link.txt").symlink_to("../secret.txt")
    (tmp_path / "secret.txt").write_text("password\n")
    evidence: list[Any] = []
    made = corpusfmt.describe(folder, evidence=evidence.append)
    assert "password" not in json.dumps(made)
    assert {each.partition(": left out: ")[0] for each in evidence[0]["notes"]} >= {"link", "link.txt"}


def test_what_is_inside_of_objects_is_bounded(table: Path) -> None:
    rows = [{"a": {f"k{n}_{m}": m for m in range(90)}, "b": 1} for n in range(50)]
    (table / "wide.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evidence: list[Any] = []
    corpusfmt.describe(table, evidence=evidence.append)
    assert any("more than" in each and "`a`" in each for each in evidence[0]["notes"]), evidence[0]["notes"]
