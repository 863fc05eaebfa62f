"""Internal: Write Croissant 1.0 descriptions of corpora
(https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from corpusfmt._resources import resource
from corpusfmt.formats.describing import FieldOf, RecordSetOf
from corpusfmt.io.compress import FileFacts
from corpusfmt.model import Json

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_MIME_TYPES = {
    ".gz": "application/gzip",
    ".jsonl": "application/jsonlines",
    ".parquet": "application/x-parquet",
    ".zst": "application/zstd",
    ".zstd": "application/zstd",
}
# RFC 3987, section 2.2; `%` itself, so that no two names become one.
_NOT_IN_IRIS = re.compile(r"[\s\x00-\x20\x7f-\x9f<>\"{}|\\^`%\ue000-\uf8ff]")


def description(
    *,
    name: str,
    files: Mapping[str, FileFacts],
    record_sets: Sequence[RecordSetOf],
    details: Mapping[str, object],
) -> Json:
    """Return the description of a corpus: every file with its size and SHA-256, and its record sets.

    `files` go by path below the description; `details` are further properties of the dataset (description, license,
    creator, url, version, datePublished, inLanguage), taken as they are.
    """
    distribution: list[Json] = [_file_object(path, files[path]) for path in sorted(files)]
    distribution += [_file_set(each) for each in record_sets]
    context = json.loads(resource("schemas", "croissant/1.0/context.jsonld").read_bytes())["@context"]
    return {
        "@context": context,
        "@type": "sc:Dataset",
        "name": name,
        "conformsTo": CONFORMS_TO,
        **details,
        "distribution": distribution,
        "recordSet": [_record_set(each) for each in record_sets],
    }


def _file_object(path: str, facts: FileFacts) -> Json:
    suffix = "." + path.rpartition(".")[2]
    return {
        "@type": "cr:FileObject",
        "@id": _iri(path),
        "name": path,
        "contentUrl": path,
        "contentSize": f"{facts.size} B",
        "encodingFormat": _MIME_TYPES.get(suffix, "text/plain"),
        "sha256": facts.sha256,
    }


def _iri(text: str) -> str:
    """Return a name as an identifier may have it: what IRIs do not hold is percent-encoded."""
    return _NOT_IN_IRIS.sub(lambda match: quote(match[0], safe=""), text)


def _file_set(records: RecordSetOf) -> Json:
    return {
        "@type": "cr:FileSet",
        "@id": f"{records.name}-files",
        "name": f"{records.name}-files",
        "encodingFormat": records.encoding,
        "includes": records.includes[0] if len(records.includes) == 1 else list(records.includes),
    }


def _record_set(records: RecordSetOf) -> Json:
    fields = [
        {
            "@type": "cr:Field",
            "@id": _iri(f"{records.name}/{each.name}"),
            "name": each.name,
            "description": each.description,
            "dataType": each.data_type,
            "source": _source(records, each),
        }
        for each in records.fields
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": records.name,
        "name": records.name,
        "description": records.description,
        "field": fields,
    }


def _source(records: RecordSetOf, field: FieldOf) -> Json:
    source: Json = {"fileSet": {"@id": f"{records.name}-files"}, "extract": dict(field.extract)}
    if field.json_path is not None:
        source["transform"] = {"jsonPath": field.json_path}
    return source
