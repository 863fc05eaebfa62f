"""Internal: The Croissant format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from corpusfmt._resources import resource
from corpusfmt.formats import CheckOptions, Format, LeftOut, Plan, Reader, Rejected, Shard
from corpusfmt.formats.croissant.check import check
from corpusfmt.formats.croissant.data import SOURCE
from corpusfmt.formats.croissant.layout import detect, plan
from corpusfmt.formats.croissant.model.version import VERSIONS, WRITTEN
from corpusfmt.formats.croissant.rules.dataset import is_semantic_version
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.formats.describing import Descriptions, Survey
from corpusfmt.formats.recordsets import RecordSource
from corpusfmt.io.paths import Entry
from corpusfmt.model import Document, Json


# Checking a description does not need the modules that read record sets or write descriptions, which are slow to import.
def _plan_reading(entry: Entry, options: CheckOptions) -> Plan:
    from corpusfmt.formats.croissant.data.documents import plan_reading  # noqa: PLC0415

    return plan_reading(entry, options)


def _read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected | LeftOut]:
    from corpusfmt.formats.croissant.data.documents import read  # noqa: PLC0415

    return read(shard, options)


def _records(entry: Entry, record_set: str | None, maps: Mapping[str, Entry]) -> RecordSource:
    from corpusfmt.formats.croissant.data.stream import open_records  # noqa: PLC0415

    return open_records(entry, record_set, maps)


def _json_ld(entry: Entry) -> Json:
    from corpusfmt.formats.croissant.data.stream import json_ld  # noqa: PLC0415

    return json_ld(entry)


def _survey(folder: Entry, **how: Any) -> Survey:
    from corpusfmt.formats.croissant.survey.survey import survey  # noqa: PLC0415

    return survey(folder, **how)


@cache
def _descriptions() -> Descriptions:
    from corpusfmt.formats.croissant.survey.columns import is_of  # noqa: PLC0415
    from corpusfmt.formats.croissant.write import completed, description  # noqa: PLC0415

    return Descriptions(WRITTEN, description, completed, _json_ld, is_of, _survey, is_semantic_version)


def _schema(version: str) -> Mapping[str, Any]:
    published = version if version in ("1.0", "1.1") else VERSIONS[-1]
    path = f"croissant/{published}/croissant.schema.json"
    return dict(json.loads(resource("schemas", path).read_text("utf-8")))


FORMAT = Format(
    name="croissant",
    summary="Croissant: JSON-LD descriptions of datasets for machine learning",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reader=Reader(_read, plan=_plan_reading, source_name=SOURCE, names_fields=True),
    schema=_schema,
    offers_edits=True,
    records=_records,
    descriptions=_descriptions,
)
