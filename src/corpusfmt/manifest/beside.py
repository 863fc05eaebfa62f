"""Internal: Compare the manifest with the other records of a release: description, checksum lists, card, statistics.

Only records with the digest in the manifest are read; for a changed record, only the change is reported.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from corpusfmt.formats.describing import Describer
from corpusfmt.io.lines import Line, lines
from corpusfmt.io.paths import Entry
from corpusfmt.io.text import json_object
from corpusfmt.manifest.model import Manifest, is_unlisted
from corpusfmt.manifest.rules import CARD_DIFFERS, CHECKSUM_DIFFERS, DESCRIPTION_DIFFERS, STATISTICS_DIFFER
from corpusfmt.model import Json, Location, Problem
from corpusfmt.rules import Judge

_DESCRIPTION, _STATISTICS = "croissant.json", "stats.json"
_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_LINE = 8192
_CHECKSUM = re.compile(r"([0-9A-Fa-f]{64})(?:  | \*)(.+)")
_CHECKSUM_LIST = re.compile(r"(?:.*[._-])?sha-?256(?:sums?)?(?:\.txt)?", re.IGNORECASE)
_CARD = re.compile(r"README(?:\.md)?", re.IGNORECASE)
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_NAMED = re.compile(r"[^\s`'\"<>|()\[\],]+")
_DATA_PATH = re.compile(r"\s*(?:-\s+)?(?:path|data_files):\s*[\"']?([^\"'\s#][^\"'#]*?)[\"']?\s*")
# Compared as text: a number of thousands of digits cannot be converted.
_SIZE = re.compile(r"[0-9]+ B")
# Languages that are too many to list.
_FURTHER = "…"
_RESEAL = "then seal the release again"


def check_records(
    manifest: Manifest, intact: Iterable[Entry], judge: Judge, describer: Describer | None, *, judges_lists: bool
) -> None:
    """Report where the records of a release contradict its manifest; `intact` are the files that match it.

    `judges_lists` is whether the format has rules for its checksum lists.
    """
    for entry in sorted(filter(_is_record, intact), key=lambda each: each.path.split("/")):
        path = entry.path
        if path == _DESCRIPTION:
            _check_description(_object(entry), manifest, judge, path)
        elif path == _STATISTICS:
            _check_statistics(_object(entry), manifest, judge, describer)
        elif _CARD.fullmatch(path):
            _check_card(entry, manifest, judge)
        elif not judges_lists:
            _check_list(entry, manifest, judge)


def _is_record(entry: Entry) -> bool:
    path = entry.path
    if path in {_DESCRIPTION, _STATISTICS} or _CARD.fullmatch(path):
        return True
    return _CHECKSUM_LIST.fullmatch(entry.name) is not None


def _object(entry: Entry) -> Json:
    with entry.open() as file:
        data = file.read(_MOST_BYTES) if entry.size <= _MOST_BYTES else b""
    return json_object(data) or {}


def _text_lines(entry: Entry) -> Iterator[Line]:
    with entry.open() as file:
        for line in lines(iter(lambda: file.read(_LONGEST_LINE), b""), _LONGEST_LINE):
            if isinstance(line, Line):
                yield line


def _check_description(description: Json, manifest: Manifest, judge: Judge, path: str) -> None:
    named: set[str] = set()
    objects = description.get("distribution")
    for number, each in enumerate(objects if isinstance(objects, list) else ()):
        url = each.get("contentUrl") if isinstance(each, dict) else None
        if not isinstance(url, str) or ":" in url or each.get("containedIn"):
            continue
        named.add(url)
        for message, member in _contradictions(each, url, manifest):
            at = Location(path, pointer=f"/distribution/{number}/{member}")
            judge.report(DESCRIPTION_DIFFERS, Problem(message, at, f"describe the corpus again, {_RESEAL}"))
    if named & manifest.files.keys():
        for left_out in sorted(
            listed for listed, each in manifest.files.items() if each.documents and listed not in named
        ):
            message = f"`{left_out}` has documents and is not described"
            hint = f"describe the corpus again, {_RESEAL}"
            judge.report(DESCRIPTION_DIFFERS, Problem(message, Location(path, pointer="/distribution"), hint))


def _contradictions(described: Json, url: str, manifest: Manifest) -> Iterator[tuple[str, str]]:
    listed = manifest.files.get(url)
    if listed is None:
        if not is_unlisted(url):
            yield f"`{url}` is not in the manifest", "contentUrl"
        return
    size, digest = described.get("contentSize"), described.get("sha256")
    if isinstance(digest, str) and digest.lower() != listed.sha256:
        yield f"`sha256` of `{url}` is `{digest}`, expected `{listed.sha256}`", "sha256"
    elif isinstance(size, str) and _SIZE.fullmatch(size) and size.lstrip("0") != f"{listed.size} B".lstrip("0"):
        yield f"`contentSize` of `{url}` is `{size}`, expected `{listed.size} B`", "contentSize"


def _check_statistics(stats: Json, manifest: Manifest, judge: Judge, describer: Describer | None) -> None:
    """Report numbers of documents that differ from those of the files, unless some files could not be read to their ends."""
    covered = stats.get("coverage")
    if isinstance(covered, dict) and (covered.get("rejected") or covered.get("broken")):
        return
    language = describer.language if describer else None
    counted: Counter[str] = Counter()
    for path, each in manifest.files.items():
        if each.documents is not None:
            counted[language(path) if language else ""] += each.documents
    if not counted:
        return
    _compare_counts(stats, counted.total(), "", "", judge)
    languages = stats.get("languages")
    for name, size in languages.items() if language and isinstance(languages, dict) else ():
        if name != _FURTHER:
            _compare_counts(size, counted[name], f"/languages/{name}", f" of `{name}`", judge)


def _compare_counts(size: Any, expected: int, pointer: str, what: str, judge: Judge) -> None:
    documents = size.get("documents") if isinstance(size, dict) else None
    if type(documents) is int and documents != expected:
        at = Location(_STATISTICS, pointer=f"{pointer}/documents")
        message = f"{documents:,} documents{what}, expected {expected:,}"
        judge.report(STATISTICS_DIFFER, Problem(message, at, f"write the statistics again, {_RESEAL}"))


def _check_list(entry: Entry, manifest: Manifest, judge: Judge) -> None:
    folder = entry.parent
    for line in _text_lines(entry):
        match = _CHECKSUM.fullmatch(line.data.decode("utf-8", "backslashreplace"))
        if match is None:
            continue
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        listed = manifest.files.get(path)
        at = Location(entry.path, line.line)
        if listed is None and not is_unlisted(path):
            problem = Problem(f"`{path}` is not in the manifest", at, f"remove the line, {_RESEAL}")
            judge.report(CHECKSUM_DIFFERS, problem)
        elif listed is not None and listed.sha256 != match[1].lower():
            message = f"SHA-256 of `{path}` is `{match[1]}`, expected `{listed.sha256}`"
            judge.report(CHECKSUM_DIFFERS, Problem(message, at, f"write the list again, {_RESEAL}"))


def _check_card(entry: Entry, manifest: Manifest, judge: Judge) -> None:
    in_head = False
    for line in _text_lines(entry):
        text = line.data.decode("utf-8", "backslashreplace").removesuffix("\r")
        if text == "---":
            in_head = line.line == 1
        for message in _of_head(text, manifest) if in_head else _of_text(text, manifest):
            at = Location(entry.path, line.line)
            judge.report(CARD_DIFFERS, Problem(message, at, f"correct the card, {_RESEAL}"))


def _of_head(text: str, manifest: Manifest) -> Iterator[str]:
    match = _DATA_PATH.fullmatch(text)
    if match and not any(fnmatchcase(path, match[1]) for path in manifest.files):
        yield f"no file of the manifest matches `{match[1]}`"


def _of_text(text: str, manifest: Manifest) -> Iterator[str]:
    """Yield the digest in a line that names exactly one file, if the manifest has a different one."""
    digests = _DIGEST.findall(text)
    named = [word for word in _NAMED.findall(text) if word in manifest.files] if digests else []
    if len(digests) == len(named) == 1 and manifest.files[named[0]].sha256 != digests[0]:
        yield f"SHA-256 of `{named[0]}` is `{digests[0]}`, expected `{manifest.files[named[0]].sha256}`"
