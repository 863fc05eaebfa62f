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
from corpusfmt.manifest.model import ListedFile, Manifest, by_bytes, is_unlisted
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

    @property
    def to_fetch(self) -> list[str]:
        """The files to download again."""
        return by_bytes([*self.damaged, *self.missing])


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
    return _Comparison(manifest, found, digests, judge, reported).difference()


class _Comparison:
    def __init__(
        self,
        manifest: Manifest,
        found: Listing,
        digests: Mapping[str, FileFacts],
        judge: Judge,
        reported: Callable[[str], bool],
    ) -> None:
        self.listed = manifest.files
        self.unusable = manifest.unusable
        self.found, self.digests, self.judge, self.reported = found, digests, judge, reported
        #: The first paths under which the contents of files that are not as listed are listed.
        self.by_digest: dict[str, str] = {}

    def difference(self) -> Difference:
        unlisted, changed = [], []
        for path, entry in self.found.files.items():
            expected = self.listed.get(path)
            if expected is None:
                if self.found.is_whole and path not in self.unusable:
                    unlisted.append(path)
            elif self._is_changed(entry, expected):
                changed.append(path)
        gone = [path for path in self.listed if not self._is_there(path)]
        wanted = {facts.sha256 for path in (*unlisted, *changed) if (facts := self.digests.get(path))}
        for path, each in self.listed.items() if wanted else ():
            if each.size and each.sha256 in wanted:
                self.by_digest.setdefault(each.sha256, path)
        renamed = self._renamed(unlisted, gone)
        for new, old in sorted(renamed.items()):
            message = f"the content of `{old}`, which is missing"
            self.judge.report(FILE_RENAMED, Problem(message, Location(new), f"rename the file to `{old}`"))
        found_again = set(renamed.values())
        missing = [path for path in gone if path not in found_again]
        self._report_missing(missing)
        added = [path for path in unlisted if path not in renamed]
        for path in added:
            copied = self._owner(path)
            message = f"a copy of `{copied}`, not in the manifest" if copied else "not in the manifest"
            hint = "remove the file, or seal the release again"
            self.judge.report(FILE_ADDED, Problem(message, Location(path), hint))
        self._report_changed(changed)
        return Difference(changed, missing, added, renamed)

    def _is_there(self, path: str) -> bool:
        return path in self.found.files or path in self.found.barred

    def _renamed(self, unlisted: Sequence[str], gone: Sequence[str]) -> dict[str, str]:
        """Return the missing file with the same content as an unlisted file, by the path of the latter."""
        waiting: defaultdict[str, list[str]] = defaultdict(list)
        for path in reversed(gone):
            waiting[self.listed[path].sha256].append(path)
        pairs = {}
        for path in unlisted:
            facts = self.digests.get(path)
            if facts is not None and facts.size and waiting.get(facts.sha256):
                pairs[path] = waiting[facts.sha256].pop()
        return pairs

    def _report_missing(self, missing: Sequence[str]) -> None:
        if not missing:
            return
        left = {folder for path in self.listed if self._is_there(path) for folder in _folders(path)}
        # The outermost folder that is missing as a whole: a path in a manifest may have any number of folders.
        outermost = {path: next((each for each in _folders(path) if each not in left), "") for path in missing}
        files, documents = Counter(outermost.values()), Counter[str]()
        for path, folder in outermost.items():
            documents[folder] += self.listed[path].documents or 0
        seen: set[str] = set()
        for path, gone in outermost.items():
            if not gone or files[gone] == 1:
                self.judge.report(FILE_MISSING, Problem("in the manifest, not in the release", Location(path), _AGAIN))
            elif gone not in seen:
                seen.add(gone)
                what = f"{plural(files[gone], 'file')} and {plural(documents[gone], 'document')}"
                problem = Problem(f"the folder is missing, with {what}", Location(gone), "fetch the folder again")
                self.judge.report(FOLDER_MISSING, problem)

    def _owner(self, path: str) -> str | None:
        """Return the first path under which the content of a file is listed."""
        facts = self.digests.get(path)
        return self.by_digest.get(facts.sha256) if facts else None

    def _is_changed(self, entry: Entry, expected: ListedFile) -> bool:
        facts = self.digests.get(entry.path)
        if facts is None:
            return entry.size != expected.size
        return facts.size != expected.size or facts.sha256 != expected.sha256

    def _report_changed(self, changed: Sequence[str]) -> None:
        owners = {self.listed[path].sha256: path for path in changed}
        swapped: set[str] = set()
        for path in changed:
            facts = self.digests.get(path)
            other = owners.get(facts.sha256) if facts else None
            theirs = self.digests.get(other) if other else None
            if path in swapped:
                continue
            if other and theirs and theirs.sha256 == self.listed[path].sha256:
                swapped.add(other)
                problem = Problem(f"`{other}` and this file have each other's content", Location(path), _EXCHANGE)
                self.judge.report(FILES_SWAPPED, problem)
            elif not self.reported(path):
                self._report_difference(path)

    def _report_difference(self, path: str) -> None:
        facts, expected, copied = self.digests.get(path), self.listed[path], self._owner(path)
        size = self.found.files[path].size if facts is None else facts.size
        kind = FILE_CHANGED
        if copied:
            message = f"the content of `{copied}`"
        elif size != expected.size:
            kind = FILE_TRUNCATED if size < expected.size else FILE_CHANGED
            message = f"{plural(size, 'byte')}, expected {expected.size:,}"
        else:
            message = f"SHA-256 is `{self.digests[path].sha256}`, expected `{expected.sha256}`"
        self.judge.report(kind, Problem(message, Location(path), _AGAIN))


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
        judge.report(CONTENT_REPEATED, Problem(f"the same content as `{before}`", Location(path), hint))
