"""Every output says the same, and machines accept theirs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import corpusfmt
from corpusfmt._resources import resource
from corpusfmt.model import Coverage, Finding, Location, Problem, Report, Severity, Tally, UsageError
from corpusfmt.report import RENDERERS
from corpusfmt.report.saved import known_problems, load


def a_report() -> Report:
    tally = Tally(cap=2)
    for line in range(1, 6):
        at = Location("af/af.txt.gz", line, byte=10 * line, column=3)
        tally.add(
            Finding(
                "OSC305", "short-sentence", Severity.WARNING, Problem(f"line of {line} | characters", at, "drop it")
            )
        )
    strange = Location("ä \ud800<&>\x01.gz", pointer="/a/0", record="id")
    tally.add(Finding("GEN101", "compressed-stream-corrupt", Severity.ERROR, Problem("cut\nshort", strange, count=7)))
    coverage = Coverage(2, 2, 100, 123_456_789, rules_not_run={"OSC503": "needs GEN101 in af"})
    return Report("oscar", "1.1", tally, coverage, started="2024-01-01T00:00:00Z", finished="2024-01-01T00:00:01Z")


def test_full_text_names_places_hints_and_what_was_left_out() -> None:
    text = corpusfmt.render(a_report(), "full")
    assert "af/af.txt.gz:1:3: OSC305 warning short-sentence: line of 1 | characters\n  help: drop it\n" in text
    assert "OSC305 … 3 more in af/af.txt.gz" in text
    assert "(7 times, first here)" in text
    assert "  not run: OSC503 (needs GEN101 in af)" in text
    assert text.endswith("INVALID: 7 errors, 5 warnings. Explain one with `corpusfmt rule GEN101`.\n")


def test_grouped_counts_are_exact() -> None:
    text = corpusfmt.render(a_report(), "grouped")
    assert "GEN101 compressed-stream-corrupt: 7\n" in text
    assert "OSC305 short-sentence: 5\n" in text


@pytest.mark.parametrize("name", RENDERERS)
def test_every_output_names_every_rule_that_fired(name: str) -> None:
    text = corpusfmt.render(a_report(), name)
    assert "GEN101" in text
    assert ("OSC305" in text) or name == "junit"
    text.encode("utf-8", "backslashreplace")


@pytest.mark.parametrize("name", RENDERERS)
def test_every_output_of_nothing_found(name: str) -> None:
    assert corpusfmt.render(Report("oscar", "1.1", Tally(), Coverage(1, 1)), name) or name == "github"


def test_json_lines_follow_the_published_schema() -> None:
    schema = json.loads(resource("schemas", "report/report.schema.json").read_bytes())
    validator = jsonschema.Draft202012Validator(schema)
    records = [json.loads(line) for line in corpusfmt.render(a_report(), "jsonl").split("\n")[:-1]]
    assert [record["kind"] for record in records] == ["run", "finding", "finding", "finding", "summary"]
    for record in records:
        validator.validate(record)
    assert records[-1]["by_path"]["af/af.txt.gz"] == {"OSC305": 5}
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(records[1] | {"severity": "fatal"})


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_a_saved_report_comes_back(tmp_path: Path, name: str) -> None:
    report = a_report()
    path = tmp_path / "run"
    path.write_text(corpusfmt.render(report, name), "utf-8", "surrogatepass")
    path.write_bytes(path.read_bytes().replace(b"\xed\xa0\x80", b"?"))
    again = load(path)
    assert (again.by_rule, again.counts, again.verdict) == (report.by_rule, report.counts, report.verdict)
    assert known_problems(path)["OSC305", "af/af.txt.gz"] == 5


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind":"run"}\n', "null\n", '{\n"findings": 3}'])
def test_what_is_no_whole_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError):
        load(path)


def test_xml_and_json_parse() -> None:
    suite = ET.fromstring(corpusfmt.render(a_report(), "junit").encode("utf-8", "backslashreplace"))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    sarif = json.loads(corpusfmt.render(a_report(), "sarif"))
    assert [result["ruleId"] for result in sarif["runs"][0]["results"]].count("GEN101") == 1
    assert len(json.loads(corpusfmt.render(a_report(), "gitlab"))) == 3


def test_annotations_escape_what_would_end_them() -> None:
    lines = corpusfmt.render(a_report(), "github").split("\n")
    assert len(lines) == 3
    assert "cut%0Ashort" in lines[1]
    assert "title=OSC305 short-sentence::" in lines[0]


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(UsageError, match="known: full"):
        corpusfmt.render(a_report(), "yaml")
