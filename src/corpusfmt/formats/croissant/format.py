"""Croissant: descriptions of data sets for machine learning, by the specification of 1.0."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.formats import CheckOptions, Format, LeftOut, Plan, Reader, Rejected, Shard
from corpusfmt.formats.croissant.check import check, detect, plan
from corpusfmt.formats.croissant.records import SOURCE
from corpusfmt.formats.croissant.rules import RULES
from corpusfmt.formats.croissant.version import VERSIONS
from corpusfmt.io.paths import Entry
from corpusfmt.model import Document


# A check of a description needs none of what reads record sets, which is slow to import.
def _plan_reading(entry: Entry, options: CheckOptions) -> Plan:
    from corpusfmt.formats.croissant.records.documents import plan_reading  # noqa: PLC0415

    return plan_reading(entry, options)


def _read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected | LeftOut]:
    from corpusfmt.formats.croissant.records.documents import read  # noqa: PLC0415

    return read(shard, options)


FORMAT = Format(
    name="croissant",
    summary="Croissant: JSON-LD descriptions of data sets for machine learning",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reader=Reader(_read, plan=_plan_reading, source_name=SOURCE, names_fields=True),
)
