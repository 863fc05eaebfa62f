"""Every output says the same, and machines accept theirs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from support import Page

import corpusfmt
from corpusfmt._resources import resource
from corpusfmt.model import Checked, Coverage, Finding, Location, Problem, Report, Severity, Tally, UsageError
from corpusfmt.report import RENDERERS
from corpusfmt.report.saved import Baseline, known_problems, load
from corpusfmt.report.text import human_size
from corpusfmt.report.view import View, worst_first


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
    tally.suppressed.update({("DOL306", "a", "ignored (DOL)"): 10_000, ("GEN201", "b", "ignored (GEN)"): 500})
    tally.suppressed.update({("DOL313", "a", "known from base.json"): 12_000, ("DOL302", "a", "an old dump"): 3})
    tally.regraded["DOL308", "a", "dates come later"] = 2
    coverage = Coverage(2, 2, 100, 123_456_789)
    coverage.skip("af/af.txt.gz", "OSC503", "needs GEN101", 12)
    coverage.gap("croissant.json", "record set `r`", "nested keys are not read")
    return Report(
        "oscar",
        "1.1",
        tally,
        coverage,
        started="2024-01-01T00:00:00Z",
        finished="2024-01-01T00:00:01Z",
        arguments={"paths": ["oscar/"], "profile": "strict", "settings": "c.toml"},
        tool="1.2",
        unmatched=["ignored rule OSC9"],
        shards=[Checked(("af/af.txt.gz", "af/af_meta.jsonl.gz"), 1.25), Checked(("be/be.txt.gz",), 0.5)],
    )


FULL = r"""
"ä \ud800<&>\x01.gz" <id>: GEN101 error compressed-stream-corrupt: cut\nshort (7 times, first here)

af/af.txt.gz:1:3: OSC305 warning short-sentence: line of 1 | characters
  help: drop it

af/af.txt.gz:2:3: OSC305 warning short-sentence: line of 2 | characters
  help: drop it

… 3 more findings are not shown (OSC305): --max-per-rule keeps more
          7 GEN101 error compressed-stream-corrupt
          5 OSC305 warning short-sentence
  not checked: croissant.json: record set `r` (nested keys are not read)
  not run: af/af.txt.gz: OSC503 (needs GEN101), 12 times
  suppressed: DOL302: an old dump, 3 times
  suppressed: DOL306: ignored (DOL), 10,000 times
  suppressed: DOL313: known from base.json, 12,000 times
  suppressed: GEN201: ignored (GEN), 500 times
  regraded: DOL308: dates come later, 2 times
  matched nothing: ignored rule OSC9
  oscar 1.1 · 2 of 2 shards · 100 documents · 123.5 MB
INVALID: 7 errors, 5 warnings; 1 not checked, 10,500 ignored (DOL, GEN), 3 ignored: an old dump, 12,000 known from base.json. Explain one with `corpusfmt rule GEN101`.
"""

GROUPED = r"""
GEN101 compressed-stream-corrupt: 7
          7  ä \ud800<&>\x01.gz <id>  cut\nshort
OSC305 short-sentence: 5
          5  af/af.txt.gz:1:3  line of 1 | characters

"""

MARKDOWN = r"""
## `oscar/`: invalid

INVALID: 7 errors, 5 warnings; 1 not checked, 10,500 `ignored (DOL, GEN)`, 3 `ignored: an old dump`, 12,000 `known from base.json`. Explain one with `corpusfmt rule GEN101`.

`2 of 2 shards · 100 documents · 123.5 MB`

format `oscar 1.1` · profile `strict` · settings `c.toml` · finished `2024-01-01T00:00:01Z` · tool `corpusfmt 1.2`

| rule | severity | count | first location | message |
|---|---|--:|---|---|
| `GEN101 compressed-stream-corrupt` | error | 7 | `ä \ud800<&>\x01.gz <id>` | `cut\nshort` |
| `OSC305 short-sentence` | warning | 5 | `af/af.txt.gz:1:3` | `line of 1 \| characters` |

- not checked: `croissant.json`: ``record set `r` (nested keys are not read)``
- not run: `af/af.txt.gz`: `OSC503 (needs GEN101)`, 12 times
- suppressed: `DOL302: an old dump`, 3 times
- suppressed: `DOL306: ignored (DOL)`, 10,000 times
- suppressed: `DOL313: known from base.json`, 12,000 times
- suppressed: `GEN201: ignored (GEN)`, 500 times
- regraded: `DOL308: dates come later`, 2 times
- matched nothing: `ignored rule OSC9`
"""

GITHUB = r"""
::error file=ä \ud800<&>\x01.gz,title=GEN101 compressed-stream-corrupt::cut\nshort
::warning file=af/af.txt.gz,line=1,title=OSC305 short-sentence::line of 1 | characters (drop it)
::notice title=not checked::not checked: croissant.json: record set `r` (nested keys are not read)
"""


@pytest.mark.parametrize(
    ("name", "expected"), [("full", FULL), ("grouped", GROUPED), ("markdown", MARKDOWN), ("github", GITHUB)]
)
def test_text_for_people(name: str, expected: str) -> None:
    text = corpusfmt.render(a_report(), name)
    assert text.startswith(expected[1:])
    assert (text == expected[1:]) == (name in {"full", "markdown"})


def test_concise_is_full_without_hints_and_counts() -> None:
    full = corpusfmt.render(a_report(), "full").split("\n")
    concise = corpusfmt.render(a_report(), "concise").split("\n")
    assert set(concise) < set(full)
    assert [line for line in full if line not in concise and not line.startswith("  help")] == [
        "          7 GEN101 error compressed-stream-corrupt",
        "          5 OSC305 warning short-sentence",
        "  oscar 1.1 · 2 of 2 shards · 100 documents · 123.5 MB",
    ]


@pytest.mark.parametrize("name", ["full", "concise", "grouped"])
def test_text_has_as_many_notes_of_a_kind_as_findings(name: str) -> None:
    lines = corpusfmt.render(a_report(), name, max_findings=3).split("\n")
    assert [line for line in lines if line.startswith("  suppressed: ")] == [
        "  suppressed: DOL302: an old dump, 3 times",
        "  suppressed: DOL306: ignored (DOL), 10,000 times",
        "  suppressed: DOL313: known from base.json, 12,000 times",
        "  suppressed: 1 more",
    ]
    assert [line for line in lines if line.startswith("  regraded: ")] == [
        "  regraded: DOL308: dates come later, 2 times"
    ]


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (1_250_000, "1.2 MB"),
        (3_100_000_000, "3.1 GB"),
        (10**12, "1.0 TB"),
        (10**15, "1.0 PB"),
        (10**18, "1000.0 PB"),
    ],
)
def test_sizes_are_shown_in_decimal_units(size: int, shown: str) -> None:
    assert human_size(size) == shown


def test_html_is_a_whole_page() -> None:
    page = corpusfmt.render(a_report(), "html")
    texts = Page(page).texts
    assert texts["html/head/title"] == ["oscar/: invalid"]
    assert texts["html/body/main/h1"] == ["oscar/: "]
    assert texts["html/body/main/h1/span"] == ["invalid"]
    verdict, _, extent, about = texts["html/body/main/p"]
    assert verdict.startswith("INVALID: 7 errors, 5 warnings; ")
    assert texts["html/body/main/p/code"] == ["corpusfmt rule GEN101"]
    assert extent == "2 of 2 shards · 100 documents · 123.5 MB"
    assert (
        about
        == "format oscar 1.1 · profile strict · settings c.toml · finished 2024-01-01T00:00:01Z · tool corpusfmt 1.2"
    )
    assert len(texts["html/body/main/ul/li"]) == 9
    rule = "html/body/main/details"
    assert texts[f"{rule}/summary/b"] == ["GEN101", "OSC305"], "errors first"
    assert texts[f"{rule}/summary/span/span"] == ["7 errors", "5 warnings"]
    assert texts[f"{rule}/div/ol/li/code"] == ["ä \\ud800<&>\\x01.gz <id>", "af/af.txt.gz:1:3", "af/af.txt.gz:2:3"]
    assert texts[f"{rule}/div/ol/li/span"][:2] == ["cut\\nshort (7 times, first here)", "line of 1 | characters"]
    assert "3 more were counted but not kept." in texts[f"{rule}/div/p"]
    assert 'href="https://corpusfmt.github.io/latest/rules/GEN101/"' in page
    assert [len(re.findall(what, page)) for what in ("src=", "@import", r"url\(")] == [0, 0, 0], "requests nothing"


def test_html_shows_where_a_rule_fires_most() -> None:
    report = Report("oscar", "1.1", Tally(cap=1), Coverage(20, 20))
    for number in range(20):
        for _ in range(number + 1):
            problem = Problem("short", Location(f"{'de' if number % 4 else 'fr'}/{number}.gz", 1))
            report.tally.add(Finding("OSC305", "short-sentence", Severity.WARNING, problem))
    texts = Page(corpusfmt.render(report, "html")).texts
    assert texts["html/body/main/details/div/table/tr/td/code"] == ["de", "fr"], "folders, as there are many files"
    assert texts["html/body/main/details/div/table/tr/td"] == ["165", "45"]


@pytest.mark.parametrize(("findings", "opened"), [(20, 2), (21, 1)])
def test_a_few_findings_are_shown_from_the_start(findings: int, opened: int) -> None:
    report = Report("dolma", "1.0", Tally(cap=findings), Coverage(1, 1))
    for line in range(findings):
        code, slug = ("DOL306", "missing-source") if line else ("DOL305", "text-type")
        report.tally.add(Finding(code, slug, Severity.ERROR, Problem("wrong", Location("a.gz", line + 1))))
    assert corpusfmt.render(report, "html").count(" open>") == opened


def test_further_findings_are_data_in_the_page() -> None:
    report = Report("dolma", "1.0", Tally(cap=300), Coverage(1, 1))
    for line in range(1, 204):
        problem = Problem(f"</script><!--{line}\u2028", Location("a.gz", line), "hint" if line > 202 else "")
        report.tally.add(Finding("DOL304", "text-missing", Severity.ERROR, problem))
    page = Page(corpusfmt.render(report, "html"))
    rule = "html/body/main/details/div"
    assert len(page.texts[f"{rule}/ol/li/code"]) == 200
    assert page.texts[f"{rule}/noscript/p"] == ["3 more are listed with JavaScript."]
    (data,) = page.texts[f"{rule}/script"]
    assert [row[:3] for row in json.loads(data)] == [["error", 1, f"a.gz:{line}"] for line in (201, 202, 203)]
    assert json.loads(data)[2][3:] == ["</script><!--203\\u2028", "help: hint"]
    assert [attributes.get("data-count") for tag, attributes in page.tags if tag == "details"] == ["203"]


@pytest.mark.parametrize("name", RENDERERS)
def test_every_output_names_every_rule_that_fired_and_what_is_left_out(name: str) -> None:
    text = corpusfmt.render(a_report(), name).replace("`ignored", "ignored")
    assert "GEN101" in text
    assert ("OSC305" in text) or name == "junit"
    for left_out in ("OSC503", "nested keys are not read", "10,500 ignored", "known from base.json", "an old dump"):
        assert left_out in text or (left_out == "10,500 ignored" and name in {"json", "jsonl", "sarif", "gitlab"})
    assert "ignored rule OSC9" in text or name == "github"
    text.encode("utf-8")


@pytest.mark.parametrize("name", RENDERERS)
def test_every_output_of_nothing_found(name: str) -> None:
    assert corpusfmt.render(Report("oscar", "1.1", Tally(), Coverage(1, 1)), name)


@pytest.mark.parametrize("name", RENDERERS)
def test_every_output_where_no_finding_was_kept(name: str) -> None:
    report = Report("oscar", "1.1", Tally(cap=0), Coverage(1, 1))
    report.tally.add(a_report().findings[0])
    text = corpusfmt.render(report, name)
    assert "OSC305" in text or name in {"junit", "sarif", "gitlab", "github", "concise"}


def test_verdicts_name_what_they_leave_out() -> None:
    report = Report("dolma", "1.0", Tally(), Coverage(1, 1))
    last = corpusfmt.render(report, "concise").split("\n")[-2]
    assert last == "VALID: 0 errors, 0 warnings"
    report.tally.suppressed.update({("DOL306", "a", "ignored (DOL)"): 10_500, ("DOL1", "a", "known from b.json"): 1})
    last = corpusfmt.render(report, "concise").split("\n")[-2]
    assert last == "VALID: 0 errors, 0 warnings; 10,500 ignored (DOL), 1 known from b.json"
    report.coverage.gap("a", "keys", "nested", 2)
    last = corpusfmt.render(report, "concise").split("\n")[-2]
    assert last.startswith("INCOMPLETE: 1 of 1 shards seen, 0 errors, 0 warnings; 2 not checked, 10,500 ignored (DOL)")


def many(*counts: tuple[str, Severity, int]) -> Report:
    report = Report("dolma", "1.0", Tally(cap=10_000), Coverage(1, 1))
    for code, severity, count in counts:
        for line in range(1, count + 1):
            report.tally.add(Finding(code, "x", severity, Problem(f"m{line}", Location(f"{code}.jsonl", line), "h")))
    return report


def test_text_is_limited_to_the_worst_and_the_rest_is_counted() -> None:
    report = many(("DOL1", Severity.WARNING, 300), ("DOL2", Severity.ERROR, 150), ("DOL3", Severity.INFO, 5))
    lines = corpusfmt.render(report, "concise").split("\n")
    assert [line.split(":")[0] for line in lines[:100]] == ["DOL2.jsonl"] * 100
    assert lines[100].startswith("… 355 more findings are not shown (DOL1, DOL2, DOL3): -v shows more")
    assert lines[101].startswith("INVALID: 150 errors, 300 warnings")
    assert "DOL3.jsonl" not in corpusfmt.render(report, "full", max_findings=1000)
    assert "DOL3.jsonl:5: DOL3 info" in corpusfmt.render(report, "full", max_findings=1000, show_info=True)
    for name in ("full", "concise", "github"):
        assert list(RENDERERS[name](report)) == corpusfmt.render(report, name).split("\n")[:-1]


def repeated(message: str, rows: int, files: int, pointer: str | None = None) -> Report:
    report = Report("jsonl", "1.0", Tally(), Coverage(files, files))
    for file in range(files):
        shard = Tally()
        for line in range(1, rows + 1):
            place = Location(f"{file}.jsonl", line, pointer=pointer)
            shard.add(Finding("JSL301", "x", Severity.ERROR, Problem(message.format(line), place, "h")))
        report.tally.merge(shard)
    return report


@pytest.mark.parametrize(
    ("rows", "files", "times"),
    [
        (1, 1, ""),
        (500, 1, " (500 times, first here)"),
        (1, 4, " (in 4 files, first here)"),
        (500, 4, " (2,000 times in 4 files, first here)"),
    ],
)
def test_one_cause_is_one_entry_with_an_exact_count(rows: int, files: int, times: str) -> None:
    report = repeated("`text` is absent", rows, files)
    line = f"0.jsonl:1: JSL301 error x: `text` is absent{times}"
    assert corpusfmt.render(report, "concise").split("\n")[0] == line
    assert corpusfmt.render(report, "full").split("\n")[:3] == [line, "  help: h", ""]
    assert corpusfmt.render(report, "html").count("<li ") == files
    assert len(report.findings) == files * min(rows, 10)
    assert report.by_path == {f"{file}.jsonl": {"JSL301": rows} for file in range(files)}


def test_findings_about_whole_files_name_each_of_them() -> None:
    report = Report("dolma", "1.0", Tally(), Coverage(2, 2))
    for path in ("a", "b"):
        report.tally.add(Finding("MAN201", "x", Severity.ERROR, Problem("missing", Location(path))))
    lines = corpusfmt.render(report, "concise").split("\n")
    assert lines[:2] == ["a: MAN201 error x: missing", "b: MAN201 error x: missing"]


def test_other_messages_of_a_rule_are_not_taken_for_the_same() -> None:
    report = repeated("row {}", 12, 2)
    assert corpusfmt.render(report, "full").split("\n")[:4] == [
        "0.jsonl:1: JSL301 error x: row 1 (in 2 files, first here)",
        "  help: h",
        "",
        "0.jsonl:2: JSL301 error x: row 2 (in 2 files, first here)",
    ]
    assert "… 4 more findings are not shown (JSL301): --max-per-rule keeps more" in corpusfmt.render(report, "full")


@pytest.mark.parametrize("node", ['distribution "{}"', "distribution[{}]", 'recordSet "r" › field "r/{}" › source'])
def test_a_defect_of_a_kind_of_node_is_one_entry(node: str) -> None:
    report = repeated(f"{node}: `@id` is missing", 30, 1, pointer="/x")
    first = node.format(1)
    assert corpusfmt.render(report, "concise").split("\n")[0] == (
        f"0.jsonl:1: JSL301 error x: {first}: `@id` is missing (30 times, first here)"
    )
    assert len(corpusfmt.render(repeated(f"{node}: `@id` is missing", 3, 1), "concise").split("\n")) == 5


def test_the_table_of_rules_begins_with_the_worst() -> None:
    rules = (
        ("DOL3", Severity.ERROR, 1),
        ("DOL1", Severity.WARNING, 1),
        ("DOL4", Severity.INFO, 1),
        ("DOL2", Severity.ERROR, 2),
    )
    lines = corpusfmt.render(many(*rules), "markdown").split("\n")
    assert [line[3:7] for line in lines if line.startswith("| `")] == ["DOL2", "DOL3", "DOL1", "DOL4"]


def test_no_rule_is_lost_behind_another_of_its_severity() -> None:
    report = many(("DOL1", Severity.ERROR, 50), ("DOL2", Severity.ERROR, 50), ("DOL3", Severity.WARNING, 50))
    assert {each.code for each in worst_first(report.findings, 2)} == {"DOL1", "DOL2"}
    assert [each.code for each in worst_first(report.findings, 101)][-1] == "DOL3"


@pytest.mark.parametrize("name", ["sarif", "gitlab"])
def test_services_are_given_the_worst_and_told_of_the_rest(name: str) -> None:
    text = corpusfmt.render(many(("DOL1", Severity.WARNING, 4_000), ("DOL2", Severity.ERROR, 1_500)), name)
    assert text.count('"ruleId": "DOL2"') + text.count('"check_name": "DOL2"') == 1_500
    assert "omitted: 500 of DOL1" in text


def nested(levels: int) -> Any:
    return json.loads('{"a":' * levels + "1" + "}" * levels)


def changed(folder: Path, name: str, value: object) -> Path:
    """Save a report in which a member of itself, its coverage or its first finding has another value."""
    saved: Any = json.loads(corpusfmt.render(a_report(), "json"))
    first = saved["findings"][0]
    next(each for each in (first, first["location"], saved, saved["coverage"]) if name in each)[name] = value
    (folder / "report.json").write_text(json.dumps(saved, indent=1))
    return folder / "report.json"


def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(resource("schemas", "report/report.schema.json").read_bytes()))


def test_json_lines_follow_the_published_schema() -> None:
    validator = schema()
    records = [json.loads(line) for line in corpusfmt.render(a_report(), "jsonl").split("\n")[:-1]]
    assert [record["kind"] for record in records] == ["run", "finding", "finding", "finding", "summary"]
    for record in records:
        validator.validate(record)
    assert records[-1]["by_path"]["af/af.txt.gz"] == {"OSC305": 5}
    assert {"rule": "DOL306", "reason": "ignored (DOL)", "count": 10_000} in records[-1]["suppressed"]
    assert records[-1]["coverage"]["gaps"][0]["what"] == "record set `r`"
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(records[1] | {"severity": "fatal"})


def test_json_follows_the_published_schema_and_is_exact() -> None:
    text = corpusfmt.render(a_report(), "json")
    text.encode("utf-8")
    whole: dict[str, Any] = json.loads(text)
    schema().validate(whole)
    assert whole["findings"][-1]["location"]["path"] == "ä \ud800<&>\x01.gz"
    with pytest.raises(jsonschema.ValidationError):
        schema().validate({name: value for name, value in whole.items() if name != "suppressed"})


@pytest.mark.parametrize("name", ["json", "jsonl"])
def test_a_saved_report_comes_back(tmp_path: Path, name: str) -> None:
    report = a_report()
    path = tmp_path / "run"
    path.write_text(corpusfmt.render(report, name), "utf-8")
    again = load(path)
    for output in set(RENDERERS) - {"junit"}:  # which shards were clean, and how long they took, is not saved
        assert corpusfmt.render(again, output) == corpusfmt.render(report, output)
    assert known_problems(path)["OSC305", "af/af.txt.gz"] == 5


def test_a_saved_report_without_kept_findings_comes_back(tmp_path: Path) -> None:
    report = Report("oscar", "1.1", Tally(cap=0), Coverage(1, 1))
    for finding in a_report().findings:
        report.tally.add(finding)
    path = tmp_path / "run"
    path.write_text(corpusfmt.render(report, "json"), "utf-8")
    assert load(path).counts == report.counts


def test_a_baseline_of_several_inputs_is_divided() -> None:
    whole = Baseline("b", {("A", "one/x"): 1, ("B", "two/x/y"): 2, ("C", "two"): 3, ("D", "twofold/x"): 4})
    assert whole.below("one/").occurrences == {("A", "x"): 1}
    assert whole.below("two/").occurrences == {("B", "x/y"): 2, ("C", "."): 3, ("C", "two"): 3}
    assert whole.below("twofold/y").occurrences == {("D", "x"): 4} | {
        (code, f"../{path}"): count for (code, path), count in whole.occurrences.items() if code != "D"
    }
    assert whole.below("two/x/y").occurrences == {("B", "."): 2, ("B", "y"): 2}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"kind":"run"}\n', "null\n", '{\n"findings": 3}', "[" * 100_000])
def test_what_is_not_a_whole_report_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError):
        load(path)


def test_junit_has_a_case_for_each_shard_and_a_skipped_one_for_what_did_not_run() -> None:
    suite = ET.fromstring(corpusfmt.render(a_report(), "junit").encode())
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("5", "1", "2")
    assert suite.get("time") == "1.750"
    texts = [text.strip() for each in suite.iter() for text in (each.text, each.tail) if text]
    assert [text for text in texts if text] == ['"ä \\ud800<&>\\x01.gz" <id>: GEN101 cut\\nshort']
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {
        "af/af.txt.gz": [],
        "be/be.txt.gz": [],
        "ä \\ud800<&>\\x01.gz": ["failure"],
        "croissant.json: record set `r` (nested keys are not read)": ["skipped"],
        "af/af.txt.gz: OSC503 (needs GEN101)": ["skipped"],
    }


def test_sarif_says_where_and_what_for_code_scanning() -> None:
    report = a_report()
    report.arguments = {"base": "data/a#b%20?ü"}
    (run,) = json.loads(corpusfmt.render(report, "sarif"))["runs"]
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert rules["GEN101"]["shortDescription"]["text"] == "A gzip or zstd file is corrupt or truncated."
    assert rules["GEN101"]["help"]["text"].startswith("A gzip or zstd file is corrupt or truncated.\n\nWhy: ")
    assert rules["GEN101"]["helpUri"].endswith("/latest/rules/GEN101/")
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"]]
    assert [unquote(place["uri"], errors="surrogatepass") for place in places] == [
        "data/a#b%20?ü/ä \ud800<&>\x01.gz",
        "data/a#b%20?ü/af/af.txt.gz",
        "data/a#b%20?ü/af/af.txt.gz",
    ]
    assert {place["uriBaseId"] for place in places} == set(run["originalUriBaseIds"]) == {"SRCROOT"}
    fingerprints = [result["partialFingerprints"]["corpusfmt/v1"] for result in run["results"]]
    assert len(set(fingerprints)) == 3


def test_services_are_told_how_much_a_finding_matters_and_its_line() -> None:
    report = many(("DOL1", Severity.ERROR, 1), ("DOL2", Severity.WARNING, 2), ("DOL3", Severity.INFO, 1))
    report.tally.add(Finding("DOL4", "x", Severity.ERROR, Problem("m", Location("a"))))
    (run,) = json.loads(corpusfmt.render(report, "sarif"))["runs"]
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels == {"DOL1": "error", "DOL2": "warning", "DOL3": "note", "DOL4": "error"}
    regions = [result["locations"][0]["physicalLocation"].get("region") for result in run["results"]]
    assert regions == [{"startLine": 1}, None, {"startLine": 1}, {"startLine": 2}, {"startLine": 1}]
    issues = json.loads(corpusfmt.render(report, "gitlab"))
    assert [(each["check_name"], each["severity"], each["location"]["lines"]) for each in issues] == [
        ("DOL1", "major", {"begin": 1}),
        ("DOL4", "major", {"begin": 1}),  # which has no line: one is required
        ("DOL2", "minor", {"begin": 1}),
        ("DOL2", "minor", {"begin": 2}),
        ("DOL3", "info", {"begin": 1}),
    ]
    lines = corpusfmt.render(report, "github", show_info=True).split("\n")
    assert [line.partition(" ")[0] for line in lines[:4]] == ["::error", "::error", "::warning", "::notice"]


@pytest.mark.parametrize(("base", "uri"), [("/data", "file:///data/af/x%20y"), ("s3://b", "s3://b/af/x%20y")])
def test_sarif_of_data_elsewhere(base: str, uri: str) -> None:
    report = Report("oscar", "1.1", Tally(), Coverage(1, 1), arguments={"base": base})
    report.tally.add(Finding("OSC305", "x", Severity.ERROR, Problem("m", Location("af/x y"))))
    result = json.loads(corpusfmt.render(report, "sarif"))["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(UsageError, match="known: full"):
        corpusfmt.render(a_report(), "yaml")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (slice(1, None), "the run line is missing: the beginning of the report is cut off"),
        (slice(0, -1), "the summary line is missing: the report is truncated"),
    ],
)
def test_a_report_without_its_first_or_last_line_is_not_whole(kept: slice, said: str, tmp_path: Path) -> None:
    lines = corpusfmt.render(a_report(), "jsonl").removesuffix("\n").split("\n")[kept]
    path = tmp_path / "report.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(UsageError) as raised:
        load(path)
    assert str(raised.value) == f"{path} is not a complete corpusfmt report in JSON or JSON Lines: {said}"


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [
        (["line"], [2**63, 0], "Expected `int` [<>]= "),
        (["byte"], [-1], "Expected `int` [<>]= "),
        (["shards_total"], ["x", {}, None, 1.5, True], "Expected `int`"),
        (
            ["rule", "slug", "severity", "message", "hint", "path", "format", "started", "finished"],
            [{"a": 1}, 1, None],
            "Expected `str`|Invalid enum value",
        ),
        (["arguments"], [nested(19)], "arguments or results are nested too deeply"),
    ],
)
def test_a_value_that_no_report_has_is_refused(
    names: list[str], values: list[object], message: str, tmp_path: Path
) -> None:
    for name in names:
        for value in values:
            with pytest.raises(UsageError, match=message):
                load(changed(tmp_path, name, value))


@pytest.mark.parametrize(("name", "value"), [("line", 2**63 - 1), ("line", 1), ("byte", 0), ("byte", 2**63 - 1)])
def test_a_place_in_a_report_is_one_that_there_can_be(name: str, value: int, tmp_path: Path) -> None:
    assert getattr(load(changed(tmp_path, name, value)).findings[0].location, name) == value
    assert load(changed(tmp_path, "arguments", nested(18))).arguments == nested(18)


def test_of_many_files_some_are_shown_by_rule() -> None:
    tally = Tally()
    for name in "abcd":
        tally.add(Finding("DOL301", "missing-id", Severity.ERROR, Problem("no `id`", Location(f"{name}.jsonl", 1))))
    report = Report("dolma", "1.0", tally, Coverage())
    for most in (1, 2, 3):
        shown = list(RENDERERS["grouped"](report, View(max_findings=most)))[1 : most + 2]
        assert shown[-1] == f"  {4 - most:>9,}  more files"
        assert [line.split()[1] for line in shown[:-1]] == [f"{name}.jsonl:1" for name in "abcd"[:most]]


def test_a_report_displays_itself() -> None:
    report = a_report()
    assert repr(report) == "<Report oscar 1.1: invalid; 7 errors, 5 warnings, 0 info>"
    assert (report.ok, bool(report)) == (False, False)
    assert bool(Report("oscar", "1.1", Tally(), Coverage()))
    shown = Page(report._repr_html_()).texts
    assert shown["table/tr/th"][6:] == ["GEN101", "OSC305", "OSC305"], "errors first"
    assert shown["table/tr/td"][:3] == ["error", "compressed-stream-corrupt", "ä \ud800<&>\x01.gz <id>"]
    assert shown["p"][1:] == ["and 3 more"]


def test_a_report_as_a_data_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match="pandas is not installed: run `pip install pandas`"):
        a_report().to_pandas()
