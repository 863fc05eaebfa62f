"""Internal: Files and folders, local or remote (`s3://` and friends through fsspec), as one kind of listing.

This is the one place that opens input, and so the one that decides what may be opened: regular files below the root that
the user named. What a link leads to elsewhere is opened only where links are to be followed; nothing below /proc, /sys and
/dev is, nor a device, FIFO or socket.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.io.limits import meter
from corpusfmt.io.stores import Guarded, store_failure
from corpusfmt.model import UsageError

# What is to be installed for the paths of a scheme.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf", "http": "http", "https": "http"}
_LOCAL_SCHEMES = ("file://", "local://")
# A letter alone is a drive.
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"
_URL = re.compile(rf"{_SCHEME}(::{_SCHEME})*://")
_URI = re.compile(f"{_SCHEME}:")
# For fsspec, what follows in a URL is another URL, of any store and of the local disk.
_CHAIN = "::"
_CHAINED = f"`{_CHAIN}` in its name, which would be read as several URLs"

# What the kernel makes up as it is read. Of these, users keep data in shared memory alone.
_KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - it is only compared with

_SLASHES = re.compile("/{2,}")
_NOT_REGULAR = "not a regular file"
_OUTSIDE = "outside the named folder"
# Not blocking is for a FIFO that took the place of a file: it would wait for a writer.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Longer paths are not resolved: each of their parts would be looked up, to be told in the end that they are too long.
_LONGEST_PATH = 4096

EntryKind = Literal["file", "directory", "other", "unreadable", "outside"]


class OutsideRoot(OSError):
    """A path leads outside of the root that the user named."""


class Root(Struct, frozen=True):
    """What the user named: the real path of a local folder, outside of which nothing is opened unless links are followed.

    All that is below a remote root is remote, all that is below a local one is local, whatever its name looks like.
    """

    real: str = ""
    follow_links: bool = False
    is_remote: bool = False

    def holds(self, real: str) -> bool:
        """Tell whether a real path may be opened as far as links go."""
        return self.follow_links or (self.real != "" and _is_within(real, self.real))

    def kernel_folder(self, real: str) -> str | None:
        """Return the folder of the kernel that a real path lies in."""
        if _is_within(self.real, _SHARED_MEMORY) and _is_within(real, self.real):
            return None
        return next((folder for folder in _KERNEL_FOLDERS if _is_within(real, folder)), None)


_STORE = Root(is_remote=True)


class Entry(Struct, frozen=True):
    """One name below a root. `path` is relative, POSIX, fit to print; `url` is where it is; `size` is in bytes on disk.

    `reason` says of what is neither a file nor a directory why it is not read. Of kind `outside` is what leads outside of
    the root.
    """

    path: str
    url: str
    kind: EntryKind
    size: int = 0
    reason: str = ""
    root: Root = Root()

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def is_barred(self) -> bool:
        """Whether there is something that cannot be read, for the reason given."""
        return self.kind not in ("file", "directory")

    @property
    def is_remote(self) -> bool:
        """Whether fsspec serves it."""
        return self.root.is_remote

    @property
    def version(self) -> str:
        """What changes when it does, as of `version_of`."""
        return _version(self.url, remote=self.is_remote)

    def open(self) -> BinaryIO:
        """Open a file for reading bytes. Raises `OSError` where that is impossible, `OutsideRoot` where it is not allowed."""
        if self.kind == "outside":
            raise OutsideRoot(errno.EPERM, self.reason, self.url)
        if self.is_barred:
            raise OSError(errno.EINVAL, self.reason, self.url)
        if self.is_remote:
            return _open_remote(self.url)
        return open(self.url, "rb", buffering=0, opener=self._open_regular)

    def _open_regular(self, path: str, _flags: int) -> int:
        descriptor = os.open(path, _FLAGS)
        refusal = self._refusal(descriptor, path)
        if refusal is None:
            return descriptor
        os.close(descriptor)
        raise refusal

    def _refusal(self, descriptor: int, path: str) -> OSError | None:
        """Return why what was opened is not read: a name that was a file when it was listed may be a link by now."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return OSError(errno.EINVAL, _NOT_REGULAR, path)
        real = _real_path_of(descriptor, path)
        if not self.root.holds(real):
            return OutsideRoot(errno.EPERM, _OUTSIDE, path)
        folder = self.root.kernel_folder(real)
        return OSError(errno.EPERM, _below(folder), path) if folder else None

    def child(self, name: str) -> Entry | None:
        """Return what a folder has under a relative path, or under an absolute one; None where there is nothing.

        Where the way there leads outside of the root, it is the link that does so. Raises `ValueError` for what cannot be
        a path.
        """
        if self.is_remote:
            url = f"{self.url.rstrip('/')}/{name.lstrip('/')}"
            return _unchained(name, url, _joined(self.path, name)) or _remote_entry(url, _joined(self.path, name))
        return _local_entry(self.url, _SLASHES.sub("/", name), self.path, self.root)

    def unseen(self, name: str) -> Entry:
        """Return what a remote folder is said to have under a relative path, without asking the store."""
        url = f"{self.url.rstrip('/')}/{name}"
        return _unchained(name, url, name) or Entry(name, url, "file", root=self.root)

    def folder(self) -> Entry:
        """Return the folder that this lies in; what it holds has paths that begin there."""
        url = self.url.rpartition("/")[0] if self.is_remote else os.path.dirname(self.url) or "."  # noqa: PTH120
        return Entry("", url, "directory", root=self.root)


def is_url(text: str) -> bool:
    """Tell whether what the user typed is a URL; ask of nothing else, as names in a data set may look like one."""
    return _URL.match(text) is not None


def is_uri(text: str) -> bool:
    """Tell whether a reference in a description begins with a scheme, and so names nothing beside it."""
    return _URI.match(text) is not None


def is_remote(text: str) -> bool:
    """Tell whether what the user typed names a store that fsspec serves. Of an entry, ask `Entry.is_remote`."""
    return is_url(text) and not text.startswith(_LOCAL_SCHEMES)


def local_path(url: str) -> str:
    """Return a path as the system has it: a local one without the scheme that it may be given with."""
    return url.partition("://")[2] if url.startswith(_LOCAL_SCHEMES) else url


def open_named(path: str) -> BinaryIO:
    """Open a file that is no data but an option of the user's, as it is: a FIFO is as good. Raises `OSError`."""
    return _open_remote(path) if is_remote(path) else open(local_path(path), "rb", buffering=0)


def _open_remote(url: str) -> BinaryIO:
    store, place = store_of(url)
    return cast("BinaryIO", store.opened(place))


def read_named(path: str | Path, most: int, what: str) -> bytes:
    """Return the content of a file that is an option. Raises `OSError`, or `UsageError` where there are more than `most` bytes."""
    data = bytearray()
    with open_named(str(path)) as file:
        while len(data) <= most and (part := file.read(most + 1 - len(data))):
            data += part
    if len(data) > most:
        raise UsageError(f"{what} {printable(str(path))} has more than {most} bytes, the most that is read of one")
    return bytes(data)


def refuse_remote(path: str | Path, what: str) -> None:
    """Raise `UsageError` where something is to be written to a URL: it would become a local folder named for the scheme."""
    # A `Path` keeps one slash of the two.
    shown = re.sub(":/+", "://", str(path), count=1)
    if is_url(shown):
        raise UsageError(
            f"{what} is `{printable(shown)}`, expected a local path: write to one, then copy what is there"
        )


def store_of(url: str) -> tuple[Guarded, str]:
    """Return the file system that serves a remote path, and the path there. Raises `UsageError` where there is none."""
    import fsspec  # noqa: PLC0415 - slow to import, and rarely needed

    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        extra = _EXTRAS.get(url.partition("://")[0])
        help_ = f"pip install 'corpusfmt[{extra}]'" if extra else "install what it asks for"
        raise UsageError(f"{printable(url)} needs a package that is not there ({error}): {help_}") from error
    except ValueError as error:
        raise UsageError(f"{printable(url)}: {error}") from error
    except Exception as error:
        raise store_failure(error) from error
    return Guarded(filesystem), path


def entry_of(url: str, *, follow_links: bool = False) -> Entry:
    """Return the entry of one path given by the user, which is the root of all that is read by way of it.

    The root is a folder as it resolves, or the folder that holds the name of a file: so a link to a folder may be named,
    while a link to a file elsewhere is followed only where that is asked for. Raises `UsageError` where nothing is there.
    """
    if is_remote(url):
        found = _remote_entry(url, url.rstrip("/").rpartition("/")[2])
    else:
        url = local_path(url)
        found = _named_entry(url, follow_links=follow_links)
    if found is None:
        raise UsageError(f"no such path: {printable(url)}")
    return found


def folder_at(url: str, *, follow_links: bool = False) -> Entry:
    """Return a folder as a root, whether it is there or not; what it holds has paths that begin there."""
    if is_remote(url):
        return Entry("", url, "directory", root=_STORE)
    url = local_path(url)
    return Entry("", url, "directory", root=Root(os.path.realpath(url), follow_links))


def _named_entry(url: str, *, follow_links: bool) -> Entry | None:
    name = Path(url).name
    real = os.path.realpath(url)
    if os.path.isdir(real):  # noqa: PTH112
        found = _local_entry(url, "", printable(name), Root(real, follow_links))
    else:
        folder = os.path.dirname(url)  # noqa: PTH120
        found = _local_entry(folder, name, "", Root(os.path.realpath(folder), follow_links))
    return found and replace(found, url=str(Path(url)))


def is_pattern(path: str) -> bool:
    """Tell whether a path has wildcards, and is none that exists."""
    return glob.has_magic(path) and (is_remote(path) or not os.path.lexists(local_path(path)))


def matching(pattern: str, *, follow_links: bool = False) -> list[Entry]:
    """Return what a pattern matches, sorted, where no such path exists and it is one; else the path itself.

    The root of what matches is the folder before the first wildcard; a link out of it on the way to a match stands for
    what may match there. Raises `UsageError` for a pattern that matches nothing.
    """
    if not is_pattern(pattern):
        return [entry_of(pattern, follow_links=follow_links)]
    if is_remote(pattern):
        filesystem, path = store_of(pattern)
        urls = (filesystem.unstrip_protocol(name) for name in sorted(filesystem.glob(path)))
        matches = [_unchained(url, url, url) or entry_of(url) for url in urls]
    else:
        matches = list(_matching_locally(local_path(pattern), follow_links=follow_links))
    if not matches:
        raise UsageError(f"no path matches {printable(pattern)}")
    return matches


def _matching_locally(pattern: str, *, follow_links: bool) -> Iterator[Entry]:
    parts = Path(pattern).parts
    fixed = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    base, wanted = str(Path(*parts[:fixed])), parts[fixed:]
    if not os.path.isdir(base):  # noqa: PTH112
        return
    folder = entry_of(base, follow_links=follow_links)
    every = len(wanted)

    def leads_on(entry: Entry) -> bool:
        return bool(_reached(wanted, entry.path) - {every})

    if every in _reached(wanted, ""):
        yield folder
    for entry in walk(folder, None if "**" in wanted else every, enter=leads_on):
        if every in _reached(wanted, entry.path) or (entry.kind == "outside" and leads_on(entry)):
            yield replace(entry, path=entry.name, url=str(Path(entry.url)))


def _reached(pattern: tuple[str, ...], path: str) -> set[int]:
    """Return how many segments of a pattern a path can have used up; as in a shell, `*` and `**` match no hidden name."""
    reached = _beyond_stars(pattern, {0})
    for part in path.split("/") if path else ():
        following = set()
        for index in reached:
            if index == len(pattern) or part.startswith(".") > pattern[index].startswith("."):
                continue
            if pattern[index] == "**":
                following.add(index)
            elif fnmatchcase(part, pattern[index]):
                following.add(index + 1)
        reached = _beyond_stars(pattern, following)
    return reached


def _beyond_stars(pattern: tuple[str, ...], reached: set[int]) -> set[int]:
    for index, part in enumerate(pattern):
        if part == "**" and index in reached:
            reached.add(index + 1)
    return reached


def version_of(url: str) -> str:
    """Return what changes when a file that was named does, or a store's entity tag. Empty where there is none.

    Of a local file: inode, times of modification and of change of status. The last cannot be set back, as the others can
    by whoever copies a file with its times over another one.
    """
    return _version(url, remote=is_remote(url))


def _version(url: str, *, remote: bool) -> str:
    try:
        if not remote:
            status = Path(url).stat()
            return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_ctime_ns}"
        filesystem, path = store_of(url)
        facts = filesystem.info(path)
    except OSError:
        return ""
    return str(next((facts[key] for key in ("ETag", "etag", "LastModified", "mtime", "created") if facts.get(key)), ""))


def _everywhere(_entry: Entry) -> bool:
    return True


def walk(folder: Entry, depth: int | None = None, *, enter: Callable[[Entry], bool] = _everywhere) -> Iterator[Entry]:
    """Yield everything below a folder, sorted by path from there, folders before what they hold.

    Each folder is looked into once, whatever links lead to it: at the first of its names, and once more where that is below
    a hidden one. `depth` bounds how many levels down it looks; 1 is the folder's own content. Only folders that `enter`
    takes are looked into. Raises `LimitReached` where the time is up.
    """
    if folder.is_remote:
        yield from _walk_remote(folder.url, depth)
        return
    seen: set[tuple[int, int, bool]] = set()
    levels = [_children(folder.url, "", folder.root, seen)]
    while levels:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            continue
        yield entry
        if entry.kind == "directory" and len(levels) != depth and enter(entry):
            levels.append(_children(entry.url, f"{entry.path}/", folder.root, seen))


def _children(folder: str, prefix: str, root: Root, seen: set[tuple[int, int, bool]]) -> Iterator[Entry]:
    meter().check(prefix.rstrip("/"))
    try:
        status = os.stat(folder)  # noqa: PTH116 - a `Path` for each would take as long as the rest
        identity = (status.st_dev, status.st_ino, prefix.startswith(".") or "/." in prefix)
        if identity in seen:
            return
        seen.add(identity)
        with os.scandir(folder) as found:
            listed = sorted(found, key=attrgetter("name"))
    except OSError as error:
        yield Entry(prefix.rstrip("/") or ".", folder, "unreadable", reason=reason_of(error), root=root)
        return
    # Where any folder may come up, those of the kernel may.
    anywhere = root.follow_links or root.real == os.sep
    for each in listed:
        path = prefix + (each.name if each.name.isascii() else printable(each.name))
        if each.is_symlink() or (anywhere and each.is_dir(follow_symlinks=False)):
            yield _entry_at(each.path, path, root) or Entry(
                path, each.path, "other", 0, os.strerror(errno.ENOENT), root
            )
        elif each.is_dir(follow_symlinks=False):
            yield Entry(path, each.path, "directory", 0, "", root)
        else:
            yield _file_entry(each, path, root)


def _file_entry(found: os.DirEntry[str], path: str, root: Root) -> Entry:
    try:
        return _of_status(found.stat(follow_symlinks=False), found.path, path, root)
    except OSError as error:
        return Entry(path, found.path, "other", 0, reason_of(error), root)


def _of_status(status: os.stat_result, url: str, path: str, root: Root) -> Entry:
    if stat.S_ISREG(status.st_mode):
        return Entry(path, url, "file", status.st_size, "", root)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, url, "directory", 0, "", root)
    return Entry(path, url, "other", 0, "neither a file nor a directory", root)


def _local_entry(folder: str, name: str, shown: str, root: Root) -> Entry | None:
    """Return what a folder, itself inside of the root, has under a path; `shown` is the folder's own."""
    url = os.path.join(folder, name) if name else folder  # noqa: PTH118
    if len(os.fsencode(url)) > _LONGEST_PATH:
        return Entry(_joined(shown, name), url, "other", 0, os.strerror(errno.ENAMETOOLONG), root)
    found = _entry_at(url, _joined(shown, name), root)
    if found is None or found.kind != "outside":
        return found
    steps = name.split("/")
    for count in range(1, len(steps)):
        part = "/".join(steps[:count])
        way = _entry_at(os.path.join(folder, part), _joined(shown, part), root)  # noqa: PTH118
        if way is not None and way.kind == "outside" and os.path.islink(way.url):  # noqa: PTH114
            return way
    return found


def _entry_at(url: str, path: str, root: Root) -> Entry | None:
    """Return what is at a local path, None where there is nothing; outside of the root nothing is looked at."""
    real = os.path.realpath(url)
    if not root.holds(real):
        target = _target_of(url)
        reason = f"a link to `{target}`, {_OUTSIDE}" if target else _OUTSIDE
        return Entry(path, url, "outside", 0, reason, root)
    if folder := root.kernel_folder(real):
        return Entry(path, url, "other", 0, _below(folder), root)
    try:
        return _of_status(os.stat(real), url, path, root)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        target = _target_of(url)
        return Entry(path, url, "other", 0, f"a link to `{target}`, which does not exist", root) if target else None
    except OSError as error:
        return Entry(path, url, "other", 0, reason_of(error), root)


def _target_of(url: str) -> str:
    """Return what a link says, nothing where there is none."""
    try:
        return printable(os.readlink(url))  # noqa: PTH115
    except OSError:
        return ""


def _real_path_of(descriptor: int, path: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115
    except OSError:
        return os.path.realpath(path)


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def _below(folder: str) -> str:
    return f"in {folder}, which is never read"


def _joined(folder: str, name: str) -> str:
    name = printable(name)
    return f"{folder}/{name}" if folder and name else folder or name


def _unchained(name: str, url: str, path: str) -> Entry | None:
    """Return an entry that is not read for a name below a remote root that would chain URLs."""
    return Entry(path, url, "other", 0, _CHAINED, _STORE) if _CHAIN in name else None


def _remote_entry(url: str, path: str) -> Entry | None:
    filesystem, place = store_of(url)
    if filesystem.isdir(place):
        return Entry(path, url, "directory", root=_STORE)
    if filesystem.isfile(place):
        return Entry(path, url, "file", filesystem.size(place), root=_STORE)
    return None


def _walk_remote(root: str, depth: int | None) -> Iterator[Entry]:
    filesystem, base = store_of(root)
    found = filesystem.find(base, maxdepth=depth, withdirs=True, detail=True)
    for name in sorted(found):
        path = name[len(base) :].strip("/")
        if path:
            kind: EntryKind = "directory" if found[name]["type"] == "directory" else "file"
            url, size = filesystem.unstrip_protocol(name), found[name].get("size") or 0
            yield _unchained(path, url, path) or Entry(path, url, kind, size, root=_STORE)


def printable(name: str) -> str:
    """Return a path fit for text output: bytes that are not UTF-8 are shown as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def reason_of(error: OSError) -> str:
    """Return what the system says of a failure, without the path that the caller prints anyway."""
    return error.strerror or f"{type(error).__name__}: {error}".removesuffix(": ")


def is_hidden(path: str) -> bool:
    """Tell whether a path, or a folder on it, has a name that begins with a dot."""
    return any(step.startswith(".") for step in path.split("/"))
