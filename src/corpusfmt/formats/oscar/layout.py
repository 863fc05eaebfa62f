"""Internal: Detect the version of a layout, and plan its checks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import chain, groupby
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
    DataName,
    Listing,
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
    planner = _Planner(options, version)
    planner.judge_root(entry, survey)
    planner.judge_variants(survey.folders)
    for index, folder in enumerate(survey.folders):
        planner.add(folder, index)
    planner.judge_lines()
    return Plan(version, planner.shards, planner.tally, planner.coverage)


class _Planner:
    def __init__(self, options: CheckOptions, version: str) -> None:
        self._options = options
        self._version = version
        self.shards: list[Shard] = []
        self.tally = Tally(options.max_per_rule, options.grading.known)
        self.coverage = Coverage()
        #: For the number of a deduplicated language that of the same before deduplication.
        self._originals: dict[int, int] = {}
        self._compared: set[int] = set()

    def _judge(self, path: str) -> Judge:
        options = self._options
        return Judge(RULES, options.grading, version=self._version, path=path, cap=options.max_per_rule)

    def _close(self, judge: Judge) -> None:
        self.tally.merge(judge.tally)
        self.coverage.add(judge.coverage)

    def judge_root(self, entry: Entry, survey: Survey) -> None:
        judge = self._judge(".")
        for child, _ in survey.named:
            named = self._judge(child.path)
            named.check(DirectoryName(Location(child.path), child.name))
            self._close(named)
        for folder in survey.nested:
            message = f"the language directory `{folder.code}` is inside another `{folder.code}`"
            judge.report(STRAY_ENTRY, Problem(message, folder.at, f"move its files to the outer `{folder.code}`"))
        for child in survey.unreadable:
            report_barred(child, judge)
        for child in survey.beside:
            _judge_beside(judge, child, self._version)
        odd_name = any(not LABEL.fullmatch(child.name) for child, _ in survey.named)
        if not survey.folders and not odd_name and entry.kind == "directory" and not survey.unreadable:
            hint = "pass the folder that contains directories such as `af/` and `de/`"
            judge.report(NO_LANGUAGE_DIRECTORY, Problem("no language directory", Location("."), hint))
        self._close(judge)

    def judge_variants(self, folders: Sequence[Folder]) -> None:
        """Find the languages before deduplication of those that are deduplicated."""
        numbers = {(posixpath.dirname(folder.path), folder.code): index for index, folder in enumerate(folders)}
        variants = {variant for variant, _ in numbers}
        for (variant, code), index in numbers.items():
            above, name = posixpath.split(variant)
            original = posixpath.join(above, original_of(name))
            if not original_of(name) or original not in variants:
                continue
            if (original, code) in numbers:
                self._originals[index] = numbers[original, code]
                self._compared |= {index, numbers[original, code]}
            else:
                judge = self._judge(folders[index].path)
                message = f"`{code}` is not in `{original}/`"
                judge.report(NOT_IN_ORIGINAL, Problem(message, folders[index].at, "fetch or build both variants again"))
                self._close(judge)

    def add(self, folder: Folder, index: int) -> None:
        """Check one language directory and add its parts."""
        judge = self._judge(folder.path or folder.code)
        slots = Slots(folder, self._version, judge)
        language = slots.language()
        judge.check(language if folder.alone is None else Pairing(language.code, language.texts, language.metadata))
        listing = self._checksums(folder, slots, language, judge)
        declared = self._options.dedup and not is_original(posixpath.basename(posixpath.dirname(folder.path)))
        # Only a single file may be named so.
        dedup = declared or (None in language.texts and is_dedup(language.texts[None]))
        for number in each_once(language.texts, language.metadata):
            files: dict[str, Entry] = {role: parts[number] for role, parts in slots.parts.items() if number in parts}
            self._add_shard(folder, index, files, listing, dedup=dedup)
        if listing is not None and folder.alone is None:
            for entry in sorted(folder.entries, key=attrgetter("name")):
                if entry.name in listing.listed and entry.kind == "file" and not language.has(entry.name):
                    self._add_shard(folder, index, {"other": entry}, listing, dedup=False)
        self._close(judge)

    def judge_lines(self) -> None:
        """Decide for each 1.0 release whether its lines are documents, and mark its parts."""
        if self._version != "1.0":
            return
        shuffled: dict[int, Entry] = {}
        for release, shards in groupby(self.shards, key=lambda shard: shard.payload.release_index):
            entries = (entry for shard in shards for role, entry in shard.files.items() if role == "text")
            texts = filter(lambda entry: entry.kind == "file", entries)
            first = next(texts, None)
            if first is not None and is_shuffled(chain([first], texts)):
                shuffled[release] = first
        if shuffled:
            self.shards = [
                replace(shard, payload=replace(shard.payload, shuffled=True), read_as="lines")
                if shard.payload.release_index in shuffled
                else shard
                for shard in self.shards
            ]
        judge = self._judge(".")
        for _, first in sorted(shuffled.items()):
            at = Location(posixpath.dirname(first.parent) or ".")
            hint = "if lines belong to documents, pass the whole release, or end documents with a blank line"
            message = "no text has a blank line: each line is read as a document"
            judge.report(LINES_AS_DOCUMENTS, Problem(message, at, hint))
        self._close(judge)

    def _add_shard(
        self, folder: Folder, index: int, files: Mapping[str, Entry], listing: ChecksumList | None, *, dedup: bool
    ) -> None:
        first = next(iter(files.values()))
        stem = first.name.partition(".")[0]
        listed = None
        if listing is not None:
            digests = {role: listing.of(entry.name) for role, entry in files.items()}
            listed = Listing(listing.path, digests, listing.complete, listing.orphans)
        part = OscarPart(
            folder.code,
            f"{folder.code}/{stem}",
            self._version,
            index,
            folder.release,
            dedup=dedup,
            listing=listed,
            compared=index in self._compared,
            original=self._originals.get(index, -1),
        )
        name = f"{folder.path}/{stem}" if folder.path else stem
        corpus = folder.path.rpartition("/")[0]
        self.shards.append(Shard(len(self.shards), name, files, part, corpus=corpus))

    def _checksums(self, folder: Folder, slots: Slots, language: Language, judge: Judge) -> ChecksumList | None:
        entry = slots.checksums
        if entry is None or entry.kind != "file":
            if entry is None and folder.alone is None and (language.texts or language.metadata):
                report_no_list(judge, folder.at, f"{folder.code}_sha256.txt")
            elif entry is not None:
                report_barred(entry, judge)
            return None

        def is_reported(name: str) -> bool:
            return folder.alone is not None or _absence_is_reported(name, language, judge)

        return read_list(entry, folder.entries, judge, self._version, is_reported)


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


def _judge_beside(judge: Judge, entry: Entry, version: str) -> None:
    """Check an entry next to language directories, or a single file."""
    at = Location(entry.path)
    if entry.name == UNFINISHED:
        _report_stray(judge, entry)
    elif report_barred(entry, judge) or is_root_file(entry.name):
        return
    elif parse_name(entry.name) or LOOKS_LIKE_DATA.fullmatch(entry.name):
        judge.check(FileName(at, entry.name, "LL", None, None, version))
    else:
        _report_stray(judge, entry)


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


class Slots:
    """The entries of a language directory: parts, the checksum list, and stray entries."""

    def __init__(self, folder: Folder, version: str, judge: Judge) -> None:
        self._folder = folder
        self._version = version
        self._judge = judge
        #: The parts of each role by number, None for a single file.
        self.parts: dict[Role, dict[int | None, Entry]] = {"text": {}, "metadata": {}}
        self._odd: list[tuple[Entry, str]] = []
        self._singles: list[Entry] = []
        self._blocked = False
        self.checksums: Entry | None = None
        # Files with the right prefix first: they take precedence over misnamed ones.
        for entry in sorted(folder.entries, key=self._is_foreign):
            self._sort(entry)
        for role, parts in self.parts.items():
            self.parts[role] = dict(sorted(parts.items(), key=lambda part: -1 if part[0] is None else part[0]))

    def _is_foreign(self, entry: Entry) -> bool:
        return not entry.name.startswith(self._folder.code + "_") and not entry.name.startswith(self._folder.code + ".")

    def _sort(self, entry: Entry) -> None:
        parsed, list_code = parse_name(entry.name), checksum_code(entry.name)
        code = parsed.code if parsed else list_code
        if entry.kind == "directory":
            self._blocked = self._blocked or (parsed is not None and parsed.role == "text")
            _report_stray(self._judge, entry)
            return
        if list_code is not None and self.checksums is None:
            self.checksums = entry
        if code is None and not LOOKS_LIKE_DATA.fullmatch(entry.name):
            self._judge_other(entry)
            return
        at = Location(entry.path)
        self._judge.check(FileName(at, entry.name, self._folder.code, code, parsed, self._version))
        if parsed is not None and not (parsed.role == "metadata" and self._version == "1.0"):
            self._place(entry, parsed)
        elif entry is not self.checksums:
            report_barred(entry, self._judge)

    def _judge_other(self, entry: Entry) -> None:
        if report_barred(entry, self._judge):
            return
        if self._folder.path or not is_root_file(entry.name):
            _report_stray(self._judge, entry)

    def _place(self, entry: Entry, parsed: DataName) -> None:
        if not parsed.canonical_digits and parsed.digits is not None:
            self._odd.append((entry, parsed.digits))
        if parsed.number is None:
            self._singles.append(entry)
        if self.parts[parsed.role].setdefault(parsed.number, entry) is not entry:
            report_barred(entry, self._judge)

    def language(self) -> Language:
        texts, metadata = self.parts["text"], self.parts["metadata"]
        return Language(
            self._folder.code, texts, metadata, self._folder.at, self._odd, self._singles, blocked=self._blocked
        )


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
