"""Internal: OSC2xx: the checksum list of a language, in the three notations of releases, and its digests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from corpusfmt.formats.general import barred
from corpusfmt.formats.oscar.parts import Listing
from corpusfmt.formats.oscar.ruleset import CHECKSUMS, RULES, Sightings
from corpusfmt.io.lines import Line, LongLine, lines
from corpusfmt.io.paths import Entry
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Judge
from corpusfmt.wording import shortened

_HASH_FIRST = re.compile(rb"([0-9A-Fa-f]{64})(  | \*| |\t)([^\0]+)")
_NAME_FIRST = re.compile(rb"([^\0]+)\t([0-9A-Fa-f]{64})")
_LONGEST_LINE = 8192
_READ_SIZE = 64 * 1024
# What both `sha256sum -c` and `shasum -c` take: as written for text, and, with `-b`, for binary files.
_PORTABLE = (b"  ", b" *")


class ListedName(Struct, frozen=True):
    """One name in a checksum list. `is_reported`: a rule on parts already reports that the file is missing."""

    at: Location
    name: str
    exists: bool
    is_reported: bool
    repeats_line: int | None
    is_list: bool


class Digest(Struct, frozen=True):
    """The SHA-256 of a file, and its digests in the list (none if the file is not listed)."""

    at: Location
    name: str
    listed: tuple[str, ...]
    actual: str
    list_path: str

    @property
    def line(self) -> str:
        return f"{self.actual}  {self.name}"


CHECKSUM_FILE_MISSING = RULES.finding(
    "OSC201",
    "checksum-file-missing",
    """A language directory has no `LL_sha256.txt`, or an empty one.

    Why: a corrupt download goes unnoticed.
    Example: `af/` with `af.txt.gz` and nothing else.
    Fix: run `sha256sum *.gz > LL_sha256.txt` in the directory.
    """,
    spec=CHECKSUMS,
    requires=("OSC105",),
)


CHECKSUM_LINE_MALFORMED = RULES.finding(
    "OSC202",
    "checksum-line-malformed",
    """A line of the checksum list is not a digest and a name.

    Why: `sha256sum -c` skips such lines, so their files are never verified. Name, tab and digest is the notation of the
    2019 release, and is read only in 1.0.
    Example: `af.txt.gz<TAB>insert_hash_here`.
    Fix: write 64 hexadecimal digits, two spaces and the file name on each line.
    """,
    spec=CHECKSUMS,
)


@RULES.rule("OSC203", "checksum-names-missing-file", on=ListedName, spec=CHECKSUMS)
def checksum_names_missing_file(listed: ListedName) -> Iterator[Problem]:
    """The checksum list names a file that is not in its folder, or names it with a path.

    Why: the file was lost or renamed, and tools that verify the list fail.
    Example: `…  en_part_13.txt.gz` where the parts end at 12; `…  en/en.txt.gz`.
    Fix: restore the file, or remove its line; write file names without a path.
    """
    if "/" in listed.name:
        bare = listed.name.rpartition("/")[2]
        yield Problem(f"`{listed.name}` contains a path", listed.at, f"write `{bare}`")
    elif not listed.exists and not listed.is_reported:
        yield Problem(f"`{listed.name}` is missing from the folder", listed.at, "restore the file, or remove the line")


@RULES.rule("OSC206", "checksum-duplicate-name", on=ListedName, spec=CHECKSUMS)
def checksum_duplicate_name(listed: ListedName) -> Iterator[Problem]:
    """The checksum list names a file twice, or names itself.

    Why: two digests for one file contradict each other, and a list cannot contain its own digest.
    Example: a packaging step that ran twice on the same folder.
    Fix: keep one line for each data file.
    """
    if listed.is_list:
        yield Problem(f"the list names itself, `{listed.name}`", listed.at, "remove the line")
    elif listed.repeats_line is not None:
        message = f"`{listed.name}` is repeated, first on line {listed.repeats_line}"
        yield Problem(message, listed.at, "keep one line for each file")


CHECKSUM_NOT_PORTABLE = RULES.finding(
    "OSC207",
    "checksum-not-portable",
    """The checksum list is not in the portable notation: digest, two spaces, name. `sha256sum -b` writes a space and `*`
    instead of two spaces, which is accepted.

    Why: `sha256sum -c` or `shasum -c`, which the schema recommends, reject it. No published release is portable, so this is
    a warning in the standard profile.
    Example: `af.txt.gz<TAB>…` (2019), one space between digest and name (21.09).
    Fix: run `sha256sum *.gz > LL_sha256.txt`.
    """,
    severity=Severity.WARNING,
    spec=CHECKSUMS,
)


@RULES.rule("OSC204", "checksum-file-incomplete", on=Digest, spec=CHECKSUMS)
def checksum_file_incomplete(digest: Digest) -> Iterator[Problem]:
    """A data file is not in the checksum list.

    Why: damage to the file goes unnoticed.
    Example: a part that was added after the list was written.
    Fix: add the line in the hint.
    """
    if not digest.listed:
        yield Problem(f"the file is not listed in `{digest.list_path}`", digest.at, f"add the line `{digest.line}`")


@RULES.rule("OSC205", "checksum-mismatch", on=Digest, spec=CHECKSUMS)
def checksum_mismatch(digest: Digest) -> Iterator[Problem]:
    """The SHA-256 of a file differs from the checksum list.

    Why: the file was damaged or changed after the list was written.
    Example: a truncated download, a file that a later step wrote again.
    Fix: download the file again; if the file is right, copy the line in the hint to the list.
    """
    if digest.listed and digest.actual not in digest.listed:
        message = f"the SHA-256 is `{digest.actual}`, expected `{digest.listed[0]}` as in `{digest.list_path}`"
        yield Problem(message, digest.at, f"download the file again, or list `{digest.line}`")


class ChecksumList:
    """A checksum list: the lower-case digests of existing files by name, each with its line, in the order of the list."""

    def __init__(self, path: str, folder: Sequence[Entry]) -> None:
        self.path = path
        self.names = {entry.name for entry in folder}
        self.listed: dict[str, list[tuple[str, int]]] = {}
        self.orphans: set[str] = set()
        self.complete = True

    def note(self, name: str, digest: str, line: int) -> None:
        """Add a digest of a file."""
        digests = self.listed.setdefault(name, [])
        if len(digests) < _MOST_DIGESTS:
            digests.append((digest, line))

    def of(self, name: str) -> tuple[str, ...]:
        """Return the digests of a file."""
        return tuple(digest for digest, _ in self.listed.get(name, ()))

    def part_of(self, files: Mapping[str, Entry]) -> Listing:
        """Return what the list says of the files of a shard, by role."""
        return Listing(
            self.path, {role: self.of(file.name) for role, file in files.items()}, self.complete, self.orphans
        )

    def first_line(self, name: str) -> int | None:
        """Return the line with the first digest of a file, if there is one."""
        return self.listed[name][0][1] if name in self.listed else None


_NOTATIONS = {
    b" ": "the line is digest, one space, name",
    b"\t": "the line is digest, tab, name",
}
# Lists name at most a few thousand files; further ones are checked but not remembered.
_MOST_ORPHANS = 100_000
# For one file; each further one is a finding.
_MOST_DIGESTS = 100


def read_list(
    entry: Entry, folder: Sequence[Entry], judge: Judge, version: str, is_reported: Callable[[str], bool]
) -> ChecksumList | None:
    """Read and check a checksum list against the files of its folder; None if it cannot be read.

    `is_reported` returns whether another rule already reports that a file is missing.
    """
    found = ChecksumList(entry.path, folder)
    sightings = Sightings()
    empty = True
    try:
        with entry.open() as file:
            for line in lines(iter(lambda: file.read(_READ_SIZE), b""), _LONGEST_LINE):
                at = Location(found.path, line.line, line.byte)
                empty = empty and isinstance(line, Line) and not line.data.strip()
                parsed = parsed_line(line.data, version) if isinstance(line, Line) else None
                if parsed is None:
                    found.complete = False
                    sightings.note(CHECKSUM_LINE_MALFORMED, _malformed(line, at))
                    continue
                name, digest, notation = parsed
                if notation:
                    message = f"{notation}, expected digest, two spaces, name"
                    sightings.note(CHECKSUM_NOT_PORTABLE, Problem(message, at, "write the list with `sha256sum`"))
                bare = name.rpartition("/")[2]
                is_list, exists = bare == entry.name, bare in found.names
                reported = not exists and is_reported(name)
                judge.check(ListedName(at, name, exists, reported, found.first_line(bare), is_list))
                if not exists:
                    if len(found.orphans) < _MOST_ORPHANS:
                        found.orphans.add(digest)
                elif not is_list:
                    found.note(bare, digest, line.line)
    except OSError as error:
        judge.report(*barred(error, Location(entry.path)))
        return None
    if empty:
        report_no_list(judge, Location(entry.path), entry.name, empty=True)
        return None
    sightings.report(judge)
    return found


def report_no_list(judge: Judge, at: Location, name: str, *, empty: bool = False) -> None:
    """Report a missing or empty checksum list."""
    message = f"`{name}` is empty" if empty else f"`{name}` is missing"
    judge.report(CHECKSUM_FILE_MISSING, Problem(message, at, f"run `sha256sum *.gz > {name}`"))


def _malformed(line: Line | LongLine, at: Location) -> Problem:
    hint = "write 64 hexadecimal digits, two spaces and the file name"
    if isinstance(line, LongLine):
        return Problem(f"a line of {line.length:,} bytes is not a SHA-256 digest and a name", at, hint)
    if _NAME_FIRST.fullmatch(line.data):
        hint = "write the digest, two spaces and the name: name, tab and digest is the notation of 1.0"
    return Problem(f"`{_shown(line.data)}` is not a SHA-256 digest and a name", at, hint)


def parsed_line(line: bytes, version: str) -> tuple[str, str, str] | None:
    """Return the name, the lower-case digest and the notation ("" for the portable one) of a line."""
    match = _HASH_FIRST.fullmatch(line)
    if match and not match[3].startswith((b" ", b"\t")) and not match[3].endswith(b"\r"):
        notation = "" if match[2] in _PORTABLE else _NOTATIONS[match[2]]
        return _printable(match[3]), match[1].decode().lower(), notation
    match = _NAME_FIRST.fullmatch(line) if version == "1.0" else None
    if match:
        return _printable(match[1]), match[2].decode().lower(), "name, tab, digest"
    return None


def _printable(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _shown(line: bytes) -> str:
    text = _printable(line)
    return shortened(text if text.isprintable() else ascii(text)[1:-1], 100, 60, 30)
