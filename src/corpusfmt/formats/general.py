"""Rules about bytes, lines and JSON that hold for every format, and the subjects that they judge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.io.limits import LimitReached
from corpusfmt.io.paths import Entry, OutsideRoot, reason_of
from corpusfmt.io.streams import StreamFault
from corpusfmt.io.text import JsonFault, NumberFault, StrictJson, strict_json, utf8_fault
from corpusfmt.model import Location, Problem, Severity
from corpusfmt.rules import Crash, Judge, RuleSet

if TYPE_CHECKING:
    from corpusfmt.io.double_encoding import Repair

GENERAL = RuleSet()
LINK_OUTSIDE_ROOT = "GEN002"


class Unreadable(Struct, frozen=True):
    """A file or folder that the system would not let us read."""

    at: Location
    reason: str


class OutOfBounds(Struct, frozen=True):
    """A path that leads outside of what the user named."""

    at: Location
    reason: str


#: Why something was not read.
Barred = Unreadable | OutOfBounds


class BrokenStream(Struct, frozen=True):
    """A compressed file that is not what it should be, all of whose readable bytes were judged before."""

    at: Location
    fault: StreamFault


class Members(Struct, frozen=True):
    """How many gzip members a file has."""

    at: Location
    count: int


class BadText(Struct, frozen=True):
    """A line that is not UTF-8."""

    at: Location
    reason: str


class DoubleEncoded(Struct, frozen=True):
    """Lines that look like UTF-8 that was read as Windows-1252 and encoded again: the first of them, and how many."""

    at: Location
    repair: Repair
    count: int = 1


class BadJson(Struct, frozen=True):
    """A line that is not one strict JSON value."""

    at: Location
    reason: str


class OutOfRange(Struct, frozen=True):
    """Numbers that no 64-bit float comes near: the first of them as it is written, and how many there are."""

    at: Location
    number: str
    count: int = 1


class TooLong(Struct, frozen=True):
    """A line over the limit, in bytes."""

    at: Location
    length: int
    limit: int


class Nothing(Struct, frozen=True):
    """An input without a single document."""

    at: Location


@GENERAL.rule("GEN000", "internal-error", on=Crash)
def internal_error(crash: Crash) -> Iterator[Problem]:
    """A rule or reader of corpusfmt failed on this input.

    Why: the rest of the input was checked, but what this rule would have said is unknown, so the verdict is never `valid`.
    Example: a rule raises on a value that its author did not think of.
    Fix: report the message with the input that caused it; the data may well be fine.
    """
    yield Problem(f"{crash.where} failed: {crash.error}", crash.at, "this is a bug of corpusfmt, please report it")


@GENERAL.rule("GEN001", "unreadable", on=Unreadable)
def unreadable(subject: Unreadable) -> Iterator[Problem]:
    """A file or directory cannot be opened or read.

    Why: what cannot be read cannot be called valid; the verdict is `incomplete`.
    Example: a file without read permission, a disk that returns an I/O error.
    Fix: make it readable and run again.
    """
    yield Problem(f"cannot be read: {subject.reason}", subject.at, "check permissions and the disk, then run again")


@GENERAL.rule(LINK_OUTSIDE_ROOT, "link-outside-root", on=OutOfBounds)
def link_outside_root(subject: OutOfBounds) -> Iterator[Problem]:
    """A path leads outside of the folder that was named, most often by a symbolic link; it was not opened.

    Why: data of strangers must not decide which files of this machine are read and quoted. What was not read cannot be
    called valid: the verdict is `incomplete`. The root is the folder that was named, or the folder of the file that was.
    Example: `data.csv`, a link to `../../.ssh/id_ed25519`; a list of paths that names `/etc/passwd`.
    Fix: put the file itself there, or pass `--follow-links` where the links are your own.
    """
    yield Problem(
        f"not opened: {subject.reason}",
        subject.at,
        "pass `--follow-links` if you trust it, or put the file itself there",
    )


@GENERAL.rule("GEN003", "limit-reached", on=LimitReached)
def limit_reached(limit: LimitReached) -> Iterator[Problem]:
    """A bound of the run ended reading: what follows was not seen.

    Why: a file of a kilobyte may expand to terabytes. What was not read cannot be called valid; the verdict is `incomplete`.
    Example: `10485760 bytes expand to more than 2097152001; the limit of --max-expansion is 200`.
    Fix: raise the bound that the message names, if the data is meant to be so: `--max-expansion`, `--max-total-bytes`,
    `--timeout`.
    """
    yield limit.problem


@contextmanager
def within_limits(judge: Judge, path: str) -> Iterator[None]:
    """Judge a bound that is reached in the block; `path` is where, if the bound does not know."""
    try:
        yield
    except LimitReached as limit:
        judge.check(limit.at(path))


@GENERAL.rule("GEN101", "compressed-stream-corrupt", on=BrokenStream)
def compressed_stream_corrupt(stream: BrokenStream) -> Iterator[Problem]:
    """A gzip or zstd file does not decode to its very end.

    Why: readers stop at the damage, and many of them do so without a word: the documents after it are lost.
    Example: a download cut short, a flipped bit, a 0-byte file, a plain file named `.gz`.
    Fix: fetch or write the file again; what stands before the damage can be read, what follows cannot.
    """
    fault = stream.fault
    if fault.kind == "corrupt":
        place = f"after {fault.offset} compressed bytes; {fault.readable} bytes could be read"
        hint = "the file is cut short: copy or write it again" if fault.truncated else "copy or write the file again"
        yield Problem(f"{fault.reason} ({place})", stream.at, hint)


@GENERAL.rule("GEN102", "compressed-trailing-data", on=BrokenStream, grades={"minor": Severity.WARNING})
def compressed_trailing_data(stream: BrokenStream) -> Iterator[Problem]:
    """Bytes follow the last gzip member or zstd frame. Zero bytes alone, as block devices pad files, are a warning.

    Why: some readers ignore them, some fail, some lose the rows before them; nobody can tell what they were meant to be.
    Example: two files joined, the second of them not compressed.
    Fix: compress the whole content again.
    """
    fault = stream.fault
    if fault.kind != "corrupt":
        hint = f"cut the file after {fault.offset} bytes, or compress its content again"
        message = f"{fault.reason}, from compressed byte {fault.offset}"
        yield Problem(message, stream.at, hint, minor=fault.kind == "padding")


@GENERAL.rule("GEN103", "compressed-multi-member", on=Members, severity=Severity.WARNING)
def compressed_multi_member(members: Members) -> Iterator[Problem]:
    """An OSCAR file is made of more than one gzip member.

    Why: readers that stop after the first member lose the rest without a word. Dolma and WET files may have several.
    Example: `cat a.gz b.gz > c.gz`.
    Fix: `gzip -dc FILE | gzip > NEW`.
    """
    if members.count > 1:
        yield Problem(f"{members.count} gzip members", members.at, "compress the content again as one member")


@GENERAL.rule("GEN104", "nothing-to-check", on=Nothing)
def nothing_to_check(nothing: Nothing) -> Iterator[Problem]:
    """The whole input holds no document.

    Why: an empty file or folder is what a failed download or an export that found nothing leaves; nothing in it was checked.
    Example: `corpusfmt validate - --format dolma </dev/null`.
    Fix: check how the input was made; where it may be empty, ignore this rule.
    """
    yield Problem("no document in the whole input, nothing was checked", nothing.at, "check how the input was made")


@GENERAL.rule("GEN201", "invalid-utf8", on=BadText)
def invalid_utf8(text: BadText) -> Iterator[Problem]:
    """Bytes are not strict UTF-8: an overlong form, a surrogate, a cut tail, another encoding.

    Why: readers stop, replace or drop what they cannot decode, each in its own way.
    Example: Latin-1 text, a character cut in two at a chunk border.
    Fix: convert the source from its true encoding, or drop the line, and count what was dropped.
    """
    yield Problem(f"not UTF-8: {text.reason}", text.at, "convert the text to UTF-8 from its true encoding")


@GENERAL.rule("GEN202", "double-encoded", on=DoubleEncoded, severity=Severity.WARNING)
def double_encoded(lines: DoubleEncoded) -> Iterator[Problem]:
    """Text looks like UTF-8 that was read as Windows-1252 or Latin-1 and encoded again. Counted by lines.

    A line is reported for what no real text has: several garbled characters in a row, a garbled one within a word, the
    remains of a quotation mark or an emoji. A lone accented capital before punctuation (`NESCAFÉ®`) is left alone.

    Why: words are not what they were, and take several times as many tokens.
    Example: `cafÃ©` for `café`, `itâ€™s` for `it’s`, `ÐŸÑ€Ð¸Ð²ÐµÑ‚` for `Привет`.
    Fix: find the step that reads UTF-8 as another encoding; to repair a text, encode it as Windows-1252 and decode that as UTF-8.
    """
    repair = lines.repair
    message = f"text looks double-encoded: `{repair.found}`, expected `{repair.repaired}`"
    hint = "encode it as Windows-1252 and decode that as UTF-8"
    yield Problem(message, lines.at, hint, count=lines.count)


@GENERAL.rule("GEN301", "invalid-json-line", on=BadJson)
def invalid_json_line(line: BadJson) -> Iterator[Problem]:
    """A line of a JSON Lines file is not one strict JSON value, or nests deeper than 128 levels.

    Why: strict readers stop there, lenient ones read something else (NaN, lone surrogates, a BOM).
    Example: a blank line, a last line cut short, two values on one line, `NaN`, 129 opening brackets.
    Fix: write one JSON value a line with a strict encoder; only LF ends a line.
    """
    yield Problem(f"not one JSON value: {line.reason}", line.at, "write one strict JSON value on each line")


@GENERAL.rule("GEN302", "line-too-long", on=TooLong)
def line_too_long(line: TooLong) -> Iterator[Problem]:
    """A line is longer than the limit of --max-line-bytes (32 MiB): it was measured and skipped, never held in memory.

    Why: a file without line ends, or a decompression bomb, must not take the machine down.
    Example: a gzip file of 1 GB of one letter.
    Fix: split the line, or raise the limit if it is meant to be so long.
    """
    message = f"line of {line.length} bytes, the limit is {line.limit}"
    yield Problem(message, line.at, "split it, or raise --max-line-bytes")


@GENERAL.rule("GEN303", "number-out-of-range", on=OutOfRange)
def number_out_of_range(numbers: OutOfRange) -> Iterator[Problem]:
    """A number is beyond what a 64-bit float holds: its absolute value is greater than 1.797e308.

    What holds it, a row or a whole description, is not read: every command takes it for broken.

    Why: some readers take such a number for infinity, which JSON cannot write; others stop.
    Example: `1e999`, an integer of 400 digits.
    Fix: write it as a string.
    """
    message = f"number `{numbers.number}` is beyond what a 64-bit float holds"
    yield Problem(message, numbers.at, "write it as a string", count=numbers.count)


def json_subject(fault: JsonFault, at: Location) -> BadJson | OutOfRange:
    """Return what the rules judge of a line that is not one JSON value."""
    place = Location(
        at.path, at.line, at.byte, fault.column, at.pointer, at.record
    )  # `replace` takes ten times as long
    if isinstance(fault, NumberFault):
        return OutOfRange(place, fault.number, fault.count)
    return BadJson(place, fault.reason)


def barred(cause: Entry | OSError, at: Location) -> Barred:
    """Return the subject that says why something is not read: an entry that is barred, or a failure to open or read."""
    if isinstance(cause, Entry):
        return OutOfBounds(at, cause.reason) if cause.kind == "outside" else Unreadable(at, cause.reason)
    reason = reason_of(cause)
    return OutOfBounds(at, reason) if isinstance(cause, OutsideRoot) else Unreadable(at, reason)


def judge_barred(entry: Entry, judge: Judge) -> bool:
    """Tell whether an entry is barred, and have it judged."""
    if entry.is_barred:
        judge.check(barred(entry, Location(entry.path)))
    return entry.is_barred


def judge_text(text: str, at: Location, judge: Judge, times: int = 1) -> None:
    """Judge whether lines of a document, which occurs so many times, are double-encoded."""
    from corpusfmt.io.double_encoding import repair  # noqa: PLC0415 - no text of most runs comes so far

    repairs = list(filter(None, map(repair, text.split("\n"))))
    if repairs:
        judge.check(DoubleEncoded(at, repairs[0], len(repairs)), times)


def judged_json(line: bytes, at: Location, judge: Judge, times: int = 1) -> StrictJson | None:
    """Judge a line, which follows itself so many times, as UTF-8 and JSON; return its value where it is one."""
    try:
        return strict_json(line)
    except UnicodeDecodeError:
        fault = utf8_fault(line)
        assert fault is not None
        judge.check(BadText(replace(at, column=fault.column), fault.reason), times)
    except JsonFault as fault:
        judge.check(json_subject(fault, at), times)
    return None
