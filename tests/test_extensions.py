"""Formats and reports of other distributions: two packages that are built and installed as any other is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import REPOSITORY, run_cli

EXAMPLES = re.findall(r"```python\n(.*?)```", (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL)
PROJECT = """\
[project]
name = "{name}"
version = "1.0"

[tool.setuptools]
py-modules = ["{module}"]
"""
GOOD = PROJECT.format(name="corpus-talks", module="corpus_talks") + (
    '[project.entry-points."corpusfmt.formats"]\ntalks = "corpus_talks:FORMAT"\n'
    '[project.entry-points."corpusfmt.reports"]\ntally = "corpus_talks:tally"\n'
)
REPORT = """
def tally(report, view=None):
    yield f"{len(report.findings)} findings"
"""
BAD = PROJECT.format(name="corpus-odd", module="corpus_odd") + (
    '[project.entry-points."corpusfmt.formats"]\n'
    'absent = "corpus_gone:FORMAT"\ncode = "corpus_odd:CODE"\ndolma = "corpus_odd:DOLMA"\nexit = "corpus_exit:FORMAT"\n'
    'nonsense = "corpus_odd:NONSENSE"\nother = "corpus_odd:CODE"\nraising = "corpus_odd:RAISING"\n'
    '[project.entry-points."corpusfmt.reports"]\njson = "corpus_odd:check"\nnumber = "corpus_odd:NONSENSE"\n'
)
ODD = """
from corpusfmt.formats import Format, Plan, ShardResult
from corpusfmt.formats.general import GENERAL
from corpusfmt.io.limits import LimitReached
from corpusfmt.rules import RuleSet

CODES = RuleSet(GENERAL)
CODES.finding("DOL101", "mine", "Mine.")


OWN = RuleSet(GENERAL)
OWN.finding("ODD101", "odd-thing", "Odd.")


def detect(entry):
    if entry.name.endswith(".endless"):
        raise LimitReached("more than may be read", "read less")
    raise OSError("a disk of mine")


def check(*arguments):
    raise AssertionError


CODE = Format("code", "", ("1",), CODES, lambda entry: None, check, check)
DOLMA = Format("dolma", "", ("1",), RuleSet(GENERAL), lambda entry: None, check, check)
RAISING = Format("raising", "", ("1",), OWN, detect, check, check)
NONSENSE = 7
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Build and install both packages; return what runs `corpusfmt` where they are."""
    folder = tmp_path_factory.mktemp("packages")
    sources = [folder / "talks", folder / "odd"]
    modules = {"corpus_talks.py": EXAMPLES[2] + REPORT, "corpus_odd.py": ODD}
    for source, project, (module, code) in zip(sources, (GOOD, BAD), modules.items(), strict=True):
        source.mkdir()
        (source / "pyproject.toml").write_text(project, "utf-8")
        (source / module).write_text(code, "utf-8")
    (folder / "site").mkdir()
    (folder / "site" / "corpus_exit.py").write_text("raise SystemExit(3)\n", "utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--target", folder / "site", *sources], check=True, capture_output=True)
    path = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")]))
    environment: Mapping[str, str] = {**os.environ, "PYTHONPATH": path}
    return lambda *arguments: run_cli(*arguments, env=environment)


def test_an_installed_format_is_one_of_ours(
    installed: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    corpus = tmp_path / "some.talks"
    row = b'{"text":"one","speaker":"a"}\n'
    corpus.write_bytes(row * 2 + b'{"text":"caf\xe9"}\n')
    listed = b"talks       1               Talks: JSON Lines with a text and its speaker\n"
    assert listed in installed("formats").stdout
    assert installed("detect", corpus).stdout == b"talks 1: rows with text and speaker\n"
    done = installed("validate", corpus)
    assert (done.returncode, done.stderr) == (1, b"")
    assert done.stdout.startswith(b"some.talks:3:13: GEN201 error invalid-utf8: not UTF-8")
    assert installed("validate", corpus, "--jobs", "2", "--output-format", "tally").stdout == b"1 findings\n"
    assert installed("validate", corpus, "--report", f"tally={tmp_path / 'tally.txt'}").returncode == 1
    assert (tmp_path / "tally.txt").read_text("utf-8") == "1 findings\n"
    assert installed("validate", corpus, "--ignore", "ODD101", "--select", "invalid-utf8").returncode == 1
    assert b"odd-thing" in installed("rule", "ODD").stdout
    corpus.write_bytes(row)
    done = installed("convert", corpus, tmp_path / "dolma", "--format", "talks", "--to", "dolma")
    assert done.returncode == 0, done.stderr
    assert installed("validate", tmp_path / "dolma").returncode == 0


def test_what_is_wrong_with_an_installed_format_is_said_and_harms_no_other(
    installed: Callable[..., subprocess.CompletedProcess[bytes]], tmp_path: Path
) -> None:
    of = "of corpus-odd 1.0 is not used:"
    said = installed("formats").stdout.decode().split("\n")
    assert said[-7:-1] == [
        f"`absent` {of} loading it failed: ModuleNotFoundError: No module named 'corpus_gone'",
        f"`code` {of} its rule `mine` has the code DOL101, which is that of `unsupported-compression`",
        f"`dolma` {of} the name `dolma` is taken",
        f"`exit` {of} loading it failed: SystemExit: 3",
        f"`nonsense` {of} it is int, expected a corpusfmt.formats.Format",
        f"`other` {of} the format calls itself `code`",
    ]
    path = tmp_path / "some.thing"
    path.write_bytes(b"\0")
    done = installed("validate", path)
    assert (done.returncode, b"Traceback" in done.stderr) == (2, False)
    assert b"; `raising` failed to look at it: OSError: a disk of mine" in done.stderr
    assert f"`absent` {of}".encode() in done.stderr
    endless = tmp_path / "some.endless"
    endless.write_bytes(b"\0")
    done = installed("validate", endless)
    assert (done.returncode, done.stderr) == (3, b"")
    assert b"GEN003 error limit-reached: more than may be read" in done.stdout
    done = installed("validate", path, "--format", "absent")
    assert done.returncode == 2
    assert f"; `absent` {of} loading it failed".encode() in done.stderr
    done = installed("validate", path, "--output-format", "number")
    assert done.returncode == 2
    assert f"; `json` {of} the name is taken; `number` {of} found int, expected a function of a report".encode() in (
        done.stderr
    )
