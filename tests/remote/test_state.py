"""Runs whose state is in a store give the bytes of a run on one disk: shards without a common disk, killed and run again.

`make remote-test` runs this.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from remote.faults import Faults
from remote.s3 import BUCKET, KILLS, Store, digests, listed, serving
from support import corpus

pytestmark = pytest.mark.skipif("CORPUSFMT_REMOTE" not in os.environ, reason="CORPUSFMT_REMOTE is not set")

SHARDS = (1, 2, 3)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with serving(Faults(failing=0.05, cut=0.02)) as found:
        yield found


class Machines:
    """Machines that share nothing but the store: each command has folders of its own, and finds nothing of earlier ones."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        # The sockets of workers are in it, whose paths must be short.
        self.temporary = Path(tempfile.mkdtemp())
        weakref.finalize(self, shutil.rmtree, self.temporary, ignore_errors=True)
        self.started = 0

    def start(self, *words: object) -> subprocess.Popen[bytes]:
        self.started += 1
        own = self.folder / str(self.started)
        temporary = self.temporary / str(self.started)
        for folder in (own / "home", own / "work", temporary):
            folder.mkdir(parents=True)
        environment = self.store.environment | {"HOME": str(own / "home"), "TMPDIR": str(temporary)}
        return self.store.command(*words, env=environment, cwd=own / "work")

    def end(self, *words: object, status: int = 0) -> str:
        """Run a command to its end; return what it prints."""
        process = self.start(*words)
        out, errors = process.communicate(timeout=300)
        assert process.returncode == status, (out + errors).decode()
        assert b"Traceback" not in out + errors
        return (out + errors).decode()

    def end_all(self, words: Sequence[object], kills: int, chosen: random.Random, seconds: float) -> int:
        """Run shards side by side, and kill each at random and start it again, until so many kills; return how many there were."""
        running = {number: self.start(*words, "--shard", f"{number}/{len(SHARDS)}") for number in SHARDS}
        killed = 0
        while running:
            number = chosen.choice(list(running))
            process = running.pop(number)
            try:
                wait = seconds * chosen.uniform(0.2, 1.2) if killed < kills else 300
                out, errors = process.communicate(timeout=wait)
                assert process.returncode == 0, (out + errors).decode()
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                killed += 1
                running[number] = self.start(*words, "--shard", f"{number}/{len(SHARDS)}")
        return killed


def same(store: Store, name: str, expected: Path) -> None:
    """Compare an output in the store with one on a disk; nothing else is left."""
    found, whole = store.objects(name), corpus(expected)
    # What differs in a manifest says more than its digest.
    assert json.loads(found["MANIFEST.json"]) == json.loads(whole["MANIFEST.json"])
    assert digests(found) == digests(whole)
    assert found.keys() == listed(found)
    assert store.paths(f"{name}.state") == []


def test_machines_that_share_only_a_store_build_one_corpus(
    store: Store, wet: Path, local: Path, tmp_path: Path
) -> None:
    chosen = random.Random(5)
    killed = builds = 0
    while killed < KILLS:
        machines = Machines(store, tmp_path / str(builds))
        name = f"built-{builds}"
        words = ["build", wet, "-o", f"{BUCKET}/{name}", "--state", f"{BUCKET}/{name}.state"]
        killed += machines.end_all(words, min(KILLS - killed, 4), chosen, 4.0)
        machines.end(*words, "--finish")
        same(store, name, local / "corpus")
        builds += 1
    assert "nothing to do, the run is finished" in machines.end(*words, "--shard", "2/3")


def test_machines_that_share_only_a_store_convert_one_corpus(store: Store, local: Path, tmp_path: Path) -> None:
    chosen = random.Random(6)
    killed = runs = 0
    while killed < KILLS:
        machines = Machines(store, tmp_path / str(runs))
        name = f"converted-{runs}"
        words = ["convert", local / "corpus", f"{BUCKET}/{name}", "--to", "dolma", "--state", f"{BUCKET}/{name}.state"]
        killed += machines.end_all(words, min(KILLS - killed, 4), chosen, 3.0)
        machines.end(*words, "--finish")
        same(store, name, local / "dolma")
        runs += 1


def test_another_machine_goes_on_after_one_that_vanished(store: Store, wet: Path, local: Path, tmp_path: Path) -> None:
    chosen = random.Random(7)
    for number in range(max(1, KILLS // 4)):
        machines = Machines(store, tmp_path / str(number))
        name = f"spot-{number}"
        words = ["build", wet, "-o", f"{BUCKET}/{name}", "--state", f"{BUCKET}/{name}/.corpusfmt/state", "--jobs", 2]
        seconds = 3.0
        while True:
            process = machines.start(*words)
            try:
                out, errors = process.communicate(timeout=seconds * chosen.uniform(0.5, 1.5))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                seconds *= 1.5
            else:
                assert process.returncode == 0, (out + errors).decode()
                break
        same(store, name, local / "corpus")
