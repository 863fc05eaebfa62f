"""Statements of descriptions and manifests about two releases, the step between their versions, and their effect on a gate."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from comparison.test_formats import dolma
from support import REPOSITORY, run_cli

import corpusfmt
from corpusfmt.comparison.run import stated
from corpusfmt.io.paths import entry_of

SCHEMA = json.loads((REPOSITORY / "schemas" / "compare" / "compare.schema.json").read_text("utf-8"))


def row(number: int, text: str = "", **more: Any) -> dict[str, Any]:
    return {"id": str(number), "text": text or f"text {number}", "source": "web", "metadata": {"language": "de"}} | more


def release(folder: Path, rows: list[dict[str, Any]], version: str | None = None, **stated: Any) -> Path:
    dolma(folder, {"a": rows})
    description = {"version": version, **stated} if version else stated
    (folder / "croissant.json").write_text(json.dumps(description), "utf-8")
    return folder


ROWS = [row(1), row(2), row(3)]


@pytest.mark.parametrize(
    ("new", "needed"),
    [
        (ROWS, "none"),
        ([*ROWS, row(4)], "minor"),
        ([row(1, note="n"), row(2, note="n"), row(3, note="n")], "minor"),
        (ROWS[:2], "major"),
        ([*ROWS[:2], row(3, "other")], "major"),
        ([*ROWS[:2], row(3, metadata={"language": "en"})], "major"),
        ([*ROWS[:2], row(4, "text 3")], "major"),
    ],
    ids=["same", "added", "extended", "removed", "text", "metadata", "renamed"],
)
@pytest.mark.parametrize(("step", "version"), [("patch", "1.0.1"), ("minor", "1.1"), ("major", "2"), ("down", "0.9.0")])
def test_the_step_between_versions(
    new: list[dict[str, Any]], needed: str, step: str, version: str, tmp_path: Path
) -> None:
    found = corpusfmt.compare(release(tmp_path / "old", ROWS, "1.0.0"), release(tmp_path / "new", new, version))
    assert (found.version.step, found.version.needed) == (step, needed)
    order = ["down", "none", "patch", "minor", "major"]
    is_honest = order.index(step) >= order.index(needed)
    assert found.version.is_honest is is_honest
    assert found.failures(["version"]) == ([] if is_honest else ["version"])


def test_a_version_that_is_not_stated_is_not_taken_for_honest(tmp_path: Path) -> None:
    old, new = release(tmp_path / "old", ROWS, "1.0.0"), release(tmp_path / "new", ROWS[:2])
    found = corpusfmt.compare(old, new)
    assert (found.version.step, found.version.is_honest, found.failures(["version"])) == ("unknown", None, ["version"])
    assert corpusfmt.compare(new, new).failures(["version"]) == []


def test_licence_recipe_rules_and_schema(tmp_path: Path) -> None:
    old = release(tmp_path / "old", ROWS, license="https://a.example/")
    new = release(tmp_path / "new", [*ROWS, row(4, score=1)], license=["https://b.example/", {"name": "C"}])
    recipe = {"name": "mine", "lines": {"min-chars": 100}}
    for folder, chars in ((old, 100), (new, 101)):
        manifest = {
            "recipe": recipe | {"lines": {"min-chars": chars}},
            "files": {"x": {}},
            "tool": {"name": "corpusfmt", "version": f"0.{chars}", "format": chars},
        }
        (folder / "MANIFEST.json").write_text(json.dumps(manifest), "utf-8")
    found = corpusfmt.compare(old, new)
    assert [(each.what, each.name, each.old, each.new) for each in found.changes] == [
        ("schema", "score", None, "number"),
        ("licence", "", "https://a.example/", "C, https://b.example/"),
        ("recipe", "lines.min-chars", "100", "101"),
        ("rules", "version", "0.100", "0.101"),
    ]
    assert found.failures(["schema", "licence", "recipe", "rules"]) == ["schema", "licence", "recipe", "rules"]


def test_a_rule_set_is_compared_with_that_of_the_same_format(tmp_path: Path) -> None:
    def changes(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
        folders = []
        for name, manifest in (("old", old), ("new", new)):
            folders.append(release(tmp_path / name, ROWS))
            written = {"tool": {"version": name}, "format": "dolma", "version": "1.0", **manifest}
            (folders[-1] / "MANIFEST.json").write_text(json.dumps(written), "utf-8")
        return [(each.name, each.old, each.new) for each in corpusfmt.compare(*folders).changes]

    one, other = ({"count": 7, "sha256": digit * 64} for digit in "ab")
    assert changes({"rules": one}, {"rules": one}) == []
    assert changes({"rules": one}, {"rules": other}) == [("rules of dolma 1.0.sha256", "a" * 64, "b" * 64)]
    assert changes({"rules": one}, {}) == [("version", "old", "new")]
    assert changes({"rules": one}, {"rules": other, "version": "2.0"}) == [("version", "old", "new")]


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"{" * 10_000, b'{"recipe": ' + b"[" * 10_000])
def test_statements_that_cannot_be_read_are_noted(content: bytes, tmp_path: Path) -> None:
    old, new = (release(tmp_path / name, ROWS) for name in ("old", "new"))
    for name in ("MANIFEST.json", "croissant.json"):
        (new / name).write_bytes(content)
    found = corpusfmt.compare(old, new, new_format="dolma")
    assert [note.partition(" is")[0] for note in found.notes] == ["new: croissant.json", "new: MANIFEST.json"]


def test_a_recipe_of_any_depth_is_compared_or_noted(tmp_path: Path) -> None:
    limit = sys.getrecursionlimit()
    for depth in (1, *range(limit - 100, limit + 100)):
        (tmp_path / "MANIFEST.json").write_text('{"recipe":' + '{"a":' * depth + "1" + "}" * (depth + 1), "utf-8")
        found = stated(entry_of(str(tmp_path)), {})
        assert bool(found.values["recipe"]) != bool(found.notes)


HOSTILE = "</svg><script>alert(1)</script>|\u202e`x`\n::error::"


@pytest.mark.parametrize("output_format", ["text", "json", "markdown", "html"])
def test_names_of_strangers_do_nothing(output_format: str, tmp_path: Path) -> None:
    bad: dict[str, Any] = {"id": HOSTILE, "source": HOSTILE, "metadata": {"language": HOSTILE, HOSTILE: HOSTILE}}
    release(tmp_path / "old", [row(1, **bad)], HOSTILE, license=HOSTILE, name="a")
    release(tmp_path / "new", [row(1, "other", **bad), row(2)], "1", license="b", name=HOSTILE)
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
    assert (found.documents.changed_metadata, found.changes) == (1, [])
    assert found.notes == [
        f"{name}: 1,000 fields and attributes, or more: the schema is not compared" for name in ("old", "new")
    ]
