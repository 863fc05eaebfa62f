"""The WET files of a run: named, in folders, by patterns, or in a list like Common Crawl's `wet.paths`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from corpusfmt.engine.workplace import digest
from corpusfmt.io.paths import Entry, entry_of, is_remote, matching, printable, store_of, version_of, walk
from corpusfmt.model import UsageError
from corpusfmt.pipeline.lists import entries_of

WET_SUFFIXES = (".warc.wet.gz", ".warc.wet", ".wet.gz", ".wet")
LIST_SUFFIXES = (".paths", ".paths.gz")
STANDARD_INPUT = "-"
_STANDARD_INPUT_NAME = "standard-input.warc.wet"
# Of a file name, what a task's id takes: with digest and suffix it must stay a file name.
_NAME_BYTES = 150


class Input(msgspec.Struct, frozen=True):
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


@dataclass(frozen=True, slots=True)
class Arrival:
    """An input that can be read at `url`, or the reason why it could not be had."""

    input: Input
    url: str
    problem: str = ""


def arrival_of(path: str, url: str, size: int) -> Arrival:
    """Return a file that is there, with the version it has now."""
    key = printable(url if is_remote(url) else os.path.abspath(url))  # noqa: PTH100 - symbolic links stay as they are
    return Arrival(Input(path, key, size, version_of(url)), url)


def inputs_named(given: Sequence[str], base: str | None = None, *, some_gone: bool = False) -> list[Arrival]:
    """Return the inputs that files, folders, patterns and lists name, each once, in the order of inputs.

    The lines of a list are paths below `base` (default: the list's own folder). `-` stands for standard input, whose
    arrival has no address yet. Raises `UsageError` for a path that is none; a file that a list names and that is not
    there is an input nevertheless, to be reported when it cannot be read. With `some_gone`, what is not there any more
    is passed over.
    """
    found: list[Arrival] = []
    for pattern in given:
        if pattern == STANDARD_INPUT:
            found.append(Arrival(Input(_STANDARD_INPUT_NAME, STANDARD_INPUT), ""))
            continue
        try:
            for path in matching(pattern):
                found += _listed(path, base) if path.endswith(LIST_SUFFIXES) else _there(path)
        except UsageError:
            if not some_gone or pattern.endswith(LIST_SUFFIXES):
                raise
    if base is not None and not any(pattern.endswith(LIST_SUFFIXES) for pattern in given):
        raise UsageError("--base is for lists of paths (*.paths, *.paths.gz), and none is given")
    unique = {arrival.input.key: arrival for arrival in found}
    return sorted(unique.values(), key=lambda arrival: arrival.input.rank)


def _there(path: str) -> Iterator[Arrival]:
    entry = entry_of(path)
    if entry.kind == "directory":
        below = list(wet_files(entry.url))
        if not below:
            raise UsageError(f"no WET file (*.warc.wet.gz, *.warc.wet) in {printable(path)}")
        for each in below:
            yield arrival_of(each.path, each.url, each.size)
    elif entry.kind == "file":
        yield arrival_of(printable(entry.path), entry.url, entry.size)
    else:
        raise UsageError(f"{printable(path)} is {entry.reason or 'no file'}")


def wet_files(folder: str) -> Iterator[Entry]:
    """Yield the WET files below a folder by their names; hidden ones are somebody's unfinished work, or our own."""
    for entry in walk(folder):
        hidden = any(part.startswith(".") for part in entry.path.split("/"))
        if entry.kind == "file" and entry.name.endswith(WET_SUFFIXES) and not hidden:
            yield entry


def paths_listed(path: str) -> list[str]:
    """Return the paths in a list, each once. Raises `UsageError` where it is none."""
    return list(dict.fromkeys(entries_of(path, "paths")[0]))


def _listed(path: str, base: str | None) -> Iterator[Arrival]:
    root = base if base is not None else path.rpartition("/")[0] or "."
    if is_remote(root):
        store_of(root)  # what is missing to read from there is missing for each of them
    for line in paths_listed(path):
        if is_remote(root):
            below = line.removeprefix(root.rstrip("/") + "/")
            if is_remote(below) or ".." in below.split("/"):
                raise UsageError(f"{printable(path)} names {line}, which is not below {root}: say --base")
            url = f"{root.rstrip('/')}/{below.lstrip('/')}"
            # One request for each of some 90,000 files, before the first is read, would take an hour.
            yield Arrival(Input(below.lstrip("/"), url), url)
        elif is_remote(line):
            raise UsageError(f"{printable(path)} names {line}, which is not below {root}: say --base")
        else:
            local = Path(root) / line
            size = local.stat().st_size if local.is_file() else 0
            yield arrival_of(line, str(local), size)
