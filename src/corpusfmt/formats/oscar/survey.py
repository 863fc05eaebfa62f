"""Internal: Find the language directories of a release, or of each release in a collection."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

from msgspec import Struct, field

from corpusfmt.formats.languages import LABEL, LABELS
from corpusfmt.formats.oscar.parts import Role, checksum_code, data_name, parse_name
from corpusfmt.formats.parts import FOLDERS_ABOVE
from corpusfmt.io.paths import Entry, walk
from corpusfmt.model import Location

UNFINISHED = ".corpusfmt"
LOOKS_LIKE_DATA = re.compile(r".*\.(txt|jsonl?|gz|zstd?|bz2|xz|zip|tar)([.~_-].*)?", re.IGNORECASE | re.DOTALL)
#: What writers leave behind if they are killed.
LEFTOVER = re.compile(r".*\.(tmp|part|partial)", re.DOTALL)
# The depth of the search for files: unshuffled/original/LL/file.
_DEEPEST = FOLDERS_ABOVE + 2


class Folder(Struct, frozen=True):
    """A language directory. If `alone`, the user named a single file, and its siblings are not checked."""

    path: str
    code: str
    entries: list[Entry]
    release: int = 0
    alone: str | None = None

    @property
    def at(self) -> Location:
        return Location(self.path or ".")


class Survey(Struct):
    """The language directories at a path and the entries next to them, by release."""

    folders: list[Folder] = field(default_factory=list)
    named: list[tuple[Entry, bool]] = field(default_factory=list)
    beside: list[Entry] = field(default_factory=list)
    nested: list[Folder] = field(default_factory=list)
    unreadable: list[Entry] = field(default_factory=list)
    evidence: str = ""


def look(entry: Entry) -> Survey:
    """Find the language directories at a path, in it, or in the variants of a release that it contains."""
    if entry.kind != "directory":
        return _look_at_file(entry)
    tree = _Tree(entry)
    survey = Survey()
    if tree.kind_of("", Path(entry.url).absolute().name) == "language":
        survey.folders.append(Folder("", _code_of(tree, "", entry), tree.entries("")))
        survey.evidence = "a directory of OSCAR text parts"
    else:
        _collect(tree, "", survey)
        survey.evidence = f"{len(survey.folders)} language directories"
    survey.unreadable = tree.unreadable
    return survey


def _look_at_file(entry: Entry) -> Survey:
    parsed = parse_name(entry.name)
    survey = Survey(evidence=f"the name {entry.name}")
    if parsed is None:
        survey.beside.append(entry)
        return survey
    other: Role = "metadata" if parsed.role == "text" else "text"
    siblings = (data_name(parsed.code, other, parsed.number), f"{parsed.code}_sha256.txt")
    entries = [entry, *filter(None, map(entry.folder().child, siblings))]
    survey.folders.append(Folder("", parsed.code, list(entries), alone=entry.name))
    return survey


class _Tree:
    """The entries below a root by parent folder, listed as deep as needed."""

    def __init__(self, root: Entry) -> None:
        self._root = root
        self._depth = 0
        self._by_parent: defaultdict[str, list[Entry]] = defaultdict(list)
        self.unreadable: list[Entry] = []
        self._deepen(2)

    def _deepen(self, depth: int) -> None:
        self._by_parent.clear()
        self.unreadable.clear()
        self._depth = depth
        for entry in walk(self._root, depth):
            if entry.kind == "unreadable":
                self.unreadable.append(entry)
            else:
                self._by_parent[entry.parent].append(entry)

    def entries(self, folder: str) -> list[Entry]:
        level = folder.count("/") + 2 if folder else 1
        if level > self._depth and level <= _DEEPEST:
            self._deepen(level)
        return self._by_parent[folder]

    def directories(self, folder: str) -> list[Entry]:
        return [entry for entry in self.entries(folder) if entry.kind == "directory"]

    def codes(self, folder: str) -> Counter[str]:
        """Return the language codes of the OSCAR file names directly in a folder, with their numbers."""
        return codes_in(self.entries(folder))

    def kind_of(self, folder: str, name: str) -> str:
        """Return "language", "release", "collection" (of releases), or ""."""
        codes = self.codes(folder)
        if name in codes:
            return "language"
        level = folder.count("/") + 1 if folder else 0
        directories = self.directories(folder) if level < _DEEPEST - 1 else []
        if any(self.codes(entry.path) for entry in directories):
            return "release"
        if codes:
            return "language"
        if level < _DEEPEST - 2 and any(self.kind_of(entry.path, entry.name) for entry in directories):
            return "collection"
        return ""


def codes_in(entries: list[Entry]) -> Counter[str]:
    codes = Counter[str]()
    for entry in entries:
        parsed, code = parse_name(entry.name), checksum_code(entry.name)
        if parsed or code:
            codes[parsed.code if parsed else code or ""] += 1
    return codes


def _is_language(name: str, entries: list[Entry]) -> bool:
    """Return whether a directory among others belongs to a language, by its label or its contents."""
    if name in LABELS or codes_in(entries):
        return True
    return bool(LABEL.fullmatch(name)) and any(LOOKS_LIKE_DATA.fullmatch(entry.name) for entry in entries)


def _code_of(tree: _Tree, folder: str, entry: Entry) -> str:
    """Return the language of a directory: its name if it is a code, else the most common code of its files."""
    name = entry.name or Path(entry.url).absolute().name
    codes = tree.codes(folder)
    if name in codes or name in LABELS or not codes:
        return name
    return codes.most_common(1)[0][0]


def _collect(tree: _Tree, folder: str, survey: Survey, release: int = 0) -> int:
    """Add the language directories of a release, or of every release in a collection; return the number of releases."""
    if tree.kind_of(folder, "") == "collection":
        for entry in tree.entries(folder):
            if entry.kind != "directory" or entry.name == UNFINISHED:
                survey.beside.append(entry)
            elif tree.kind_of(entry.path, entry.name):
                before = len(survey.folders)
                release = _collect(tree, entry.path, survey, release)
                languages = survey.folders[before:]
                if [folder.path for folder in languages] == [f"{entry.path}/{entry.name}"]:
                    survey.nested += languages
            else:
                survey.named.append((entry, False))
        return release
    for entry in tree.entries(folder):
        if entry.kind != "directory" or entry.name == UNFINISHED:
            survey.beside.append(entry)
            continue
        is_language = _is_language(entry.name, tree.entries(entry.path))
        survey.named.append((entry, is_language))
        if is_language:
            code = entry.name if LABEL.fullmatch(entry.name) else _code_of(tree, entry.path, entry)
            survey.folders.append(Folder(entry.path, code, tree.entries(entry.path), release))
    return release + 1
