"""A little of `make fuzz`: fifty of its cases, and in `make deep` the program that runs them by the thousand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.cases import Case, case_of, described, run_case
from fuzz.jsontext import dump, parse
from fuzz.mutate import Pool, pool_of
from fuzz.seeds import Seed, seeds
from support import REPOSITORY

_CHUNK = 25
_SEED = 3


@pytest.fixture(scope="session")
def corpus() -> tuple[list[Seed], Pool]:
    found = seeds()
    return found, pool_of(found)


@pytest.mark.parametrize("chunk", range(2))
def test_nothing_breaks_a_promise(chunk: int, corpus: tuple[list[Seed], Pool], tmp_path: Path) -> None:
    for number in range(chunk * _CHUNK, (chunk + 1) * _CHUNK):
        case = case_of(*corpus, _SEED, number)
        first, second = (run_case(case, tmp_path / "case") for _ in range(2))
        assert not first.failures, described(case)
        assert first.answer == second.answer, described(case)


@pytest.mark.deep
def test_a_case_is_the_same_in_every_process(corpus: tuple[list[Seed], Pool]) -> None:
    program = (
        "import hashlib; from fuzz.cases import case_of; from fuzz.mutate import pool_of; from fuzz.seeds import seeds; "
        "found = seeds(); pool = pool_of(found); "
        "print([hashlib.sha256(repr(case_of(found, pool, 1, number)).encode()).hexdigest() for number in range(40)])"
    )
    said = set()
    for hashes in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": "tests"}
        command = [sys.executable, "-c", program]
        said.add(subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, check=True).stdout)
    assert len(said) == 1


@pytest.mark.deep
def test_the_program_counts_cases_and_says_how_to_replay_one(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzz.run", "--cases", "20", "--seed", str(_SEED), "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "tests")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, text=True)
    assert done.stdout.startswith(f"20 cases from 0 on with seed {_SEED} in "), done.stderr
    assert done.stdout.endswith("each in two processes: 0 failed, of 0 causes\n")
    assert done.returncode == 0
    again = [*command[:3], "--seed", str(_SEED), "--case", "7"]
    done = subprocess.run(again, cwd=tmp_path, env=environment, capture_output=True, check=True, text=True)
    assert done.stdout.startswith("case 7 of ")
    assert done.stdout.endswith("nothing failed\n")


def test_what_an_unfinished_run_keeps_is_not_compared(tmp_path: Path) -> None:
    rows = {name: json.dumps({"id": name, "text": name * 300, "source": "s"}).encode() + b"\n" for name in "abc"}
    tree = {f"documents/{name}.jsonl": row for name, row in rows.items()}
    options = {"to": "dolma", "limits": {"total_bytes": 400}}
    outcome = run_case(Case(0, "", {**tree, "documents/d.jsonl": b"{}\n"}, "", "convert", options), tmp_path / "case")
    assert outcome.failures == []


@pytest.mark.parametrize("text", ['{"a":1,"a":[1e999,"x"],"b":{"":null}}', "[]", '[[],{},"\\ud800",-0.0]', "1e5"])
def test_json_is_written_as_it_was(text: str) -> None:
    assert dump(parse(text), ascii_only=True) == text
