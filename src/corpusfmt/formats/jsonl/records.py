"""Internal: What a row must have: an id that identifies it, and the fields of its column profile."""

from __future__ import annotations

from collections.abc import Iterator

from corpusfmt.formats.columns import value_at
from corpusfmt.formats.general import GENERAL
from corpusfmt.formats.rows.columned import ColumnRecord, ColumnRecords, field_type_rule, is_id
from corpusfmt.formats.rows.files import path_rule
from corpusfmt.formats.rows.format import row_rules
from corpusfmt.formats.rows.reading import Rows
from corpusfmt.io.text import json_type
from corpusfmt.model import Problem
from corpusfmt.rules import RuleSet

VERSION = "1.0"
RULES = RuleSet(GENERAL, versions=(VERSION,))
FILES = row_rules(RULES, "JSL")
path_rule(RULES, "JSL106")


ROWS = Rows(RULES, ColumnRecords, FILES.empty)


@RULES.rule("JSL302", "id-malformed", on=ColumnRecord, accepted_by="are_clean")
def id_malformed(record: ColumnRecord) -> Iterator[Problem]:
    """The id of a row is neither a string nor a whole number, is empty, or is missing although `--id-field` names it.

    Why: the document cannot be identified.
    Example: `{"id": null, "text": "…"}`, `{"id": 1.5, "text": "…"}`.
    Fix: give each row a unique id, or remove the id from all rows.
    """
    name = record.columns.fields.id
    if record.id is not None and not is_id(value_at(record.fields, record.id)):
        value = value_at(record.fields, record.id)
        is_there = value is not None or name in record.fields
        found = json_type(value) if is_there else "absent"
        shown = "empty" if found == "a string" else f"{found}, expected a string or a whole number"
        yield Problem(f"`{name}` is {shown}", record.at, "give the row a unique id")


field_type_rule(RULES, "JSL303")
