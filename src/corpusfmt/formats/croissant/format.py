"""Croissant: descriptions of data sets for machine learning, by the specification of 1.0."""

from corpusfmt.formats import Format
from corpusfmt.formats.croissant.check import check, detect, finish, plan
from corpusfmt.formats.croissant.records.documents import SOURCE, plan_reading, read
from corpusfmt.formats.croissant.rules import RULES
from corpusfmt.formats.croissant.version import VERSIONS

FORMAT = Format(
    name="croissant",
    summary="Croissant: JSON-LD descriptions of data sets for machine learning",
    versions=VERSIONS,
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    finish=finish,
    read=read,
    plan_reading=plan_reading,
    source_name=SOURCE,
    names_fields=True,
)
