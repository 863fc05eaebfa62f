"""Two reports compared: what is new, gone and unchanged, by rule and by finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import run_cli

import corpusfmt
from corpusfmt import Coverage, Finding, Location, Problem, Report, Severity, UsageError
from corpusfmt.model import Tally
from corpusfmt.report.trend import renderer, trend


def report(*findings: tuple[str, str, int, str], severity: Severity = Severity.ERROR, cap: int = 10) -> Report:
    tally = Tally(cap=cap)
    for code, path, line, message in findings:
        tally.add(Finding(code, "a-rule", severity, Problem(message, Location(path, line))))
    return Report("dolma", "1.0", tally, Coverage(1, 1))


OLD = report(("DOL304", "a.gz", 1, "moved"), ("DOL304", "a.gz", 2, "gone"), ("DOL306", "b.gz", 3, "same | b"))
NEW = report(("DOL304", "a.gz", 7, "moved"), ("DOL306", "b.gz", 3, "same | b"), ("DOL306", "c|.gz", 1, "x `new` one"))

TEXT = """\
new: c|.gz:1: DOL306 error a-rule: x `new` one
gone: a.gz:2: DOL304 error a-rule: gone
DOL304: 0 new, 1 gone, 1 unchanged
DOL306: 1 new, 0 gone, 1 unchanged
invalid → invalid: 1 new, 1 gone, 2 unchanged
"""

MARKDOWN = """\
## corpusfmt: invalid → invalid

invalid → invalid: 1 new, 1 gone, 2 unchanged

| rule | new | gone | unchanged |
|---|--:|--:|--:|
| `DOL304` | 0 | 1 | 1 |
| `DOL306` | 1 | 0 | 1 |

New:

- `c\\|.gz:1` DOL306 error: ``x `new` one``

Gone:

- `a.gz:2` DOL304 error: `gone`
"""


@pytest.mark.parametrize(("name", "expected"), [("text", TEXT), ("markdown", MARKDOWN)])
def test_outputs_for_people(name: str, expected: str) -> None:
    assert "".join(f"{line}\n" for line in renderer(name)(trend(OLD, NEW))) == expected


def test_json() -> None:
    whole = json.loads("\n".join(renderer("json")(trend(OLD, NEW))))
    assert whole["totals"] == {"new": 1, "gone": 1, "unchanged": 2}
    assert whole["by_rule"]["DOL304"] == {"new": 0, "gone": 1, "unchanged": 1}
    assert [each["message"] for each in whole["appeared"]] == ["x `new` one"]
    assert [each["location"]["line"] for each in whole["disappeared"]] == [2]


def test_counts_are_exact_where_findings_are_not_kept() -> None:
    few = report(*(("OSC305", "de.gz", line, f"line {line}") for line in range(20)), cap=2)
    many = report(*(("OSC305", "de.gz", line, f"line {line}") for line in range(50)), cap=2)
    found = trend(few, many)
    assert found.totals == {"new": 30, "gone": 0, "unchanged": 20}
    assert not found.appeared, "the kept ones are the same"
    assert trend(many, few).totals == {"new": 0, "gone": 30, "unchanged": 20}
    assert next(renderer("text")(found)) == "new: … 30 more"


def test_occurrences_that_reports_do_not_list_are_said_to_be_there() -> None:
    """A report keeps some of a rule's findings in a file; a list of these must not look like all."""
    new = report(*(("OSC305", "de.gz", line, f"line {line}") for line in range(50)), cap=2)
    listed = list(renderer("text")(trend(report(), new)))
    assert [each for each in listed if each.startswith("new: ")][2:] == ["new: … 48 more"]
    assert list(renderer("markdown")(trend(report(), new)))[-1] == "- 48 more"


def test_a_repeated_message_is_paired_once() -> None:
    one, two = report(("DOL304", "a", 1, "x")), report(("DOL304", "a", 1, "x"), ("DOL304", "a", 2, "x"))
    assert [each.location.line for each in trend(one, two).appeared] == [2]


def test_errors_come_first_and_further_ones_are_counted() -> None:
    new = report(*(("DOL309", "a", line, f"{line}") for line in range(25)), severity=Severity.WARNING, cap=30)
    new.tally.add(Finding("DOL304", "a-rule", Severity.ERROR, Problem("bad", Location("z", 1))))
    lines = list(renderer("text")(trend(report(), new)))
    assert lines[0] == "new: z:1: DOL304 error a-rule: bad"
    assert "new: … 6 more" in lines
    assert lines[-1] == "valid → invalid: 26 new, 0 gone, 0 unchanged"


def test_unknown_output() -> None:
    with pytest.raises(UsageError, match="unknown output format 'html'; known: text, json, markdown"):
        renderer("html")


def test_the_command(tmp_path: Path) -> None:
    for name, each in (("old.json", OLD), ("new.jsonl", NEW)):
        (tmp_path / name).write_text(corpusfmt.render(each, name.partition(".")[2]), "utf-8")
    done = run_cli("report", "compare", tmp_path / "old.json", tmp_path / "new.jsonl", "--fail-on-new")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (1, TEXT, b"")
