"""Commands that are killed at random moments, or one of whose workers is: run again, they write what an undisturbed run writes.

`make kills` tries 200 kills instead of some, with Ray where its environment is there (`make build/ray/.installed`).
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
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest
from remote.faults import Faults
from remote.s3 import BUCKET, Store, serving
from runs.processes import kill_all, running, workers_of
from support import REPOSITORY, SAMPLE, every, tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

KILLS = int(os.environ.get("CORPUSFMT_RANDOM_KILLS", "14"))
_ENGINES = ["--jobs 2", "--engine serial", "--engine py:runs.pools:forked --jobs 2"]
if find_spec("distributed") is not None:
    _ENGINES.append("--engine dask --jobs 2")
RAY = os.environ.get("CORPUSFMT_RAY")
_ON_RAY = ["--engine ray --jobs 2"] if RAY else []
_HAS_STORES = find_spec("moto") is not None and find_spec("s3fs") is not None

# Each writes to `out`, or to a file or a corpus that begins so; what it reads is in `{}`. `{store}` is a prefix for it alone.
_COMMANDS = {
    "build {}/wet -o out": _ENGINES + _ON_RAY,
    "build {}/wet -o out --keep-original": _ENGINES[:1],
    "build {}/wet -o {store}/out --state {store}/state": ["--jobs 2"] if _HAS_STORES else [],
    "convert {}/oscar out --to dolma": _ENGINES + _ON_RAY,
    "convert {}/dolma out --to oscar-1.1": _ENGINES,
    "convert {}/twice out --to dolma --on-bad-record quarantine": _ENGINES[:1],
    "validate {}/oscar --dedup --report json=out.json": _ENGINES,
    "stats {}/oscar --count all --report json=out.json": _ENGINES,
    "compare {}/oscar {}/dolma --report json=out.json": _ENGINES,
    "describe {}/oscar -o out.json": ["--jobs 2"],
    "datasheet {}/oscar -o out.html": ["--jobs 2"],
    "seal out-corpus --attest": ["--jobs 2"],
    "verify {}/oscar --report json=out.json": [""],
    "fix out-corpus": [""],
}
_TIMES = {"started", "finished"}
CASES = [f"{command} {engine}" for command, engines in _COMMANDS.items() for engine in engines]


class Ending(NamedTuple):
    """How a command ended that nobody disturbed: in how many seconds, with which status, and what was there then."""

    seconds: float
    status: int
    files: dict[str, bytes]


@pytest.fixture(scope="session")
def store() -> Iterator[Store]:
    with serving(Faults(failing=0, cut=0)) as found:
        yield found


_ENDINGS: dict[str, Ending] = {}


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


class Work:
    """A case in a folder of its own, and below a prefix of a store if it writes there."""

    def __init__(self, case: str, base: Path, folder: Path, temporary: Path, request: pytest.FixtureRequest) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.store: Store | None = request.getfixturevalue("store") if "{store}" in case else None
        self.prefix = os.urandom(4).hex()
        self.python = RAY if RAY and "ray" in case else sys.executable
        paths = [Path(__file__).parents[1], REPOSITORY / "src"]  # the environment of Ray has no corpusfmt
        self.environment = self.store.environment if self.store else dict(os.environ)
        self.environment |= {"PYTHONPATH": os.pathsep.join(map(str, paths)), "TMPDIR": str(temporary)}
        self.environment |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        if "out-corpus" in case:
            shutil.copytree(inputs(base) / "oscar", folder / "out-corpus")
            (folder / "out-corpus" / "MANIFEST.json").unlink()
        named = case.replace("{store}", f"{BUCKET}/{self.prefix}")
        self.words = named.replace("{}", str(inputs(base))).split()

    def running(self) -> AbstractContextManager[subprocess.Popen[bytes]]:
        return running(self.words, self.folder, self.environment, self.python)

    def written(self) -> dict[str, bytes]:
        """Return what the command has written, without the times of reports, and what was read before a kill."""
        if self.store:
            return self.store.objects(self.prefix)
        files = {path: data for path, data in tree(self.folder).items() if path.startswith("out")}
        if "out.json" in files:
            report = json.loads(files["out.json"])
            report.get("results", {}).pop("resumed", None)  # `verify` says what it did not read again
            files["out.json"] = json.dumps({k: v for k, v in report.items() if k not in _TIMES}).encode()
        return files


@pytest.fixture
def undisturbed(base: Path, request: pytest.FixtureRequest) -> Callable[[str], Ending]:
    def ending(case: str) -> Ending:
        if case not in _ENDINGS:
            with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
                work = Work(case, base, base / f"clean-{CASES.index(case)}" / "here", Path(temporary), request)
                began = time.monotonic()
                with work.running() as run:
                    said = b"".join(run.communicate(timeout=120))
            assert run.returncode in {0, 1}, said.decode()
            _ENDINGS[case] = Ending(time.monotonic() - began, run.returncode, work.written())
        return _ENDINGS[case]

    return ending


def disturb(run: subprocess.Popen[bytes], how: str, seconds: float, chance: random.Random, *, on_ray: bool) -> bool:
    """Kill a run or one of its workers at a random moment; return whether it still ran."""
    ends = time.monotonic() + chance.uniform(0, seconds)
    while run.poll() is None:
        workers = workers_of(run.pid, of_ray=on_ray) if how == "worker" else [run.pid]
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


HOW = ["all", "SIGKILL", "SIGTERM", "SIGINT"]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kills")


@pytest.mark.parametrize("number", every(4, range(KILLS)))
def test_what_was_killed_ends_with_the_same_bytes(
    number: int,
    base: Path,
    tmp_path: Path,
    temporary: Path,
    undisturbed: Callable[[str], Ending],
    request: pytest.FixtureRequest,
) -> None:
    chance = random.Random(number)
    case = CASES[number * 7 % len(CASES)]
    whole = undisturbed(case)
    how = "worker" if "--jobs" in case and chance.random() < 0.5 else chance.choice(HOW)
    work = Work(case, base, tmp_path / "here", temporary, request)
    about = f"{case}: {how}"
    for attempt in range(4):
        with work.running() as run:
            was_killed = not attempt and disturb(run, how, whole.seconds, chance, on_ray=work.python == RAY)
            said = b"".join(run.communicate(timeout=120)).decode()
        # A cluster that is not there yet, or on a busy machine.
        if run.returncode == 3 and ("dask did not start" in said or "ray did not start" in said):
            continue
        # Not a worker: between its fork and its start, nothing told it from one.
        if was_killed and "resource_tracker: process died unexpectedly" in said:
            continue
        if how == "worker" or not was_killed:  # a worker is replaced in the same run
            assert run.returncode == whole.status, f"{about}: {said}"
            assert "Traceback" not in said, f"{about}: {said}"
        if run.returncode == whole.status and (not was_killed or how != "worker"):
            break
    assert run.returncode == whole.status, f"{about}: {said}"
    assert work.written() == whole.files, about
    # A kill before a folder has its lock leaves it empty, for a minute.
    assert [path for path in temporary.rglob("corpusfmt-*/**/*") if path.is_file()] == [], about
