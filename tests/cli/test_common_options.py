"""Options of every command: -q and -v, and -o where something is printed."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
import termios
import time
from array import array
from pathlib import Path

import pytest
from support import FIXTURES, run_cli

BAD = FIXTURES / "croissant/1.1/invalid/value-and-source/input.json"
GOOD = FIXTURES / "croissant/1.1/valid/array/input.json"


@pytest.mark.parametrize("form", ["full", "concise", "grouped"])
def test_a_quiet_report_has_findings_only_and_says_nothing_of_what_is_valid(form: str) -> None:
    bad = run_cli("validate", "-q", BAD, "--output-format", form)
    assert bad.returncode == 1
    lines = bad.stdout.decode().splitlines()
    assert any("CRO429" in line for line in lines[:-1])
    assert lines[-1].startswith("INVALID: 1 error")
    assert not any("1 of 1 shard" in line for line in lines)
    good = run_cli("validate", "--quiet", GOOD, "--output-format", form)
    assert (good.returncode, good.stdout, good.stderr) == (0, b"", b"")


def test_quiet_hides_no_doubt_and_no_report_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    for name in "ab":
        (tmp_path / "documents" / f"{name}.jsonl").write_bytes(
            b'{"id": "%s", "source": "s", "text": "t"}\n' % name.encode()
        )
    sampled = run_cli("validate", "-q", tmp_path, "--sample", "50%")
    assert (sampled.returncode, sampled.stderr) == (0, b"")
    assert sampled.stdout == b"NO ERRORS IN A SAMPLE: 1 of 2 shards seen, 0 errors, 0 warnings.\n"
    ended = run_cli("validate", "-q", GOOD, "--report", f"full={tmp_path / 'full.txt'}")
    assert ended.stdout == b""
    assert "croissant 1.1" in (tmp_path / "full.txt").read_text("utf-8")
    missing = run_cli("validate", "-q", "nowhere")
    assert (missing.returncode, missing.stderr) == (2, b"error: path nowhere does not exist\n")


def test_quiet_commands_that_write_print_nothing(tmp_path: Path) -> None:
    source = FIXTURES / "oscar/1.1/valid/just-long-enough/input"
    for arguments in (
        ("convert", source, tmp_path / "dolma", "--to", "dolma"),
        ("convert", source, "-o", tmp_path / "text", "--to", "text", "--on-loss", "allow"),
        ("seal", tmp_path / "dolma"),
    ):
        ended = run_cli(*arguments, "-q")
        printed = [line for line in ended.stdout.decode().splitlines() if not line.startswith("  lost")]
        assert (ended.returncode, printed, ended.stderr) == (0, [], b"")
    assert (tmp_path / "text").is_dir()


def test_options_of_all_commands_may_be_before_or_after_the_name(tmp_path: Path) -> None:
    run_cli("validate", BAD, "--report", f"json={tmp_path / 'run.json'}")
    for option in (["-q"], ["--quiet"], ["--color", "always"], ["--color=never"]):
        before, after = run_cli(*option, "validate", BAD), run_cli("validate", BAD, *option)
        assert (before.returncode, before.stdout) == (after.returncode, after.stdout)
        assert (b"\x1b" in after.stdout) is ("always" in option)
        saved = "render", tmp_path / "run.json", "--output-format", "full"
        between = run_cli("report", *option, *saved)
        assert (between.returncode, between.stdout) == (0, run_cli("report", *saved, *option).stdout)
    assert b"-q and -v contradict each other" in run_cli("-q", "validate", "-v", BAD).stderr
    wrong = [run_cli("--color", "red", "validate", BAD), run_cli("validate", BAD, "--color", "red")]
    assert [each.returncode for each in wrong] == [2, 2]
    assert all(b"'red' is not one of 'auto', 'always', 'never'" in each.stderr for each in wrong)


def test_verbose_says_what_was_used_and_what_took_how_long() -> None:
    said = run_cli("validate", "-v", BAD, "--config", "none").stderr.decode()
    assert re.search(r"^checked input\.json: \d+\.\d\d s$", said, re.MULTILINE)
    assert re.search(r"^validate: \d+\.\d\d s, \d+\.\d\d s of processor time, at most \d+ MB", said, re.MULTILINE)
    both = run_cli("validate", "-v", "-q", BAD)
    assert both.returncode == 2
    assert b"-q and -v contradict each other" in both.stderr


def test_output_is_what_would_be_printed(tmp_path: Path) -> None:
    for number, arguments in enumerate(
        (
            ("validate", BAD),
            ("--color", "always", "validate", BAD, "--output-format", "sarif"),
            ("rule", "DOL3", "--output-format", "json"),
            ("recipe", "dolma"),
            ("formats",),
            ("detect", BAD),
            ("show", FIXTURES / "oscar/1.1/valid/just-long-enough/input"),
            ("stats", FIXTURES / "oscar/1.1/valid/just-long-enough/input", "--output-format", "markdown"),
        )
    ):
        path = tmp_path / str(number)
        usual, written = run_cli(*arguments), run_cli(*arguments, "-o", path)
        assert (written.returncode, written.stdout) == (usual.returncode, b"")
        varying = re.compile(rb'"(?:start|end)TimeUtc":"[^"]*"')
        assert varying.sub(b"", path.read_bytes()) == varying.sub(b"", usual.stdout)


def test_output_appears_only_if_there_is_a_result(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    assert run_cli("validate", "nowhere", "-o", path).returncode == 2
    assert run_cli("stats", FIXTURES / "oscar/1.1/invalid", "-o", path).returncode != 0
    ended = run_cli("validate", BAD, "-o", tmp_path / "no" / "report.txt")
    assert (ended.returncode, ended.stderr.decode()) == (
        2,
        f"error: folder {tmp_path / 'no'} for --output does not exist\n",
    )
    twice = run_cli("validate", BAD, "-o", path, "--report", f"json={path}")
    assert (twice.returncode, b"is named for --output and for --report" in twice.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
    assert run_cli("validate", BAD, "-o", "-", cwd=tmp_path).stdout == run_cli("validate", BAD).stdout
    assert list(tmp_path.iterdir()) == []


def test_output_replaces_no_other_file_of_the_run(tmp_path: Path) -> None:
    rows, card = tmp_path / "rows.jsonl", tmp_path / "README.md"
    rows.write_bytes(b'{"text": "t"}\n')
    card.write_bytes(b"# Card\n")
    for use, arguments in (
        ("--output and for --report", ("validate", "rows.jsonl", "-o", "new.txt", "--report", "json=./new.txt")),
        ("--output and for --report", ("validate", rows, "-o", tmp_path / "new.txt", "--report", "json=new.txt")),
        ("--output and for --evidence", ("describe", rows, "-o", "new.json", "--evidence", "new.json")),
        ("--report and again", ("validate", rows, "--report", "json=new.txt", "--report", "sarif=./new.txt")),
    ):
        ended = run_cli(*arguments, cwd=tmp_path)
        assert (ended.returncode, f"is named for {use}: name two files" in ended.stderr.decode()) == (2, True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "rows.jsonl": b'{"text": "t"}\n',
        "README.md": b"# Card\n",
    }


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_is_named() -> None:
    for arguments in (("validate", BAD), ("rule",), ("rule", "--output-format", "json")):
        ended = run_cli(*arguments, "-o", "/dev/full")
        assert (ended.returncode, ended.stdout) == (3, b"")
        assert b"No space left on device" in ended.stderr


def test_a_run_that_is_terminated_leaves_no_output(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "corpusfmt", "validate", "-", "--format", "dolma", "-o", tmp_path / "out.txt"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"{")
        process.stdin.flush()
        waiting = array("i", [1])
        while waiting[0]:  # until it reads
            time.sleep(0.02)
            fcntl.ioctl(process.stdin, termios.FIONREAD, waiting)
        process.terminate()
        assert process.wait(60) == 143
    assert list(tmp_path.iterdir()) == []


def test_an_output_in_the_corpus_is_not_a_file_of_it(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.jsonl").write_bytes(b'{"text": "one", "id": "1"}\n')
    ended = run_cli("validate", corpus, "--format", "jsonl", "--fail-on", "warning", "-o", corpus / "said.txt")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert (corpus / "said.txt").read_text("utf-8").endswith("VALID: 0 errors, 0 warnings\n")


@pytest.mark.parametrize("given", [[], ["a", "--output", "b"]])
def test_a_conversion_has_one_destination(given: list[str]) -> None:
    ended = run_cli("convert", BAD, "--to", "dolma", *given)
    assert (ended.returncode, ended.stderr) == (2, b"error: convert writes to one place: name DST, or --output DIR\n")
