"""Internal: Where outputs go: a local path, or an object in a store. An object is put whole by one request of the store's,
so that no listing ever has a part of it.

Only stores whose puts are known to be atomic are written to.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from corpusfmt.io.paths import is_url, printable, store_of
from corpusfmt.io.stores import (
    CREDENTIALS,
    Guarded,
    StoreFailure,
    StoreFile,
    before_work_error,
    persistently,
    soon,
    status_of,
    with_remedy,
)
from corpusfmt.model import UsageError

_LOCAL = re.compile(r"(?:file|local):/+")
_WRITTEN_TO = ("s3", "s3a", "gs", "gcs", "hf", "memory")
# A folder of a Hub's repository has the repository's type and two names above it, one elsewhere a bucket.
_LEVELS_ABOVE = {"hf": 3}
_PROBE = ".corpusfmt/probe"


class StorePath(Struct, frozen=True):
    """The place of an object, or of all objects below a prefix, in a store; used like a `Path`. Crosses processes."""

    url: str

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(f"{self.url}/{name}" if name else self.url)

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        return StorePath(self.url.rpartition("/")[0])

    def with_name(self, name: str) -> StorePath:
        return self.parent / name

    @property
    def scheme(self) -> str:
        return self.url.partition("://")[0]

    @property
    def is_root(self) -> bool:
        """Whether nothing can be written next to this prefix."""
        return self.url.partition("://")[2].count("/") < _LEVELS_ABOVE.get(self.scheme, 1)

    def is_file(self) -> bool:
        """Return whether there is an object."""
        return self.size() is not None

    def size(self) -> int | None:
        """Return the bytes of the object, None if there is none."""
        facts = self._asked("read", lambda store, place: store.info(place))
        return int(facts["size"] or 0) if facts and facts["type"] == "file" else None

    def open(self, _mode: Literal["rb"] = "rb") -> StoreFile:
        """Open the object for reading bytes."""
        store, place = store_of(self.url)
        # A listing of a moment ago may lack it.
        store.invalidate_cache()
        return store.opened(place, printable(self.url))

    def read_bytes(self) -> bytes:
        """Return the content of the object."""
        with self.open() as file:
            return file.read()

    def names(self) -> set[str]:
        """Return the names directly below this prefix; the empty name is that of an object at this place."""
        return set(self._below(lambda store, place: store.ls(place, detail=False)))

    def paths(self) -> list[str]:
        """Return the paths of all objects below this prefix."""
        return [path for path in self._below(lambda store, place: store.find(place)) if path]

    def see(self, paths: Collection[str]) -> None:
        """Wait until objects below this prefix are listed: some stores list them late. Raises `StoreFailure`."""

        def look() -> None:
            late = sorted(set(paths).difference(self.paths()))
            if late:
                raise TimeoutError(errno.ETIMEDOUT, f"{printable(late[0])} was put and is not listed")

        try:
            persistently(f"list {self.url}", look)
        except TimeoutError as error:
            raise self._failure("list", error) from error

    def put(self, path: Path) -> None:
        """Put a local file as the object, replacing an earlier one."""
        if self.scheme == "memory":  # an object there is visible while it grows
            self.write_bytes(path.read_bytes())
        else:
            self._put(path)

    def write_bytes(self, data: bytes) -> None:
        """Put a small object."""
        self._put(data)

    def create(self, data: bytes) -> bool:
        """Put a small object unless there is one; return whether it has this content now."""
        if self.scheme == "hf":  # has no such request
            if not self.is_file():
                self.write_bytes(data)
        else:
            try:
                self._put(data, only_new=True)
            except OSError as error:
                if not _is_there_already(error):
                    raise
        # An earlier attempt may have put it, and its answer was lost.
        try:
            return self.read_bytes() == data
        except FileNotFoundError:  # whoever had put it has removed it
            return False

    def remove(self) -> None:
        """Remove the object, if it exists."""
        self._asked("remove", lambda store, place: store.rm_file(place))

    def probe(self) -> None:
        """Put an object below this prefix and remove it, or say what to do.

        Raises `UsageError` if that is impossible, `Incomplete` if the store failed.
        """
        # Always of the same name: one that a kill left is removed by the next.
        place = self / _PROBE
        with soon():
            try:
                place.write_bytes(b"")
                place.remove()
            except StoreFailure as error:
                raise before_work_error(str(error).replace(place.url, f"below {self.url}"), error) from error

    def _put(self, source: Path | bytes, *, only_new: bool = False) -> None:
        store, place = store_of(self.url)

        def attempt() -> None:
            try:
                if isinstance(source, Path):
                    store.served.put_file(str(source), place)
                elif only_new:
                    store.served.pipe_file(place, source, mode="create")
                else:
                    store.served.pipe_file(place, source)
            except FileNotFoundError as error:
                # Of an upload in parts whose last answer was lost, nothing is left to be completed.
                if _UPLOAD_IS_GONE.search(str(error)):
                    raise ConnectionError(str(error)) from error
                raise

        try:
            persistently(f"put {self.url}", attempt)
        except OSError as error:
            if _is_there_already(error):
                raise
            raise self._failure("write", error) from error

    def _asked(self, doing: str, ask: Callable[[Guarded, str], Any]) -> Any:
        """Return the answer of the store, None if nothing is there; no earlier answer counts."""
        store, place = store_of(self.url)
        try:
            store.invalidate_cache()
            return ask(store, place)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._failure(doing, error) from error

    def _below(self, ask: Callable[[Guarded, str], Any]) -> list[str]:
        place = store_of(self.url)[1]
        return [name[len(place) :].strip("/") for name in self._asked("list", ask) or ()]

    def _failure(self, doing: str, error: OSError) -> StoreFailure:
        said = with_remedy(self.scheme, error)
        return StoreFailure(error.errno or errno.EIO, f"cannot {doing} {printable(self.url)}: {said}")


#: A local path, or one in a store.
Place = Path | StorePath
# How stores call it, in two of their answers.
_UPLOAD_IS_GONE = re.compile("multipart upload|specified upload")


def _is_there_already(error: OSError) -> bool:
    """Return whether a store refused to replace an object."""
    return isinstance(error, FileExistsError) or status_of(error.__cause__ or error) == 412


def place_of(path: str | Path | StorePath, what: str) -> Place:
    """Return where an output goes. Raises `UsageError` for a URL to which nothing is written; `what` names the output."""
    if isinstance(path, StorePath):
        return path
    # A `Path` keeps only one of two slashes.
    shown = re.sub(":/+", "://", str(path), count=1)
    if not is_url(shown):
        return Path(path)
    if _LOCAL.match(shown):
        return Path(_LOCAL.sub("/", str(path), count=1))
    scheme, _, rest = shown.partition("://")
    if scheme not in _WRITTEN_TO or "::" in shown:
        raise UsageError(
            f"{what} is `{printable(shown)}`, expected a local path or a URL that begins with s3://, gs:// or hf://"
        )
    if "@" in rest.partition("/")[0]:
        raise UsageError(f"{what} is a URL with credentials: remove them and {CREDENTIALS.get(scheme, 'set them')}")
    found = StorePath(f"{scheme}://{rest.strip('/')}")
    if not rest.strip("/"):
        raise UsageError(f"{what} is `{printable(shown)}`, expected the name of a bucket or repository after it")
    store_of(found.url)
    return found
