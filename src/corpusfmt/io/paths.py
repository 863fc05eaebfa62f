"""Files and folders, local or remote (`s3://` and friends through fsspec), as one kind of listing."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from corpusfmt.model import UsageError

# What is to be installed for the paths of a scheme.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf"}

EntryKind = Literal["file", "directory", "other", "unreadable"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One name below a root. `path` is relative, POSIX, fit to print; `url` opens it; `size` is in bytes on disk."""

    path: str
    url: str
    kind: EntryKind
    size: int = 0
    reason: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]


def is_remote(url: str) -> bool:
    """Tell whether a path names a store that fsspec serves."""
    return "://" in url


def store_of(url: str) -> tuple[Any, str]:
    """Return the file system that serves a remote path, and the path there. Raises `UsageError` where there is none."""
    import fsspec  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(url)
    except ImportError as error:
        extra = _EXTRAS.get(url.partition("://")[0])
        help_ = f"pip install 'corpusfmt[{extra}]'" if extra else "install what it asks for"
        raise UsageError(f"{printable(url)} needs a package that is not there ({error}): {help_}") from error
    except ValueError as error:
        raise UsageError(f"{printable(url)}: {error}") from error
    return found


def open_input(url: str) -> BinaryIO:
    """Open a file for reading bytes. Raises `OSError` where that is impossible."""
    if is_remote(url):
        import fsspec  # noqa: PLC0415 - slow to import, and rarely needed

        return cast("BinaryIO", fsspec.open(url, "rb").open())
    return open(url, "rb", buffering=0)


def entry_of(url: str) -> Entry:
    """Return the entry of one path given by the user. Raises `UsageError` where nothing is there."""
    if is_remote(url):
        filesystem, path = store_of(url)
        if filesystem.isdir(path):
            return Entry(url.rstrip("/").rpartition("/")[2], url, "directory")
        if filesystem.isfile(path):
            return Entry(url.rpartition("/")[2], url, "file", filesystem.size(path))
        raise UsageError(f"no such path: {url}")
    try:
        return _local_entry(Path(url), Path(url).name)
    except FileNotFoundError:
        raise UsageError(f"no such path: {printable(url)}") from None


def matching(pattern: str) -> list[str]:
    """Return the paths that a pattern matches, sorted, where no such file exists and it is one; else the path itself.

    Raises `UsageError` for a pattern that matches nothing.
    """
    if not glob.has_magic(pattern) or (not is_remote(pattern) and Path(pattern).exists()):
        return [pattern]
    if is_remote(pattern):
        filesystem, path = store_of(pattern)
        matches = sorted(filesystem.unstrip_protocol(name) for name in filesystem.glob(path))
    else:
        matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - patterns may be absolute
    if not matches:
        raise UsageError(f"no path matches {printable(pattern)}")
    return matches


def version_of(url: str) -> str:
    """Return what changes when a file does, or a store's entity tag. Empty where there is none.

    Of a local file: inode, times of modification and of change of status. The last cannot be set back, as the others can
    by whoever copies a file with its times over another one.
    """
    try:
        if not is_remote(url):
            status = Path(url).stat()
            return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_ctime_ns}"
        filesystem, path = store_of(url)
        facts = filesystem.info(path)
    except OSError:
        return ""
    return str(next((facts[key] for key in ("ETag", "etag", "LastModified", "mtime", "created") if facts.get(key)), ""))


def walk(root: str, depth: int | None = None) -> Iterator[Entry]:
    """Yield everything below a folder, sorted by path, folders before what they hold; symbolic link loops end as `other`.

    `depth` bounds how many levels down it looks; 1 is the folder's own content.
    """
    if is_remote(root):
        yield from _walk_remote(root, depth)
    else:
        yield from _walk_local(Path(root), "", frozenset(), depth)


def _walk_remote(root: str, depth: int | None) -> Iterator[Entry]:
    filesystem, base = store_of(root)
    found = filesystem.find(base, maxdepth=depth, withdirs=True, detail=True)
    for name in sorted(found):
        path = name[len(base) :].strip("/")
        if path:
            kind: EntryKind = "directory" if found[name]["type"] == "directory" else "file"
            yield Entry(path, filesystem.unstrip_protocol(name), kind, found[name].get("size") or 0)


def _walk_local(folder: Path, prefix: str, ancestors: frozenset[tuple[int, int]], depth: int | None) -> Iterator[Entry]:
    try:
        status = folder.stat()
        names = sorted(os.listdir(folder))
    except OSError as error:
        yield Entry(prefix.rstrip("/") or ".", str(folder), "unreadable", reason=reason_of(error))
        return
    identity = (status.st_dev, status.st_ino)
    if identity in ancestors:
        return
    for name in names:
        child = folder / name
        path = prefix + printable(name)
        try:
            entry = _local_entry(child, path)
        except OSError as error:
            yield Entry(path, str(child), "other", reason=reason_of(error))
            continue
        yield entry
        if entry.kind == "directory" and depth != 1:
            yield from _walk_local(child, path + "/", ancestors | {identity}, depth and depth - 1)


def _local_entry(path: Path, shown: str) -> Entry:
    status = path.stat()
    if path.is_dir():
        return Entry(shown, str(path), "directory")
    if path.is_file():
        return Entry(shown, str(path), "file", status.st_size)
    return Entry(shown, str(path), "other", reason="neither a file nor a directory")


def printable(name: str) -> str:
    """Return a path fit for text output: bytes that are not UTF-8 are shown as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def reason_of(error: OSError) -> str:
    """Return what the system says of a failure, without the path that the caller prints anyway."""
    return error.strerror or type(error).__name__
