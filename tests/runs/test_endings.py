"""Signals end a run at once, whatever its workers are doing; what was killed leaves nothing behind that the next run does not remove."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs.processes import descendants_of, opened_by, running
from support import SAMPLE, run_cli, tree

from corpusfmt.io.paths import is_partial, partial_name

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def wet(tmp_path: Path) -> Path:
    """Inputs that take a run some seconds."""
    folder = tmp_path / "wet"
    folder.mkdir()
    for name in range(30):
        for each in SAMPLE.glob("*.wet.gz"):
            os.link(shutil.copy(each, tmp_path / each.name), folder / f"{name}-{each.name}")
    return folder


@pytest.mark.parametrize(
    ("sent", "status", "said"), [(signal.SIGTERM, 143, b"terminated"), (signal.SIGINT, 130, b"interrupted")]
)
def test_a_stopped_worker_does_not_keep_a_run_alive(
    wet: Path, tmp_path: Path, sent: signal.Signals, status: int, said: bytes
) -> None:
    with running(["build", wet, "-o", "out", "--jobs", "2"], tmp_path) as run:
        workers: list[int] = []
        while run.poll() is None and not workers:
            time.sleep(0.01)
            workers = [each for each in descendants_of(run.pid) if any("wet.gz" in path for path in opened_by(each))]
        os.kill(workers[0], signal.SIGSTOP)
        run.send_signal(sent)
        _, errors = run.communicate(timeout=30)
        assert (run.returncode, errors) == (status, said + b"; run the same command again to resume\n")
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
