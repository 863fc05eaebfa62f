"""Read a file of records: clean blocks at a glance, the others judged by the rules."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Rejected, Shard
from corpusfmt.formats.general import barred, broken_stream, too_long
from corpusfmt.formats.oscar2.records import explain
from corpusfmt.formats.oscar2.ruleset import RULES
from corpusfmt.formats.provenance import RecordIds
from corpusfmt.io.jsonlines import AnyJson, decoded_lines
from corpusfmt.io.lines import Block, LongLine, blocks, runs
from corpusfmt.io.paths import Entry
from corpusfmt.io.scan import count_quotes, double_encoding_at
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import Coverage, Document, Fault, Json, Location, Severity
from corpusfmt.rules import Grading, Judge

_PIECE = 256 * 1024


class _Identification(TypedDict):
    label: str
    prob: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | float


class _Metadata(TypedDict):
    identification: _Identification
    sentence_identifications: list[_Identification | None]
    annotation: NotRequired[list[str] | None]
    quality_warnings: NotRequired[list[str] | None]
    categories: NotRequired[list[str] | None]


class _Record(TypedDict):
    content: str
    warc_headers: dict[str, str]
    metadata: _Metadata


_decode = msgspec.json.Decoder(dict[str, AnyJson]).decode_lines
_encode = msgspec.json.Encoder().encode


class Doubtful(Struct, frozen=True):
    """A line, `times` of which follow each other, that no glance can accept; or what befell the file, its `trouble`."""

    raw: bytes
    at: Location
    trouble: Fault | None = None
    times: int = 1

    def judged(self, language: str | None, judge: Judge) -> Json | None:
        """Run the rules; return the object on the line where there is one."""
        if self.trouble is None:
            return explain(self.raw, self.at, language, judge, self.times)
        judge.report(*self.trouble)
        return None


def scan(entry: Entry, language: str | None, options: CheckOptions, coverage: Coverage) -> Iterator[Json | Doubtful]:
    """Yield the records of a file in order; what is not clean beyond doubt, and what breaks the stream off, as `Doubtful`."""
    at = Location(entry.path)
    limit = options.max_line_bytes
    try:
        with entry.open() as file:
            chunks = Chunks(file, codec_of_name(entry.name), entry.path)
            try:
                for block in blocks(chunks, limit):
                    if isinstance(block, LongLine):
                        place = Location(entry.path, block.line, block.byte)
                        yield Doubtful(b"", place, too_long(place, block.length, limit))
                    else:
                        yield from _rows(block.data, entry.path, block.line, block.byte, language)
            except StreamFault as fault:
                yield Doubtful(b"", at, broken_stream(at, fault))
            coverage.bytes += chunks.bytes
    except OSError as error:
        yield Doubtful(b"", at, barred(error, at))


def _rows(data: bytes, path: str, line: int, byte: int, language: str | None) -> Iterator[Json | Doubtful]:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _PIECE) + 1 or len(data)
        piece = data[start:end]
        clean = _clean(piece, language)
        if clean is not None:
            yield from clean
            line += len(clean)
        else:
            for run in runs(Block(piece, line, byte + start)):
                alone = _clean(run.data, language)
                if alone:
                    yield from alone * run.count
                else:
                    yield Doubtful(run.data, Location(path, run.line, run.byte), times=run.count)
                line += run.count
        start = end


def _clean(data: bytes, language: str | None) -> list[Json] | None:
    """Return the records of whole lines, None where a rule may have something to say."""
    if double_encoding_at(data, 0, True) >= 0:
        return None
    rows = decoded_lines(_decode, data)
    if rows is None:
        return None
    try:
        msgspec.convert(rows, list[_Record])
    except msgspec.ValidationError:
        return None
    if not all(map(_is_of_a_piece, rows)) or not all(_is_filed_right(row, language) for row in rows):
        return None
    return rows if count_quotes(data) == count_quotes(_encode(rows)) else None


def _is_of_a_piece(row: Json) -> bool:
    lines: int = row["content"].count("\n") + 1
    return len(row["metadata"]["sentence_identifications"]) == lines


def _is_filed_right(row: Json, language: str | None) -> bool:
    return language is None or row["metadata"]["identification"]["label"] == language


def read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected]:
    """Yield the records of a file as documents; one that the schema forbids, and a stream that breaks off, as `Rejected`.

    A document's language is that of its file, or where the name of the file says none, the one it was identified as. Its
    metadata holds `language`, `url`, and as `oscar` every field of the record but the content.
    """
    language: str | None = shard.payload
    ids = RecordIds(shard.target.partition(".")[0])
    scanned = scan(shard.files["records"], language, options, Coverage())
    for number, found in enumerate(chain.from_iterable(map(_singly, scanned)), 1):
        if not isinstance(found, Doubtful):
            yield _document(found, language, ids, number)
            continue
        judge = Judge(RULES, Grading(), version=options.version, path=shard.name)
        record = found.judged(language, judge)
        errors = [finding for finding in judge.tally.findings if finding.severity is Severity.ERROR]
        if errors:
            yield Rejected(errors[0], found.raw)
        elif record is not None:
            yield _document(record, language, ids, number)


def _singly(found: Json | Doubtful) -> Iterator[Json | Doubtful]:
    if not isinstance(found, Doubtful) or found.times == 1:
        yield found
        return
    line, byte = found.at.line or 1, found.at.byte or 0
    for index in range(found.times):
        at = Location(found.at.path, line + index, byte + index * (len(found.raw) + 1))
        yield replace(found, at=at, times=1)


def _document(record: Json, language: str | None, ids: RecordIds, number: int) -> Document:
    headers: dict[str, str] = record["warc_headers"]
    filed = language or record["metadata"]["identification"]["label"]
    metadata: dict[str, Any] = {"language": filed, "url": headers.get("warc-target-uri")}
    metadata["oscar"] = {name: value for name, value in record.items() if name != "content"}
    return Document(
        ids.of(headers.get("warc-record-id"), filed, number),
        record["content"],
        source="oscar",
        lang=filed,
        created=headers.get("warc-date"),
        metadata=metadata,
    )
