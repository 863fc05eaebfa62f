"""Internal: The WET files of a run, from paths, folders, globs, and lists like Common Crawl's `wet.paths`."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.engine.workplace import digest
from corpusfmt.io.lines import Entries
from corpusfmt.io.paths import (
    Entry,
    folder_at,
    is_hidden,
    is_url,
    matching,
    printable,
    store_of,
    walk,
)
from corpusfmt.model import UsageError
from corpusfmt.pipeline.rules import Defect
from corpusfmt.wording import clipped

WET_SUFFIXES = (".wet.gz", ".wet.zst", ".wet")
LIST_SUFFIXES = (".paths", ".paths.gz")
STANDARD_INPUT = "-"
_STANDARD_INPUT_NAME = "standard-input.warc.wet"
# Characters of a file name in a task's id: with digest and suffix it must stay a valid file name.
_NAME_BYTES = 150


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


class Source(Struct, frozen=True, gc=False):
    """An input with the `entry` to read it from, or the `defect` that makes it unavailable.

    Standard input has neither before it is stored.
    """

    input: Input
    entry: Entry | None = None
    defect: tuple[Defect, str] | None = None


def source_of(entry: Entry) -> Source:
    """Return an existing input with its current version; a barred one is not touched."""
    key = _key_at(entry.url) if entry.is_remote else printable(os.path.abspath(entry.url))  # noqa: PTH100 - symbolic links stay as they are
    if entry.is_barred:
        defect: Defect = "outside" if entry.kind == "outside" else "unreadable"
        return Source(Input(entry.path, key), defect=(defect, entry.reason))
    return Source(Input(entry.path, key, entry.size, entry.version), entry)


def _key_at(url: str) -> str:
    """Return the key of an input in a store. It is kept with the state, so that it has no credentials, which differ nevertheless."""
    shown = printable(url)
    return (
        shown if shown == url else f"{shown} {hashlib.sha256(url.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    )


def inputs_named(given: Sequence[str], base: str | None = None, *, follow_links: bool = False) -> list[Source]:
    """Return the inputs that files, folders, globs and lists name, each once, sorted by rank.

    The lines of a list are paths below `base` (default: the list's folder); files outside of it are excluded unless
    `follow_links`. `-` is standard input, which has no entry yet. Raises `UsageError` for an unusable path. A missing file
    that a list names is still an input, and reported when it cannot be read.
    """
    if not given:
        raise UsageError("no inputs: name WET files, folders of WET files or lists of paths")
    if base is not None and not any(pattern.endswith(LIST_SUFFIXES) for pattern in given):
        raise UsageError("--base applies to lists of paths (*.paths, *.paths.gz), but no list is given")
    by_key = {each.input.key: each for each in _named(given, base, follow_links=follow_links)}
    return sorted(by_key.values(), key=lambda each: each.input.rank)


def _named(given: Sequence[str], base: str | None, *, follow_links: bool) -> Iterator[Source]:
    for pattern in given:
        if pattern == STANDARD_INPUT:
            yield Source(Input(_STANDARD_INPUT_NAME, STANDARD_INPUT))
            continue
        for entry in matching(pattern, follow_links=follow_links):
            is_list = entry.kind == "file" and entry.name.endswith(LIST_SUFFIXES)
            yield from _listed(entry, base, follow_links=follow_links) if is_list else _there(entry)


def _there(entry: Entry) -> Iterator[Source]:
    if entry.kind != "directory":
        yield source_of(entry)
        return
    is_empty = True
    for each in _wet_files(entry):
        is_empty = False
        yield source_of(each)
    if is_empty:
        other = next((each for each in walk(entry) if each.kind == "file"), None)
        it_has = f"; it has `{clipped(other.path)}`: rows and texts are for `corpusfmt convert`" if other else ""
        raise UsageError(f"{entry.shown} contains no WET file (*.warc.wet.gz, *.warc.wet.zst, *.warc.wet){it_has}")


def _wet_files(folder: Entry) -> Iterator[Entry]:
    """Yield the WET files below a folder by name, and barred entries that may be or contain such files.

    Hidden files are skipped: they are unfinished.
    """
    for entry in walk(folder):
        hidden = is_hidden(entry.path)
        named_so = entry.kind != "directory" and entry.name.endswith(WET_SUFFIXES)
        if not hidden and (named_so or entry.kind in ("outside", "unreadable")):
            yield entry


def _listed(entry: Entry, base: str | None, *, follow_links: bool) -> Iterator[Source]:
    path, folder = entry.url, entry.folder() if base is None else folder_at(base, follow_links=follow_links)
    root = folder.url
    if folder.is_remote:
        store_of(root)  # fails once if a package for this store is missing, rather than for every file
    for line in Entries(entry, "paths"):
        if folder.is_remote:
            below = line.removeprefix(root.rstrip("/") + "/")
            if is_url(below) or ".." in below.split("/"):
                raise UsageError(
                    f"{printable(path)} names {printable(line)}, which is not below {printable(root)}: add --base"
                )
            # One request per file, for some 90,000 files, would take an hour before the first is read.
            entry = folder.unseen(below.lstrip("/"))
            yield source_of(entry) if entry.is_barred else Source(Input(entry.path, _key_at(entry.url)), entry)
        elif is_url(line):
            raise UsageError(
                f"{printable(path)} names {printable(line)}, which is not below {printable(root)}: add --base"
            )
        else:
            url = str(Path(root) / line)
            found = folder.child(line) or Entry(line, url, "other", reason=os.strerror(errno.ENOENT), root=folder.root)
            yield source_of(replace(found, path=line, url=url))
