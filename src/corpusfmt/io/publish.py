"""Outputs that appear whole or not at all: written aside, synced, renamed.

A folder for unfinished files keeps a list of what was published by way of it, written before a file takes its final name:
so whoever replaces the output of a run that was killed knows all that is that run's, and touches nothing else.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PARTIAL_PREFIX = ".corpusfmt-"
#: In a folder for unfinished files, the paths of what was published from it.
PUBLISHED = "published"


@contextmanager
def publish(target: Path, *, aside: Path | None = None) -> Iterator[BinaryIO]:
    """Open a file that takes its final name only when the block ends without an exception.

    `aside` is the folder for the unfinished file (default: beside the target); it must be on the target's file system,
    and remembers the target.
    """
    folder = aside or target.parent
    folder.mkdir(parents=True, exist_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=PARTIAL_PREFIX, suffix=".partial", dir=folder)
    partial = Path(name)
    try:
        with writing(target), os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(0o666 & ~_umask())
        if aside:
            note_published(aside, [target])
        partial.replace(target)
        _sync_directory(target.parent)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


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


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _sync_directory(folder: Path) -> None:
    if os.name == "nt":  # directories cannot be synced there, and the rename is durable without
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
