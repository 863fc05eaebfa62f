"""Write Croissant 1.0 descriptions of corpora (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.0.html)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corpusfmt._resources import resource
from corpusfmt.io.compress import FileFacts
from corpusfmt.model import Json

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_MIME_TYPES = {".gz": "application/gzip", ".zst": "application/zstd", ".jsonl": "application/jsonlines"}


@dataclass(frozen=True, slots=True)
class FieldOf:
    """One field of a record set: its name, data type, and how it is taken out of a file."""

    name: str
    data_type: str
    extract: Mapping[str, str]
    description: str


@dataclass(frozen=True, slots=True)
class RecordSetOf:
    """Records of one kind, read from the files that match `includes`."""

    name: str
    description: str
    includes: str
    encoding: str
    fields: Sequence[FieldOf]


def description(
    *,
    name: str,
    summary: str,
    files: Mapping[str, FileFacts],
    record_sets: Sequence[RecordSetOf],
    details: Mapping[str, object],
) -> Json:
    """Return the description of a corpus: every file with its size and SHA-256, and its record sets.

    `files` go by path below the corpus; `details` are further properties of the dataset (license, creator, url, version,
    datePublished, inLanguage), taken as they are.
    """
    distribution: list[Json] = [_file_object(path, files[path]) for path in sorted(files)]
    distribution += [_file_set(each) for each in record_sets]
    context = json.loads(resource("schemas", "croissant/1.0/context.jsonld").read_bytes())["@context"]
    return {
        "@context": context,
        "@type": "sc:Dataset",
        "name": name,
        "description": summary,
        "conformsTo": CONFORMS_TO,
        **details,
        "distribution": distribution,
        "recordSet": [_record_set(each) for each in record_sets],
    }


def _file_object(path: str, facts: FileFacts) -> Json:
    suffix = "." + path.rpartition(".")[2]
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{facts.size} B",
        "encodingFormat": _MIME_TYPES.get(suffix, "text/plain"),
        "sha256": facts.sha256,
    }


def _file_set(records: RecordSetOf) -> Json:
    return {
        "@type": "cr:FileSet",
        "@id": f"{records.name}-files",
        "name": f"{records.name}-files",
        "encodingFormat": records.encoding,
        "includes": records.includes,
    }


def _record_set(records: RecordSetOf) -> Json:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{records.name}/{each.name}",
            "name": each.name,
            "description": each.description,
            "dataType": each.data_type,
            "source": {"fileSet": {"@id": f"{records.name}-files"}, "extract": dict(each.extract)},
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
