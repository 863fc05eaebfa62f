"""Sessions of commands, word for word: what each prints on standard output and error, and its exit status.

`commands.toml` is the table of what is run, `expected` has a file for each session, and `make pins` writes those anew.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from cli.test_terminal import run_on_terminal
from support import LONG_LINE, run_cli, tree, wet_file, wet_record

from corpusfmt._version import VERSION

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
SESSIONS: dict[str, dict[str, int]] = tomllib.loads((HERE / "commands.toml").read_text("utf-8"))
# What varies by nature, and what stands for it.
VARYING = (
    (re.escape(VERSION), "<version>"),
    (r'((?:started|finished)": ?")[^"]+', r"\1<time>"),
    (r'(finished(?:" value="| `?)|timestamp=")[\d:TZ-]+', r"\1<time>"),
    (r'(\btime=")[\d.]+', r"\1<seconds>"),
    (r"broken(.*) after \d+ compressed", r"broken\1 after <size> compressed"),
    (r'("sha256": ")[^"\n]+', r"\1<digest>"),
)


# Sessions that are also run in terminals of other widths: help is wrapped at 40 columns and never wider than 80, and reports are the
# same in all, since paths and messages must not be broken.
NARROW, WIDE = 40, 160
# What people see most is also pinned as two terminals show it, with and without colours.
SEEN = ("seen", "seen-plain")
RUNS = [
    *((session, 80) for session in SESSIONS if session not in SEEN),
    *((each, width) for each in ("help", "full") for width in (NARROW, WIDE)),
    *((each, width) for each in SEEN for width in (80, 120)),
]


def path_of(session: str, width: int = 80) -> Path:
    if session in SEEN:
        return EXPECTED / f"{session}-{width}.txt"
    return EXPECTED / (f"{session}-{NARROW}.txt" if (session, width) == ("help", NARROW) else f"{session}.txt")


def make_input(folder: Path) -> None:
    """Copy the input: `.text` is compressed, `.cut` is, too, and loses its last bytes."""
    shutil.copytree(HERE / "input", folder)
    for path in [*folder.rglob("*.gz.text"), *folder.rglob("*.gz.cut")]:
        data = gzip.compress(path.read_bytes(), compresslevel=0, mtime=0)  # of a size that all compressors agree on
        path.with_suffix("").write_bytes(data if path.suffix == ".text" else data[:-4])
        path.unlink()
    records = [wet_record(1, f"{LONG_LINE}\nshort\n"), wet_record(2, f"{LONG_LINE}\n"), wet_record(3, b"\xff\n")]
    broken = wet_file(folder / "wet/broken.warc.wet.gz", records[:1])
    broken.write_bytes(broken.read_bytes()[:-4])
    wet_file(folder / "wet/a.warc.wet.gz", records)


def transcript(session: str, folder: Path, width: int = 80) -> str:
    """Run the commands of a session, and return them with what they print; each must end with its status."""
    make_input(folder)
    environment = {**os.environ, "COLUMNS": str(width), "PYTHONIOENCODING": "utf-8"}
    run: Callable[..., CompletedProcess[bytes]] = run_cli
    if session in SEEN:
        environment |= {"TERM": "xterm-256color", "FORCE_COLOR": "", "NO_COLOR": session.partition("-")[2]}
        run = run_on_terminal
    printed = []
    for command, status in SESSIONS[SEEN[0] if session in SEEN else session].items():
        before = tree(folder)
        done = run(*shlex.split(command), cwd=folder, env=environment)
        assert (command, done.returncode) == (command, status), done.stderr.decode()
        assert status != 2 or tree(folder) == before, "wrong usage changes nothing"
        errors = done.stderr and b"(on standard error)\n" + done.stderr
        printed.append(f"$ corpusfmt {command}\n{(done.stdout + errors).decode()}")
    text = (
        "\n".join(printed)
        .replace("\x1b", "␛")
        .replace(folder.as_uri(), "file://<folder>")
        .replace(str(folder), "<folder>")
    )
    for pattern, name in VARYING:
        text = re.sub(pattern, name, text)
    return text


@pytest.mark.parametrize(("session", "width"), RUNS)
def test_what_users_see(session: str, width: int, tmp_path: Path) -> None:
    assert transcript(session, tmp_path / "input", width) == path_of(session, width).read_text("utf-8")


def test_nothing_is_left_over() -> None:
    assert {path_of(*run) for run in RUNS} == set(EXPECTED.iterdir())
