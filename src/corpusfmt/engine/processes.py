"""Internal: Worker processes on this machine: forked if that is safe, else from a fork server, or spawned."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from corpusfmt.model import UsageError
from corpusfmt.safe_path import SafeStarts, drop_relative_entries

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"
_DYING_SECONDS = 0.2


class _Pool(ProcessPoolExecutor):
    """Starts workers as tasks arrive."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            with SafeStarts():
                return super().submit(fn, *args, **kwargs)
        except (EOFError, ConnectionError) as error:
            # Its sockets are closed a moment before the system says that it has ended, and only then is there another one.
            time.sleep(_DYING_SECONDS)
            raise BrokenProcessPool("the process that starts workers died") from error


def open_pool(jobs: int) -> Executor:
    """Return a pool of `jobs` workers, which import nothing from the working folder."""
    if can_fork():
        pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork"), initializer=_begin_work)
        pool.submit(os.getpid)  # the first task makes the pool fork all of its workers
        return pool
    if sys.platform == "linux":
        start_fork_server()
    method = "forkserver" if sys.platform == "linux" else "spawn"
    with SafeStarts():
        # The pool's locks start the resource tracker, which is a Python process, too.
        return _Pool(jobs, mp_context=multiprocessing.get_context(method), initializer=_begin_work)


def can_fork() -> bool:
    """Return whether forking is safe: no other thread, of any library, may hold a lock."""
    if sys.platform != "linux":
        return False
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def start_fork_server(*modules: str) -> None:
    """Start a clean process that imports modules and forks workers, which saves 0.25 seconds per worker."""
    from multiprocessing import forkserver  # noqa: PLC0415 - not on every platform

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["corpusfmt.engine.validate", *modules])
    # The fork server must not have threads when it forks.
    threads = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        with SafeStarts():
            forkserver.ensure_running()
    except OSError as error:
        if "AF_UNIX" not in str(error):
            raise
        raise UsageError(
            f"the path of the folder for temporary files, {tempfile.gettempdir()}, is too long for the sockets of workers: "
            "set TMPDIR to a shorter one"
        ) from error
    finally:
        del os.environ[_BLAS_THREADS]
        if threads is not None:
            os.environ[_BLAS_THREADS] = threads


def _begin_work() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit with the parent, so that a killed run leaves no workers."""
    drop_relative_entries()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Undo what the parent had set up for itself before the fork.
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
