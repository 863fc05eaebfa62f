"""Internal: Compare the files of a folder with what is said of them next to them: description, checksum lists, card, statistics.

The files are those of the manifest, if there is one: then only records with the digest in the manifest are read, and for a
changed record, only the change is reported. Without a manifest they are what was found.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any

from msgspec import Struct

from corpusfmt.formats import description_in
from corpusfmt.formats.describing import Describer
from corpusfmt.formats.general import barred
from corpusfmt.formats.parts import CHECKSUM_LIST, is_root_file
from corpusfmt.io.lines import Line, lines
from corpusfmt.io.paths import Entry, walk
from corpusfmt.io.text import json_object
from corpusfmt.manifest.model import ListedFile, is_unlisted
from corpusfmt.manifest.rules import CARD_DIFFERS, CHECKSUM_DIFFERS, DESCRIPTION_DIFFERS, STATISTICS_DIFFER
from corpusfmt.model import BadInput, Json, Location, Problem
from corpusfmt.rules import Judge

_DESCRIPTION, _STATISTICS = "croissant.json", "stats.json"
_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_LINE = 8192
_READ_SIZE = 1024 * 1024
# By the number of digits.
_ALGORITHMS = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_HEX = "(?:" + "|".join(f"[0-9A-Fa-f]{{{digits}}}" for digits in _ALGORITHMS) + ")"
# What `sha256sum` and its relatives write, also with --binary or --tag, and what they read.
_CHECKSUM = re.compile(
    rf"(?P<escape>\\?)(?:(?P<digest>{_HEX}) [ *]?(?P<path>.+)|(?:MD5|SHA1|SHA224|SHA256|SHA384|SHA512) \((?P<tagged>.+)\) = (?P<after>{_HEX}))"
)
# The digest of one file, without its name.
_DIGEST_ALONE = re.compile(r"(.+)\.(?:md5|sha-?\d+)", re.IGNORECASE)
_CHECKSUM_LIST = re.compile(CHECKSUM_LIST, re.IGNORECASE)
_CARD = re.compile(r"README(?:\.md)?", re.IGNORECASE)
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_NAMED = re.compile(r"[^\s`'\"<>|()\[\],]+")
_DATA_PATH = re.compile(r"\s*(?:-\s+)?(?:path|data_files):\s*[\"']?([^\"'\s#][^\"'#]*?)[\"']?\s*")
# Compared as text: a number of thousands of digits cannot be converted.
_SIZE = re.compile(r"[0-9]+ B")
# Languages that are too many to list.
_FURTHER = "…"


class Known(Struct, frozen=True):
    """What is known of the files of a folder, by path: from its manifest, or, unless it is `sealed`, from the files themselves.

    The SHA-256 of a file that was not `read` is empty; for digests of other kinds, those that were are read again.
    """

    files: Mapping[str, ListedFile]
    entries: Mapping[str, Entry]
    read: Collection[str]
    sealed: bool = True

    @property
    def absent(self) -> str:
        return "is not in the manifest" if self.sealed else "is missing"

    def then_seal(self, hint: str) -> str:
        return f"{hint}, then seal the release again" if self.sealed else hint


def check_records(known: Known, records: Iterable[Entry], judge: Judge, describer: Describer | None) -> None:
    """Report where the records of a folder contradict its files; with a manifest, `records` are those that match it."""
    digest_of = cache(partial(_digest_of, known, judge))  # a list may name a file any number of times
    for entry in sorted(filter(role_of_record, records), key=lambda each: each.path.split("/")):
        role = role_of_record(entry)
        try:
            if role == "croissant":
                _check_description(_object(entry), known, judge, entry.path)
            elif role == "statistics":
                _check_statistics(_object(entry), known, judge, describer)
            elif role == "card":
                _check_card(entry, known, judge)
            else:
                _check_list(entry, known, judge, digest_of)
        except OSError as error:
            judge.report(*barred(error, Location(entry.path)))


def role_of_record(entry: Entry) -> str:
    """Return what a file says of the others: "croissant", "statistics", "card" or "checksum list"; "" if it is data."""
    if entry.path == _DESCRIPTION:
        return "croissant"
    if entry.path == _STATISTICS:
        return "statistics"
    if _CARD.fullmatch(entry.path):
        return "card"
    return "checksum list" if _CHECKSUM_LIST.fullmatch(entry.name) else ""


def describes_files(folder: Entry) -> bool:
    """Return whether a folder has files that its description is about."""
    described = description_in(folder.child)
    if described is None:
        return False
    fmt, entry = described
    in_rdf = not entry.name.endswith(".json")
    try:
        description = fmt.descriptions().json_ld(entry) if in_rdf and fmt.descriptions else _object(entry)
    except (OSError, BadInput):
        return False  # which its own check reports
    has_sets = any("contentUrl" not in each and "containedIn" not in each for _, each in _resources(description))
    urls = {url for _, _, url in _described(description)}
    files = (each for each in walk(folder) if each.kind == "file" and not is_unlisted(each.path))
    return any(each.path in urls or (has_sets and not is_root_file(each.name)) for each in files)


def named_digests(records: Iterable[Entry]) -> set[str]:
    """Return the paths of the files whose digests are in records. Of one that cannot be read, its check reports that."""
    named = set[str]()
    for entry in records:
        with suppress(OSError):
            named.update(_named_digests(entry))
    return named


def _named_digests(entry: Entry) -> Iterator[str]:
    role = role_of_record(entry)
    if role == "checksum list":
        yield from (path for _, path, _ in _listed(entry) if path)
    elif role == "croissant":
        yield from (url for _, each, url in _described(_object(entry)) if "sha256" in each)
    elif role == "card":
        for line in _text_lines(entry):
            text = line.data.decode("utf-8", "backslashreplace")
            yield from _NAMED.findall(text) if _DIGEST.search(text) else ()


def _object(entry: Entry) -> Json:
    with entry.open() as file:
        data = file.read(_MOST_BYTES) if entry.size <= _MOST_BYTES else b""
    return json_object(data) or {}


def _text_lines(entry: Entry) -> Iterator[Line]:
    with entry.open() as file:
        for line in lines(iter(lambda: file.read(_LONGEST_LINE), b""), _LONGEST_LINE):
            if isinstance(line, Line):
                yield line


def _resources(description: Json) -> Iterator[tuple[int, Json]]:
    objects = description.get("distribution")
    return ((n, each) for n, each in enumerate(objects if isinstance(objects, list) else ()) if isinstance(each, dict))


def _described(description: Json) -> Iterator[tuple[int, Json, str]]:
    """Yield the files of a folder that its description names: their number, what it says of them, and their path."""
    for number, each in _resources(description):
        url = each.get("contentUrl")
        if isinstance(url, str) and ":" not in url and not each.get("containedIn"):
            yield number, each, _joined("", url)


def _check_description(description: Json, known: Known, judge: Judge, path: str) -> None:
    named: set[str] = set()
    hint = known.then_seal("describe the corpus again")
    for number, each, url in _described(description):
        named.add(url)
        for message, member in _contradictions(each, url, known):
            at = Location(path, pointer=f"/distribution/{number}/{member}")
            judge.report(DESCRIPTION_DIFFERS, Problem(message, at, hint))
    # A description by others may name files in other ways.
    if known.sealed and named & known.files.keys():
        for left_out in sorted(
            listed for listed, each in known.files.items() if each.documents and listed not in named
        ):
            message = f"`{left_out}` has documents and is not described"
            judge.report(DESCRIPTION_DIFFERS, Problem(message, Location(path, pointer="/distribution"), hint))


def _contradictions(described: Json, url: str, known: Known) -> Iterator[tuple[str, str]]:
    listed = known.files.get(url)
    if listed is None:
        if known.sealed and not is_unlisted(url):
            yield f"`{url}` {known.absent}", "contentUrl"
        return
    size, digest = described.get("contentSize"), described.get("sha256")
    if isinstance(digest, str) and listed.sha256 and digest.lower() != listed.sha256:
        yield f"`sha256` of `{url}` is `{digest}`, expected `{listed.sha256}`", "sha256"
    elif isinstance(size, str) and _SIZE.fullmatch(size) and size.lstrip("0") != f"{listed.size} B".lstrip("0"):
        yield f"`contentSize` of `{url}` is `{size}`, expected `{listed.size} B`", "contentSize"


def _check_statistics(stats: Json, known: Known, judge: Judge, describer: Describer | None) -> None:
    """Report numbers of documents that differ from those of the files, unless some files could not be read to their ends."""
    covered = stats.get("coverage")
    if isinstance(covered, dict) and (covered.get("rejected") or covered.get("broken")):
        return
    language = describer.language if describer else None
    counted: Counter[str] = Counter()
    for path, each in known.files.items():
        if each.documents is not None:
            counted[language(path) if language else ""] += each.documents
    if not counted:
        return
    _compare_counts(stats, counted.total(), "", "", known, judge)
    languages = stats.get("languages")
    for name, size in languages.items() if language and isinstance(languages, dict) else ():
        if name != _FURTHER:
            _compare_counts(size, counted[name], f"/languages/{name}", f" of `{name}`", known, judge)


def _compare_counts(size: Any, expected: int, pointer: str, what: str, known: Known, judge: Judge) -> None:
    documents = size.get("documents") if isinstance(size, dict) else None
    if type(documents) is int and documents != expected:
        at = Location(_STATISTICS, pointer=f"{pointer}/documents")
        message = f"{documents:,} documents{what}, expected {expected:,}"
        judge.report(STATISTICS_DIFFER, Problem(message, at, known.then_seal("write the statistics again")))


def _listed(entry: Entry) -> Iterator[tuple[Location, str, str]]:
    """Yield the lines of a checksum list: the place, and path and digest of a file, both empty if the line has another form."""
    alone = _DIGEST_ALONE.fullmatch(entry.name)
    for line in _text_lines(entry):
        at, text = Location(entry.path, line.line), line.data.decode("utf-8", "backslashreplace").removesuffix("\r")
        if not text.strip() or text.startswith("#"):
            continue
        if alone and re.fullmatch(_HEX, text.strip()):
            yield at, _joined(entry.parent, alone[1]), text.strip()
            continue
        match = _CHECKSUM.fullmatch(text)
        if match is None:
            yield at, "", ""
            continue
        name = match["path"] or match["tagged"]
        if match["escape"]:
            name = re.sub(r"\\([nr\\])", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), name)
        yield at, _joined(entry.parent, name), match["digest"] or match["after"]


def _joined(folder: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(folder, name))


def _check_list(entry: Entry, known: Known, judge: Judge, digest_of: Callable[[str, str], str]) -> None:
    kind = _CHECKSUM_LIST.fullmatch(entry.name)
    assert kind is not None
    program = f"{kind['algorithm'].lower().replace('-', '')}sum"
    for at, path, digest in _listed(entry):
        listed, algorithm = known.files.get(path), _ALGORITHMS.get(len(digest), "")
        if not path:
            problem = Problem(f"not a line of `{program}`", at, f"write the list again with `{program}`", minor=True)
            judge.report(CHECKSUM_DIFFERS, problem)
        elif listed is None and (not is_unlisted(path) or path.startswith("../")):
            hint = "remove the line" if known.sealed else "fetch the file, or remove the line"
            judge.report(CHECKSUM_DIFFERS, Problem(f"`{path}` {known.absent}", at, known.then_seal(hint)))
        elif listed is not None and (actual := digest_of(path, algorithm)) not in {"", digest.lower()}:
            message = f"{algorithm.upper().replace('SHA', 'SHA-')} of `{path}` is `{digest}`, expected `{actual}`"
            hint = (
                known.then_seal("write the list again") if known.sealed else "fetch the file again, or correct the list"
            )
            judge.report(CHECKSUM_DIFFERS, Problem(message, at, hint))


def _digest_of(known: Known, judge: Judge, path: str, algorithm: str) -> str:
    """Return a digest of a file, "" if it is not known."""
    if algorithm == "sha256":
        return known.files[path].sha256
    entry = known.entries.get(path) if path in known.read else None
    try:
        if entry is not None:
            with entry.open() as file:
                digest = hashlib.new(algorithm, usedforsecurity=False)
                for chunk in iter(lambda: file.read(_READ_SIZE), b""):
                    digest.update(chunk)
                return digest.hexdigest()
    except OSError as error:
        judge.report(*barred(error, Location(path)))
    return ""


def _check_card(entry: Entry, known: Known, judge: Judge) -> None:
    in_head = False
    for line in _text_lines(entry):
        text = line.data.decode("utf-8", "backslashreplace").removesuffix("\r")
        if text == "---":
            in_head = line.line == 1
        message = ""
        if in_head:
            match = _DATA_PATH.fullmatch(text)
            if match and not any(fnmatchcase(path, match[1]) for path in known.files):
                message = f"no file {'of the manifest ' if known.sealed else ''}matches `{match[1]}`"
        else:  # a line that names exactly one file, and one digest
            digests = _DIGEST.findall(text)
            named = [word for word in _NAMED.findall(text) if word in known.files] if digests else []
            if len(digests) == len(named) == 1 and known.files[named[0]].sha256 not in {"", digests[0]}:
                message = f"SHA-256 of `{named[0]}` is `{digests[0]}`, expected `{known.files[named[0]].sha256}`"
        if message:
            at = Location(entry.path, line.line)
            judge.report(CARD_DIFFERS, Problem(message, at, known.then_seal("correct the card")))
