"""Internal: OSC101 to OSC109 and OSC401: directories, file names and parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from corpusfmt.formats.languages import LABEL, LABELS, V2_LABELS
from corpusfmt.formats.oscar.parts import DataName, Role, data_name, parse_name, role_of
from corpusfmt.formats.oscar.ruleset import LAYOUT, ONLY_1_1, RULES
from corpusfmt.io.paths import Entry
from corpusfmt.model import Location, Problem, Severity


class DirectoryName(Struct, frozen=True):
    """The name of a directory in the root of a release."""

    at: Location
    name: str


class FileName(Struct, frozen=True):
    """The name of a file in a language directory, and its parsed form (None if the schema has no such name)."""

    at: Location
    name: str
    language: str
    code: str | None
    parsed: DataName | None
    version: str


def each_once(*numbers: Collection[int | None]) -> Iterator[int | None]:
    """Yield the numbers of parts that are in any of some collections, all of them in order, None first."""
    yield from sorted(
        {number for each in numbers for number in each}, key=lambda number: -1 if number is None else number
    )


class Pairing(Struct, frozen=True):
    """Text and metadata parts of a language by number, in order, None for a single file."""

    code: str
    texts: Mapping[int | None, Entry]
    metadata: Mapping[int | None, Entry]


class Language(Pairing, frozen=True):
    """A language directory: its parts, malformed part numbers, single files, and the checksum list."""

    at: Location
    odd_numbers: Sequence[tuple[Entry, str]]
    singles: Sequence[Entry]
    checksums: Entry | None
    blocked: bool

    def has(self, name: str) -> bool:
        """Return whether a part has a name."""
        parsed = parse_name(name)
        found = (self.texts if parsed.role == "text" else self.metadata).get(parsed.number) if parsed else None
        return found is not None and found.name == name

    @property
    def numbers(self) -> Iterator[int]:
        """The numbers of all parts, in order."""
        return (number for number in each_once(self.texts, self.metadata) if number is not None)


@RULES.rule("OSC102", "bad-directory-name", on=DirectoryName, spec=LAYOUT)
def bad_directory_name(directory: DirectoryName) -> Iterator[Problem]:
    """The name of a directory is not a language code of two or three lower-case letters.

    Why: readers find languages by directory name, and miss this one.
    Example: `EN/`, `english/`, `multi/` (which belongs to schema v2).
    Fix: rename it to its language code.
    """
    if LABEL.fullmatch(directory.name):
        return
    hint = "rename it to its language code, such as `en`"
    if directory.name in V2_LABELS or directory.name.endswith("_meta"):
        hint = "rename it: releases 22.01 and 23.01 (schema v2) have this name, 1.0 and 1.1 do not"
    yield Problem(f"the directory name `{directory.name}` is not a language code", directory.at, hint)


@RULES.rule(
    "OSC103", "unknown-language", on=DirectoryName, severity=Severity.WARNING, spec=LAYOUT, requires=("OSC102",)
)
def unknown_language(directory: DirectoryName) -> Iterator[Problem]:
    """The language code of a directory is not one of the 176 labels of fastText's lid.176.

    Why: OSCAR's classifier knows only these languages; another code is a mistake or comes from another classifier.
    Example: `gsw/`, which 1.x calls `als`.
    Fix: use the label of lid.176, or ignore this rule for a corpus from another classifier.
    """
    if directory.name not in LABELS:
        known_as = V2_LABELS.get(directory.name)
        hint = f"use `{known_as}` as OSCAR 1.x does" if known_as else "use one of the 176 labels of lid.176"
        yield Problem(f"`{directory.name}` is not a label of lid.176", directory.at, hint)


NO_LANGUAGE_DIRECTORY = RULES.finding(
    "OSC101",
    "no-language-directory",
    """The root contains no language directory.

    Why: there is nothing to read.
    Example: an empty folder; a folder of packed archives.
    Fix: pass the folder that contains `af/`, `de/`, …, a single language directory, or a single part.
    """,
    spec=LAYOUT,
    requires=("OSC102",),
)


@RULES.rule("OSC104", "wrong-file-prefix", on=FileName, spec=LAYOUT)
def wrong_file_prefix(file: FileName) -> Iterator[Problem]:
    """The name of a file does not start with the code of its directory.

    Why: loaders build file names from the code, so they miss this file; or it contains text in another language.
    Example: `de/af.txt.gz`.
    Fix: move the file to its language directory, or rename it.
    """
    if file.code is not None and file.code != file.language:
        message = f"`{file.name}` starts with `{file.code}`, expected `{file.language}`"
        yield Problem(message, file.at, f"move the file to `{file.code}/`, or rename it")


@RULES.rule("OSC108", "unexpected-data-file", on=FileName, spec=LAYOUT)
def unexpected_data_file(file: FileName) -> Iterator[Problem]:
    """A data file has a name that is not in the schema.

    Why: readers miss the file and lose its documents.
    Example: `en.txt` (not compressed), `en_dedup_part_1.txt.gz`, metadata in a 1.0 release.
    Fix: compress it with gzip and name it `LL.txt.gz`, `LL_part_N.txt.gz`, `LL_meta.jsonl.gz` or `LL_meta_part_N.jsonl.gz`.
    """
    if file.parsed is not None and file.parsed.role == "metadata" and file.version == "1.0":
        message = f"the 1.0 release contains the metadata file `{file.name}`"
        yield Problem(message, file.at, "remove the file: 1.0 has no metadata")
    elif file.code is None:
        names = "`LL.txt.gz` or `LL_part_N.txt.gz`"
        if file.version != "1.0":
            names += ", `LL_meta.jsonl.gz` or `LL_meta_part_N.jsonl.gz`"
        hint = f"name it {names.replace('LL', file.language)}, compressed with gzip"
        yield Problem(f"`{file.name}` is not a name of a data file", file.at, hint)


STRAY_ENTRY = RULES.finding(
    "OSC109",
    "stray-entry",
    """The release contains a nested directory (an error) or another file (a warning) that is not in the schema.

    Why: readers ignore it, or read it as data.
    Example: `en/old/`, `en/en/`, `en/notes.md`, the `.corpusfmt` folder of an unfinished run.
    Fix: move it out of the release; move the files of a language directory inside itself one level up.
    """,
    grades={"minor": Severity.WARNING},
    spec=LAYOUT,
)


@RULES.rule("OSC105", "no-text-file", on=Language, spec=LAYOUT, requires=("OSC104", "OSC108"))
def no_text_file(language: Language) -> Iterator[Problem]:
    """A language directory has no text file.

    Why: a language without text has nothing to read.
    Example: a directory with only metadata or a checksum list.
    Fix: restore the text, or remove the directory.
    """
    if not language.texts and not language.blocked:
        hint = f"restore `{language.code}.txt.gz` or `{language.code}_part_N.txt.gz`, or remove the directory"
        yield Problem("the language directory has no text file", language.at, hint)


@RULES.rule("OSC106", "mixed-single-and-parts", on=Language, spec=LAYOUT)
def mixed_single_and_parts(language: Language) -> Iterator[Problem]:
    """A language has both a single file and numbered parts, or text of one kind and metadata of the other.

    Why: it is unclear whether the single file is the whole text or another part.
    Example: `en.txt.gz` next to `en_part_1.txt.gz`; `en.txt.gz` with `en_meta_part_1.jsonl.gz`.
    Fix: keep only one kind, or number all parts.
    """
    texts = [entry for entry in language.singles if role_of(entry.name) == "text"]
    first = next(language.numbers, None)
    if language.singles and (first is not None or len(texts) > 1):
        single = language.singles[0] if first is not None else texts[0]
        other = f"part {first}" if first is not None else f"`{texts[1].name}`"
        at = Location(single.path)
        message = f"the single file `{single.name}` is next to {other}"
        yield Problem(message, at, "keep either one file or parts numbered from 1")


# Gaps between the numbers of parts that a message names.
_MOST_GAPS = 5


@RULES.rule("OSC107", "part-numbering", on=Language, spec=LAYOUT, requires=("OSC106",))
def part_numbering(language: Language) -> Iterator[Problem]:
    """Parts are not numbered 1, 2, 3, … without gaps, zero or padding.

    Why: readers count up from 1 and stop at the first missing number.
    Example: `en_part_1`, `en_part_3`; `en_part_0`; `en_part_01`.
    Fix: restore the missing part, or renumber the parts.
    """
    for entry, digits in language.odd_numbers:
        hint = "number parts from 1" if int(digits) == 0 else f"write `{int(digits)}`"
        yield Problem(f"the part number of `{entry.name}` is `{digits}`", Location(entry.path), hint)
    last, present, gaps = 0, 0, list[str]()
    for number in language.numbers:
        if number > last + 1 and len(gaps) <= _MOST_GAPS:
            gaps.append(f"{number - 1}" if number == last + 2 else f"{last + 1} to {number - 1}")
        present += number > 0
        last = number
    if gaps:
        missing = ", ".join(gaps[:_MOST_GAPS]) + (", …" if len(gaps) > _MOST_GAPS else "")
        message = f"part {missing} is missing; there are {present} parts up to {last}"
        hint = f"restore part {missing}, or renumber the parts"
        yield Problem(message, language.at, hint, count=last - present)


@RULES.rule(
    "OSC401",
    "part-without-metadata",
    on=Pairing,
    grades=ONLY_1_1,
    spec=LAYOUT,
    requires=("OSC105", "OSC106"),
)
def part_without_metadata(pairing: Pairing) -> Iterator[Problem]:
    """A text part has no metadata part of the same number, or a metadata part has no text.

    Why: the two are read together; readers must skip a part without its partner.
    Example: `en_part_3.txt.gz` without `en_meta_part_3.jsonl.gz`.
    Fix: restore the missing file. Parts pair by number, not by their order in a listing.
    """
    roles: tuple[tuple[Mapping[int | None, Entry], Mapping[int | None, Entry], Role], ...] = (
        (pairing.texts, pairing.metadata, "metadata"),
        (pairing.metadata, pairing.texts, "text"),
    )
    for here, there, missing_role in roles:
        for number in (number for number in here if number not in there):
            missing = data_name(pairing.code, missing_role, number)
            at = Location(here[number].path)
            yield Problem(f"`{missing}` is missing next to `{here[number].name}`", at, f"restore `{missing}`")


NOT_IN_ORIGINAL = RULES.finding(
    "OSC111",
    "not-in-original",
    """A language or a line of a deduplicated variant is missing from the variant before deduplication next to it.

    Why: deduplication only removes lines, so one of the two is incomplete or of another release.
    Example: `deduplicated/de` without `original/de`; a line of `shuff-dedup/de` that `shuff-orig/de` lacks.
    Fix: build both variants again from the same documents, or fetch them again.
    """,
    spec=LAYOUT,
)
