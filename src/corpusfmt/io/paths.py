"""Internal: Files and folders, local or remote (`s3://` and others through fsspec), as one kind of entry.

All input is opened here, and only here is it decided what may be opened: regular files below the root that the user
named. Links that lead elsewhere are followed only on request. Nothing below /proc, /sys and /dev is opened, and no
device, FIFO or socket.
"""

from __future__ import annotations

import base64
import errno
import glob
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.io.limits import AWAITING, TookTooLong, at_most, meter
from corpusfmt.io.stores import (
    VERSION_KEYS,
    Guarded,
    before_work_error,
    remedy_for,
    soon,
    store_failure,
    with_remedy,
)
from corpusfmt.io.witness import witnessed
from corpusfmt.model import Incomplete, UsageError
from corpusfmt.wording import clipped, masked

# Real paths and URLs, each with the name of the output, by call; of all threads, since those of a pool read for others.
_noted: dict[int, dict[str, str]] = {}
_own: ContextVar[dict[str, str] | None] = ContextVar("_own", default=None)


@contextmanager
def noting_outputs(noted: Collection[tuple[str, str]] = ()) -> Iterator[None]:
    """Let outputs be noted until the block ends, the given ones from the beginning: a worker has those of its call.

    Functions with outputs are decorated with this.
    """
    own = dict(noted)
    before = _own.set(own)
    _noted[id(own)] = own
    try:
        yield
    finally:
        del _noted[id(own)]
        _own.reset(before)


def noted_outputs() -> list[tuple[str, str]]:
    """Return what has been noted."""
    return [item for each in list(_noted.values()) for item in each.items()]


def note_output(place: str, what: str, *, is_remote: bool) -> None:
    """Note an output of this call, if it would replace a file."""
    own = _own.get()
    if own is not None and (is_remote or os.path.isfile(place)):  # noqa: PTH113
        own[place if is_remote else os.path.realpath(place)] = f"{what} is {clipped(place)}"


def refuse_replaced(url: str, *, is_remote: bool) -> None:
    """Raise `UsageError` for a file that a call reads and would replace."""
    noted = noted_outputs()
    if noted and (said := dict(noted).get(url if is_remote else os.path.realpath(url))):
        raise UsageError(f"{said}, which is also read: choose another path")


#: What to do with a URL of what is only read from a disk.
COPY_HERE = "copy it to this machine"
# Extras to install for the schemes of paths.
_EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "hf": "hf", "http": "http", "https": "http"}
_WITH_BUCKETS = {"s3", "s3a", "gs", "gcs"}
_WEB = {"http", "https"}
_LOCAL_SCHEMES = ("file://", "local://")
# A single letter is a drive.
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+"
_URL = re.compile(rf"{_SCHEME}(::{_SCHEME})*://")
_URI = re.compile(f"{_SCHEME}:")
_HUB = "hf://"
# In fsspec this separates chained URLs, which may point to any store and to the local disk.
_CHAIN = "::"
# The longest wait for a store before any work.
_MOST_SECONDS = 60
_CHAINED = f"the name contains `{_CHAIN}`, which fsspec would read as several URLs"

# Virtual file systems of the kernel. Only shared memory has users' data.
_KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - only compared

_SLASHES = re.compile("/{2,}")
_NOT_REGULAR = "not a regular file"
_OUTSIDE = "outside the named folder"
# Non-blocking because a FIFO may have replaced the file, and opening it would wait for a writer.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# Longer paths are not resolved: the system would look up each part before rejecting the path.
_LONGEST_PATH = 4096

EntryKind = Literal["file", "directory", "other", "unreadable", "outside"]


class OutsideRoot(OSError):
    """A path leads out of the root that the user named."""


class PointerFile(OSError):
    """A file is a pointer in place of the data, as in a checkout without Git LFS or Xet.

    `size` and `sha256` are those of the data, if the pointer has them.
    """

    size = 0
    sha256 = ""


_POINTERS = {b"version https://git-lfs.github.com/spec/v1\n": "Git LFS", b"# xet version 0\n": "Xet"}
_POINTED_AT = re.compile(rb"\noid sha256:([0-9a-f]{64})\nsize ([0-9]{1,18})\n")
# Git LFS reads no longer pointers.
_MOST_POINTER_BYTES = 1024


def _pointer(head: bytes, path: str) -> PointerFile | None:
    kind = next((kind for start, kind in _POINTERS.items() if head.startswith(start)), None)
    if kind is None:
        return None
    pointer = PointerFile(errno.EINVAL, f"a pointer of {kind}, expected data", path)
    if known := _POINTED_AT.search(head):
        pointer.sha256, pointer.size = known[1].decode(), int(known[2])
    return pointer


#: The state of a run in its output, for resuming it; removed when the run succeeds.
STATE = ".corpusfmt"
#: The name of an unfinished file begins and ends so (`io.publish`).
PARTIAL_PREFIX, PARTIAL_SUFFIX = ".corpusfmt-", ".partial"
_PARTIAL = re.compile(re.escape(PARTIAL_PREFIX) + "[0-9a-f]{16}" + re.escape(PARTIAL_SUFFIX))


def partial_name() -> str:
    """Return a new name for an unfinished file."""
    return f"{PARTIAL_PREFIX}{os.urandom(8).hex()}{PARTIAL_SUFFIX}"


def is_partial(name: str) -> bool:
    """Return whether a file is one that a run was or is writing: it is part of no corpus."""
    return name.startswith(PARTIAL_PREFIX) and _PARTIAL.fullmatch(name) is not None


class Root(Struct, frozen=True):
    """The real path of the local folder that the user named; nothing outside is opened unless links are followed.

    The links of a web server are its redirections to another origin. Everything below a remote root is remote, and everything below a local one is local, even if a name looks like a URL.
    If work there has `begun`, its state is not entered, which has several folders and files for each of the output.
    """

    real: str = ""
    follow_links: bool = False
    is_remote: bool = False
    begun: bool = False

    def holds(self, real: str) -> bool:
        """Return whether a real path is inside the root, or links are followed."""
        return self.follow_links or (self.real != "" and _is_within(real, self.real))

    def kernel_folder(self, real: str) -> str | None:
        """Return the kernel's folder that contains a real path, if any."""
        if _is_within(self.real, _SHARED_MEMORY) and _is_within(real, self.real):
            return None
        return next((folder for folder in _KERNEL_FOLDERS if _is_within(real, folder)), None)


_STORE = Root(is_remote=True)


def _store_root(*, follow_links: bool) -> Root:
    return Root(follow_links=True, is_remote=True) if follow_links else _STORE


class Entry(Struct, frozen=True, gc=False):
    """One name below a root. `path` is relative, POSIX and printable; `url` is the location; `size` is bytes on disk.

    `reason` says why an entry that is neither a file nor a folder is not read. Kind `outside` leads out of the root.
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
    def shown(self) -> str:
        """The location as it is printed and saved: without credentials."""
        return printable(self.url)

    @property
    def is_barred(self) -> bool:
        """Whether the entry exists but must not be read, for `reason`."""
        return self.kind not in ("file", "directory")

    @property
    def is_remote(self) -> bool:
        """Whether fsspec serves the entry."""
        return self.root.is_remote

    @property
    def version(self) -> str:
        """The version of the file, as in `version_of`."""
        return _version(self.url, self.root)

    def open(self) -> BinaryIO:
        """Open a file for reading bytes.

        Raises `OSError` if that is impossible, `OutsideRoot` if it is not allowed, and `PointerFile` for a pointer.
        """
        if self.kind == "outside":
            raise OutsideRoot(errno.EPERM, self.reason, self.shown)
        if self.is_barred:
            raise OSError(errno.EINVAL, self.reason, self.shown)
        refuse_replaced(self.url, is_remote=self.is_remote)
        if self.is_remote:
            return witnessed(self.url, self.path, self._open_object())
        return witnessed(self.url, self.path, open(self.url, "rb", buffering=0, opener=self._open_regular))

    def _open_object(self) -> BinaryIO:
        file = _open_remote(self.url, follow_links=self.root.follow_links)
        if 0 < self.size <= _MOST_POINTER_BYTES:
            if pointer := _pointer(file.read(_MOST_POINTER_BYTES), self.shown):
                file.close()
                raise pointer
            file.seek(0)
        return file

    def _open_regular(self, path: str, _flags: int) -> int:
        descriptor = os.open(path, _FLAGS)
        refusal = self._refusal(descriptor, path)
        if refusal is None:
            return descriptor
        os.close(descriptor)
        raise refusal

    def _refusal(self, descriptor: int, path: str) -> OSError | None:
        """Return why an opened file must not be read: the name may have become a link since it was listed."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return OSError(errno.EINVAL, _NOT_REGULAR, path)
        real = _real_path_of(descriptor, path)
        if not self.root.holds(real):
            return OutsideRoot(errno.EPERM, _OUTSIDE, path)
        folder = self.root.kernel_folder(real)
        if folder:
            return OSError(errno.EPERM, _below(folder), path)
        if status.st_size > _MOST_POINTER_BYTES:
            return None
        head = os.read(descriptor, _MOST_POINTER_BYTES)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return _pointer(head, path)

    def child(self, name: str) -> Entry | None:
        """Return the entry at a path, relative to this folder or absolute; None if nothing exists there.

        If the path leads out of the root, the entry is the link that does so. Raises `ValueError` for an invalid path.
        """
        if self.is_remote:
            url = _url_below(self.url, name.lstrip("/"))
            path = _joined(self.path, name)
            return _unchained(name, url, path) or _remote_entry(url, path, self.root)
        return _local_entry(self.url, _SLASHES.sub("/", name), self.path, self.root)

    def unseen(self, name: str) -> Entry:
        """Return the entry at a relative path in a remote folder, without asking the store."""
        url = _url_below(self.url, name)
        return _unchained(name, url, name) or Entry(name, url, "file", root=self.root)

    def folder(self) -> Entry:
        """Return the parent folder; paths of its content are relative to it."""
        url = without_query(self.url).rpartition("/")[0] if self.is_remote else os.path.dirname(self.url) or "."  # noqa: PTH120
        return Entry("", url, "directory", root=self.root)


class _WithDigest(Entry, frozen=True, gc=False):
    """A file that the Hub lists with the SHA-256 (hexadecimal) of its content."""

    sha256: str = ""


class Changed(Entry, frozen=True):
    """A file as it would be with another content."""

    content: bytes = b""

    def open(self) -> BinaryIO:
        """Open the other content."""
        return BytesIO(self.content)


def is_url(text: str) -> bool:
    """Return whether user input is a URL. Only for user input, because names in a dataset may look like URLs."""
    return _URL.match(text) is not None


def is_uri(text: str) -> bool:
    """Return whether a reference in a description begins with a scheme, so that it is not a relative path."""
    return _URI.match(text) is not None


def is_remote(text: str) -> bool:
    """Return whether user input names a store that fsspec serves. For an entry, use `Entry.is_remote`."""
    return is_url(text) and not text.startswith(_LOCAL_SCHEMES)


def local_path(url: str) -> str:
    """Return a local path without its scheme, if it has one."""
    return url.partition("://")[2] if url.startswith(_LOCAL_SCHEMES) else url


#: Whether redirections of files that are options are followed to other servers.
FOLLOWS_NAMED: ContextVar[bool] = ContextVar("follows_named", default=False)


def open_named(path: str) -> BinaryIO:
    """Open a file that is an option rather than data; it may be a FIFO. Raises `OSError`, or `UsageError` for a store's."""
    refuse_replaced(local_path(path), is_remote=is_remote(path))
    if not is_remote(path):
        return open(local_path(path), "rb", buffering=0)
    with before_work(path):
        return _open_remote(path, follow_links=FOLLOWS_NAMED.get())


def _open_remote(url: str, *, follow_links: bool = False) -> BinaryIO:
    store, place = store_of(url, follow_links=follow_links)
    return cast("BinaryIO", store.opened(place, printable(url)))


def read_named(path: str | Path, most: int, what: str) -> bytes:
    """Return the content of a file that is an option. Raises `OSError`, or `UsageError` for more than `most` bytes."""
    data = bytearray()
    with open_named(str(path)) as file:
        while len(data) <= most and (part := file.read(most + 1 - len(data))):
            data += part
    if len(data) > most:
        raise UsageError(f"{what} {printable(str(path))} has more than {most:,} bytes, the most that can be read")
    return bytes(data)


def refuse_remote(path: str | Path, what: str, remedy: str = "write to one, then copy the files") -> None:
    """Raise `UsageError` for a URL where only a local path will do; it would become a folder named for the scheme."""
    # A `Path` keeps only one of two slashes.
    shown = re.sub(":/+", "://", str(path), count=1)
    if is_url(shown):
        raise UsageError(f"{what} is `{printable(shown)}`, expected a local path: {remedy}")


_BASE64_OF_SHA256 = re.compile(r"[A-Za-z0-9+/]{43}=")


def digest_in_store(entry: Entry) -> str | None:
    """Return the SHA-256 (hexadecimal) that a store keeps of a file, of which nothing is read; None if it has none.

    The Hub lists it for files in Git LFS; S3 is asked, and has it of objects that were put in one piece with that checksum.
    Raises `OSError`.
    """
    if isinstance(entry, _WithDigest):
        return entry.sha256
    if not entry.url.startswith("s3://"):
        return None
    filesystem, path = store_of(entry.url)
    bucket, key, _ = filesystem.split_path(path)
    kept = filesystem.call_s3("head_object", Bucket=bucket, Key=key, ChecksumMode="ENABLED").get("ChecksumSHA256", "")
    return base64.b64decode(kept).hex() if _BASE64_OF_SHA256.fullmatch(kept) else None


def store_of(url: str, *, follow_links: bool = False) -> tuple[Guarded, str]:
    """Return the file system that serves a remote path, and the path there. Raises `UsageError` if there is none.

    `follow_links` lets a web server redirect to others.
    """
    import logging  # noqa: PLC0415 - rarely needed

    import fsspec  # noqa: PLC0415 - slow to import

    # They log failures that they also raise, and warnings that come with each request.
    for name in ("fsspec", "gcsfs"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        protocol = url.partition("://")[0].rpartition(_CHAIN)[2]
        if protocol not in _WEB:
            from corpusfmt.io.answers import bounds_of  # noqa: PLC0415 - local files need none

            options = bounds_of(protocol) if protocol in _EXTRAS else {}
            filesystem, path = fsspec.core.url_to_fs(url, **{protocol: options} if _CHAIN in url else options)
        else:
            from corpusfmt.io import web  # noqa: PLC0415 - an extra

            client = web.anywhere if follow_links else web.within_origin
            if _CHAIN in url:
                filesystem, path = fsspec.core.url_to_fs(url, **{protocol: {"get_client": client}})
            else:
                filesystem, path = web.Web(get_client=client), url
    except ImportError as error:
        extra = _EXTRAS.get(url.partition("://")[0])
        help_ = f"run `pip install 'corpusfmt[{extra}]'`" if extra else "install it"
        raise UsageError(f"{printable(url)} needs a missing package ({error}): {help_}") from error
    except ValueError as error:
        raise UsageError(f"{printable(url)}: {masked(str(error))}") from error
    except Exception as error:
        raise store_failure(error) from error
    return Guarded(filesystem), path


def _pinned(url: str) -> str:
    if not url.startswith(_HUB):
        return url
    from corpusfmt.io.revisions import pinned  # noqa: PLC0415 - rarely needed

    return pinned(url, store_of(url)[0].served)


def entry_of(url: str, *, follow_links: bool = False, begun: bool = False) -> Entry:
    """Return the entry of a path given by the user, with the root for everything read through it.

    The root is the resolved folder, or the folder that contains the name of a file. So the user may name a link to a
    folder, while a link to a file elsewhere is followed only on request. Raises `UsageError` if nothing exists there, `Incomplete` if a
    store does not answer; once work has `begun` there, that is asked for longer, and an `OSError`.
    """
    if is_remote(url):
        with nullcontext() if begun else before_work(url):
            pinned = _pinned(url)
            root = _store_root(follow_links=follow_links)
            found = _remote_entry(pinned, printable(without_query(url)).rstrip("/").rpartition("/")[2], root)
    else:
        url = local_path(url)
        found = _named_entry(url, follow_links=follow_links)
    if found is None:
        raise nothing_at(url)
    return replace(found, root=replace(found.root, begun=True)) if begun else found


def nothing_at(url: str, said: str = "") -> UsageError:
    """Return the error for a path that does not exist, by default this; without its bucket, it says so with a remedy."""
    said = said or f"path {printable(url)} does not exist"
    scheme, _, rest = url.partition("://")
    if scheme in _WITH_BUCKETS:
        bucket = f"{scheme}://{rest.partition('/')[0]}"
        store, place = store_of(bucket)
        try:
            with soon():
                store.info(place)
        except FileNotFoundError as error:
            said = f"cannot read {printable(url)}: {printable(bucket)} does not exist; {remedy_for(scheme, error)}"
        except OSError:
            pass  # Whoever may read objects need not have the right to look at their bucket.
    return UsageError(said)


@contextmanager
def before_work(url: str) -> Iterator[None]:
    """Raise `UsageError` if there is nothing at a place in a store, `Incomplete` if the store does not answer soon, with a remedy."""
    limits = AWAITING.get()
    left = None if limits is None or limits.ends is None else max(limits.ends - time.time(), 1e-3)
    try:
        with soon(), at_most(_MOST_SECONDS if left is None else min(left, _MOST_SECONDS)):
            yield
    except TookTooLong:
        if limits is not None and left is not None and left < _MOST_SECONDS:
            raise limits.late(printable(url)) from None
        said = f"no whole answer within {_MOST_SECONDS} seconds; check the network, the endpoint and the state of the service"
        raise Incomplete(f"cannot read {printable(url)}: {said}") from None
    except FileNotFoundError as error:
        raise nothing_at(url) from error
    except OSError as error:
        said = str(error)
        if not said.startswith("cannot "):
            said = f"cannot read {printable(url)}: {with_remedy(url.partition('://')[0], error)}"
        raise before_work_error(said, error) from error


#: No local copies.
NO_MAPS: Mapping[str, str | Path] = {}


def copies(maps: Mapping[str, str | Path], *, follow_links: bool = False) -> dict[str, Entry]:
    """Return the user's local copies, each as a root with the path as named.

    Raises `UsageError` for a copy that is missing, not readable, or not local.
    """
    found = {}
    for name, path in maps.items():
        if is_remote(str(path)):
            raise UsageError(f"--map {printable(name)}: `{printable(str(path))}` is a URL, expected a local path")
        entry = entry_of(str(path), follow_links=follow_links)
        if entry.is_barred:
            raise UsageError(f"--map {printable(name)}: `{printable(str(path))}` cannot be read: {entry.reason}")
        found[name] = replace(entry, path=printable(str(path)))
    return found


def folder_at(url: str, *, follow_links: bool = False) -> Entry:
    """Return a folder as a root, even if it does not exist; paths of its content are relative to it."""
    if is_remote(url):
        return Entry("", _pinned(url), "directory", root=_store_root(follow_links=follow_links))
    url = local_path(url)
    return Entry("", url, "directory", root=Root(os.path.realpath(url), follow_links))


def _named_entry(url: str, *, follow_links: bool) -> Entry | None:
    name = Path(url).name
    real = _real(url)
    if os.path.isdir(real):  # noqa: PTH112
        found = _local_entry(url, "", printable(name), Root(real, follow_links))
    else:
        folder = os.path.dirname(url)  # noqa: PTH120
        found = _local_entry(folder, name, "", Root(_real(folder), follow_links))
    return found and replace(found, url=str(Path(url)))


_CACHES = {"darwin": "~/Library/Caches", "win32": "~/AppData/Local"}


def users_cache() -> Path | None:
    """Return our folder in the user's cache, if the user has one."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(_CACHES.get(sys.platform, "~/.cache"))  # noqa: PTH111 - `Path` raises without a home
    return Path(cache) / "corpusfmt" if os.path.isabs(cache) else None  # noqa: PTH117


def is_ours(path: Path) -> bool:
    """Return whether a file or folder belongs to this user or to the system. Raises `OSError`."""
    return not hasattr(os, "getuid") or path.stat().st_uid in (0, os.getuid())


def is_pattern(path: str) -> bool:
    """Return whether a path has wildcards and does not exist as it is."""
    return glob.has_magic(path) and (is_remote(path) or not os.path.lexists(local_path(path)))


def matching(pattern: str, *, follow_links: bool = False) -> list[Entry]:
    """Return the sorted matches of a pattern, or the path itself if it is not a pattern.

    The root of matches is the folder before the first wildcard; a link out of it is returned in place of what may match
    behind it. Raises `UsageError` for a pattern that matches nothing.
    """
    if not is_pattern(pattern):
        return [entry_of(pattern, follow_links=follow_links)]
    if is_remote(pattern):
        with before_work(pattern):
            filesystem, path = store_of(_pinned(pattern), follow_links=follow_links)
            urls = [filesystem.unstrip_protocol(name) for name in sorted(filesystem.glob(path))]
        matches = [_unchained(url, url, printable(url)) or entry_of(url, follow_links=follow_links) for url in urls]
    else:
        matches = list(_matching_locally(local_path(pattern), follow_links=follow_links))
    if not matches:
        raise nothing_at(pattern, f"no path matches {printable(pattern)}")
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
    """Return the numbers of pattern segments that a path can match; as in a shell, `*` and `**` match no hidden name."""
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
    """Return a text that changes when a file does: a store's entity tag, or for a local file inode, mtime and ctime.

    The ctime cannot be set back, while copying with times preserves the mtime. Empty if there is none.
    """
    return _version(url, _STORE if is_remote(url) else Root())


def _version(url: str, root: Root) -> str:
    try:
        if not root.is_remote:
            status = Path(url).stat()
            return f"{status.st_ino}-{status.st_mtime_ns}-{status.st_ctime_ns}"
        filesystem, path = store_of(url, follow_links=root.follow_links)
        facts = filesystem.info(path)
    except OSError:
        return ""
    return str(next((facts[key] for key in (*VERSION_KEYS, "created") if facts.get(key)), ""))


def walk(
    folder: Entry, depth: int | None = None, *, enter: Callable[[Entry], bool] = lambda _: True
) -> Iterator[Entry]:
    """Yield everything below a folder, sorted by path, folders before their content.

    Each folder is entered once, at the first of its names, even if links lead to it again, and once more if that name is
    below a hidden folder. `depth` limits the levels; 1 is the folder's direct content. Only folders that `enter` accepts
    are entered. Raises `LimitReached` if the time is up.
    """
    if folder.is_remote:
        yield from _walk_remote(folder.url, depth, folder.root)
        return
    seen: set[tuple[int, int, bool]] = set()
    levels = [_children(folder.url, "", folder.root, seen)]
    while levels:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            continue
        yield entry
        is_state = folder.root.begun and entry.path == STATE
        if entry.kind == "directory" and len(levels) != depth and not is_state and enter(entry):
            levels.append(_children(entry.url, f"{entry.path}/", folder.root, seen))


def _children(folder: str, prefix: str, root: Root, seen: set[tuple[int, int, bool]]) -> Iterator[Entry]:
    meter().check(prefix.rstrip("/"))
    try:
        status = os.stat(folder)  # noqa: PTH116 - a `Path` per folder would double the time
        identity = (status.st_dev, status.st_ino, prefix.startswith(".") or "/." in prefix)
        if identity in seen:
            return
        seen.add(identity)
        with os.scandir(folder) as found:
            listed = sorted((each.name, each.is_symlink(), each.is_dir(follow_symlinks=False)) for each in found)
    except OSError as error:
        yield Entry(prefix.rstrip("/") or ".", folder, "unreadable", reason=reason_of(error), root=root)
        return
    # If links are followed, they may lead to the kernel's folders.
    anywhere = root.follow_links or root.real == os.sep
    above = os.path.join(folder, "")  # noqa: PTH118
    for name, is_link, is_folder in listed:
        if not (is_link or is_folder) and is_partial(name):
            continue
        url = above + name
        path = prefix + (name if name.isascii() else printable(name))
        if is_link or (anywhere and is_folder):
            yield _entry_at(url, path, root) or Entry(path, url, "other", 0, os.strerror(errno.ENOENT), root)
        elif is_folder:
            yield Entry(path, url, "directory", 0, "", root)
        else:
            yield _file_entry(url, path, root)


def _file_entry(url: str, path: str, root: Root) -> Entry:
    try:
        return _of_status(os.lstat(url), url, path, root)
    except OSError as error:
        return Entry(path, url, "other", 0, reason_of(error), root)


def _of_status(status: os.stat_result, url: str, path: str, root: Root) -> Entry:
    if stat.S_ISREG(status.st_mode):
        return Entry(path, url, "file", status.st_size, "", root)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, url, "directory", 0, "", root)
    return Entry(path, url, "other", 0, "neither a file nor a directory", root)


def _local_entry(folder: str, name: str, shown: str, root: Root) -> Entry | None:
    """Return the entry at a path in a folder inside the root; `shown` is the folder's path in messages."""
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
    """Return the entry at a local path, or None; nothing outside of the root is touched."""
    try:
        real = os.path.realpath(url)
    except OSError as error:  # another process has replaced the link that is being read
        return Entry(path, url, "other", 0, reason_of(error), root)
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


def _real(url: str) -> str:
    """Return the real path of what the user named; if a link in it is being replaced, nothing below it counts as inside."""
    try:
        return os.path.realpath(url)
    except OSError:
        return os.path.abspath(url)  # noqa: PTH100


def _target_of(url: str) -> str:
    """Return the target of a link, or nothing if it is not a link."""
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
    """Return a barred entry for a name below a remote root that would chain URLs, else None."""
    return Entry(path, url, "other", 0, _CHAINED, _STORE) if _CHAIN in name else None


def without_query(url: str) -> str:
    """Return a URL without the query of a web server's, which may be a signature and is not part of a name."""
    return re.split("[?#]", url, maxsplit=1)[0] if url.partition("://")[0] in _WEB else url


def _url_below(url: str, name: str) -> str:
    place = without_query(url)
    return f"{place.rstrip('/')}/{name}{url[len(place) :]}"


def _remote_entry(url: str, path: str, root: Root) -> Entry | None:
    filesystem, place = store_of(url, follow_links=root.follow_links)
    # On Google's, `isdir` asks for `info`, and says no if nobody answers.
    if not url.startswith(("gs://", "gcs://")) and filesystem.isdir(place):
        return Entry(path, url, "directory", root=root)
    try:
        facts = filesystem.info(place)
    except FileNotFoundError:
        return None
    known: dict[str, EntryKind] = {"file": "file", "directory": "directory"}
    kind = known.get(facts["type"])
    return Entry(path, url, kind, facts.get("size") or 0, root=root) if kind else None


def _walk_remote(url: str, depth: int | None, root: Root) -> Iterator[Entry]:
    filesystem, base = store_of(url, follow_links=root.follow_links)
    if not url.startswith(_HUB):  # a commit stays as it is
        filesystem.invalidate_cache()  # workers may have written there
    found = filesystem.find(base, maxdepth=depth, withdirs=True, detail=True)
    above = len(without_query(base))
    for name in sorted(found):
        path, facts = name[above:].strip("/"), found.pop(name)
        kind: EntryKind = "directory" if facts["type"] == "directory" else "file"
        size = facts.get("size") or 0
        if path and (kind == "directory" or not _is_marker(name, size)):
            at = filesystem.unstrip_protocol(name)
            if digest := getattr(facts.get("lfs"), "sha256", ""):
                yield _WithDigest(path, at, kind, size, root=root, sha256=digest)
            else:
                yield _unchained(path, at, path) or Entry(path, at, kind, size, root=root)


def files_in(folder: Entry) -> Iterator[Entry]:
    """Yield what `walk` yields but folders, in any order; the clients of S3 and the Hub keep none of it for later requests."""
    paged = next((files for start, files in _PAGED.items() if folder.is_remote and folder.url.startswith(start)), None)
    if paged is not None:
        for path, size, digest in paged(folder.url):
            found = replace(folder.unseen(path), size=size)
            yield _WithDigest(path, found.url, "file", size, root=folder.root, sha256=digest) if digest else found
    else:
        yield from (each for each in walk(folder) if each.kind != "directory")


_Files = Iterable[tuple[str, int, str]]


def _on_hub(url: str) -> _Files:
    from corpusfmt.io.revisions import files_at  # noqa: PLC0415 - rarely needed

    return files_at(url, store_of(url)[0].served)


def _on_s3(url: str) -> _Files:
    filesystem, base = store_of(url)
    bucket, key, _ = filesystem.split_path(base)
    above = f"{key}/" if key else ""
    asked = {"Bucket": bucket, "Prefix": above, **filesystem.req_kw}
    while True:
        page = filesystem.call_s3("list_objects_v2", **asked)
        for each in page.get("Contents", ()):
            path = each["Key"].removeprefix(above)
            if not _is_marker(path, each["Size"]):
                yield path, each["Size"], ""
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


_PAGED: Mapping[str, Callable[[str], _Files]] = {f"{_HUB}datasets/": _on_hub, "s3://": _on_s3, "s3a://": _on_s3}


def _is_marker(path: str, size: int) -> bool:
    """Return whether an object stands for a folder, as the consoles of stores make them."""
    return not size and (not path or path.endswith("/"))


def printable(name: str) -> str:
    """Return a path or URL as text to print or save: bytes that are not UTF-8 are escaped, credentials masked."""
    return masked(name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def reason_of(error: OSError) -> str:
    """Return the reason of a failure, without the path, which the caller prints."""
    return masked(error.strerror or f"{type(error).__name__}: {error}".removesuffix(": "))


def is_hidden(path: str) -> bool:
    """Return whether any part of a path begins with a dot."""
    return any(step.startswith(".") for step in path.split("/"))
