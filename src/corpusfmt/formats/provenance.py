"""Internal: The OSCAR record that a document keeps, so that converting it back loses nothing.

`Document.metadata` contains `language` and `url` for people, and under `oscar` the whole record as JSON text: its keys
differ between records, and every JSON loader can load a text column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from xxhash import xxh3_64_intdigest

from corpusfmt.io.jsonlines import Integer
from corpusfmt.io.text import json_line, json_object
from corpusfmt.model import Document, Json

#: The name in `Document.metadata`.
PROVENANCE = "oscar"
#: The prefix of headers that only builds and conversions write.
OWN_HEADERS = "corpusfmt-"
#: The header with the annotations of a document by the steps of a build, as JSON text: part of the document, unlike the others.
ANNOTATIONS_HEADER = f"{OWN_HEADERS}annotations"
#: The name in `Document.metadata` that marks an id as made from place and text.
SYNTHETIC = "corpusfmt_synthetic_id"
#: In the record, the `source` that distinguishes the variants of a release.
OWN_SOURCE = "source"

# The position of a record's text in its part, and its number of lines.
_PLACE = frozenset({"headers", "offset", "nb_sentences"})

# Nearly all are like this; the standard library's more lenient decoder handles the others.
_decode_usual = msgspec.json.Decoder(dict[str, str | dict[str, Integer | dict[str, str]]]).decode


def metadata_of(own: Json, *, language: str) -> Json:
    """Return the metadata of a document; `own` contains version, part and, if there is one, the metadata `record`."""
    headers = own.get("record", {}).get("headers", {})
    return metadata_as(json_line(own)[:-1].decode(), url=headers.get("warc-target-uri"), language=language)


def metadata_as(own: str, *, url: str | None, language: str) -> Json:
    """Return the metadata of a document whose `own` record is already JSON text."""
    return {"language": language, "url": url, PROVENANCE: own}


def name_variant(document: Document, source: str) -> None:
    """Set the source of a document to its variant of a release, so that converting back does not treat it as a change."""
    own = provenance_of(document)
    if own and document.metadata is not None:
        document.source = source
        document.metadata[PROVENANCE] = json_line(own | {OWN_SOURCE: source})[:-1].decode()


def provenance_of(document: Document) -> Json:
    """Return the argument of `metadata_of`, an empty object for a document of another origin."""
    text: Any = (document.metadata or {}).get(PROVENANCE)
    if not isinstance(text, str):
        return {}
    try:
        return _decode_usual(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        pass
    return json_object(text) or {}


class Lasting(NamedTuple):
    """The parts of a document that do not depend on where it is stored; `id` is None if only its place identifies it."""

    id: str | None
    metadata: Json


def lasting(document: Document) -> Lasting:
    """Return the id and the metadata of a document, without its place."""
    metadata = document.metadata or {}
    own = provenance_of(document)
    if own:
        record = own.get("record")
        headers = record.get("headers") if isinstance(record, dict) else None
        kept = {name: value for name, value in record.items() if name not in _PLACE} if isinstance(record, dict) else {}
        if isinstance(headers, dict):
            own_names = {name for name in headers if name.startswith(OWN_HEADERS)} - {ANNOTATIONS_HEADER}
            kept["headers"] = {name: value for name, value in headers.items() if name not in own_names}
        identity = None if own.get("synthetic_id") is True else document.id
        if identity is not None and is_place(identity, own):
            identity = _id_of_record(headers, document)
        return Lasting(identity, metadata | {PROVENANCE: kept})
    if metadata.get(SYNTHETIC) is True or document.extra.get(SYNTHETIC) is True:
        return Lasting(None, metadata)
    headers = warc_headers_of(document)
    if headers and document.id.rpartition(":")[2].isdecimal():
        return Lasting(_id_of_record(headers, document), metadata)
    return Lasting(document.id, metadata)


def has_id_of_record(document: Document) -> bool:
    """Return whether the id of a document is made from its record."""
    record = provenance_of(document).get("record")
    headers = record.get("headers") if isinstance(record, dict) else warc_headers_of(document)
    return _id_of_record(headers, document) == document.id


def _id_of_record(headers: Any, document: Document) -> str | None:
    record_id = headers.get("warc-record-id") if isinstance(headers, dict) else None
    return document_id(record_id, document.lang or "") if isinstance(record_id, str) and record_id else None


def is_place(identity: str, own: Json) -> bool:
    """Return whether an id is the number of a document in its part; `own` is what `provenance_of` returns."""
    place = identity.rpartition(":")[0] if own.get("synthetic_id") is True else identity
    part, _, number = place.rpartition(":")
    return part == own.get("part") and number.isdecimal()


def warc_headers_of(document: Document) -> dict[str, str]:
    """Return the WARC headers of a document from a release by schema 2, none for any other document."""
    record: Any = (document.metadata or {}).get(PROVENANCE)
    headers = record.get("warc_headers") if isinstance(record, dict) else None
    return headers if isinstance(headers, dict) and all(isinstance(each, str) for each in headers.values()) else {}


def line_languages_of(document: Document) -> list[tuple[str, float] | None]:
    """Return label and score of each line of a document from a release by schema 2, none for any other document."""
    record: Any = (document.metadata or {}).get(PROVENANCE)
    metadata = record.get("metadata") if isinstance(record, dict) else None
    lines = metadata.get("sentence_identifications") if isinstance(metadata, dict) else None
    if not isinstance(lines, list) or not all(each is None or _is_identification(each) for each in lines):
        return []
    return [None if each is None else (each["label"], each["prob"]) for each in lines]


def _is_identification(value: Any) -> bool:
    return (
        isinstance(value, dict) and isinstance(value.get("label"), str) and isinstance(value.get("prob"), int | float)
    )


def document_id(record_id: str, language: str) -> str:
    """Return the id of a document: its record and language, because a record gives a document in each of its languages."""
    return f"{record_id.strip('<>')}#{language}"


class RecordIds:
    """Makes the ids of a part's documents: record and language, or part and number if the record id is missing or repeated.

    Record ids are stored as 64-bit hashes, for one part.
    """

    def __init__(self, part: str) -> None:
        self._part = part
        self._seen: set[int] = set()

    def of(self, record_id: str | None, language: str, number: int) -> str:
        """Return the id of a document, the `number`th of its part."""
        if record_id:
            key = xxh3_64_intdigest(record_id.encode())
            if key not in self._seen:
                self._seen.add(key)
                return document_id(record_id, language)
        return f"{self._part}:{number}"

    def are_new(self, record_ids: Sequence[bytes]) -> bool:
        """Return whether these records have ids that `of` gives to no other; then it knows them."""
        keys = set(map(xxh3_64_intdigest, record_ids))
        if len(keys) < len(record_ids) or not self._seen.isdisjoint(keys):
            return False
        self._seen |= keys
        return True
