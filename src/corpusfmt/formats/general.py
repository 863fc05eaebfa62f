"""For formats: Rules on bytes, lines and JSON that apply to every format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.io.jsonlines import strict_row
from corpusfmt.io.limits import LimitReached
from corpusfmt.io.paths import Entry, OutsideRoot, PointerFile, reason_of
from corpusfmt.io.scan import double_encoding_at
from corpusfmt.io.streams import StreamFault
from corpusfmt.io.text import JsonFault, NumberFault, StrictJson, utf8_fault
from corpusfmt.model import BadInput, Fault, Location, Problem, Severity, refuse_full_disk
from corpusfmt.rules import INTERNAL_ERROR, Judge, RuleSet, finding_of

if TYPE_CHECKING:
    from corpusfmt.io.double_encoding import Repair

GENERAL = RuleSet((INTERNAL_ERROR,))

UNREADABLE = GENERAL.finding(
    "GEN001",
    "unreadable",
    """A file or directory cannot be opened or read.

    Why: unread data cannot be called valid; the verdict is `incomplete`.
    Example: a file without read permission, a disk that returns an I/O error.
    Fix: make the file readable, and run again.
    """,
)

LINK_OUTSIDE_ROOT = GENERAL.finding(
    "GEN002",
    "link-outside-root",
    """A path points outside the given folder, usually through a symbolic link, and was not opened.

    Why: untrusted data must not decide which files of this machine are read and quoted. Unread data cannot be called valid:
    the verdict is `incomplete`. The root is the given folder, or the folder of the given file.
    Example: `data.csv`, a link to `../../.ssh/id_ed25519`; a list of paths that names `/etc/passwd`.
    Fix: replace the link by the file, or pass `--follow-links` if you trust the links.
    """,
)

LIMIT_REACHED = GENERAL.finding(
    "GEN003",
    "limit-reached",
    """A limit of the run was reached, and the rest of the data was not read.

    Why: a file of a kilobyte may expand to terabytes. Unread data cannot be called valid; the verdict is `incomplete`.
    Example: `10485760 bytes expand to more than 2097152001; --limit expansion is 200`.
    Fix: if the data is right, raise the limit in the message: `--limit expansion`, `--limit total-bytes` or `--limit timeout`.
    """,
)

COMPRESSED_STREAM_CORRUPT = GENERAL.finding(
    "GEN101",
    "compressed-stream-corrupt",
    """A gzip or zstd file is corrupt or truncated.

    Why: readers stop at the damage, many of them silently, and lose the documents after it.
    Example: a truncated download, a flipped bit, a 0-byte file, a plain file named `.gz`.
    Fix: download or write the file again; only the data before the damage can be read.
    """,
)

COMPRESSED_TRAILING_DATA = GENERAL.finding(
    "GEN102",
    "compressed-trailing-data",
    """Extra bytes follow the last gzip member or zstd frame. Zero bytes alone, such as the padding of block devices, are a
    warning.

    Why: some readers ignore the bytes, some fail, and some lose the rows before them.
    Example: two joined files, the second of them not compressed.
    Fix: compress the whole content again.
    """,
    grades={"minor": Severity.WARNING},
)

COMPRESSED_MULTI_MEMBER = GENERAL.finding(
    "GEN103",
    "compressed-multi-member",
    """An OSCAR file has more than one gzip member.

    Why: readers that stop after the first member silently lose the rest. Dolma and WET files may have several.
    Example: `cat a.gz b.gz > c.gz`.
    Fix: run `gzip -dc FILE | gzip > NEW`.
    """,
    severity=Severity.WARNING,
)

NOTHING_TO_CHECK = GENERAL.finding(
    "GEN104",
    "nothing-to-check",
    """The input contains no documents.

    Why: a failed download or export leaves an empty file or folder; nothing was checked.
    Example: `corpusfmt validate - --format dolma </dev/null`.
    Fix: check how the input was made; ignore this rule if it may be empty.
    """,
)

POINTER_FILE = GENERAL.finding(
    "GEN105",
    "pointer-file",
    """A file is a pointer of Git LFS or Xet, not the data itself. It was not read.

    Why: a checkout without Git LFS has such pointers in place of all large files; a reader of text takes them for text.
    Example: a file of 130 bytes that begins with `version https://git-lfs.github.com/spec/v1`.
    Fix: run `git lfs pull`, or download the data from where it is published.
    """,
)

COMPRESSED_TWICE = GENERAL.finding(
    "GEN106",
    "compressed-twice",
    """The content of a compressed file is itself compressed.

    Why: readers decompress a file once, and take the rest for text.
    Example: `gzip` run on files that a download had already compressed; zstd within gzip.
    Fix: decompress the file once.
    """,
)

INVALID_UTF8 = GENERAL.finding(
    "GEN201",
    "invalid-utf8",
    """Bytes are not strict UTF-8: an overlong form, a surrogate, a truncated character, another encoding.

    Why: readers stop at bytes that they cannot decode, or replace or drop them.
    Example: Latin-1 text, a character split at a chunk border.
    Fix: convert the source from its actual encoding, or drop the line and count the dropped lines.
    """,
)

DOUBLE_ENCODED = GENERAL.finding(
    "GEN202",
    "double-encoded",
    """Text looks like UTF-8 that was read as Windows-1252 or Latin-1 and encoded again. Counted by lines.

    A line is reported for patterns that real text does not have: several garbled characters in a row, a garbled character in
    a word, the remains of a quotation mark or an emoji. A single accented capital before punctuation (`NESCAFÉ®`) is accepted.

    Why: the words are garbled, and take several times as many tokens.
    Example: `cafÃ©` for `café`, `itâ€™s` for `it’s`, `ÐŸÑ€Ð¸Ð²ÐµÑ‚` for `Привет`.
    Fix: find the step that reads UTF-8 as another encoding; to repair a text, encode it as Windows-1252 and decode that as UTF-8.
    """,
    severity=Severity.WARNING,
)

EMPTY_TEXT = GENERAL.finding(
    "GEN203",
    "text-empty",
    """All texts of a file are empty strings. Some empty texts among others are an info, with their number.

    Why: a step before lost the texts, or read them from the wrong field. Some tools stop at a single empty text, such as the
    preprocessing of Megatron-LM.
    Example: `{"id": "1", "text": ""}` on every row of a file.
    Fix: write the texts, or drop the rows without any text.
    """,
    grades={"minor": Severity.INFO},
)

INVALID_JSON_LINE = GENERAL.finding(
    "GEN301",
    "invalid-json-line",
    """A line of a JSON Lines file is not one strict JSON value, or nests deeper than 128 levels.

    Why: strict readers stop here; lenient readers accept invalid values (NaN, lone surrogates, a BOM).
    Example: a blank line, a truncated last line, two values on one line, `NaN`, 129 opening brackets.
    Fix: write one JSON value per line with a strict encoder; only LF ends a line.
    """,
)

LINE_TOO_LONG = GENERAL.finding(
    "GEN302",
    "line-too-long",
    """A line exceeds the limit of --max-line-bytes (32 MiB) and was skipped.

    Why: a file without line ends, or a decompression bomb, must not exhaust the memory.
    Example: a gzip file of 1 GB of one letter.
    Fix: split the line, or raise the limit if the line is right.
    """,
)

NUMBER_OUT_OF_RANGE = GENERAL.finding(
    "GEN303",
    "number-out-of-range",
    """A number exceeds the range of 64-bit floats: its absolute value is greater than 1.797e308.

    The row or description that contains it is not read: every command treats it as invalid.

    Why: some readers read such a number as infinity, which JSON cannot represent; others stop.
    Example: `1e999`, an integer of 400 digits.
    Fix: write the number as a string.
    """,
)

CSV_MALFORMED = GENERAL.finding(
    "GEN304",
    "csv-malformed",
    """CSV or TSV cannot be read to its end: a quoted field has no end, or a row is too long. Rows with fewer fields than the
    header, and a name that occurs twice in it, are warnings. The header is row 1.

    Why: readers stop here, or take all that follows for one field; short rows are filled with nulls, and names are changed.
    Example: `1,"a` without another quotation mark; `1` below `id,label`.
    Fix: write the file again with a CSV writer, which quotes fields with separators, quotation marks and line ends.
    """,
    grades={"minor": Severity.WARNING},
)

REPEATED_ID = GENERAL.finding(
    "GEN401",
    "repeated-id",
    """Two documents of the corpus have the same source and the same id; in OSCAR 22.01 and 23.01, the same record id in a language.

    Why: neither can be traced, blocked or paired with anything by its id, and a conversion to Dolma stops there. Usually a shard
    or its rows are there twice. In Dolma it is DOL313, in OSCAR 1.1 OSC602.
    Example: a shard that was downloaded under two names; ids that begin at 1 in each file.
    Fix: drop one of the documents, or give it a unique id.
    """,
)

EQUAL_FILES = GENERAL.finding(
    "GEN402",
    "equal-files",
    """Two files of documents have the same content, byte by byte.

    Why: its documents are counted and trained on twice.
    Example: a shard that was downloaded under two names.
    Fix: remove one of the two files.
    """,
    severity=Severity.WARNING,
)

FILES_MISSING = GENERAL.finding(
    "GEN403",
    "files-missing",
    """The names of files say how many there are, and some of them are missing.

    Why: an incomplete download leaves gaps, and the missing documents go unnoticed.
    Example: `train-00000-of-00003.parquet` and `train-00002-of-00003.parquet`.
    Fix: download the missing files; ignore this rule for a selection of files.
    """,
    severity=Severity.WARNING,
)


def unreadable(at: Location, reason: str) -> Fault:
    """Return the fault of an unreadable file or folder."""
    return Fault(UNREADABLE, Problem(f"cannot be read: {reason}", at, "check permissions and the disk, then run again"))


def link_outside_root(at: Location, reason: str) -> Fault:
    """Return the fault of a path that points outside the folder that the user named."""
    hint = "pass `--follow-links` if you trust the link, or replace it by the file"
    return Fault(LINK_OUTSIDE_ROOT, Problem(f"not opened: {reason}", at, hint))


def barred(cause: Entry | OSError, at: Location) -> Fault:
    """Return the fault of a barred entry, or of a failure to open or read it."""
    if isinstance(cause, Entry):
        return link_outside_root(at, cause.reason) if cause.kind == "outside" else unreadable(at, cause.reason)
    refuse_full_disk(cause)
    reason = reason_of(cause)
    if isinstance(cause, PointerFile):
        return Fault(POINTER_FILE, Problem(f"the file is {reason}", at, repair_of(cause)))
    return link_outside_root(at, reason) if isinstance(cause, OutsideRoot) else unreadable(at, reason)


def pointer_as_input(pointer: PointerFile, path: str) -> BadInput:
    """Return a pointer that was opened in place of the data at a path as bad input."""
    return BadInput(finding_of(barred(pointer, Location(path)), GENERAL, ""))


def report_barred(entry: Entry, judge: Judge) -> bool:
    """Report an entry if it is barred; return whether it is."""
    if entry.is_barred:
        judge.report(*barred(entry, Location(entry.path)))
    return entry.is_barred


def repair_of(error: OSError) -> str:
    """Return what to do about a failure to read a file."""
    return "run `git lfs pull`, or download the data" if isinstance(error, PointerFile) else "make the file readable"


@contextmanager
def within_limits(judge: Judge, path: str) -> Iterator[None]:
    """Report a limit that is reached in the block; `path` is its place if the limit has none."""
    try:
        yield
    except LimitReached as limit:
        judge.report(LIMIT_REACHED, limit.at(path).problem)


def broken_stream(at: Location, fault: StreamFault) -> Fault:
    """Return the fault of a compressed file whose readable bytes were already checked."""
    if fault.kind == "corrupt":
        place = f"after {fault.offset} compressed bytes; {fault.readable} bytes could be read"
        hint = "copy or write the truncated file again" if fault.truncated else "copy or write the file again"
        return Fault(COMPRESSED_STREAM_CORRUPT, Problem(f"{fault.reason} ({place})", at, hint))
    if fault.kind == "twice":
        return Fault(COMPRESSED_TWICE, Problem(fault.reason, at, "decompress the file once"))
    hint = f"truncate the file to {fault.offset} bytes, or compress its content again"
    message = f"{fault.reason}, from compressed byte {fault.offset}"
    return Fault(COMPRESSED_TRAILING_DATA, Problem(message, at, hint, minor=fault.kind == "padding"))


def bad_text(at: Location, reason: str) -> Fault:
    """Return the fault of a line that is not UTF-8."""
    return Fault(
        INVALID_UTF8, Problem(f"not UTF-8: {reason}", at, "convert the text to UTF-8 from its actual encoding")
    )


def double_encoded(at: Location, repair: Repair, count: int) -> Fault:
    """Return the fault of `count` lines that look double-encoded, with the repair of the first one."""
    message = f"the text looks double-encoded: `{repair.found}`, expected `{repair.repaired}`"
    return Fault(
        DOUBLE_ENCODED, Problem(message, at, "encode the text as Windows-1252 and decode that as UTF-8", count=count)
    )


def bad_json(at: Location, fault: JsonFault) -> Fault:
    """Return the fault of a line that is not one JSON value."""
    place = Location(at.path, at.line, at.byte, fault.column, at.pointer, at.record)
    if isinstance(fault, NumberFault):
        return out_of_range(place, fault)
    hint = "write one strict JSON value on each line"
    return Fault(INVALID_JSON_LINE, Problem(f"not one JSON value: {fault.reason}", place, hint))


def out_of_range(at: Location, fault: NumberFault) -> Fault:
    """Return the fault of numbers beyond the range of 64-bit floats."""
    message = f"the number `{fault.number}` exceeds the range of 64-bit floats"
    return Fault(NUMBER_OUT_OF_RANGE, Problem(message, at, "write the number as a string", count=fault.count))


def too_long(at: Location, length: int, limit: int, what: str = "line") -> Fault:
    """Return the fault of a line, or another unit, whose length in bytes exceeds the limit."""
    message = f"the {what} has {length:,} bytes, the limit is {limit:,}"
    return Fault(LINE_TOO_LONG, Problem(message, at, f"split the {what}, or raise --max-line-bytes"))


def report_text(text: str, at: Location, judge: Judge, times: int = 1) -> None:
    """Report double-encoded lines of a document, which occurs `times` times."""
    if not text.isascii():
        report_encoded_text(text.encode("utf-8", "surrogatepass"), at, judge, times)


def report_encoded_text(data: bytes, at: Location, judge: Judge, times: int = 1) -> None:
    """Report double-encoded lines of a document in UTF-8, which occurs `times` times."""
    if double_encoding_at(data, 0, False) < 0:
        return
    from corpusfmt.io.double_encoding import suspect_lines  # noqa: PLC0415 - few texts come so far

    _report_lines((line for _, _, line in suspect_lines(data)), at, judge, times)


def report_json_text(text: bytes, at: Location, judge: Judge, times: int = 1) -> None:
    """Report double-encoded lines of a document that is a string in JSON, which occurs `times` times."""
    from corpusfmt.io.double_encoding import suspect_lines_of_json  # noqa: PLC0415 - few texts come so far

    _report_lines(suspect_lines_of_json(text), at, judge, times)


def _report_lines(lines: Iterable[bytes], at: Location, judge: Judge, times: int) -> None:
    from corpusfmt.io.double_encoding import Repair, is_garbled, repair  # noqa: PLC0415 - few texts come so far

    garbled = list(filter(is_garbled, lines))
    if garbled:
        shown = not judge.only_counts(DOUBLE_ENCODED, at.path) and repair(garbled[0].decode("utf-8", "replace"))
        judge.report(*double_encoded(at, shown or Repair("", "", 0), len(garbled)), times)


class EmptyTexts(Struct):
    """The empty texts of a file: their number, and the place of the first."""

    count: int = 0
    first: Location | None = None

    def add(self, count: int, first: Callable[[], Location]) -> None:
        """Take the number of empty texts in more rows, and what returns the place of the first of them."""
        if count:
            self.first = self.first or first()
            self.count += count

    def report(self, texts: int, judge: Judge) -> None:
        """Report them, given the number of all texts of the file."""
        if self.first is not None:
            which = f"all {texts:,} texts are" if texts > 1 else "the only text is"
            some = f"{self.count:,} of {texts:,} texts {'is' if self.count == 1 else 'are'}"
            minor = self.count < texts
            hint = "drop the documents without text" if minor else "write the texts, or drop the file"
            message = f"{some if minor else which} empty"
            judge.report(EMPTY_TEXT, Problem(message, self.first, hint, self.count, minor=minor))


def json_of(line: bytes, at: Location, judge: Judge, times: int = 1) -> StrictJson | None:
    """Return the value of a line, which is repeated `times` times; report a line that is not UTF-8 and JSON."""
    try:
        return strict_row(line)
    except UnicodeDecodeError:
        fault = utf8_fault(line)
        assert fault is not None
        judge.report(*bad_text(replace(at, column=fault.column), fault.reason), times)
    except JsonFault as fault:
        judge.report(*bad_json(at, fault), times)
    return None
