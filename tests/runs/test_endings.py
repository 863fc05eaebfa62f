"""Signals end a run at once, whatever its workers are doing; what was killed leaves nothing behind that the next run does not remove."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from runs.processes import descendants_of, opened_by, running, workers_of
from support import SAMPLE, every, run_cli, tree

from corpusfmt.io.paths import is_partial, partial_name

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs that take a run some seconds, and a corpus of others."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "wet").mkdir()
    for name in range(30):
        for each in SAMPLE.glob("*.wet.gz"):
            os.link(shutil.copy(each, folder / each.name), folder / "wet" / f"{name}-{each.name}")
    assert run_cli("build", SAMPLE, "-o", folder / "corpus").returncode == 0
    return folder


_ENDINGS = [(signal.SIGTERM, 143, "terminated"), (signal.SIGINT, 130, "interrupted")]
_ON_DASK = ["--engine dask --jobs 2"] if find_spec("distributed") is not None else []
_WITH_WORKERS = [
    f"{command} {engine}"
    for command in (
        "build {}/wet -o out",
        "convert {}/corpus out --to dolma",
        "validate {}/corpus --dedup",
        "stats {}/corpus --count all",
        "compare {}/corpus {}/corpus",
        "datasheet {}/corpus -o out.html",
    )
    for engine in ["--jobs 2", *_ON_DASK]
] + ["describe {}/corpus --jobs 2", "seal corpus --jobs 2"]


def has_begun(pid: int) -> bool:
    """Return whether a worker has started, which gives it a thread; what starts workers has none."""
    return len(list(Path(f"/proc/{pid}").glob("task/*"))) > 1


@pytest.mark.parametrize("number", every(5, range(len(_WITH_WORKERS))), ids=_WITH_WORKERS.__getitem__)
def test_stopped_workers_do_not_keep_a_run_alive(work: Path, tmp_path: Path, number: int) -> None:
    shutil.copytree(work / "corpus", tmp_path / "corpus")
    words = _WITH_WORKERS[number].replace("{}", str(work)).split()
    sent, status, said = _ENDINGS[number % 2]
    with running(words, tmp_path) as run:
        workers: list[int] = []
        while run.poll() is None and not workers:
            time.sleep(0.01)
            workers = list(filter(has_begun, workers_of(run.pid)))
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        run.send_signal(sent)
        _, errors = run.communicate(timeout=30)
    hint = "; run the same command again to resume" if words[0] in {"build", "convert"} else ""
    assert (run.returncode, errors.decode()) == (status, f"{said}{hint}\n")
    assert not any(Path(f"/proc/{each}").exists() for each in workers)


def test_a_worker_that_is_stopped_while_it_reads_does_not_keep_a_run_alive(work: Path, tmp_path: Path) -> None:
    with running(["build", work / "wet", "-o", "out", "--jobs", "2"], tmp_path) as run:
        workers: list[int] = []
        while run.poll() is None and not workers:
            time.sleep(0.01)
            workers = [each for each in descendants_of(run.pid) if any("wet.gz" in path for path in opened_by(each))]
        os.kill(workers[0], signal.SIGSTOP)
        run.send_signal(signal.SIGTERM)
        _, errors = run.communicate(timeout=30)
    assert (run.returncode, errors) == (143, b"terminated; run the same command again to resume\n")
    assert not any(Path(f"/proc/{each}").exists() for each in workers)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


HOLDING = """
import sys
from corpusfmt.io.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_the_next_run_removes_the_temporary_folder_of_a_killed_one(temporary: Path) -> None:
    environment = os.environ | {"TMPDIR": str(temporary)}
    command = [sys.executable, "-c", HOLDING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as run:
        assert run.stdout
        folder = Path(run.stdout.readline().decode().strip())
        subprocess.run(command, input=b"", env=environment, check=True, capture_output=True)
        assert (folder / "file").exists()  # its owner lives
        run.kill()
    assert folder.exists()
    subprocess.run(command, input=b"", env=environment, check=True, capture_output=True)
    assert list(temporary.iterdir()) == []


def test_an_empty_folder_without_a_lock_is_left_for_a_minute(temporary: Path) -> None:
    fresh, old, other = (temporary / f"corpusfmt-{name}" for name in ("fresh", "old", "other"))
    for folder in (fresh, old, other):
        (folder / "files").mkdir(parents=True)
    (other / "notes").touch()
    for folder in (old, other):
        os.utime(folder, (0, 0))
    environment = os.environ | {"TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", HOLDING], input=b"", env=environment, check=True, capture_output=True)
    assert sorted(temporary.iterdir()) == [fresh, other]
    assert {path.name for path in other.iterdir()} == {"files", "notes"}


PUBLISHING = """
import sys
from pathlib import Path
from corpusfmt.io.publish import publish
with publish(Path(sys.argv[1])) as file:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_unfinished_files_of_the_living_stay_and_those_of_the_dead_go(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PUBLISHING, str(tmp_path / "report")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stdout.readline() == b"open\n"
        (partial,) = tmp_path.iterdir()
        publish_elsewhere(tmp_path / "one")
        assert partial.exists()
        run.kill()
    publish_elsewhere(tmp_path / "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


def publish_elsewhere(target: Path) -> None:
    subprocess.run([sys.executable, "-c", PUBLISHING, target], input=b"", check=True, capture_output=True)


def test_what_a_killed_run_left_is_no_part_of_a_release(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert run_cli("build", SAMPLE, "-o", one).returncode == 0
    (one / "MANIFEST.json").unlink()
    shutil.copytree(one, other)
    for folder in (other, other / "de"):
        (folder / partial_name()).write_bytes(b"half")
    for corpus in (one, other):
        # All but what only the author of a corpus can say in its description.
        of_authors = [word for code in ("207", "208", "209", "210", "212") for word in ("--ignore", f"CRO{code}")]
        assert run_cli("validate", corpus, "--fail-on", "warning", *of_authors).returncode == 0
        assert run_cli("seal", corpus, "--attest").returncode == 0
        assert run_cli("verify", corpus).returncode == 0
    left = [path for path in other.rglob("*") if is_partial(path.name)]
    assert [path.parent for path in left] == [other / "de"]  # where nothing was written
    left[0].unlink()
    assert tree(other) == tree(one)


SMALL = "mount -t tmpfs -o size=16k none temporary && TMPDIR=$PWD/temporary exec {python} -m corpusfmt {words}"


def has_namespaces() -> bool:
    """Return whether users may mount folders that only they see."""
    mounting = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"]
    return (
        shutil.which("unshare") is not None
        and subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    )


@pytest.mark.skipif(not has_namespaces(), reason="the system lets users mount nothing")
@pytest.mark.parametrize(
    "words",
    [
        "validate corpus --dedup",
        "validate corpus --dedup --jobs 2",
        "stats corpus --count all",
        "compare corpus corpus",
    ],
)
def test_a_full_temporary_folder_is_not_blamed_on_the_corpus(tmp_path: Path, temporary: Path, words: str) -> None:
    assert run_cli("build", SAMPLE, "-o", tmp_path / "corpus").returncode == 0
    shell = SMALL.format(python=shlex.quote(sys.executable), words=words)
    done = subprocess.run(["unshare", "-rm", "sh", "-c", shell], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"No space left on device: " in done.stderr
    assert f"{temporary}".encode() in done.stderr
    assert b".gz" not in done.stderr
    assert b"set TMPDIR" in done.stderr


MAKING = """
from corpusfmt.io.temporary import temporary_folder
for number in range(300):
    with temporary_folder() as folder:
        (folder / "file").write_bytes(b"mine")
        assert (folder / "file").read_bytes() == b"mine"
"""


def test_processes_that_make_temporary_folders_at_one_time_leave_each_other_alone(temporary: Path) -> None:
    environment = os.environ | {"TMPDIR": str(temporary)}
    command = [sys.executable, "-c", MAKING]
    runs = [subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) for _ in range(4)]
    assert [run.communicate(timeout=300)[1] for run in runs] == [b""] * 4
    assert [run.returncode for run in runs] == [0] * 4
    assert list(temporary.iterdir()) == []
