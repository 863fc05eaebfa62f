"""The command line in forks of a process that has imported it: most of a short command's time is imports.

A fork has the arguments, environment, working folder and standard streams of a new process. What depends on how Python
starts (its options, modules in the working folder, threads of numpy) or exits is tested with processes of their own.
"""

from __future__ import annotations

import atexit
import gc
import os
import pkgutil
import resource
import runpy
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

#: Elsewhere, forks are unknown or unsafe; coverage does not see what they run.
AVAILABLE = sys.platform == "linux" and not any(name.startswith("COVERAGE") for name in os.environ)
#: As much as a pipe takes while nobody reads.
MOST_STDIN = 1 << 16
# A process with threads must not fork: NumPy, and modules that import it if it is there, are left to the forks.
_STARTS_THREADS = ("numpy", "corpusfmt.comparison.matching", "corpusfmt.formats.croissant.data.tables")
_SLOW = ("fsspec", "pyld")


class Ended(NamedTuple):
    """The end of a process, with the memory of its largest process in bytes, and the CPU time of all in seconds."""

    status: int
    stdout: bytes
    stderr: bytes
    memory: int
    cpu: float


class Server:
    """A process that forks on request."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL
            )

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: str | Path,
        stdin: bytes,
        timeout: float,
        address_space: int | None = None,
    ) -> Ended:
        """Run `corpusfmt` with these arguments in a session of its own."""
        with TemporaryFile() as stdout, TemporaryFile() as stderr:
            read, write = os.pipe()
            self._connection.send((list(arguments), dict(environment), str(cwd), address_space))
            for stream in (read, stdout.fileno(), stderr.fileno()):
                send_handle(self._connection, stream, None)
            os.close(read)
            child = self._connection.recv()
            with suppress(BrokenPipeError), open(write, "wb", buffering=0) as pipe:
                pipe.write(stdin)
            in_time = self._connection.poll(timeout)
            if not in_time:
                os.killpg(child, signal.SIGKILL)
            status, memory, cpu = self._connection.recv()
            if not in_time:
                raise subprocess.TimeoutExpired(list(arguments), timeout)
            return Ended(status, _content(stdout), _content(stderr), memory, cpu)


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _preload() -> None:
    """Import all of `corpusfmt` that starts no thread, what it may need, and fill the caches of `typing`."""
    import corpusfmt

    for name in _SLOW:
        import_module(name)
    sys.modules |= dict.fromkeys(_STARTS_THREADS)  # type: ignore[arg-type]
    for module in pkgutil.walk_packages(corpusfmt.__path__, "corpusfmt.", onerror=lambda _: None):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):
                import_module(module.name)
    for name in _STARTS_THREADS:
        del sys.modules[name]
    from typer.main import get_command

    from corpusfmt.cli.app import application

    get_command(application())
    gc.collect()
    gc.freeze()


def _serve(connection: Connection) -> None:
    """Fork for each request. Return in the forks."""
    while True:
        try:
            arguments, environment, cwd, address_space = connection.recv()
        except EOFError:
            raise SystemExit from None
        streams = [recv_handle(connection) for _ in range(3)]
        child = os.fork()
        if not child:
            connection.close()
            _become(streams, arguments, environment, cwd)
            if address_space:
                resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
            return
        for stream in streams:
            os.close(stream)
        connection.send(child)
        _, status, used = os.wait4(child, 0)
        connection.send((os.waitstatus_to_exitcode(status), used.ru_maxrss * 1024, used.ru_utime + used.ru_stime))


def _become(streams: Sequence[int], arguments: Sequence[str], environment: Mapping[str, str], cwd: str) -> None:
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv[1:] = arguments
    sys.path.insert(0, cwd)  # as `python -m` does


def _end(status: object) -> None:
    """End as Python does, without emptying hundreds of modules one by one."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status if isinstance(status, int) else status is not None)


if __name__ == "__main__":
    del sys.path[0]  # the folder of tests
    _preload()
    _serve(Connection(int(sys.argv[1])))
    try:
        runpy.run_module("corpusfmt", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        _end(end.code)
