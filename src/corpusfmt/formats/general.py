"""For formats: Rules about bytes, lines and JSON that hold for every format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from corpusfmt.io.limits import LimitReached
from corpusfmt.io.paths import Entry, OutsideRoot, reason_of
from corpusfmt.io.streams import StreamFault
from corpusfmt.io.text import JsonFault, NumberFault, StrictJson, strict_json, utf8_fault
from corpusfmt.model import Fault, Location, Problem, Severity
from corpusfmt.rules import INTERNAL_ERROR, Judge, RuleSet

if TYPE_CHECKING:
    from corpusfmt.io.double_encoding import Repair

GENERAL = RuleSet((INTERNAL_ERROR,))

UNREADABLE = GENERAL.finding(
    "GEN001",
    "unreadable",
    """A file or directory cannot be opened or read.

    Why: what cannot be read cannot be called valid; the verdict is `incomplete`.
    Example: a file without read permission, a disk that returns an I/O error.
    Fix: make it readable and run again.
    """,
)

LINK_OUTSIDE_ROOT = GENERAL.finding(
    "GEN002",
    "link-outside-root",
    """A path leads outside of the folder that was named, most often by a symbolic link; it was not opened.

    Why: data of strangers must not decide which files of this machine are read and quoted. What was not read cannot be
    called valid: the verdict is `incomplete`. The root is the folder that was named, or the folder of the file that was.
    Example: `data.csv`, a link to `../../.ssh/id_ed25519`; a list of paths that names `/etc/passwd`.
    Fix: put the file itself there, or pass `--follow-links` where the links are your own.
    """,
)

LIMIT_REACHED = GENERAL.finding(
    "GEN003",
    "limit-reached",
    """A bound of the run ended reading: what follows was not seen.

    Why: a file of a kilobyte may expand to terabytes. What was not read cannot be called valid; the verdict is `incomplete`.
    Example: `10485760 bytes expand to more than 2097152001; the limit of --max-expansion is 200`.
    Fix: raise the bound that the message names, if the data is meant to be so: `--max-expansion`, `--max-total-bytes`,
    `--timeout`.
    """,
)

COMPRESSED_STREAM_CORRUPT = GENERAL.finding(
    "GEN101",
    "compressed-stream-corrupt",
    """A gzip or zstd file does not decode to its very end.

    Why: readers stop at the damage, and many of them do so without a word: the documents after it are lost.
    Example: a download cut short, a flipped bit, a 0-byte file, a plain file named `.gz`.
    Fix: fetch or write the file again; what stands before the damage can be read, what follows cannot.
    """,
)

COMPRESSED_TRAILING_DATA = GENERAL.finding(
    "GEN102",
    "compressed-trailing-data",
    """Bytes follow the last gzip member or zstd frame. Zero bytes alone, as block devices pad files, are a warning.

    Why: some readers ignore them, some fail, some lose the rows before them; nobody can tell what they were meant to be.
    Example: two files joined, the second of them not compressed.
    Fix: compress the whole content again.
    """,
    grades={"minor": Severity.WARNING},
)

COMPRESSED_MULTI_MEMBER = GENERAL.finding(
    "GEN103",
    "compressed-multi-member",
    """An OSCAR file is made of more than one gzip member.

    Why: readers that stop after the first member lose the rest without a word. Dolma and WET files may have several.
    Example: `cat a.gz b.gz > c.gz`.
    Fix: `gzip -dc FILE | gzip > NEW`.
    """,
    severity=Severity.WARNING,
)

NOTHING_TO_CHECK = GENERAL.finding(
    "GEN104",
    "nothing-to-check",
    """The whole input holds no document.

    Why: an empty file or folder is what a failed download or an export that found nothing leaves; nothing in it was checked.
    Example: `corpusfmt validate - --format dolma </dev/null`.
    Fix: check how the input was made; where it may be empty, ignore this rule.
    """,
)

INVALID_UTF8 = GENERAL.finding(
    "GEN201",
    "invalid-utf8",
    """Bytes are not strict UTF-8: an overlong form, a surrogate, a cut tail, another encoding.

    Why: readers stop, replace or drop what they cannot decode, each in its own way.
    Example: Latin-1 text, a character cut in two at a chunk border.
    Fix: convert the source from its true encoding, or drop the line, and count what was dropped.
    """,
)

DOUBLE_ENCODED = GENERAL.finding(
    "GEN202",
    "double-encoded",
    """Text looks like UTF-8 that was read as Windows-1252 or Latin-1 and encoded again. Counted by lines.

    A line is reported for what no real text has: several garbled characters in a row, a garbled one within a word, the
    remains of a quotation mark or an emoji. A lone accented capital before punctuation (`NESCAFÉ®`) is left alone.

    Why: words are not what they were, and take several times as many tokens.
    Example: `cafÃ©` for `café`, `itâ€™s` for `it’s`, `ÐŸÑ€Ð¸Ð²ÐµÑ‚` for `Привет`.
    Fix: find the step that reads UTF-8 as another encoding; to repair a text, encode it as Windows-1252 and decode that as UTF-8.
    """,
    severity=Severity.WARNING,
)

INVALID_JSON_LINE = GENERAL.finding(
    "GEN301",
    "invalid-json-line",
    """A line of a JSON Lines file is not one strict JSON value, or nests deeper than 128 levels.

    Why: strict readers stop there, lenient ones read something else (NaN, lone surrogates, a BOM).
    Example: a blank line, a last line cut short, two values on one line, `NaN`, 129 opening brackets.
    Fix: write one JSON value a line with a strict encoder; only LF ends a line.
    """,
)

LINE_TOO_LONG = GENERAL.finding(
    "GEN302",
    "line-too-long",
    """A line is longer than the limit of --max-line-bytes (32 MiB): it was measured and skipped, never held in memory.

    Why: a file without line ends, or a decompression bomb, must not take the machine down.
    Example: a gzip file of 1 GB of one letter.
    Fix: split the line, or raise the limit if it is meant to be so long.
    """,
)

NUMBER_OUT_OF_RANGE = GENERAL.finding(
    "GEN303",
    "number-out-of-range",
    """A number is beyond what a 64-bit float holds: its absolute value is greater than 1.797e308.

    What holds it, a row or a whole description, is not read: every command takes it for broken.

    Why: some readers take such a number for infinity, which JSON cannot write; others stop.
    Example: `1e999`, an integer of 400 digits.
    Fix: write it as a string.
    """,
)


def unreadable(at: Location, reason: str) -> Fault:
    """Return what is to be said of what the system would not let us read."""
    return Fault(UNREADABLE, Problem(f"cannot be read: {reason}", at, "check permissions and the disk, then run again"))


def link_outside_root(at: Location, reason: str) -> Fault:
    """Return what is to be said of a path that leads outside of what the user named."""
    hint = "pass `--follow-links` if you trust it, or put the file itself there"
    return Fault(LINK_OUTSIDE_ROOT, Problem(f"not opened: {reason}", at, hint))


def barred(cause: Entry | OSError, at: Location) -> Fault:
    """Return why something is not read: an entry that is barred, or a failure to open or read."""
    if isinstance(cause, Entry):
        return link_outside_root(at, cause.reason) if cause.kind == "outside" else unreadable(at, cause.reason)
    reason = reason_of(cause)
    return link_outside_root(at, reason) if isinstance(cause, OutsideRoot) else unreadable(at, reason)


def report_barred(entry: Entry, judge: Judge) -> bool:
    """Tell whether an entry is barred, and report it."""
    if entry.is_barred:
        judge.report(*barred(entry, Location(entry.path)))
    return entry.is_barred


@contextmanager
def within_limits(judge: Judge, path: str) -> Iterator[None]:
    """Report a bound that is reached in the block; `path` is where, if the bound does not know."""
    try:
        yield
    except LimitReached as limit:
        judge.report(LIMIT_REACHED, limit.at(path).problem)


def broken_stream(at: Location, fault: StreamFault) -> Fault:
    """Return what is to be said of a compressed file, all of whose readable bytes were judged before."""
    if fault.kind == "corrupt":
        place = f"after {fault.offset} compressed bytes; {fault.readable} bytes could be read"
        hint = "the file is cut short: copy or write it again" if fault.truncated else "copy or write the file again"
        return Fault(COMPRESSED_STREAM_CORRUPT, Problem(f"{fault.reason} ({place})", at, hint))
    hint = f"cut the file after {fault.offset} bytes, or compress its content again"
    message = f"{fault.reason}, from compressed byte {fault.offset}"
    return Fault(COMPRESSED_TRAILING_DATA, Problem(message, at, hint, minor=fault.kind == "padding"))


def bad_text(at: Location, reason: str) -> Fault:
    """Return what is to be said of a line that is not UTF-8."""
    return Fault(INVALID_UTF8, Problem(f"not UTF-8: {reason}", at, "convert the text to UTF-8 from its true encoding"))


def double_encoded(at: Location, repair: Repair, count: int) -> Fault:
    """Return what is to be said of so many lines that look encoded twice, the first of them repaired."""
    message = f"text looks double-encoded: `{repair.found}`, expected `{repair.repaired}`"
    return Fault(
        DOUBLE_ENCODED, Problem(message, at, "encode it as Windows-1252 and decode that as UTF-8", count=count)
    )


def bad_json(at: Location, fault: JsonFault) -> Fault:
    """Return what is to be said of a line, or of what stands there, that is not one JSON value."""
    place = Location(at.path, at.line, at.byte, fault.column, at.pointer, at.record)
    if isinstance(fault, NumberFault):
        return out_of_range(place, fault)
    hint = "write one strict JSON value on each line"
    return Fault(INVALID_JSON_LINE, Problem(f"not one JSON value: {fault.reason}", place, hint))


def out_of_range(at: Location, fault: NumberFault) -> Fault:
    """Return what is to be said of numbers that no 64-bit float comes near."""
    message = f"number `{fault.number}` is beyond what a 64-bit float holds"
    return Fault(NUMBER_OUT_OF_RANGE, Problem(message, at, "write it as a string", count=fault.count))


def too_long(at: Location, length: int, limit: int, what: str = "line") -> Fault:
    """Return what is to be said of a line, or whatever else is held whole, over the limit, both in bytes."""
    message = f"{what} of {length} bytes, the limit is {limit}"
    return Fault(LINE_TOO_LONG, Problem(message, at, "split it, or raise --max-line-bytes"))


def report_text(text: str, at: Location, judge: Judge, times: int = 1) -> None:
    """Report lines of a document, which occurs so many times, that are double-encoded."""
    from corpusfmt.io.double_encoding import repair  # noqa: PLC0415 - no text of most runs comes so far

    repairs = list(filter(None, map(repair, text.split("\n"))))
    if repairs:
        judge.report(*double_encoded(at, repairs[0], len(repairs)), times)


def json_of(line: bytes, at: Location, judge: Judge, times: int = 1) -> StrictJson | None:
    """Return the value of a line, which follows itself so many times; report what is not UTF-8 and JSON."""
    try:
        return strict_json(line)
    except UnicodeDecodeError:
        fault = utf8_fault(line)
        assert fault is not None
        judge.report(*bad_text(replace(at, column=fault.column), fault.reason), times)
    except JsonFault as fault:
        judge.report(*bad_json(at, fault), times)
    return None
