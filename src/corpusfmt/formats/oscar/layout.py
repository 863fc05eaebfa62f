"""OSC1xx and OSC401: directories, file names and parts; which version a layout is, and what there is to check in it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Detection, Plan, Shard
from corpusfmt.formats.general import report_barred
from corpusfmt.formats.languages import LABEL, LABELS, V2_LABELS
from corpusfmt.formats.oscar.checksums import ChecksumList, read_list, report_no_list
from corpusfmt.formats.oscar.parts import (
    DataName,
    Listing,
    Part,
    Role,
    checksum_code,
    data_name,
    parse_name,
)
from corpusfmt.formats.oscar.ruleset import LAYOUT, ONLY_1_1, RULES
from corpusfmt.formats.oscar.shuffled import LINES_AS_DOCUMENTS, is_shuffled
from corpusfmt.formats.parts import FOLDERS_ABOVE, ROOT_FILES
from corpusfmt.formats.sniff import first_row_has
from corpusfmt.io.paths import Entry, walk
from corpusfmt.model import Coverage, Location, Problem, Severity, Tally
from corpusfmt.rules import Judge

_LABELS = frozenset(LABELS)
_UNFINISHED = ".corpusfmt"
_LOOKS_LIKE_DATA = re.compile(r".*\.(txt|jsonl?|gz|zstd?|bz2|xz|zip|tar)([.~_-].*)?", re.IGNORECASE | re.DOTALL)
# How far down files are looked for: unshuffled/original/LL/file.
_DEEPEST = FOLDERS_ABOVE + 2
_LIST_HEAD = 64 * 1024


class DirectoryName(Struct, frozen=True):
    """The name of a directory under the root of a release."""

    at: Location
    name: str


class FileName(Struct, frozen=True):
    """The name of a file in a language directory, and what it means (None: it is no name of the schema)."""

    at: Location
    name: str
    language: str
    code: str | None
    parsed: DataName | None
    version: str


class Pairing(Struct, frozen=True):
    """Text and metadata parts of a language by number, None where there is a single file."""

    code: str
    texts: Mapping[int | None, Entry]
    metadata: Mapping[int | None, Entry]


class Language(Pairing, frozen=True):
    """A language directory: its parts, part numbers written oddly, and single files."""

    at: Location
    odd_numbers: Sequence[tuple[Entry, str]]
    singles: Sequence[Entry]
    blocked: bool

    @property
    def numbers(self) -> set[int]:
        return {number for number in (*self.texts, *self.metadata) if number is not None}


@RULES.rule("OSC102", "bad-directory-name", on=DirectoryName, spec=LAYOUT)
def bad_directory_name(directory: DirectoryName) -> Iterator[Problem]:
    """A directory of the release is not named by a language code of two or three lower-case letters.

    Why: readers find languages by directory name; they do not find this one.
    Example: `EN/`, `english/`, `multi/` (which belongs to schema v2).
    Fix: name it by the code of its language.
    """
    if LABEL.fullmatch(directory.name):
        return
    hint = "name it by its language code, like `en`"
    if directory.name in V2_LABELS or directory.name.endswith("_meta"):
        hint = "this is a name of the releases 22.01 and 23.01 (schema v2), not of 1.0 or 1.1"
    yield Problem(f"directory `{directory.name}` is no language code", directory.at, hint)


@RULES.rule(
    "OSC103", "unknown-language", on=DirectoryName, severity=Severity.WARNING, spec=LAYOUT, requires=("OSC102",)
)
def unknown_language(directory: DirectoryName) -> Iterator[Problem]:
    """A directory is named by a code that is not one of the 176 labels of fastText's lid.176.

    Why: the languages of OSCAR are those that its classifier knows; another code is a slip or another classifier's.
    Example: `gsw/`, which 1.x calls `als`.
    Fix: use the label of lid.176, or ignore this rule for a corpus that was classified otherwise.
    """
    if directory.name not in _LABELS:
        known_as = V2_LABELS.get(directory.name)
        hint = f"OSCAR 1.x calls this language `{known_as}`" if known_as else "use one of the 176 labels of lid.176"
        yield Problem(f"`{directory.name}` is not a label of lid.176", directory.at, hint)


NO_LANGUAGE_DIRECTORY = RULES.finding(
    "OSC101",
    "no-language-directory",
    """There is no language directory under the root.

    Why: there is nothing to read.
    Example: an empty folder; a folder of archives that were not unpacked.
    Fix: give the folder that holds `af/`, `de/`, …, a single language directory, or a single part.
    """,
    spec=LAYOUT,
    requires=("OSC102",),
)


@RULES.rule("OSC104", "wrong-file-prefix", on=FileName, spec=LAYOUT)
def wrong_file_prefix(file: FileName) -> Iterator[Problem]:
    """The name of a file does not start with the code of its directory.

    Why: loaders build file names from the code, so they do not find this one; or it is another language's text.
    Example: `de/af.txt.gz`.
    Fix: move the file to its language, or rename it.
    """
    if file.code is not None and file.code != file.language:
        message = f"`{file.name}` starts with `{file.code}`, expected `{file.language}`"
        yield Problem(message, file.at, f"move it to `{file.code}/`, or rename it")


@RULES.rule("OSC108", "unexpected-data-file", on=FileName, spec=LAYOUT)
def unexpected_data_file(file: FileName) -> Iterator[Problem]:
    """A data file has a name that the schema does not have.

    Why: no reader finds it, so its documents are lost to all of them.
    Example: `en.txt` (not compressed), `en_dedup_part_1.txt.gz`, metadata in a 1.0 release.
    Fix: compress it with gzip and name it `LL.txt.gz`, `LL_part_N.txt.gz`, `LL_meta.jsonl.gz` or `LL_meta_part_N.jsonl.gz`.
    """
    if file.parsed is not None and file.parsed.role == "metadata" and file.version == "1.0":
        yield Problem(f"metadata file `{file.name}` in a 1.0 release", file.at, "1.0 has no metadata: remove it")
    elif file.code is None:
        names = "`LL.txt.gz` or `LL_part_N.txt.gz`"
        if file.version != "1.0":
            names += ", `LL_meta.jsonl.gz` or `LL_meta_part_N.jsonl.gz`"
        hint = f"name it {names.replace('LL', file.language)}, compressed with gzip"
        yield Problem(f"`{file.name}` is no name of a data file", file.at, hint)


STRAY_ENTRY = RULES.finding(
    "OSC109",
    "stray-entry",
    """Something lies where the schema has nothing: a nested directory (an error), or another file (a warning).

    Why: readers ignore it, or take it for data.
    Example: `en/old/`, `en/en/`, `en/notes.md`, the `.corpusfmt` folder of a run that did not finish.
    Fix: move it out of the release; move the files of a language that is nested in itself one level up.
    """,
    grades={"minor": Severity.WARNING},
    spec=LAYOUT,
)


@RULES.rule("OSC105", "no-text-file", on=Language, spec=LAYOUT, requires=("OSC104", "OSC108"))
def no_text_file(language: Language) -> Iterator[Problem]:
    """A language directory has no text file.

    Why: a language without text is no language of the release.
    Example: a directory with nothing but metadata or a checksum list.
    Fix: bring the text back, or remove the directory.
    """
    if not language.texts and not language.blocked:
        hint = f"bring back `{language.code}.txt.gz` or `{language.code}_part_N.txt.gz`, or remove the directory"
        yield Problem("no text file", language.at, hint)


@RULES.rule("OSC106", "mixed-single-and-parts", on=Language, spec=LAYOUT)
def mixed_single_and_parts(language: Language) -> Iterator[Problem]:
    """A language has both a single file and numbered parts, or text of one kind and metadata of the other.

    Why: nobody can tell whether the single file is the whole, or one more part.
    Example: `en.txt.gz` beside `en_part_1.txt.gz`; `en.txt.gz` with `en_meta_part_1.jsonl.gz`.
    Fix: keep the one or the other; number all parts.
    """
    texts = [entry for entry in language.singles if parse_role(entry) == "text"]
    if language.singles and (language.numbers or len(texts) > 1):
        single = language.singles[0] if language.numbers else texts[0]
        beside = f"part {min(language.numbers)}" if language.numbers else f"`{texts[1].name}`"
        at = Location(single.path)
        message = f"single file `{single.name}` beside {beside}"
        yield Problem(message, at, "keep either one file or parts numbered from 1")


@RULES.rule("OSC107", "part-numbering", on=Language, spec=LAYOUT, requires=("OSC106",))
def part_numbering(language: Language) -> Iterator[Problem]:
    """Parts are not numbered 1, 2, 3, … without gap, zero or padding.

    Why: readers count up from 1 and stop at the first number that is missing.
    Example: `en_part_1`, `en_part_3`; `en_part_0`; `en_part_01`.
    Fix: bring the missing part back, or number the parts again.
    """
    for entry, digits in language.odd_numbers:
        hint = "number parts from 1" if int(digits) == 0 else f"write `{int(digits)}`"
        yield Problem(f"part number `{digits}` of `{entry.name}`", Location(entry.path), hint)
    present = sorted(number for number in language.numbers if number > 0)
    gaps = [(low + 1, high - 1) for low, high in pairwise([0, *present]) if high - low > 1]
    if gaps:
        missing = ", ".join(f"{low}" if low == high else f"{low} to {high}" for low, high in gaps[:5])
        missing += ", …" if len(gaps) > 5 else ""
        count = present[-1] - len(present)
        message = f"part {missing} missing, there are {len(present)} parts up to {present[-1]}"
        yield Problem(message, language.at, f"bring back part {missing}, or number the parts again", count=count)


@RULES.rule(
    "OSC401",
    "part-without-metadata",
    on=Pairing,
    grades=ONLY_1_1,
    spec=LAYOUT,
    requires=("OSC105", "OSC106"),
)
def part_without_metadata(pairing: Pairing) -> Iterator[Problem]:
    """A text part has no metadata part of the same number, or metadata no text.

    Why: the two are read together; without its partner, a part can only be skipped.
    Example: `en_part_3.txt.gz` without `en_meta_part_3.jsonl.gz`.
    Fix: bring the missing file back. Parts pair by number, not by their order in a listing.
    """
    roles: tuple[tuple[Mapping[int | None, Entry], Mapping[int | None, Entry], Role], ...] = (
        (pairing.texts, pairing.metadata, "metadata"),
        (pairing.metadata, pairing.texts, "text"),
    )
    for here, there, missing_role in roles:
        for number in sorted(here.keys() - there.keys(), key=lambda number: number or 0):
            missing = data_name(pairing.code, missing_role, number)
            at = Location(here[number].path)
            yield Problem(f"no `{missing}` beside `{here[number].name}`", at, f"bring back `{missing}`")


def parse_role(entry: Entry) -> Role | None:
    parsed = parse_name(entry.name)
    return parsed.role if parsed else None


class Folder(Struct, frozen=True):
    """A language directory. `alone` is set where a single file was given: its siblings are not the user's question."""

    path: str
    code: str
    entries: Sequence[Entry]
    release: int = 0
    alone: str | None = None

    @property
    def at(self) -> Location:
        return Location(self.path or ".")


class Survey(Struct):
    """What lies at a path: language directories, and what stands beside them, by release."""

    folders: list[Folder] = field(default_factory=list)
    named: list[tuple[Entry, bool]] = field(default_factory=list)
    beside: list[Entry] = field(default_factory=list)
    nested: list[Folder] = field(default_factory=list)
    unreadable: list[Entry] = field(default_factory=list)
    evidence: str = ""


def detect(entry: Entry) -> Detection | None:
    """Say whether a file, a language directory or a release looks like OSCAR 1.x, and which version it is.

    Many a folder is named like a language: there has to be a file with a name of the schema.
    """
    survey = look(entry)
    if not any(map(_codes_in, (folder.entries for folder in survey.folders))) or _holds_another_format(survey):
        return None
    version, reason = version_of(survey)
    return Detection(version, f"{survey.evidence}; {reason}")


def _holds_another_format(survey: Survey) -> bool:
    """Tell whether, without text files, there are tables, or JSON Lines that carry the text, as in 22.01 and 23.01."""
    entries = [entry for folder in survey.folders for entry in folder.entries if entry.kind == "file"]
    if any(parse_role(entry) == "text" for entry in entries):
        return False
    if any(entry.name.endswith(".parquet") for entry in entries):
        return True
    first = next((entry for entry in entries if ".jsonl" in entry.name), None)
    return first is not None and first_row_has(first, "content", "warc_headers")


def look(entry: Entry) -> Survey:
    """Find the language directories at a path, in it, or in the variants of a release that it holds."""
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
    survey.folders.append(Folder("", parsed.code, entries, alone=entry.name))
    return survey


class _Tree:
    """The entries below a root by parent folder, looked up as deep as is needed."""

    def __init__(self, root: Entry) -> None:
        self._root = root
        self._depth = 0
        self._by_parent: dict[str, list[Entry]] = {}
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
                self._by_parent.setdefault(entry.parent, []).append(entry)

    def entries(self, folder: str) -> list[Entry]:
        level = folder.count("/") + 2 if folder else 1
        if level > self._depth and level <= _DEEPEST:
            self._deepen(level)
        return self._by_parent.get(folder, [])

    def directories(self, folder: str) -> list[Entry]:
        return [entry for entry in self.entries(folder) if entry.kind == "directory"]

    def codes(self, folder: str) -> list[str]:
        """Return the language codes of the OSCAR file names right in a folder."""
        return _codes_in(self.entries(folder))

    def kind_of(self, folder: str, name: str) -> str:
        """Return "language", "release", "collection" (of releases), or "" for what is none of these."""
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


def _codes_in(entries: Iterable[Entry]) -> list[str]:
    names = [(parse_name(entry.name), checksum_code(entry.name)) for entry in entries]
    return [parsed.code if parsed else code or "" for parsed, code in names if parsed or code]


def _is_language(name: str, entries: Sequence[Entry]) -> bool:
    """Tell whether a directory beside others is a language's: by its label, or by what it holds."""
    if name in _LABELS or _codes_in(entries):
        return True
    return bool(LABEL.fullmatch(name)) and any(_LOOKS_LIKE_DATA.fullmatch(entry.name) for entry in entries)


def _code_of(tree: _Tree, folder: str, entry: Entry) -> str:
    """Return the language of a directory: its name if that is a code, else what most of its files say."""
    name = entry.name or Path(entry.url).absolute().name
    codes = Counter(tree.codes(folder))
    if name in codes or name in _LABELS or not codes:
        return name
    return codes.most_common(1)[0][0]


def _collect(tree: _Tree, folder: str, survey: Survey, release: int = 0) -> int:
    """Add the language directories of one release, or of every release of a collection; return the releases' number."""
    if tree.kind_of(folder, "") == "collection":
        for entry in tree.entries(folder):
            if entry.kind != "directory" or entry.name == _UNFINISHED:
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
        if entry.kind != "directory" or entry.name == _UNFINISHED:
            survey.beside.append(entry)
            continue
        is_language = _is_language(entry.name, tree.entries(entry.path))
        survey.named.append((entry, is_language))
        if is_language:
            code = entry.name if LABEL.fullmatch(entry.name) else _code_of(tree, entry.path, entry)
            survey.folders.append(Folder(entry.path, code, tree.entries(entry.path), release))
    return release + 1


def version_of(survey: Survey) -> tuple[str, str]:
    """Return the version that a layout shows, and why: 1.1 has metadata, or lists or describes it."""
    if any(entry.name == "metadata_schema.json" for entry in survey.beside):
        return "1.1", "metadata_schema.json"
    with_metadata = sum(map(_has_metadata, survey.folders))
    if with_metadata and 2 * with_metadata >= sum(bool(folder.entries) for folder in survey.folders):
        return "1.1", "metadata files"
    return "1.0", "no metadata files"


def _has_metadata(folder: Folder) -> bool:
    if any(parse_role(entry) == "metadata" for entry in folder.entries):
        return True
    return any(checksum_code(entry.name) and _lists_metadata(entry) for entry in folder.entries)


def _lists_metadata(entry: Entry) -> bool:
    if entry.kind != "file":
        return False
    try:
        with entry.open() as file:
            return b"_meta" in file.read(_LIST_HEAD)
    except OSError:
        return False  # planning opens it again, and then says so


def plan(entry: Entry, options: CheckOptions) -> Plan:
    """List the parts at a path and judge the layout around them."""
    survey = look(entry)
    version = options.version or version_of(survey)[0]
    planner = _Planner(options, version)
    planner.judge_root(entry, survey)
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
            message = f"language directory `{folder.code}` inside another `{folder.code}`"
            judge.report(STRAY_ENTRY, Problem(message, folder.at, f"move its files up into the outer `{folder.code}`"))
        for child in survey.unreadable:
            report_barred(child, judge)
        for child in survey.beside:
            _judge_beside(judge, child, self._version)
        odd_name = any(not LABEL.fullmatch(child.name) for child, _ in survey.named)
        if not survey.folders and not odd_name and entry.kind == "directory" and not survey.unreadable:
            hint = "give the folder that holds directories like `af/` and `de/`"
            judge.report(NO_LANGUAGE_DIRECTORY, Problem("no language directory", Location("."), hint))
        self._close(judge)

    def add(self, folder: Folder, index: int) -> None:
        """Judge one language directory and add its parts."""
        judge = self._judge(folder.path or folder.code)
        by_name = {entry.name: entry for entry in folder.entries}
        slots = _Slots(folder, self._version, judge)
        language = slots.language()
        judge.check(language if folder.alone is None else Pairing(language.code, language.texts, language.metadata))
        listing = self._checksums(folder, slots, language, by_name, judge)
        numbers = sorted({*language.texts, *language.metadata}, key=lambda number: -1 if number is None else number)
        dedup = self._options.dedup or any(is_dedup(entry) for entry in language.texts.values())
        for number in numbers:
            files = {"text": language.texts.get(number), "metadata": language.metadata.get(number)}
            present = {role: entry for role, entry in files.items() if entry is not None}
            self._add_shard(folder, index, present, listing, dedup=dedup)
        data = {entry.name for entry in (*language.texts.values(), *language.metadata.values())}
        for name in sorted(listing.digests.keys() - data) if listing and folder.alone is None else ():
            if by_name[name].kind == "file":
                self._add_shard(folder, index, {"other": by_name[name]}, listing, dedup=False)
        self._close(judge)

    def judge_lines(self) -> None:
        """Decide for each 1.0 release whether its lines are documents, and say so in its parts."""
        if self._version != "1.0":
            return
        texts: defaultdict[int, list[Entry]] = defaultdict(list)
        for shard in self.shards:
            texts[shard.payload.release_index] += [
                entry for role, entry in shard.files.items() if role == "text" and entry.kind == "file"
            ]
        shuffled = {release for release, entries in texts.items() if is_shuffled(entries)}
        self.shards = [
            replace(shard, payload=replace(shard.payload, shuffled=True), read_as="lines")
            if shard.payload.release_index in shuffled
            else shard
            for shard in self.shards
        ]
        judge = self._judge(".")
        for release in sorted(shuffled):
            first = texts[release][0]
            at = Location(posixpath.dirname(first.parent) or ".")
            hint = "where lines belong to documents, give the whole release, or end documents with a blank line"
            message = "no text has a blank line: each line is taken for a document"
            judge.report(LINES_AS_DOCUMENTS, Problem(message, at, hint))
        self._close(judge)

    def _add_shard(
        self, folder: Folder, index: int, files: Mapping[str, Entry], listing: ChecksumList | None, *, dedup: bool
    ) -> None:
        first = next(iter(files.values()))
        stem = first.name.partition(".")[0]
        listed = None
        if listing is not None:
            digests = {role: tuple(listing.digests.get(entry.name, ())) for role, entry in files.items()}
            listed = Listing(listing.path, digests, listing.complete, frozenset(listing.orphans))
        part = Part(
            folder.code, f"{folder.code}/{stem}", self._version, index, folder.release, dedup=dedup, listing=listed
        )
        name = f"{folder.path}/{stem}" if folder.path else stem
        corpus = folder.path.rpartition("/")[0]
        self.shards.append(Shard(len(self.shards), name, files, part, corpus=corpus))

    def _checksums(
        self, folder: Folder, slots: _Slots, language: Language, by_name: Mapping[str, Entry], judge: Judge
    ) -> ChecksumList | None:
        entry = slots.checksums
        if entry is None or entry.kind != "file":
            if entry is None and folder.alone is None and (language.texts or language.metadata):
                report_no_list(judge, folder.at, f"{folder.code}_sha256.txt")
            elif entry is not None:
                report_barred(entry, judge)
            return None

        def told(name: str) -> bool:
            return folder.alone is not None or _absence_is_told(name, language, judge)

        return read_list(entry, by_name, judge, self._version, told)


def is_dedup(entry: Entry) -> bool:
    parsed = parse_name(entry.name)
    return parsed is not None and parsed.dedup


def _absence_is_told(name: str, language: Language, judge: Judge) -> bool:
    parsed = parse_name(name)
    if parsed is None or parsed.code != language.code:
        return False
    if parsed.role == "text" and judge.fired("OSC105"):
        return True
    if parsed.number is not None and judge.fired("OSC107") and parsed.number not in language.numbers:
        return parsed.number < max(language.numbers, default=0)
    return judge.fired("OSC401") and parsed.number in {*language.texts, *language.metadata}


def _judge_beside(judge: Judge, entry: Entry, version: str) -> None:
    """Judge what lies beside language directories, or a single file that was given."""
    at = Location(entry.path)
    if entry.name == _UNFINISHED:
        _report_stray(judge, entry)
    elif report_barred(entry, judge) or ROOT_FILES.fullmatch(entry.name):
        return
    elif parse_name(entry.name) or _LOOKS_LIKE_DATA.fullmatch(entry.name):
        judge.check(FileName(at, entry.name, "LL", None, None, version))
    else:
        _report_stray(judge, entry)


def _report_stray(judge: Judge, entry: Entry) -> None:
    at = Location(entry.path)
    if entry.name == _UNFINISHED:
        message = f"`{_UNFINISHED}` is the state of an unfinished run of corpusfmt"
        problem = Problem(message, at, "finish the run that left it, or remove the folder", minor=True)
    elif entry.kind == "directory":
        problem = Problem(f"directory `{entry.name}` in a language directory", at, "move it out of the release")
    else:
        problem = Problem(f"`{entry.name}` is not part of a release", at, "move it out of the release", minor=True)
    judge.report(STRAY_ENTRY, problem)


class _Slots:
    """Sorts the entries of a language directory into parts, the checksum list, and what does not belong."""

    def __init__(self, folder: Folder, version: str, judge: Judge) -> None:
        self._folder = folder
        self._version = version
        self._judge = judge
        self._parts: dict[Role, dict[int | None, Entry]] = {"text": {}, "metadata": {}}
        self._odd: list[tuple[Entry, str]] = []
        self._singles: list[Entry] = []
        self._blocked = False
        self.checksums: Entry | None = None
        # Files with the right prefix first: they take the place that a misnamed one may also claim.
        for entry in sorted(folder.entries, key=self._is_foreign):
            self._sort(entry)

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
        if code is None and not _LOOKS_LIKE_DATA.fullmatch(entry.name):
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
        if self._folder.path or not ROOT_FILES.fullmatch(entry.name):
            _report_stray(self._judge, entry)

    def _place(self, entry: Entry, parsed: DataName) -> None:
        parts = self._parts[parsed.role]
        if not parsed.canonical_digits and parsed.digits is not None:
            self._odd.append((entry, parsed.digits))
        if parsed.number is None:
            self._singles.append(entry)
        if parts.setdefault(parsed.number, entry) is not entry:
            report_barred(entry, self._judge)

    def language(self) -> Language:
        return Language(
            self._folder.code,
            self._parts["text"],
            self._parts["metadata"],
            self._folder.at,
            self._odd,
            self._singles,
            self._blocked,
        )
