"""Internal: Executors of tasks, as in `concurrent.futures`; None for a run without workers, which imports nothing of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from corpusfmt.io.paths import is_url
from corpusfmt.model import UsageError
from corpusfmt.safe_path import SafeStarts, can_start_safely
from corpusfmt.wording import clipped

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future
    from multiprocessing.process import BaseProcess

# For fewer bytes, starting workers costs more than they save.
SMALL_INPUT = 16 * 1024 * 1024
# Enough for any stage; some libraries walk through all descriptors that they may have.
_MOST_OPEN_FILES = 1 << 16
# A worker ends at once if it is terminated, unless something is wrong with it.
_END_SECONDS = 3.0
#: Workers that did not end when they were killed. Python would wait for them at its exit, too.
HANGING: list[BaseProcess] = []


def available_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_jobs(input_bytes: int, tasks: int) -> int:
    """Return the default number of workers for an input of this size."""
    if input_bytes < SMALL_INPUT:
        return 1
    return max(1, min(available_processors(), tasks))


def are_spare(engine: str | None, jobs: int | None, tasks: int) -> bool:
    """Return whether each task may have a second processor of this machine; by default all are used."""
    return engine in {None, "processes"} and (jobs or available_processors()) >= 2 * tasks


def executor_factory(engine: str | None, jobs: int) -> Callable[[], Executor | None]:
    """Return a function that opens an executor of `serial` (None: tasks run in this thread), `processes`, `dask[:ADDRESS]`,
    `ray[:ADDRESS]` or `py:MODULE:FACTORY`.

    Raises `UsageError` for an unknown engine or one whose package is not installed.
    """
    allow_open_files()
    name, _, detail = (engine or ("serial" if jobs == 1 else "processes")).partition(":")
    factories: dict[str, Callable[[], Executor | None]] = {
        "serial": lambda: None,
        "processes": lambda: _processes(jobs),
        "dask": lambda: _cluster("dask", detail, jobs),
        "ray": lambda: _cluster("ray", detail, jobs),
        "py": lambda: _own(detail, jobs),
    }
    if name not in factories:
        raise UsageError(
            f"unknown engine {clipped(name)!r}; known: serial, processes, dask[:ADDRESS], ray[:ADDRESS], py:MODULE:FACTORY"
        )
    return factories[name]


def allow_open_files() -> None:
    """Raise the soft limit on open files to the hard one; on Windows and in WebAssembly there is none."""
    if sys.platform in {"win32", "emscripten"}:
        return
    import resource  # noqa: PLC0415 - not on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):  # the system may allow fewer than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def placed(engine: str | None, path: str | Path) -> str:
    """Return a path as the workers of an engine can use it: local ones absolute if workers may be in another folder."""
    text = str(path)
    if engine is None or engine in {"serial", "processes"} or is_url(text) or text == "-":
        return text
    return os.path.abspath(text)  # noqa: PTH100 - symbolic links stay as they are


def placed_columns(engine: str | None, columns: str | Path | None) -> str | None:
    """Return a column profile, a name or a file, as given: manifests name it. Raises `UsageError` if workers could not find it."""
    if columns is not None and Path(columns).is_file() and placed(engine, columns) != str(columns):
        raise UsageError(
            f"--columns is {columns}, expected an absolute path: workers of {engine} may be in another folder"
        )
    return None if columns is None else str(columns)


def processes_of(executor: Executor) -> list[BaseProcess]:
    """Return the workers of a pool of processes; other executors have none that are known here."""
    return list((getattr(getattr(executor, "_inner", executor), "_processes", None) or {}).values())


def stop(executor: Executor) -> None:
    """Close an executor and abandon its running tasks: files that they published are complete, and others do not count.

    Workers are not asked to exit, because a killed worker may hold a lock that the others would wait for. One that is stopped
    does not end when it is terminated, and one that hangs in the kernel not even when it is killed: it is left.
    """
    workers = processes_of(executor)
    try:
        for process in workers:
            process.terminate()
        _wait_for(workers)
    finally:
        left = [process for process in workers if process.is_alive()]
        for process in left:
            process.kill()
    HANGING.extend(_wait_for(left))
    if results := getattr(executor, "_result_queue", None):
        # If a worker ended in the middle of a result, a thread of the pool waits for the rest as long as anyone could write it.
        results._writer.close()  # noqa: SLF001 - SimpleQueue closes both of its ends, or none
    # A pool without workers must be closed now: at exit, Python would race with it.
    executor.shutdown(wait=bool(workers) and not HANGING, cancel_futures=True)


def _wait_for(workers: Sequence[BaseProcess]) -> list[BaseProcess]:
    """Wait some seconds for workers to end; return those that have not."""
    if not workers:  # a run without workers does not import what waits for them
        return []
    from multiprocessing.connection import wait  # noqa: PLC0415

    ends = time.monotonic() + _END_SECONDS
    left = {process.sentinel: process for process in workers}
    while left and (seconds := ends - time.monotonic()) > 0:
        for sentinel in wait(list(left), seconds):
            del left[cast("int", sentinel)]
    return list(left.values())


class Workers:
    """The executors of a job: an executor that completed a stage is reused for the next."""

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
        """Open an executor before this process starts threads: afterwards it cannot be forked."""
        self._idle = self._idle or self._open()

    def take(self) -> Executor | None:
        """Return an executor for exclusive use until it is released."""
        executor, self._idle = self._idle or self._open(), None
        return executor

    def release(self, executor: Executor) -> None:
        """Take back an idle executor."""
        self._idle = executor


def prepare(engine: str | None, jobs: int | None, *modules: str) -> None:
    """If workers are certainly needed and cannot be forked, let them start and import modules while this process plans."""
    if sys.platform == "linux" and (jobs or 1) > 1 and engine in {None, "processes"} and can_start_safely():
        from corpusfmt.engine.processes import can_fork, start_fork_server  # noqa: PLC0415

        if not can_fork():
            start_fork_server(*modules)


def _processes(jobs: int) -> Executor | None:
    if not can_start_safely():
        return None
    # Imported here because a run without workers does not need it.
    from corpusfmt.engine.processes import open_pool  # noqa: PLC0415

    return open_pool(jobs)


def _cluster(name: str, address: str, jobs: int) -> Executor:
    # Imported here because a run on this machine does not need it.
    from corpusfmt.engine.clusters import CLUSTERS  # noqa: PLC0415

    return CLUSTERS[name](address, jobs)


class _Own:
    """An executor of a user's function, which may start processes at any time."""

    def __init__(self, open_executor: Callable[[], Executor]) -> None:
        if not can_start_safely():
            raise UsageError("workers of `python -E` would import from the working folder: run `python -E -P`")
        with ExitStack() as opening:
            opening.enter_context(SafeStarts())
            self._inner = open_executor()
            self._life = opening.pop_all()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._inner.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        with self._life:
            stop(self._inner)


def _own(detail: str, jobs: int) -> Executor:
    module, _, factory = detail.partition(":")

    def checked() -> Executor:
        opened = getattr(import_module(module), factory)(jobs)
        if not (hasattr(opened, "submit") and hasattr(opened, "shutdown")):
            raise ValueError(f"{factory} returned {type(opened).__name__}, expected an Executor of concurrent.futures")
        return cast("Executor", opened)

    try:
        return cast("Executor", _Own(checked))
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"cannot open engine py:{detail}: {error}") from error
