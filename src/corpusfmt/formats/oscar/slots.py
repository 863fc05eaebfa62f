"""Internal: Sort the entries of a language directory: parts, the checksum list, and stray entries."""

from __future__ import annotations

from corpusfmt.formats.general import report_barred
from corpusfmt.formats.oscar.layout_rules import STRAY_ENTRY, FileName, Language
from corpusfmt.formats.oscar.parts import DataName, Role, checksum_code, parse_name
from corpusfmt.formats.oscar.survey import LOOKS_LIKE_DATA, UNFINISHED, Folder
from corpusfmt.formats.parts import is_root_file
from corpusfmt.io.paths import Entry
from corpusfmt.model import Location, Problem
from corpusfmt.rules import Judge


def judge_beside(judge: Judge, entry: Entry, version: str) -> None:
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
