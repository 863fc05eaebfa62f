"""Read the documents of one part, in order, judging what is read as it is read."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from xxhash import xxh3_64_hexdigest

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.general import BadText, BrokenStream, TooLong, Unreadable
from corpusfmt.formats.oscar.alignment import LOOKAHEAD, Alignment
from corpusfmt.formats.oscar.check import Source
from corpusfmt.formats.oscar.metadata import (
    NO_LENGTH,
    UNKNOWN,
    Fault,
    HeaderNotString,
    Rows,
    SchemaFault,
    as_count,
    described,
    read_record,
    schema_fault,
)
from corpusfmt.formats.oscar.parts import Part
from corpusfmt.formats.oscar.ruleset import RULES
from corpusfmt.formats.oscar.text import BlankRun, Documents, EmptyText, OddSeparator
from corpusfmt.formats.oscar.write import BLANK_LINES_HEADER, BLANKS, CANONICAL_TAIL, DOCUMENT_HEADER, EMPTY_TEXT
from corpusfmt.formats.provenance import RecordIds, metadata_of
from corpusfmt.io.lines import Block, LongLine
from corpusfmt.io.text import utf8_fault
from corpusfmt.model import Document, Finding, Json, Location
from corpusfmt.rules import Grading, Judge

_CANONICAL_TAIL = CANONICAL_TAIL.encode()
_BLANKS = b" \t\r"
# A part without any blank line this far in is a shuffled one: each of its lines is a document.
_SHUFFLED_AFTER = 8 * 1024 * 1024


@dataclass(slots=True)
class Piece:
    """A document of a text file as it stands there: first line (from 0), lines, and the separators around them.

    `too_long` is the number of bytes of a document beyond the limit, whose lines are not held.
    """

    start: int
    byte: int
    lines: list[bytes] = field(default_factory=list)
    count: int = 0
    size: int = 0
    lead: bytes = b""
    tail: bytes = b""
    gap: int = 1
    too_long: int = 0

    @property
    def data(self) -> bytes:
        return b"\n".join(self.lines)

    def add(self, line: bytes, limit: int) -> None:
        self.count += 1
        self.size += len(line) + 1
        if self.size > limit or self.too_long:
            self.lines.clear()
            self.too_long = self.size
        else:
            self.lines.append(line)


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the documents of a part; what cannot become one, and a stream that breaks off, as `Rejected`."""
    part: Part = shard.payload
    if "other" in shard.files:
        return
    if part.version == "1.0":
        yield from _read_text(shard, part, options)
    else:
        yield from _Pairs(shard, part, options)


def _finding(subject: Any, version: str) -> Finding:
    """Return what the rules say of a subject, whatever the user asked to be reported."""
    judge = Judge(RULES, Grading(), version=version, path="")
    judge.check(subject)
    return judge.tally.findings[0]


def _stream_end(source: Source, version: str) -> Iterator[Rejected]:
    """Yield what went wrong with a file as a file."""
    if source.unreadable is not None:
        yield Rejected(_finding(Unreadable(source.at, source.unreadable), version), b"")
    elif source.fault is not None:
        yield Rejected(_finding(BrokenStream(source.at, source.fault), version), b"")


def _is_separator(line: bytes) -> bool:
    return not line.strip(_BLANKS)


def pieces(blocks: Iterable[Block | LongLine], source: Source, limit: int, *, shuffled: bool) -> Iterator[Piece]:
    """Cut text into documents; the one in which a stream breaks off is left out."""
    piece: Piece | None = None
    lead = b""
    gap = 1
    for line, number, byte, end in _lines(blocks):
        separates = line is not None and _is_separator(line)
        if separates and line is not None:
            if piece is None:
                lead += line + end
            else:
                piece.tail += line + end
            gap += 1
            continue
        if piece is not None and (piece.tail != b"\n" or shuffled):
            yield piece
            piece = None
        if piece is None:
            piece = Piece(number, byte, lead=lead, gap=gap)
            lead = b""
        if line is None:
            piece.too_long, piece.size, piece.count = 1, piece.size + 1, piece.count + 1
            piece.lines.clear()
        else:
            piece.add(line, limit)
        piece.tail, gap = end, 0
    if piece is not None and not source.cut:
        yield piece


def _lines(blocks: Iterable[Block | LongLine]) -> Iterator[tuple[bytes | None, int, int, bytes]]:
    """Yield each line (None for one over the limit), its number from 0, its byte and what ends it."""
    for block in blocks:
        if isinstance(block, LongLine):
            yield None, block.line - 1, block.byte, b"\n"
            continue
        *whole, rest = block.data.split(b"\n")
        number, byte = block.line - 1, block.byte
        for line in whole:
            yield line, number, byte, b"\n"
            number, byte = number + 1, byte + len(line) + 1
        if rest:
            yield rest, number, byte, b""


def _text_or_rejected(piece: Piece, path: str, version: str, limit: int) -> str | Rejected:
    at = Location(path, piece.start + 1, piece.byte)
    if piece.too_long:
        return Rejected(_finding(TooLong(at, piece.size, limit), version), b"")
    try:
        return piece.data.decode()
    except UnicodeDecodeError:
        number, line = next((n, line) for n, line in enumerate(piece.lines) if utf8_fault(line))
        fault = utf8_fault(line)
        column = fault.column if fault else 1
        byte = piece.byte + sum(len(before) + 1 for before in piece.lines[:number]) + column - 1
        bad = BadText(Location(path, piece.start + number + 1, byte, column), fault.reason if fault else "")
        return Rejected(_finding(bad, version), piece.data)


def _read_text(shard: Shard, part: Part, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Read a 1.0 part: documents stand between blank lines, or, where there are none at all, on a line each."""
    if "text" not in shard.files:
        return
    entry = shard.files["text"]
    limit = options.max_line_bytes
    source = Source(entry, limit)
    blocks, shuffled = _peeked(source)
    found = 0
    for found, piece in enumerate(pieces(blocks, source, limit, shuffled=shuffled), 1):
        text = _text_or_rejected(piece, entry.path, part.version, limit)
        if isinstance(text, Rejected):
            yield text
            continue
        own: Json = {"version": "1.0", "part": part.name, "synthetic_id": True}
        own.update(_separators(piece))
        identity = f"{part.name}:{found}:{xxh3_64_hexdigest(piece.data)}"
        metadata = metadata_of(own, language=part.language)
        yield Document(identity, text, source="oscar", lang=part.language, metadata=metadata)
    if not found and source.whole:
        yield Rejected(_finding(EmptyText(at=source.at), part.version), b"")
    yield from _stream_end(source, part.version)


def _separators(piece: Piece) -> Json:
    """Return what stands around a document where it is not what our writer puts there."""
    around = {}
    if piece.lead:
        around["lead"] = piece.lead.decode()
    if piece.tail != _CANONICAL_TAIL:
        around["tail"] = piece.tail.decode()
    return around


def _peeked(source: Source) -> tuple[Iterator[Block | LongLine], bool]:
    """Look at the start of a text for blank lines; return all of its blocks, and whether it is a shuffled one."""
    blocks = source.blocks()
    seen: list[Block | LongLine] = []
    size = 0
    for block in blocks:
        seen.append(block)
        if isinstance(block, LongLine):
            continue
        size += len(block.data)
        if block.data.startswith(b"\n") or b"\n\n" in block.data:
            return chain(seen, blocks), False
        if size >= _SHUFFLED_AFTER:
            break
    # A text that breaks off within its first document has not shown whether blank lines would follow.
    return chain(seen, blocks), not source.cut


@dataclass(slots=True)
class _Record:
    """A line of metadata: its JSON value, or what is wrong with it."""

    line: int
    raw: bytes
    value: Json
    finding: Finding | None = None


class _Pairs:
    """Documents of a 1.1 part with their records. Where the two do not fit, what is skipped is handed out as rejected."""

    def __init__(self, shard: Shard, part: Part, options: CheckOptions) -> None:
        self._part = part
        self._limit = options.max_line_bytes
        self._text_path = shard.files["text"].path if "text" in shard.files else ""
        self._metadata_path = shard.files["metadata"].path if "metadata" in shard.files else ""
        self._sources = [Source(entry, self._limit) for entry in shard.files.values()]
        by_role = dict(zip(shard.files, self._sources, strict=True))
        text, metadata = by_role.get("text"), by_role.get("metadata")
        self._pieces = pieces(text.blocks(), text, self._limit, shuffled=False) if text else iter(())
        self._records = self._read_records(metadata.blocks()) if metadata else iter(())
        self._held_pieces: deque[Piece] = deque()
        self._held_records: deque[_Record] = deque()
        self._ended = {"text": text is None, "metadata": metadata is None}
        self._alignment = Alignment(Rows(), Documents(), set(), self._metadata_path)
        self._ids = RecordIds(part.name)
        self._found = 0
        self._blank: list[Rejected] = []

    def __iter__(self) -> Iterator[Document | Rejected]:
        alignment = self._alignment
        while True:
            self._fill(1)
            agreeing = alignment.agreeing()
            if not agreeing:
                self._fill(LOOKAHEAD)
                agreeing = alignment.agreeing()
            yield from self._blank_lines()
            if agreeing:
                yield from self._take(agreeing)
            elif not self._whole():
                break
            elif self._held_pieces or self._held_records:
                yield from self._step()
            else:
                break
        yield from self._blank_lines()
        for source in self._sources:
            yield from _stream_end(source, self._part.version)
        if not self._found and self._whole():
            path = self._text_path or self._metadata_path
            yield Rejected(_finding(EmptyText(at=Location(path)), self._part.version), b"")

    def _whole(self) -> bool:
        return all(source.whole for source in self._sources)

    def _blank_lines(self) -> Iterator[Rejected]:
        yield from self._blank
        self._blank.clear()

    def _fill(self, number: int) -> None:
        """Have at least so many documents and records at hand, unless there are no more."""
        alignment = self._alignment
        while len(self._held_pieces) < number and (piece := next(self._pieces, None)):
            self._held_pieces.append(piece)
            alignment.documents.starts.append(piece.start)
            alignment.documents.counts.append(piece.count)
            alignment.documents.sizes.append(0)
            alignment.documents.gaps.append(piece.gap)
        while len(self._held_records) < number and (record := next(self._records, None)):
            self._held_records.append(record)
            offset, count = as_count(record.value.get("offset")), as_count(record.value.get("nb_sentences"))
            alignment.rows.offsets.append(UNKNOWN if offset is None else offset)
            alignment.rows.counts.append(UNKNOWN if count is None else count)
            alignment.rows.lengths.append(NO_LENGTH)
            alignment.rows.lines.append(record.line)

    def _read_records(self, blocks: Iterable[Block | LongLine]) -> Iterator[_Record]:
        version = self._part.version
        for line, number, byte, _ in _lines(blocks):
            at = Location(self._metadata_path, number + 1, byte)
            if line is None:
                yield _Record(number + 1, b"", {}, _finding(TooLong(at, self._limit + 1, self._limit), version))
                continue
            decoded = read_record(line)
            if isinstance(decoded, Fault):
                finding = _finding(decoded.subject(at), version)
                if decoded.blank:
                    self._blank.append(Rejected(finding, line))
                else:
                    yield _Record(number + 1, line, {}, finding)
                continue
            subject = _record_fault(decoded.value, at)
            value = decoded.value if isinstance(decoded.value, dict) else {}
            yield _Record(number + 1, line, value, _finding(subject, version) if subject else None)

    def _take(self, number: int) -> Iterator[Document | Rejected]:
        self._alignment.take(number)
        for _ in range(number):
            piece, record = self._held_pieces.popleft(), self._held_records.popleft()
            if not self._held_pieces:
                self._fill(1)
            yield from self._document(piece, record, last=not self._held_pieces)

    def _step(self) -> Iterator[Document | Rejected]:
        step = self._alignment.next_step(text_ended=self._all_text(), metadata_ended=self._all_records())
        seen = self._alignment.explain(step)
        self._alignment.pass_over(step)
        records = [self._held_records.popleft() for _ in range(step.rows)]
        skipped = [self._held_pieces.popleft() for _ in range(step.documents)]
        self._found += step.documents
        finding = _finding(seen, self._part.version) if seen is not None else None
        findings = [record.finding for record in records if record.finding] or ([finding] if finding else [])
        raw = b"".join(chain((r.raw + b"\n" for r in records), (p.data + _CANONICAL_TAIL for p in skipped)))
        yield from (Rejected(each, raw) for each in findings)
        if step.lost:
            yield from self._drain(findings)

    def _all_text(self) -> bool:
        return len(self._held_pieces) < LOOKAHEAD

    def _all_records(self) -> bool:
        return len(self._held_records) < LOOKAHEAD

    def _drain(self, findings: list[Finding]) -> Iterator[Rejected]:
        """Nothing fits any more: hand out every further document and record as rejected for the same reason."""
        for piece in self._pieces:
            self._found += 1
            yield from (Rejected(each, piece.data + _CANONICAL_TAIL) for each in findings)
        for record in self._records:
            yield from (Rejected(each, record.raw + b"\n") for each in findings)

    def _document(self, piece: Piece, record: _Record, *, last: bool) -> Iterator[Document | Rejected]:
        self._found += 1
        number = self._found
        if record.finding is not None:
            yield Rejected(record.finding, record.raw + b"\n" + piece.data)
            return
        text = _text_or_rejected(piece, self._text_path, self._part.version, self._limit)
        if isinstance(text, Rejected):
            yield text
            return
        yield self._made(text, piece, record.value, number, last=last)
        if piece.lead:
            yield self._separator_rejected(piece.lead, 1, leading=True)
        if piece.tail != _CANONICAL_TAIL and not last:
            yield self._separator_rejected(piece.tail, piece.start + piece.count + 1, leading=False)

    def _separator_rejected(self, separator: bytes, line: int, *, leading: bool) -> Rejected:
        at = Location(self._text_path, line)
        odd = separator.strip(b"\n")
        subject = OddSeparator(at=at, shown=ascii(odd.decode())[1:-1]) if odd else BlankRun(at=at, leading=leading)
        return Rejected(_finding(subject, self._part.version), separator)

    def _made(self, text: str, piece: Piece, record: Json, number: int, *, last: bool) -> Document:
        headers = record["headers"]
        if BLANK_LINES_HEADER in headers:
            text = _with_blank_lines(text, headers[BLANK_LINES_HEADER])
        kept = _kept_document(headers.get(DOCUMENT_HEADER))
        if kept is not None:
            return _restored(kept, text, self._part.language)
        own: Json = {"version": "1.1", "part": self._part.name, "record": record}
        if last and piece.tail != _CANONICAL_TAIL:
            own["tail"] = piece.tail.decode()
        return Document(
            self._ids.of(headers.get("warc-record-id"), self._part.language, number),
            text,
            source="oscar",
            lang=self._part.language,
            created=headers.get("warc-date"),
            metadata=metadata_of(own, language=self._part.language),
        )


def _record_fault(value: Any, at: Location) -> SchemaFault | HeaderNotString | None:
    fault = schema_fault(value)
    if fault is not None:
        return SchemaFault(at=Location(at.path, at.line, at.byte, pointer=fault[0]), message=fault[1])
    for name, header in value["headers"].items():
        if not isinstance(header, str):
            return HeaderNotString(at=at, name=name, found=described(header))
    return None


def _kept_document(header: str | None) -> Json | None:
    """Return what our writer kept of a document of another format; None where the header is absent or not ours."""
    if header is None:
        return None
    try:
        kept = json.loads(header)
    except ValueError:
        return None
    if not isinstance(kept, dict) or not isinstance(kept.get("id"), str):
        return None
    objects = (kept.get(name) for name in ("metadata", "attributes", "extra"))
    texts = (kept.get(name) for name in ("source", "added", "created"))
    ours = all(isinstance(value, dict | None) for value in objects) and all(
        isinstance(text, str | None) for text in texts
    )
    return kept if ours else None


def _restored(kept: Json, text: str, language: str) -> Document:
    named = {name: kept.get(name) for name in ("source", "added", "created", "metadata", "attributes")}
    extra = dict(kept.get("extra") or {})
    extra.update((name, value) for name, value in kept.items() if name not in {"id", "extra", *named})
    return Document(kept["id"], text, lang=language, extra=extra, **named)


def _with_blank_lines(text: str, header: str) -> str:
    """Put the lines back that OSCAR takes for separators, as `write.BLANK_LINES_HEADER` lists them."""
    nothing_else = header.startswith("=") and text == EMPTY_TEXT
    left_out = _left_out_lines(header.removeprefix("=") if nothing_else else header)
    if left_out is None:
        return text
    numbers = [number for number, _ in left_out]
    lines = [] if nothing_else else text.split("\n")
    if numbers != sorted(set(numbers)) or numbers[0] < 0 or numbers[-1] >= len(lines) + len(numbers):
        return text
    for number, line in left_out:
        lines.insert(number, line)
    return "\n".join(lines)


def _left_out_lines(header: str) -> list[tuple[int, str]] | None:
    """Return number and content of each line that a header lists; None where the header is not of our making."""
    try:
        pairs = [entry.partition(":") for entry in header.split(",")]
        lines = [(int(number), bytes.fromhex(content).decode()) for number, _, content in pairs]
    except ValueError:
        return None
    return None if any(line.strip(BLANKS) for _, line in lines) else lines
