"""Internal: Worker processes of this machine: forked where that is safe, else from a fork server, elsewhere spawned."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from corpusfmt.safe_path import SafeStarts, drop_relative_entries

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


class _Pool(ProcessPoolExecutor):
    """Starts its workers as tasks come in."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with SafeStarts():
            return super().submit(fn, *args, **kwargs)


def open_pool(jobs: int) -> Executor:
    """Return a pool of so many workers; none of them imports anything from the working folder."""
    if can_fork():
        pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"), initializer=_begin_work)
        pool.submit(os.getpid)  # the first task makes the pool fork all of its workers
        return pool
    if sys.platform == "linux":
        start_fork_server()
    method = "forkserver" if sys.platform == "linux" else "spawn"
    with SafeStarts():
        # Its locks start the resource tracker, which is a Python process, too.
        return _Pool(jobs, mp_context=multiprocessing.get_context(method), initializer=_begin_work)


def can_fork() -> bool:
    """Tell whether forking this process is safe: another thread, of any library, might hold a lock meanwhile."""
    if sys.platform != "linux":
        return False
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def start_fork_server(*modules: str) -> None:
    """Start a clean process that imports what checks need, and forks workers: each is spared a quarter of a second."""
    from multiprocessing import forkserver  # noqa: PLC0415 - not every platform has it

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["corpusfmt.engine.validate", *modules, "numpy"])
    # It must have no threads when it forks.
    threads = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        with SafeStarts():
            forkserver.ensure_running()
    finally:
        del os.environ[_BLAS_THREADS]
        if threads is not None:
            os.environ[_BLAS_THREADS] = threads


def _begin_work() -> None:
    """Leave Ctrl-C to the parent, and end with it: a killed run must leave no workers behind."""
    drop_relative_entries()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a process set up for itself may have been forked with it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()
    os.environ[_BLAS_THREADS] = "1"
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    from multiprocessing.connection import wait  # noqa: PLC0415

    wait([sentinel])
    os._exit(1)
