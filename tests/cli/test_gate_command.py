"""`corpusfmt gate`: the steps of a release in order, their reports in one folder, the worst of their exit statuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from release.signed import write_keys
from support import REPOSITORY, SAMPLE, run_cli

from corpusfmt.gate import KINDS, plan_of
from corpusfmt.model import UsageError

SCHEMAS = REPOSITORY / "schemas" / "gate"
RELEASE: dict[str, Any] = json.loads((SCHEMAS / "release.schema.json").read_text("utf-8"))
# Keys that are what a command works on, not one of its options.
OPERANDS = {"inputs", "input", "previous"}
ROWS = [{"id": str(number), "text": f"text {number}", "source": "web"} for number in range(3)]


def corpus(folder: Path, rows: list[dict[str, str]], times: int = 1) -> None:
    path = folder / "documents" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) * times, "utf-8")


def gate(folder: Path, text: str, *options: str) -> tuple[int, dict[str, Any], str]:
    (folder / "release.toml").write_text(text, "utf-8")
    done = run_cli("gate", folder / "release.toml", *options)
    found = folder / "reports" / "gate.json"
    report = json.loads(found.read_text("utf-8")) if found.exists() else {}
    if report:
        jsonschema.validate(report, json.loads((SCHEMAS / "gate.schema.json").read_text("utf-8")))
        assert report["status"] == done.returncode
    return done.returncode, report, (done.stdout + done.stderr).decode()


def statuses(report: dict[str, Any]) -> dict[str, int | None]:
    return {step["name"]: step["status"] for step in report["steps"]}


def test_a_release_that_is_built_and_compared(tmp_path: Path) -> None:
    text = f"""
        corpus = "corpus"
        [build]
        inputs = "{SAMPLE.as_posix()}"
        languages = ["de", "en"]
        [validate]
        profile = "standard"
        [compare]
        previous = "corpus"
        fail-on-change = ["removed", "changed-text"]
        """
    status, report, _ = gate(tmp_path, text)
    assert (status, statuses(report)) == (0, {"build": 0, "validate": 0, "compare": 0})
    kept = {name for step in report["steps"] for name in step["reports"]}
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {*kept, "gate.json", "gate.md"}
    assert {"build.txt", "validate.sarif", "compare.html"} <= kept
    assert str(tmp_path) not in (tmp_path / "reports" / "gate.json").read_text("utf-8")


def test_a_release_that_is_described(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus", ROWS)
    text = 'corpus = "corpus"\n[describe]\ncreator = ["One", "Two"]\ndataset-version = "1.0.0"\n'
    status, report, _ = gate(tmp_path, text + '[validate]\nprofile = "standard"\n')
    assert (status, list(statuses(report))) == (0, ["describe", "validate"])
    found = json.loads((tmp_path / "corpus" / "croissant.json").read_text("utf-8"))
    assert (found["version"], len(found["creator"])) == ("1.0.0", 2)


def test_a_release_that_is_built_described_sealed_and_verified(tmp_path: Path) -> None:
    text = f"""
        corpus = "corpus"
        [build]
        inputs = "{SAMPLE.as_posix()}"
        languages = ["de", "en"]
        [describe]
        name = "two languages"
        [seal]
        [validate]
        profile = "standard"
        [verify]
        """
    status, report, printed = gate(tmp_path, text)
    assert (status, list(statuses(report))) == (0, ["build", "describe", "seal", "validate", "verify"]), printed
    assert json.loads((tmp_path / "corpus" / "MANIFEST.json").read_text("utf-8"))["recipe"]["name"] == "oscar-1.1"
    (tmp_path / "corpus" / "de" / "de.txt.gz").unlink()
    status, report, printed = gate(tmp_path, 'corpus = "corpus"\n[validate]\nprofile = "standard"\n[verify]\n')
    assert (status, statuses(report)) == (1, {"validate": 1, "verify": 1}), printed


def test_a_release_is_signed_if_it_has_passed(tmp_path: Path) -> None:
    corpus(tmp_path / "corpus", [row | {"added": "2024-01-01"} for row in ROWS])
    write_keys(tmp_path, "release", ec.SECP256R1())
    text = 'corpus = "corpus"\n[seal]\n[validate]\nprofile = "{}"\n[attest]\nsign = "release.key"\n[verify]\nkey = "release.pub"\n'
    status, report, printed = gate(tmp_path, text.format("standard"))
    assert (status, list(statuses(report))) == (0, ["seal", "validate", "attest", "verify"]), printed
    assert report["steps"][2]["command"] == ["corpusfmt", "seal", "--attest", "--sign=release.key", "--", "corpus"]
    assert "Signed with release.pub: model.sig" in printed
    corpus(tmp_path / "corpus/more", [*ROWS, *ROWS])
    status, report, printed = gate(tmp_path, text.format("strict"))
    assert statuses(report) == {"seal": 0, "validate": 1, "attest": None, "verify": None}, printed
    assert not (tmp_path / "corpus/model.sig").exists()


def test_the_worst_status_is_that_of_the_gate(tmp_path: Path) -> None:
    corpus(tmp_path / "old", ROWS)
    corpus(tmp_path / "new", [*ROWS[:2], ROWS[0]])
    steps = 'corpus = "new"\n[compare]\nprevious = "{}"\nfail-on-change = "removed"\n[validate]\n'
    assert gate(tmp_path, steps.format("old"))[:2][0] == 1
    status, report, _ = gate(tmp_path, steps.format("nowhere"))
    assert (status, statuses(report)) == (2, {"validate": 1, "compare": 2})
    assert statuses(gate(tmp_path, steps.format("old") + 'ignore = "DOL"\n')[1]) == {"validate": 0, "compare": 1}


def test_what_needs_a_step_that_failed_is_not_run(tmp_path: Path) -> None:
    status, report, printed = gate(tmp_path, 'corpus = "new"\n[convert]\ninput = "nowhere"\nto = "dolma"\n')
    assert (status, statuses(report)) == (2, {"convert": 2, "validate": None})
    assert report["steps"][1]["reason"] == "convert failed"
    assert "validate: not run, convert failed" in printed


def test_reports_of_another_run_do_not_stay(tmp_path: Path) -> None:
    corpus(tmp_path / "new", ROWS)
    assert gate(tmp_path, 'corpus = "new"\n[validate]\nprofile = "standard"\n')[0] == 0
    gate(tmp_path, 'corpus = "nowhere"\n')
    assert {path.name for path in (tmp_path / "reports").iterdir()} == {"gate.json", "gate.md", "validate.txt"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'corpus' is a required property"),
        ("corpus = 1", "`corpus` is 1, expected a text"),
        ('corpus = "c"\nnonsense = 1', "`nonsense` is unknown"),
        ('corpus = "c"\n[build]\ninputs = ["i"]\nfetch-command = "x"', "`build.fetch-command` is unknown"),
        ('corpus = "c"\n[validate]\nengine = "py:os:system"', '`validate.engine` is "py:os:system", expected serial'),
        ('corpus = "c"\n[validate]\nreport = "json=/x"', "`validate.report` is unknown"),
        ('corpus = "c"\n[validate]\njobs = 1.0', "`validate.jobs` is 1.0"),
        ('corpus = "c"\n[compare]\nfail-on-change = []', "`compare.fail-on-change` is []"),
        ('corpus = "c"\n[build]\ninputs = "i"\n[convert]\ninput = "i"\nto = "dolma"', "either built or converted"),
        ('corpus = "c"\nreports = "c/reports"', "the reports would be in the corpus"),
        ('corpus = "c"\nreports = "."\ncorpus = "d"', "Cannot overwrite a value"),
        ("corpus = " + "[" * 5000, "nested too deep"),
        ('corpus = "c"\n' + "#" * (1 << 20), "the most that can be read"),
        ('corpus = "c\\u0000"', "expected a text"),
    ],
)
def test_wrong_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError, match=re.escape(said)):
        plan_of(path, None, "full")


def test_wrong_files_are_refused_before_anything_is_run(tmp_path: Path) -> None:
    status, report, printed = gate(tmp_path, "corpus = 1")
    assert (status, report) == (2, {}), printed
    assert [path.name for path in tmp_path.iterdir()] == ["release.toml"]


def test_values_are_values_whatever_is_in_them(tmp_path: Path) -> None:
    corpus(tmp_path / "--help", ROWS)
    text = 'corpus = "--help"\n[describe]\nname = "--output=elsewhere $(touch x)"\n[validate]\nprofile = "standard"\n'
    status, report, printed = gate(tmp_path, text)
    assert (status, statuses(report)) == (0, {"describe": 0, "validate": 0}), printed
    assert {path.name for path in tmp_path.iterdir()} == {"--help", "release.toml", "reports"}


def test_code_in_the_folder_is_not_run(tmp_path: Path) -> None:
    corpus(tmp_path / "new", ROWS)
    for module in ("json", "corpusfmt", "sitecustomize"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('run')\n", "utf-8")
    assert gate(tmp_path, 'corpus = "new"\n[validate]\nprofile = "standard"\n')[0] == 0


@pytest.mark.skipif(sys.platform == "win32", reason="has no such signals")
def test_the_step_that_runs_ends_with_the_gate(tmp_path: Path) -> None:
    corpus(tmp_path / "c", ROWS, 50_000)
    (tmp_path / "release.toml").write_text('corpus = "c"\n[validate]\njobs = 1\n', "utf-8")
    command = [sys.executable, "-m", "corpusfmt", "gate", str(tmp_path / "release.toml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, b"terminated" in errors) == (143, True)
    assert not (tmp_path / "reports" / "validate.txt").exists()


def is_open_in_a_step(path: Path, process: int) -> bool:
    """Return whether a child of a process has a file open."""
    for child in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split():
        with suppress(OSError):
            return any(each.resolve() == path for each in Path(f"/proc/{child}/fd").iterdir())
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_step_that_ctrl_c_interrupts_ends_by_itself(tmp_path: Path) -> None:
    corpus(tmp_path / "c", ROWS, 100_000)
    (tmp_path / "release.toml").write_text('corpus = "c"\n[seal]\njobs = 1\n', "utf-8")
    command = [sys.executable, "-m", "corpusfmt", "gate", str(tmp_path / "release.toml")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        while process.poll() is None and not is_open_in_a_step(tmp_path / "c/documents/a.jsonl", process.pid):
            time.sleep(0.01)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    for wrong in (b"terminated", b"Traceback", b"GEN000"):
        assert wrong not in output + errors


def test_the_keys_of_a_step_are_options_of_its_command() -> None:
    assert {*RELEASE["properties"]} == {"corpus", "reports", *KINDS}
    for name in KINDS:
        shown = run_cli(
            (KINDS[name].command or [name])[0], "--help", "--all", env={"COLUMNS": "200", "PATH": "/usr/bin:/bin"}
        ).stdout.decode()
        options = set(re.findall(r"--([a-z][a-z-]*)", shown))
        assert {*RELEASE["properties"][name]["properties"]} - OPERANDS <= options, name
