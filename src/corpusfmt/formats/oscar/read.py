"""Internal: Read the documents of one part in order, and check them while reading."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Annotated

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.general import broken_stream, too_long
from corpusfmt.formats.oscar.alignment import LOOKAHEAD, Alignment, Skip
from corpusfmt.formats.oscar.check import Source
from corpusfmt.formats.oscar.keep import (
    BLANK_LINES_HEADER,
    BLANKS,
    CHANGES_HEADER,
    DOCUMENT_HEADER,
    SOURCE,
    changed,
    compact,
    kept_changes,
    kept_document,
    restored,
    with_blank_lines,
)
from corpusfmt.formats.oscar.layout_rules import Pairing
from corpusfmt.formats.oscar.parts import OscarPart, parse_name
from corpusfmt.formats.oscar.records import (
    NO_LENGTH,
    UNKNOWN,
    Rows,
    Unread,
    as_count,
    header_fault,
    read_record,
    schema_fault,
)
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.text import Documents, blank_line_run, empty_text, separator_not_empty
from corpusfmt.formats.oscar.write import CANONICAL_TAIL, SHORT_TAILS
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.formats.pieces import DividedBy, Piece, pieces, utf8_fault_in
from corpusfmt.formats.provenance import RecordIds, document_id, metadata_as, metadata_of
from corpusfmt.formats.rows.writing import fields_of
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.text import has_too_many_values, json_line
from corpusfmt.model import Document, Finding, Json, Location
from corpusfmt.rules import Grading, Judge, finding_of

try:
    from corpusfmt.formats._native import rows_of_pairs
except ImportError:  # no wheel for this platform and no compiler: the same bytes, more slowly
    rows_of_pairs = None  # type: ignore[assignment]

_CANONICAL_TAIL = CANONICAL_TAIL.encode()
_SHORT_TAILS = frozenset(tail.encode() for tail in SHORT_TAILS)
# How many documents and records are compared at a time, and from how many bytes of text on no more are gathered.
_BATCH = 64
_BATCH_BYTES = 4 * 1024 * 1024
_ROWS_BYTES = 256 * 1024


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the documents of a part; unsuitable data and a corrupt stream become `Rejected`."""
    part: OscarPart = shard.payload
    if "other" in shard.files:
        return
    if part.version == "1.0":
        yield from _read_text(shard, part, options)
    else:
        yield from _Pairs(shard, part, options)


def rows(shard: Shard, options: CheckOptions) -> Iterator[EncodedRows | Document | Rejected]:
    """Yield the same as `read`, with usual documents at the beginning of a part as rows."""
    part: OscarPart = shard.payload
    if rows_of_pairs is None or part.version == "1.0" or shard.files.keys() != {"text", "metadata"}:
        yield from read(shard, options)
        return
    pairs = _Pairs(shard, part, options)
    yield from pairs.rows()
    yield from pairs


def document_at(shard: Shard, options: CheckOptions, path: str, line: int) -> Document | None:
    """Return the document at a line of the text or of the metadata of a part, None if there is none that can be read."""
    part: OscarPart = shard.payload
    if part.version == "1.0" and "text" in shard.files:
        for number, piece in enumerate(_pieces(Source(shard.files["text"], options.max_line_bytes), part, options), 1):
            if line in range(piece.line, piece.line + piece.lines):
                document = _document_of_text(piece, number, part, path, options.max_line_bytes)
                return document if isinstance(document, Document) else None
        return None
    pairs = _Pairs(shard, part, options)
    in_text = "text" in shard.files and shard.files["text"].path == path
    for each in pairs:
        lines = pairs.text_lines if in_text else pairs.record_lines
        if lines.start > line:
            break
        if isinstance(each, Document) and line in lines:
            return each
    return None


def unpaired(shard: Shard) -> Finding | None:
    """Return the finding on a part without text or metadata: nothing in it can become a document."""
    part = shard.payload
    if not isinstance(part, OscarPart) or part.version == "1.0" or "other" in shard.files or len(shard.files) > 1:
        return None
    ((role, entry),) = shard.files.items()
    name = parse_name(entry.name)
    files = {name.number if name else None: entry}
    pairing = Pairing(part.language, files, {}) if role == "text" else Pairing(part.language, {}, files)
    judge = Judge(RULES, Grading(), version=part.version, path="")
    judge.check(pairing)
    return judge.tally.findings[0]


def _stream_end(source: Source, version: str) -> Iterator[Rejected]:
    """Yield the faults of a file's stream, except zero bytes after its end, which hide nothing."""
    if source.barred is not None:
        yield Rejected(finding_of(source.barred, RULES, version), b"")
    elif source.fault is not None and source.fault.kind != "padding":
        yield Rejected(finding_of(broken_stream(source.at, source.fault), RULES, version), b"")


def _pieces(source: Source, part: OscarPart, options: CheckOptions) -> Iterator[Piece]:
    """Yield the documents of a 1.0 part: blank lines separate them, or each line is one in a shuffled release."""
    divided_by: DividedBy = "lines" if part.shuffled else "blank-lines"
    return pieces(source.blocks(), options.max_line_bytes, divided_by, is_whole=lambda: not source.cut)


def _text_or_rejected(piece: Piece, path: str, version: str, limit: int) -> str | Rejected:
    at = Location(path, piece.line, piece.byte)
    fault = too_long(at, piece.size, limit, "document") if piece.is_too_long else utf8_fault_in(piece, at)
    return piece.data.decode() if fault is None else Rejected(finding_of(fault, RULES, version), piece.data)


def _read_text(shard: Shard, part: OscarPart, options: CheckOptions) -> Iterator[Document | Rejected]:
    if "text" not in shard.files:
        return
    source = Source(shard.files["text"], options.max_line_bytes)
    number = 0
    for number, piece in enumerate(_pieces(source, part, options), 1):
        yield _document_of_text(piece, number, part, source.at.path, options.max_line_bytes)
    if not number and source.whole:
        yield Rejected(finding_of(empty_text(source.at), RULES, part.version), b"")
    yield from _stream_end(source, part.version)


def _document_of_text(piece: Piece, number: int, part: OscarPart, path: str, limit: int) -> Document | Rejected:
    text = _text_or_rejected(piece, path, part.version, limit)
    if isinstance(text, Rejected):
        return text
    own: Json = {"version": "1.0", "part": part.name, "synthetic_id": True}
    if part.shuffled:
        own["shuffled"] = True
    if piece.lead:
        own["lead"] = piece.lead.decode()
    if piece.tail != _CANONICAL_TAIL:
        own["tail"] = piece.tail.decode()
    identity = f"{part.name}:{number}:{xxh3_64_hexdigest(piece.data)}"
    metadata = metadata_of(own, language=part.language)
    return Document(identity, text, source=SOURCE, lang=part.language, metadata=metadata)


class _Plain(Struct, forbid_unknown_fields=True):
    """A usual record."""

    headers: dict[str, str]
    offset: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    nb_sentences: Annotated[int, msgspec.Meta(ge=0, le=2**53)]


_decode_plain = msgspec.json.Decoder(_Plain).decode


class _Record(Struct):
    """A line of metadata: its JSON text and the needed fields, or its fault."""

    line: int
    raw: bytes
    offset: int = UNKNOWN
    count: int = UNKNOWN
    text: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    finding: Finding | None = None


class _Left:
    """The lines of a file that are left to read: the first ones can be taken from `data`, before the others are read."""

    def __init__(self, blocks: Iterator[Block | LongLine], limit: int) -> None:
        self._blocks = blocks
        self._limit = limit
        self._next: LongLine | None = None
        self.data, self.start = b"", 0
        self.line, self.byte = 1, 0

    def more(self) -> bool:
        """Add a block to `data`; return False if there is none, or no room."""
        if self._next is not None or len(self.data) - self.start > self._limit:
            return False
        block = next(self._blocks, None)
        if not isinstance(block, Block):
            self._next = block
            return False
        self.data, self.start = self.data[self.start :] + block.data, 0
        return True

    def take(self, size: int, line: int) -> None:
        """Take bytes of `data`, which are whole lines; `line` is the next."""
        self.start, self.byte, self.line = self.start + size, self.byte + size, line

    def __iter__(self) -> Iterator[Block | LongLine]:
        if self.start < len(self.data):
            yield Block(self.data[self.start :], self.line, self.byte)
        if self._next is not None:
            yield self._next
        yield from self._blocks


class _Pairs:
    """The documents of a 1.1 part with their records. Mismatches are skipped and become `Rejected`."""

    def __init__(self, shard: Shard, part: OscarPart, options: CheckOptions) -> None:
        self._part = part
        self._limit = options.max_line_bytes
        self._text_path = shard.files["text"].path if "text" in shard.files else ""
        self._metadata_path = shard.files["metadata"].path if "metadata" in shard.files else ""
        self._sources = [Source(entry, self._limit) for entry in shard.files.values()]
        by_role = dict(zip(shard.files, self._sources, strict=True))
        text, metadata = by_role.get("text"), by_role.get("metadata")
        self._left = {role: _Left(source.blocks(), self._limit) for role, source in by_role.items()}
        self._pieces = (
            pieces(self._left["text"], self._limit, "blank-lines", is_whole=lambda: not text.cut) if text else iter(())
        )
        self._records = self._read_records(self._left["metadata"]) if metadata else iter(())
        self._held_pieces: deque[Piece] = deque()
        self._held_records: deque[_Record] = deque()
        self._ended = {"text": text is None, "metadata": metadata is None}
        self._alignment = Alignment(Rows(), Documents(), set(), self._metadata_path)
        self._own = f'{{"version":"1.1","part":{json.dumps(part.name, ensure_ascii=False)},"record":'
        self._ids = RecordIds(part.name)
        self._unpaired = unpaired(shard)
        self._found = 0
        self._refusing = False
        self._blank: list[Rejected] = []
        #: Where the latest document is in both files.
        self.text_lines = self.record_lines = range(0)

    def __iter__(self) -> Iterator[Document | Rejected]:
        alignment = self._alignment
        reason = self._unpaired
        while reason is None:
            self._fill(_BATCH, _BATCH_BYTES)
            agreeing = alignment.agreeing()
            if not agreeing:
                self._fill(LOOKAHEAD)
                agreeing = alignment.agreeing()
            yield from self._blank_lines()
            if agreeing:
                yield from self._take(agreeing)
            elif not self._held_pieces and not self._held_records:
                break
            elif not self._whole():
                damaged = next(source for source in self._sources if not source.whole)
                reason = next(self._end_of(damaged)).finding
            else:
                reason = yield from self._step()
        if reason is not None:
            yield from self._rest(reason)
        yield from self._blank_lines()
        for source in self._sources:
            yield from self._end_of(source)
        if not self._found and not self._refusing and self._whole():
            path = self._text_path or self._metadata_path
            yield Rejected(finding_of(empty_text(Location(path)), RULES, self._part.version), b"")

    def _end_of(self, source: Source) -> Iterator[Rejected]:
        return _stream_end(source, self._part.version)

    def _whole(self) -> bool:
        return all(source.whole for source in self._sources)

    def _blank_lines(self) -> Iterator[Rejected]:
        yield from self._blank
        self._blank.clear()

    def _fill(self, number: int, most_bytes: int | None = None) -> None:
        """Read until at least `number` documents and records, or at least one and `most_bytes`, are in memory."""
        documents, rows = self._alignment.documents, self._alignment.rows
        size = 0
        while len(self._held_pieces) < number and (piece := next(self._pieces, None)):
            self._held_pieces.append(piece)
            documents.starts.append(piece.line - 1)
            documents.counts.append(piece.lines)
            documents.sizes.append(0)
            documents.gaps.append(piece.gap)
            size += piece.size
            if most_bytes is not None and size >= most_bytes:
                number = len(self._held_pieces)
        while len(self._held_records) < number and (record := next(self._records, None)):
            self._held_records.append(record)
            rows.add(record.offset, record.count, NO_LENGTH, record.line)

    def _read_records(self, blocks: Iterable[Block | LongLine]) -> Iterator[_Record]:
        for block in blocks:
            number, byte = block.line, block.byte
            for line in [block] if isinstance(block, LongLine) else block.data.removesuffix(b"\n").split(b"\n"):
                record = None if isinstance(line, LongLine) else _plain_record(line, number)
                record = record or self._judged_record(line, Location(self._metadata_path, number, byte))
                if record is not None:
                    yield record
                if not isinstance(line, LongLine):
                    number, byte = number + 1, byte + len(line) + 1

    def _judged_record(self, line: bytes | LongLine, at: Location) -> _Record | None:
        """Return a record with its findings; None for a line that is not a record."""
        version, number = self._part.version, at.line or 0
        if isinstance(line, LongLine):
            return _Record(number, b"", finding=finding_of(too_long(at, line.length, self._limit), RULES, version))
        decoded = read_record(line)
        if isinstance(decoded, Unread):
            finding = finding_of(decoded.reported(at), RULES, version)
            if decoded.blank:
                self._blank.append(Rejected(finding, line))
                return None
            return _Record(number, line, finding=finding)
        fault = schema_fault(decoded.value, at) or header_fault(decoded.value["headers"], at)
        value = decoded.value if isinstance(decoded.value, dict) else {}
        offset, count = as_count(value.get("offset")), as_count(value.get("nb_sentences"))
        return _Record(
            number,
            line,
            UNKNOWN if offset is None else offset,
            UNKNOWN if count is None else count,
            line.decode().strip(BLANKS),
            value.get("headers", {}),
            finding_of(fault, RULES, version) if fault else None,
        )

    def _take(self, number: int) -> Iterator[Document | Rejected]:
        self._alignment.take(number)
        for _ in range(number):
            piece, record = self._held_pieces.popleft(), self._held_records.popleft()
            if not self._held_pieces:
                self._fill(1)
            yield from self._document(piece, record, last=not self._held_pieces)

    def _step(self) -> Generator[Rejected, None, Finding | None]:
        """Reject what does not match; return the reason if nothing after it matches either."""
        alignment = self._alignment
        is_end = len(self._held_pieces) < LOOKAHEAD and len(self._held_records) < LOOKAHEAD
        step = alignment.next_step(is_end=is_end)
        if step.lost:
            return finding_of(alignment.reason(step), RULES, self._part.version)
        if not step.rows and not step.documents:
            fault = alignment.explain(step)
            alignment.pass_over(step)
            if fault is not None:
                yield Rejected(finding_of(fault, RULES, self._part.version), b"")
        for single in _singly(step, alignment.shift):
            reason = finding_of(alignment.reason(single), RULES, self._part.version)
            alignment.pass_over(single)
            pieces = [self._held_pieces.popleft() for _ in range(single.documents)]
            records = [self._held_records.popleft() for _ in range(single.rows)]
            yield from self._refused(pieces, records, reason)
        return None

    def _rest(self, reason: Finding) -> Iterator[Rejected]:
        """Reject every further document and record for the same reason."""
        yield from self._refused(
            chain(self._held_pieces, self._pieces), chain(self._held_records, self._records), reason
        )

    def _refused(self, pieces: Iterable[Piece], records: Iterable[_Record], reason: Finding) -> Iterator[Rejected]:
        """Reject documents with the records in their place; a faulty record gives its own reason."""
        for piece, record in zip_longest(pieces, records):
            self._refusing = True
            self._found += piece is not None
            raw = (record.raw + b"\n" if record else b"") + (piece.data + _CANONICAL_TAIL if piece else b"")
            yield Rejected((record and record.finding) or reason, raw)

    def _document(self, piece: Piece, record: _Record, *, last: bool) -> Iterator[Document | Rejected]:
        self._found += 1
        number = self._found
        self.text_lines = range(piece.line, piece.line + piece.lines)
        self.record_lines = range(record.line, record.line + 1)
        if record.finding is not None:
            yield Rejected(record.finding, record.raw + b"\n" + piece.data)
            return
        text = _text_or_rejected(piece, self._text_path, self._part.version, self._limit)
        if isinstance(text, Rejected):
            yield text
            return
        yield self._made(text, piece, record, number, last=last)
        if piece.lead:
            yield self._separator_rejected(piece.lead, 1, leading=True)
        if piece.tail != _CANONICAL_TAIL and not (last and piece.tail in _SHORT_TAILS):
            yield self._separator_rejected(piece.tail, piece.line + piece.lines, leading=False)

    def _separator_rejected(self, separator: bytes, line: int, *, leading: bool) -> Rejected:
        at = Location(self._text_path, line)
        odd = separator.strip(b"\n")
        fault = separator_not_empty(at, odd) if odd else blank_line_run(at, leading=leading)
        return Rejected(finding_of(fault, RULES, self._part.version), separator)

    def _made(self, text: str, piece: Piece, record: _Record, number: int, *, last: bool) -> Document:
        headers, language = record.headers, self._part.language
        if BLANK_LINES_HEADER in headers:
            text = with_blank_lines(text, headers[BLANK_LINES_HEADER])
        kept = kept_document(headers[DOCUMENT_HEADER]) if DOCUMENT_HEADER in headers else None
        if kept is not None:
            return restored(kept, text, language)
        found = kept_changes(headers[CHANGES_HEADER]) if CHANGES_HEADER in headers else None
        own = f"{self._own}{record.text if found is None else _without_changes(record.text)}"
        if last and piece.tail in _SHORT_TAILS:
            own += f',"tail":{json.dumps(piece.tail.decode())}'
        document = Document(
            self._ids.of(headers.get("warc-record-id"), language, number),
            text,
            source=SOURCE,
            lang=language,
            created=headers.get("warc-date"),
            metadata=metadata_as(own + "}", url=headers.get("warc-target-uri"), language=language),
        )
        return document if found is None else changed(document, found)

    def rows(self) -> Iterator[EncodedRows]:
        """Yield documents as rows, up to the first that is unusual in any way, and the last."""
        text, records, alignment = self._left["text"], self._left["metadata"], self._alignment
        row = json_line(self._row("\0", "\0")).replace(rb"\u0000", b"\0")
        like = [self._row("a text", "2021-02-03T04:05:06Z")]
        language = self._part.language.encode()
        while True:
            while self._lacks_more(text, records):
                pass
            data, ids, text_size, records_size, line = rows_of_pairs(
                memoryview(text.data)[text.start : text.start + self._limit],  # a longer document is rejected
                memoryview(records.data)[records.start :],
                row,
                text.line - 1,
                _ROWS_BYTES,
            )
            if not data:
                break
            record_ids = ids.split(b"\n")[:-1]
            if not self._ids.are_new(record_ids):
                break
            text.take(text_size, line + 1)
            records.take(records_size, records.line + len(record_ids))
            last = records.data[records.data.rfind(b"\n", 0, records.start - 1) + 1 : records.start]
            alignment.last_offset = _decode_plain(last).offset
            self._found += len(record_ids)
            names = [b"%s\t%s#%s" % (SOURCE.encode(), each[1:-1], language) for each in record_ids]
            yield EncodedRows(data, names=names, like=like)
        alignment.row_number = alignment.last_line = self._found

    @staticmethod
    def _lacks_more(text: _Left, records: _Left) -> bool:
        """Read more of what the next document or record lacks; return False if it lacks nothing, or there is no more."""
        end = text.data.find(_CANONICAL_TAIL, text.start)
        if end < 0 or end + len(_CANONICAL_TAIL) == len(text.data):
            return text.more()
        return records.data.find(b"\n", records.start) < 0 and records.more()

    def _row(self, value: str, date: str) -> Json:
        """Return a row with a value in place of the id of the record, the text, the URL and the record."""
        language = self._part.language
        metadata = metadata_as(f"{self._own}{value}}}", url=value, language=language)
        document = Document(document_id(value, language), value, source=SOURCE, created=date, metadata=metadata)
        return fields_of(document)


def _singly(step: Skip, shift: int) -> list[Skip]:
    """Return a step over only documents or records as single steps: each has its own reason."""
    if step.rows and step.documents:
        return [step]
    steps = [Skip(1, 0, shift)] * step.rows + [Skip(0, 1, shift)] * step.documents
    return [*steps[:-1], replace(steps[-1], shift=step.shift)] if steps else []


def _plain_record(line: bytes, number: int) -> _Record | None:
    """Return a usual record; None if the rules must check it."""
    if has_too_many_values(line):
        return None
    try:
        text = line.decode()
        plain = _decode_plain(text)
    except (UnicodeDecodeError, msgspec.MsgspecError, RecursionError):
        return None
    return _Record(number, line, plain.offset, plain.nb_sentences, text.strip(BLANKS), plain.headers)


def _without_changes(record: str) -> str:
    value = json.loads(record)
    del value["headers"][CHANGES_HEADER]
    return compact(value)
