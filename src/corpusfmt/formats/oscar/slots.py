"""Internal: Sort the entries of a language directory: parts, the checksum list, and stray entries."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from corpusfmt.formats.general import report_barred
from corpusfmt.formats.oscar.layout_rules import STRAY_ENTRY, FileName, Language, each_once
from corpusfmt.formats.oscar.parts import DataName, Role, checksum_code, data_name, parse_name
from corpusfmt.formats.oscar.survey import LOOKS_LIKE_DATA, UNFINISHED, Folder
from corpusfmt.formats.parts import is_root_file
from corpusfmt.io.listing import Listing
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


class Numbered(Mapping[int | None, Entry]):
    """The parts of a language by number, in order, None for a single file first.

    Those that are named like `usual` are looked up in the listing of their folder; only others are kept.
    """

    def __init__(self, listing: Listing, usual: str) -> None:
        self._listing = listing
        self._usual = listing.series(usual)
        self._others: dict[int | None, int] = {}

    def add(self, number: int | None, place: int, *, is_last: bool) -> bool:
        """Add the part at a place of the listing, unless there is one with its number; return whether it is the one.

        All usual ones come before the last.
        """
        if number in self._others:
            return False
        usual = self._usual_place(number)
        if usual is None or (usual != place and not is_last):
            self._others[number] = place
            return True
        return usual == place

    def _usual_place(self, number: int | None) -> int | None:
        return None if number is None else self._usual.place_of(number)

    def place_of(self, number: int | None) -> int | None:
        """Return the place of a part in the listing, None if there is none with a number."""
        return self._others[number] if number in self._others else self._usual_place(number)

    def __getitem__(self, number: int | None) -> Entry:
        place = self.place_of(number)
        if place is None:
            raise KeyError(number)
        return self._listing.at(place)

    def __contains__(self, number: object) -> bool:
        return (isinstance(number, int) or number is None) and self.place_of(number) is not None

    def __iter__(self) -> Iterator[int | None]:
        others = sorted(number for number in self._others if number is not None)
        return each_once({None: None} if None in self._others else (), self._usual, others)

    def __len__(self) -> int:
        return len(self._usual) + sum(self._usual_place(number) is None for number in self._others)


class Slots:
    def __init__(self, folder: Folder, version: str, judge: Judge) -> None:
        self._folder = folder
        self._version = version
        self._judge = judge
        roles: tuple[Role, Role] = "text", "metadata"
        self.parts = {role: Numbered(folder.entries, data_name(folder.code, role, 1)) for role in roles}
        self._odd: list[tuple[Entry, str]] = []
        self._singles: list[Entry] = []
        self._blocked = False
        self.checksums: Entry | None = None
        # Files with the right prefix first: they take precedence over misnamed ones.
        foreign = array("I")
        for place, entry in enumerate(folder.entries):
            if self._is_foreign(entry):
                foreign.append(place)
            else:
                self._sort(place, entry)
        for place in foreign:
            self._sort(place, folder.entries.at(place), is_foreign=True)

    def _is_foreign(self, entry: Entry) -> bool:
        return not entry.name.startswith(self._folder.code + "_") and not entry.name.startswith(self._folder.code + ".")

    def _sort(self, place: int, entry: Entry, *, is_foreign: bool = False) -> None:
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
            self._place(place, entry, parsed, is_foreign=is_foreign)
        elif entry is not self.checksums:
            report_barred(entry, self._judge)

    def _judge_other(self, entry: Entry) -> None:
        if report_barred(entry, self._judge):
            return
        if self._folder.path or not is_root_file(entry.name):
            _report_stray(self._judge, entry)

    def _place(self, place: int, entry: Entry, parsed: DataName, *, is_foreign: bool) -> None:
        parts = self.parts[parsed.role]
        if not parsed.canonical_digits and parsed.digits is not None:
            self._odd.append((entry, parsed.digits))
        if parsed.number is None:
            self._singles.append(entry)
        if not parts.add(parsed.number, place, is_last=is_foreign):
            report_barred(entry, self._judge)

    def language(self) -> Language:
        texts, metadata = self.parts["text"], self.parts["metadata"]
        return Language(
            self._folder.code, texts, metadata, self._folder.at, self._odd, self._singles, blocked=self._blocked
        )
