"""Statements about a release: they follow their specifications, and say what the manifest and the check say, and no more."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from google.protobuf.json_format import ParseDict
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.predicates.vsa.v1.vsa_pb2 import VerificationSummary
from in_toto_attestation.v1.statement_pb2 import Statement
from referencing import Registry, Resource
from release.signed import (
    MANIFEST,
    PROVENANCE,
    SCHEMAS,
    SIGNATURE,
    SIGNED,
    SUMMARY,
    VERIFICATION,
    Json,
    found,
    payload_of,
    statement_of,
)
from release.tampering import make
from support import tree

import corpusfmt

# What statements say -----------------------------------------------------------------------------------------------


def validate(value: Json, name: str) -> None:
    schemas = [json.loads(path.read_bytes()) for path in (*SCHEMAS.glob("statements/*"), *SCHEMAS.glob("manifest/*"))]
    registry: Registry[Any] = Registry().with_resources(
        [(each["$id"], Resource.from_contents(each)) for each in schemas]
    )
    schema = json.loads((SCHEMAS / "statements" / f"{name}.schema.json").read_bytes())
    jsonschema.Draft202012Validator(schema, registry=registry).validate(value)


def test_statements_follow_their_specifications(signed_release: Path) -> None:
    for path in (PROVENANCE, VERIFICATION):
        value = json.loads((signed_release / path).read_bytes())
        validate(value, "envelope")
        statement = statement_of(signed_release / path)
        validate(statement, path.split(".")[1])
        # Raises for a member that the message does not have.
        ParseDict(statement, Statement())
        assert [each["name"] for each in statement["subject"][:2]] == [".", MANIFEST]
        with pytest.raises(jsonschema.ValidationError):
            validate(statement | {"subject": []}, path.split(".")[1])
    ParseDict(statement_of(signed_release / PROVENANCE)["predicate"], Provenance())
    summary = statement_of(signed_release / VERIFICATION)["predicate"]
    names = {each.json_name for each in VerificationSummary.DESCRIPTOR.fields}
    assert summary.keys() - {SUMMARY} <= names


def test_subjects_are_the_manifest_and_all_that_it_lists(signed_release: Path) -> None:
    manifest = json.loads((signed_release / MANIFEST).read_bytes())
    expected = {path: each["sha256"] for path, each in manifest["files"].items()}
    expected |= {
        ".": manifest["tree"]["sha256"],
        MANIFEST: hashlib.sha256((signed_release / MANIFEST).read_bytes()).hexdigest(),
    }
    for path in (PROVENANCE, VERIFICATION):
        subjects = {each["name"]: each["digest"]["sha256"] for each in statement_of(signed_release / path)["subject"]}
        assert subjects == expected


def test_the_provenance_is_that_of_the_manifest(signed_release: Path) -> None:
    manifest = json.loads((signed_release / MANIFEST).read_bytes())
    predicate = statement_of(signed_release / PROVENANCE)["predicate"]
    definition = predicate["buildDefinition"]
    assert definition["buildType"] == "https://corpusfmt.github.io/statements/build/v1"
    assert definition["externalParameters"]["recipe"] == manifest["recipe"]
    assert {each["name"]: each["digest"]["sha256"] for each in definition["resolvedDependencies"]} == {
        **{each["name"]: each["sha256"] for each in manifest["inputs"]},
        "model": manifest["model"]["sha256"],
    }
    assert predicate["runDetails"]["builder"]["version"] == {"corpusfmt": corpusfmt.__version__}


def test_the_summary_names_rules_profile_verdict_and_counts(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built, tmp_path / "corpus")
    description = corpusfmt.describe(
        tmp_path / "corpus",
        license="CC0-1.0",
        creator="Example",
        url="https://example.org/c",
        date_published="2024-01-01",
    )
    (tmp_path / "corpus" / "croissant.json").write_text(json.dumps(description), "utf-8")
    report = corpusfmt.seal(tmp_path / "corpus", attest=True, profile="strict")
    predicate = statement_of(tmp_path / "corpus" / VERIFICATION)["predicate"]
    profile = (SCHEMAS / "profiles" / "strict.toml").read_bytes()
    assert predicate["policy"] == {
        "uri": "https://corpusfmt.github.io/statements/profiles/strict",
        "digest": {"sha256": hashlib.sha256(profile).hexdigest()},
    }
    assert (predicate["verificationResult"], predicate["verifiedLevels"]) == ("PASSED", ["CORPUSFMT_VALID"])
    summary = predicate[SUMMARY]
    assert summary["counts"] == report.counts
    assert summary["byRule"] == report.by_rule
    assert summary["coverage"]["documents"] == report.coverage.documents > 0
    assert summary["tree"] == report.results["tree"]


def test_a_release_that_is_not_valid_is_not_said_to_be(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    shutil.copytree(built, folder)
    (folder / "an/an.txt.gz").unlink()
    report = corpusfmt.seal(folder, attest=True)
    predicate = statement_of(folder / VERIFICATION)["predicate"]
    assert report.verdict.value == "invalid"
    assert (predicate["verificationResult"], predicate["verifiedLevels"]) == ("FAILED", ["FAILED"])


def test_a_profile_that_ignores_findings_is_named_with_what_it_ignores(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    shutil.copytree(built, folder)
    (folder / "an/an.txt.gz").unlink()
    before = corpusfmt.validate(folder).by_rule
    text = f"[[grade]]\nrules = {json.dumps(sorted(code for code in before if code[:3] == 'OSC'))}\n"
    profile = tmp_path / "lenient.toml"
    profile.write_text(text + 'severity = "ignore"\nsource = "a test"\n')
    corpusfmt.seal(folder, attest=True, profile=str(profile))
    data = (folder / VERIFICATION).read_bytes()
    summary = json.loads(data)["predicate"][SUMMARY]
    assert summary["profiles"] == ["lenient.toml"]
    assert summary["suppressed"].keys() == {code for code in before if code[:3] == "OSC"}
    assert str(tmp_path).encode() not in data


def test_an_empty_profile_is_one(built: Path, tmp_path: Path) -> None:
    (tmp_path / "none.toml").touch()
    folder = tmp_path / "corpus"
    shutil.copytree(built, folder)
    corpusfmt.seal(folder, attest=True, profile=str(tmp_path / "none.toml"))
    assert statement_of(folder / VERIFICATION)["predicate"][SUMMARY]["profiles"] == ["none.toml"]


def test_nothing_depends_on_folder_clock_or_key(built: Path, keys: tuple[Path, Path], tmp_path: Path) -> None:
    made = []
    for name in ("one", "another/folder"):
        shutil.copytree(built, tmp_path / name)
        corpusfmt.seal(tmp_path / name, attest=True)
        made.append(tree(tmp_path / name))
    assert made[0] == made[1]
    corpusfmt.seal(tmp_path / "one", attest=True, sign=keys[0])
    signed = tree(tmp_path / "one")
    assert signed[MANIFEST] == made[0][MANIFEST]
    for path in (PROVENANCE, VERIFICATION):
        assert payload_of(signed[path]) == made[0][path]
    corpusfmt.seal(tmp_path / "another/folder", attest=True, sign=keys[0])
    one, another = (
        json.loads(payload_of((tmp_path / name / SIGNATURE).read_bytes())) for name in ("one", "another/folder")
    )
    assert one["subject"][0]["name"] == another["subject"][0]["name"] == "_"


def test_a_corpus_of_unknown_origin_gets_no_origin(tmp_path: Path) -> None:
    path = tmp_path / "corpus/documents/a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text('{"id":"1","text":"t","source":"s","added":"2024-01-01"}\n')
    corpusfmt.seal(tmp_path / "corpus", attest=True)
    statement = statement_of(tmp_path / "corpus" / PROVENANCE)
    validate(statement, "provenance")
    definition = statement["predicate"]["buildDefinition"]
    assert definition["buildType"] == "https://corpusfmt.github.io/statements/seal/v1"
    assert definition["resolvedDependencies"] == []


def test_what_a_hostile_manifest_says_of_origin_ends_no_run(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    shutil.copytree(built, folder)
    manifest = json.loads((folder / MANIFEST).read_bytes())
    for said in (
        {"tool": 1, "inputs": {}, "model": [], "recipe": None},
        {"tool": {"name": 1}, "inputs": [1, {"name": {}}, {"sha256": "x"}, {"sha256": 1}], "model": {"sha256": {}}},
    ):
        (folder / MANIFEST).write_text(json.dumps(manifest | said))
        corpusfmt.seal(folder, attest=True)
        validate(statement_of(folder / PROVENANCE), "provenance")
        assert found(corpusfmt.verify(folder)) == set()


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory, keys: tuple[Path, Path]) -> dict[str, Path]:
    return make(tmp_path_factory.mktemp("formats"))


def test_no_format_takes_them_for_files_of_a_corpus(releases: dict[str, Path], keys: tuple[Path, Path]) -> None:
    for name, root in releases.items():
        before = corpusfmt.validate(root), corpusfmt.describe(root), (root / MANIFEST).read_bytes()
        corpusfmt.seal(root, attest=True, sign=keys[0])
        assert {*SIGNED} <= tree(root).keys()
        report = corpusfmt.validate(root)
        assert (report.findings, report.coverage.documents) == (before[0].findings, before[0].coverage.documents), name
        assert (corpusfmt.describe(root), (root / MANIFEST).read_bytes()) == before[1:], name
        assert corpusfmt.verify(root, key=keys[1]).results["signed"] == SIGNED
