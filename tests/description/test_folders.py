"""Any folder is described: valid to the letter, with the types that all values have, and nothing passed over in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from description.folders import FOLDERS, Folder, write
from description.kinds import KINDS
from support import run_cli

import corpusfmt
from corpusfmt.formats.croissant.survey import rows

DETAILS: dict[str, Any] = {
    "license": "https://opensource.org/license/mit",
    "creator": "Example",
    "url": "https://example.org/data",
    "date_published": "2024-01-31",
}


def types_of(fields: Any) -> dict[str, Any]:
    found = {}
    for each in fields:
        kind = types_of(each["subField"]) if "subField" in each else each.get("dataType")
        shape = each.get("arrayShape", "-1" if each.get("repeated") else "")
        for _ in filter(None, shape.split(",")):
            kind = [kind]
        found[each["name"]] = kind
    return found


def as_in_1_0(types: Any) -> Any:
    """Return types without those of 1.1: a time, and a list of lists."""
    if isinstance(types, dict):
        return {
            name: as_in_1_0(kind)
            for name, kind in types.items()
            if not (isinstance(kind, list) and isinstance(kind[0], list))
        }
    if isinstance(types, list):
        return [as_in_1_0(each) for each in types]
    return "sc:Text" if types == "sc:Time" else types


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("name", FOLDERS)
def test_any_folder_is_described(name: str, version: str, tmp_path: Path) -> None:
    folder = write(FOLDERS[name], tmp_path / "data")
    evidence: list[Any] = []
    description = corpusfmt.describe(folder, base=folder, croissant=version, evidence=evidence.append, **DETAILS)
    (folder / "croissant.json").write_text(json.dumps(description))
    report = corpusfmt.validate(folder / "croissant.json", profile="strict", data=True)
    broken = {"broken.zip"} if "broken.zip" in FOLDERS[name].files else set()
    assert {each.code for each in report.findings if each.severity == "error"} == ({"CRO604"} if broken else set()), (
        corpusfmt.render(report)
    )
    expected = FOLDERS[name].types
    if version == "1.0":
        later = FOLDERS[name].later
        expected = as_in_1_0(
            {owner: {each: kinds[each] for each in kinds if each not in later} for owner, kinds in expected.items()}
        )
    assert {each["name"]: types_of(each["field"]) for each in description["recordSet"]} == expected
    notes = "\n".join(evidence[0]["notes"])
    assert all(each in notes for each in FOLDERS[name].notes), notes
    assert bool(notes) == bool(FOLDERS[name].notes) or (version == "1.0" and "Croissant 1.0 has no" in notes), notes
    keys = {
        each["name"]: each["key"]["@id"] for each in description["recordSet"] if "data" not in each and "key" in each
    }
    assert keys == {owner: f"{owner}/{field}" for owner, field in FOLDERS[name].keys.items()}


def test_json_that_is_too_large_to_be_held_has_no_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MAX_JSON", 10)
    (tmp_path / "a.json").write_text('[{"id": 1}, {"id": 2}]')
    evidence: list[Any] = []
    assert not corpusfmt.describe(tmp_path, base=tmp_path, evidence=evidence.append).get("recordSet")
    assert "JSON of more than 10 bytes is not read; write JSON Lines" in evidence[0]["notes"][0]


def records(folder: Path, record_set: str) -> list[Any]:
    """Describe a folder; return the records of a record set."""
    (folder / "croissant.json").write_text(json.dumps(corpusfmt.describe(folder, base=folder)))
    return [dict(each) for each in corpusfmt.records(folder / "croissant.json", record_set)]


@pytest.mark.parametrize("name", KINDS)
def test_folders_of_the_kinds_that_people_publish_have_the_records_that_they_hold(name: str, tmp_path: Path) -> None:
    kind = KINDS[name]
    folder = write(Folder(kind.files, {}), tmp_path)
    described = corpusfmt.describe(folder, base=folder)
    (folder / "croissant.json").write_text(json.dumps(described))
    assert {each["name"] for each in described["recordSet"] if "data" not in each} == kind.records.keys()
    for owner, expected in kind.records.items():
        fields = [f"{owner}/{name}" for name in expected[0]]
        found = [dict(each) for each in corpusfmt.records(folder / "croissant.json", owner)]
        assert [[each[name] for name in fields] for each in found] == [list(each.values()) for each in expected]


def test_lists_of_objects_and_of_lists_are_read_as_they_are(tmp_path: Path) -> None:
    first, second = records(write(FOLDERS["lists_of_objects"], tmp_path / "objects"), "deep")
    names = [f"deep/boxes/{name}" for name in ("x", "at.lat", "tags", "day")]
    assert first["deep/boxes"] == [
        dict(zip(names, (1, 1.5, ["a"], None), strict=True)),
        dict(zip(names, (None, None, [], "2024-01-31"), strict=True)),
        dict.fromkeys(names),
    ]
    assert second["deep/boxes"] == []
    # By member, since the list is missing in the first record.
    assert [each["deep/who.jobs.title"] for each in (first, second)] == [None, ["a", "b"]]
    grids = records(write(FOLDERS["lists_of_lists"], tmp_path / "lists"), "grids")
    assert [each["grids/grid"] for each in grids] == [[[1, 2], [3]], [], None]
    assert grids[0]["grids/cube"] == [[[1.5]], [[2.0], []]]


def test_no_pattern_matches_what_is_written_next_to_the_data(tmp_path: Path) -> None:
    for n in range(2):
        (tmp_path / f"{n}.json").write_text(f'[{{"n": {n}}}]')
    done = run_cli("describe", ".", "-o", "about.json", "--evidence", "why.json", cwd=tmp_path)
    assert done.returncode == 0
    (files,) = (
        each for each in json.loads((tmp_path / "about.json").read_bytes())["distribution"] if "includes" in each
    )
    assert files["includes"] == ["0.json", "1.json"]


def test_a_document_of_one_long_line_is_not_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"id": "a", "text": "x" * 9_000_000, "rows": [{"n": 1}]}))
    described = corpusfmt.describe(tmp_path, base=tmp_path)
    assert [each["name"] for each in described["recordSet"][0]["field"]] == ["n"]
