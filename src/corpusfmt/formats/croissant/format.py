"""Internal: The Croissant format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from corpusfmt._resources import resource
from corpusfmt.formats import CheckOptions, Format, LeftOut, Plan, Reader, Rejected, Shard
from corpusfmt.formats.croissant.check import check
from corpusfmt.formats.croissant.data import SOURCE
from corpusfmt.formats.croissant.layout import detect, plan, syntax_of
from corpusfmt.formats.croissant.model.version import VERSIONS, WRITTEN
from corpusfmt.formats.croissant.rules.dataset import is_semantic_version
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.formats.describing import Described, Descriptions, Survey
from corpusfmt.formats.recordsets import RecordSource
from corpusfmt.io.paths import Entry
from corpusfmt.model import Document, Json, UsageError


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


def _description(described: Described, version: str) -> Json:
    from corpusfmt.formats.croissant.write import description  # noqa: PLC0415

    return description(described, version)


def _complete(data: bytes, details: Mapping[str, object]) -> Json:
    from corpusfmt.formats.croissant.write import completed  # noqa: PLC0415

    return completed(data, details)


def _json_ld(entry: Entry) -> Json:
    from corpusfmt.formats.croissant.data.stream import understood  # noqa: PLC0415

    if not syntax_of(entry):
        raise UsageError(f"{entry.path} is JSON-LD")
    tree: Json = understood(entry).tree
    return tree


def _is_of(data_type: str, value: object) -> bool:
    return _judge_of_types()(data_type, value)


@cache
def _judge_of_types() -> Callable[[str, object], bool]:
    from corpusfmt.formats.croissant.model.casts import CASTS  # noqa: PLC0415
    from corpusfmt.formats.croissant.survey.columns import OF_STRINGS, is_spelt_as  # noqa: PLC0415

    def is_of(data_type: str, value: object) -> bool:
        if isinstance(value, str) and data_type in OF_STRINGS:
            return is_spelt_as(data_type, value)
        try:
            CASTS[data_type](value)
        except ValueError:
            return False
        return True

    return is_of


def _schema(version: str) -> Mapping[str, Any]:
    published = version if version in ("1.0", "1.1") else VERSIONS[-1]
    path = f"croissant/{published}/croissant.schema.json"
    return dict(json.loads(resource("schemas", path).read_text("utf-8")))


def _survey(
    folder: Entry, *, prefix: str, leave_out: Callable[[Entry], bool], version: str, beside: Iterable[str]
) -> Survey:
    from corpusfmt.formats.croissant.survey.survey import survey  # noqa: PLC0415

    return survey(folder, prefix=prefix, leave_out=leave_out, version=version, beside=beside)


FORMAT = Format(
    name="croissant",
    summary="Croissant: JSON-LD descriptions of data sets for machine learning",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reader=Reader(_read, plan=_plan_reading, source_name=SOURCE, names_fields=True),
    schema=_schema,
    offers_edits=True,
    records=_records,
    descriptions=Descriptions(WRITTEN, _description, _complete, _json_ld, _is_of, _survey, is_semantic_version),
)
