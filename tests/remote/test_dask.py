"""One tree digest and the same manifest, byte for byte: with any number of workers, after kills, elsewhere, on another engine."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import LONG_LINE, tree, wet_file, wet_record

pytestmark = pytest.mark.skipif("CORPUSFMT_REMOTE" not in os.environ, reason="CORPUSFMT_REMOTE is not set")

# A cluster of processes of its own: scheduler and workers share nothing with the run but its files.
_CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(_CLUSTER)
    with subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        try:
            yield running.stdout.readline().decode().strip()
        finally:
            running.stdin.close()


def build(wet: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "corpusfmt", "build", str(wet), "--output", str(out), "--recipe", "dolma", *options]


def test_a_build_is_the_same_wherever_and_however_it_runs(tmp_path: Path, cluster: str) -> None:
    wet = tmp_path / "wet"
    for number in range(8):
        pages = [f"{LONG_LINE} {(number * 31 + line) % 211}\n" * 3 for line in range(300)]
        wet_file(wet / f"{number}.warc.wet.gz", [wet_record(number * 1000 + n, page) for n, page in enumerate(pages)])
    made = {}
    for name, options in {
        "one": ["--jobs", "1"],
        "two": ["--jobs", "2"],
        "five": ["--jobs", "5"],
        "cluster/elsewhere": ["--engine", f"dask:{cluster}"],
    }.items():
        subprocess.run(build(wet, tmp_path / name / "out", *options), check=True, capture_output=True)
        made[name] = tree(tmp_path / name / "out")
    killed = tmp_path / "killed" / "out"
    for options in (["--engine", f"dask:{cluster}"], ["--jobs", "2"]):
        with subprocess.Popen(build(wet, killed, *options), stdout=-3, stderr=-3) as run:
            before = len([*killed.glob(".corpusfmt/process/*.json")])
            while run.poll() is None and len([*killed.glob(".corpusfmt/process/*.json")]) <= before:
                time.sleep(0.002)
            run.send_signal(signal.SIGKILL)
    assert not (killed / "MANIFEST.json").exists()
    subprocess.run(build(wet, killed, "--engine", f"dask:{cluster}"), check=True, capture_output=True)
    made["killed"] = tree(killed)
    assert {
        name: each["MANIFEST.json"] == made["one"]["MANIFEST.json"] for name, each in made.items()
    } == dict.fromkeys(made, True)
    assert all(each == made["one"] for each in made.values())
    assert len({json.loads(each["MANIFEST.json"])["tree"]["sha256"] for each in made.values()}) == 1


# Both workers have written half when either goes on.
_TWICE = """
import sys
import time
from functools import partial
from pathlib import Path

from distributed import Client

def write(folder, number):
    from corpusfmt.formats import named_format
    from corpusfmt.formats.parts import write_parts
    from corpusfmt.model import Document
    from corpusfmt.pipeline.package.write import shuffled
    from corpusfmt.io.compress import sha256

    writer = named_format("dolma")[0].writers["1.0"]

    def items():
        for n, line in enumerate(shuffled((b"%d" % n for n in range(20_000)), 7, folder / "aside", memory=100_000)):
            yield writer.item(Document(str(n), sha256(line).hexdigest())).value
            if n in {0, 10_000}:
                (folder / f"{n}-{number}").touch()
                while len([*folder.glob(f"{n}-*")]) < 2:
                    time.sleep(0.01)

    return write_parts(writer, items(), stem="en", folder=folder / "en", aside=folder / "aside")

if __name__ == "__main__":
    with Client(sys.argv[1]) as client:
        one, two = client.gather(client.map(partial(write, Path(sys.argv[2])), [1, 2], pure=False))
    assert one == two
    print(*(f"{name} {facts.sha256}" for name, facts in one.items()))
"""


def test_two_workers_that_run_one_task_share_no_unfinished_file(tmp_path: Path, cluster: str) -> None:
    (tmp_path / "twice.py").write_text(_TWICE)
    command = [sys.executable, str(tmp_path / "twice.py"), cluster, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    name, digest = done.stdout.split()
    assert hashlib.sha256((tmp_path / "en" / name).read_bytes()).hexdigest() == digest
    assert [path.name for path in (tmp_path / "aside").iterdir()] == ["published"]
