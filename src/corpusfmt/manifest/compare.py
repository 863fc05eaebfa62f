"""Internal: The files of a release against its manifest: each difference is one finding at its file."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from corpusfmt.formats.general import report_barred
from corpusfmt.io.compress import FileFacts
from corpusfmt.io.paths import Entry
from corpusfmt.manifest.model import Manifest, by_bytes, is_unlisted
from corpusfmt.manifest.rules import (
    CONTENT_REPEATED,
    FILE_ADDED,
    FILE_CHANGED,
    FILE_MISSING,
    FILE_RENAMED,
    FILE_TRUNCATED,
    FILES_SWAPPED,
    FOLDER_MISSING,
)
from corpusfmt.model import Location, Problem
from corpusfmt.rules import Judge
from corpusfmt.wording import plural

_AGAIN = "fetch the file again"
_EXCHANGE = "exchange the names of the two files"


class Listing(Struct, frozen=True):
    """The files of a folder in the order of their paths, and those that cannot be read.

    `is_whole` is whether the store could list them.
    """

    files: Mapping[str, Entry] = {}
    barred: Mapping[str, Entry] = {}
    is_whole: bool = True


def listing(entries: Iterable[Entry], known: Mapping[str, Entry] = {}) -> Listing:
    """Return the files of a folder that a manifest would list; those of `known` entries that are the same are these."""
    files: dict[str, Entry] = {}
    barred: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind != "directory" and not is_unlisted(entry.path):
            same = known.get(entry.path)
            (barred if entry.is_barred else files)[entry.path] = same if same == entry else entry
    return Listing(dict(sorted(files.items())), barred)


def to_hash(manifest: Manifest, found: Listing) -> Iterator[Entry]:
    """Yield the files whose digests the comparison needs: the others differ in size."""
    files, listed = found.files, manifest.files
    sizes = {each.size for path, each in listed.items() if path not in files or files[path].size != each.size}
    for path, entry in files.items():
        if entry.size in sizes or (path in listed and listed[path].size == entry.size):
            yield entry


class Difference(Struct, frozen=True):
    """The outcome for the files of a release: paths to download again, and paths that do not belong."""

    damaged: list[str]
    missing: list[str]
    added: list[str]
    renamed: dict[str, str]


def compare(
    manifest: Manifest,
    found: Listing,
    digests: Mapping[str, FileFacts],
    judge: Judge,
    reported: Callable[[str], bool] = lambda _path: False,
) -> Difference:
    """Report the differences from a manifest; `digests` are the known ones, `reported` whether a path has a finding already."""
    for path in by_bytes(found.barred):
        if not reported(path):
            report_barred(found.barred[path], judge)
    listed, files = manifest.files, found.files

    def is_changed(path: str) -> bool:
        facts, expected = digests.get(path), listed[path]
        if facts is None:
            return files[path].size != expected.size
        return (facts.size, facts.sha256) != (expected.size, expected.sha256)

    unlisted = [path for path in files if found.is_whole and path not in listed and path not in manifest.unusable]
    changed = [path for path in files if path in listed and is_changed(path)]
    gone = [path for path in listed if path not in files and path not in found.barred]
    # The first path under which the content of a file that is not as listed is listed.
    wanted = {digests[path].sha256 for path in (*unlisted, *changed) if path in digests}
    by_digest: dict[str, str] = {}
    for path, each in listed.items() if wanted else ():
        if each.size and each.sha256 in wanted:
            by_digest.setdefault(each.sha256, path)
    copies = {path: by_digest.get(digests[path].sha256) for path in (*unlisted, *changed) if path in digests}

    renamed: dict[str, str] = {}
    waiting: defaultdict[str, list[str]] = defaultdict(list)
    for path in reversed(gone):
        waiting[listed[path].sha256].append(path)
    for path in unlisted:
        facts = digests.get(path)
        if facts is not None and facts.size and waiting.get(facts.sha256):
            renamed[path] = old = waiting[facts.sha256].pop()
            message = f"the file has the content of `{old}`, which is missing"
            judge.report(FILE_RENAMED, Problem(message, Location(path), f"rename the file to `{old}`"))
    found_again = set(renamed.values())
    missing = [path for path in gone if path not in found_again]
    _report_missing(missing, manifest, found, judge)
    added = [path for path in unlisted if path not in renamed]
    for path in added:
        message = (
            f"the file is a copy of `{copied}`, and not in the manifest"
            if (copied := copies.get(path))
            else "the file is not in the manifest"
        )
        judge.report(FILE_ADDED, Problem(message, Location(path), "remove the file, or seal the release again"))

    owners = {listed[path].sha256: path for path in changed}
    swapped: set[str] = set()
    for path in changed:
        if path in swapped:
            continue
        facts, expected = digests.get(path), listed[path]
        other = owners.get(facts.sha256) if facts else None
        theirs = digests.get(other) if other else None
        if other and theirs and theirs.sha256 == expected.sha256:
            swapped.add(other)
            message = f"`{other}` and this file have each other's content"
            judge.report(FILES_SWAPPED, Problem(message, Location(path), _EXCHANGE))
            continue
        if reported(path):
            continue
        size, kind = files[path].size if facts is None else facts.size, FILE_CHANGED
        if copied := copies.get(path):
            message = f"the file has the content of `{copied}`"
        elif size != expected.size:
            kind = FILE_TRUNCATED if size < expected.size else FILE_CHANGED
            message = f"{plural(size, 'byte')}, expected {expected.size:,}"
        else:
            message = f"the SHA-256 is `{digests[path].sha256}`, expected `{expected.sha256}`"
        judge.report(kind, Problem(message, Location(path), _AGAIN))
    return Difference(changed, missing, added, renamed)


def _report_missing(missing: Sequence[str], manifest: Manifest, found: Listing, judge: Judge) -> None:
    """Report missing files; of the outermost folder that is missing as a whole, only this."""
    listed = manifest.files
    left: set[str] = set()
    if missing:
        there = (path for path in listed if path in found.files or path in found.barred)
        left = {folder for path in there for folder in _folders(path)}
    # A path in a manifest may have any number of folders.
    outermost = {path: next((each for each in _folders(path) if each not in left), "") for path in missing}
    files, documents = Counter(outermost.values()), Counter[str]()
    for path, folder in outermost.items():
        documents[folder] += listed[path].documents or 0
    seen: set[str] = set()
    for path, folder in outermost.items():
        if not folder or files[folder] == 1:
            judge.report(
                FILE_MISSING, Problem("the file is in the manifest, but not in the release", Location(path), _AGAIN)
            )
        elif folder not in seen:
            seen.add(folder)
            what = f"{plural(files[folder], 'file')} and {plural(documents[folder], 'document')}"
            problem = Problem(f"the folder is missing, with {what}", Location(folder), "fetch the folder again")
            judge.report(FOLDER_MISSING, problem)


def _folders(path: str) -> Iterator[str]:
    """Yield the folders of a path, the outermost first."""
    return (path[: slash.start()] for slash in re.finditer("/", path))


def report_repeated(manifest: Manifest, judge: Judge) -> None:
    """Report files with documents that have the same content, within one variant of the release."""
    contents = ((each.corpus, each.sha256, path) for path, each in manifest.files.items() if each.documents)
    repeated: list[tuple[str, str]] = []
    for _, alike in groupby(sorted(contents), itemgetter(0, 1)):
        (*_, before), *others = alike
        repeated += ((path, before) for _, _, path in others)
    for path, before in sorted(repeated):
        hint = "remove one of the two, then seal the release again"
        judge.report(CONTENT_REPEATED, Problem(f"the file has the same content as `{before}`", Location(path), hint))
