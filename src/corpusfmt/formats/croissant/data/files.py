"""Internal: The local files of a description's FileObjects and FileSets; archives are read in place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.croissant.data.archives import READ_SIZE, ArchiveFault, Member, is_archive, members
from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.findings import DATA_ARCHIVE_CORRUPT, DATA_FILE_MISSING, DATA_FILESET_EMPTY
from corpusfmt.formats.croissant.data.globs import matches, may_match_below
from corpusfmt.formats.croissant.data.patterns import Patterns
from corpusfmt.formats.croissant.model.graph import Description, FileObject, FileSet, Resource
from corpusfmt.formats.croissant.model.values import escapes
from corpusfmt.formats.general import barred, broken_stream, repair_of
from corpusfmt.io.limits import Account
from corpusfmt.io.paths import Entry, is_uri, reason_of, walk
from corpusfmt.io.streams import Chunks, Codec, StreamFault, codec_of_name
from corpusfmt.model import Fault, Location, Problem, UsageError

T = TypeVar("T")


class Opened(Struct, frozen=True):
    """One file that is open for reading.

    `path` is for messages; `full_path` is Croissant's fullpath, the path inside the container. `chunks` are the bytes as
    stored; `entry` gives random access to them, and is None inside archives.
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
        """The bytes, decompressed if the name has a compression suffix. Raises `Broken` if they do not decode."""
        return decompressed(self.chunks, self.name, self.path)


class Listed(NamedTuple):
    """A file that a manifest names, and the place of its name."""

    name: str
    at: Location


def names_of(view: Resource) -> list[str]:
    """Return the names of a file or file set: its `@id`, as written or expanded, and its name."""
    return [name for name in (view.text("sc:name"), view.id, view.node.written_id) if isinstance(name, str)]


def is_elsewhere(path: str) -> bool:
    """Return whether a contentUrl names a file on the web or a repository to clone."""
    return is_uri(path) or _CLONED.match(path) is not None


def link_on_the_way(link: Entry, path: str) -> bool:
    """Return whether a link is the path itself or one of its parent folders."""
    return path == link.path or path.startswith(f"{link.path}/")


def may_select(view: FileSet, link: Entry) -> bool:
    """Return whether a file set may select a link, or something in the folder that the link points to."""
    # The link may be a folder, so its suffix proves nothing; patterns without `/` also match names.
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
    """Return a test whether a file set selects a path: one of `includes` matches it, and none of `excludes`.

    A manifest names the files, so a set without `includes` selects all of them.
    """
    includes = [each.value for each in view.texts("cr:includes")]
    excludes = [each.value for each in view.texts("cr:excludes")]
    takes_all = not includes and bool(view.manifests)

    def selects(path: str) -> bool:
        is_in = takes_all or any(matches(each, path) for each in includes)
        return is_in and not any(matches(each, path) for each in excludes)

    return selects


def selects_by_name(view: FileSet, path: str) -> bool:
    """Return whether a path in a folder is selected only because patterns without a slash match at any depth."""
    with_slash = (each.value for each in view.texts("cr:includes") if "/" in each.value)
    return "/" in path and not any(matches(pattern, path) for pattern in with_slash)


def nothing_selected(view: FileSet) -> Fault:
    """Return the fault of a file set that selects no file."""
    if view.manifests and not view.all("cr:includes"):
        place, hint = view.place("cr:containedIn"), "write the path of a file on each line, or correct the transform"
        return Fault(DATA_FILESET_EMPTY, Problem(f"{view.title}: the manifest names no file", place, hint))
    includes = "`, `".join(literal.value for literal in view.texts("cr:includes"))
    hint = "write `**/` to cross folders: next to a slash, `*` stays within a folder"
    return Fault(
        DATA_FILESET_EMPTY, Problem(f"{view.title}: `{includes}` selects no file", view.place("cr:includes"), hint)
    )


# A git address: user and host, then a path.
_CLONED = re.compile(r"[\w.-]+@[\w.-]+:")
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
    """Return whether a file is called a zip or tar, by its encodingFormat or its name."""
    return any(each.strip().lower() in _ARCHIVES for each in view.formats) or bool(_ARCHIVE_NAME.fullmatch(path))


def inside_another(view: Resource) -> str:
    """Return why an archive in an archive is not read."""
    return f"{view.title}: an archive inside another is not read: unpack the outer one"


def members_of(view: Resource, entry: Entry, selects: Callable[[str], bool] = lambda _path: True) -> Iterator[Member]:
    """Yield the selected files in a container; use each before the next.

    Raises `Broken` at damage, which is minor if all members could be read; `NotRead` for another format; `OSError`.
    """
    place, hint = view.place("sc:contentUrl"), "download or pack the archive again"
    with entry.open() as file:
        head = file.read(512)
    if not is_archive(head):
        if claims_archive(view, entry.path) or claims_archive(view, view.text("sc:contentUrl") or ""):
            message = f"{view.title}: `{entry.path}` is not a zip or tar archive"
            raise Broken(Fault(DATA_ARCHIVE_CORRUPT, Problem(message, place, f"{hint}, or correct `encodingFormat`")))
        said = f"not a zip or tar (encodingFormat {', '.join(view.formats) or 'none'})"
        raise NotRead(f"{view.title}: the members of `{entry.path}` are not read: {said}", entry.path)

    def whole(found: Iterator[T]) -> Iterator[T]:
        try:
            yield from found
        except ArchiveFault as fault:
            what = fault if fault.minor else f"is corrupt: {fault}"
            message = f"{view.title}: `{entry.name}` {what}"
            raise Broken(Fault(DATA_ARCHIVE_CORRUPT, Problem(message, place, hint, minor=fault.minor))) from fault

    for member in whole(members(entry.open, entry.path, selects)):
        yield Member(member.path, whole(member.chunks))


class _Chunked:
    """Chunks as a file, for the decompressors."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def read(self, _size: int = -1, /) -> bytes:
        return next(self._chunks, b"")


def split_codec(name: str) -> tuple[str, Codec]:
    """Return the name of a file without its compression suffix, and the codec of that suffix."""
    codec = codec_of_name(name)
    return (name if codec == "plain" else name.rpartition(".")[0]), codec


def decompressed(chunks: Iterator[bytes], name: str, path: str) -> Iterator[bytes]:
    """Yield the chunks of a file, decompressed by the suffix of its name. Raises `Broken` if they do not decode, `NotRead`
    if the package for it is missing.
    """
    try:
        yield from Chunks(_Chunked(chunks), codec_of_name(name), path, inside=True)
    except StreamFault as fault:
        raise Broken(broken_stream(Location(path), fault)) from fault
    except UsageError as error:
        raise NotRead(f"{path}: {error}") from error


class Files:
    """Opens the files of one description's FileObjects and FileSets in its folder; `patterns` is for their manifests."""

    def __init__(self, description: Description, folder: Entry, maps: Mapping[str, Entry], patterns: Patterns) -> None:
        self._description = description
        self._folder = folder
        #: The local copies of files and file sets.
        self.copies = {
            view: maps[name]
            for view in (description.views.values() if maps else ())
            if isinstance(view, Resource)
            for name in names_of(view)
            if name in maps
        }
        self._patterns = patterns
        #: Files and sets with a manifest that is being read.
        self._listing: set[Resource] = set()

    def containers_of(self, view: Resource) -> list[FileObject]:
        """Return the files that contain a resource, including those of a DataSource that is not a manifest.

        There are none if there is a copy of the resource.
        """
        if view in self.copies:
            return []
        found = [self._description.view_of(value) for value in view.containers]
        found += [target for each in view.manifests if not each.lists_files for target in each.target_views]
        return [each for each in found if isinstance(each, FileObject)]

    def entry(self, view: Resource) -> Entry:
        """Return the file or folder of a resource on disk.

        Raises `NotRead` for a file on the web or in an archive, `Broken` for a missing file.
        """
        if view in self.copies:
            return self.copies[view]
        if isinstance(view, FileObject) and self.is_listed(view):
            for each in self.listed(view):
                return self.listed_entry(view, each)
            message = f"no manifest names `{self._path_of(view)}`"
            raise self._broken(view, message, "correct the path, or add it to the manifest")
        path = self._path_of(view)
        folder = self._folder
        if view.containers:
            outer = self.containers_of(view)[:1]
            # CRO314 reports a cycle of containers.
            if not outer or (outer[0].containers and outer[0] not in self.copies):
                raise NotRead(f"{view.title}: the container is not read")
            folder = self.entry(outer[0])
            if folder.kind != "directory":
                raise NotRead(inside_another(view))
        try:
            return replace(
                _entry_beside(folder, path), path=f"{folder.path.rstrip('/')}/{path}" if folder.path else path
            )
        except _NoFile as fault:
            if fault.link is not None:
                raise Broken(barred(fault.link, Location(fault.link.path))) from None
            raise self._broken(view, str(fault), fault.hint) from None

    def opened(self, view: Resource) -> Iterator[Opened]:
        """Yield the files of a FileObject (one) or FileSet, in the order of their container; use each before the next.

        Raises `NotRead` for files on the web or in unsupported containers, `Broken` for missing or corrupt files.
        """
        containers = self.containers_of(view)
        if isinstance(view, FileSet):
            yield from self._selected(view, containers)
        elif containers:
            wanted = str(PurePosixPath(self._path_of(view)))
            found = False
            for opened in self._inside(containers[0], wanted.__eq__, lambda link: link_on_the_way(link, wanted)):
                found = True
                yield opened
            if not found:
                message = f"no member `{wanted}` in `{containers[0].text('sc:contentUrl')}`"
                raise self._broken(view, message, "correct the path inside the container")
        else:
            entry = self.entry(view)
            if entry.kind == "directory":
                raise NotRead(f"{view.title}: `{entry.path}` is a folder: describe its files with a FileSet")
            full_path = entry.name if view in self.copies else entry.path
            yield Opened(entry.path, full_path, self._raw(view, entry), entry)

    def local(self, view: Resource) -> Iterator[Entry]:
        """Yield the existing files on disk that hold a FileObject or FileSet: its own, archives around it, its manifests."""
        for manifest in view.manifests if self.is_listed(view) else ():
            for target in manifest.target_views:
                if isinstance(target, Resource) and target is not view:
                    yield from self.local(target)
        with suppress(Broken, NotRead):
            containers = [self.entry(each) for each in self.containers_of(view)]
            archives = [each for each in containers if each.kind == "file"]
            yield from archives
            if self.is_listed(view) or not archives or len(archives) < len(containers):
                yield from (opened.entry for opened in self.opened(view) if opened.entry is not None)

    def _selected(self, view: FileSet, containers: Sequence[FileObject]) -> Iterator[Opened]:
        wanted, behind = selection(view), partial(may_select, view)
        lists = self.is_listed(view)
        found: Iterator[Opened] = iter(())
        for container in [view] if view in self.copies else containers:
            found = chain(found, self._inside(container, wanted, behind))
        if lists:
            found = chain(found, (self._opened_as_listed(view, each) for each in self.listed(view)))
        elif not containers and view not in self.copies:
            if view.containers:
                raise NotRead(f"{view.title}: the container is not read")
            found = self._in_folder(view, self._folder, "", wanted, behind)
        empty = True
        for opened in found:
            empty = False
            yield opened
        if empty:
            raise Broken(nothing_selected(view))

    def is_listed(self, view: Resource) -> bool:
        """Return whether manifests name the files of a resource."""
        return view not in self.copies and any(each.lists_files for each in view.manifests)

    def listed(self, view: Resource) -> Iterator[Listed]:
        """Yield the files that the manifests of a file set name and its patterns select, or where they name a file.

        Raises `NotRead` and `Broken` if a manifest cannot be read.
        """
        from corpusfmt.formats.croissant.data.manifests import names_in  # noqa: PLC0415 - a cycle of imports

        if view in self._listing:
            raise NotRead(f"{view.title}: its manifest is in itself")
        wanted = selection(view) if isinstance(view, FileSet) else str(PurePosixPath(self._path_of(view))).__eq__
        self._listing.add(view)
        try:
            for manifest in view.manifests if self.is_listed(view) else ():
                for target in manifest.target_views if manifest.lists_files else ():
                    for opened in self.opened(target) if isinstance(target, Resource) else ():
                        names = names_in(manifest, cast("Resource", target), opened, self._patterns)
                        yield from (each for each in names if wanted(each.name))
        finally:
            self._listing.discard(view)

    def listed_entry(self, view: Resource, each: Listed) -> Entry:
        """Return the file that a manifest names, next to the description.

        Raises `NotRead` for a file on the web or from a manifest there, and `Broken` for a missing file.
        """
        if is_elsewhere(each.name):
            raise NotRead(f"{view.title}: `{each.name}` is on the web, and nothing is fetched")
        try:
            return replace(_entry_beside(self._folder, each.name), path=each.name)
        except _NoFile as fault:
            if fault.link is not None:
                raise Broken(barred(fault.link, Location(fault.link.path))) from None
            targets = [target for manifest in view.manifests for target in manifest.target_views]
            if any(is_elsewhere(target.text("sc:contentUrl") or "") for target in targets):
                raise NotRead(f"{view.title}: `{each.name}` is where its manifest is from, on the web") from None
            problem = Problem(f"{view.title}: {fault}", each.at, "add it, or correct the manifest")
            raise Broken(Fault(DATA_FILE_MISSING, problem)) from None

    def _opened_as_listed(self, view: FileSet, each: Listed) -> Opened:
        """Return a file that a manifest names; a missing one is a fault only when its bytes are read, not for its path."""

        def chunks() -> Iterator[bytes]:
            yield from self._raw(view, self.listed_entry(view, each))

        entry = None
        with suppress(Broken, NotRead):
            entry = self.listed_entry(view, each)
        return Opened(each.name, each.name, chunks(), entry)

    def _inside(
        self, container: FileObject | FileSet, wanted: Callable[[str], bool], behind: Callable[[Entry], bool]
    ) -> Iterator[Opened]:
        """Yield the files in a container with wanted paths; `behind` tests whether a link may lead to one."""
        entry = self.entry(container)
        path = entry.path
        if entry.kind == "directory":
            yield from self._in_folder(container, entry, f"{path.rstrip('/')}/", wanted, behind)
            return
        try:
            for member in members_of(container, entry, wanted):
                yield Opened(f"{path}/{member.path}", member.path, member.chunks)
        except Broken as broken:
            if not broken.fault.problem.minor:
                raise
        except OSError as error:
            raise self._broken(container, f"`{path}` cannot be read: {reason_of(error)}", repair_of(error)) from error

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
            raise self._broken(view, message, repair_of(error)) from error

    def _path_of(self, view: Resource) -> str:
        path = view.text("sc:contentUrl")
        if not path:
            raise NotRead(f"{view.title}: `contentUrl` is missing")
        if is_elsewhere(path):
            raise NotRead(
                f"{view.title}: `{path}` is on the web, and nothing is fetched: describe a local copy, or name one with --map"
            )
        return path

    @staticmethod
    def _broken(view: Resource, message: str, hint: str) -> Broken:
        problem = Problem(f"{view.title}: {message}", view.place("sc:contentUrl"), hint)
        return Broken(Fault(DATA_FILE_MISSING, problem))


class _NoFile(Exception):
    """A file of the description is missing, or is a `link` out of the folder."""

    def __init__(self, reason: str, hint: str, link: Entry | None = None) -> None:
        super().__init__(reason)
        self.hint = hint
        self.link = link


def _entry_beside(folder: Entry, path: str) -> Entry:
    """Return the file or folder at a relative contentUrl. Raises `_NoFile`."""
    if path.startswith(("/", "\\")) or escapes(path):
        raise _NoFile(f"`{path}` points outside the description's folder", "move the file into the folder")
    try:
        entry = folder.child(path)
    except ValueError as error:
        raise _NoFile(f"`{path}` cannot be read: {error}", "correct the path") from error
    if entry is None:
        raise _NoFile(f"no file `{path}` next to the description", "add the file, or correct the path")
    if entry.kind == "outside":
        raise _NoFile(f"`{entry.path}` is not opened: {entry.reason}", "put the file itself there", entry)
    if entry.is_barred:
        raise _NoFile(f"`{path}` cannot be read: {entry.reason}", "put the file itself there, readable")
    return entry
