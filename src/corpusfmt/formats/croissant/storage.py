"""The local files behind a description, judged in one pass over each: presence, size, digest, what file sets select."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from corpusfmt.formats.croissant.archives import ArchiveFault, is_archive, members
from corpusfmt.formats.croissant.globs import literal_in
from corpusfmt.formats.croissant.graph import Description, FileObject, FileSet
from corpusfmt.formats.croissant.records.files import (
    NoFile,
    entry_beside,
    is_elsewhere,
    nothing_selected,
    raw,
    selection,
)
from corpusfmt.formats.croissant.rules.distribution import escapes, size_in_bytes
from corpusfmt.formats.croissant.rules.files import DataFault
from corpusfmt.io.paths import Entry, open_input, reason_of, walk

# Sizes given with a unit are rounded by whoever wrote them.
_ROUNDING = 0.05


@dataclass(slots=True)
class _Facts:
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
    folder: str
    faults: list[DataFault] = field(default_factory=list)
    bytes_read: int = 0
    #: Files on the web, which are not fetched.
    elsewhere: int = 0
    _names: dict[int, _Names] = field(default_factory=dict)
    #: The files beside the description, once a file set has asked for them.
    _beside: _Names | None = None
    _holding_sets: set[int] = field(default_factory=set)

    def check(self) -> None:
        """Go through the files that lie here, what is inside of archives, and the file sets."""
        files = [view for view in self.description.views.values() if isinstance(view, FileObject)]
        sets = [view for view in self.description.views.values() if isinstance(view, FileSet)]
        inside: defaultdict[FileObject, list[FileObject]] = defaultdict(list)
        for file in files:
            for container in self._containers(file):
                inside[container].append(file)
        self._holding_sets = {id(container) for view in sets for container in self._containers(view)}
        for file in files:
            if not file.containers:
                self._top(file, inside[file])
        for view in sets:
            self._file_set(view)

    def _containers(self, view: FileObject | FileSet) -> list[FileObject]:
        found = (self.description.view_of(value) for value in view.containers)
        return [each for each in found if isinstance(each, FileObject)]

    def _fault(self, kind: str, view: FileObject, name: str, message: str, hint: str) -> None:
        self.faults.append(DataFault(kind, f"{view.title}: {message}", view.place(name), hint))

    def _entry(self, file: FileObject, path: str) -> Entry | None:
        if is_elsewhere(path):
            self.elsewhere += 1
            return None
        try:
            return entry_beside(self.folder, path)
        except NoFile as fault:
            self._fault("missing", file, "sc:contentUrl", str(fault), fault.hint)
            return None

    def _top(self, file: FileObject, contained: list[FileObject]) -> None:
        path = file.text("sc:contentUrl")
        entry = self._entry(file, path) if path else None
        if entry is None:
            return
        if entry.kind == "directory":
            names = [each.path for each in walk(entry.url) if each.kind == "file"]
            self._names[id(file)] = _Names(names)
            for each in contained:
                self._in_folder(each, entry, set(names))
            return
        try:
            with open_input(entry.url) as source:
                head = source.read(512)
            self._judge(file, self._facts(file, raw(entry.url)))
            if is_archive(head) and (contained or id(file) in self._holding_sets):
                self._archive(file, entry, contained)
        except OSError as error:
            self._fault(
                "missing", file, "sc:contentUrl", f"`{path}` cannot be read: {reason_of(error)}", "make it readable"
            )

    def _in_folder(self, file: FileObject, folder: Entry, names: set[str]) -> None:
        path = str(PurePosixPath(file.text("sc:contentUrl") or ""))
        if path in names:
            entry = Entry(path, f"{folder.url}/{path}", "file")
            self._judge(file, self._facts(file, raw(entry.url)))
        elif not escapes(path):
            self._fault("missing", file, "sc:contentUrl", f"no file `{path}` in its container", "correct the path")

    def _archive(self, file: FileObject, entry: Entry, contained: list[FileObject]) -> None:
        wanted = {str(PurePosixPath(each.text("sc:contentUrl") or "")): each for each in contained}
        names: list[str] = []
        try:
            for member in members(lambda: open_input(entry.url), entry.size):
                names.append(member.path)
                inner = wanted.pop(member.path, None)
                if inner is not None:
                    self._judge(inner, self._facts(inner, member.chunks))
        except ArchiveFault as fault:
            message = f"`{entry.name}` does not read to its end: {fault}"
            self._fault("corrupt", file, "sc:contentUrl", message, "fetch or pack it again")
            return
        self._names[id(file)] = _Names(names)
        for path, missing in wanted.items():
            if not escapes(path):
                message = f"no member `{path}` in `{entry.name}`"
                self._fault("missing", missing, "sc:contentUrl", message, "correct the path inside the container")

    def _facts(self, file: FileObject, chunks: Iterable[bytes]) -> _Facts:
        hashes = {each: hashlib.new(each, usedforsecurity=False) for each in ("sha256", "md5") if _digest(file, each)}
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
                self._fault("size", file, "sc:contentSize", message, f'write "{facts.size} B"')
        for name, actual in facts.digests.items():
            if _digest(file, name) != actual:
                message = f"the {name} is `{actual}`, the description says `{_digest(file, name)}`"
                key = "sc:sha256" if name == "sha256" else "cr:md5"
                self._fault("digest", file, key, message, f'write "{actual}", if the file is the right one')

    def _file_set(self, view: FileSet) -> None:
        containers = self._containers(view)
        if any(id(each) not in self._names for each in containers) or (view.containers and not containers):
            return  # a container that is not here, or not whole, is told of by itself
        if view.all("cr:includes") and not any(_some_selected(view, names) for names in self._names_in(containers)):
            self.faults.append(nothing_selected(view))

    def _names_in(self, containers: list[FileObject]) -> Iterator[_Names]:
        """Yield the paths in containers; without any, those beside the description."""
        for each in containers:
            yield self._names[id(each)]
        if not containers:
            if self._beside is None:
                self._beside = _Names([entry.path for entry in walk(self.folder or ".") if entry.kind == "file"])
            yield self._beside


def _some_selected(view: FileSet, names: _Names) -> bool:
    # Most patterns that match no path at all are told by one search in all of them.
    likely = any(literal_in(each.value) in names.text for each in view.texts("cr:includes"))
    return likely and any(map(selection(view), names.paths))


def _digest(file: FileObject, name: str) -> str | None:
    """Return a digest that a description gives, where it can be one."""
    text = file.text("sc:sha256") if name == "sha256" else file.text("cr:md5") or file.text("sc:md5")
    length = 64 if name == "sha256" else 32
    return text.lower() if text is not None and re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", text) else None
