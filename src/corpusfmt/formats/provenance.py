"""What a document keeps of the OSCAR record that it was made of, so that the way back loses nothing.

`Document.metadata` holds `language` and `url` for people, and under `oscar` the whole record as a JSON text: its keys
differ from record to record, and a column of texts is what every JSON loader can take.
"""

from __future__ import annotations

import json
from typing import Any

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
