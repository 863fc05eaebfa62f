"""Internal: How corpora of OSCAR 22.01 and 23.01 are described."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from corpusfmt.formats.describing import BCP_47, Contents, Describer, FieldOf, RecordSetOf, rows_of
from corpusfmt.formats.oscar2.ruleset import VERSIONS
from corpusfmt.formats.provenance import PROVENANCE
from corpusfmt.model import Document, Json

_HEADERS = {"column": "warc_headers"}
_FIELDS = (
    FieldOf("content", "sc:Text", {"column": "content"}, "Text of the document, its lines separated by LF"),
    FieldOf("record_id", "sc:Text", _HEADERS, "Identifier of the crawled record", "$['warc-record-id']"),
    FieldOf("url", "sc:URL", _HEADERS, "Address of the page", "$['warc-target-uri']"),
    FieldOf("date", "sc:DateTime", _HEADERS, "When the page was crawled", "$['warc-date']"),
    FieldOf("language", "sc:Text", {"column": "metadata"}, "Language of the document", "$.identification.label"),
    FieldOf("confidence", "sc:Float", {"column": "metadata"}, "How sure that language is", "$.identification.prob"),
)


def _records(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    yield rows_of(paths, contents, _FIELDS)


def _row(document: Document) -> Json:
    record: Json = (document.metadata or {})[PROVENANCE]
    return record | {"content": document.text}


DESCRIBERS: Mapping[str, Describer] = {
    version: Describer(f"Documents in the layout of OSCAR {version}", _records, tags=BCP_47, fields=_FIELDS, row=_row)
    for version in VERSIONS
}
