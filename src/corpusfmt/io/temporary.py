"""Internal: Folders for temporary files, and unfinished files, of processes that may be killed: the next one removes what is left.

The owner of either holds a lock as long as it lives. Where there are no locks that work, nobody can tell, and all is left.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corpusfmt.io.paths import is_partial

_PREFIX = "corpusfmt-"
_LOCK, _FILES = "lock", "files"
# Seconds in which a living process has its lock.
_A_MOMENT = 60
# Folders in which this process has looked for what was left.
_TIDIED: set[Path] = set()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Provide an empty folder that is removed at the end, by the next process that needs one if this is killed.

    Only its files are in it: nothing else that a listing would show.
    """
    while True:
        with (
            tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name,
            locked(Path(name, _LOCK)) as mine,
        ):
            if mine is False:
                continue  # before it was locked, another process took it for one that was left
            own = Path(name)
            for each in own.parent.glob(f"{_PREFIX}*"):
                with suppress(OSError):
                    if each != own and not each.is_symlink() and each.stat().st_uid == own.stat().st_uid:
                        _remove_unless_locked(each / _LOCK, each)
            files = own / _FILES
            files.mkdir()
            try:
                yield files
            finally:
                shutil.rmtree(files, ignore_errors=True)  # before the lock: a kill leaves no files without one
            return


def tidy(folder: Path) -> None:
    """Remove the unfinished files in a folder whose processes were killed, the first time that this process asks."""
    if folder not in _TIDIED:
        _TIDIED.add(folder)
        with suppress(OSError), os.scandir(folder) as found:
            for each in found:
                if is_partial(each.name) and each.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        _remove_unless_locked(Path(each.path), Path(each.path))


def _remove_unless_locked(lock: Path, left: Path) -> None:
    if not lock.is_file():
        # A process that was killed before it had a lock, or after it, leaves an empty folder.
        if time.time() - left.stat().st_mtime > _A_MOMENT and {*os.listdir(left)} <= {_FILES}:
            with suppress(FileNotFoundError):
                (left / _FILES).rmdir()
            left.rmdir()
        return
    # Its owner may be removing it now, and would not get rid of a folder with a new lock in it.
    with locked(lock, create=False) as mine, locked(lock, create=False) as again:
        # If both succeed, locks mean nothing there.
        if mine and not again:
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()


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
