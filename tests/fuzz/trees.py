"""Folders as values: made in memory, written, compared with what is on disk, and removed, however deep or oddly named."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Special:
    """What is neither a file nor a way to one: an empty folder, a link and where it leads, a pipe, a file without rights."""

    kind: Literal["folder", "link", "pipe", "locked"]
    target: str = ""


#: File contents by path; the path of a tree that is a single file is empty.
Tree = dict[str, bytes | Special]


def write(tree: Tree, root: Path) -> None:
    """Write a tree; a name that the system refuses or another name has taken is left out."""
    for path, content in tree.items():
        target = os.path.join(root, path) if path else str(root)  # noqa: PTH118 - pathlib changes odd names
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
            _write_one(target, content)
        except (OSError, ValueError):
            continue


def _write_one(target: str, content: bytes | Special) -> None:
    if isinstance(content, bytes):
        with open(target, "wb", buffering=0) as file:
            file.write(content)
    elif content.kind == "folder":
        os.makedirs(target, exist_ok=True)  # noqa: PTH103
    elif content.kind == "link":
        os.symlink(content.target, target)  # noqa: PTH211
    elif content.kind == "pipe":
        os.mkfifo(target)
    else:
        with open(target, "wb") as file:
            os.fchmod(file.fileno(), 0)


def snapshot(root: Path) -> str:
    """Return a digest of names, kinds, modes, link targets and bytes below a path."""
    found = hashlib.sha256()
    for path, status in _entries(os.fsencode(root)):
        found.update(b"%s\0%o\0" % (path, status.st_mode))
        if stat.S_ISLNK(status.st_mode):
            found.update(os.readlink(path))  # noqa: PTH115
        elif stat.S_ISREG(status.st_mode):
            with open(path, "rb", buffering=0) as file:
                found.update(hashlib.sha256(file.read()).digest())
    return found.hexdigest()


def contents(root: Path) -> dict[str, bytes]:
    """Return the regular files below a folder by path."""
    start = len(os.fsencode(root)) + 1
    found = {}
    for path, status in _entries(os.fsencode(root)):
        if stat.S_ISREG(status.st_mode):
            with open(path, "rb", buffering=0) as file:
                found[os.fsdecode(path[start:])] = file.read()
    return found


def remove(root: Path) -> None:
    """Remove whatever is at a path, without recursion: folders may be nested by the hundred."""
    for path, status in reversed(list(_entries(os.fsencode(root)))):
        if stat.S_ISDIR(status.st_mode):
            os.rmdir(path)  # noqa: PTH106
        else:
            os.unlink(path)  # noqa: PTH108


def _entries(root: bytes) -> list[tuple[bytes, os.stat_result]]:
    """Return everything at and below a path, folders before what they hold, each folder's names sorted."""
    pending, found = [root], []
    while pending:
        path = pending.pop()
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            continue
        found.append((path, status))
        if stat.S_ISDIR(status.st_mode):
            pending.extend(path + b"/" + name for name in sorted(os.listdir(path), reverse=True))
    return found
