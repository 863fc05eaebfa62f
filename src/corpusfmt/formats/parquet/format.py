"""Internal: Parquet: a table with a column of texts as a source, documents as columns as a target."""

from __future__ import annotations

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.parquet.check import check, finish
from corpusfmt.formats.parquet.describe import DESCRIBERS
from corpusfmt.formats.parquet.layout import detect, left_unread, plan
from corpusfmt.formats.parquet.read import document_at, read
from corpusfmt.formats.parquet.ruleset import RULES, SOURCE, VERSION
from corpusfmt.formats.parquet.write import PARQUET
from corpusfmt.io.keys import FewKeys

FORMAT = Format(
    name="parquet",
    summary="Parquet: tables with a column of texts",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    finish=finish,
    facts=tuple[str, list[tuple[str, str]], FewKeys | None],
    reader=Reader(
        read,
        at=document_at,
        by_row=True,
        left_unread=left_unread,
        source_name=SOURCE,
        names_fields=True,
        has_columns=True,
    ),
    writers={VERSION: PARQUET},
    describers=DESCRIBERS,
)
