"""The local files that a description's FileObjects and FileSets stand for, archives read in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from corpusfmt.formats.croissant.archives import READ_SIZE, ArchiveFault, is_archive, members
from corpusfmt.formats.croissant.globs import matches
from corpusfmt.formats.croissant.graph import Description, FileObject, FileSet, Resource
from corpusfmt.formats.croissant.records.batches import Broken, NotRead
from corpusfmt.formats.croissant.rules.distribution import escapes
from corpusfmt.formats.croissant.rules.files import DataFault
from corpusfmt.io.paths import Entry, entry_of, open_input, reason_of, walk
from corpusfmt.io.streams import codec_of_name, open_chunks
from corpusfmt.model import UsageError

_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class Opened:
    """One file that is open for reading.

    `path` says where it is, for messages; `full_path` is what Croissant calls so, the path inside of its container.
    `chunks` are its bytes as stored; `url` is where they can be read at will, None inside of archives.
    """

    path: str
    full_path: str
    chunks: Iterator[bytes]
    url: str | None = None

    @property
    def name(self) -> str:
        return self.full_path.rpartition("/")[2]

    @property
    def contents(self) -> Iterable[bytes]:
        """The bytes, decompressed where the name says that they are compressed."""
        return decompressed(self.chunks, self.name)


class NoFile(Exception):
    """A file is not where the description says; `hint` is the repairing step."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def is_elsewhere(path: str) -> bool:
    """Tell whether a contentUrl names something on the web, which is never fetched."""
    return _HAS_SCHEME.match(path) is not None


def entry_beside(folder: str, path: str) -> Entry:
    """Return the file or folder at a relative contentUrl. Raises `NoFile`."""
    if path.startswith(("/", "\\")) or escapes(path):
        raise NoFile(f"`{path}` leaves the folder of the description", "put the file beside it")
    try:
        entry = entry_of(f"{folder}/{path}" if folder else path)
    except UsageError:
        raise NoFile(f"no file `{path}` beside the description", "add it, or correct the path") from None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise NoFile(f"`{path}` cannot be read: {reason}", "make it readable") from error
    if entry.kind not in ("file", "directory"):
        raise NoFile(f"`{path}` is no regular file", "put the file itself there")
    return entry


def raw(url: str) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    with open_input(url) as file:
        while data := file.read(READ_SIZE):
            yield data


def selection(view: FileSet) -> Callable[[str], bool]:
    """Return what tells whether a file set takes in a path: one of `includes` matches it, none of `excludes` does."""
    includes = [each.value for each in view.texts("cr:includes")]
    excludes = [each.value for each in view.texts("cr:excludes")]

    def selects(path: str) -> bool:
        return any(matches(each, path) for each in includes) and not any(matches(each, path) for each in excludes)

    return selects


def nothing_selected(view: FileSet) -> DataFault:
    """Return the fault that a file set is empty."""
    includes = "`, `".join(literal.value for literal in view.texts("cr:includes"))
    hint = "`*` stays within a folder, `**/` crosses them"
    return DataFault("empty", f"{view.title}: `{includes}` selects no file", view.place("cr:includes"), hint)


def _anything(_path: str) -> bool:
    return True


class _Chunked:
    """Chunks as a file to read from, for the decompressors."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, _size: int = -1, /) -> bytes:
        return next(self._chunks, b"")


def decompressed(chunks: Iterator[bytes], name: str) -> Iterable[bytes]:
    """Return the chunks of a file as its name says that they are compressed."""
    if codec_of_name(name) == "plain":
        return chunks
    return open_chunks(_Chunked(chunks), name)


class Files:
    """Opens the files behind the FileObjects and FileSets of one description, which lie in its folder."""

    def __init__(self, description: Description, folder: str) -> None:
        self._description = description
        self._folder = folder

    def opened(self, view: Resource) -> Iterator[Opened]:
        """Yield the files of a FileObject (one) or FileSet, in the order of their container; use each before the next.

        Raises `NotRead` for what is on the web or in containers that are not followed, `Broken` for what is missing or
        damaged.
        """
        if isinstance(view, FileSet):
            empty = True
            for opened in self._selected(view):
                empty = False
                yield opened
            if empty:
                raise Broken(nothing_selected(view))
            return
        containers = self._containers(view)
        if not containers and view.containers:
            raise NotRead(f"{view.title}: its container is not followed")
        path = self._path_of(view)
        if not containers:
            entry = self._entry(view, path)
            if entry.kind == "directory":
                raise NotRead(f"{view.title}: `{path}` is a folder: describe its files with a FileSet")
            yield Opened(path, path, self._raw(view, entry), entry.url)
            return
        wanted = str(PurePosixPath(path))
        found = False
        for opened in self._inside(containers[0], lambda each: each == wanted):
            found = True
            yield opened
        if not found:
            message = f"no member `{wanted}` in `{containers[0].text('sc:contentUrl')}`"
            raise self._broken(view, "missing", message, "correct the path inside the container")

    def local(self, view: Resource) -> Iterator[Entry]:
        """Yield the files on disk that a FileObject or FileSet is read from; of what is not there, nothing."""
        containers = self._containers(view)
        wanted = selection(view) if isinstance(view, FileSet) else _anything
        try:
            sources = [self._entry(each, self._path_of(each)) for each in containers]
            if not containers:
                whole = Entry("", self._folder or ".", "directory")
                sources = [whole if isinstance(view, FileSet) else self._entry(view, self._path_of(view))]
        except (Broken, NotRead):
            return
        for source in sources:
            inside = walk(source.url) if source.kind == "directory" else ()
            yield from [source] if source.kind == "file" else (e for e in inside if e.kind == "file" and wanted(e.path))

    def _selected(self, view: FileSet) -> Iterator[Opened]:
        wanted = selection(view)
        containers = self._containers(view)
        for container in containers:
            yield from self._inside(container, wanted)
        if not containers:
            if view.containers:
                raise NotRead(f"{view.title}: its container is not followed")
            yield from self._in_folder(view, Entry("", self._folder or ".", "directory"), "", wanted)

    def _inside(self, container: FileObject, wanted: Callable[[str], bool]) -> Iterator[Opened]:
        if container.containers:
            raise NotRead(f"{container.title}: a container inside of another is not followed")
        path = self._path_of(container)
        entry = self._entry(container, path)
        if entry.kind == "directory":
            yield from self._in_folder(container, entry, f"{path.rstrip('/')}/", wanted)
            return
        try:
            with open_input(entry.url) as file:
                head = file.read(512)
            if not is_archive(head):
                raise NotRead(f"{container.title}: `{path}` is no archive that can be read here (zip or tar)")
            for member in members(lambda: open_input(entry.url), entry.size, wanted):
                yield Opened(f"{path}/{member.path}", member.path, self._whole(container, entry, member.chunks))
        except ArchiveFault as fault:
            raise self._damaged(container, entry, fault) from fault
        except OSError as error:
            message = f"`{path}` cannot be read: {reason_of(error)}"
            raise self._broken(container, "missing", message, "make it readable") from error

    def _whole(self, container: FileObject, entry: Entry, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from chunks
        except ArchiveFault as fault:
            raise self._damaged(container, entry, fault) from fault

    def _damaged(self, container: FileObject, entry: Entry, fault: ArchiveFault) -> Broken:
        message = f"`{entry.name}` does not read to its end: {fault}"
        return self._broken(container, "corrupt", message, "fetch or pack it again")

    def _in_folder(self, view: Resource, folder: Entry, prefix: str, wanted: Callable[[str], bool]) -> Iterator[Opened]:
        for entry in walk(folder.url):
            if entry.kind == "file" and wanted(entry.path):
                yield Opened(f"{prefix}{entry.path}", entry.path, self._raw(view, entry), entry.url)

    def _raw(self, view: Resource, entry: Entry) -> Iterator[bytes]:
        try:
            yield from raw(entry.url)
        except OSError as error:
            message = f"`{entry.name}` cannot be read: {reason_of(error)}"
            raise self._broken(view, "missing", message, "make it readable") from error

    def _path_of(self, view: Resource) -> str:
        path = view.text("sc:contentUrl")
        if not path:
            raise NotRead(f"{view.title}: it has no contentUrl")
        if is_elsewhere(path):
            raise NotRead(f"{view.title}: `{path}` is on the web, and nothing is fetched: describe a local copy")
        return path

    def _entry(self, view: Resource, path: str) -> Entry:
        try:
            return entry_beside(self._folder, path)
        except NoFile as fault:
            raise self._broken(view, "missing", str(fault), fault.hint) from None

    def _containers(self, view: Resource) -> list[FileObject]:
        found = (self._description.view_of(value) for value in view.containers)
        return [each for each in found if isinstance(each, FileObject)]

    @staticmethod
    def _broken(view: Resource, kind: str, message: str, hint: str) -> Broken:
        return Broken(DataFault(kind, f"{view.title}: {message}", view.place("sc:contentUrl"), hint))
