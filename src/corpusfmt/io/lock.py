"""Internal: A file lock for one process at a time, which the system releases when the process ends."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Network file systems may not support locks; runs must work there anyway.
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@contextmanager
def locked(path: Path, *, shared: bool = False, create: bool = True) -> Iterator[bool | None]:
    """Try to lock a file, without waiting; provide whether that succeeded, None without locks.

    A missing file is created, unless another process may be removing it: then it raises `FileNotFoundError`. Any number of
    processes may have a `shared` lock at one time. The folder of the file may be removed meanwhile.
    """
    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o666)
    _OPEN.add(descriptor)
    try:
        # The previous holder may have removed the file: then this lock protects nothing.
        taken = _taken(descriptor, shared=shared)
        yield taken and _is_same_file(path, descriptor)
    finally:
        _OPEN.discard(descriptor)
        os.close(descriptor)


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

    def _taken(descriptor: int, *, shared: bool = False) -> bool | None:
        if shared:  # unknown there
            return True
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(descriptor: int, *, shared: bool = False) -> bool | None:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            return None if error.errno in _NO_LOCKS else False
        return True
