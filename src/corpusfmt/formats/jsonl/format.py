"""Internal: JSON Lines of any shape as a source and, with the rows that there were, as a target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.columns import columns_of_rows
from corpusfmt.formats.describing import Contents, Describer, FieldOf, RecordSetOf, files_of, rows_of
from corpusfmt.formats.jsonl.beside import batches, check, left_unread, read
from corpusfmt.formats.jsonl.layout import RULES, VERSION, detect, finish, plan
from corpusfmt.formats.parts import EncodedRows
from corpusfmt.formats.rows.columned import restored
from corpusfmt.formats.rows.format import SUMMARY
from corpusfmt.formats.rows.reading import ROWS
from corpusfmt.formats.rows.writing import csv_writer, rows_writer
from corpusfmt.formats.sniff import first_rows
from corpusfmt.io.keys import FewKeys
from corpusfmt.io.paths import Entry


def _record_sets(paths: Collection[str], contents: Contents) -> Iterator[RecordSetOf]:
    fields = [FieldOf(name, "sc:Text", {"column": name}, "Text of the document") for name in contents.columns or {}]
    yield rows_of(paths, contents, fields)


def _text_column(files: Mapping[str, Entry]) -> Mapping[str, str]:
    """Return the field with the text, as far as the first row of a file shows it."""
    rows = first_rows(files[ROWS])
    name = columns_of_rows(rows, files[ROWS].url).fields.text
    return {name: "string"} if name and rows and isinstance(rows[0].get(name), str) else {}


#: Rows may have any fields, so a folder of them is described by its content; this is for those that a conversion wrote.
DESCRIBER = Describer(SUMMARY, _record_sets, columns=_text_column, is_open=True)
CSV = Describer("Rows of CSV", lambda paths, contents: iter([files_of(paths, contents)]), is_open=True)


FORMAT = Format(
    name="jsonl",
    summary="JSON Lines: any rows, also of CSV and TSV",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=check,
    reads_only_its_files=True,
    documents_role=ROWS,
    finish=finish,
    facts=tuple[str, str | dict[str, dict[str, int]], FewKeys | None],
    reader=Reader(
        read,
        batches={EncodedRows: batches},
        left_unread=left_unread,
        unread_rules={"JSL107": "files of no documents"},
        by_row=True,
        source_name="jsonl",
        names_fields=True,
        has_columns=True,
    ),
    aliases={"csv": "csv", "csv-safe": "csv-safe"},
    writers={
        VERSION: rows_writer("data", restored, takes_tables=True),
        "csv": csv_writer("data", restored),
        "csv-safe": csv_writer("data", restored, safe=True),
    },
    describers={VERSION: DESCRIBER, "csv": CSV, "csv-safe": CSV},
    is_general=True,
)
