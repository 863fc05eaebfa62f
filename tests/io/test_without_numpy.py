"""An installation without extras has no NumPy: what needs it names the extra, and everything else does the same without."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import FIXTURES, REPOSITORY, every

# NumPy is blocked if the first argument is "without", and all kernels are if it is "pure".
_RUN = """
import sys
how = sys.argv.pop(1)
if how != "with":
    sys.modules["numpy"] = None
if how == "pure":
    for each in ("formats.croissant", "formats", "io", "langid", "pipeline"):
        sys.modules[f"corpusfmt.{each}._native"] = None
sys.argv[0] = "corpusfmt"
from corpusfmt.cli import main
main()
"""
_NEED_NUMPY = {"comparison/matching.py", "comparison/run.py", "formats/croissant/data/arrays.py"} | {
    "formats/croissant/data/judging.py",
    "formats/croissant/data/tables.py",
    "pipeline/dedup.py",
    "pipeline/hot.py",
}


def said(how: str, *arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-c", _RUN, how, *arguments], capture_output=True, check=False, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, re.sub(r'("(?:started|finished)": )"[^"]*"', r'\1""', done.stdout)


def test_what_imports_numpy_is_of_extras_or_a_faster_way() -> None:
    source = REPOSITORY / "src/corpusfmt"
    importing = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"^ *(import|from) numpy\b", path.read_text("utf-8"), re.MULTILINE)
    }
    assert importing == _NEED_NUMPY


def test_many_documents_of_dolma_with_repeated_ids(tmp_path: Path) -> None:
    row = {"text": "words", "source": "web", "added": "2024-01-02T03:04:05.000Z", "created": "2023-01-02T03:04:05.000Z"}
    rest = json.dumps(row).encode()[1:] + b"\n"
    path = tmp_path / "shard.jsonl"
    path.write_bytes(b"".join(b'{"id": "%d", ' % (number % 139_900) + rest for number in range(140_000)))
    status, report = said("without", "validate", path, "--jobs", "1", "--output-format", "json")
    assert status == 1
    assert json.loads(report)["by_rule"] == {"DOL313": 100}


@pytest.mark.parametrize("text", ["", "short\n\n\n", " \t\n" + "a line that is long enough " * 9 + "\r\n\nэ\n"])
def test_text_of_oscar(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ru.txt"
    path.write_text(text, "utf-8", newline="")
    command = "validate", path, "--output-format", "json"
    assert said("without", *command) == said("with", *command)


def _fires_in(case: Path) -> set[str]:
    return {each["rule"] for each in json.loads((case / "expected.json").read_text("utf-8"))["findings"]}


_CODES = {"CRO611", "CRO612", "CRO613", "OSC111", "DOL313"}
CASES = [
    each.parent for each in sorted(FIXTURES.glob("*/*/invalid/*/expected.json")) if _CODES & _fires_in(each.parent)
]


@pytest.mark.parametrize("case", every(4, CASES), ids=lambda case: f"{case.parents[2].name}-{case.name}")
def test_repeated_and_dangling_keys(case: Path) -> None:
    (where,) = case.glob("input*")
    options = ["--data"] if "croissant" in case.parts else []
    command: tuple[str | Path, ...] = ("validate", where, "--output-format", "json", *options)
    without = said("without", *command)
    assert without == said("with", *command)
    assert without[0] == 1


def test_statistics_of_repeats(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": f"line\n\n{number % 7}"}) + "\n" for number in range(30)), "utf-8")
    command = "stats", path, "--count", "repeats", "--output-format", "json"
    without = said("without", *command)
    assert without == said("with", *command)
    assert without[0] == 0


@pytest.mark.parametrize("how", ["without", "pure"])
def test_what_needs_numpy_names_the_extra(how: str, tmp_path: Path) -> None:
    corpus = FIXTURES / "dolma/1.0/valid/attributes-gz/input"
    for command, message in {
        ("compare", corpus, corpus): "error: comparing needs NumPy: pip install 'corpusfmt[compare]'\n",
        ("build", corpus, "-o", tmp_path): "error: building needs numpy: run `pip install 'corpusfmt[build]'`\n",
        ("build", corpus, "--check"): "error: building needs numpy: run `pip install 'corpusfmt[build]'`\n",
    }.items():
        done = subprocess.run([sys.executable, "-c", _RUN, how, *command], capture_output=True, check=False, text=True)
        assert (done.returncode, done.stderr) == (2, message)


def test_every_command_is_listed_without_kernels() -> None:
    assert said("pure", "--help") == said("with", "--help")
