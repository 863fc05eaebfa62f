"""Internal: Clusters of Dask and Ray as executors: what they raise, how wide they are, and whether anybody works there.

A task comes back as a value, whether it returned or raised: an exception of the library's own then always means that a worker
or the cluster is lost.
"""

from __future__ import annotations

import gc
import logging
import os
import re
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

from corpusfmt._version import VERSION
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.safe_path import SafeStarts, can_start_safely
from corpusfmt.wording import clipped

T = TypeVar("T")

#: The variable with the seconds after which a cluster without workers ends a run.
WAIT = "CORPUSFMT_ENGINE_WAIT"
_WAIT_SECONDS = 600.0
# A cluster of our own starts workers anew within a few seconds.
_OWN_WAIT_SECONDS = 20.0
_CONNECT_SECONDS = 20.0
_ANSWER_SECONDS = 10.0
# Each task leaves objects of the library in cycles, a hundred of Dask's: between two looks of the collector they must stay few.
_NEW_OBJECTS = 700

_DASK_SETTINGS = {
    # Of a cluster of our own, one death of a worker is enough: `engine.run` repeats tasks, and finds the one that ends workers.
    "distributed.scheduler.allowed-failures": 0,
    # Client, scheduler and workers log each task, each message and the state of each half second for developers, up to 20 MB.
    "distributed.admin.low-level-log-length": 5,
    "distributed.admin.system-monitor.log-length": 10,
}

_LACKING = re.compile(r"No module named '([\w.]+)'")


class _Raised(Struct, frozen=True):
    """The exception of a task."""

    error: Exception


def _carried_out(
    version: str, shared: Path | None, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a task on a worker that sees the shared file; return its result or its exception."""
    if shared is not None and not shared.exists():
        said = f"the worker on {socket.gethostname()} does not see {shared.parent}"
        return _Raised(Incomplete(f"{said}: put it on a file system that all workers share, with --state or TMPDIR"))
    if version != VERSION:
        said = (
            f"the worker on {socket.gethostname()} has corpusfmt {VERSION}, expected {version}: install that one there"
        )
        return _Raised(UsageError(said))
    try:
        return fn(*args, **kwargs)
    except Exception as error:
        return _Raised(error)


def _settle(future: Future[Any], done: Future[Any]) -> None:
    """Give a future the result of one of the library's."""
    try:
        result = done.result()
    except BaseException as error:  # cancelled ones are no `Exception` everywhere
        lacking = _LACKING.search(str(error))  # Ray has only the text
        if lacking:
            future.set_exception(UsageError(f"workers cannot import {lacking[1]}: install corpusfmt {VERSION} there"))
            return
        future.set_exception(BrokenExecutor(f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")))
    else:
        if isinstance(result, _Raised):
            future.set_exception(result.error)
        else:
            future.set_result(result)


class Cluster(Executor, ABC):
    """Workers of another library, perhaps on other machines.

    `name` is the engine; `is_own` means that this process started it; `life` ends it.
    """

    def __init__(self, name: str, life: ExitStack, *, is_own: bool) -> None:
        self.name = name
        self.is_own = is_own
        self._life = life
        life.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(min(gc.get_threshold()[0], _NEW_OBJECTS))
        self._shared: Path | None = None

    def share(self, folder: Path) -> None:
        """Let workers check that they see a folder: what they wrote elsewhere would be missing from the results."""
        folder.mkdir(parents=True, exist_ok=True)
        self._shared = (folder / "shared").absolute()
        self._shared.touch()

    @abstractmethod
    def send(self, fn: Callable[..., Any], *args: Any) -> Future[Any]:
        """Submit a call to the library."""

    @abstractmethod
    def count_cores(self) -> int:
        """Return the processors of all workers."""

    @abstractmethod
    def is_idle(self) -> bool:
        """Return whether no worker runs anything, although tasks were sent."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        try:
            sent = self.send(_carried_out, VERSION, self._shared, fn, args, kwargs)
        except Exception as error:
            raise BrokenExecutor(f"{self.name} takes no tasks: {error}") from error
        sent.add_done_callback(lambda done: _settle(future, done))
        return future

    @property
    def cores(self) -> int:
        """The processors of all workers now, 0 if nobody answers."""
        return _answer(self.count_cores, 0)

    @property
    def patience(self) -> float:
        """Seconds for which no worker may work."""
        return _OWN_WAIT_SECONDS if self.is_own else patience()

    def complaint(self) -> str:
        """Return why tasks that were sent do not end, or nothing if some worker has one."""
        if not _answer(self.is_idle, True):
            return ""
        return "no worker runs any of them" if self.cores else "it has no worker"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        with suppress(Exception):  # the cluster may be gone
            self._life.close()


def patience() -> float:
    """Return the seconds for which no worker may work on a cluster of the user's: those of a queueing system come late."""
    asked = os.environ.get(WAIT, "")
    if asked and not asked.isdecimal():
        raise UsageError(f"{WAIT} is not a number of seconds: set it to one, or unset it")
    return float(asked or _WAIT_SECONDS)


def _answer(ask: Callable[[], T], default: T) -> T:
    """Return the answer of a cluster, or the default if it fails or takes long: its own waits may have no end."""
    answers = [default]

    def note() -> None:
        with suppress(Exception):
            answers.append(ask())

    asking = threading.Thread(target=note, daemon=True)
    asking.start()
    asking.join(_ANSWER_SECONDS)
    return answers[-1]


class _Dask(Cluster):
    def __init__(self, address: str, jobs: int) -> None:
        distributed = _required("distributed", "dask")
        _quiet("distributed")
        _quiet("asyncio")  # of requests that nobody waits for, once the scheduler is gone
        _quiet("tornado")
        life = ExitStack() if address else _safe_life()
        life.enter_context(import_module("dask").config.set(_DASK_SETTINGS))
        try:
            if address:
                client = distributed.Client(address, timeout=min(_CONNECT_SECONDS, patience()))
            else:
                cluster = life.enter_context(
                    distributed.LocalCluster(
                        n_workers=jobs,
                        threads_per_worker=1,
                        silence_logs=logging.CRITICAL,
                        dashboard_address="127.0.0.1:0",
                        scheduler_kwargs={
                            "dashboard": False,  # it would import bokeh, for a port that nobody knows
                            # By default there are twelve, of which `spans` keeps a note of each task.
                            "extensions": {"stealing": distributed.stealing.WorkStealing},
                        },
                        extensions={},  # workers would report to those of the scheduler
                    )
                )
                client = distributed.Client(cluster)
        except Exception as error:
            life.close()
            raise Incomplete(_unreachable("dask", address, error)) from error
        _KNOWN.add(address)
        life.callback(client.close)
        self._client = client
        # Not documented: without it, the driver grows.
        self._forget_prefixes = getattr(import_module("dask.utils").key_split, "cache_clear", lambda: None)
        self._executor = client.get_executor(pure=False)
        super().__init__(f"dask:{address}".rstrip(":"), life, is_own=not address)

    def send(self, fn: Callable[..., Any], *args: Any) -> Future[Any]:
        if self._client.status != "running":
            raise ConnectionError(f"the client is {self._client.status}")
        self._forget_prefixes()  # of the last 100,000 tasks, by the scheduler
        return cast("Future[Any]", self._executor.submit(fn, *args))

    def count_cores(self) -> int:
        return sum(self._client.ncores().values())

    def is_idle(self) -> bool:
        return not any(self._client.processing().values())


class _Fixed(list[str]):
    """Additions to the path of Ray's workers, which ignores Ray's attempt to append the working folder."""

    def extend(self, _: Iterable[str]) -> None: ...


class _Ray(Cluster):
    def __init__(self, address: str, jobs: int) -> None:
        host, _, port = address.rpartition(":")
        if "://" in address or (host and not port.isdecimal()):
            raise UsageError(f"ray:{clipped(address)}: name the cluster by HOST:PORT, as `ray start` prints it")
        ray = _required("ray", "ray")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it prints a warning
        # Else the start waits for workers that are there before any task, without end if one of them dies.
        os.environ.setdefault("RAY_prestart_worker_first_driver", "0")
        job = ray.job_config.JobConfig()
        job._py_driver_sys_path = _Fixed()  # noqa: SLF001 - Ray has no public way
        life = ExitStack() if address else _safe_life()
        own = {} if address else {"num_cpus": jobs, "include_dashboard": False}
        try:
            if host:  # where nobody answers, Ray would try for minutes, and print each attempt
                socket.create_connection((host.strip("[]"), int(port)), min(_CONNECT_SECONDS, patience())).close()
            ray.init(
                address=address or "local", job_config=job, log_to_driver=False, logging_level=logging.CRITICAL, **own
            )
        except Exception as error:  # a bare one if its own node does not start in time
            life.close()
            raise Incomplete(_unreachable("ray", address, error)) from error
        _KNOWN.add(address)
        life.callback(ray.shutdown)
        self._ray = ray
        self._called = ray.remote(_carried_out)
        super().__init__(f"ray:{address}".rstrip(":"), life, is_own=not address)

    def send(self, fn: Callable[..., Any], *args: Any) -> Future[Any]:
        del fn  # what `_called` calls
        return cast("Future[Any]", self._called.remote(*args).future())

    def count_cores(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def is_idle(self) -> bool:
        return bool(self._ray.available_resources().get("CPU", 0) == self._ray.cluster_resources().get("CPU", 0))


#: By name; each takes an address, empty for a new cluster on this machine, and the number of workers of that.
CLUSTERS: dict[str, Callable[[str, int], Cluster]] = {"dask": _Dask, "ray": _Ray}


def _safe_life() -> ExitStack:
    if not can_start_safely():
        raise UsageError("workers of `python -E` would import from the working folder: run `python -E -P`")
    life = ExitStack()
    life.enter_context(SafeStarts())
    return life


# The addresses of clusters that have answered.
_KNOWN: set[str] = set()


def _unreachable(name: str, address: str, error: Exception) -> str:
    said = str(error).partition("\n")[0] or type(error).__name__
    if not address:
        return f"{name} did not start ({said}): run the same command again, with fewer --jobs or another engine"
    if address in _KNOWN:
        return f"{name}:{address} was lost ({said}): start it again, then run the same command again to resume"
    return f"{name}:{address} cannot be reached ({said}): start it, or correct its address, then run the same command again"


def _quiet(name: str) -> None:
    """Silence the log of a library, which prints what `engine.run` deals with, and warns of every end."""
    for each in (name, *logging.root.manager.loggerDict):
        if each == name or each.startswith(f"{name}."):  # some have a level of their own
            logging.getLogger(each).setLevel(logging.CRITICAL)


def _required(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(f"engine {extra} is not installed: run `pip install 'corpusfmt[{extra}]'`") from error
