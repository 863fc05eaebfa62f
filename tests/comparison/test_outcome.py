"""What a comparison reports of fields and bad records, its outputs, and its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from comparison.test_formats import dolma
from support import REPOSITORY, run_cli

import corpusfmt
from corpusfmt.comparison import matching

SCHEMA = json.loads((REPOSITORY / "schemas" / "compare" / "compare.schema.json").read_text("utf-8"))


def row(number: int, text: str = "", **more: Any) -> dict[str, Any]:
    return {"id": str(number), "text": text or f"text {number}", "source": "web", "metadata": {"language": "de"}} | more


def release(folder: Path, rows: list[dict[str, Any]]) -> Path:
    return dolma(folder, {"a": rows})


ROWS = [row(1), row(2), row(3)]


def test_fields_that_are_new_gone_or_of_another_type(tmp_path: Path) -> None:
    old = release(tmp_path / "old", [row(1, gone=1, other=1), row(2, empty=None)])
    new = release(tmp_path / "new", [row(1, score=1, other="1"), row(2)])
    found = corpusfmt.compare(old, new)
    assert [(each.name, each.old, each.new) for each in found.fields] == [
        ("gone", "number", None),
        ("other", "number", "string"),
        ("score", None, "number"),
    ]
    assert found.failures(["schema", "added"]) == ["schema"]


def test_more_documents_of_one_text_than_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MOST_ALIKE", 5)
    monkeypatch.setattr(matching, "RANGE_ROWS", 2)
    old, new = (release(tmp_path / name, [row(7)] * 3) for name in ("old", "new"))
    with pytest.raises(corpusfmt.UsageError, match="6 documents share one id or text: at most 5"):
        corpusfmt.compare(old, new)


HOSTILE = "</svg><script>alert(1)</script>|\u202e`x`\n::error::"


@pytest.mark.parametrize("output_format", ["text", "json", "markdown", "html"])
def test_names_of_strangers_do_nothing(output_format: str, tmp_path: Path) -> None:
    bad: dict[str, Any] = {"id": HOSTILE, "source": HOSTILE, "metadata": {"language": HOSTILE, HOSTILE: HOSTILE}}
    release(tmp_path / "old", [row(1, **bad)])
    release(tmp_path / "new", [row(1, "other", **bad), row(2)])
    done = run_cli("compare", tmp_path / "old", tmp_path / "new", "--output-format", output_format)
    shown = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    assert "\u202e" not in shown
    assert "\n::error::" not in shown
    if output_format == "html":
        assert "<script" not in shown
    if output_format == "json":
        jsonschema.validate(json.loads(shown), SCHEMA)
        assert json.loads(shown)["differences"][0]["id"] == HOSTILE


def test_a_gate_fails_on_what_it_is_told(tmp_path: Path) -> None:
    old, new = release(tmp_path / "old", ROWS), release(tmp_path / "new", [row(1, "text 2"), row(2, "text 1")])
    found = corpusfmt.compare(old, new).documents
    assert (found.changed_text, found.reassigned, found.removed) == (2, 2, 1)
    for kinds, status in (("added", 0), ("added,removed", 1), ("reassigned", 1), ("moved,renamed", 0), ("all", 2)):
        assert run_cli("compare", old, new, "--fail-on-change", kinds).returncode == status, kinds


def test_records_that_are_wrong_stop_it_or_are_counted(tmp_path: Path) -> None:
    old, new = release(tmp_path / "old", ROWS), release(tmp_path / "new", [*ROWS, {"id": "4"}])
    with pytest.raises(corpusfmt.BadInput, match="DOL304"):
        corpusfmt.compare(old, new)
    found = corpusfmt.compare(old, new, on_bad_record="skip")
    assert (found.new.rejected, [each.code for each in found.new.findings]) == (1, ["DOL304"])
    assert found.documents.same == 3


def test_reports_are_written_where_they_were_asked_for(tmp_path: Path) -> None:
    old = release(tmp_path / "old", ROWS)
    done = run_cli(
        "compare", old, old, "--report", f"json={tmp_path / 'r.json'}", "--report", f"html={tmp_path / 'r.html'}"
    )
    assert done.returncode == 0
    found = json.loads((tmp_path / "r.json").read_text("utf-8"))
    jsonschema.validate(found, SCHEMA)
    assert found["documents"]["same"] == 3
    assert f"<title>{old} → {old}: comparison</title>" in (tmp_path / "r.html").read_text("utf-8")


def test_fields_without_end_are_not_compared(tmp_path: Path) -> None:
    wide: list[dict[str, Any]] = [{f"{letter}{number}": number for number in range(1_200)} for letter in "fg"]
    old, new = (release(tmp_path / name, [row(1, **more)]) for name, more in zip(("old", "new"), wide, strict=True))
    found = corpusfmt.compare(old, new)
    assert (found.documents.changed_metadata, found.fields) == (1, [])
    assert found.notes == [
        f"{name}: 1,000 fields and attributes, or more: the schema is not compared" for name in ("old", "new")
    ]


def test_sources_beyond_a_thousand_are_counted_together(tmp_path: Path) -> None:
    rows = [row(number) | {"source": str(number)} for number in range(1_200)]
    found = corpusfmt.compare(*(release(tmp_path / name, rows) for name in ("old", "new")))
    assert len(found.by_source) == 1_001
    assert found.by_source["…"].same == 200


def test_names_beyond_a_thousand_are_neither_gone_nor_moved(tmp_path: Path) -> None:
    rows = [row(number, source=f"s{number}", metadata={"language": f"l{number}"}) for number in range(1_100)]
    first = row(-1, source="first", metadata={"language": "first"})
    for more, name in (("removed", "old"), ("added", "new")):
        sides = {"old": rows, "new": rows, name: [first, *rows]}
        found = corpusfmt.compare(*(release(tmp_path / more / each, sides[each]) for each in ("old", "new")))
        assert (found.documents.same, found.documents.found) == (1_100, {more: 1})
        said = found.as_json()
        for names in ("languages", "sources"):
            assert (said[f"removed_{names}"], said[f"added_{names}"]) == (
                (["first"], []) if more == "removed" else ([], ["first"])
            )
