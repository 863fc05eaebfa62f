"""Internal: What a document keeps of the OSCAR record that it was made of, so that the way back loses nothing.

`Document.metadata` holds `language` and `url` for people, and under `oscar` the whole record as a JSON text: its keys
differ from record to record, and a column of texts is what every JSON loader can take.
"""

from __future__ import annotations

from typing import Any

import msgspec
from xxhash import xxh3_64_intdigest

from corpusfmt.io.jsonlines import Integer
from corpusfmt.io.text import json_line, json_object
from corpusfmt.model import Document, Json

#: The name in `Document.metadata`.
PROVENANCE = "oscar"
#: In the record, the `source` that tells the variants of a release apart, where there are several.
OWN_SOURCE = "source"

# Nearly all are like this; what is not is left to the decoder of the standard library, which takes more for JSON.
_decode_usual = msgspec.json.Decoder(dict[str, str | dict[str, Integer | dict[str, str]]]).decode


def metadata_of(own: Json, *, language: str) -> Json:
    """Return the metadata of a document; `own` holds version, part and, where there is one, the metadata `record`."""
    headers = own.get("record", {}).get("headers", {})
    return metadata_as(json_line(own)[:-1].decode(), url=headers.get("warc-target-uri"), language=language)


def metadata_as(own: str, *, url: str | None, language: str) -> Json:
    """Return the metadata of a document whose `own` record is a JSON text already."""
    return {"language": language, "url": url, PROVENANCE: own}


def name_variant(document: Document, source: str) -> None:
    """Give a document the source of its variant of a release, so that the way back does not take that for a change."""
    own = provenance_of(document)
    if own and document.metadata is not None:
        document.source = source
        document.metadata[PROVENANCE] = json_line(own | {OWN_SOURCE: source})[:-1].decode()


def provenance_of(document: Document) -> Json:
    """Return what `metadata_of` was given, an empty object for a document of another origin."""
    text: Any = (document.metadata or {}).get(PROVENANCE)
    if not isinstance(text, str):
        return {}
    try:
        return _decode_usual(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        pass
    return json_object(text) or {}


def warc_headers_of(document: Document) -> dict[str, str]:
    """Return the headers of the page that a document of a release by schema 2 was made of, none for any other document."""
    record: Any = (document.metadata or {}).get(PROVENANCE)
    headers = record.get("warc_headers") if isinstance(record, dict) else None
    return headers if isinstance(headers, dict) and all(isinstance(each, str) for each in headers.values()) else {}


def line_languages_of(document: Document) -> list[tuple[str, float] | None]:
    """Return label and score of each line of a document of a release by schema 2; nothing for any other document."""
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
    """Return the id of a document: its record, and the language, since a record gives a document in each of its own."""
    return f"{record_id.strip('<>')}#{language}"


class RecordIds:
    """Gives the documents of a part ids made of record and language, or of part and number where that is no name for it.

    Record ids are remembered as hashes of 64 bits, for one part.
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
