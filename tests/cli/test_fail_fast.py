"""`--fail-fast` stops at the first error, and never says of what it has not checked that it is valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import run_cli
from test_fixtures import CASES, name_of, report_of

from corpusfmt.model import Verdict
from corpusfmt.rules import STOPPED


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Five files, of which the third and the last have two errors each."""
    documents = tmp_path / "corpus" / "documents"
    documents.mkdir(parents=True)
    for number in range(5):
        rows: list[dict[str, object]] = [
            {"id": f"{number}-{row}", "source": "s", "text": "a text"} for row in range(100)
        ]
        if number in (2, 4):
            rows[50] |= {"text": 3}
            rows[60] |= {"text": 3}
        (documents / f"{number}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return documents.parent


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_was_not_checked_is_reported(corpus: Path, jobs: str) -> None:
    ended = run_cli("validate", corpus, "--fail-fast", "--jobs", jobs)
    assert (ended.returncode, ended.stdout.decode().splitlines()) == (
        1,
        [
            "documents/2.jsonl:51: DOL305 error text-type: `text` is a number, expected a string",
            '    51 | {"id": "2-50", "source": "s", "text": 3}',
            "  help: write the text as one string",
            "",
            "  not checked: .: 2 shards, and the corpus as a whole (--fail-fast: stopped at the first error)",
            "  not checked: documents/2.jsonl: the rest (--fail-fast: stopped at the first error)",
            "  dolma 1.0 · 3 of 5 shards · 200 documents · 9.6 kB",
            "INCOMPLETE: 3 of 5 shards seen, 1 error, 0 warnings; 2 not checked. Explain one with `corpusfmt rule DOL305`.",
        ],
    )
    assert run_cli("validate", corpus, "--fail-fast", "--require-complete").returncode == 3
    assert run_cli("validate", corpus, "--fail-fast", "--ignore", "DOL305").returncode == 0


def test_known_errors_do_not_stop_a_run_and_new_ones_do(corpus: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert run_cli("validate", corpus, "--output-format", "json", "-o", known).returncode == 1
    same = run_cli("validate", corpus, "--fail-fast", "--baseline", known)
    assert (same.returncode, same.stdout.splitlines()[-1][:5]) == (0, b"VALID")
    with (corpus / "documents" / "3.jsonl").open("a") as file:
        file.write("{}\n")
    ended = run_cli("validate", corpus, "--fail-fast", "--baseline", known)
    assert ended.returncode == 1
    assert b"INCOMPLETE: 4 of 5 shards seen, 1 error" in ended.stdout


def test_further_inputs_are_not_checked(corpus: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text("{}\n", "utf-8")
    ended = run_cli("validate", corpus, other, "--format", "dolma", "--fail-fast")
    assert ended.returncode == 1
    assert b"other.jsonl: this input (--fail-fast" in ended.stdout
    assert b"3 of 6 shards seen" in ended.stdout
    assert run_cli("validate", corpus, "--fail-fast", "--shard", "1/2", "--report", "part=x").returncode == 2


@pytest.mark.parametrize("case", CASES[::12], ids=name_of)
def test_a_run_without_errors_is_the_same_and_one_with_errors_never_valid(case: Path) -> None:
    whole, stopped = report_of(case), report_of(case, fail_fast=True)
    if STOPPED in stopped.coverage.reasons:
        assert whole.counts["error"] >= stopped.counts["error"] > 0
        assert stopped.verdict is not Verdict.VALID
        assert whole.has_gaps or not stopped.has_gaps
        assert stopped.unmatched == []
    else:  # the corpus is judged as a whole at the end, or there is no error
        times = {"started": "", "finished": ""}
        assert stopped.to_dict() | times == whole.to_dict() | times
