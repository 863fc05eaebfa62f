"""Internal: Scratch that other machines can use, too: a local folder whose finished files are also objects in a store.

Scratch is mapped into memory, which takes files. So each is written here, and put as an object of the same name once it is
whole; one that is not here is fetched whole when it is needed. What was fetched is checked like what was written here.

Without a mirror, all of this only does what it does to any file.
"""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from corpusfmt.io.lock import locked
from corpusfmt.io.outputs import Place, StorePath
from corpusfmt.io.streams import READ_SIZE
from corpusfmt.model import Incomplete

T = TypeVar("T")
R = TypeVar("R")

_PREFIX = "corpusfmt-state-"
_IN_USE = "in-use"
_LOOK_SECONDS = 0.05
_KEEPING_SECONDS = 60.0
_REQUESTS_AT_A_TIME = 16
# So many files are asked for by name, even if a listing does not have them.
_FEW = 64


class Mirror(Struct, frozen=True):
    """A local folder and the store that has its files; crosses processes. `presence` is an object that exists as long as
    nobody takes the run for dead.
    """

    folder: Path
    store: StorePath
    presence: StorePath


_MIRROR: ContextVar[Mirror | None] = ContextVar("mirror", default=None)
# The folders of mirrors that this process has, as a worker.
_SETTLED: set[Path] = set()
_SETTLING = threading.Lock()
# The names of objects in folders, as they were last listed.
_LISTED: dict[Path, set[str]] = {}


def mirrored() -> Mirror | None:
    """Return the mirror in use."""
    return _MIRROR.get()


@contextmanager
def mirroring(mirror: Mirror | None) -> Iterator[None]:
    """Use a mirror, if there is one."""
    token = _MIRROR.set(mirror)
    try:
        yield
    finally:
        _MIRROR.reset(token)
        if mirrored() is None:
            _LISTED.clear()


def object_of(path: Path) -> StorePath | None:
    """Return the object of a local path, None if it has none."""
    mirror = _MIRROR.get()
    if mirror is None or not path.is_relative_to(mirror.folder):
        return None
    return mirror.store / path.relative_to(mirror.folder).as_posix()


def send(path: Path) -> None:
    """Put a finished file."""
    place = object_of(path)
    if place is not None:
        place.put(path)
        _LISTED.get(path.parent, set()).add(path.name)


def fetch(path: Path) -> None:
    """Let a file be there that is only in the store, if it is."""
    place = object_of(path)
    while place is not None and not path.exists():
        # Workers often need the same file at the same time.
        with locked(path.with_name(f"{path.name}.lock")) as mine:
            if mine:
                download(place, path)
                return
        time.sleep(_LOOK_SECONDS)


def download(place: StorePath, path: Path) -> None:
    """Fetch an object whole, if there is one."""
    partial = path.with_name(f"{path.name}.{os.urandom(8).hex()}")
    with suppress(FileNotFoundError), place.open() as source:
        with partial.open("xb") as file:
            shutil.copyfileobj(source, file, READ_SIZE)
        partial.replace(path)


def fetch_again(path: Path) -> None:
    """Let the next `fetch` ask the store."""
    if object_of(path) is not None:
        path.unlink(missing_ok=True)


def fetch_all(folder: Path, suffix: str, names: Collection[str] | None = None, *, by_name: bool = False) -> None:
    """Fetch the files of a folder whose names end so, or only some, at the same time.

    Many are only asked for if they are listed, which some stores do late, or if they are to be asked for `by_name`.
    """
    place = object_of(folder)
    if place is None:
        return
    listed = {name for name in look(folder) if name.endswith(suffix)}
    wanted = listed if names is None else {name for name in names if by_name or len(names) <= _FEW or name in listed}
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in wanted if not (folder / name).exists()]
    at_the_same_time(lambda name: download(place / name, folder / name), missing)


def discard(path: Path) -> None:
    """Remove a file here and in the store."""
    path.unlink(missing_ok=True)
    discard_object(path)


def discard_all(folder: Path, names: Iterable[str]) -> None:
    """Remove files of a folder, here and in the store."""
    if object_of(folder) is not None:
        at_the_same_time(lambda name: discard(folder / name), names)
    else:
        for name in names:
            (folder / name).unlink(missing_ok=True)


def exists(path: Path) -> bool:
    """Return whether there is a file, here or in the store."""
    place = object_of(path)
    if place is None:
        return path.exists()
    return path.name in _LISTED.get(path.parent, ()) or place.is_file()


def look(folder: Path) -> set[str]:
    """List the objects of a folder, so that `exists` need not ask for each; return their names."""
    place = object_of(folder)
    if place is None:
        return set()
    listed = place.names() - {""}
    _LISTED[folder] = listed
    return set(listed)


def names_in(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a folder, in any order: there may be hundreds of thousands."""
    if object_of(folder) is not None:
        yield from look(folder)
    elif folder.is_dir():
        with os.scandir(folder) as found:
            yield from (each.name for each in found)


def named(path: Path) -> Place:
    """Return what a message calls a file."""
    return object_of(path) or path


def discard_object(path: Path) -> None:
    """Remove a file or folder in the store only."""
    place = object_of(path)
    if place is not None:
        place.remove()
        _LISTED.get(path.parent, set()).discard(path.name)


def at_the_same_time(call: Callable[[T], R], each: Iterable[T]) -> list[R]:
    """Return the results of requests, in order."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - only stores need it

    with ThreadPoolExecutor(_REQUESTS_AT_A_TIME) as threads:
        return list(threads.map(lambda one: one[0].run(call, one[1]), ((copy_context(), one) for one in each)))


def new_folder() -> Path:
    """Return a name for the local folder of a mirror."""
    return Path(tempfile.gettempdir()) / f"{_PREFIX}{os.urandom(8).hex()}"


@contextmanager
def local_copies(folder: Path) -> Iterator[None]:
    """Create the local folder of a mirror, and remove it in the end, as well as those of processes that were killed."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        with locked(folder / _IN_USE) as mine:
            if mine:
                _begin(folder)
                try:
                    yield
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
                return
        time.sleep(_LOOK_SECONDS)  # another process takes it for one that was left


def settle(mirror: Mirror) -> None:
    """Let a worker have the folder of a mirror. On another machine than the driver's, it is kept as long as the run lives."""
    with _SETTLING:
        if mirror.folder in _SETTLED:
            return
        try:
            mirror.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            said = f"the worker on {platform.node()} cannot create {mirror.folder} ({error.strerror})"
            raise Incomplete(f"{said}: set TMPDIR of this command to a folder that all machines have") from error
        with ExitStack() as opened:
            if opened.enter_context(locked(mirror.folder / _IN_USE, shared=True)):
                _begin(mirror.folder)
                keeping = threading.Thread(target=_keep, args=(mirror, opened.pop_all()), daemon=True)
                keeping.start()
        _SETTLED.add(mirror.folder)


def _keep(mirror: Mirror, life: ExitStack) -> None:
    """Keep the folder of a mirror until nobody shows a sign of life of its run."""
    alive = True
    while alive:
        time.sleep(_KEEPING_SECONDS)
        with suppress(OSError):  # the store may not answer now
            alive = mirror.presence.is_file()
    with _SETTLING:
        _SETTLED.discard(mirror.folder)
        life.close()
        with suppress(OSError):
            _remove_unused(mirror.folder)


def _begin(folder: Path) -> None:
    """Note that a folder is of this machine, and remove those of its processes that were killed."""
    (folder / _IN_USE).write_text(platform.node(), "utf-8")
    for each in folder.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            is_own = each.stat().st_uid == folder.stat().st_uid and not each.is_symlink()
            if each != folder and is_own and (each / _IN_USE).is_file():
                _remove_unused(each)


def _remove_unused(folder: Path) -> None:
    """Remove a folder of this machine that no process uses. Without locks that work, nobody knows."""
    in_use = folder / _IN_USE
    with locked(in_use) as mine, locked(in_use) as again:
        if mine and not again and in_use.read_text("utf-8") == platform.node():
            shutil.rmtree(folder)
