"""Internal: The formats OSCAR 1.0 and 1.1."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.describing import (
    BCP_47,
    Contents,
    Describer,
    FieldOf,
    RecordSetOf,
    count_lines,
    files_of,
    language_in,
    patterns,
    typed,
)
from corpusfmt.formats.general import broken_stream, too_long
from corpusfmt.formats.oscar.check import check
from corpusfmt.formats.oscar.dataset import finish
from corpusfmt.formats.oscar.keep import SOURCE
from corpusfmt.formats.oscar.layout import detect, plan
from corpusfmt.formats.oscar.mend import mends
from corpusfmt.formats.oscar.parts import checksum_code
from corpusfmt.formats.oscar.read import document_at, read, rows, unpaired
from corpusfmt.formats.oscar.records import Unread, header_fault, read_record, schema_fault
from corpusfmt.formats.oscar.ruleset import RULES, VERSIONS
from corpusfmt.formats.oscar.write import OSCAR_1_0, OSCAR_1_1
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.lines import MAX_LINE_BYTES, Line, LongLine, lines
from corpusfmt.io.paths import Entry
from corpusfmt.io.streams import Chunks, StreamFault, codec_of_name
from corpusfmt.model import Fault, Finding, Json, Location
from corpusfmt.rules import finding_of

_WITH_METADATA = "1.1"
_METADATA_FIELDS = (
    FieldOf("record_id", "sc:Text", {"column": "headers"}, "Identifier of the crawled record", "$['warc-record-id']"),
    FieldOf("url", "sc:URL", {"column": "headers"}, "Address of the page", "$['warc-target-uri']"),
    FieldOf("date", "sc:DateTime", {"column": "headers"}, "When the page was crawled", "$['warc-date']"),
    FieldOf("offset", "sc:Integer", {"column": "offset"}, "First line of the document in its part, counted from 0"),
    FieldOf("nb_sentences", "sc:Integer", {"column": "nb_sentences"}, "Number of lines of the document"),
)


# What is counted, by the role of a file in a shard.
_COUNTED = {"text": "lines", "metadata": "metadata"}


def _text(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    yield files_of((path for path in paths if path.endswith(".txt.gz")), contents, language_in)


def _text_and_metadata(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    yield from _text(paths, contents)
    metadata = patterns(path for path in paths if path.endswith(".jsonl.gz"))
    summary = "The metadata, one record per document, in the order of the text"
    yield RecordSetOf("metadata", summary, metadata, "application/jsonlines", typed(_METADATA_FIELDS, contents))


def _records(files: Mapping[str, Entry]) -> Iterator[Json | Finding]:
    """Yield the records of a metadata file."""
    entry = files.get("metadata")
    if entry is None:
        return
    at = Location(entry.path)
    try:
        with entry.open() as file:
            for line in lines(Chunks(file, codec_of_name(entry.name), entry.path)):
                yield from _record(line, replace(at, line=line.line, byte=line.byte))
    except StreamFault as fault:
        yield finding_of(broken_stream(at, fault), RULES, _WITH_METADATA)


def _record(line: Line | LongLine, at: Location) -> Iterator[Json | Finding]:
    if isinstance(line, LongLine):
        fault: Fault | None = too_long(at, line.length, MAX_LINE_BYTES)
    else:
        decoded = read_record(line.data)
        if not isinstance(decoded, Unread):
            fault = schema_fault(decoded.value, at) or header_fault(decoded.value["headers"], at)
            if fault is None:
                yield decoded.value
        else:
            fault = None if decoded.blank else decoded.reported(at)
    if fault is not None:
        yield finding_of(fault, RULES, _WITH_METADATA)


def _count(files: Mapping[str, Entry]) -> Mapping[str, int]:
    try:
        return {name: count_lines(files[role]) for role, name in _COUNTED.items() if role in files}
    except StreamFault:
        return {}  # `validate` reports defects of the data


DESCRIBERS: Mapping[str, Describer] = {
    "1.0": Describer("Text by language in the layout of OSCAR 1.0", _text, language_in, BCP_47, count=_count),
    _WITH_METADATA: Describer(
        "Text by language with metadata in the layout of OSCAR 1.1",
        _text_and_metadata,
        language_in,
        BCP_47,
        fields=_METADATA_FIELDS,
        rows=_records,
        count=_count,
    ),
}


FORMAT = Format(
    name="oscar",
    summary="OSCAR 1.0 (text) and 1.1 (text with metadata): a release, a language, or a part",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    finish=finish,
    facts=FewKeys,
    reader=Reader(
        read,
        at=document_at,
        batches={EncodedRows: rows},
        source_name=SOURCE,
        part=lambda shard: shard.payload.name,
        unpaired=unpaired,
        pairing_rules=frozenset({"OSC106"}),
        missing_rules=frozenset({"OSC105", "OSC107"}),
    ),
    writers={"1.0": OSCAR_1_0, "1.1": OSCAR_1_1},
    describers=DESCRIBERS,
    mends=mends,
    judges_list=lambda path: checksum_code(path.rpartition("/")[2]) is not None,
    own_option="dedup",
)
