"""Internal: Scan a metadata file: check each record against the published schema and the headers of WARC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from corpusfmt.formats.general import too_long
from corpusfmt.formats.languages import iso_639_3
from corpusfmt.formats.oscar.headers import (
    CONTENT_LANGUAGE,
    EMPTY_RECORD,
    HEADER_NAMES,
    LANGUAGES_HEADER,
    USUAL_HEADERS,
    clipped,
    fingerprint,
    id_hash,
    is_length,
    value_faults,
)
from corpusfmt.formats.oscar.keep import DOCUMENT_HEADER
from corpusfmt.formats.oscar.records import (
    NO_LENGTH,
    UNKNOWN,
    CleanRecords,
    Rows,
    Unread,
    as_count,
    clean_records,
    header_fault,
    read_record,
    schema_fault,
)
from corpusfmt.formats.oscar.ruleset import Sightings
from corpusfmt.io.lines import Block, LongLine, Run, first_run
from corpusfmt.io.text import pointer
from corpusfmt.model import Json, Location, Problem
from corpusfmt.rules import Judge

# Takes the hashes of the record ids of consecutive lines, the number (from 0) of the first line, and the hashes of the headers.
Collect = Callable[[Sequence[int], int, Sequence[int]], None]


class MetadataScan:
    """Checks the records of one metadata file. Feed it every block in order, then call `finish`; `rows` fills up."""

    def __init__(
        self, path: str, language: str, judge: Judge, max_line_bytes: int, collect: Collect | None = None
    ) -> None:
        self.rows = Rows()
        self.found = 0
        self._path = path
        self._language = language
        self._accepted = iso_639_3(language)
        self._known_languages: dict[str | None, bool] = {}
        self._judge = judge
        self._limit = max_line_bytes
        self._collect = collect
        self._sightings = Sightings()

    def finish(self) -> None:
        """Report the findings."""
        self._sightings.report(self._judge)

    def at(
        self, line: int, *, byte: int | None = None, pointer: str | None = None, record: str | None = None
    ) -> Location:
        """Return a place in this file."""
        return Location(self._path, line, byte, pointer=pointer, record=record)

    def feed(self, block: Block | LongLine) -> None:
        """Check the next block."""
        if isinstance(block, LongLine):
            self._judge.report(*too_long(self.at(block.line, byte=block.byte), block.length, self._limit))
            self._add_unknown(block.line)
            return
        start, line = 0, block.line
        while start < len(block.data):
            found = clean_records(block.data, start)
            if found is not None:
                self._accept(found, line)
                start, line = start + found.size, line + len(found.offsets)
                continue
            run = first_run(block, line, start)
            self._judge_run(run)
            start, line = start + run.count * (len(run.data) + 1), line + run.count

    def _accept(self, found: CleanRecords, line: int) -> None:
        """Take clean records from a line on."""
        number = len(found.offsets)
        self.found += number
        self.rows.extend(found, line)
        ends = [row for row, _, _ in found.changes[1:]]
        for (row, missing, languages), end in zip(found.changes, [*ends, number], strict=True):
            if missing:
                self._note_missing(
                    line + row, [name for bit, name in enumerate(USUAL_HEADERS) if missing >> bit & 1], end - row
                )
            if languages is not None:
                self._judge_languages(line + row, languages, end - row)
        if self._collect is None:
            return
        if None not in found.ids:
            self._collect(cast("list[int]", found.ids), line - 1, found.headers)
            return
        for row, (identity, headers) in enumerate(zip(found.ids, found.headers, strict=True), line - 1):
            if identity is not None:
                self._collect([identity], row, [headers])

    def _judge_run(self, run: Run) -> None:
        lines = range(run.line, run.line + run.count)
        decoded = read_record(run.data)
        if isinstance(decoded, Unread):
            self._judge.report(*decoded.reported(self.at(run.line, byte=run.byte)), run.count)
            for line in () if decoded.blank else lines:
                self._add_unknown(line)
            return
        for again, line in enumerate(lines):
            self._judge_record(decoded.value, decoded.duplicate_keys, line, run.byte + again * (len(run.data) + 1))

    def _add_unknown(self, line: int) -> None:
        self.found += 1
        self.rows.add(UNKNOWN, UNKNOWN, NO_LENGTH, line)

    def _judge_record(self, record: Any, duplicate_keys: Sequence[str], line: int, byte: int) -> None:
        for key in duplicate_keys[:1]:
            message = f"`{clipped(key)}` occurs twice in one object"
            self._sightings.note(
                EMPTY_RECORD, Problem(message, self.at(line, byte=byte), "write each name once"), "key"
            )
        fault = schema_fault(record, self.at(line, byte=byte))
        if fault is not None:
            self._sightings.note(*fault)
        if not isinstance(record, dict):
            self._add_unknown(line)
            return
        count, offset = as_count(record.get("nb_sentences")), as_count(record.get("offset"))
        if count == 0:
            at = self.at(line, byte=byte, pointer="/nb_sentences")
            hint = "remove the record: a document has at least one line"
            self._sightings.note(EMPTY_RECORD, Problem("`nb_sentences` is 0, expected at least 1", at, hint))
        headers = record.get("headers")
        length = self._judge_headers(headers, line, byte) if isinstance(headers, dict) else NO_LENGTH
        self.found += 1
        self.rows.add(UNKNOWN if offset is None else offset, UNKNOWN if count is None else count, length, line)

    def _judge_headers(self, headers: Json, line: int, byte: int) -> int:
        """Check the headers of one record; return its content-length, or `NO_LENGTH`."""
        fault = header_fault(headers, self.at(line, byte=byte))
        if fault is not None:
            self._sightings.note(*fault)
        shouting = [name for name in headers if name != name.lower()]
        if shouting:
            at = self.at(line, byte=byte, pointer=pointer("headers", shouting[0]))
            names = ", ".join(f"`{clipped(name)}`" for name in shouting[:5])
            problem = Problem(f"the header {names} is not lower case", at, "write names in lower case")
            self._sightings.note(HEADER_NAMES, problem, "case")
        strings = {name.lower(): value for name, value in headers.items() if isinstance(value, str)}
        present = {name.lower() for name in headers}
        missing = [name for name in USUAL_HEADERS if name not in present]
        if missing and DOCUMENT_HEADER not in present:
            self._note_missing(line, missing)
        for name, fault in value_faults(strings, self.at(line, byte=byte)):
            self._sightings.note(*fault, name)
        if LANGUAGES_HEADER in strings:
            self._judge_languages(line, strings[LANGUAGES_HEADER])
        identity = strings.get("warc-record-id")
        if identity is not None and self._collect is not None:
            self._collect([id_hash(identity)], line - 1, [fingerprint(strings)])
        length = strings.get("content-length", "")
        return int(length) if is_length(length) else NO_LENGTH

    def _note_missing(self, line: int, missing: list[str], count: int = 1) -> None:
        minor = missing == [LANGUAGES_HEADER]
        kind = "language" if minor else "missing"
        if self._sightings.again(HEADER_NAMES, count, kind):
            return
        message = f"the header {', '.join(f'`{name}`' for name in missing)} is missing"
        at, hint = self.at(line, pointer="/headers"), "keep the headers of the record"
        self._sightings.note(HEADER_NAMES, Problem(message, at, hint, count=count, minor=minor), kind)

    def _judge_languages(self, line: int, value: str, count: int = 1) -> None:
        known = self._known_languages.get(value)
        if known is None:
            known = not self._accepted.isdisjoint(map(str.strip, value.split(",")))
            if len(self._known_languages) < _MOST_LANGUAGE_LISTS:
                self._known_languages[value] = known
        if not known and not self._sightings.again(CONTENT_LANGUAGE, count):
            at = self.at(line, pointer=f"/headers/{LANGUAGES_HEADER}")
            message = f"the identified languages `{clipped(value)}` do not include `{self._language}`"
            self._sightings.note(CONTENT_LANGUAGE, Problem(message, at, "look at a sample of the text", count=count))


_MOST_LANGUAGE_LISTS = 10_000
