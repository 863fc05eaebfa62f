"""Internal: Parquet: a table with a column of texts as a source, documents as columns as a target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, patterns
from corpusfmt.formats.parquet.check import check, finish
from corpusfmt.formats.parquet.layout import detect, left_unread, plan
from corpusfmt.formats.parquet.read import document_at, read
from corpusfmt.formats.parquet.rows import Trouble, column_types
from corpusfmt.formats.parquet.ruleset import RULES, SOURCE, VERSION
from corpusfmt.formats.parquet.write import PARQUET
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.paths import Entry

_TYPES = {"string": "sc:Text", "integer": "sc:Integer", "number": "sc:Float", "boolean": "sc:Boolean"}


def _rows(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    fields = [
        FieldOf(name, _TYPES[kind], {"column": name}, f"Column {name}")
        for name, kind in (contents.columns or {}).items()
    ]
    yield RecordSetOf("documents", "The documents", patterns(paths), "application/x-parquet", fields)


def _columns(files: Mapping[str, Entry]) -> Mapping[str, str] | None:
    try:
        return column_types(files["table"])
    except Trouble:
        return None  # the reader reports it


DESCRIBERS: Mapping[str, Describer] = {
    VERSION: Describer("Documents as rows of Parquet files", _rows, columns=_columns, is_open=True)
}


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
