"""Internal: The WET files of a run, from paths, folders, globs, and lists like Common Crawl's `wet.paths`."""

from __future__ import annotations

import errno
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.workplace import digest
from corpusfmt.io.paths import Entry, folder_at, is_hidden, is_url, matching, printable, store_of, walk
from corpusfmt.model import UsageError
from corpusfmt.pipeline.lists import Entries
from corpusfmt.pipeline.rules import Defect

WET_SUFFIXES = (".warc.wet.gz", ".warc.wet", ".wet.gz", ".wet")
LIST_SUFFIXES = (".paths", ".paths.gz")
STANDARD_INPUT = "-"
_STANDARD_INPUT_NAME = "standard-input.warc.wet"
# Characters of a file name in a task's id: with digest and suffix it must stay a valid file name.
_NAME_BYTES = 150
_ARRIVALS_PACKED = 256


class Input(Struct, frozen=True, gc=False):
    """One WET file in manifests and markers.

    `path` is its name in reports, `key` identifies it, `size` is in bytes on disk (0: unknown until it is read),
    `version` changes when the file does.
    """

    path: str
    key: str
    size: int = 0
    version: str = ""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def task_id(self) -> str:
        name = self.name.encode()[:_NAME_BYTES].decode(errors="ignore")
        return f"{name}-{digest(self.key)[:12]}"

    @property
    def rank(self) -> tuple[str, str, str]:
        """The sort key of inputs; deduplication keeps the first occurrence of a line in this order."""
        return self.name, self.path, self.key


class Arrival(Struct, frozen=True, gc=False):
    """An input with the `entry` to read it from, or the `defect` that makes it unavailable.

    Standard input has neither before it is stored.
    """

    input: Input
    entry: Entry | None = None
    defect: tuple[Defect, str] | None = None


def arrival_of(entry: Entry) -> Arrival:
    """Return an existing input with its current version; a barred one is not touched."""
    key = printable(entry.url if entry.is_remote else os.path.abspath(entry.url))  # noqa: PTH100 - symbolic links stay as they are
    if entry.is_barred:
        defect: Defect = "outside" if entry.kind == "outside" else "unreadable"
        return Arrival(Input(entry.path, key), defect=(defect, entry.reason))
    if key == entry.url:
        key = entry.url  # one string for both, as there may be a hundred thousand inputs
    return Arrival(Input(entry.path, key, entry.size, entry.version), entry)


class Arrivals:
    """Many inputs, in order, in a tenth of the memory of a list."""

    def __init__(self, arrivals: Iterable[Arrival]) -> None:
        every = iter(arrivals)
        self._packed: list[bytes | list[Arrival]] = []
        self._number = 0
        while some := list(islice(every, _ARRIVALS_PACKED)):
            self._number += len(some)
            try:
                self._packed.append(zlib.compress(msgspec.msgpack.encode(some), 1))
            except UnicodeEncodeError:  # a name that is not UTF-8
                self._packed.append(some)

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[Arrival]:
        for packed in self._packed:
            if isinstance(packed, list):
                yield from packed
            else:
                yield from msgspec.msgpack.decode(zlib.decompress(packed), type=list[Arrival])


def inputs_named(
    given: Sequence[str], base: str | None = None, *, some_gone: bool = False, follow_links: bool = False
) -> Arrivals:
    """Return the inputs that files, folders, globs and lists name, each once, sorted by rank.

    The lines of a list are paths below `base` (default: the list's folder); files outside of it are excluded unless
    `follow_links`. `-` is standard input, whose arrival has no entry yet. Raises `UsageError` for an unusable path. A
    missing file that a list names is still an input, and reported when it cannot be read. With `some_gone`, missing
    paths are skipped.
    """
    found: list[Arrival] = []
    for pattern in given:
        if pattern == STANDARD_INPUT:
            found.append(Arrival(Input(_STANDARD_INPUT_NAME, STANDARD_INPUT)))
            continue
        try:
            for entry in matching(pattern, follow_links=follow_links):
                is_list = entry.kind == "file" and entry.name.endswith(LIST_SUFFIXES)
                found += _listed(entry, base, follow_links=follow_links) if is_list else _there(entry)
        except UsageError:
            if not some_gone or pattern.endswith(LIST_SUFFIXES):
                raise
    if base is not None and not any(pattern.endswith(LIST_SUFFIXES) for pattern in given):
        raise UsageError("--base applies to lists of paths (*.paths, *.paths.gz), but no list is given")
    unique = {arrival.input.key: arrival for arrival in found}
    return Arrivals(sorted(unique.values(), key=lambda arrival: arrival.input.rank))


def _there(entry: Entry) -> Iterator[Arrival]:
    if entry.kind != "directory":
        yield arrival_of(entry)
        return
    below = list(wet_files(entry))
    if not below:
        raise UsageError(f"{printable(entry.url)} contains no WET file (*.warc.wet.gz, *.warc.wet)")
    yield from map(arrival_of, below)


def wet_files(folder: Entry) -> Iterator[Entry]:
    """Yield the WET files below a folder by name, and barred entries that may be or contain such files.

    Hidden files are skipped: they are unfinished.
    """
    for entry in walk(folder):
        hidden = is_hidden(entry.path)
        named_so = entry.kind != "directory" and entry.name.endswith(WET_SUFFIXES)
        if not hidden and (named_so or entry.kind in ("outside", "unreadable")):
            yield entry


def paths_listed(entry: Entry) -> list[str]:
    """Return the paths in a list, each once. Raises `UsageError` if it is not a list."""
    return list(dict.fromkeys(Entries(entry, "paths")))


def _listed(entry: Entry, base: str | None, *, follow_links: bool) -> Iterator[Arrival]:
    path, folder = entry.url, entry.folder() if base is None else folder_at(base, follow_links=follow_links)
    root = folder.url
    if folder.is_remote:
        store_of(root)  # fails once if a package for this store is missing, rather than for every file
    for line in paths_listed(entry):
        if folder.is_remote:
            below = line.removeprefix(root.rstrip("/") + "/")
            if is_url(below) or ".." in below.split("/"):
                raise UsageError(f"{printable(path)} names {line}, which is not below {root}: add --base")
            # One request per file, for some 90,000 files, would take an hour before the first is read.
            entry = folder.unseen(below.lstrip("/"))
            yield arrival_of(entry) if entry.is_barred else Arrival(Input(entry.path, entry.url), entry)
        elif is_url(line):
            raise UsageError(f"{printable(path)} names {line}, which is not below {root}: add --base")
        else:
            url = str(Path(root) / line)
            found = folder.child(line) or Entry(line, url, "other", reason=os.strerror(errno.ENOENT), root=folder.root)
            yield arrival_of(replace(found, path=line, url=url))
