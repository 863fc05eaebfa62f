"""Internal: The local files that a description's FileObjects and FileSets stand for, archives read in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath

from msgspec import Struct

from corpusfmt.formats.croissant.data.archives import READ_SIZE, ArchiveFault, is_archive, members
from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.findings import DATA_ARCHIVE_CORRUPT, DATA_FILE_MISSING, DATA_FILESET_EMPTY
from corpusfmt.formats.croissant.data.globs import matches, may_match_below
from corpusfmt.formats.croissant.model.graph import Description, FileObject, FileSet, Resource
from corpusfmt.formats.croissant.model.values import escapes
from corpusfmt.formats.general import barred, broken_stream
from corpusfmt.io.limits import Account
from corpusfmt.io.paths import Entry, is_uri, reason_of, walk
from corpusfmt.io.streams import Chunks, Codec, StreamFault
from corpusfmt.model import Fault, FindingType, Location, Problem


class Opened(Struct, frozen=True):
    """One file that is open for reading.

    `path` says where it is, for messages; `full_path` is what Croissant calls so, the path inside of its container.
    `chunks` are its bytes as stored; `entry` is where they can be read at will, None inside of archives.
    """

    path: str
    full_path: str
    chunks: Iterator[bytes]
    entry: Entry | None = None

    @property
    def name(self) -> str:
        return self.full_path.rpartition("/")[2]

    @property
    def contents(self) -> Iterator[bytes]:
        """The bytes, decompressed where the name says that they are compressed. Raises `Broken` where they do not decode."""
        return decompressed(self.chunks, self.name, self.path)


class NoFile(Exception):
    """A file is not where the description says; `hint` is the repairing step. It may be a link out of the folder."""

    def __init__(self, reason: str, hint: str, link: Entry | None = None) -> None:
        super().__init__(reason)
        self.hint = hint
        self.link = link

    def about(self, view: Resource) -> Fault:
        """Return what is wrong with a resource that says that it is there."""
        if self.link is not None:
            return barred(self.link, Location(self.link.path))
        return Fault(DATA_FILE_MISSING, Problem(f"{view.title}: {self}", view.place("sc:contentUrl"), self.hint))


def entry_beside(folder: Entry, path: str) -> Entry:
    """Return the file or folder at a relative contentUrl. Raises `NoFile`."""
    if path.startswith(("/", "\\")) or escapes(path):
        raise NoFile(f"`{path}` leaves the folder of the description", "put the file beside it")
    try:
        entry = folder.child(path)
    except ValueError as error:
        raise NoFile(f"`{path}` cannot be read: {error}", "correct the path") from error
    if entry is None:
        raise NoFile(f"no file `{path}` beside the description", "add it, or correct the path")
    if entry.kind == "outside":
        raise NoFile(f"`{entry.path}` is not opened: {entry.reason}", "put the file itself there", entry)
    if entry.is_barred:
        raise NoFile(f"`{path}` cannot be read: {entry.reason}", "put the file itself there, readable")
    return entry


def link_on_the_way(link: Entry, path: str) -> bool:
    """Tell whether a link is a path, or a folder on the way to it."""
    return path == link.path or path.startswith(f"{link.path}/")


def may_select(view: FileSet, link: Entry) -> bool:
    """Tell whether a file set may take in a link, or something in the folder that it leads to."""
    # The suffix of what is a folder for all we know says nothing; without `/`, patterns are tried on names, too.
    patterns = [each.value for each in view.texts("cr:includes")]
    return selection(view)(link.path) or any("/" not in each or may_match_below(each, link.path) for each in patterns)


def raw(entry: Entry) -> Iterator[bytes]:
    """Yield the bytes of a file."""
    with entry.open() as file:
        account = Account(file=file)
        while data := file.read(READ_SIZE):
            account.add(len(data), 0)
            yield data


def selection(view: FileSet) -> Callable[[str], bool]:
    """Return what tells whether a file set takes in a path: one of `includes` matches it, none of `excludes` does."""
    includes = [each.value for each in view.texts("cr:includes")]
    excludes = [each.value for each in view.texts("cr:excludes")]

    def selects(path: str) -> bool:
        return any(matches(each, path) for each in includes) and not any(matches(each, path) for each in excludes)

    return selects


def selects_by_name(view: FileSet, path: str) -> bool:
    """Tell whether a path in a folder is taken in only because patterns without a slash match at any depth."""
    with_slash = (each.value for each in view.texts("cr:includes") if "/" in each.value)
    return "/" in path and not any(matches(pattern, path) for pattern in with_slash)


def nothing_selected(view: FileSet) -> Fault:
    """Return the fault that a file set is empty."""
    includes = "`, `".join(literal.value for literal in view.texts("cr:includes"))
    hint = "next to a slash `*` stays within a folder; `**/` crosses folders"
    return Fault(
        DATA_FILESET_EMPTY, Problem(f"{view.title}: `{includes}` selects no file", view.place("cr:includes"), hint)
    )


_ARCHIVES = frozenset(
    f"application/{name}"
    for name in (
        "zip", "x-zip", "x-zip-compressed", "x-tar", "tar", "x-gtar", "tar+gzip", "x-tgz", "x-compressed-tar",
        "x-gtar-compressed", "x-bzip-compressed-tar", "x-bzip2-compressed-tar", "x-xz-compressed-tar",
        "x-zstd-compressed-tar",
    )
)  # fmt: skip
_ARCHIVE_NAME = re.compile(r".*\.(zip|tar|tgz|tbz2|txz|tzst|tar\.(gz|bz2|xz|zstd?))", re.IGNORECASE | re.DOTALL)


def claims_archive(view: Resource, path: str) -> bool:
    """Tell whether a file is described as a zip or tar: by its encodingFormat, or by its name."""
    return any(each.strip().lower() in _ARCHIVES for each in view.formats) or bool(_ARCHIVE_NAME.fullmatch(path))


def no_archive(view: Resource, path: str) -> Fault:
    """Return the fault that a file is not the archive that it claims to be."""
    message = f"{view.title}: `{path}` is not a zip or tar archive"
    hint = "fetch or pack it again, or correct `encodingFormat`"
    return Fault(DATA_ARCHIVE_CORRUPT, Problem(message, view.place("sc:contentUrl"), hint))


def damaged(view: Resource, entry: Entry, fault: ArchiveFault) -> Fault:
    """Return the fault that an archive does not read to its end, or that something is wrong around its members."""
    what = fault if fault.minor else f"does not read to its end: {fault}"
    message = f"{view.title}: `{entry.name}` {what}"
    return Fault(
        DATA_ARCHIVE_CORRUPT, Problem(message, view.place("sc:contentUrl"), "fetch or pack it again", minor=fault.minor)
    )


def no_reader(view: Resource, path: str) -> NotRead:
    """Return that a container is of a format that nothing here reads."""
    said = ", ".join(view.formats) or "none"
    return NotRead(
        f"{view.title}: members of `{path}` are not read: it is not a zip or tar (encodingFormat {said})", path
    )


def _anything(_path: str) -> bool:
    return True


class _Chunked:
    """Chunks as a file to read from, for the decompressors."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, _size: int = -1, /) -> bytes:
        return next(self._chunks, b"")


_CODECS: dict[str, Codec] = {"gz": "gzip", "zst": "zstd", "zstd": "zstd", "bz2": "bzip2", "xz": "xz"}


def split_codec(name: str) -> tuple[str, Codec]:
    """Return the name of a file without the suffix of its compression, and the compression that it announces."""
    plain, _, suffix = name.rpartition(".")
    codec = _CODECS.get(suffix)
    return (plain, codec) if codec else (name, "plain")


def decompressed(chunks: Iterator[bytes], name: str, path: str) -> Iterator[bytes]:
    """Yield the chunks of a file as its name says that they are compressed. Raises `Broken` where they do not decode."""
    try:
        yield from Chunks(_Chunked(chunks), split_codec(name)[1], path, inside=True)
    except StreamFault as fault:
        raise Broken(broken_stream(Location(path), fault)) from fault


class Files:
    """Opens the files behind the FileObjects and FileSets of one description, which lie in its folder."""

    def __init__(self, description: Description, folder: Entry) -> None:
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
            yield Opened(path, path, self._raw(view, entry), entry)
            return
        wanted = str(PurePosixPath(path))
        found = False
        for opened in self._inside(
            containers[0], lambda each: each == wanted, lambda each: link_on_the_way(each, wanted)
        ):
            found = True
            yield opened
        if not found:
            message = f"no member `{wanted}` in `{containers[0].text('sc:contentUrl')}`"
            raise self._broken(view, DATA_FILE_MISSING, message, "correct the path inside the container")

    def local(self, view: Resource) -> Iterator[Entry]:
        """Yield the files on disk that a FileObject or FileSet is read from; of what is not there, nothing."""
        containers = self._containers(view)
        wanted = selection(view) if isinstance(view, FileSet) else _anything
        try:
            sources = [self._entry(each, self._path_of(each)) for each in containers]
            if not containers:
                sources = [self._folder if isinstance(view, FileSet) else self._entry(view, self._path_of(view))]
        except (Broken, NotRead):
            return
        for source in sources:
            inside = walk(source) if source.kind == "directory" else ()
            yield from [source] if source.kind == "file" else (e for e in inside if e.kind == "file" and wanted(e.path))

    def _selected(self, view: FileSet) -> Iterator[Opened]:
        wanted, behind = selection(view), partial(may_select, view)
        containers = self._containers(view)
        for container in containers:
            yield from self._inside(container, wanted, behind)
        if not containers:
            if view.containers:
                raise NotRead(f"{view.title}: its container is not followed")
            yield from self._in_folder(view, self._folder, "", wanted, behind)

    def _inside(
        self, container: FileObject, wanted: Callable[[str], bool], behind: Callable[[Entry], bool]
    ) -> Iterator[Opened]:
        """Yield the files in a container whose paths are wanted; `behind` tells of a link whether one may lie there."""
        if container.containers:
            raise NotRead(f"{container.title}: a container inside of another is not followed")
        path = self._path_of(container)
        entry = self._entry(container, path)
        if entry.kind == "directory":
            yield from self._in_folder(container, entry, f"{path.rstrip('/')}/", wanted, behind)
            return
        try:
            with entry.open() as file:
                head = file.read(512)
            if not is_archive(head):
                raise (
                    Broken(no_archive(container, path))
                    if claims_archive(container, path)
                    else no_reader(container, path)
                )
            for member in members(entry.open, path, wanted):
                yield Opened(f"{path}/{member.path}", member.path, self._whole(container, entry, member.chunks))
        except ArchiveFault as fault:
            if not fault.minor:
                raise Broken(damaged(container, entry, fault)) from fault
        except OSError as error:
            message = f"`{path}` cannot be read: {reason_of(error)}"
            raise self._broken(container, DATA_FILE_MISSING, message, "make it readable") from error

    def _whole(self, container: FileObject, entry: Entry, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from chunks
        except ArchiveFault as fault:
            raise Broken(damaged(container, entry, fault)) from fault

    def _in_folder(
        self,
        view: Resource,
        folder: Entry,
        prefix: str,
        wanted: Callable[[str], bool],
        behind: Callable[[Entry], bool],
    ) -> Iterator[Opened]:
        for entry in walk(folder):
            if entry.kind == "outside" and behind(entry):
                raise Broken(barred(entry, Location(f"{prefix}{entry.path}")))
            if entry.kind == "file" and wanted(entry.path):
                yield Opened(f"{prefix}{entry.path}", entry.path, self._raw(view, entry), entry)

    def _raw(self, view: Resource, entry: Entry) -> Iterator[bytes]:
        try:
            yield from raw(entry)
        except OSError as error:
            message = f"`{entry.name}` cannot be read: {reason_of(error)}"
            raise self._broken(view, DATA_FILE_MISSING, message, "make it readable") from error

    def _path_of(self, view: Resource) -> str:
        path = view.text("sc:contentUrl")
        if not path:
            raise NotRead(f"{view.title}: it has no contentUrl")
        if is_uri(path):
            raise NotRead(f"{view.title}: `{path}` is on the web, and nothing is fetched: describe a local copy")
        return path

    def _entry(self, view: Resource, path: str) -> Entry:
        try:
            return entry_beside(self._folder, path)
        except NoFile as fault:
            raise Broken(fault.about(view)) from None

    def _containers(self, view: Resource) -> list[FileObject]:
        found = (self._description.view_of(value) for value in view.containers)
        return [each for each in found if isinstance(each, FileObject)]

    @staticmethod
    def _broken(view: Resource, kind: FindingType, message: str, hint: str) -> Broken:
        return Broken(Fault(kind, Problem(f"{view.title}: {message}", view.place("sc:contentUrl"), hint)))
