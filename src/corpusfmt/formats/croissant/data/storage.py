"""Internal: The local files behind a description, judged in one pass over each: presence, size, digest, what file
sets select.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath

from msgspec import Struct

from corpusfmt.formats.croissant.data.archives import ArchiveFault, Member, is_archive, members
from corpusfmt.formats.croissant.data.batches import Broken
from corpusfmt.formats.croissant.data.files import (
    NoFile,
    claims_archive,
    damaged,
    decompressed,
    entry_beside,
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
from corpusfmt.formats.croissant.data.signatures import HEAD, signature_fault
from corpusfmt.formats.croissant.model.graph import Description, Field, FileObject, FileSet, Resource, View
from corpusfmt.formats.croissant.model.values import escapes, is_absolute, size_in_bytes
from corpusfmt.formats.general import barred
from corpusfmt.io.limits import fitting
from corpusfmt.io.paths import Entry, is_uri, reason_of, walk
from corpusfmt.model import Fault, FindingType, Location, Problem

_OF_FILES = ("CRO601", "CRO602", "CRO603")
# Sizes given with a unit are rounded by whoever wrote them.
_ROUNDING = 0.05


class _Facts(Struct):
    """What one pass over a file found."""

    size: int
    digests: dict[str, str]


class _Names:
    """The paths of all files at one place, each for itself and as one text."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.text = "\n".join(paths)


@dataclass
class Storage:
    """Checks the files of one description, which lie beside it."""

    description: Description
    folder: Entry
    faults: list[Fault] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    bytes_read: int = 0
    _elsewhere: int = 0
    #: By real path and what is wanted of a file: each is read once, however many describe it.
    _facts_of: dict[tuple[str, ...], _Facts] = field(default_factory=dict)
    _names: dict[int, _Names] = field(default_factory=dict)
    _holding_sets: set[int] = field(default_factory=set)
    #: By container that is a folder, the links that lead out of it, each with its place beside the description.
    _links: dict[int, list[tuple[Location, Entry]]] = field(default_factory=dict)

    def check(self) -> None:
        """Go through the files that lie here, what is inside of archives, and the file sets."""
        files = [view for view in self.description.views.values() if isinstance(view, FileObject)]
        sets = [view for view in self.description.views.values() if isinstance(view, FileSet)]
        inside: defaultdict[FileObject, list[FileObject]] = defaultdict(list)
        for file in files:
            if file.text("sc:contentUrl"):  # of the others, that it is missing has been reported
                for container in self._containers(file):
                    inside[container].append(file)
        self._holding_sets = {id(container) for view in sets for container in self._containers(view)}
        for file in files:
            containers = self._containers(file)
            if not file.containers:
                self._top(file, inside[file])
            elif not containers or any(each.containers for each in containers):
                self._leave_out(file, f"{file.title}: its container is not followed")
        for view in sets:
            self._file_set(view)
        if self._elsewhere:
            are = "files are" if self._elsewhere > 1 else "file is"
            reason = f"{self._elsewhere} {are} on the web, and nothing is fetched"
            self.gaps.append(Gap(_OF_FILES, self.description.places.path, reason, self._elsewhere))

    def _containers(self, view: FileObject | FileSet) -> list[FileObject]:
        found = (self.description.view_of(value) for value in view.containers)
        return [each for each in found if isinstance(each, FileObject)]

    def _fault(self, kind: FindingType, view: FileObject, name: str, message: str, hint: str) -> None:
        self.faults.append(Fault(kind, Problem(f"{view.title}: {message}", view.place(name), hint)))

    def _entry(self, file: FileObject, path: str) -> Entry | None:
        if is_uri(path):
            self._elsewhere += 1
            return None
        try:
            return entry_beside(self.folder, path)
        except NoFile as fault:
            self.faults.append(fault.about(file))
            return None

    def _top(self, file: FileObject, contained: list[FileObject]) -> None:
        path = file.text("sc:contentUrl")
        entry = self._entry(file, path) if path else None
        if entry is None:
            return
        if entry.kind == "directory":
            listed = {each.path: each for each in _listed(entry)}
            self._names[id(file)] = _Names([path for path, each in listed.items() if each.kind == "file"])
            prefix = (path or "").rstrip("/")
            links = (each for each in listed.values() if each.kind == "outside")
            self._links[id(file)] = [(Location(f"{prefix}/{each.path}"), each) for each in links]
            for each in contained:
                self._in_folder(each, file, listed)
            return
        try:
            with entry.open() as source:
                head = source.read(512)
            self._judge(file, self._facts_at(file, entry))
            fault = signature_fault(file, path or "", head[:HEAD], file.place("sc:encodingFormat"))
            self.faults += [fault] if fault is not None else []
            if contained or id(file) in self._holding_sets or claims_archive(file, entry.name):
                self._container(file, entry, head, contained)
            elif split_codec(entry.name)[1] != "plain" and file not in self._sources:
                for _ in decompressed(raw(entry), entry.name, entry.path):
                    pass
        except Broken as broken:
            self.faults.append(broken.fault)
        except OSError as error:
            self._fault(
                DATA_FILE_MISSING,
                file,
                "sc:contentUrl",
                f"`{path}` cannot be read: {reason_of(error)}",
                "make it readable",
            )

    def _in_folder(self, file: FileObject, container: FileObject, listed: Mapping[str, Entry]) -> None:
        path = _path_of(file)
        entry = listed.get(path)
        if entry is not None and entry.kind == "file":
            self._judge(file, self._facts_at(file, entry))
        elif found := next((each for each in self._links[id(container)] if link_on_the_way(each[1], path)), None):
            at, link = found
            self.faults.append(barred(link, at))
        elif not escapes(path):
            self._fault(
                DATA_FILE_MISSING, file, "sc:contentUrl", f"no file `{path}` in its container", "correct the path"
            )

    def _container(self, file: FileObject, entry: Entry, head: bytes, contained: list[FileObject]) -> None:
        path = file.text("sc:contentUrl") or ""
        if is_archive(head):
            self._archive(file, entry, contained)
        elif claims_archive(file, path):
            self.faults.append(no_archive(file, path))
        else:
            self._leave_out(file, str(no_reader(file, path)))

    def _leave_out(self, view: Resource, reason: str) -> None:
        self.gaps.append(Gap(_OF_FILES, view.text("sc:contentUrl") or self.description.places.path, reason))

    def _archive(self, file: FileObject, entry: Entry, contained: list[FileObject]) -> None:
        wanted = {_path_of(each): each for each in contained}
        names: list[str] = []
        strange: list[str] = []
        try:
            found = members(entry.open, entry.path)
            for member in fitting(found, _cost_of_member, _MOST_HELD_BYTES, "members", entry.path):
                names.append(member.path)
                strange += [member.path] if escapes(member.path) or is_absolute(member.path) else []
                inner = wanted.pop(member.path, None)
                if inner is not None:
                    self._judge(inner, self._facts(inner, member.chunks))
        except ArchiveFault as fault:
            self.faults.append(damaged(file, entry, fault))
            if not fault.minor:
                return
        finally:
            if strange:
                message = (
                    f"{file.title}: member `{strange[0]}` of `{entry.name}` leads out of the folder it is unpacked in"
                )
                hint = "pack it again with relative paths"
                self.faults.append(
                    Fault(DATA_MEMBER_ESCAPES, Problem(message, file.place("sc:contentUrl"), hint, len(strange)))
                )
        self._names[id(file)] = _Names(names)
        for path, missing in wanted.items():
            if not escapes(path):
                message = f"no member `{path}` in `{entry.name}`"
                self._fault(
                    DATA_FILE_MISSING, missing, "sc:contentUrl", message, "correct the path inside the container"
                )

    def _facts_at(self, file: FileObject, entry: Entry) -> _Facts:
        key = (os.path.realpath(entry.url), *_wanted_digests(file))
        if key not in self._facts_of:
            self._facts_of[key] = self._facts(file, raw(entry))
        return self._facts_of[key]

    def _facts(self, file: FileObject, chunks: Iterable[bytes]) -> _Facts:
        hashes = {each: hashlib.new(each, usedforsecurity=False) for each in _wanted_digests(file)}
        size = 0
        for chunk in chunks:
            size += len(chunk)
            for each in hashes.values():
                each.update(chunk)
        self.bytes_read += size
        return _Facts(size, {name: each.hexdigest() for name, each in hashes.items()})

    def _judge(self, file: FileObject, facts: _Facts) -> None:
        said = size_in_bytes(file.text("sc:contentSize") or "")
        if said is not None:
            size, exact = said
            if abs(size - facts.size) > (0 if exact else max(size, facts.size) * _ROUNDING):
                message = f"{facts.size} bytes, `contentSize` says {size}"
                self._fault(DATA_SIZE_MISMATCH, file, "sc:contentSize", message, f'write "{facts.size} B"')
        for name, actual in facts.digests.items():
            if _digest(file, name) != actual:
                message = f"the {name} is `{actual}`, the description says `{_digest(file, name)}`"
                key = "sc:sha256" if name == "sha256" else "cr:md5"
                self._fault(DATA_SHA256_MISMATCH, file, key, message, f'write "{actual}", if the file is the right one')

    def _file_set(self, view: FileSet) -> None:
        containers = self._containers(view)
        if any(each.containers for each in containers) or (view.containers and not containers):
            self._leave_out(view, f"{view.title}: its container is not followed")
            return
        if any(id(each) not in self._names for each in containers):
            return  # a container that is not here, or not whole, is reported by itself
        if not view.all("cr:includes"):
            self._leave_out(view, f"{view.title}: no pattern says which files belong to it")
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

    def _names_in(self, containers: list[FileObject]) -> Iterator[_Names]:
        """Yield the paths in containers; without any, those beside the description."""
        for each in containers:
            yield self._names[id(each)]
        if not containers:
            yield self._names_beside

    def _links_in(self, containers: list[FileObject]) -> Iterator[tuple[Location, Entry]]:
        for each in containers:
            yield from self._links.get(id(each), ())
        if not containers:
            yield from self._links_beside

    @cached_property
    def _sources(self) -> set[View]:
        """What record sets are read from, which judges it to its end."""
        sources = (each for view in self.description.views.values() if isinstance(view, Field) for each in view.sources)
        return {target for source in sources for target in source.target_views}

    @cached_property
    def _beside(self) -> list[Entry]:
        return list(_listed(self.folder))

    @cached_property
    def _names_beside(self) -> _Names:
        return _Names([entry.path for entry in self._beside if entry.kind == "file"])

    @cached_property
    def _links_beside(self) -> list[tuple[Location, Entry]]:
        return [(Location(entry.path), entry) for entry in self._beside if entry.kind == "outside"]


# Names of files have to be known all at once: some million of members, half a million of files.
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
    # Most patterns that match no path at all are told by one search in all of them.
    if any(literal_in(each.value) in names.text for each in view.texts("cr:includes")):
        yield from filter(selection(view), names.paths)


def _wanted_digests(file: FileObject) -> list[str]:
    return [each for each in ("sha256", "md5") if _digest(file, each)]


def _digest(file: FileObject, name: str) -> str | None:
    """Return a digest that a description gives, where it can be one."""
    text = file.text("sc:sha256") if name == "sha256" else file.text("cr:md5") or file.text("sc:md5")
    length = 64 if name == "sha256" else 32
    return text.lower() if text is not None and re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", text) else None
