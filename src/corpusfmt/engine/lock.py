"""Internal: A lock on a file, held by one process at a time and given back by the system when that process ends,
however it ends.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Network file systems may have no locks at all: that must not keep anybody from working there.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold the lock of a file, which is made where it is missing; give whether it could be had, without waiting.

    Where the file system has no locks, it is had by everybody. The folder of the file may be removed meanwhile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    _OPEN.add(descriptor)
    try:
        # Whoever held it before may have removed the file: then this is a lock on nothing.
        yield _taken(descriptor) and _stands(path, descriptor)
    finally:
        _OPEN.discard(descriptor)
        os.close(descriptor)


_OPEN: set[int] = set()


def _close_all() -> None:
    for descriptor in _OPEN:
        os.close(descriptor)
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    # A forked worker would hold the lock for as long as it outlives the process that took it.
    os.register_at_fork(after_in_child=_close_all)


def _stands(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


if sys.platform == "win32":
    import msvcrt

    def _taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in _NO_LOCKS
        return True
