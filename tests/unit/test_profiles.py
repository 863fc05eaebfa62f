"""Profiles: those that ship name rules that there are, and a user's own is held to the same form."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fixtures.croissant.profile_cases import SUBMITTED
from msgspec.structs import replace
from support import run_cli

import corpusfmt
from corpusfmt.cli.catalogue import known_rules
from corpusfmt.model import Severity
from corpusfmt.profiles import load_profile, profile_names, shipped_profile
from corpusfmt.rules import selects

OWN = """
summary = "ours"

[[grade]]
rules = ["license-missing", "CRO21"]
severity = "error"
source = "our handbook, section 3"

[[grade]]
rules = ["CRO218"]
severity = "ignore"
source = "we count releases"

[[require]]
property = "sc:funder"
source = "our handbook, section 4"
example = { "@type" = "sc:Organization", name = "Example" }

[[require]]
property = "https://example.org/ours#reviewed"
of = "RecordSet"
severity = "warning"
source = "our handbook, section 5"
example = 2026-01-31
"""


@pytest.fixture
def described(tmp_path: Path) -> Path:
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(SUBMITTED), "utf-8")
    return path


def own(folder: Path, text: str = OWN) -> Path:
    path = folder / "ours.toml"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_that_ships_grades_rules_that_there_are(name: str) -> None:
    profile = shipped_profile(name)
    rules = [owners[0][1] for owners in known_rules().values()]
    assert profile.summary
    for grade in profile.grades:
        assert grade.source
        for code in grade.rules:
            assert [rule.code for rule in rules if selects(code, rule)] == [code]


@pytest.mark.parametrize("name", profile_names())
def test_no_profile_is_milder_than_standard_unless_it_says_so(name: str) -> None:
    weight = [None, *reversed(Severity)].index
    profile = load_profile(name)
    milder = set()
    for owners in known_rules().values():
        rule = owners[0][1]
        for version, minor in product(("", "1.0", "1.1"), (False, True)):
            grade, standard = profile.grade_of(rule, minor=minor), rule.severity_for(version=version, minor=minor)
            if grade and weight(grade.severity) < weight(standard):
                milder.add(rule.code)
    said = profile.summary.startswith("Milder than `standard`")
    assert bool(milder) == said == (name == "letter")


def test_strict_finds_every_error_of_standard(tmp_path: Path) -> None:
    """A file without a checksum: an error in `standard`, and in `strict`; the letter of Croissant only says that it may have one."""
    path = tmp_path / "croissant.json"
    described = {key: value for key, value in SUBMITTED.items() if key not in {"recordSet", "distribution"}}
    table = {"@type": "cr:FileObject", "@id": "a.csv", "name": "a.csv", "encodingFormat": "text/csv"}
    path.write_text(
        json.dumps(described | {"distribution": [table | {"contentUrl": "https://example.org/a.csv"}]}), "utf-8"
    )

    def severity(*profiles: str) -> list[str]:
        return [
            each.severity.value for each in corpusfmt.validate(path, profile=profiles).findings if each.code == "CRO307"
        ]

    assert severity("standard") == severity("strict") == severity("strict", "hub") == ["error"]
    assert severity("letter") == severity("strict", "letter") == ["warning"]


def changed(path: Path, **edits: Any) -> None:
    document = json.loads(path.read_bytes()) | edits
    path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}), "utf-8")


def test_each_required_field_that_is_removed_is_one_finding(described: Path) -> None:
    required = load_profile("neurips-2026").requirements
    assert len(required) == 8
    assert corpusfmt.validate(described, profile="neurips-2026").findings == []
    for each in required:
        changed(described, **{each.property: None})
        (finding,) = corpusfmt.validate(described, profile="neurips-2026").findings
        assert finding.message == f"`{each.property}` is missing, required by {each.source}"
        assert finding.hint == f'add `"{each.property}": {json.dumps(each.example)}`'
        changed(described, **{each.property: SUBMITTED[each.property]})


def test_a_required_property_that_a_rule_asks_for_is_one_finding(described: Path, tmp_path: Path) -> None:
    asked = "".join(
        f'[[require]]\nproperty = "{name}"\nsource = "us"\nexample = "x"\nof = "{of}"\n'
        for name, of in (("sc:license", "Dataset"), ("sc:keywords", "Dataset"), ("sc:sha256", "FileObject"))
    )
    first, *others = SUBMITTED["distribution"]
    del (bare := {**first})["sha256"]
    changed(described, license=None, keywords=None, distribution=[bare, *others])
    report = corpusfmt.validate(described, profile=own(tmp_path, asked))
    assert sorted(each.message.partition(",")[0] for each in report.findings) == [
        "`sc:keywords` is missing",
        "`sc:license` is missing",
        'distribution "all.zip": `sc:sha256` is missing',
        'distribution "films.csv": `sc:sha256` is missing',
        'distribution "ratings.csv": `sc:sha256` is missing',
    ]


def test_several_profiles_ask_together_and_the_most_severe_grade_counts(described: Path, tmp_path: Path) -> None:
    changed(described, license=None, version="1", **{"rai:dataBiases": None})
    mine = own(tmp_path)

    def found(*profiles: str | Path) -> list[tuple[str, str]]:
        return [(each.code, each.severity.value) for each in corpusfmt.validate(described, profile=profiles).findings]

    alone = [("CRO208", "error"), ("CRO290", "error"), ("CRO290", "warning")]
    assert sorted(set(found(mine))) == alone
    assert found(mine).count(("CRO290", "warning")) == 6
    assert sorted(set(found(mine, "neurips-2026"))) == alone
    assert ("CRO208", "error") in found("strict", "hub")
    assert found("neurips-2026") == [("CRO208", "warning"), ("CRO218", "warning"), ("CRO290", "error")]
    report = corpusfmt.validate(described, profile=mine)
    reason = f"profile {mine}: we count releases"
    assert report.suppressed == [{"rule": "CRO218", "reason": reason, "count": 1}]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[grade]\n", "Expected ']]'"),
        ("[[grade]]\nrules = ['CRO208']\nseverity = 'fatal'\nsource = 'us'\n", "Invalid enum value 'fatal'"),
        (
            "[[grade]]\nrules = ['CRO208']\nseverity = 'info'\nsource = ' '\n",
            "CRO208 has no `source`: add the document",
        ),
        ("[[grade]]\nrules = ['XYZ']\nseverity = 'info'\nsource = 'us'\n", "unknown rule 'XYZ'"),
        ("[[require]]\nproperty = 'license'\nsource = 'us'\nexample = 1\n", "expected a name like `rai:dataBiases`"),
        ("[[require]]\nproperty = 'sc:x'\nsource = 'us'\n", "`example` is missing in `require[0]`"),
        ("[[require]]\nproperty = 'sc:x'\nsource = 'us'\nexample = 1\nof = 'File'\n", "Invalid enum value 'File'"),
        ("colour = 'red'\n", "unknown field `colour`"),
        ("[[grade]]\nrules = ['CRO2']\nseverity = 'info'\nsource = 'us'\n" * 501, "more than 500 tables"),
        ("summary = '" + "x" * 2**20 + "'\n", "has more than 1,048,576 bytes"),
    ],
)
def test_a_profile_that_cannot_be_used_says_why(text: str, says: str, described: Path, tmp_path: Path) -> None:
    with pytest.raises(corpusfmt.UsageError) as refused:
        corpusfmt.validate(described, profile=own(tmp_path, text))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "stric",
            "error: unknown profile 'stric' (did you mean `strict`?); known: standard, blind, common-crawl, hub, letter, mlcroissant, neurips-2026, strict, or the path",
        ),
        ("neurips", "error: unknown profile 'neurips' (did you mean `neurips-2026`?); known: standard"),
        ("no/such.toml", "error: cannot read the profile no/such.toml: No such file or directory"),
    ],
)
def test_a_profile_that_there_is_not_is_wrong_usage(name: str, says: str, described: Path) -> None:
    done = run_cli("validate", described, "--profile", name)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(says)


def test_command_and_settings_take_several_profiles(described: Path, tmp_path: Path) -> None:
    changed(described, license=None, **{"rai:dataBiases": None})
    mine = own(tmp_path)
    settings = tmp_path / "corpusfmt.toml"
    settings.write_text(f"profile = ['neurips-2026', {str(mine)!r}]\n", "utf-8")
    options = ("--output-format", "json")
    done = run_cli("validate", described, "--profile", "neurips-2026", "--profile", mine, *options)
    again = run_cli("validate", described, "--config", settings, *options)
    reports = [json.loads(each.stdout) for each in (done, again)]
    assert reports[0]["by_rule"] == reports[1]["by_rule"] == {"CRO208": 1, "CRO290": 8}
    assert reports[0]["arguments"]["profile"] == reports[1]["arguments"]["profile"] == f"neurips-2026, {mine}"
    stricter = run_cli("validate", described, "--config", settings, "--profile", "strict", *options)
    assert json.loads(stricter.stdout)["by_rule"] == {"CRO208": 1}


def test_the_default_profile_is_its_file() -> None:
    assert replace(shipped_profile("standard"), summary="", text="") == load_profile("standard")
