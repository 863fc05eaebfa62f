"""What clusters of other libraries have in common, on threads; `tests/engines` runs the libraries."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from corpusfmt.engine.clusters import Cluster, patience
from corpusfmt.engine.executors import executor_factory, placed, placed_columns
from corpusfmt.engine.run import Died, run_tasks
from corpusfmt.model import BadInput, Incomplete, UsageError


class KilledWorker(Exception):
    """As Dask calls a lost worker."""


class Threads(Cluster):
    """A cluster of threads, which runs `instead` of tasks, if that is given."""

    def __init__(self, *, is_own: bool = True, cores: int = 3, instead: Callable[[], Any] | None = None) -> None:
        life = ExitStack()
        self._pool = life.enter_context(ThreadPoolExecutor(cores or 1))
        self._count = cores
        self._instead = instead
        self.most = 0
        super().__init__("threads:here", life, is_own=is_own)

    def send(self, fn: Callable[..., Any], *args: Any) -> Future[Any]:
        if not self._count:
            return Future()
        self.most = max(self.most, self._pool._work_queue.qsize() + 1)
        return self._pool.submit(self._instead or fn, *(() if self._instead else args))

    def count_cores(self) -> int:
        return self._count

    def is_idle(self) -> bool:
        return self._count == 0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.engine.flight._LOOK_SECONDS", 0.01)
    monkeypatch.setenv("CORPUSFMT_ENGINE_WAIT", "0")


def square(number: int) -> int:
    time.sleep(0.001)
    return number * number


def fail(_: int) -> int:
    raise BadInput(None)  # type: ignore[arg-type]


def raising(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


def test_the_window_follows_the_workers() -> None:
    cluster = Threads(cores=5)
    assert list(run_tasks(square, range(60), lambda: cluster, window=1)) == [number * number for number in range(60)]
    assert 5 < cluster.most <= 20


def test_an_exception_of_a_task_stays_what_it_is() -> None:
    with pytest.raises(BadInput):
        list(run_tasks(fail, [1], Threads, window=4))


@pytest.mark.parametrize("error", [KilledWorker("lost"), CancelledError(), MemoryError()], ids=repr)
def test_an_exception_of_the_library_is_a_dead_worker(error: Exception) -> None:
    opened: list[Executor] = []

    def open_next() -> Executor:
        opened.append(Threads(instead=raising(error) if len(opened) < 2 else None))
        return opened[-1]

    assert list(run_tasks(square, range(4), open_next, window=4)) == [0, 1, 4, 9]
    assert len(opened) == 3
    (died,) = run_tasks(square, [1], lambda: Threads(instead=raising(error)), window=4)
    assert isinstance(died, Died)


def test_cycles_are_collected_soon_while_a_cluster_is_open() -> None:
    before = gc.get_threshold()
    gc.set_threshold(60_000, *before[1:])
    try:
        cluster = Threads()
        assert gc.get_threshold() == (700, *before[1:])
        cluster.shutdown()
        assert gc.get_threshold() == (60_000, *before[1:])
    finally:
        gc.set_threshold(*before)


def test_workers_without_this_package() -> None:
    lost = ModuleNotFoundError("No module named 'corpusfmt'", name="corpusfmt")
    with pytest.raises(UsageError, match=r"workers cannot import corpusfmt: install corpusfmt .* there"):
        list(run_tasks(square, [1], lambda: Threads(instead=raising(lost)), window=4))


def test_workers_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Threads()
    send = cluster.send
    monkeypatch.setattr(cluster, "send", lambda fn, _version, *args: send(fn, "0.0.1", *args))
    with pytest.raises(
        UsageError, match=r"the worker on .* has corpusfmt .*, expected 0\.0\.1: install that one there"
    ):
        list(run_tasks(square, [1], lambda: cluster, window=4))


def test_workers_that_do_not_see_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "state"
    assert list(run_tasks(square, [3], Threads, window=4, shared=folder)) == [9]
    cluster = Threads()
    monkeypatch.setattr(cluster, "share", lambda _: setattr(cluster, "_shared", tmp_path / "elsewhere" / "shared"))
    with pytest.raises(Incomplete, match=f"does not see {tmp_path / 'elsewhere'}: put it on a file system that all"):
        list(run_tasks(square, [1], lambda: cluster, window=4, shared=folder))


def test_a_cluster_of_the_users_that_has_no_worker() -> None:
    with pytest.raises(Incomplete, match="threads:here: it has no worker for 0 s, and 2 tasks wait: start workers"):
        list(run_tasks(square, [1, 2], lambda: Threads(is_own=False, cores=0), window=4))


def test_a_cluster_of_ours_that_lost_its_workers_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.engine.clusters._OWN_WAIT_SECONDS", 0.0)
    opened: list[Executor] = []

    def open_next() -> Executor:
        opened.append(Threads(cores=0 if len(opened) < 2 else 2))
        return opened[-1]

    assert list(run_tasks(square, range(4), open_next, window=4)) == [0, 1, 4, 9]
    assert len(opened) == 3
    (died,) = run_tasks(square, [1], lambda: Threads(cores=0), window=4)
    assert died == Died("no worker ran the task")


def test_a_cluster_that_takes_no_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Threads()
    monkeypatch.setattr(cluster, "_pool", None)
    with pytest.raises(BrokenExecutor, match="threads:here takes no tasks: 'NoneType' object"):
        cluster.submit(square, 1)


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corpusfmt.engine.clusters._ANSWER_SECONDS", 0.01)
    cluster, ended = Threads(), threading.Event()
    monkeypatch.setattr(cluster, "count_cores", ended.wait)
    monkeypatch.setattr(cluster, "is_idle", raising(ConnectionError()))
    assert (cluster.cores, cluster.complaint()) == (0, "it has no worker")
    ended.set()


def test_a_task_that_takes_long_is_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("corpusfmt.engine.flight._FIRST_NOTE_SECONDS", 0.02)
    assert list(run_tasks(time.sleep, [0.1], lambda: Threads(), window=4)) == [None]  # noqa: PLW0108
    assert caplog.messages[0] == "threads:here: 1 task sent, none of which has ended for 0 s"


@pytest.mark.parametrize(("asked", "seconds"), [("", 600.0), ("5", 5.0)])
def test_the_patience_can_be_set(asked: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORPUSFMT_ENGINE_WAIT", asked)
    assert patience() == seconds
    monkeypatch.setenv("CORPUSFMT_ENGINE_WAIT", "long")
    with pytest.raises(UsageError, match="CORPUSFMT_ENGINE_WAIT is not a number of seconds"):
        patience()


def test_paths_for_workers_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for engine in (None, "serial", "processes"):
        assert placed(engine, "a") == "a"
    for engine in ("dask", "ray:host:1", "py:a:b"):
        assert [placed(engine, each) for each in ("a", "-", "s3://b/a", "/a")] == [
            str(tmp_path / "a"),
            "-",
            "s3://b/a",
            "/a",
        ]
    (tmp_path / "columns.toml").touch()
    assert placed_columns("dask", "name") == "name"
    assert placed_columns(None, "columns.toml") == "columns.toml"
    with pytest.raises(UsageError, match=r"`columns` is columns\.toml, expected an absolute path: workers of dask"):
        placed_columns("dask", "columns.toml")


def test_a_cluster_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(UsageError, match=r"engine ray is not installed: run `pip install 'corpusfmt\[ray\]'`"):
        executor_factory("ray", 2)()


def test_an_address_of_the_client_of_ray_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"ray:ray://host:10001: name the cluster by HOST:PORT, as `ray start` prints it"
    ):
        executor_factory("ray:ray://host:10001", 2)()
