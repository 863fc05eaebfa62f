"""Every block of code on every page is tested: run here or by the target or test that the page states, or read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documentation.commands import faults_in_line
from documentation.sessions import (
    PAGES,
    Wrong,
    blocks,
    checked,
    code_for,
    environment_in,
    make_corpora,
    pattern_of,
    rewritten,
    unmade,
    way_of,
)
from support import REPOSITORY

ELSEWHERE = {"tested", "made"}
WAYS = {*ELSEWHERE, "setup", "script", "console", "output", "file", "sh", "python", "text"}


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_tested(name: str) -> None:
    for block, marks in blocks((REPOSITORY / name).read_text("utf-8")):
        way = way_of(block, marks)
        assert way in WAYS, f"{name}: say in a comment what runs this:\n{block[0]}"
        if way in ELSEWHERE or (marks.target and way != "setup"):
            checked(block)
        if way == "tested":
            assert Path(name).name in (REPOSITORY / marks.test).read_text("utf-8")
        if way == "made":
            assert unmade(block) == []


@pytest.fixture(scope="session")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    make_corpora(folder)
    return folder


@pytest.mark.skipif("CORPUSFMT_SITE" not in os.environ, reason="CORPUSFMT_SITE is not set")
@pytest.mark.skipif(sys.platform != "linux", reason="pages use GNU's zcat, truncate and sha256sum")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_what_its_commands_print(name: str, corpora: Path, tmp_path: Path) -> None:
    text = (REPOSITORY / name).read_text("utf-8")
    assert rewritten(text, tmp_path, environment_in(tmp_path, corpora)) == text, (
        "run `make snippets`, read the difference"
    )


@pytest.mark.skipif("CORPUSFMT_SITE" not in os.environ, reason="CORPUSFMT_SITE is not set")
def test_the_demonstration_prints_what_the_readme_says(tmp_path: Path) -> None:
    (shown,) = code_for("tests/documentation/test_sessions.py")["README.md"]
    (tmp_path / "pipeline").symlink_to(REPOSITORY / "pipeline")
    command = [sys.executable, "pipeline/demo.py", "demo"]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=120
    )
    assert re.fullmatch(pattern_of(shown.rstrip("\n")), done.stdout.rstrip("\n"))


def test_what_a_page_says_is_compared_with_what_is_printed(tmp_path: Path) -> None:
    def page(text: str) -> str:
        return rewritten(text, tmp_path, environment_in(tmp_path, tmp_path))

    same = (
        "<!-- setup: printf 'one\\ntwo\\nthree\\n' > list -->\n```\n$ cat list\none\n…\nthree\n\n$ cat \\\n  none\n…\n```\n"
        "<!-- file: a.toml -->\n```toml\na = 1\n```\n```sh\ngrep --quiet a a.toml\n```\n"
        "```python\nprint(2)\n```\n<!-- output -->\n```\n2\n```\n<!-- make remote-test runs this -->\n```sh\nfalse\n```\n"
    )
    assert page(same) == same
    assert page("```\n$ echo two\none\n\n$ echo three\n```\n") == "```\n$ echo two\ntwo\n\n$ echo three\nthree\n```\n"
    for wrong in ("```sh\nfalse\n```\n", "```python\n1 / 0\n```\n"):
        with pytest.raises(Wrong):
            page(wrong)


@pytest.mark.parametrize("name", [*PAGES, "docs/rules.md", "SECURITY.md", "CHANGELOG.md"])
def test_commands_in_sentences_exist(name: str) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", (REPOSITORY / name).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = re.findall(r"(?<!`)`(corpusfmt [^`]+)`(?!`)", text)
    assert [(each, fault) for each in named for fault in faults_in_line(" ".join(each.split()))] == []


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("corpusfmt validate a --profil strict", "corpusfmt validate has no option --profil"),
        ("x=$(sbatch --wrap='corpusfmt built a') | corpusfmt report merge a --o b", "corpusfmt has no command built"),
        ("make tests", "make has no target tests"),
        ("A=1 python benchmarks/suite.py --fast", "benchmarks/suite.py"),
        ("if true; then", "syntax error"),
    ],
)
def test_a_block_that_is_run_elsewhere_is_still_checked(code: str, fault: str) -> None:
    ((block, _),) = blocks(f"```sh\n{code}\n```\n")
    with pytest.raises(Wrong, match=fault):
        checked(block)
