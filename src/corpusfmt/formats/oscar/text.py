"""Internal: OSC3xx: check the text of a part block by block."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from corpusfmt.formats.general import INVALID_UTF8, bad_text, double_encoded, too_long
from corpusfmt.formats.oscar.ruleset import RULES, TEXT, TOLERATED_IN_1_0, Sightings
from corpusfmt.io.double_encoding import Repair
from corpusfmt.io.keys import KeyWriter
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.scan import BEGINNING, Survey, double_encoding_at, survey
from corpusfmt.io.text import utf8_fault
from corpusfmt.model import Fault, Location, Problem, Severity
from corpusfmt.rules import Judge
from corpusfmt.wording import plural

#: The least number of code points of a line: goclassy counts the line end among "more than 100", ungoliant does not.
SHORTEST_LINE = {"1.0": 100, "1.1": 101}

_BLANKS = b" \t\r"
_BOM = "\ufeff".encode()
_LEAD_OF_C1 = 0xC2
# Odd separators are remembered for the alignment with metadata; beyond this many nobody asks any more.
_MOST_ODD_LINES = 10_000


EMPTY_TEXT = RULES.finding(
    "OSC301",
    "empty-text",
    """A text file contains only blank lines, or none.

    Why: a language without text has nothing to read; an earlier step lost its text.
    Example: a file of 0 uncompressed bytes, which a packaging step left for a language that never occurred.
    Fix: remove the language, or restore its text.
    """,
    spec=TEXT,
)


BLANK_LINE_RUN = RULES.finding(
    "OSC302",
    "blank-line-run",
    """Text starts with a blank line, ends with more than one, or has two in a row.

    Why: one blank line separates documents; a second one is an empty document, and shifts all later offsets.
    Example: the deduplicated 1.0 files, where whole documents vanished between their separators (a warning there).
    Fix: write one blank line after each document, and none before the first.
    """,
    grades=TOLERATED_IN_1_0,
    spec=TEXT,
    requires=("OSC301",),
)


NO_FINAL_NEWLINE = RULES.finding(
    "OSC303",
    "no-final-newline",
    """The last line of a text file does not end with LF.

    Why: tools that count or join lines lose it, or join it with the first line of the next file.
    Example: text truncated at a byte count.
    Fix: end the file with LF.
    """,
    severity=Severity.WARNING,
    spec=TEXT,
)


SEPARATOR_NOT_EMPTY = RULES.finding(
    "OSC304",
    "separator-not-empty",
    """A line between documents contains spaces, tabs or a carriage return.

    Why: it looks blank but is not empty, so readers that search for an empty line merge two documents.
    Example: a file with CR LF line ends.
    Fix: make the line empty.
    """,
    grades=TOLERATED_IN_1_0,
    spec=TEXT,
    requires=("OSC301",),
)


SHORT_SENTENCE = RULES.finding(
    "OSC305",
    "short-sentence",
    """A line has fewer code points than the release's pipeline accepts: 100 in 1.0, 101 in 1.1.

    Why: the filter did not run on the line, or a later step truncated it.
    Example: 60 Chinese characters, which are 180 bytes.
    Fix: filter by code points, not by bytes; ignore the rule for a corpus with another limit.
    """,
    severity=Severity.WARNING,
    spec=TEXT,
)


CARRIAGE_RETURN = RULES.finding(
    "OSC306",
    "carriage-return",
    """A line contains a carriage return. Only LF ends a line: CR, NEL, U+2028, VT and FF do not.

    Why: readers with universal newlines count too many lines, and pair text and metadata wrongly.
    Example: the last character of a line from a page with CR LF line ends.
    Fix: split lines only at LF; strip CR when writing the text.
    """,
    severity=Severity.WARNING,
    spec=TEXT,
)


CONTROL_CHARACTER = RULES.finding(
    "OSC307",
    "control-character",
    """Text contains NUL, starts with a byte order mark, or contains other C0 or C1 control characters (info).

    Why: NUL ends strings in C, and fastText refuses such a line; a byte order mark becomes part of the first word.
    Example: an archive processed as text.
    Fix: remove the character.
    """,
    severity=Severity.WARNING,
    grades={"minor": Severity.INFO},
    spec=TEXT,
)


NOT_NFC = RULES.finding(
    "OSC308",
    "not-nfc",
    """A line is not in Unicode normalisation form C.

    Why: deduplication and tokenizers see several spellings of the same word. Real releases are not always NFC.
    Example: `e` followed by U+0301 instead of `é`.
    Fix: no action is needed; normalise the text if it matters to you.
    """,
    severity=Severity.INFO,
    spec=TEXT,
)


def empty_text(at: Location) -> Fault:
    """Return the fault of a text without documents."""
    return Fault(EMPTY_TEXT, Problem("the text is blank", at, "remove the file, or restore its text"))


def blank_line_run(at: Location, count: int = 1, *, leading: bool) -> Fault:
    """Return the fault of a blank line that separates nothing."""
    message = "blank line before the first document" if leading else "a second blank line in a row"
    return Fault(BLANK_LINE_RUN, Problem(message, at, "keep one blank line after each document", count=count))


def separator_not_empty(at: Location, separator: bytes, count: int = 1) -> Fault:
    """Return the fault of a separator that is blank but not empty."""
    message = f"the separator is `{ascii(separator.decode())[1:-1]}`, expected an empty line"
    return Fault(SEPARATOR_NOT_EMPTY, Problem(message, at, "write an empty line", count=count))


class Documents:
    """The documents of a part in order: first line (from 0), lines, bytes without the last LF, separators before."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.counts: list[int] = []
        self.sizes: list[int] = []
        self.gaps: list[int] = []

    def __len__(self) -> int:
        return len(self.starts)

    def extend(self, starts: list[int], counts: list[int], sizes: list[int], gaps: list[int]) -> None:
        """Add consecutive ones."""
        self.starts += starts
        self.counts += counts
        self.sizes += sizes
        self.gaps += gaps

    def drop(self, number: int) -> None:
        """Forget the first ones."""
        del self.starts[:number], self.counts[:number], self.sizes[:number], self.gaps[:number]


class TextScan:
    """Checks the lines of one text file and finds its documents.

    Feed it every block in order, then call `finish`. `documents` fills up as documents end, unless it is not kept; the caller
    removes them. `found` counts them, `filled` the lines that are not blank.
    """

    def __init__(
        self,
        path: str,
        version: str,
        judge: Judge,
        max_line_bytes: int,
        keys: KeyWriter | None = None,
        *,
        keeps_documents: bool = True,
    ) -> None:
        self.documents = Documents()
        self.found = 0
        self.filled = 0
        self.lines = 0
        self.bytes = 0
        self.odd_lines: set[int] = set()
        self._path = path
        self._least = SHORTEST_LINE[version]
        self._judge = judge
        self._limit = max_line_bytes
        self._keys = keys
        self._keeps_documents = keeps_documents
        self._sightings = Sightings()
        # The first line that looks encoded twice, and how many do.
        self._double_encoded: tuple[Location, Repair] | None = None
        self._double_encoded_lines = 0
        self._before = BEGINNING
        self._terminated = True

    def feed(self, block: Block | LongLine) -> None:
        """Check the next block."""
        if isinstance(block, LongLine):
            self._judge.report(*too_long(self._at(block.line, block.byte), block.length, self._limit))
            self._before = *self._before[:3], 0
            self.filled += 1
            self.lines += 1
            self.bytes += block.length + 1
            return
        data = block.data
        found = survey(data, self._least, self.lines, self.bytes, self._before, keeps_documents=self._keeps_documents)
        if double_encoding_at(data, 0, False) >= 0:
            self._double_encoding(block)
        self._terminated = data.endswith(b"\n")
        self._before = found.after
        self.found += found.found
        self.documents.extend(*found.documents)
        self._note(block, found)
        self.filled += found.filled
        if self._keys is not None:
            self._collect_keys(self._keys, data)
        self.lines += found.lines
        self.bytes += len(data)

    def finish(self, *, whole: bool) -> None:
        """End the text; `whole` is false for a truncated stream, whose end is not checked."""
        if whole:
            open_line, open_byte, separators, _ = self._before
            if self.lines > open_line:
                end = self.bytes - 1 if self._terminated else self.bytes
                self.found += 1
                self.documents.extend([open_line], [self.lines - open_line], [end - open_byte], [separators])
            if not self.found:
                self._judge.report(*empty_text(Location(self._path)))
            elif not self._terminated:
                at = Location(self._path, self.lines)
                self._sightings.note(
                    NO_FINAL_NEWLINE, Problem("the last line does not end with LF", at, "end the file with LF")
                )
        self._sightings.report(self._judge)
        if self._double_encoded is not None:
            self._judge.report(*double_encoded(*self._double_encoded, self._double_encoded_lines))

    def _at(self, line: int, byte: int, column: int | None = None) -> Location:
        return Location(self._path, line, byte, column)

    def _double_encoding(self, block: Block) -> None:
        from corpusfmt.io.double_encoding import is_garbled, repair, suspect_lines  # noqa: PLC0415 - few texts come so far

        before, garbled = b"", False
        for number, byte, line in suspect_lines(block.data):
            if line != before:  # the same lines recur
                before, garbled = line, is_garbled(line)
            if not garbled:
                continue
            self._double_encoded_lines += 1
            if self._double_encoded is None and (found := repair(text := line.decode("utf-8", "replace"))):
                column = len(text[: found.start].encode())
                at = self._at(block.line + number, block.byte + byte + column, column + 1)
                self._double_encoded = at, found

    def _note(self, block: Block, found: Survey) -> None:
        """Note what is odd in a block."""
        data, noted = block.data, self._sightings
        if len(self.odd_lines) < _MOST_ODD_LINES:
            self.odd_lines.update(found.odd)
        count, place = found.odd_separators
        if count and not noted.again(SEPARATOR_NOT_EMPTY, count):
            noted.note(*separator_not_empty(self._line(block, place), _line_at(data, place)[:20], count))
        count, place = found.blank_runs
        if count and not noted.again(BLANK_LINE_RUN, count):
            noted.note(*blank_line_run(self._line(block, place), count, leading=block.byte + place == 0))
        if found.bad:
            self._bad_lines(block, found.bad)
        count, place = found.not_nfc
        if count and not noted.again(NOT_NFC, count):
            hint = "normalise the text if it matters"
            noted.note(NOT_NFC, Problem("the line is not NFC", self._line(block, place), hint, count=count))
        count, place = found.short
        if count and not noted.again(SHORT_SENTENCE, count):
            points = plural(len(_line_at(data, place).decode()), "code point")
            message = f"the line has {points}, expected at least {self._least}"
            hint = f"filter lines below {self._least} code points"
            noted.note(SHORT_SENTENCE, Problem(message, self._line(block, place), hint, count=count))
        if block.byte == 0 and data.startswith(_BOM):
            self._note_control("a byte order mark", self._at(1, 0, 1), 1)
        count, place = found.returns
        if count and not noted.again(CARRIAGE_RETURN, count):
            hint = "strip it, and read with LF alone"
            problem = Problem("carriage return in the text", self._place(block, place), hint, count=count)
            noted.note(CARRIAGE_RETURN, problem)
        count, place = found.nuls
        if count and not noted.again(CONTROL_CHARACTER, count, "NUL"):
            self._note_control("NUL", self._place(block, place), count)
        count, place = found.controls
        if count and not noted.again(CONTROL_CHARACTER, count, "other"):
            character = data[place : place + 1 + (data[place] == _LEAD_OF_C1)].decode()
            self._note_control(
                f"control character U+{ord(character):04X}", self._place(block, place), count, minor=True
            )

    def _note_control(self, name: str, at: Location, count: int, *, minor: bool = False) -> None:
        problem = Problem(f"{name} in the text", at, "remove it", count=count, minor=minor)
        self._sightings.note(CONTROL_CHARACTER, problem, "other" if minor else name)

    def _line(self, block: Block, place: int) -> Location:
        """Return the place of a line of a block that begins with this byte."""
        return self._at(block.line + block.data.count(b"\n", 0, place), block.byte + place)

    def _place(self, block: Block, place: int) -> Location:
        """Return the place of a byte of a block: line, byte, and column in bytes."""
        at = self._line(block, place)
        return replace(at, column=place - block.data.rfind(b"\n", 0, place))

    def _bad_lines(self, block: Block, places: Sequence[int]) -> None:
        number, counted = block.line, 0
        for index, place in enumerate(places):
            number += block.data.count(b"\n", counted, place)
            counted = place
            fault = utf8_fault(_line_at(block.data, place))
            assert fault is not None
            at = self._at(number, block.byte + place + fault.column - 1, fault.column)
            if self._judge.only_counts(INVALID_UTF8, at.path):
                self._judge.report(*bad_text(at, fault.reason), len(places) - index)
                return
            self._judge.report(*bad_text(at, fault.reason))

    def _collect_keys(self, keys: KeyWriter, data: bytes) -> None:
        from xxhash import xxh3_64_intdigest  # noqa: PLC0415

        for number, line in enumerate(data.split(b"\n"), self.lines):
            if line and not (line[0] in _BLANKS and not line.strip(_BLANKS)):
                keys.add(xxh3_64_intdigest(line), number)


def _line_at(data: bytes, place: int) -> bytes:
    end = data.find(b"\n", place)
    return data[place : end if end >= 0 else len(data)]
