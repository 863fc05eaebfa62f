"""What people see in a terminal (tmux): colours, progress that leaves no trace, and completion in their shells.

Run by `make terminal-test`, which names the shells that are missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import FIXTURES

TMUX = shutil.which("tmux") or ""
pytestmark = pytest.mark.skipif(
    not (TMUX and "CORPUSFMT_TERMINAL" in os.environ), reason="`make terminal-test` runs this, if there is tmux"
)
CASE = "croissant/1.1/invalid/value-and-source/input.json"
SECONDS = 60


class Terminal:
    """A terminal with a shell in it."""

    def __init__(self, socket: Path, width: int) -> None:
        self._tmux = [TMUX, "-S", str(socket), "-f", os.devnull]
        self._width = width

    def start(self, command: str) -> None:
        binaries = str(Path(sys.executable).parent)
        env = os.environ | {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "NO_COLOR": "",
            "FORCE_COLOR": "",
            "LC_ALL": "C.UTF-8",
        }
        size = ["-x", str(self._width), "-y", "50"]
        subprocess.run(
            [*self._tmux, "new-session", "-d", *size, command], check=True, cwd=FIXTURES, env=env, capture_output=True
        )

    def type(self, *keys: str) -> None:
        subprocess.run([*self._tmux, "send-keys", *keys], check=True, capture_output=True)

    def shown(self, *, escapes: bool = False) -> str:
        command = [*self._tmux, "capture-pane", "-p", "-J", *(["-e"] if escapes else [])]
        return subprocess.run(command, check=True, capture_output=True).stdout.decode()

    def wait(self, wanted: Callable[[str], object]) -> str:
        """Return the screen as soon as it is as wanted."""
        ends = time.monotonic() + SECONDS
        while not wanted(shown := self.shown()):
            assert time.monotonic() < ends, shown
            time.sleep(0.05)
        return shown

    def end(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)


@contextmanager
def terminal(folder: Path, command: str, width: int = 80) -> Iterator[Terminal]:
    opened = Terminal(folder / "tmux", width)
    opened.start(command)
    try:
        yield opened
    finally:
        opened.end()


@pytest.mark.parametrize("width", [40, 80, 160])
def test_a_report_is_coloured_and_whole(tmp_path: Path, width: int) -> None:
    with terminal(tmp_path, "bash --norc", width) as opened:
        opened.type(f"PS1='$ '; clear; corpusfmt validate --config none {CASE}; echo status $?", "Enter")
        shown = opened.wait(lambda text: re.search(r"^status 1$", text, re.MULTILINE))
        coloured = opened.shown(escapes=True)
    plain = subprocess.run(
        [sys.executable, "-m", "corpusfmt", "validate", "--config", "none", CASE],
        cwd=FIXTURES,
        capture_output=True,
        check=False,
    ).stdout.decode()
    # Nothing is left of the progress, no link disturbs a line, and lines are broken between words.
    lines = [line for line in shown[: shown.index("status 1")].splitlines() if not line.startswith("$ ")]
    assert " ".join(lines).split() == plain.split()
    assert re.search(r"\x1b\[[\d;]*31m[^\n]*INVALID", coloured)
    assert re.search(r"\x1b\[[\d;]*31m[^\n]*CRO429 error", coloured)


@pytest.mark.parametrize(
    ("width", "wanted"), [(40, r"validating \d of 4 \S* +\d+ %"), (80, r"validating \d of 4 \S* [\d.]+/[\d.]+ MB")]
)
def test_progress_is_shown_while_a_run_goes_on(tmp_path: Path, width: int, wanted: str) -> None:
    corpus = tmp_path / "corpus" / "documents"
    corpus.mkdir(parents=True)
    rows = b"".join(b'{"id": "%d", "source": "s", "text": "\xc3\xa9"}\n' % number for number in range(200_000))
    for number in range(4):
        (corpus / f"{number}.jsonl").write_bytes(rows.replace(b'"s"', b'"s%d"' % number))
    with terminal(tmp_path, "bash --norc", width) as opened:
        opened.type(f"PS1='$ '; clear; corpusfmt validate --jobs 1 {corpus.parent}; echo status $?", "Enter")
        assert len(opened.wait(lambda text: re.search(wanted, text)).split()) < 20, "it is one line"
        shown = opened.wait(lambda text: re.search(r"^status 0$", text, re.MULTILINE))
    assert shown.startswith("  dolma 1.0")
    assert "VALID: 0 errors" in shown


SHELLS = {
    "bash": ("bash --norc", 'eval "$(_CORPUSFMT_COMPLETE=source_bash corpusfmt)"'),
    "zsh": ("zsh -f", 'autoload -Uz compinit; compinit -D; eval "$(_CORPUSFMT_COMPLETE=source_zsh corpusfmt)"'),
    "fish": ("fish --no-config", "_CORPUSFMT_COMPLETE=source_fish corpusfmt | source"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "tabs", "offered"),
    [
        ("corpusfmt dete", 1, ["corpusfmt detect"]),
        ("corpusfmt validate --profile neur", 1, ["--profile neurips-2026"]),
        ("corpusfmt validate --format oscar-1.", 2, ["oscar-1.0", "oscar-1.1"]),
    ],
)
def test_a_shell_completes_values(tmp_path: Path, shell: str, typed: str, tabs: int, offered: list[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    start, prepare = SHELLS[shell]
    with terminal(tmp_path, start) as opened:
        opened.type(f"{prepare}; clear; echo ready", "Enter")
        opened.wait(lambda text: re.search(r"^ready$", text, re.MULTILINE))
        opened.type(typed, *["Tab"] * tabs)
        opened.wait(lambda text: all(each in text for each in offered))
