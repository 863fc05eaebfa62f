"""Internal: Where tasks run: anything with `concurrent.futures.Executor.submit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from importlib import import_module
from typing import Any, Self, cast

from corpusfmt.model import UsageError
from corpusfmt.safe_path import SafeStarts, can_start_safely
from corpusfmt.wording import clipped

# Below this many bytes starting workers costs more than they save.
SMALL_INPUT = 16 * 1024 * 1024


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
            f"unknown engine {clipped(name)!r}; known: serial, processes, dask[:ADDRESS], ray[:ADDRESS], py:MODULE:FACTORY"
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
    if sys.platform == "linux" and (jobs or 1) > 1 and engine in {None, "processes"} and can_start_safely():
        from corpusfmt.engine.processes import can_fork, start_fork_server  # noqa: PLC0415

        if not can_fork():
            start_fork_server(*modules)


def _processes(jobs: int) -> Executor:
    if not can_start_safely():
        return SerialExecutor()
    # Imported where there are workers: one process alone is spared them.
    from corpusfmt.engine.processes import open_pool  # noqa: PLC0415

    return open_pool(jobs)


class _Guarded(Executor):
    """Somebody else's executor, which may start processes at any time of its life."""

    def __init__(self, open_executor: Callable[[ExitStack], Executor]) -> None:
        if not can_start_safely():
            raise UsageError("workers of `python -E` would import from the working folder: run `python -E -P`")
        with ExitStack() as opening:
            opening.enter_context(SafeStarts())
            self._inner = open_executor(opening)
            self._life = opening.pop_all()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._inner.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        with self._life:
            stop(self._inner)


def _dask(address: str, jobs: int) -> Executor:
    distributed = _required("distributed", "dask")

    def executor_of(client: Any) -> Executor:
        return cast("Executor", client.get_executor(pure=False, retries=2))

    if address:
        return executor_of(distributed.Client(address))
    return _Guarded(
        lambda life: executor_of(life.enter_context(distributed.Client(n_workers=jobs, threads_per_worker=1)))
    )


class _RayExecutor(Executor):
    def __init__(self, ray: Any) -> None:
        self._called = ray.remote(_called)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return cast("Future[Any]", self._called.remote(fn, *args, **kwargs).future())


def _called(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function: Ray itself takes no other callable, such as a `partial`."""
    return fn(*args, **kwargs)


class _Fixed(list[str]):
    """What Ray's workers have on their path in addition to their own: Ray would append the working folder."""

    def extend(self, _: Iterable[str]) -> None: ...


def _ray(address: str) -> Executor:
    ray = _required("ray", "ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    job = ray.job_config.JobConfig()
    job._py_driver_sys_path = _Fixed()  # noqa: SLF001 - there is no public way
    with SafeStarts():
        ray.init(address=address or None, job_config=job, ignore_reinit_error=True)
    return _RayExecutor(ray)


def _own(detail: str, jobs: int) -> Executor:
    module, _, factory = detail.partition(":")
    try:
        opened = getattr(import_module(module), factory)
        return _Guarded(lambda _: cast("Executor", opened(jobs)))
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"engine py:{detail} cannot be opened: {error}") from error


def _required(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"engine {extra} needs a package: pip install 'corpusfmt[{extra}]'") from error
