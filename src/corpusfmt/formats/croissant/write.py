"""Internal: Write Croissant descriptions (https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html), of
version 1.1 or 1.0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from corpusfmt._resources import resource
from corpusfmt.formats.croissant.model.jsontree import EncodingFault, decode, parse
from corpusfmt.formats.croissant.rules.distribution import NO_DIGEST
from corpusfmt.formats.describing import Described, FieldOf, FileOf, RecordSetOf, Statistic
from corpusfmt.io.paths import is_uri
from corpusfmt.io.text import JsonFault
from corpusfmt.model import Json, UsageError

_CONFORMS_TO = "http://mlcommons.org/croissant/"
_RAI = "http://mlcommons.org/croissant/RAI/1.0"
_MIME_TYPES = {
    ".gz": "application/gzip",
    ".jsonl": "application/jsonlines",
    ".parquet": "application/x-parquet",
    ".zst": "application/zstd",
    ".zstd": "application/zstd",
}
# RFC 3987, section 2.2; `%` itself, so that no two names become one.
_NOT_IN_IRIS = re.compile(r"[\s\x00-\x20\x7f-\x9f<>\"{}|\\^`%\ue000-\uf8ff]")
_ODD_IN_NAMES = re.compile(r"[^\w.-]+")

_NEW_TERMS = ("annotation", "arrayShape", "containedIn", "equivalentProperty", "excludes", "isArray", "readLines",
              "sdVersion", "unArchive", "value")  # fmt: skip
_OLD_TERMS = ("path", "repeated", "replace")
_PREFIXES_FIRST = ("@language", "@vocab", "sc", "cr", "rai", "dct")
# Prefixes that a description has where it uses them.
_PREFIXES = {
    "prov": "http://www.w3.org/ns/prov#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "wd": "http://www.wikidata.org/entity/",
}


def description(described: Described, version: str) -> Json:
    """Return a description: every file with its size and SHA-256, and the record sets."""
    writer = _Writer(version, described)
    files = [writer.file_object(file) for file in described.files]
    file_sets = [writer.file_set(records) for records in described.record_sets if records.includes]
    record_sets = [writer.record_set(records) for records in described.record_sets if records.fields]
    claim = f"{_CONFORMS_TO}{version}"
    has_rai = version != "1.0" and any(name.startswith("rai:") for name in described.details)
    dataset = {
        "@type": "sc:Dataset",
        "name": described.name,
        "conformsTo": [claim, _RAI] if has_rai else claim,
        **described.details,
    }
    distribution = [*writer.repository(), *files, *file_sets]
    data = msgspec.json.encode([dataset, record_sets])
    context = _context(version, [prefix for prefix in _PREFIXES if f'"{prefix}:'.encode() in data])
    return {"@context": context, **dataset, "distribution": distribution, "recordSet": record_sets}


def _one_or_all(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def completed(data: bytes, details: Mapping[str, object]) -> Json:
    """Return a description with further properties of its dataset, in the place of those that it has by the same name."""
    try:
        document, repeated = parse(decode(data)[0])
    except (EncodingFault, JsonFault) as fault:
        raise UsageError(f"the description is not JSON: {fault}") from fault
    context = document.get("@context") if isinstance(document, dict) else None
    if repeated or not isinstance(context, dict):
        raise UsageError("the description has a name twice, or no `@context` of its own: run `corpusfmt fix` first")
    made: Json = dict(document)
    for name, value in details.items():
        made[next((each for each in (f"sc:{name}", f"schema:{name}") if each in made), name)] = value
    known = _context("1.1", _PREFIXES)
    text = json.dumps(details, default=str)
    made["@context"] = context | {
        prefix: known[prefix] for prefix in known.keys() - context.keys() if f'"{prefix}:' in text
    }
    claims = made.get("conformsTo")
    if '"rai:' in text and isinstance(claims, str) and not claims.endswith("/1.0"):
        made["conformsTo"] = [claims, _RAI]
    return made


def _context(version: str, used: Collection[str]) -> Json:
    """Return the context of Appendix 1. That of 1.1 keeps the `https` of 1.0: by `http`, mlcroissant finds no Dataset."""
    context: Json = json.loads(resource("schemas", "croissant/1.0/context.jsonld").read_bytes())["@context"]
    if version != "1.0":
        terms = {name: context.pop(name) for name in list(context) if name not in (*_PREFIXES_FIRST, *_OLD_TERMS)}
        terms |= {name: f"cr:{name}" for name in _NEW_TERMS}
        context = {name: context[name] for name in _PREFIXES_FIRST} | dict(sorted(terms.items()))
    return context | {prefix: iri for prefix, iri in _PREFIXES.items() if prefix in used}


class _Writer:
    """Gives each part of a description its own identifier."""

    def __init__(self, version: str, described: Described) -> None:
        self.version = version
        self._base, self._clone = described.base, described.clone
        #: The identifiers of files that are named by their paths only: no two of these are equal.
        self._of_paths = {_iri_of("", file.path) for file in described.files if _is_named_by_path(file)}
        self._ids: set[str] = set()
        self._repository = self._id("repository")
        #: The identifiers of files that differ from their paths.
        self._renamed: dict[tuple[str, str, int], str] = {}
        self._sets: dict[str, str] = {}
        self._firsts: dict[str, str] = {}
        for file in described.files:
            wanted = _iri_of(file.container, file.path)
            if not _is_named_by_path(file) and (identifier := self._id(wanted)) != wanted:
                self._renamed[file.container, file.path, file.number] = identifier

    @property
    def is_old(self) -> bool:
        return self.version == "1.0"

    def _id(self, wanted: str) -> str:
        found, number = wanted, 2
        while found in self._ids or found in self._of_paths:
            found, number = f"{wanted}-{number}", number + 1
        self._ids.add(found)
        return found

    def file_object(self, file: FileOf) -> Json:
        facts = {"contentSize": f"{file.facts.size} B"} if file.facts else {}
        digest = {"sha256": file.facts.sha256} if file.facts else {}
        suffix = "." + file.path.rpartition(".")[2]
        return {
            "@type": "cr:FileObject",
            "@id": self._id_of(file.container, file.path, file.number),
            "name": file.path,
            "contentUrl": self._address(file),
            **self._contained([self._id_of("", file.container, 0)] if file.container else []),
            **facts,
            "encodingFormat": file.encoding or _MIME_TYPES.get(suffix, "text/plain"),
            **digest,
        }

    def _address(self, file: FileOf) -> str:
        if self._base and not file.container:
            return f"{self._base}{quote(file.path)}"
        return f"./{file.path}" if is_uri(file.path) else file.path

    def repository(self) -> Iterator[Json]:
        """Yield the git repository, if there is one."""
        if self._clone:
            yield {
                "@type": "cr:FileObject",
                "@id": self._repository,
                "name": self._repository,
                "contentUrl": self._clone,
                "encodingFormat": "git+https",
                "sha256": NO_DIGEST,
            }

    def _contained(self, containers: Sequence[str]) -> Json:
        return {"containedIn": _one_or_all([{"@id": each} for each in containers])} if containers else {}

    def _id_of(self, container: str, path: str, number: int) -> str:
        return self._renamed.get((container, path, number)) or _iri_of(container, path)

    def file_set(self, records: RecordSetOf) -> Json:
        identifier = self._sets[records.name] = self._id(f"{records.name}-files")
        return {
            "@type": "cr:FileSet",
            "@id": identifier,
            "name": identifier,
            **self._contained(
                [self._id_of("", each, 0) for each in records.containers] or ([self._repository] if self._clone else [])
            ),
            "encodingFormat": records.encoding,
            "includes": _one_or_all(records.includes),
        }

    def record_set(self, records: RecordSetOf) -> Json:
        identifier = self._id(records.name)
        fields = [self._field(identifier, records, each) for each in records.fields]
        self._firsts[records.name] = fields[0]["@id"]
        named = {each.name: made["@id"] for each, made in zip(records.fields, fields, strict=True)}
        key = [{"@id": named[name]} for name in records.key]
        data = [dict(zip(named.values(), row, strict=True)) for row in records.data]
        return {
            "@type": "cr:RecordSet",
            "@id": identifier,
            "name": identifier,
            "description": records.description,
            **({"dataType": records.data_type} if records.data_type else {}),
            **({"key": _one_or_all(key)} if key else {}),
            **self._annotations(identifier, records.statistics),
            "field": fields,
            **({"data": data} if data else {}),
        }

    def _field(self, parent: str, records: RecordSetOf, field: FieldOf) -> Json:
        identifier = self._id(f"{parent}/{_ODD_IN_NAMES.sub('_', field.name) or '_'}")
        found: Json = {
            "@type": "cr:Field",
            "@id": identifier,
            "name": field.name,
            "description": field.description,
        }
        if field.fields:
            inside = [self._field(identifier, records, each) for each in field.fields]
            return found | self._array(field) | {"subField": inside}
        kind = "sc:Text" if self.is_old and field.data_type == "sc:Time" else field.data_type
        found["dataType"] = [kind, field.means] if field.means else kind
        found |= self._array(field)
        found |= self._annotations(identifier, field.statistics)
        if not records.data:
            found["source"] = self._source(records, field)
        if field.refers_to is not None:
            found["references"] = {"field": {"@id": self._firsts[field.refers_to]}}
        if field.joins is not None:
            files = {"@id": self._sets[field.joins]}
            found["references"] = {"fileSet": files, "extract": {"fileProperty": "filename"}}
        return found

    def _array(self, field: FieldOf) -> Json:
        if not field.dimensions:
            return {}
        shape = ",".join(["-1"] * field.dimensions)
        return {"repeated": True} if self.is_old else {"isArray": True, "arrayShape": shape}

    def _source(self, records: RecordSetOf, field: FieldOf) -> Json:
        if records.file is not None and field.files_of is None:
            file = records.file
            source: Json = {"fileObject": {"@id": self._id_of(file.container, file.path, file.number)}}
        else:
            source = {"fileSet": {"@id": self._sets[field.files_of or records.name]}}
        source["extract"] = dict(field.extract)
        paths = [{"jsonPath": path} for path in (field.json_path, field.item_path) if path is not None]
        if paths:
            source["transform"] = _one_or_all(paths)
        if field.regex is not None:
            source["transform"] = {"regex": field.regex}
        return source

    def _annotations(self, parent: str, statistics: Sequence[Statistic]) -> Json:
        made = [self._statistic(parent, each) for each in statistics]
        return {"annotation": _one_or_all(made)} if made and not self.is_old else {}

    def _statistic(self, parent: str, statistic: Statistic) -> Json:
        identifier = self._id(f"{parent}/{_ODD_IN_NAMES.sub('_', statistic.name)}")
        made: Json = {"@type": "cr:Field", "@id": identifier, "name": statistic.name}
        if statistic.parts:
            return made | {"subField": [self._statistic(identifier, each) for each in statistic.parts]}
        return made | {"dataType": _one_or_all(statistic.data_types), "value": statistic.value}


def _is_named_by_path(file: FileOf) -> bool:
    return not file.container and not file.number


def _iri_of(container: str, path: str) -> str:
    """Return a path as an identifier may have it: what IRIs do not hold is percent-encoded."""
    name = f"{container}/{path}" if container else path
    return _NOT_IN_IRIS.sub(lambda match: quote(match[0], safe=""), name.replace(":", "%3A") if is_uri(name) else name)
