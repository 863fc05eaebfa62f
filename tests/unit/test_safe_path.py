"""The path of processes that corpusfmt starts, and that the environment is restored afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support import gzipped

from corpusfmt.safe_path import SafeStarts, drop_working_folder

_ROW = b'{"id":"1","text":"All human beings are born free.","source":"s"}\n'


def path_of_a_child() -> list[str]:
    """Return the path of a process that is started as `multiprocessing` starts its own."""
    show = [sys.executable, "-c", "import sys; print(*sys.path, sep=chr(10))"]
    return subprocess.run(show, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]


def test_a_child_has_the_absolute_entries_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", "/first", ".", "below", "/second"]))
    with SafeStarts():
        path = path_of_a_child()
    assert path[:2] == ["/first", "/second"]
    assert not [entry for entry in path if not entry or entry.startswith(str(tmp_path))]


@pytest.mark.parametrize("safe_path", [None, "1"])
@pytest.mark.parametrize("python_path", [None, "", ".:/lib"])
def test_everything_is_as_it_was_in_the_end(
    monkeypatch: pytest.MonkeyPatch, python_path: str | None, safe_path: str | None
) -> None:
    for name, value in (("PYTHONPATH", python_path), ("PYTHONSAFEPATH", safe_path)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", ["", *sys.path, "relative"])
    path, environment = list(sys.path), dict(os.environ)
    with SafeStarts(), SafeStarts():
        assert os.environ["PYTHONSAFEPATH"] == "1"
        assert sys.path == path[1:-1]
    assert (sys.path, dict(os.environ)) == (path, environment)


def test_the_last_of_several_threads_restores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    first, second = SafeStarts(), SafeStarts()
    first.__enter__()
    thread = threading.Thread(target=second.__enter__)
    thread.start()
    thread.join()
    first.__exit__()
    assert os.environ["PYTHONSAFEPATH"] == "1"
    second.__exit__()
    assert "PYTHONSAFEPATH" not in os.environ


def test_a_folder_that_the_user_names_stays_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f".:below:{tmp_path / 'named'}:named")
    before = list(sys.path)
    python_made = [str(tmp_path), str(tmp_path / "below"), str(tmp_path / "named")]
    monkeypatch.setattr(sys, "path", ["", *python_made, *before])
    drop_working_folder()
    assert sys.path == [str(tmp_path / "named"), *filter(None, before)]


def test_an_unset_python_path_drops_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # as an editable install may have it
    drop_working_folder()
    assert sys.path[0] == str(tmp_path)


def run(*options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-m", "corpusfmt", "validate", "."]
    return subprocess.run([*command, "--jobs", "2"], cwd=folder, capture_output=True, text=True, check=False)


def _data_set(folder: Path) -> Path:
    (folder / "documents").mkdir()
    for part in range(2):
        (folder / "documents" / f"{part}.jsonl.gz").write_bytes(gzipped(_ROW.replace(b"1", b"%d" % part)))
    (folder / "threading.py").write_text("raise SystemExit('code of the dataset runs')\n", "utf-8")
    (folder / "multiprocessing.py").write_text("raise SystemExit('code of the dataset runs')\n", "utf-8")
    return folder


def test_one_process_does_the_work_where_others_could_not_be_started_safely(tmp_path: Path) -> None:
    done = run("-E", folder=_data_set(tmp_path))
    assert (done.returncode, done.stdout[-28:]) == (0, "VALID: 0 errors, 0 warnings\n"), done.stderr


def test_an_engine_of_others_is_refused_there(tmp_path: Path) -> None:
    command = [sys.executable, "-E", "-m", "corpusfmt", "validate", "."]
    engine = ("--engine", "py:concurrent.futures:ProcessPoolExecutor", "--jobs", "2")
    done = subprocess.run([*command, *engine], cwd=_data_set(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "error: workers of `python -E` would import from the working folder: run `python -E -P`\n",
    )


@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_no_engine_of_ours_runs_code_of_the_data_set(engine: str, tmp_path: Path) -> None:
    """Where its package is installed: Ray is too large for every run of the tests."""
    pytest.importorskip({"dask": "distributed"}.get(engine, engine))
    data = _data_set(tmp_path)
    for module in ("json", "random", "pickle", "asyncio", "corpusfmt", "numpy", "msgspec", engine):
        (data / f"{module}.py").write_text("raise SystemExit('code of the dataset runs')\n", "utf-8")
    command = [str(Path(sys.executable).with_name("corpusfmt")), "validate", ".", "--engine", engine, "--jobs", "2"]
    done = subprocess.run(command, cwd=data, capture_output=True, text=True, check=False, timeout=300)
    assert "code of the dataset" not in done.stdout + done.stderr
    assert (done.returncode, done.stdout[-28:]) == (0, "VALID: 0 errors, 0 warnings\n"), done.stderr
