"""What a terminal shows: colours and links there, plain text in a pipe, and what people decide by variables and `--color`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from support import FIXTURES, every, run_cli

CASE = Path("croissant/1.1/invalid/value-and-source/input.json")
ESCAPES = re.compile(rb"\x1b\[[0-9;]*m|\x1b\]8;;.*?\x1b\\")
NEEDS_TERMINAL = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
PLAIN = {"NO_COLOR": "", "FORCE_COLOR": "", "TERM": "xterm-256color", "COLUMNS": "400"}


def on_terminal(*arguments: str, env: Mapping[str, str]) -> bytes:
    """Return what a command prints on a terminal."""
    return run_on_terminal(*arguments, env=env, cwd=FIXTURES).stdout


def run_on_terminal(*arguments: str, env: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose standard output is a terminal; its standard error is not, and shows no progress."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "corpusfmt", *arguments]
    with (
        TemporaryFile() as errors,
        subprocess.Popen(command, stdout=theirs, stderr=errors, stdin=theirs, cwd=cwd, env=os.environ | env) as process,
    ):
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how Linux says that nobody writes to it any more
            while part := os.read(ours, 1 << 16):
                shown += part
        status = process.wait()
        errors.seek(0)
        printed = errors.read()
    os.close(ours)
    return subprocess.CompletedProcess(command, status, shown.replace(b"\r\n", b"\n"), printed)


def in_pipe(*arguments: str, env: Mapping[str, str]) -> bytes:
    return run_cli(*arguments, cwd=FIXTURES, env=os.environ | env, fresh=True).stdout


@NEEDS_TERMINAL
def test_a_report_on_a_terminal_has_colours_and_links() -> None:
    shown = on_terminal("validate", str(CASE), env=PLAIN)
    link = "\x1b]8;;https://corpusfmt.github.io/latest/rules/CRO429/\x1b\\CRO429\x1b]8;;\x1b\\"
    first = f"\x1b[1minput.json:155:15:\x1b[0m\x1b[1;31m {link} error\x1b[0m value-and-source: recordSet"
    assert first in shown.decode()
    assert "\n\x1b[2m   155 | \x1b[0m" in shown.decode()
    assert "\n\x1b[1;36m  help:\x1b[0m keep one of them\n" in shown.decode()
    assert "\x1b[1;31mINVALID\x1b[0m: 1 error, 0 warnings." in shown.decode()
    assert ESCAPES.sub(b"", shown) == in_pipe("validate", str(CASE), env=PLAIN)


@NEEDS_TERMINAL
@pytest.mark.parametrize("width", [60, 100])
def test_lines_are_broken_between_words_and_excerpts_are_not(width: int) -> None:
    lines = ESCAPES.sub(b"", on_terminal("validate", str(CASE), env=PLAIN | {"COLUMNS": str(width)})).splitlines()
    whole = in_pipe("validate", str(CASE), env=PLAIN)
    assert b" ".join(b" ".join(lines).split()) == b" ".join(whole.split())
    assert all(len(line) <= width or b" | " in line for line in lines)


@NEEDS_TERMINAL
@pytest.mark.parametrize(
    ("arguments", "env", "terminal", "pipe"),
    [
        ([], {}, True, False),
        ([], {"NO_COLOR": "1"}, False, False),
        ([], {"FORCE_COLOR": "1"}, True, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ([], {"TERM": "dumb"}, False, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True, True),
    ],
)
def test_when_output_is_coloured(arguments: list[str], env: dict[str, str], terminal: bool, pipe: bool) -> None:
    command = [*arguments, "validate", str(CASE)]
    assert (b"\x1b[1;31m" in on_terminal(*command, env=PLAIN | env)) is terminal
    assert (b"\x1b[1;31m" in in_pipe(*command, env=PLAIN | env)) is pipe


def test_reports_for_programs_are_never_coloured() -> None:
    shown = in_pipe("--color", "always", "validate", str(CASE), "--output-format", "json", env=PLAIN)
    assert b"\x1b" not in shown


@pytest.mark.parametrize("shell", every(3, ["bash", "zsh", "fish"]))
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["validate", "--format", "oscar-1"], {"oscar-1.0", "oscar-1.1"}),
        (["validate", "--profile", "neu"], {"neurips-2026"}),
        (["validate", "--select", "CRO29"], {"CRO290"}),
        (["rule", "OSC10"], {"OSC101", "OSC102"}),
        (["convert", "--to", "dol"], {"dolma"}),
    ],
)
def test_values_are_completed(shell: str, words: list[str], offered: set[str]) -> None:
    line = " ".join(["corpusfmt", *words])
    env = {
        "_CORPUSFMT_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("corpusfmt"))], capture_output=True, env=os.environ | env, check=False
    )
    found = set(re.findall(r"[A-Za-z0-9.-]+", shown.stdout.decode()))
    assert offered <= found
