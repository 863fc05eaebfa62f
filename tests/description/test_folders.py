"""Any folder is described: valid to the letter, with the types that all values have, and nothing passed over in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from description.folders import FOLDERS, write

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
        kind = each.get("dataType")
        is_list = each.get("isArray") or each.get("repeated")
        found[each["name"]] = types_of(each["subField"]) if "subField" in each else [kind] if is_list else kind
    return found


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
        expected = json.loads(json.dumps(expected).replace("sc:Time", "sc:Text").replace("sc:TextDate", "sc:Time"))
    assert {each["name"]: types_of(each["field"]) for each in description["recordSet"]} == expected
    notes = "\n".join(evidence[0]["notes"])
    assert all(each in notes for each in FOLDERS[name].notes), notes
    assert bool(notes) == bool(FOLDERS[name].notes), notes
    keys = {
        each["name"]: each["key"]["@id"]
        for each in description["recordSet"]
        if "dataType" not in each and "key" in each
    }
    assert keys == {owner: f"{owner}/{field}" for owner, field in FOLDERS[name].keys.items()}


DOCUMENTS: list[tuple[Any, int]] = [
    ([{"id": 1, "text": "a"}, {"id": 2, "text": "b", "more": {"x": 1.5}}], 1),
    ({"name": "x", "rows": [{"id": 1}, {"id": "2"}], "others": [{"a": [1, 2]}], "numbers": [1, 2], "none": []}, 2),
    ([{"a": {"b": {"c": '}]"'}}}], 1),
    ({"rows": [{"id": 1}, 7], "empty": {}}, 0),
    ([1, 2], 0),
    ([], 0),
]


@pytest.mark.parametrize(("document", "tables"), DOCUMENTS)
def test_json_that_is_too_large_to_be_held_is_described_the_same(
    document: Any, tables: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document))
    whole = corpusfmt.describe(tmp_path, base=tmp_path)
    monkeypatch.setattr(rows, "MOST_JSON", 0)
    streamed = corpusfmt.describe(tmp_path, base=tmp_path)
    assert len(streamed["recordSet"] if tables else []) == tables
    assert not tables or streamed == whole


@pytest.mark.parametrize("text", ['{"a": [{}', '{"a": [{}], "a": [{}]}', "[{}] 1", '[{"a": nan}]', "[" * 500])
def test_large_json_that_is_broken_has_no_records(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "MOST_JSON", 0)
    (tmp_path / "a.json").write_text(text)
    evidence: list[Any] = []
    described = corpusfmt.describe(tmp_path, base=tmp_path, evidence=evidence.append)
    assert not described.get("recordSet")
    assert any(each.startswith("a.json") for each in evidence[0]["notes"])
