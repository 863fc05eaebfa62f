"""Internal: JSON Lines of whatever maker: objects with a text, and whatever else there is of a document."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.describing import FieldOf
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.format import row_format, row_rules
from corpusfmt.formats.rows.records import Record, Records, document_of, language_in
from corpusfmt.formats.rows.writing import rows_writer
from corpusfmt.io.text import json_type
from corpusfmt.model import Document, Json, Location, Problem
from corpusfmt.rules import RuleSet

VERSION = "1.0"
RULES = RuleSet(GENERAL, versions=(VERSION,))
FILES = row_rules(RULES, "JSL")


class IdentifiedRecord(Record, frozen=True):
    """An object, and the name of its id where it has or should have one."""

    id: str | None


@RULES.rule("JSL302", "id-malformed", on=IdentifiedRecord)
def id_malformed(record: IdentifiedRecord) -> Iterator[Problem]:
    """The id of a row is neither a string nor a whole number, is empty, or is missing although `--id-field` names it.

    Why: nothing then tells the document from others.
    Example: `{"id": null, "text": "…"}`, `{"id": 1.5, "text": "…"}`.
    Fix: write an id of its own for each row, or leave it out in all rows.
    """
    if record.id is not None and not _is_id(record.fields.get(record.id)):
        found = json_type(record.fields[record.id]) if record.id in record.fields else "absent"
        shown = "empty" if found == "a string" else f"{found}, not a string or a whole number"
        yield Problem(f"`{record.id}` is {shown}", record.at, "give the row an id of its own")


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and value != "") or (isinstance(value, int) and not isinstance(value, bool))


class AnyRecords(Records):
    """Rows with a text and an id by the names that `ReadOptions` gives, `text` and `id` where it gives none."""

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        super().__init__(shard, options)
        self.text = options.reading.text_field or "text"
        self.required = (self.text,)

    def _id_name(self, row: Json) -> str | None:
        return self.options.reading.id_field or ("id" if "id" in row else None)

    def are_clean(self, rows: list[Json]) -> bool:
        ids = (row.get(name) for row in rows if (name := self._id_name(row)) is not None)
        return super().are_clean(rows) and all(map(_is_id, ids))

    def record(self, at: Location, row: Json) -> IdentifiedRecord:
        return IdentifiedRecord(at, row, self.required, self._id_name(row))

    def document(self, row: Json, number: int) -> Document:
        """Return a row as a document; with an object `metadata`, everything else that it has stays beside that."""
        metadata = row.get("metadata")
        is_apart = isinstance(metadata, dict)
        fields = {name: value for name, value in row.items() if name != "metadata"} if is_apart else row
        place = f"{self.shard.name}:{number}"
        document = document_of(fields, self.text, self._id_name(row), place, source=FORMAT.name)
        if isinstance(metadata, dict):
            document.extra, document.metadata = document.metadata or {}, metadata
            language = language_in(metadata)
            document.lang = document.lang if language is None else language
        return document


FORMAT = row_format(
    "jsonl",
    "JSON Lines: rows with a text",
    RULES,
    FILES,
    version=VERSION,
    file_name=r".*\.(?:jsonl|ndjson)(?:\.gz|\.zst|\.zstd)?|.*\.json\.(?:gz|zst)",
    fields=[FieldOf("text", "sc:Text", {"column": "text"}, "Text of the document")],
    records=AnyRecords,
    writer=rows_writer("data"),
    names_fields=True,
    is_general=True,
)
