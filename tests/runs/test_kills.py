"""Commands that are killed at random moments, or one of whose workers is: run again, they write what an undisturbed run writes.

`make kills` tries 200 kills instead of some.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from runs.processes import descendants_of, kill_all, running
from support import SAMPLE, tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KILLS = int(os.environ.get("CORPUSFMT_RANDOM_KILLS", "14"))
_ENGINES = ["--jobs 2", "--engine serial", "--engine py:runs.pools:forked --jobs 2"]
if find_spec("distributed") is not None:
    _ENGINES.append("--engine dask --jobs 2")

# Each writes to `out`, or to a file or a corpus that begins so; what it reads is in `{}`.
_COMMANDS = {
    "build {}/wet -o out": _ENGINES,
    "build {}/wet -o out --keep-original": _ENGINES[:1],
    "convert {}/oscar out --to dolma": _ENGINES,
    "convert {}/dolma out --to oscar-1.1": _ENGINES,
    "convert {}/twice out --to dolma --on-bad-record quarantine": _ENGINES[:1],
    "validate {}/oscar --dedup --report json=out.json": _ENGINES,
    "stats {}/oscar --with all --report json=out.json": _ENGINES,
    "compare {}/oscar {}/dolma --report json=out.json": _ENGINES,
    "describe {}/oscar -o out.json": ["--jobs 2"],
    "datasheet {}/oscar -o out.html": ["--jobs 2"],
    "seal out-corpus --attest": ["--jobs 2"],
    "fix out-corpus": [""],
}
CASES = [f"{command} {engine}" for command, engines in _COMMANDS.items() for engine in engines]


class Ending(NamedTuple):
    """How a command ended that nobody disturbed: in how many seconds, with which status, and what was there then."""

    seconds: float
    status: int
    files: dict[str, bytes]


def environment(temporary: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "TMPDIR": str(temporary)}


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files with a short path: it contains sockets."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


@cache
def inputs(base: Path) -> Path:
    """Make what commands read."""
    shutil.copytree(SAMPLE, base / "wet")
    for words in (
        "build wet -o oscar",
        "convert oscar dolma --to dolma",
    ):
        subprocess.run([sys.executable, "-m", "corpusfmt", *words.split(), "-q"], cwd=base, check=True)
    shutil.copytree(base / "dolma" / "documents", base / "twice" / "documents" / "one")
    shutil.copytree(base / "dolma" / "documents", base / "twice" / "documents" / "two")
    return base


def begun(case: str, base: Path, folder: Path) -> Sequence[str]:
    """Return the words of a command in a new folder, with the corpus that it changes."""
    folder.mkdir(parents=True)
    if "out-corpus" in case:
        shutil.copytree(inputs(base) / "oscar", folder / "out-corpus")
        (folder / "out-corpus" / "MANIFEST.json").unlink()
    return case.replace("{}", str(inputs(base))).split()


def written(folder: Path) -> dict[str, bytes]:
    """Return what a command has written, without the times of reports."""
    files = {path: data for path, data in tree(folder).items() if path.startswith("out")}
    if "out.json" in files:
        report = json.loads(files["out.json"])
        files["out.json"] = json.dumps({k: v for k, v in report.items() if k not in {"started", "finished"}}).encode()
    return files


@cache
def undisturbed(case: str, base: Path) -> Ending:
    folder = base / f"clean-{CASES.index(case)}" / "here"
    words = begun(case, base, folder)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as temporary,
        running(words, folder, environment(Path(temporary))) as run,
    ):
        said = b"".join(run.communicate(timeout=120))
    assert run.returncode in {0, 1}, said.decode()
    return Ending(time.monotonic() - began, run.returncode, written(folder))


def workers_of(pid: int) -> list[int]:
    """Return the processes that do a run's work: those that have started no others."""
    found = []
    for each in descendants_of(pid):
        try:
            command = Path(f"/proc/{each}/cmdline").read_bytes()
        except OSError:
            continue
        if command and b"resource_tracker" not in command and not descendants_of(each):
            found.append(each)
    return found


def disturb(run: subprocess.Popen[bytes], how: str, seconds: float, chance: random.Random) -> bool:
    """Kill a run or one of its workers at a random moment; return whether it still ran."""
    ends = time.monotonic() + chance.uniform(0, seconds)
    while run.poll() is None:
        workers = workers_of(run.pid) if how == "worker" else [run.pid]
        if time.monotonic() >= ends and workers:
            if how == "worker":
                os.kill(chance.choice(workers), signal.SIGKILL)
            elif how == "all":
                kill_all(run.pid)
            else:
                run.send_signal(signal.Signals[how])
            return True
        time.sleep(0.003)
    return False


HOW = ["worker", "all", "SIGKILL", "SIGTERM", "SIGINT"]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kills")


@pytest.mark.parametrize("number", range(KILLS))
def test_what_was_killed_ends_with_the_same_bytes(number: int, base: Path, tmp_path: Path, temporary: Path) -> None:
    chance = random.Random(number)
    case = CASES[number * 7 % len(CASES)]
    whole = undisturbed(case, base)
    how = "worker" if number % 2 and "serial" not in case else chance.choice(HOW)
    folder = tmp_path / "here"
    words = begun(case, base, folder)
    about = f"{case}: {how}"
    for attempt in range(4):
        with running(words, folder, environment(temporary)) as run:
            was_killed = not attempt and disturb(run, how, whole.seconds, chance)
            said = b"".join(run.communicate(timeout=120)).decode()
        if was_killed and "dask did not start" in said:  # a worker of a cluster that is not there yet
            continue
        if how == "worker" or not was_killed:  # a worker is replaced in the same run
            assert run.returncode == whole.status, f"{about}: {said}"
            assert "Traceback" not in said, f"{about}: {said}"
        if run.returncode == whole.status and (not was_killed or how != "worker"):
            break
    assert run.returncode == whole.status, f"{about}: {said}"
    assert written(folder) == whole.files, about
    # A kill before a folder has its lock leaves it empty, for a minute.
    assert [path for path in temporary.rglob("corpusfmt-*/**/*") if path.is_file()] == [], about
