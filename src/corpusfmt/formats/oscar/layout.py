"""Internal: Detect the version of a layout, and plan its checks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nlargest
from itertools import groupby
from operator import attrgetter

from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.general import report_barred
from corpusfmt.formats.languages import LABEL
from corpusfmt.formats.oscar.checksums import ChecksumList, read_list, report_no_list
from corpusfmt.formats.oscar.layout_rules import (
    NO_LANGUAGE_DIRECTORY,
    NOT_IN_ORIGINAL,
    STRAY_ENTRY,
    DirectoryName,
    FileName,
    Language,
    Pairing,
    each_once,
)
from corpusfmt.formats.oscar.parts import (
    OscarPart,
    Role,
    checksum_code,
    is_original,
    original_of,
    parse_name,
    role_of,
)
from corpusfmt.formats.oscar.ruleset import RULES, TEXT
from corpusfmt.formats.oscar.survey import LOOKS_LIKE_DATA, UNFINISHED, Folder, Survey, codes_in, look
from corpusfmt.formats.parts import is_root_file
from corpusfmt.formats.sniff import main_file, rows_have
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, StreamFault
from corpusfmt.model import Coverage, Location, Problem, Severity, Tally
from corpusfmt.rules import Judge

_LIST_HEAD = 64 * 1024
# A text without a blank line in this many bytes counts as having none, and a release if this many of its largest texts do.
_FAR = 8 * 1024 * 1024
_MOST_TEXTS = 64
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")


LINES_AS_DOCUMENTS = RULES.finding(
    "OSC110",
    "lines-as-documents",
    """No text of a 1.0 release has a blank line, so each line is read as a document.

    Why: 1.0 was published twice, as documents separated by blank lines and as shuffled lines. A text of one document has no
    blank line either, so all texts of a release are read the same way: as documents if any of them has a blank line.
    Example: a shuffled release; a single text with one document, checked alone.
    Fix: no action is needed for shuffled lines; otherwise pass the whole release, or end documents with a blank line.
    """,
    severity=Severity.INFO,
    grades={"1.1": None},
    spec=TEXT,
)


def detect(entry: Entry) -> Detection | None:
    """Detect OSCAR 1.x and its version in a file, a language directory or a release.

    Many folders are named like a language, so a file with a name of the schema is required.
    """
    survey = look(entry)
    if not any(map(codes_in, (folder.entries for folder in survey.folders))) or _holds_another_format(survey):
        return None
    version, reason = version_of(survey)
    return Detection(version, f"{survey.evidence}; {reason}")


def _holds_another_format(survey: Survey) -> bool:
    """Return whether there are no text files but tables or JSON Lines with the text, as in 22.01 and 23.01."""
    alike = [entry for folder in survey.folders for entry in folder.entries if entry.kind == "file"]
    if any(role_of(entry.name) == "text" for entry in alike):
        return False
    if any(entry.name.endswith(".parquet") for entry in alike):
        return True
    every = (entry for folder in survey.folders for entry in folder.entries)
    rows = (entry for entry in every if entry.kind == "file" and ".jsonl" in entry.name)
    return main_file(rows, lambda each: rows_have(each, "content", "warc_headers")) is not None


def version_of(survey: Survey) -> tuple[str, str]:
    """Return the version of a layout, and why: 1.1 has metadata, a checksum list of metadata, or its schema."""
    if any(entry.name == "metadata_schema.json" for entry in survey.beside):
        return "1.1", "metadata_schema.json"
    with_metadata = sum(map(_has_metadata, survey.folders))
    if with_metadata and 2 * with_metadata >= sum(bool(folder.entries) for folder in survey.folders):
        return "1.1", "metadata files"
    return "1.0", "no metadata files"


def _has_metadata(folder: Folder) -> bool:
    if any(role_of(entry.name) == "metadata" for entry in folder.entries):
        return True
    # No number is in the name of a list.
    return any(checksum_code(entry.name) and _lists_metadata(entry) for entry in folder.entries)


def _lists_metadata(entry: Entry) -> bool:
    if entry.kind != "file":
        return False
    try:
        with entry.open() as file:
            return b"_meta" in file.read(_LIST_HEAD)
    except OSError:
        return False  # planning opens it again and reports the error


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the parts at a path and check the layout around them."""
    survey = look(entry)
    version = options.version or version_of(survey)[0]
    tally, coverage = Tally(options.max_per_rule, options.grading.known), Coverage()

    @contextmanager
    def judging(path: str) -> Iterator[Judge]:
        judge = Judge(RULES, options.grading, version=version, path=path, cap=options.max_per_rule)
        yield judge
        tally.merge(judge.tally)
        coverage.add(judge.coverage)

    for child in survey.named:
        with judging(child.path) as judge:
            judge.check(DirectoryName(Location(child.path), child.name))
    with judging(".") as judge:
        _judge_root(entry, survey, version, judge)
    #: By the number of a deduplicated language, that of the same before deduplication.
    originals: dict[int, int] = {}
    for index, variant, original in _originals(survey.folders):
        folder = survey.folders[index]
        if original is not None:
            originals[index] = original
            continue
        with judging(folder.path) as judge:
            message, hint = f"`{folder.code}` is not in `{variant}/`", "fetch or build both variants again"
            judge.report(NOT_IN_ORIGINAL, Problem(message, folder.at, hint))
    compared = {*originals, *originals.values()}
    shards: list[Shard] = []
    for index, folder in enumerate(survey.folders):
        with judging(folder.path or folder.code) as judge:
            language = language_in(folder, version, judge)
            judge.check(language if folder.alone is None else Pairing(language.code, language.texts, language.metadata))
            listing = _checksums(folder, language, version, judge)
        declared = options.dedup and not is_original(posixpath.basename(posixpath.dirname(folder.path)))
        # Only a single file may be named so.
        dedup = declared or (None in language.texts and is_dedup(language.texts[None]))
        for files in _shards_of(folder, language, listing):
            stem = next(iter(files.values())).name.partition(".")[0]
            part = OscarPart(
                folder.code,
                f"{folder.code}/{stem}",
                version,
                index,
                folder.release,
                dedup=dedup and "other" not in files,
                listing=None if listing is None else listing.part_of(files),
                compared=index in compared,
                original=originals.get(index, -1),
            )
            name = f"{folder.path}/{stem}" if folder.path else stem
            shards.append(Shard(len(shards), name, files, part, corpus=folder.path.rpartition("/")[0]))
    if version == "1.0":
        with judging(".") as judge:
            shards = _with_lines_marked(shards, judge)
    return Plan(version, shards, tally, coverage)


def _judge_root(entry: Entry, survey: Survey, version: str, judge: Judge) -> None:
    for folder in survey.nested:
        message = f"the language directory `{folder.code}` is inside another `{folder.code}`"
        judge.report(STRAY_ENTRY, Problem(message, folder.at, f"move its files to the outer `{folder.code}`"))
    for child in survey.unreadable:
        report_barred(child, judge)
    for child in survey.beside:
        if child.name == UNFINISHED:
            _report_stray(judge, child)
        elif report_barred(child, judge) or is_root_file(child.name):
            continue
        elif parse_name(child.name) or LOOKS_LIKE_DATA.fullmatch(child.name):
            judge.check(FileName(Location(child.path), child.name, "LL", None, None, version))
        else:
            _report_stray(judge, child)
    odd_name = any(not LABEL.fullmatch(child.name) for child in survey.named)
    if not survey.folders and not odd_name and entry.kind == "directory" and not survey.unreadable:
        hint = "pass the folder that contains directories such as `af/` and `de/`"
        judge.report(NO_LANGUAGE_DIRECTORY, Problem("no language directory", Location("."), hint))


def _originals(folders: Sequence[Folder]) -> Iterator[tuple[int, str, int | None]]:
    """Yield the number of each deduplicated language, the variant before deduplication, and the number of the language there."""
    numbers = {(posixpath.dirname(folder.path), folder.code): index for index, folder in enumerate(folders)}
    variants = {variant for variant, _ in numbers}
    for (variant, code), index in numbers.items():
        above, name = posixpath.split(variant)
        original = posixpath.join(above, original_of(name))
        if original_of(name) and original in variants:
            yield index, original, numbers.get((original, code))


def _shards_of(folder: Folder, language: Language, listing: ChecksumList | None) -> Iterator[dict[str, Entry]]:
    """Yield the files of each part by role, and then each other file that the checksum list names."""
    for number in each_once(language.texts, language.metadata):
        by_role = {"text": language.texts, "metadata": language.metadata}
        yield {role: parts[number] for role, parts in by_role.items() if number in parts}
    if listing is not None and folder.alone is None:
        for entry in sorted(folder.entries, key=attrgetter("name")):
            if entry.name in listing.listed and entry.kind == "file" and not language.has(entry.name):
                yield {"other": entry}


def _with_lines_marked(shards: list[Shard], judge: Judge) -> list[Shard]:
    """Decide for each 1.0 release whether its lines are documents, and mark its parts."""
    shuffled: dict[int, Entry] = {}
    for release, some in groupby(shards, key=lambda shard: shard.payload.release_index):
        texts = [shard.files["text"] for shard in some if "text" in shard.files and shard.files["text"].kind == "file"]
        if is_shuffled(texts):
            shuffled[release] = texts[0]
    for _, first in sorted(shuffled.items()):
        at = Location(posixpath.dirname(first.parent) or ".")
        hint = "if lines belong to documents, pass the whole release, or end documents with a blank line"
        message = "no text has a blank line: each line is read as a document"
        judge.report(LINES_AS_DOCUMENTS, Problem(message, at, hint))
    return [
        replace(shard, payload=replace(shard.payload, shuffled=True), read_as="lines")
        if shard.payload.release_index in shuffled
        else shard
        for shard in shards
    ]


def _checksums(folder: Folder, language: Language, version: str, judge: Judge) -> ChecksumList | None:
    entry = language.checksums
    if entry is None or entry.kind != "file":
        if entry is None and folder.alone is None and (language.texts or language.metadata):
            report_no_list(judge, folder.at, f"{folder.code}_sha256.txt")
        elif entry is not None:
            report_barred(entry, judge)
        return None

    def is_reported(name: str) -> bool:
        return folder.alone is not None or _absence_is_reported(name, language, judge)

    return read_list(entry, folder.entries, judge, version, is_reported)


def is_dedup(entry: Entry) -> bool:
    parsed = parse_name(entry.name)
    return parsed is not None and parsed.dedup


def _absence_is_reported(name: str, language: Language, judge: Judge) -> bool:
    parsed = parse_name(name)
    if parsed is None or parsed.code != language.code:
        return False
    if parsed.role == "text" and judge.fired("OSC105"):
        return True
    number = parsed.number
    is_part = number in language.texts or number in language.metadata
    if number is not None and judge.fired("OSC107") and not is_part:
        return number < max(language.numbers, default=0)
    return judge.fired("OSC401") and is_part


def _report_stray(judge: Judge, entry: Entry) -> None:
    at = Location(entry.path)
    if entry.name == UNFINISHED:
        message = f"`{UNFINISHED}` is the state of an unfinished run of corpusfmt"
        problem = Problem(message, at, "finish the run, or remove the folder", minor=True)
    elif entry.kind == "directory":
        message = f"the language directory contains the directory `{entry.name}`"
        problem = Problem(message, at, "move the directory out of the release")
    else:
        problem = Problem(
            f"`{entry.name}` is not part of a release", at, "move the file out of the release", minor=True
        )
    judge.report(STRAY_ENTRY, problem)


def language_in(folder: Folder, version: str, judge: Judge) -> Language:
    """Return the parts and the checksum list of a language directory; judge the names of its entries."""
    parts: dict[Role, dict[int | None, Entry]] = {"text": {}, "metadata": {}}
    odd: list[tuple[Entry, str]] = []
    singles: list[Entry] = []
    blocked = False
    checksums: Entry | None = None
    # Files with the right prefix first: they take precedence over misnamed ones.
    prefixes = (f"{folder.code}_", f"{folder.code}.")
    for entry in sorted(folder.entries, key=lambda entry: not entry.name.startswith(prefixes)):
        parsed, list_code = parse_name(entry.name), checksum_code(entry.name)
        code = parsed.code if parsed else list_code
        if entry.kind == "directory":
            blocked = blocked or (parsed is not None and parsed.role == "text")
            _report_stray(judge, entry)
            continue
        if list_code is not None and checksums is None:
            checksums = entry
        if code is None and not LOOKS_LIKE_DATA.fullmatch(entry.name):
            if not report_barred(entry, judge) and (folder.path or not is_root_file(entry.name)):
                _report_stray(judge, entry)
            continue
        judge.check(FileName(Location(entry.path), entry.name, folder.code, code, parsed, version))
        if parsed is not None and not (parsed.role == "metadata" and version == "1.0"):
            if parsed.digits is not None and not parsed.canonical_digits:
                odd.append((entry, parsed.digits))
            if parsed.number is None:
                singles.append(entry)
            if parts[parsed.role].setdefault(parsed.number, entry) is not entry:
                report_barred(entry, judge)
        elif entry is not checksums:
            report_barred(entry, judge)
    texts, metadata = ({number: found[number] for number in each_once(found)} for found in parts.values())
    return Language(folder.code, texts, metadata, folder.at, odd, singles, checksums, blocked=blocked)


def is_shuffled(texts: Iterable[Entry]) -> bool:
    """Return whether the lines of a release are documents; unreadable texts do not count."""
    shuffled = False
    for text in nlargest(_MOST_TEXTS, texts, key=lambda text: text.size):
        has_blank_line = _has_blank_line(text)
        if has_blank_line:
            return False
        shuffled = shuffled or has_blank_line is False
    return shuffled


def _has_blank_line(text: Entry) -> bool | None:
    """Return whether a text has a blank line; None for an empty or truncated text."""
    size = 0
    before = b"\n"
    try:
        with text.open() as file:
            for chunk in Chunks(file, "gzip"):
                data = before + chunk
                if _BLANK_LINE.search(data):
                    return True
                size += len(chunk)
                if size >= _FAR:
                    return False
                # Blanks are not carried over: there may be megabytes of them.
                last = data.rfind(b"\n")
                before = b"" if last < 0 or data[last:].strip(b"\n \t\r") else b"\n"
    except OSError:
        return None
    except StreamFault as fault:
        if fault.is_broken:
            return None
    return False if size else None
