"""The worked examples of CONTRIBUTING.md run as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from support import REPOSITORY

import corpusfmt
from corpusfmt import formats
from corpusfmt.io.paths import entry_of
from corpusfmt.model import Location, Severity
from corpusfmt.rules import STANDARD, Grade, Grading, Judge, Profile

EXAMPLES = re.findall(r"```python\n(.*?)```", (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)


def run(example: str, name: str, before: dict[str, Any] | None = None) -> dict[str, Any]:
    space: dict[str, Any] = {**(before or {}), "__name__": name}
    exec(compile(example, f"{name}.py", "exec", dont_inherit=True), space)
    return space


def test_a_rule_is_one_function() -> None:
    space = run(EXAMPLES[0], "example_rule")
    subject = space["Title"](Location("a", 1), "Draft of it")
    release = Profile("release", grades=(Grade(("XMP101",), Severity.ERROR, "ours"),))
    for profile, severity in ((STANDARD, Severity.WARNING), (release, Severity.ERROR)):
        judge = Judge(space["RULES"], Grading((profile,)), version="1", path="a")
        assert not judge.check(subject)
        assert judge.check(space["Title"](Location("a", 2), "Report"))
        assert [(each.code, each.severity) for each in judge.tally.findings] == [("XMP101", severity)]


def test_a_reader_reports_findings_of_a_type() -> None:
    space = run(EXAMPLES[1], "example_finding", run(EXAMPLES[0], "example_rule"))
    judge = Judge(space["RULES"], Grading(), version="1", path="a")
    space["look_for_drafts"]({"report.draft.txt", "report.txt", "plan.draft.txt"}, judge)
    assert [str(each.location) for each in judge.tally.findings] == ["report.draft.txt"]


def test_a_format_is_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fmt = run(EXAMPLES[2], "example_format")["FORMAT"]
    known = {**formats.formats(), "talks": fmt}
    monkeypatch.setattr(formats, "formats", lambda: known)
    path = tmp_path / "some.talks"
    path.write_bytes(b'{"text":"one","speaker":"a"}\n{"text":"two"}\n{"text":"caf\xe9"}\n[]\n')
    report = corpusfmt.validate(path, format="talks")
    assert report.by_rule == {"XMP301": 1, "GEN201": 1, "XMP201": 1}
    path.write_bytes(b'{"text":"one","speaker":"a"}\n{"text":"two","speaker":"b"}\n')
    assert fmt.detect(entry_of(str(path))).evidence == "rows with text and speaker"
    assert corpusfmt.convert(path, tmp_path / "dolma", to="dolma", format="talks").coverage.documents == 2
    assert corpusfmt.validate(tmp_path / "dolma").verdict.value == "valid"
