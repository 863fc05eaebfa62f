"""What a document keeps of the OSCAR record that it was made of, so that the way back loses nothing.

`Document.metadata` holds `language` and `url` for people, and under `oscar` the whole record as a JSON text: its keys
differ from record to record, and a column of texts is what every JSON loader can take.
"""

from __future__ import annotations

import json
from typing import Any

from xxhash import xxh3_64_intdigest

from corpusfmt.model import Document, Json

_KEY = "oscar"


def metadata_of(own: Json, *, language: str) -> Json:
    """Return the metadata of a document; `own` holds version, part and, where there is one, the metadata `record`."""
    headers = own.get("record", {}).get("headers", {})
    text = json.dumps(own, ensure_ascii=False, separators=(",", ":"))
    return {"language": language, "url": headers.get("warc-target-uri"), _KEY: text}


def provenance_of(document: Document) -> Json:
    """Return what `metadata_of` was given, an empty object for a document of another origin."""
    text: Any = (document.metadata or {}).get(_KEY)
    try:
        own = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return own if isinstance(own, dict) else {}


def warc_headers_of(document: Document) -> dict[str, str]:
    """Return the headers of the page that a document of a release by schema 2 was made of, none for any other document."""
    record: Any = (document.metadata or {}).get(_KEY)
    headers = record.get("warc_headers") if isinstance(record, dict) else None
    return headers if isinstance(headers, dict) and all(isinstance(each, str) for each in headers.values()) else {}


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
                return f"{record_id.strip('<>')}#{language}"
        return f"{self._part}:{number}"
