"""A fast path takes no row on which a rule would fire, bundled or not."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fixtures.oscar2.cases import OLDER, PART, rows
from test_fixtures import CASES, name_of, report_of, shown

from corpusfmt.formats import formats
from corpusfmt.model import Check
from corpusfmt.rules import RuleSet

#: Formats whose clean rows are taken without running a rule.
OF_ROWS = ("dolma", "jsonl", "mc4", "oscar2", "parquet")

#: A rule of a third party over each kind of row, and a corpus in which it fires on every row.
FOREIGN = """
import json, sys
import corpusfmt
from {module} import {subject}
from {ruleset} import RULES
from corpusfmt.model import Problem

@RULES.rule("XYZ999", "draft", on={subject})
def draft(row):
    '''A row is a draft.

    Why: w.
    Example: e.
    Fix: f.
    '''
    yield Problem("a draft", row.at, "finish it")

report = corpusfmt.validate(sys.argv[1])
converted = corpusfmt.convert(sys.argv[1], sys.argv[2], to="jsonl", on_loss="allow", on_bad_record="quarantine")
print(json.dumps([report.by_rule.get("XYZ999"), report.coverage.documents, converted.results["rejected"]]))
"""
DOLMA = [{"id": str(number), "text": "Draft of a report", "source": "x"} for number in range(3)]


def dolma(folder: Path) -> None:
    (folder / "documents").mkdir(parents=True)
    (folder / "documents" / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in DOLMA), "utf-8")


def json_lines(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(f'{{"text": "{number}"}}\n' for number in range(3)), "utf-8")


def parquet(folder: Path) -> None:
    folder.mkdir()
    pq.write_table(pa.table({"id": ["1", "2", "3"], "text": ["a", "b", "c"]}), folder / "a.parquet")


def oscar2(folder: Path) -> None:
    (folder / PART).parent.mkdir(parents=True)
    (folder / PART).write_bytes(gzip.compress(rows(OLDER)))


@pytest.mark.parametrize(
    ("make", "module", "subject", "ruleset"),
    [
        (dolma, "corpusfmt.formats.dolma.rows", "DocumentRow", "corpusfmt.formats.dolma.ruleset"),
        (dolma, "corpusfmt.formats.rows.records", "Row", "corpusfmt.formats.dolma.ruleset"),
        (json_lines, "corpusfmt.formats.rows.columned", "ColumnRecord", "corpusfmt.formats.jsonl.layout"),
        (parquet, "corpusfmt.formats.parquet.rows", "Row", "corpusfmt.formats.parquet.ruleset"),
        (oscar2, "corpusfmt.formats.oscar2.records", "Record", "corpusfmt.formats.oscar2.layout"),
    ],
)
def test_a_rule_that_no_fast_path_knows_sees_every_row(
    make: Any, module: str, subject: str, ruleset: str, tmp_path: Path
) -> None:
    make(tmp_path / "in")
    program = FOREIGN.format(module=module, subject=subject, ruleset=ruleset)
    command = [sys.executable, "-c", program, str(tmp_path / "in"), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [3, 3, 3]


@pytest.mark.parametrize("name", OF_ROWS)
def test_every_bundled_rule_over_rows_says_what_accepts_them(name: str) -> None:
    """One that does not would turn the fast path off for everybody."""
    rules = formats()[name].rules
    subjects = {rule.subject for rule in rules if isinstance(rule, Check) and rule.accepted_by}
    assert subjects
    assert rules.accepts_unseen(*subjects)


@pytest.mark.parametrize("case", [case for case in CASES if case.parts[-4] in OF_ROWS], ids=name_of)
def test_fast_paths_change_no_report(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = report_of(case)
    monkeypatch.setattr(RuleSet, "accepts_unseen", lambda *_: False)
    slow = report_of(case)
    assert list(map(shown, slow.findings)) == list(map(shown, fast.findings))
    assert (slow.counts, slow.coverage.documents) == (fast.counts, fast.coverage.documents)
