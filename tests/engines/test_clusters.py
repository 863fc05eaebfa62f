"""Clusters of separate processes that work in another folder give what one process gives. `make engines-test` runs this."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from documentation.sessions import code_for
from remote.faults import Faults
from remote.s3 import BUCKET, SECRET, Store, serving
from runs.processes import workers_of
from support import LONG_LINE, REPOSITORY, corpus, wet_file, wet_record

from corpusfmt.pipeline.recipe import recipe_text

RAY = os.environ.get("CORPUSFMT_RAY")
pytestmark = pytest.mark.skipif(RAY is None, reason="CORPUSFMT_RAY, the Python of an environment with Ray, is not set")

ENVIRONMENT = os.environ | {"PYTHONPATH": str(REPOSITORY / "src"), "CORPUSFMT_ENGINE_WAIT": "5"}
# Ray gives its workers the lowest priority, and on a busy machine runs print how far they are.
ENVIRONMENT |= {"RAY_worker_niceness": "0"}
# A cluster that takes tasks from whoever reaches it would run anybody's code: ours has a token of its own, only for this run.
ENVIRONMENT |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def python_of(engine: str) -> str:
    return RAY if RAY is not None and engine == "ray" else sys.executable


@contextmanager
def process(command: Sequence[object], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program and all that it starts, in a process group of its own, until the block ends."""
    folder.mkdir(exist_ok=True)
    with (folder / "log").open("ab") as log:
        running = subprocess.Popen(
            list(map(str, command)), cwd=folder, env=ENVIRONMENT, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def run(
    engine: str,
    address: str,
    *arguments: object,
    folder: Path,
    status: int = 0,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> str:
    """Run a command on an engine, and return what it prints on standard error."""
    named = f"{engine}:{address}" if address else engine
    command = [python_of(engine), "-m", "corpusfmt", *map(str, arguments), "--engine", named]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@contextmanager
def scheduler(folder: Path) -> Iterator[str]:
    """Start a scheduler of Dask; yield the path of its file."""
    file = folder / "scheduler.json"
    command = (sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port", 0)
    with process([*command, "--host", "127.0.0.1", "--scheduler-file", file], folder / "scheduler"):
        _wait_for(file)
        yield str(file)


def worker(file: str, folder: Path) -> AbstractContextManager[subprocess.Popen[bytes]]:
    command = (sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", file, "--no-dashboard")
    return process([*command, "--nthreads", 1, "--nworkers", 1], folder)


def _wait_for(file: Path) -> None:
    until = time.monotonic() + 60
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.05)


def address_in(file: str) -> str:
    return str(json.loads(Path(file).read_bytes())["address"])


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("dask")
    with scheduler(folder) as file, worker(file, folder / "one"), worker(file, folder / "two"):
        yield address_in(file)


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ray")
    port = 20000 + os.getpid() % 10000
    assert RAY is not None
    command = [Path(RAY).with_name("ray"), "start", "--head", "--block", "--num-cpus", 2, "--port", port]
    command += ["--node-ip-address", "127.0.0.1"]
    with process([*command, "--include-dashboard", "false", "--disable-usage-stats"], folder):
        until = time.monotonic() + 60
        while b"--block" not in (folder / "log").read_bytes() and time.monotonic() < until:
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs, and what one process makes of them."""
    folder = tmp_path_factory.mktemp("work")
    for number in range(6):
        text = "".join(f"{LONG_LINE} {(number * 7 + line) % 30}\n" for line in range(20))
        wet_file(folder / "wet" / f"{number}.warc.wet.gz", [wet_record(number, text)])
    run("serial", "", "build", "wet", "-o", "corpus", folder=folder)
    run("serial", "", "convert", "corpus", "dolma", "--to", "dolma", folder=folder)
    return folder


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_in_another_folder(engine: str, work: Path, request: pytest.FixtureRequest) -> None:
    address: str = request.getfixturevalue(engine)
    assert run(engine, address, "build", "wet", "-o", f"{engine}-corpus", folder=work) == ""
    assert corpus(work / f"{engine}-corpus") == corpus(work / "corpus")
    assert run(engine, address, "convert", "corpus", f"{engine}-dolma", "--to", "dolma", folder=work) == ""
    assert corpus(work / f"{engine}-dolma") == corpus(work / "dolma")
    assert run(engine, address, "validate", "dolma", folder=work) == ""


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_step_on_a_cluster_in_another_folder(engine: str, work: Path, request: pytest.FixtureRequest) -> None:
    address: str = request.getfixturevalue(engine)
    own = work / "own"
    own.mkdir(exist_ok=True)
    (own / "code.py").write_text("def even(lines, language):\n    return [int(line[-1]) % 2 == 0 for line in lines]\n")
    step = "\n[[step]]\nname = 'even'\nfunction = 'py:code.py:even'\non = 'lines'\n"
    (own / "mine.toml").write_text(recipe_text("oscar-1.1") + step)
    for named, at in (("serial", ""), (engine, address)):
        assert run(named, at, "build", "wet", "-o", f"{engine}-{named}", "--recipe", "own/mine.toml", folder=work) == ""
    assert corpus(work / f"{engine}-{engine}") == corpus(work / f"{engine}-serial")


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_a_cluster_of_its_own_prints_nothing(engine: str, work: Path) -> None:
    assert run(engine, "", "build", "wet", "-o", f"own-{engine}", "--jobs", 2, folder=work) == ""
    assert corpus(work / f"own-{engine}") == corpus(work / "corpus")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with serving(Faults(failing=0.05, cut=0.02, late=0.5)) as found:
        yield found


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_outputs_in_a_store(engine: str, work: Path, store: Store, tmp_path: Path) -> None:
    """The state is in a folder that the workers see; one in a store is refused."""
    for path in sorted((work / "wet").iterdir()):
        store.put(f"{engine}/wet/{path.name}", path.read_bytes())
    settings = store.environment | {
        name: value for name, value in ENVIRONMENT.items() if name.startswith(("RAY_", "PYTHONPATH"))
    }
    place = f"{BUCKET}/{engine}"
    for command, output in (
        (("build", f"{place}/wet", "-o"), f"{place}/corpus"),
        (("convert", f"{place}/corpus", "--to", "dolma"), f"{place}/dolma"),
    ):
        words = [*command, output, "--jobs", 2, "--state"]
        said = run(engine, "", *words, f"{output}.state", folder=tmp_path, status=2, environment=settings)
        refusal = f"--state is {output}.state, and workers of {engine} need a folder that all of them see"
        assert said == f"error: {refusal}: name one, or remove --engine\n"
        assert store.paths(f"{output}.state".removeprefix(f"{BUCKET}/")) == []
        said = run(engine, "", *words, tmp_path / "state", folder=tmp_path, environment=settings)
        assert SECRET not in said
    assert store.objects(f"{engine}/corpus") == corpus(work / "corpus")
    assert store.objects(f"{engine}/dolma") == corpus(work / "dolma")
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_is_killed(work: Path, tmp_path: Path) -> None:
    with scheduler(tmp_path) as file, worker(file, tmp_path / "one"):
        with worker(file, tmp_path / "two") as other:
            named = f"dask:{address_in(file)}"
            command = [sys.executable, "-m", "corpusfmt", "build", "wet", "-o", "killed", "--engine", named]
            building = subprocess.Popen(command, cwd=work, env=ENVIRONMENT, stderr=subprocess.PIPE)
            _wait_for(work / "killed/.corpusfmt/process")
            os.killpg(other.pid, signal.SIGKILL)
        _, errors = building.communicate(timeout=200)
    assert (building.returncode, errors) == (0, b"")
    assert corpus(work / "killed") == corpus(work / "corpus")


def test_the_first_worker_of_ray_is_killed(work: Path) -> None:
    command = [python_of("ray"), "-m", "corpusfmt", "build", "wet", "-o", "first", "--engine", "ray", "--jobs", "2"]
    building = subprocess.Popen(command, cwd=work, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    while building.poll() is None and not (workers := workers_of(building.pid, of_ray=True)):
        time.sleep(0.01)
    os.kill(workers[0], signal.SIGKILL)
    assert building.wait(200) == 0
    assert corpus(work / "first") == corpus(work / "corpus")


def test_a_cluster_without_workers(work: Path, tmp_path: Path) -> None:
    with scheduler(tmp_path) as file:
        address = address_in(file)
        said = run("dask", address, "build", "wet", "-o", "unserved", folder=work, status=3)
    (shown,) = code_for("tests/engines/test_clusters.py")["docs/how-to/engines.md"]
    command, _, expected = shown.partition("\n")
    numbers = re.compile(r"\d+(?= s| tasks)")
    assert numbers.sub("", said) == numbers.sub("", expected).replace("tcp://127.0.0.1:8786", address)
    assert "build wet" in command
    assert run("serial", "", "build", "wet", "-o", "unserved", folder=work) == ""
    assert corpus(work / "unserved") == corpus(work / "corpus")


@pytest.mark.parametrize(("engine", "address"), [("dask", "tcp://127.0.0.1:9"), ("ray", "127.0.0.1:9")])
def test_a_cluster_that_is_not_there(engine: str, address: str, work: Path) -> None:
    said = run(engine, address, "validate", "dolma", folder=work, status=3)
    assert said.startswith(f"error: {engine}:{address} cannot be reached")
    assert said.count("\n") == 1


def test_a_ray_that_does_not_start(work: Path, tmp_path: Path) -> None:
    """The paths of its sockets would be too long."""
    temporary = tmp_path / ("long" * 25)
    temporary.mkdir()
    settings = ENVIRONMENT | {"RAY_TMPDIR": str(temporary)}
    said = run("ray", "", "build", "wet", "-o", "unbuilt", "--jobs", 2, folder=work, status=3, environment=settings)
    assert said.startswith("error: ray did not start (")
    assert said.endswith("): run the same command again, with fewer --jobs or another engine\n")
    assert said.count("\n") == 1
    assert run("serial", "", "build", "wet", "-o", "unbuilt", folder=work) == ""
    assert corpus(work / "unbuilt") == corpus(work / "corpus")


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "127.0.0.1:x"])
def test_an_address_that_ray_has_not(address: str, work: Path) -> None:
    said = run("ray", address, "validate", "dolma", folder=work, status=2)
    assert said == f"error: ray:{address}: name the cluster by HOST:PORT, as `ray start` prints it\n"


@pytest.mark.parametrize("own", [True, False])
def test_what_dask_keeps_of_tasks_has_a_bound(own: bool, dask: str) -> None:
    """On a cluster of its own, whose scheduler is in this process, and on one of the user's."""
    program = """
import gc
import sys
from corpusfmt.engine.executors import executor_factory
from corpusfmt.engine.run import run_tasks

if __name__ == "__main__":
    blocks = {}
    for number, result in enumerate(run_tasks(abs, range(1501), executor_factory(sys.argv[1], 1), window=8)):
        assert result == number
        if number % 1000 == 500:  # while the cluster is there
            gc.collect()
            blocks[number] = sys.getallocatedblocks()
    print(blocks[1500] - blocks[500])
"""
    command = [sys.executable, "-c", program, "dask" if own else f"dask:{dask}"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=200, check=False)
    assert done.stderr == ""
    assert int(done.stdout) < 2000  # by default, Dask keeps five for each task


def test_a_task_that_ends_workers_is_found(tmp_path: Path) -> None:
    """By an executor of Dask that runs on this machine."""
    program = """
import os, signal
from functools import partial
from corpusfmt.engine.executors import executor_factory
from corpusfmt.engine.run import Died, run_tasks

def deadly(number):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number

if __name__ == "__main__":
    found = list(run_tasks(deadly, range(5), executor_factory("dask", 2), window=8))
    print([isinstance(each, Died) or each for each in found])
"""
    (tmp_path / "deadly.py").write_text(program)
    command = [sys.executable, str(tmp_path / "deadly.py")]
    environment = ENVIRONMENT | {"PYTHONPATH": f"{REPOSITORY / 'src'}{os.pathsep}{tmp_path}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)
    assert (done.stdout, done.stderr) == ("[0, 1, True, 3, 4]\n", "")
