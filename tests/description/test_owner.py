"""Properties that only the owner knows come from a file: checked, with hints, and written as RAI and PROV-O."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from description.corpora import CORPORA
from description.folders import FOLDERS, Folder, jsonl, write
from support import REPOSITORY, SAMPLE, run_cli

import corpusfmt
from corpusfmt.description.provenance import Release
from corpusfmt.formats.croissant.model.shapes import DATASET
from corpusfmt.model import Json, UsageError

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
        ("[rai]\ndataBias = 'x'\n", "`rai.dataBias` is unknown (did you mean `dataBiases`?); known: "),
        ("[rai]\ndataBiases = 3\n", "`rai.dataBiases` is 3, expected a text, or a list of texts"),
        ("[rai]\ndataCollection = ['a', 'b']\n", '`rai.dataCollection` is ["a", "b"], expected a text'),
        (
            "[rai]\ndataCollectionTimeframe = 'in spring'\n",
            '`rai.dataCollectionTimeframe` is "in spring", expected a date',
        ),
        ("[[creator]]\nurl = 'https://x.org'\n", "'name' is a required property of `creator.0`"),
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


def test_what_is_inside_of_objects_is_bounded(table: Path) -> None:
    rows = [{"a": {f"k{n}_{m}": m for m in range(90)}, "b": 1} for n in range(50)]
    (table / "wide.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    evidence: list[Any] = []
    corpusfmt.describe(table, evidence=evidence.append)
    assert any("more than" in each and "`a`" in each for each in evidence[0]["notes"]), evidence[0]["notes"]


CITATION = b"""cff-version: 1.2.0
title: Tea & Milk
abstract: Prices of tea.
authors:
  - {given-names: Jane, family-names: Example, orcid: "https://orcid.org/0000-0000-0000-0001"}
  - {name: Example Organisation}
version: 1.2.0
date-released: 2024-01-31
license: CC-BY-4.0
doi: 10.5281/zenodo.1
keywords: [tea, milk]
"""
CODEMETA = b"""{"name": "Tea", "license": "https://spdx.org/licenses/MIT", "version": 2,
"author": [{"@type": "Person", "givenName": "Jane", "familyName": "Example"}], "codeRepository": "https://example.org/tea"}"""
CARD = b"---\nlicense: cc-by-sa-4.0\nlanguage: [de, en]\ntags: [prices, 'size:1k']\npretty_name: Prices\n---\n# Tea\n"
REMOTE = b'[core]\n\tbare = false\n[remote "origin"]\n\turl = %s\n\tfetch = +refs/heads/*\n'
COMMIT = "0123456789abcdef0123456789abcdef01234567"
JANE = {"@type": "sc:Person", "name": "Jane Example"}


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("CITATION.cff", CITATION, {
            "name": "Tea & Milk", "description": "Prices of tea.", "version": "1.2.0", "datePublished": "2024-01-31",
            "license": "https://spdx.org/licenses/CC-BY-4.0", "keywords": ["tea", "milk"],
            "creator": [JANE | {"url": "https://orcid.org/0000-0000-0000-0001"},
                        {"@type": "sc:Organization", "name": "Example Organisation"}],
            "sameAs": ["https://doi.org/10.5281/zenodo.1"]}),
        ("codemeta.json", CODEMETA, {"name": "Tea", "license": "https://spdx.org/licenses/MIT", "version": "2",
                                     "creator": [JANE], "url": "https://example.org/tea"}),
        ("README.md", CARD, {"name": "Prices", "license": "https://spdx.org/licenses/CC-BY-SA-4.0",
                             "inLanguage": ["de", "en"], "keywords": ["prices"]}),
        ("LICENSE", b"Apache License\n  Version 2.0, January 2004", {"license": "https://spdx.org/licenses/Apache-2.0"}),
        ("LICENSE.txt", b"Do as you like", {}),
        (".git/config", REMOTE % b"https://me:token@example.org/a/tea.git", {"url": "https://example.org/a/tea"}),
        (".git/config", REMOTE % b"git@example.org:a/tea.git", {"url": "https://example.org/a/tea"}),
        (".git/config", REMOTE % b"ssh://git@example.org:22/a/tea.git", {"url": "https://example.org/a/tea"}),
        (".git/config", REMOTE % b"/home/me/tea", {}),
        ("CITATION.cff", b"a: &a [x]\nb: *a\n", {}),
        ("README.md", b"# Tea\n", {}),
    ],
)  # fmt: skip
def test_files_about_the_data_say_what_they_hold(name: str, data: bytes, expected: Json, tmp_path: Path) -> None:
    folder = write(Folder({"data/a.csv": b"x\n1\n", f"data/{name}": data}, {}), tmp_path) / "data"
    evidence: list[Json] = []
    described = corpusfmt.describe(folder, evidence=evidence.append)
    ours = {"@context", "@type", "conformsTo", "distribution", "recordSet"}
    plain = {"name": "data", "description": "Files of data"}
    if "name" in expected and "description" not in expected:
        plain["description"] = f"Files of {expected['name']}"
    assert {key: value for key, value in described.items() if key not in ours} == plain | expected
    noted = [note for note in evidence[0]["notes"] if note.startswith("from ")]
    assert noted == ([f"from {name}: {', '.join(noted[0].partition(': ')[2].split(', '))}"] if expected else [])
    assert set(noted[0].partition(": ")[2].split(", ")) == expected.keys() if noted else not expected


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("CITATION.cff", b"a: [", "it is not YAML"),
        ("CITATION.cff", b"a: " + b"[" * 10_000, "it is nested too deeply"),
        ("codemeta.json", b"{", "expecting property name"),
        ("codemeta.json", b"[" * 100_000, "nested deeper"),
        ("codemeta.json", b'{"name": "\\ud800"}', "a lone surrogate escape"),
        ("LICENSE", b"x" * 2_000_000, "it has more than 1,048,576 bytes"),
        ("LICENSE", b"\xff", "can't decode"),
    ],
)
def test_files_about_the_data_that_cannot_be_read_are_a_note(name: str, data: bytes, why: str, tmp_path: Path) -> None:
    folder = write(Folder({"a.csv": b"x\n1\n", name: data}, {}), tmp_path)
    evidence: list[Json] = []
    corpusfmt.describe(folder, evidence=evidence.append)
    (note,) = (note for note in evidence[0]["notes"] if note.startswith(f"{name} is not read: "))
    assert why in note


@pytest.mark.parametrize("date", ["5", "May 2024", "2024-13", "2024-02-30"])
def test_what_is_no_date_or_url_is_left_out_for_a_later_file(date: str, tmp_path: Path) -> None:
    wrong = f'title: Tea\ndate-released: "{date}"\nurl: see the page\n'.encode()
    right = b'{"datePublished": "2024-01", "url": "https://example.org/tea"}'
    folder = write(Folder({"a.csv": b"x\n1\n", "CITATION.cff": wrong, "codemeta.json": right}, {}), tmp_path)
    evidence: list[Json] = []
    described = corpusfmt.describe(folder, evidence=evidence.append)
    assert (described["datePublished"], described["url"]) == ("2024-01", "https://example.org/tea")
    assert [note for note in evidence[0]["notes"] if "left out" in note] == [
        f"CITATION.cff: `datePublished` is left out: `{date}` is no date",
        "CITATION.cff: `url` is left out: `see the page` is no URL",
    ]


def test_a_lone_surrogate_in_codemeta_stops_no_conversion(tmp_path: Path) -> None:
    files = {"codemeta.json": b'{"name": "\\ud800"}', "a.jsonl": b'{"text": "x"}\n'}
    folder = write(Folder(files, {}), tmp_path / "data")
    assert corpusfmt.convert(folder, tmp_path / "out", to="dolma").coverage.documents == 1


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names in UTF-8 only")
def test_names_that_are_not_utf_8_are_escaped_or_refused(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "a.csv").write_bytes(b"x\n1\n")
    assert corpusfmt.describe(folder)["name"] == "caf\\xe9"
    with pytest.raises(UsageError, match=r"'\\udcff' is not UTF-8"):
        corpusfmt.describe(folder, creator=os.fsdecode(b"\xff"))
    with pytest.raises(UsageError, match=r"'caf\\udce9/' is not UTF-8"):
        corpusfmt.describe(folder, base=tmp_path)


def test_options_and_earlier_files_win_over_later_ones(tmp_path: Path) -> None:
    outside = tmp_path / "CODEMETA"
    outside.write_bytes(CODEMETA)
    files = {"CITATION.cff": CITATION, "README.md": CARD, "a.csv": b"x\n1\n"}
    folder = write(Folder(files, {}), tmp_path / "data")
    (folder / "codemeta.json").symlink_to(outside)
    described = corpusfmt.describe(folder, name="Mine", creator="Me")
    assert described["name"] == "Mine"
    assert [each["name"] for each in described["creator"]] == ["Me"]
    assert described["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert (described["inLanguage"], "url" in described) == (["de", "en"], False)


HUB = "https://huggingface.co/datasets/a/tea"


@pytest.mark.parametrize(
    ("url", "clone", "base"),
    [
        (HUB, HUB, f"{HUB}/resolve/{COMMIT}/"),
        (f"{HUB}/tree/v1", HUB, f"{HUB}/resolve/v1/"),
        ("hf://datasets/a/tea@refs%2Fpr%2F1", HUB, f"{HUB}/resolve/refs%2Fpr%2F1/"),
        ("https://github.com/a/tea.git", "https://github.com/a/tea", f"https://github.com/a/tea/raw/{COMMIT}/"),
        ("https://gitlab.com/a/tea/-/tree/v1", "https://gitlab.com/a/tea", "https://gitlab.com/a/tea/-/raw/v1/"),
        ("https://example.org/data", None, "https://example.org/data/"),
        ("nowhere", None, None),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_repository_contains_the_files(
    url: str, clone: str | None, base: str | None, is_packed: bool, tmp_path: Path
) -> None:
    refs = {".git/packed-refs": f"# pack-refs\n{COMMIT} refs/heads/main\n"}
    git = {".git/HEAD": "ref: refs/heads/main\n"} | (refs if is_packed else {".git/refs/heads/main": f"{COMMIT}\n"})
    tables = {f"{name} 1.csv": b"x\n1\n" for name in "ab"}
    folder = write(Folder(tables | {name: text.encode() for name, text in git.items()}, {}), tmp_path)
    if base is None:
        with pytest.raises(UsageError, match="`repository` is 'nowhere', expected a URL"):
            corpusfmt.describe(folder, repository=url)
        return
    described = corpusfmt.describe(folder, repository=url)
    assert described["url"] == (clone or url)
    addresses = [each["contentUrl"] for each in described["distribution"] if "contentUrl" in each]
    assert addresses == [*([clone] if clone else []), f"{base}a%201.csv", f"{base}b%201.csv"]
    contained = [each.get("containedIn") for each in described["distribution"] if each["@type"] == "cr:FileSet"]
    assert contained == [{"@id": "repository"} if clone else None]


def test_a_description_is_completed(tmp_path: Path) -> None:
    (tmp_path / "owner.toml").write_text('[rai]\ndataBiases = "Mostly news."\n')
    folder = write(Folder({"a.csv": b"x\n1\n"}, {}), tmp_path / "data")
    first = corpusfmt.describe(folder, license="https://example.org/old")
    made = tmp_path / "hub.json"
    made.write_text(json.dumps(first))
    done = run_cli("describe", made, "--rai", tmp_path / "owner.toml", "--license", "https://example.org/new")
    assert done.returncode == 0, done.stderr
    second = json.loads(done.stdout)
    assert second.pop("rai:dataBiases") == "Mostly news."
    claims = [first["conformsTo"], "http://mlcommons.org/croissant/RAI/1.0"]
    assert second == first | {"license": "https://example.org/new", "conformsTo": claims}
    assert run_cli("describe", made).returncode == 2
    for text in ('{"@context": {}, "@context": {}, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.1"}',
                 '{"@context": "http://mlcommons.org/croissant/1.1", "@type": "sc:Dataset"}'):  # fmt: skip
        made.write_text(text)
        assert b"corpusfmt fix" in run_cli("describe", made, "--url", "https://example.org").stderr


#: What only the author can settle, with the reason.
OF_THE_AUTHOR = {
    "CRO207": "where the data will be",
    "CRO208": "under which licence",
    "CRO209": "who made them",
    "CRO210": "when they are published",
    "CRO212": "what else the author recommends: keywords, version, publisher",
    "CRO290": "what they may be used for, as the conference asks",
}


def _of_tool(folder: Path) -> dict[str, int]:
    profile = ["strict", "hub", "neurips-2026"]
    report = corpusfmt.validate(folder / "croissant.json", format="croissant", profile=profile)
    return {code: count for code, count in report.by_rule.items() if code not in OF_THE_AUTHOR}


@pytest.mark.parametrize("repository", [None, HUB])
def test_what_is_described_has_no_finding_but_those_of_its_author(repository: str | None, tmp_path: Path) -> None:
    folders = FOLDERS | {name: Folder(files, {}) for name, files in CORPORA.items()}
    found = {}
    for name, made in folders.items():
        folder = write(made, tmp_path / name)
        description = corpusfmt.describe(folder, base=folder, repository=repository)
        (folder / "croissant.json").write_text(json.dumps(description))
        found[name] = _of_tool(folder)
        corpusfmt.fix(folder / "croissant.json", profile=["strict", "hub", "neurips-2026"])
        found[f"{name}, fixed"] = _of_tool(folder)
    assert {name: codes for name, codes in found.items() if codes} == {}


@pytest.mark.parametrize("target", ["oscar-1.1", "dolma", "jsonl", "parquet", "text"])
def test_what_is_built_and_converted_has_no_finding_but_those_of_its_author(
    target: str, oscar_corpus: Path, tmp_path: Path
) -> None:
    corpusfmt.convert(oscar_corpus, tmp_path / "made", to=target, on_loss="allow")
    assert (_of_tool(oscar_corpus), _of_tool(tmp_path / "made")) == ({}, {})


@pytest.mark.parametrize(
    ("metadata", "left_out"), [({}, False), ({"stars": 3}, True), ({"tags": ["x"]}, True), ({"a": {"b": 1}}, True)]
)
def test_members_of_dolma_that_are_not_described_are_named(
    metadata: dict[str, Any], left_out: bool, tmp_path: Path
) -> None:
    row = {
        "id": "1",
        "text": "x",
        "source": "s",
        "metadata": {"url": "https://example.org", "language": "en", **metadata},
    }
    folder = write(Folder({"documents/a.jsonl.gz": gzip.compress(json.dumps(row).encode() + b"\n")}, {}), tmp_path)
    named = [f"`metadata.{name}`" for name in metadata]
    said = run_cli("describe", folder).stderr.decode()
    assert ("not described" in said, all(name in said for name in named)) == (left_out, True)
