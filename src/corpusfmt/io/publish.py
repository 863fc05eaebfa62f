"""Internal: Outputs that appear whole or not at all: written aside, synced, renamed.

What is there already and no regular file, as a device, a FIFO or a process substitution, is written as it is.

A folder for unfinished files keeps a list of what was published by way of it, written before a file takes its final name:
so whoever replaces the output of a run that was killed knows all that is that run's, and touches nothing else.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from corpusfmt.io.paths import refuse_remote
from corpusfmt.model import UsageError

PARTIAL_PREFIX = ".corpusfmt-"
#: In a folder for unfinished files, the paths of what was published from it.
PUBLISHED = "published"


@contextmanager
def publish(target: Path, *, aside: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file that takes its final name only when the block ends without an exception.

    Raises `UsageError` for a target that is a link. `aside` is the folder for the unfinished file (default: beside the
    target); it must be on the target's file system, and remembers the target.
    """
    if is_written_in_place(target):
        with writing(target), os.fdopen(os.open(target, os.O_WRONLY | os.O_APPEND), "wb") as file:
            yield file
        return
    folder = aside or target.parent
    folder.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{PARTIAL_PREFIX}{secrets.token_hex(8)}.partial"
    try:
        with writing(target), partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if aside:
            note_published(aside, [target])
        partial.replace(target)
        _sync_directory(target.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def refuse_output(path: str | Path, what: str) -> None:
    """Raise `UsageError` for a file in no folder or that `publish` would not write, before hours of work, not after."""
    refuse_remote(path, what)
    if not Path(path).parent.is_dir():
        raise UsageError(f"no such folder for {what}: {Path(path).parent}")
    is_written_in_place(Path(path))


def is_written_in_place(target: Path) -> bool:
    """Tell whether an output is there and has no content to be replaced. Raises `UsageError` for a link, unless to such."""
    try:
        found = target.lstat()
    except OSError:
        return False
    if not stat.S_ISLNK(found.st_mode):
        return _is_special(found)
    try:
        # What a process has open is linked there, whatever it is.
        if _OPEN_FILES.fullmatch(os.path.realpath(target.parent)) or _is_special(target.stat()):
            return True
    except OSError:
        pass
    raise _is_link(target)


# /dev/stdout, /dev/fd/63, /proc/self/fd/1
_OPEN_FILES = re.compile(r"/dev(/fd)?|/proc/\d+(/task/\d+)?/fd")


def _is_special(found: os.stat_result) -> bool:
    return not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def refuse_link(folder: Path) -> None:
    """Raise `UsageError` for a folder that is a link: what is written there would be elsewhere."""
    if folder.is_symlink():
        raise _is_link(folder)


def _is_link(path: Path) -> UsageError:
    return UsageError(f"{path} is a symbolic link: name what it leads to, or remove it")


def refuse_links(folder: Path, *, spared: str) -> None:
    """Raise `UsageError` for a folder that has a link somewhere below it, but for what is below `spared`."""
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as found:
                for each in found:
                    if each.is_symlink():
                        raise UsageError(f"{each.path} is a symbolic link: remove it, or choose another folder")
                    if each.is_dir() and Path(each.path) != folder / spared:
                        pending.append(Path(each.path))
        except (FileNotFoundError, NotADirectoryError):
            continue


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name the file in a failure to write that names none: of a full disk it must be told which."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def publish_bytes(target: Path, data: bytes, *, aside: Path | None = None) -> None:
    """Write a small file whole or not at all."""
    with publish(target, aside=aside) as file:
        file.write(data)


def publish_all(moves: Mapping[Path, Path], *, aside: Path) -> None:
    """Give files that are written and synced their final names, on the same file system; `aside` remembers those."""
    note_published(aside, moves.values())
    for partial, target in moves.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(target)
    for folder in {target.parent for target in moves.values()}:
        _sync_directory(folder)


def note_published(aside: Path, targets: Iterable[Path]) -> None:
    """Remember that files are published by way of a folder: as paths from there, so that all may be moved together."""
    names = b"".join(os.fsencode(os.path.relpath(target, aside)) + b"\0" for target in targets)
    if names:
        with (aside / PUBLISHED).open("ab") as file:
            file.write(names)
            file.flush()
            os.fsync(file.fileno())


def published(aside: Path) -> list[Path]:
    """Return what was published by way of a folder, and may have been removed since."""
    try:
        names = (aside / PUBLISHED).read_bytes().split(b"\0")[:-1]
    except FileNotFoundError:
        return []
    return [Path(os.path.normpath(aside / os.fsdecode(name))) for name in names]


def _sync_directory(folder: Path) -> None:
    if os.name == "nt":  # directories cannot be synced there, and the rename is durable without
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
