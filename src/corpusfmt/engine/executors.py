"""Where tasks run: anything with `concurrent.futures.Executor.submit`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from importlib import import_module
from pathlib import Path
from typing import Any, Self, cast

from corpusfmt.model import UsageError

# Below this many bytes starting workers costs more than they save.
SMALL_INPUT = 16 * 1024 * 1024
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


class SerialExecutor(Executor):
    """Runs a task where it is submitted: serial is parallel with one worker, not another code path."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def available_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_jobs(input_bytes: int, tasks: int) -> int:
    """Return the number of workers that an input of this size deserves."""
    if input_bytes < SMALL_INPUT:
        return 1
    return max(1, min(available_processors(), tasks))


def executor_factory(engine: str | None, jobs: int) -> Callable[[], Executor]:
    """Return what opens a fresh executor: `serial`, `processes`, `dask[:ADDRESS]`, `ray[:ADDRESS]`, `py:MODULE:FACTORY`.

    Raises `UsageError` for an unknown engine or one whose package is not installed.
    """
    name, _, detail = (engine or ("serial" if jobs == 1 else "processes")).partition(":")
    factories: dict[str, Callable[[], Executor]] = {
        "serial": SerialExecutor,
        "processes": lambda: _processes(jobs),
        "dask": lambda: _dask(detail, jobs),
        "ray": lambda: _ray(detail),
        "py": lambda: _own(detail, jobs),
    }
    if name not in factories:
        raise UsageError(
            f"unknown engine {name!r}; known: serial, processes, dask[:ADDRESS], ray[:ADDRESS], py:MODULE:FACTORY"
        )
    return factories[name]


def stop(executor: Executor) -> None:
    """Close an executor, and abandon what it still runs: what that had published is whole, the rest does not count.

    Workers are not asked to leave: one that somebody killed may have held the lock that the others would wait for.
    """
    workers = list((getattr(executor, "_processes", None) or {}).values())
    for process in workers:
        process.terminate()
    try:
        # Without workers a pool is closed at once, where Python's own end would race with it.
        executor.shutdown(wait=bool(workers), cancel_futures=True)
    except TypeError:  # Dask's cannot cancel what waits
        executor.shutdown(wait=False)


class Workers:
    """Executors for the stages of one job: one that has served a stage to its end serves the next."""

    def __init__(self, engine: str | None, jobs: int) -> None:
        self.jobs = jobs
        self._open = executor_factory(engine, jobs)
        self._idle: Executor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._idle is not None:
            stop(self._idle)

    def call(self) -> None:
        """Have an executor at hand before this process starts threads: with them it cannot be forked."""
        self._idle = self._idle or self._open()

    def take(self) -> Executor:
        """Return an executor, which is the caller's until it is released."""
        executor, self._idle = self._idle or self._open(), None
        return executor

    def release(self, executor: Executor) -> None:
        """Take back an executor that has nothing left to do."""
        self._idle = executor


def prepare(engine: str | None, jobs: int | None, *modules: str) -> None:
    """Let workers that are sure to be wanted get ready, and import modules, while this process still plans.

    Where they can be forked from this process they have no need to.
    """
    if sys.platform == "linux" and (jobs or 1) > 1 and engine in {None, "processes"} and not _has_one_thread():
        _start_fork_server(*modules)


def _processes(jobs: int) -> Executor:
    # Imported where there are workers: one process alone is spared them.
    import multiprocessing  # noqa: PLC0415
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415

    forked = sys.platform == "linux" and _has_one_thread()
    if sys.platform == "linux" and not forked:
        _start_fork_server()
    method = "fork" if forked else "forkserver" if sys.platform == "linux" else "spawn"
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context(method), initializer=_begin_work)
    if forked:
        pool.submit(os.getpid)  # the first task makes the pool fork all of its workers
    return pool


def _has_one_thread() -> bool:
    """Tell whether forking this process is safe: another thread, of any library, might hold a lock meanwhile."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def _start_fork_server(*modules: str) -> None:
    """Start a clean process that imports what checks need, and forks workers: each is spared a quarter of a second."""
    from multiprocessing import forkserver, get_context  # noqa: PLC0415 - not every platform has it

    get_context("forkserver").set_forkserver_preload(["corpusfmt.engine.validate", *modules, "numpy"])
    # It must have no threads when it forks.
    threads = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        forkserver.ensure_running()
    finally:
        del os.environ[_BLAS_THREADS]
        if threads is not None:
            os.environ[_BLAS_THREADS] = threads


def _begin_work() -> None:
    """Leave Ctrl-C to the parent, and end with it: a killed run must leave no workers behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a process set up for itself may have been forked with it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    os.environ[_BLAS_THREADS] = "1"
    from multiprocessing import parent_process  # noqa: PLC0415

    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    from multiprocessing.connection import wait  # noqa: PLC0415

    wait([sentinel])
    os._exit(1)


def _dask(address: str, jobs: int) -> Executor:
    distributed = _required("distributed", "dask")
    client = distributed.Client(address) if address else distributed.Client(n_workers=jobs, threads_per_worker=1)
    return cast("Executor", client.get_executor(pure=False, retries=2))


class _RayExecutor(Executor):
    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return cast("Future[Any]", self._ray.remote(fn).remote(*args, **kwargs).future())


def _ray(address: str) -> Executor:
    ray = _required("ray", "ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address=address or None, ignore_reinit_error=True)
    return _RayExecutor(ray)


def _own(detail: str, jobs: int) -> Executor:
    module, _, factory = detail.partition(":")
    try:
        return cast("Executor", getattr(import_module(module), factory)(jobs))
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"engine py:{detail} cannot be opened: {error}") from error


def _required(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"engine {extra} needs a package: pip install 'corpusfmt[{extra}]'") from error
