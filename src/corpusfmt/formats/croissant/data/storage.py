"""Internal: Check the local files of a description in one pass: presence, size, digest, selections of file sets."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.croissant.data.archives import (
    ArchiveFault,
    Member,
    is_archive,
    members,
)
from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.files import (
    Files,
    NoFile,
    claims_archive,
    damaged,
    decompressed,
    entry_beside,
    inside_another,
    is_elsewhere,
    link_on_the_way,
    may_select,
    no_archive,
    no_reader,
    nothing_selected,
    raw,
    selection,
    selects_by_name,
    split_codec,
)
from corpusfmt.formats.croissant.data.findings import (
    DATA_FILE_MISSING,
    DATA_GLOB_ANY_DEPTH,
    DATA_MEMBER_ESCAPES,
    DATA_SHA256_MISMATCH,
    DATA_SIZE_MISMATCH,
    Gap,
)
from corpusfmt.formats.croissant.data.globs import literal_in
from corpusfmt.formats.croissant.data.patterns import TIME_LIMIT, Patterns
from corpusfmt.formats.croissant.data.signatures import HEAD, signature_fault
from corpusfmt.formats.croissant.model.graph import Description, Field, FileObject, FileSet, Resource, View
from corpusfmt.formats.croissant.model.values import escapes, is_absolute, size_in_bytes
from corpusfmt.formats.general import barred, repair_of
from corpusfmt.io.limits import fitting
from corpusfmt.io.paths import Entry, reason_of, walk
from corpusfmt.model import Fault, FindingType, Location, Problem

_OF_FILES = ("CRO601", "CRO602", "CRO603")
# The number of missing files of a manifest that are reported separately.
_SHOWN = 10
# Sizes with a unit are rounded.
_ROUNDING = 0.05


class _Facts(Struct):
    """The results of one pass over a file."""

    size: int
    digests: dict[str, str]


class _Names:
    """The paths of all files in one container, separately and as one text."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.text = "\n".join(paths)


@dataclass
class Storage:
    """Checks the files of one description, in its folder."""

    description: Description
    folder: Entry
    maps: Mapping[str, Entry] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    bytes_read: int = 0
    _elsewhere: int = 0
    _files: Files = field(init=False)
    #: By real path and digests: each file is read once, however many FileObjects describe it.
    _facts_of: dict[tuple[str, ...], _Facts] = field(default_factory=dict)
    _names: dict[int, _Names] = field(default_factory=dict)
    #: The files in each container, by the description.
    _inside: defaultdict[FileObject, list[FileObject]] = field(default_factory=lambda: defaultdict(list))
    #: Files whose content was read.
    _opened: set[FileObject] = field(default_factory=set)
    _holding_sets: set[int] = field(default_factory=set)
    #: By container that is a folder: the links that point out of it, each with its place next to the description.
    _links: dict[int, list[tuple[Location, Entry]]] = field(default_factory=dict)

    def check(self) -> None:
        """Check the local files, the members of archives, and the file sets."""
        with Patterns(TIME_LIMIT) as patterns:
            self._files = Files(self.description, self.folder, self.maps, patterns)
            self._check()

    def _check(self) -> None:
        files = [view for view in self.description.views.values() if isinstance(view, FileObject)]
        sets = [view for view in self.description.views.values() if isinstance(view, FileSet)]
        for file in files:
            if file.text("sc:contentUrl"):  # CRO302 reports the others
                for container in self._files.containers_of(file):
                    self._inside[container].append(file)
        self._holding_sets = {id(container) for view in sets for container in self._files.containers_of(view)}
        for file in files:
            if not file.containers or file in self._files.copies:
                self._top(file)
        for file in files:
            if self._files.is_listed(file) and file.text("sc:contentUrl"):
                self._in_manifest(file)
        for file in files:
            if (
                file.containers
                and not self._files.is_listed(file)
                and file not in self._files.copies
                and not self._is_followed(file)
            ):
                self._leave_out(file, f"{file.title}: the container is not read")
        for view in sets:
            self._file_set(view)
        if self._elsewhere:
            are = "files are" if self._elsewhere > 1 else "file is"
            reason = f"{self._elsewhere} {are} on the web, and nothing is fetched: --map names local copies"
            self.gaps.append(Gap(_OF_FILES, self.description.places.path, reason, self._elsewhere))

    def _is_followed(self, view: FileObject | FileSet) -> bool:
        """Return whether all containers of a view are local and nested ones were opened, as those in folders are."""
        containers = self._files.containers_of(view)
        return bool(containers) and all(not each.containers or each in self._opened for each in containers)

    def _fault(self, kind: FindingType, view: FileObject, name: str, message: str, hint: str) -> None:
        self.faults.append(Fault(kind, Problem(f"{view.title}: {message}", view.place(name), hint)))

    def _entry(self, file: FileObject) -> Entry | None:
        path = file.text("sc:contentUrl")
        if file in self._files.copies or not path:
            return self._files.copies.get(file)
        if is_elsewhere(path):
            self._elsewhere += 1
            return None
        try:
            return entry_beside(self.folder, path)
        except NoFile as fault:
            self.faults.append(fault.about(file))
            return None

    def _top(self, file: FileObject) -> None:
        entry = self._entry(file)
        if entry is not None:
            self._at(file, entry)

    def _at(self, file: FileObject, entry: Entry) -> None:
        """Check the entry of a FileObject: a file, perhaps an archive, or a folder with its contents."""
        self._opened.add(file)
        path = entry.path if file in self._files.copies else file.text("sc:contentUrl") or ""
        if entry.kind == "directory":
            listed = self._list(file, entry, path)
            for each in self._inside[file]:
                self._in_folder(each, file, listed)
            return
        try:
            with entry.open() as source:
                head = source.read(512)
            self._judge(file, self._facts_at(file, entry))
            fault = signature_fault(file, path, head[:HEAD], file.place("sc:encodingFormat"))
            self.faults += [fault] if fault is not None else []
            if self._inside[file] or id(file) in self._holding_sets or claims_archive(file, entry.name):
                self._container(file, entry, head)
            elif split_codec(entry.name)[1] != "plain" and file not in self._sources:
                for _ in decompressed(raw(entry), entry.name, entry.path):
                    pass
        except Broken as broken:
            self.faults.append(broken.fault)
        except OSError as error:
            message = f"`{path}` cannot be read: {reason_of(error)}"
            self._fault(DATA_FILE_MISSING, file, "sc:contentUrl", message, repair_of(error))

    def _list(self, view: Resource, folder: Entry, path: str) -> dict[str, Entry]:
        """Store the names and links in a folder (a container or a local copy), and return its entries by path."""
        listed = {each.path: each for each in _listed(folder)}
        self._names[id(view)] = _Names([path for path, each in listed.items() if each.kind == "file"])
        links = (each for each in listed.values() if each.kind == "outside")
        self._links[id(view)] = [(Location(f"{path.rstrip('/')}/{each.path}"), each) for each in links]
        return listed

    def _in_folder(self, file: FileObject, container: FileObject, listed: Mapping[str, Entry]) -> None:
        path = _path_of(file)
        entry = listed.get(path)
        if entry is not None and entry.kind == "file":
            if self._inside[file] or id(file) in self._holding_sets:
                self._at(file, entry)
            else:
                self._judge(file, self._facts_at(file, entry))
        elif found := next((each for each in self._links[id(container)] if link_on_the_way(each[1], path)), None):
            at, link = found
            self.faults.append(barred(link, at))
        elif not escapes(path):
            self._fault(
                DATA_FILE_MISSING, file, "sc:contentUrl", f"no file `{path}` in the container", "correct the path"
            )

    def _container(self, file: FileObject, entry: Entry, head: bytes) -> None:
        path = file.text("sc:contentUrl") or ""
        if is_archive(head):
            self._archive(file, entry.path, members(entry.open, entry.path))
        elif claims_archive(file, path):
            self.faults.append(no_archive(file, path))
        else:
            self._leave_out(file, str(no_reader(file, path)))

    def _leave_out(self, view: Resource, reason: str) -> None:
        self.gaps.append(Gap(_OF_FILES, view.text("sc:contentUrl") or self.description.places.path, reason))

    def _archive(self, file: FileObject, path: str, found: Iterator[Member]) -> None:
        name = path.rpartition("/")[2]
        wanted = {_path_of(each): each for each in self._inside[file]}
        names: list[str] = []
        strange: list[str] = []
        try:
            for member in fitting(found, _cost_of_member, _MOST_HELD_BYTES, "members", path):
                names.append(member.path)
                strange += [member.path] if escapes(member.path) or is_absolute(member.path) else []
                inner = wanted.pop(member.path, None)
                if inner is not None:
                    if self._inside[inner] or id(inner) in self._holding_sets:
                        self._leave_out(inner, inside_another(inner))
                    self._judge(inner, self._facts(inner, member.chunks))
        except ArchiveFault as fault:
            self.faults.append(damaged(file, name, fault))
            if not fault.minor:
                return
        finally:
            if strange:
                message = f"{file.title}: member `{strange[0]}` of `{name}` points outside the folder it is unpacked to"
                hint = "pack the archive again with relative paths"
                self.faults.append(
                    Fault(DATA_MEMBER_ESCAPES, Problem(message, file.place("sc:contentUrl"), hint, len(strange)))
                )
        self._names[id(file)] = _Names(names)
        for each, missing in wanted.items():
            if not escapes(each):
                message = f"no member `{each}` in `{name}`"
                self._fault(
                    DATA_FILE_MISSING, missing, "sc:contentUrl", message, "correct the path inside the container"
                )

    def _facts_at(self, file: FileObject, entry: Entry) -> _Facts:
        key = (os.path.realpath(entry.url), *_wanted_digests(file))
        if key not in self._facts_of:
            if len(key) == 1 and file in self._sources and not entry.is_remote:
                # It is read when its records are.
                self.bytes_read += entry.size
                return _Facts(entry.size, {})
            self._facts_of[key] = self._facts(file, raw(entry))
        return self._facts_of[key]

    def _facts(self, file: FileObject, chunks: Iterable[bytes]) -> _Facts:
        hashes = {name: hashlib.new(name, usedforsecurity=False) for name in _wanted_digests(file)}
        size = 0
        for chunk in chunks:
            size += len(chunk)
            for digest in hashes.values():
                digest.update(chunk)
        self.bytes_read += size
        return _Facts(size, {name: digest.hexdigest() for name, digest in hashes.items()})

    def _judge(self, file: FileObject, facts: _Facts) -> None:
        said = size_in_bytes(file.text("sc:contentSize") or "")
        if said is not None:
            size, exact = said
            if abs(size - facts.size) > (0 if exact else max(size, facts.size) * _ROUNDING):
                message = f"{facts.size:,} bytes, `contentSize` says {size:,}"
                self._fault(DATA_SIZE_MISMATCH, file, "sc:contentSize", message, f"write `{facts.size} B`")
        for name, actual in facts.digests.items():
            if _digest(file, name) != actual:
                message = f"the {name} is `{actual}`, the description says `{_digest(file, name)}`"
                key = "sc:sha256" if name == "sha256" else "cr:md5"
                hint = f"download the file again, or write `{actual}` if the file is right"
                self._fault(DATA_SHA256_MISMATCH, file, key, message, hint)

    def _file_set(self, view: FileSet) -> None:
        containers: list[Resource] = [*self._files.containers_of(view)]
        if view in self._files.copies:
            self._list(view, self._files.copies[view], self._files.copies[view].path)
            containers = [view]
        elif self._files.is_listed(view):
            self._manifest(view)
            return
        elif view.containers and not self._is_followed(view):
            self._leave_out(view, f"{view.title}: the container is not read")
            return
        if any(id(each) not in self._names for each in containers):
            return  # a missing or corrupt container is reported itself
        if not view.all("cr:includes"):
            self._leave_out(view, f"{view.title}: no pattern selects its files")
            return
        faults = [barred(link, at) for at, link in self._links_in(containers) if may_select(view, link)]
        self.faults += faults
        if faults:
            return
        selected = chain.from_iterable(_selected(view, names) for names in self._names_in(containers))
        first = next(selected, None)
        if first is None:
            self.faults.append(nothing_selected(view))
            return
        deep = next((path for path in chain([first], selected) if selects_by_name(view, path)), None)
        if deep is not None:
            message = f"{view.title}: a pattern without a slash selects `{deep}`, which is in a folder"
            hint = "write `**/` before the pattern, or `./` to select from the top folder only"
            self.faults.append(Fault(DATA_GLOB_ANY_DEPTH, Problem(message, view.place("cr:includes"), hint)))

    def _in_manifest(self, file: FileObject) -> None:
        """Check a file that is in a manifest."""
        try:
            entry = self._files.entry_in_manifest(file)
        except NotRead as not_read:
            self._leave_out(file, str(not_read))
        except Broken as broken:
            self.faults += [broken.fault] if broken.fault not in self.faults else []
        else:
            self._at(file, entry)

    def _manifest(self, view: FileSet) -> None:
        """Check that the files exist that the manifests of a set name."""
        missing: list[Fault] = []
        named = lost = elsewhere = 0
        try:
            for each in self._files.listed(view):
                named += 1
                try:
                    self._files.listed_entry(view, each)
                except Broken as broken:
                    lost += 1
                    missing += [broken.fault] if len(missing) < _SHOWN else []
                except NotRead:
                    elsewhere += 1
        except NotRead as not_read:
            self._leave_out(view, str(not_read))
            return
        except Broken as broken:
            self.faults += [broken.fault] if broken.fault not in self.faults else []
            return
        if not named:
            self.faults.append(nothing_selected(view))
        self.faults += missing[:-1]
        for fault in missing[-1:]:
            self.faults.append(Fault(fault.type, replace(fault.problem, count=lost - len(missing) + 1)))
        if elsewhere:
            reason = (
                f"{view.title}: {elsewhere} of the files that its manifest names are on the web, and nothing is fetched"
            )
            self.gaps.append(Gap(_OF_FILES, self.description.places.path, reason, elsewhere))

    def _names_in(self, containers: Sequence[Resource]) -> Iterator[_Names]:
        """Yield the paths in containers, or without containers, the paths in the description's folder."""
        for each in containers:
            yield self._names[id(each)]
        if not containers:
            yield self._names_local

    def _links_in(self, containers: Sequence[Resource]) -> Iterator[tuple[Location, Entry]]:
        for each in containers:
            yield from self._links.get(id(each), ())
        if not containers:
            yield from self._links_local

    @cached_property
    def _sources(self) -> set[View]:
        """The sources of record sets, which are read and checked to their end anyway."""
        sources = (each for view in self.description.views.values() if isinstance(view, Field) for each in view.sources)
        return {target for source in sources for target in source.target_views}

    @cached_property
    def _local(self) -> list[Entry]:
        return list(_listed(self.folder))

    @cached_property
    def _names_local(self) -> _Names:
        return _Names([entry.path for entry in self._local if entry.kind == "file"])

    @cached_property
    def _links_local(self) -> list[tuple[Location, Entry]]:
        return [(Location(entry.path), entry) for entry in self._local if entry.kind == "outside"]


# All file names must fit in memory: some millions of members, half a million files.
_MOST_HELD_BYTES = 192 * 1024 * 1024
_NAME_BYTES = 60
_ENTRY_BYTES = 300


def _path_of(file: FileObject) -> str:
    """Return the path of a file in its container."""
    return str(PurePosixPath(file.text("sc:contentUrl") or ""))


def _cost_of_member(member: Member) -> int:
    return 2 * len(member.path) + _NAME_BYTES


def _cost_of_entry(entry: Entry) -> int:
    return 2 * len(entry.path) + len(entry.url) + _ENTRY_BYTES


def _listed(folder: Entry) -> Iterator[Entry]:
    return fitting(walk(folder), _cost_of_entry, _MOST_HELD_BYTES, "files", folder.path)


def _selected(view: FileSet, names: _Names) -> Iterator[str]:
    # One search in all paths rules out most patterns that match none.
    if any(literal_in(each.value) in names.text for each in view.texts("cr:includes")):
        yield from filter(selection(view), names.paths)


def _wanted_digests(file: FileObject) -> list[str]:
    return [each for each in ("sha256", "md5") if _digest(file, each)]


def _digest(file: FileObject, name: str) -> str | None:
    """Return the digest in a description, None if it is malformed."""
    text = file.text("sc:sha256") if name == "sha256" else file.text("cr:md5") or file.text("sc:md5")
    length = 64 if name == "sha256" else 32
    return text.lower() if text is not None and re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", text) else None
