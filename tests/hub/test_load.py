"""`datasets` is asked in a process that may end, offline, with bounded memory, and runs no code of the data."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from hub.folders import TWO, rows, write

import corpusfmt
from corpusfmt.hub import load
from corpusfmt.model import UsageError


def gaps(report: corpusfmt.Report) -> list[tuple[str, str]]:
    return [(path, reason) for path, what, reason in report.coverage.gaps if what == "how it is loaded"]


def test_without_the_package_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UsageError, match=r"pip install 'corpusfmt\[hf\]'$"):
        corpusfmt.validate(write(TWO, tmp_path), profile="hub")


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such signals")
def test_a_process_that_is_killed_is_a_gap_and_the_next_one_answers(tmp_path: Path) -> None:
    root = write(TWO, tmp_path)
    assert corpusfmt.validate(root, profile="hub").verdict is corpusfmt.Verdict.VALID
    process = load._Process.running
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGKILL)
    report = corpusfmt.validate(root, profile="hub")
    assert report.verdict in {corpusfmt.Verdict.INCOMPLETE, corpusfmt.Verdict.VALID}
    assert [reason for _, reason in gaps(report)] in (
        [],
        [f"the process of `datasets` ended with status {-signal.SIGKILL}"],
    )
    assert corpusfmt.validate(root, profile="hub").verdict is corpusfmt.Verdict.VALID


def test_nothing_of_a_run_is_left_and_no_code_of_the_data_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    script = b"import pathlib; pathlib.Path(__file__).with_name('ran').touch()\n"
    root = write(TWO | {"data.py": script, "corpus.py": script, "sitecustomize.py": script}, tmp_path / "corpus")
    monkeypatch.chdir(root)
    load.stop()  # the next one starts in the folder
    assert not [each for each in corpusfmt.validate(root, profile="hub").findings if each.code.startswith("HUB2")]
    load.stop()
    assert not list(root.rglob("ran"))
    assert not list(folder.iterdir())


def test_rows_beyond_a_bound_are_a_gap(tmp_path: Path) -> None:
    wide = [
        {"id": str(each), "text": "x", "source": "s"} | {f"k{each}-{key}": 1 for key in range(101)}
        for each in range(100)
    ]
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in wide))
    assert gaps(corpusfmt.validate(tmp_path, profile="hub")) == [
        ("documents/a.jsonl", "10,103 columns in 100 rows do not fit into memory")
    ]
    long = {"id": "a", "text": "x" * 5000, "source": "s"}
    (tmp_path / "documents/a.jsonl").write_text(json.dumps(long) + "\n")
    report = corpusfmt.validate(tmp_path, profile="hub", max_line_bytes=4096)
    assert gaps(report) == [("documents/a.jsonl", "line 1 has 5,038 bytes, expected at most 4,096")]


def test_a_sample_bounds_what_is_loaded(tmp_path: Path) -> None:
    for number in range(8):
        write({f"documents/{number}.jsonl": rows(["x" if number else 1], str(number))}, tmp_path)
    whole = corpusfmt.validate(tmp_path, profile="hub", max_per_rule=100)
    sampled = corpusfmt.validate(tmp_path, profile="hub", sample=0.25, max_per_rule=100)
    assert whole.by_rule["HUB202"] == 7
    assert 1 <= sampled.by_rule["HUB202"] <= 2


def test_lines_are_named(tmp_path: Path) -> None:
    data = b'{"text": "a", "x": 1}\n\n{"text": "b", "x": 9007199254740993}\n{"text": "c", "x": 0.5}\n'
    (tmp_path / "a.jsonl").write_bytes(data)
    (finding,) = [each for each in corpusfmt.validate(tmp_path, profile="hub").findings if each.code == "HUB203"]
    assert (finding.location.path, finding.location.line) == ("a.jsonl", 3)
