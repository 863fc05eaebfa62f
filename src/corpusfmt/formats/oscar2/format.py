"""Internal: OSCAR by schema 2, the releases 22.01 and 23.01: JSON Lines of content, WARC headers and metadata."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.describing import BCP_47, Contents, Describer, FieldOf, RecordSetOf, rows_of
from corpusfmt.formats.oscar2.layout import RULES, VERSIONS, detect, plan
from corpusfmt.formats.oscar2.records import RECORDS, part_of
from corpusfmt.formats.provenance import PROVENANCE
from corpusfmt.formats.rows.reading import ROWS
from corpusfmt.io.keys import FewKeys
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


FORMAT = Format(
    name="oscar2",
    summary="OSCAR 22.01 and 23.01 (schema 2): JSON Lines with content, WARC headers and metadata",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=RECORDS.check,
    reads_only_its_files=True,
    documents_role=ROWS,
    finish=RECORDS.judge_ids,
    facts=tuple[str, Any, FewKeys | None],
    reader=Reader(RECORDS.read, by_row=True, source_name="oscar", part=part_of),
    aliases={"oscar-2": "", **{f"oscar-{version}": version for version in VERSIONS}},
    describers=DESCRIBERS,
)
