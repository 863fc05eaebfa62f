"""Internal: Croissant: descriptions of data sets for machine learning, by the specification of 1.0."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.formats import CheckOptions, Format, LeftOut, Plan, Reader, Rejected, Shard
from corpusfmt.formats.croissant.check import check
from corpusfmt.formats.croissant.data import SOURCE
from corpusfmt.formats.croissant.layout import detect, plan
from corpusfmt.formats.croissant.model.version import VERSIONS
from corpusfmt.formats.croissant.ruleset import RULES
from corpusfmt.formats.croissant.write import description
from corpusfmt.formats.describing import Descriptions
from corpusfmt.io.paths import Entry
from corpusfmt.model import Document


# A check of a description needs none of what reads record sets, which is slow to import.
def _plan_reading(entry: Entry, options: CheckOptions) -> Plan:
    from corpusfmt.formats.croissant.data.documents import plan_reading  # noqa: PLC0415

    return plan_reading(entry, options)


def _read(shard: Shard, options: CheckOptions) -> Iterator[Document | Rejected | LeftOut]:
    from corpusfmt.formats.croissant.data.documents import read  # noqa: PLC0415

    return read(shard, options)


def _is_of(data_type: str, value: object) -> bool:
    from corpusfmt.formats.croissant.data.casts import CASTS  # noqa: PLC0415

    try:
        CASTS[data_type](value)
    except ValueError:
        return False
    return True


FORMAT = Format(
    name="croissant",
    summary="Croissant: JSON-LD descriptions of data sets for machine learning",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reader=Reader(_read, plan=_plan_reading, source_name=SOURCE, names_fields=True),
    descriptions=Descriptions(description, _is_of),
)
