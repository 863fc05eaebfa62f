"""Internal: JSON Lines of any shape as a source and, with the rows that there were, as a target."""

from __future__ import annotations

from corpusfmt.formats import Format, Reader
from corpusfmt.formats.batches import EncodedRows
from corpusfmt.formats.jsonl.describe import DESCRIBER
from corpusfmt.formats.jsonl.layout import detect, finish, plan
from corpusfmt.formats.jsonl.records import ROWS
from corpusfmt.formats.jsonl.ruleset import RULES, VERSION
from corpusfmt.formats.rows.origin import restored
from corpusfmt.formats.rows.reading import ROWS as ROLE
from corpusfmt.formats.rows.writing import rows_writer
from corpusfmt.io.keys import FewKeys

FORMAT = Format(
    name="jsonl",
    summary="JSON Lines: rows with a text",
    versions=(VERSION,),
    rules=RULES,
    detect=detect,
    plan=plan,
    check=ROWS.check,
    reads_only_its_files=True,
    documents_role=ROLE,
    finish=finish,
    facts=tuple[str, str, FewKeys | None],
    reader=Reader(
        ROWS.read,
        batches={EncodedRows: ROWS.batches},
        by_row=True,
        source_name="jsonl",
        names_fields=True,
        has_columns=True,
    ),
    writers={VERSION: rows_writer("data", restored)},
    describers={VERSION: DESCRIBER},
    is_general=True,
)
