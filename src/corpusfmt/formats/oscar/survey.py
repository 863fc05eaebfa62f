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
    named: list[Entry] = field(default_factory=list)
    beside: list[Entry] = field(default_factory=list)
    nested: list[Folder] = field(default_factory=list)
    unreadable: list[Entry] = field(default_factory=list)
    evidence: str = ""


def look(entry: Entry) -> Survey:
    """Find the language directories at a path, in it, or in the variants of a release that it contains."""
    if entry.kind != "directory":
        return _look_at_file(entry)
    survey = Survey()
    tree: _Tree = defaultdict(list)
    for child in walk(entry, _DEEPEST):
        (survey.unreadable if child.kind == "unreadable" else tree[child.parent]).append(child)
    if _kind_of(tree, "", Path(entry.url).absolute().name) == "language":
        survey.folders.append(Folder("", _code_of(tree[""], entry), tree[""]))
        survey.evidence = "a directory of OSCAR text parts"
    else:
        _collect(tree, "", survey)
        survey.evidence = f"{len(survey.folders)} language directories"
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


#: The entries below a root, by the path of the folder that they are in.
_Tree = defaultdict[str, list[Entry]]


def _kind_of(tree: _Tree, folder: str, name: str) -> str:
    """Return "language", "release", "collection" (of releases), or ""."""
    codes = codes_in(tree[folder])
    if name in codes:
        return "language"
    level = folder.count("/") + 1 if folder else 0
    directories = [entry for entry in tree[folder] if entry.kind == "directory"]
    if level < _DEEPEST - 1 and any(codes_in(tree[entry.path]) for entry in directories):
        return "release"
    if codes:
        return "language"
    if level < _DEEPEST - 2 and any(_kind_of(tree, entry.path, entry.name) for entry in directories):
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


def _code_of(entries: list[Entry], folder: Entry) -> str:
    """Return the language of a directory: its name if it is a code, else the most common code of its files."""
    name = folder.name or Path(folder.url).absolute().name
    codes = codes_in(entries)
    return name if name in codes or name in LABELS or not codes else codes.most_common(1)[0][0]


def _collect(tree: _Tree, folder: str, survey: Survey, release: int = 0) -> int:
    """Add the language directories of a release, or of every release in a collection; return the number of releases."""
    is_collection = _kind_of(tree, folder, "") == "collection"
    for entry in tree[folder]:
        entries = tree[entry.path]
        if entry.kind != "directory" or entry.name == UNFINISHED:
            survey.beside.append(entry)
        elif not is_collection:
            survey.named.append(entry)
            if _is_language(entry.name, entries):
                code = entry.name if LABEL.fullmatch(entry.name) else _code_of(entries, entry)
                survey.folders.append(Folder(entry.path, code, entries, release))
        elif _kind_of(tree, entry.path, entry.name):
            before = len(survey.folders)
            release = _collect(tree, entry.path, survey, release)
            languages = survey.folders[before:]
            if [folder.path for folder in languages] == [f"{entry.path}/{entry.name}"]:
                survey.nested += languages
        else:
            survey.named.append(entry)
    return release if is_collection else release + 1
