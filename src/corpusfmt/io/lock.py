"""Internal: A file lock for one process at a time, which the system releases when the process ends."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# To load and store a model of gigabytes takes minutes where the disk is slow; without a turn, each process has its own copy.
_TURN_SECONDS, _WORTH_A_WARNING_SECONDS, _PAUSE_SECONDS = 600.0, 30.0, 0.1
# Network file systems may not support locks; runs must work there anyway.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[bool]:
    """Try to lock a file, which is created if missing, without waiting; provide whether that succeeded.

    Any number of processes may have a `shared` lock at one time. It always succeeds on file systems without locks. The folder of the file may be removed meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    _OPEN.add(descriptor)
    try:
        # The previous holder may have removed the file: then this lock protects nothing.
        yield _taken(descriptor, shared=shared) and _is_same_file(path, descriptor)
    finally:
        _OPEN.discard(descriptor)
        os.close(descriptor)


@contextmanager
def turn(path: Path, is_needless: Callable[[], bool]) -> Iterator[Callable[[], None]]:
    """Wait until no other process has its turn with a file, for ten minutes at most; provide what ends that of this process.

    Nobody waits and nobody is waited for once turns are needless.
    """
    began = time.monotonic()
    is_announced = False
    with path.open("rb") as file:
        # Where locks are mandatory, one on the file would keep others from reading it.
        while sys.platform != "win32" and not (is_needless() or _taken(file.fileno())):
            waited = time.monotonic() - began
            if waited > _TURN_SECONDS:
                break
            if waited > _WORTH_A_WARNING_SECONDS and not is_announced:
                is_announced = True
                _announce(path)
            time.sleep(_PAUSE_SECONDS)
        if is_needless():
            file.close()
        yield file.close


def _announce(path: Path) -> None:
    import logging  # noqa: PLC0415 - rarely needed

    from corpusfmt.wording import plain  # noqa: PLC0415

    logging.getLogger("corpusfmt").warning("waiting for another process to load %s", plain(str(path)))


_OPEN: set[int] = set()


def _close_all() -> None:
    for descriptor in _OPEN:
        os.close(descriptor)
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    # A forked worker that outlives this process would keep the lock.
    os.register_at_fork(after_in_child=_close_all)


def _is_same_file(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


if sys.platform == "win32":
    import msvcrt

    def _taken(descriptor: int, *, shared: bool = False) -> bool:
        if shared:  # unknown there
            return True
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(descriptor: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in _NO_LOCKS
        return True
