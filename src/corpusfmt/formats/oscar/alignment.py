"""Internal: OSC5xx: do the records of a part match its documents?

Documents and records are compared as they arrive, by first line and number of lines. Where they disagree, the smallest
change that makes them agree again is searched for: a wrong number, an extra record or document, a lost or added line.
This change becomes one finding, and the comparison continues after it.
"""

from __future__ import annotations

from operator import ge

from msgspec import Struct, field

from corpusfmt.formats.oscar.headers import CONTENT_LENGTH
from corpusfmt.formats.oscar.records import UNKNOWN, Rows
from corpusfmt.formats.oscar.ruleset import METADATA, ONLY_1_1, RULES, Sightings
from corpusfmt.formats.oscar.text import Documents
from corpusfmt.model import Fault, Location, Problem
from corpusfmt.rules import Judge
from corpusfmt.wording import plural

# How far to search for agreement, and how many pairs must agree: if offsets and numbers of lines do, and if only the
# numbers of lines do with offsets shifted by a constant, which may happen by chance.
_REACH = 12
_AGREEING = 2
_AGREEING_SHIFTED = 8
LOOKAHEAD = _REACH + _AGREEING_SHIFTED
_MOST_DISPLACED = 256


FIRST_OFFSET = RULES.finding(
    "OSC501",
    "first-offset",
    """The first offset of a part is not 0.

    Why: offsets count the lines of their own part, from 0; readers that trust this offset read lines of other documents.
    Example: offsets that continue from the previous part.
    Fix: restart offsets at 0 in every part.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


OFFSET_ORDER = RULES.finding(
    "OSC502",
    "offset-order",
    """An offset is not greater than the previous one.

    Why: records are in the order of their documents; readers that pair them by order give texts the wrong headers.
    Example: two metadata lines swapped, or one of them repeated.
    Fix: sort the records by offset, without duplicates.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


OFFSET_GAP = RULES.finding(
    "OSC503",
    "offset-gap",
    """A record does not start where the previous one ended, or the line after its range is not blank.

    Why: the next offset is offset + nb_sentences + 1, including the blank line between documents; from here on, readers
    split documents in the wrong places.
    Example: offsets that do not count blank lines; a line added to the text after the metadata was written.
    Fix: recompute the offsets from the text.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


RANGE_OUTSIDE_TEXT = RULES.finding(
    "OSC504",
    "range-outside-text",
    """Lines of a record are missing from the text, or one of them is empty.

    Why: the document is shorter than its record says, so readers add lines of the next document to it.
    Example: nb_sentences 5 for a document of 4 lines; a line lost from the text.
    Fix: recompute nb_sentences from the text, or restore the line.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


TEXT_METADATA_COUNT = RULES.finding(
    "OSC505",
    "text-metadata-count",
    """A part has a document without a record, a record without a document, or text and metadata of different parts.

    Why: documents and records pair one to one; after a missing one, readers that count pair all others wrongly.
    Example: a dropped metadata line; the metadata of part 2 with the text of part 1.
    Fix: restore the missing document or record, or write both files again from their source.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
    requires=("OSC301",),
)


class Skip(Struct, frozen=True):
    """A step from a disagreement to the next agreement: records and documents to skip, lines to shift offsets by."""

    rows: int
    documents: int
    shift: int
    lost: bool = False


class _Displaced(Struct):
    """A record with the offset of another position, kept until the record that it was swapped with is found."""

    fault: Fault
    offset: int
    expected: int
    line: int


class Alignment(Struct):
    """Compares the documents of a text with the records of its metadata, and collects the mismatches."""

    rows: Rows
    documents: Documents
    odd_lines: set[int]
    metadata_path: str
    shift: int = 0
    lost: bool = False
    row_number: int = 0
    last_offset: int = -1
    last_line: int = 0
    sightings: Sightings = field(default_factory=Sightings)
    _displaced: list[_Displaced] = field(default_factory=list)
    _next_offset: int = 0

    def advance(self, *, text_ended: bool, metadata_ended: bool) -> None:
        """Compare as far as both sides are known, or to the end once both have ended."""
        rows, documents = self.rows, self.documents
        while not self.lost:
            self.take(self.agreeing())
            rows_known = metadata_ended or len(rows) >= LOOKAHEAD
            documents_known = text_ended or len(documents) >= LOOKAHEAD
            if not (rows_known and documents_known) or not (len(rows) or len(documents)):
                return
            step = self.next_step(is_end=text_ended and metadata_ended)
            self.report(step)
            self.pass_over(step)
        rows.drop(len(rows))
        documents.drop(len(documents))

    def follow(self, *, metadata_ended: bool) -> None:
        """Compare each record with the previous one if there is no text to compare with."""
        rows = self.rows
        known = len(rows) if metadata_ended else len(rows) - 1
        for index in range(max(known, 0)):
            offset, count = rows.offsets[index], rows.counts[index]
            expected = self._next_offset
            if offset not in (expected, UNKNOWN) and expected != UNKNOWN:
                self.sightings.note(*self._wrong_offset(expected, index))
                following = expected + count + 1
                if index + 1 < len(rows) and rows.offsets[index + 1] == following:
                    offset = expected
            self._next_offset = UNKNOWN if UNKNOWN in (offset, count) else offset + count + 1
            self.row_number += 1
            self.last_offset, self.last_line = offset, rows.lines[index]
        rows.drop(max(known, 0))

    def agreeing(self) -> int:
        """Return the number of leading pairs that agree."""
        rows, documents = self.rows, self.documents
        number = min(len(rows), len(documents))
        offsets = rows.offsets[:number]
        if self.shift:
            offsets = [offset + self.shift for offset in offsets]
        if offsets == documents.starts[:number] and rows.counts[:number] == documents.counts[:number]:
            return number
        pairs = zip(offsets, documents.starts, rows.counts, documents.counts, strict=False)
        return next(
            index for index, (offset, start, here, there) in enumerate(pairs) if offset != start or here != there
        )

    def take(self, number: int) -> None:
        """Remove leading pairs that agree."""
        if not number:
            return
        rows, documents = self.rows, self.documents
        lengths, sizes = rows.lengths[:number], documents.sizes[:number]
        if not all(map(ge, lengths, sizes)):
            for line, length, size in zip(rows.lines, lengths, sizes, strict=False):
                if length < size:
                    at = Location(self.metadata_path, line, pointer="/headers/content-length")
                    message = f"the content-length is `{length}`, but the document has {size:,} bytes"
                    hint = "pair text and metadata again from their source"
                    self.sightings.note(CONTENT_LENGTH, Problem(message, at, hint), "too short")
        self.last_offset, self.last_line = rows.offsets[number - 1], rows.lines[number - 1]
        self.row_number += number
        rows.drop(number)
        documents.drop(number)

    def pass_over(self, step: Skip) -> None:
        known = [index for index in range(step.rows) if self.rows.offsets[index] != UNKNOWN]
        if known:
            self.last_offset, self.last_line = self.rows.offsets[known[-1]], self.rows.lines[known[-1]]
        self.row_number += step.rows
        self.rows.drop(step.rows)
        self.documents.drop(step.documents)
        self.shift = step.shift
        self.lost = step.lost

    def next_step(self, *, is_end: bool) -> Skip:
        """Return the smallest step from a disagreement to agreement; `is_end` is whether nothing follows on either side."""
        rows, documents = self.rows, self.documents
        if self._is_empty_record():
            return Skip(1, 0, self.shift)
        if not len(documents) or not len(rows):
            return Skip(len(rows), len(documents), self.shift)
        says = [(offset + self.shift, count) for offset, count in zip(rows.offsets, rows.counts, strict=True)]
        has = list(zip(documents.starts, documents.counts, strict=True))
        if len(says) > 1 and says[1::-1] == has[:2]:  # the two are swapped
            return Skip(2, 2, self.shift)
        step = self._search(self.shift, _AGREEING, is_end) or self._search(None, _AGREEING_SHIFTED, is_end)
        if step is not None:
            return step
        # Near the end, or with all records in another order, the rest belongs together; before, all is lost.
        belongs = is_end and (max(len(rows), len(documents)) <= 2 or sorted(says) == has)
        return Skip(len(rows), len(documents), self.shift, lost=not belongs)

    def _is_empty_record(self) -> bool:
        """Return whether the next record has no lines, for an extra blank line or the end of the text. OSC404 reports it."""
        if not len(self.rows) or self.rows.counts[0] != 0:
            return False
        if not len(self.documents):
            return True
        start = self.documents.starts[0]
        first_blank = start - self.documents.gaps[0] + 1
        return first_blank <= self.rows.offsets[0] + self.shift < start

    def _search(self, shift: int | None, pairs: int, is_end: bool) -> Skip | None:
        # With an unchanged shift, something must be skipped: the leading pairs do not agree.
        for total in range(0 if shift is None else 1, 2 * _REACH):
            for passed_rows in _balanced(total):
                passed_documents = total - passed_rows
                if passed_rows >= len(self.rows) or passed_documents >= len(self.documents):
                    continue
                start = self.documents.starts[passed_documents]
                candidate = start - self.rows.offsets[passed_rows] if shift is None else shift
                if self.rows.offsets[passed_rows] == UNKNOWN and shift is None:
                    continue
                if not total and candidate == self.shift:
                    continue  # a step that changes nothing would loop forever
                if self._agree(passed_rows, passed_documents, candidate, pairs, is_end):
                    return Skip(passed_rows, passed_documents, candidate)
        return None

    def _agree(self, row: int, document: int, shift: int, pairs: int, is_end: bool) -> bool:
        known = False
        for step in range(pairs):
            at_row, at_document = row + step, document + step
            rows_end, documents_end = at_row >= len(self.rows), at_document >= len(self.documents)
            if rows_end or documents_end:
                return known and rows_end and documents_end and is_end
            offset = self.rows.offsets[at_row]
            if offset == UNKNOWN:
                continue
            if offset + shift != self.documents.starts[at_document]:
                return False
            if self.rows.counts[at_row] not in (self.documents.counts[at_document], UNKNOWN):
                return False
            known = True
        return known

    def report(self, step: Skip) -> None:
        """Note the finding for a step."""
        fault = self.explain(step)
        if fault is None:
            return
        if fault.type in (FIRST_OFFSET, OFFSET_GAP, OFFSET_ORDER) and (step.rows, step.documents) == (1, 1):
            swapped = self._swapped(fault.problem.at)
            if swapped is None and len(self._displaced) < _MOST_DISPLACED:
                expected = self.documents.starts[0] - self.shift
                self._displaced.append(_Displaced(fault, self.rows.offsets[0], expected, self.rows.lines[0]))
                return
            fault = swapped or fault
        self.sightings.note(*fault)

    def _swapped(self, at: Location) -> Fault | None:
        """Return the finding for two swapped records if the next record is the second one."""
        offset, expected = self.rows.offsets[0], self.documents.starts[0] - self.shift
        for other in self._displaced:
            if other.offset == expected and other.expected == offset:
                self._displaced.remove(other)
                message = f"the line with offset `{offset}` is swapped with line {other.line}, offset `{other.offset}`"
                return Fault(OFFSET_ORDER, Problem(message, at, "put the two lines in the order of their offsets"))
        return None

    def finish(self, judge: Judge) -> None:
        """Report the findings."""
        for displaced in self._displaced:
            self.sightings.note(*displaced.fault)
        self.sightings.report(judge)

    def explain(self, step: Skip) -> Fault | None:
        """Return the finding for a step; None if another rule reports the cause."""
        rows, documents = self.rows, self.documents
        shift = step.shift - self.shift
        if step.lost:
            message = f"text and metadata differ from {self._lines_of(0)} of the text on"
            return Fault(TEXT_METADATA_COUNT, Problem(message, self._at(), _REWRITE))
        if not step.documents and not step.rows:
            if documents.gaps[0] > 1 and shift == documents.gaps[0] - 1:
                return None
            # All further offsets are wrong by the same number of lines.
            found, problem = self._wrong_offset(documents.starts[0] - self.shift)
            far = "too low" if shift > 0 else "too high"
            message = f"{problem.message}; the offsets from here on are {plural(abs(shift), 'line')} {far}"
            restart, recompute = "restart offsets at 0 in every part", "recompute the offsets from here on"
            return Fault(found, Problem(message, problem.at, recompute if self.row_number else restart))
        if not step.documents:
            return self._records_without_document(step.rows)
        where = self._lines_of(0)
        if not step.rows:
            message = f"the document on {where} of the text has no record"
            hint = f"restore the record with offset {documents.starts[0] - self.shift} and nb_sentences {documents.counts[0]}"
            return Fault(TEXT_METADATA_COUNT, Problem(message, self._at(), hint, count=step.documents))
        # Surplus blank lines, which OSC302 reports, may explain a shift.
        surplus = sum(gap - 1 for gap in documents.gaps[: min(step.documents + 1, len(documents))])
        if 0 < surplus == shift and rows.counts[: step.rows] == documents.counts[: step.documents]:
            return None
        if (step.rows, step.documents) == (1, 1):
            return self._one_pair(shift)
        offsets = rows.offsets[: step.rows]
        if offsets != sorted(offsets):
            index = next(i for i in range(1, step.rows) if offsets[i] < offsets[i - 1])
            message = f"offset `{offsets[index]}` follows `{offsets[index - 1]}`: the lines are not in order"
            return Fault(OFFSET_ORDER, Problem(message, self._at(index), "sort the records by offset"))
        if step.documents < step.rows:
            message = f"no blank line follows the range of the record: the document continues ({where} of the text)"
            return Fault(OFFSET_GAP, Problem(message, self._at(), "add a blank line between documents"))
        if step.documents > step.rows:
            if documents.starts[1] - 1 in self.odd_lines:
                return None
            blank = documents.starts[0] + documents.counts[0]
            message = f"line {blank + 1} of the text is blank, but within the range of the record"
            hint = "remove the blank line, or recompute nb_sentences"
            return Fault(RANGE_OUTSIDE_TEXT, Problem(message, self._at(), hint))
        message = f"{step.rows} records do not match the documents from line {documents.starts[0] + 1} of the text on"
        return Fault(TEXT_METADATA_COUNT, Problem(message, self._at(), _REWRITE, count=step.rows))

    def reason(self, step: Skip) -> Fault:
        """Return the finding for a step that skips something, even if another rule reports the cause."""
        message = "the record does not match the text"
        return self.explain(step) or Fault(TEXT_METADATA_COUNT, Problem(message, self._at(), _REWRITE))

    def _at(self, index: int = 0) -> Location:
        line = self.rows.lines[index] if index < len(self.rows) else self.last_line + 1
        return Location(self.metadata_path, line)

    def _lines_of(self, index: int) -> str:
        start, count = self.documents.starts[index], self.documents.counts[index]
        return f"line {start + 1}" if count == 1 else f"lines {start + 1} to {start + count}"

    def _wrong_offset(self, expected: int, index: int = 0) -> Fault:
        offset, at = self.rows.offsets[index], self._at(index)
        message = f"the offset is `{offset}`, expected `{expected}`"
        hint = f"write offset {expected}"
        if self.row_number == 0:
            return Fault(FIRST_OFFSET, Problem(f"the first offset is `{offset}`, expected `0`", at, "write offset 0"))
        if offset <= self.last_offset:
            before = f"{message} (the previous offset, on line {self.last_line}, is `{self.last_offset}`)"
            return Fault(OFFSET_ORDER, Problem(before, at, hint))
        return Fault(OFFSET_GAP, Problem(message, at, hint))

    def _one_pair(self, shift: int) -> Fault | None:
        offset, count = self.rows.offsets[0], self.rows.counts[0]
        start, lines = self.documents.starts[0], self.documents.counts[0]
        if offset == UNKNOWN or (count == UNKNOWN and offset + self.shift == start):
            return None
        if offset + self.shift != start and not shift:
            return self._wrong_offset(start - self.shift)
        where = self._lines_of(0)
        if count > lines:
            if start + lines in self.odd_lines and not shift:
                return None
            reason = f"the text has {lines} ({where}){_since(shift)}"
            message = f"the range has {plural(count, 'line')} from offset `{offset}`, but {reason}"
            return Fault(RANGE_OUTSIDE_TEXT, Problem(message, self._at(), _recount(lines, shift)))
        message = f"the line after the range of {plural(count, 'line')} from offset `{offset}` is not blank"
        message += f": the document is {where} of the text{_since(shift)}"
        return Fault(OFFSET_GAP, Problem(message, self._at(), _recount(lines, shift)))

    def _records_without_document(self, number: int) -> Fault | None:
        known = [index for index in range(number) if self.rows.offsets[index] != UNKNOWN]
        if not known:
            return None
        index = known[0]
        offset, count = self.rows.offsets[index], self.rows.counts[index]
        if number == 1 and self._is_empty_record():
            return None
        if offset == self.last_offset:
            message = f"offset `{offset}` is repeated, first on line {self.last_line}"
            return Fault(OFFSET_ORDER, Problem(message, self._at(index), "remove the second record", count=len(known)))
        message = f"the text has no document for the record (offset `{offset}`, {plural(count, 'line')})"
        hint = "remove the record, or restore its document"
        return Fault(TEXT_METADATA_COUNT, Problem(message, self._at(index), hint, count=len(known)))


_REWRITE = "check that both files are of the same part, or write them again from their source"


def _since(shift: int) -> str:
    if not shift:
        return ""
    return (
        f", {plural(abs(shift), 'line')} {'fewer' if shift < 0 else 'more'} than before; all further lines are shifted"
    )


def _recount(lines: int, shift: int) -> str:
    return "restore the text, or recompute offset and nb_sentences" if shift else f"write nb_sentences {lines}"


def _balanced(total: int) -> list[int]:
    """Return the ways to split a number in two, the most even first: a wrong value is more likely than a lost line."""
    return sorted(range(total + 1), key=lambda part: abs(2 * part - total))
