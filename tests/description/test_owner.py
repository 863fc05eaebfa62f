"""Properties that only the owner knows come from a file: checked, with hints, and written as RAI and PROV-O."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import REPOSITORY, run_cli

import corpusfmt
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
    assert [each["@id"] for each in made["prov:wasDerivedFrom"]] == inputs
    assert made["prov:wasGeneratedBy"][0]["rdfs:label"].startswith("corpusfmt ")
    counts = {each["name"]: each["annotation"]["value"] for each in made["recordSet"]}
    assert counts["metadata"] == corpusfmt.validate(oscar_corpus).coverage.documents


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


def test_what_is_inside_of_objects_is_bounded(table: Path) -> None:
    rows = [{"a": {f"k{n}_{m}": m for m in range(90)}, "b": 1} for n in range(50)]
    (table / "wide.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evidence: list[Any] = []
    corpusfmt.describe(table, evidence=evidence.append)
    assert any("more than" in each and "`a`" in each for each in evidence[0]["notes"]), evidence[0]["notes"]
