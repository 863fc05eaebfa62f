"""Internal: The WET files of a run: named, in folders, by patterns, or in a list like Common Crawl's `wet.paths`."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.workplace import digest
from corpusfmt.io.paths import Entry, folder_at, is_hidden, is_url, matching, printable, store_of, walk
from corpusfmt.model import UsageError
from corpusfmt.pipeline.lists import entries_of
from corpusfmt.pipeline.rules import Defect

WET_SUFFIXES = (".warc.wet.gz", ".warc.wet", ".wet.gz", ".wet")
LIST_SUFFIXES = (".paths", ".paths.gz")
STANDARD_INPUT = "-"
_STANDARD_INPUT_NAME = "standard-input.warc.wet"
# Of a file name, what a task's id takes: with digest and suffix it must stay a file name.
_NAME_BYTES = 150


class Input(Struct, frozen=True):
    """One WET file as manifests and markers know it.

    `path` is its name in reports, `key` tells it from all others, `size` is in bytes on disk (0: not known before it is
    read), `version` changes when the file does.
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
        """The place in the order of inputs, in which a repeated line stays where it occurs first."""
        return self.name, self.path, self.key


class Arrival(Struct, frozen=True):
    """An input that can be read as `entry`, or what is wrong so that it cannot be had.

    Standard input has neither, before it is stored.
    """

    input: Input
    entry: Entry | None = None
    defect: tuple[Defect, str] | None = None


def arrival_of(entry: Entry) -> Arrival:
    """Return an input that is there, with the version it has now; of one that is barred, nothing is looked at."""
    key = printable(entry.url if entry.is_remote else os.path.abspath(entry.url))  # noqa: PTH100 - symbolic links stay as they are
    if entry.is_barred:
        defect: Defect = "outside" if entry.kind == "outside" else "unreadable"
        return Arrival(Input(entry.path, key), defect=(defect, entry.reason))
    return Arrival(Input(entry.path, key, entry.size, entry.version), entry)


def inputs_named(
    given: Sequence[str], base: str | None = None, *, some_gone: bool = False, follow_links: bool = False
) -> list[Arrival]:
    """Return the inputs that files, folders, patterns and lists name, each once, in the order of inputs.

    The lines of a list are paths below `base` (default: the list's own folder), which is their root: what leads outside of
    it is left out, as with links, unless `follow_links`. `-` stands for standard input, whose
    arrival has no address yet. Raises `UsageError` for a path that is none; a file that a list names and that is not
    there is an input nevertheless, to be reported when it cannot be read. With `some_gone`, what is not there any more
    is passed over.
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
        raise UsageError("--base is for lists of paths (*.paths, *.paths.gz), and none is given")
    unique = {arrival.input.key: arrival for arrival in found}
    return sorted(unique.values(), key=lambda arrival: arrival.input.rank)


def _there(entry: Entry) -> Iterator[Arrival]:
    if entry.kind != "directory":
        yield arrival_of(entry)
        return
    below = list(wet_files(entry))
    if not below:
        raise UsageError(f"no WET file (*.warc.wet.gz, *.warc.wet) in {printable(entry.url)}")
    yield from map(arrival_of, below)


def wet_files(folder: Entry) -> Iterator[Entry]:
    """Yield the WET files below a folder by their names, and what is barred and may be, or hold, such files.

    Hidden ones are somebody's unfinished work, or our own.
    """
    for entry in walk(folder):
        hidden = is_hidden(entry.path)
        named_so = entry.kind != "directory" and entry.name.endswith(WET_SUFFIXES)
        if not hidden and (named_so or entry.kind in ("outside", "unreadable")):
            yield entry


def paths_listed(entry: Entry) -> list[str]:
    """Return the paths in a list, each once. Raises `UsageError` where it is none."""
    return list(dict.fromkeys(entries_of(entry, "paths")[0]))


def _listed(entry: Entry, base: str | None, *, follow_links: bool) -> Iterator[Arrival]:
    path, folder = entry.url, entry.folder() if base is None else folder_at(base, follow_links=follow_links)
    root = folder.url
    if folder.is_remote:
        store_of(root)  # what is missing to read from there is missing for each of them
    for line in paths_listed(entry):
        if folder.is_remote:
            below = line.removeprefix(root.rstrip("/") + "/")
            if is_url(below) or ".." in below.split("/"):
                raise UsageError(f"{printable(path)} names {line}, which is not below {root}: say --base")
            # One request for each of some 90,000 files, before the first is read, would take an hour.
            entry = folder.unseen(below.lstrip("/"))
            yield arrival_of(entry) if entry.is_barred else Arrival(Input(entry.path, entry.url), entry)
        elif is_url(line):
            raise UsageError(f"{printable(path)} names {line}, which is not below {root}: say --base")
        else:
            url = str(Path(root) / line)
            found = folder.child(line) or Entry(line, url, "other", reason=os.strerror(errno.ENOENT), root=folder.root)
            yield arrival_of(replace(found, path=line, url=url))
