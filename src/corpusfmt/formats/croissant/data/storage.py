"""Internal: Check the local files of a description in one pass: presence, size, digest, selections of file sets."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.croissant.data.batches import Broken, NotRead
from corpusfmt.formats.croissant.data.files import (
    Files,
    claims_archive,
    decompressed,
    inside_another,
    is_elsewhere,
    link_on_the_way,
    may_select,
    members_of,
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
from corpusfmt.formats.croissant.data.patterns import TIME_LIMIT, Patterns
from corpusfmt.formats.croissant.data.signatures import HEAD, signature_fault
from corpusfmt.formats.croissant.model.graph import Description, Field, FileObject, FileSet, Resource
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
# All file names must fit in memory: some millions of members, half a million files.
_MOST_HELD_BYTES = 192 * 1024 * 1024
_NAME_BYTES = 60
_ENTRY_BYTES = 300

#: The size of a file, and the digests in its description, as they are.
_Facts = tuple[int, dict[str, str]]


class _Listing(Struct):
    """The paths of the files in a container, and the links that point out of it, each with its place."""

    paths: list[str]
    links: list[tuple[Location, Entry]]


class Storage:
    """Checks the files of one description, in its folder; `faults` and `gaps` are in the order of the checks."""

    def __init__(self, description: Description, folder: Entry, maps: Mapping[str, Entry]) -> None:
        self.faults: list[Fault] = []
        self.gaps: list[Gap] = []
        self.bytes_read = 0
        self._description = description
        self._folder = folder
        self._patterns = Patterns(TIME_LIMIT)
        self._files = Files(description, folder, maps, self._patterns)
        #: By real path and digests: each file is read once, however many FileObjects describe it.
        self._facts_of: dict[tuple[str, ...], _Facts] = {}
        #: By container; None is the description's folder.
        self._listings: dict[Resource | None, _Listing] = {}
        #: Files whose content was read.
        self._opened: set[FileObject] = set()
        #: Faults that several views may have, such as those of their manifest.
        self._reported: set[Fault] = set()
        views = description.views.values()
        self._described = [view for view in views if isinstance(view, FileObject)]
        self._sets = [view for view in views if isinstance(view, FileSet)]
        self._has_sets = {container for view in self._sets for container in self._files.containers_of(view)}
        #: The files in each container, by the description.
        self._inside: defaultdict[FileObject, list[FileObject]] = defaultdict(list)
        for file in self._described:
            if file.text("sc:contentUrl"):  # CRO302 reports the others
                for container in self._files.containers_of(file):
                    self._inside[container].append(file)
        # The sources of record sets are read and checked to their end anyway.
        sources = (source for view in views if isinstance(view, Field) for source in view.sources)
        self._sources = {target for source in sources for target in source.target_views}

    def check(self) -> None:
        """Check the local files, the members of archives, and the file sets."""
        with self._patterns:
            self._check()

    def _check(self) -> None:
        elsewhere = 0
        for file in self._described:
            path = file.text("sc:contentUrl")
            if file in self._files.copies:
                self._at(file, self._files.copies[file])
            elif path and not file.containers and is_elsewhere(path):
                elsewhere += 1
            elif path and not file.containers:
                self._found(file)
        for file in self._described:
            if self._files.is_listed(file) and file.text("sc:contentUrl"):
                self._found(file)
        for file in self._described:
            is_left = file.containers and not self._files.is_listed(file) and file not in self._files.copies
            if is_left and not self._is_followed(file):
                self._leave_out(file, f"{file.title}: the container is not read")
        for view in self._sets:
            self._file_set(view)
        if elsewhere:
            are = "files are" if elsewhere > 1 else "file is"
            reason = f"{elsewhere} {are} on the web, and nothing is fetched: --map names local copies"
            self.gaps.append(Gap(_OF_FILES, self._description.places.path, reason, elsewhere))

    def _is_followed(self, view: FileObject | FileSet) -> bool:
        """Return whether all containers of a view are local and nested ones were opened, as those in folders are."""
        containers = self._files.containers_of(view)
        return bool(containers) and all(not each.containers or each in self._opened for each in containers)

    def _fault(self, kind: FindingType, view: Resource, name: str, message: str, hint: str) -> None:
        self.faults.append(Fault(kind, Problem(f"{view.title}: {message}", view.place(name), hint)))

    def _once(self, fault: Fault) -> None:
        if fault not in self._reported:
            self._reported.add(fault)
            self.faults.append(fault)

    def _leave_out(self, view: Resource, reason: str) -> None:
        self.gaps.append(Gap(_OF_FILES, view.text("sc:contentUrl") or self._description.places.path, reason))

    def _found(self, file: FileObject) -> None:
        try:
            entry = self._files.entry(file)
        except NotRead as reason:
            self._leave_out(file, str(reason))
        except Broken as broken:
            self._once(broken.fault)
        else:
            self._at(file, entry)

    def _at(self, file: FileObject, entry: Entry) -> None:
        """Check the entry of a FileObject: a file, perhaps an archive, or a folder with its contents."""
        self._opened.add(file)
        path = entry.path if file in self._files.copies else file.text("sc:contentUrl") or ""
        if entry.kind == "directory":
            entries = self._list(file, entry, path)
            for inner in self._inside[file]:
                self._in_folder(inner, file, entries)
            return
        try:
            with entry.open() as source:
                head = source.read(HEAD)
            self._judge(file, self._facts_at(file, entry))
            fault = signature_fault(file, path, head, file.place("sc:encodingFormat"))
            self.faults += [fault] if fault is not None else []
            if self._is_container(file) or claims_archive(file, entry.name):
                self._container(file, entry)
            elif split_codec(entry.name)[1] != "plain" and file not in self._sources:
                for _ in decompressed(raw(entry), entry.name, entry.path):
                    pass
        except Broken as broken:
            self._once(broken.fault)
        except NotRead as reason:
            self._leave_out(file, str(reason))
        except OSError as error:
            message = f"`{path}` cannot be read: {reason_of(error)}"
            self._fault(DATA_FILE_MISSING, file, "sc:contentUrl", message, repair_of(error))

    def _is_container(self, file: FileObject) -> bool:
        return bool(self._inside[file]) or file in self._has_sets

    def _list(self, view: Resource | None, folder: Entry, path: str) -> dict[str, Entry]:
        """Keep the paths and links in a folder (a container or a local copy), and return its entries by path."""
        prefix = f"{path.rstrip('/')}/" if path else ""
        found = fitting(
            walk(folder),
            lambda each: 2 * len(each.path) + len(each.url) + _ENTRY_BYTES,
            _MOST_HELD_BYTES,
            "files",
            folder.path,
        )
        entries = {entry.path: entry for entry in found}
        self._listings[view] = _Listing(
            [path for path, entry in entries.items() if entry.kind == "file"],
            [(Location(prefix + path), entry) for path, entry in entries.items() if entry.kind == "outside"],
        )
        return entries

    def _in_folder(self, file: FileObject, container: FileObject, entries: Mapping[str, Entry]) -> None:
        path = _path_of(file)
        entry = entries.get(path)
        links = self._listings[container].links
        if entry is not None and entry.kind == "file":
            if self._is_container(file):
                self._at(file, entry)
            else:
                self._judge(file, self._facts_at(file, entry))
        elif behind := next((link for link in links if link_on_the_way(link[1], path)), None):
            at, link = behind
            self.faults.append(barred(link, at))
        elif not escapes(path):
            message = f"no file `{path}` in the container"
            self._fault(DATA_FILE_MISSING, file, "sc:contentUrl", message, "correct the path")

    def _container(self, file: FileObject, entry: Entry) -> None:
        name = entry.path.rpartition("/")[2]
        wanted = {_path_of(inner): inner for inner in self._inside[file]}
        paths: list[str] = []
        strange: list[str] = []
        found = fitting(
            members_of(file, entry),
            lambda member: 2 * len(member.path) + _NAME_BYTES,
            _MOST_HELD_BYTES,
            "members",
            entry.path,
        )
        try:
            for member in found:
                paths.append(member.path)
                strange += [member.path] if escapes(member.path) or is_absolute(member.path) else []
                inner = wanted.pop(member.path, None)
                if inner is not None:
                    if self._is_container(inner):
                        self._leave_out(inner, inside_another(inner))
                    self._judge(inner, self._facts(inner, member.chunks))
        except Broken as broken:
            self._once(broken.fault)
            if not broken.fault.problem.minor:
                return
        finally:
            if strange:
                message = f"{file.title}: member `{strange[0]}` of `{name}` points outside the folder it is unpacked to"
                hint = "pack the archive again with relative paths"
                problem = Problem(message, file.place("sc:contentUrl"), hint, len(strange))
                self.faults.append(Fault(DATA_MEMBER_ESCAPES, problem))
        self._listings[file] = _Listing(paths, [])
        for path, inner in wanted.items():
            if not escapes(path):
                message, hint = f"no member `{path}` in `{name}`", "correct the path inside the container"
                self._fault(DATA_FILE_MISSING, inner, "sc:contentUrl", message, hint)

    def _facts_at(self, file: FileObject, entry: Entry) -> _Facts:
        key = (os.path.realpath(entry.url), *_wanted_digests(file))
        if key not in self._facts_of:
            if len(key) == 1 and file in self._sources and not entry.is_remote:
                # It is read when its records are.
                self.bytes_read += entry.size
                return entry.size, {}
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
        return size, {name: digest.hexdigest() for name, digest in hashes.items()}

    def _judge(self, file: FileObject, facts: _Facts) -> None:
        actual_size, digests = facts
        said = size_in_bytes(file.text("sc:contentSize") or "")
        if said is not None:
            size, exact = said
            if abs(size - actual_size) > (0 if exact else max(size, actual_size) * _ROUNDING):
                message = f"{actual_size:,} bytes, `contentSize` says {size:,}"
                self._fault(DATA_SIZE_MISMATCH, file, "sc:contentSize", message, f"write `{actual_size} B`")
        for name, actual in digests.items():
            if _digest(file, name) != actual:
                message = f"the {name} is `{actual}`, the description says `{_digest(file, name)}`"
                key = "sc:sha256" if name == "sha256" else "cr:md5"
                hint = f"download the file again, or write `{actual}` if the file is right"
                self._fault(DATA_SHA256_MISMATCH, file, key, message, hint)

    def _file_set(self, view: FileSet) -> None:
        containers: list[Resource | None] = [*self._files.containers_of(view)] or [None]
        if view in self._files.copies:
            self._list(view, self._files.copies[view], self._files.copies[view].path)
            containers = [view]
        elif self._files.is_listed(view):
            self._manifest(view)
            return
        elif view.containers and not self._is_followed(view):
            self._leave_out(view, f"{view.title}: the container is not read")
            return
        if None in containers and None not in self._listings:
            self._list(None, self._folder, "")
        if any(container not in self._listings for container in containers):
            return  # a missing or corrupt container is reported itself
        if not view.all("cr:includes"):
            self._leave_out(view, f"{view.title}: no pattern selects its files")
            return
        listings = [self._listings[container] for container in containers]
        links = [barred(link, at) for each in listings for at, link in each.links if may_select(view, link)]
        self.faults += links
        if links:
            return
        selected = [path for each in listings for path in filter(selection(view), each.paths)]
        if not selected:
            self.faults.append(nothing_selected(view))
        deep = next((path for path in selected if selects_by_name(view, path)), None)
        if deep is not None:
            message = f"a pattern without a slash selects `{deep}`, which is in a folder"
            hint = "write `**/` before the pattern, or `./` to select from the top folder only"
            self._fault(DATA_GLOB_ANY_DEPTH, view, "cr:includes", message, hint)

    def _manifest(self, view: FileSet) -> None:
        """Check that the files exist that the manifests of a set name."""
        missing: list[Fault] = []
        named = lost = elsewhere = 0
        try:
            for listed in self._files.listed(view):
                named += 1
                try:
                    self._files.listed_entry(view, listed)
                except Broken as broken:
                    lost += 1
                    missing += [broken.fault] if len(missing) < _SHOWN else []
                except NotRead:
                    elsewhere += 1
        except NotRead as not_read:
            self._leave_out(view, str(not_read))
            return
        except Broken as broken:
            self._once(broken.fault)
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
            self.gaps.append(Gap(_OF_FILES, self._description.places.path, reason, elsewhere))


def _path_of(file: FileObject) -> str:
    """Return the path of a file in its container."""
    return str(PurePosixPath(file.text("sc:contentUrl") or ""))


def _wanted_digests(file: FileObject) -> list[str]:
    return [name for name in ("sha256", "md5") if _digest(file, name)]


def _digest(file: FileObject, name: str) -> str | None:
    """Return the digest in a description, None if it is malformed."""
    text = file.text("sc:sha256") if name == "sha256" else file.text("cr:md5") or file.text("sc:md5")
    length = 64 if name == "sha256" else 32
    return text.lower() if text is not None and re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", text) else None
