"""What keeps a record from becoming a document: rules of reading, which a check of the description does not run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from corpusfmt.io.text import MAX_DEPTH, json_type
from corpusfmt.model import Location, Problem
from corpusfmt.rules import RuleSet

RULES = RuleSet()
#: How deep the lists and objects of a record may nest: they become a member of the object that is a document.
MOST_LEVELS = MAX_DEPTH - 1


class TextValue(Struct, frozen=True):
    """What a record has in the field of texts."""

    at: Location
    field: str
    value: Any


class IdValue(Struct, frozen=True):
    """What a record has in a field that makes its id."""

    at: Location
    field: str
    value: Any


class Nesting(Struct, frozen=True):
    """A record with more than `MOST_LEVELS` of lists and objects in each other."""

    at: Location


@RULES.rule("CRO701", "record-without-text", on=TextValue)
def record_without_text(text: TextValue) -> Iterator[Problem]:
    """A record that is to be a document has no text in the field of texts. The empty text is one.

    Why: there is no document to make of it; a number or a list is not written out as if it were prose.
    Example: an empty cell; a field of type sc:Integer named with --text-field.
    Fix: write the text, leave the record out, or name another field with --text-field.
    """
    if not isinstance(text.value, str):
        hint = "write the text, leave the record out, or name another field with --text-field"
        yield Problem(f"`{text.field}` is {_kind(text.value)}, expected a text", text.at, hint)


@RULES.rule("CRO702", "record-without-id", on=IdValue)
def record_without_id(identity: IdValue) -> Iterator[Problem]:
    """A record that is to be a document has no id, in a record set that has ids: no text that is not empty, no whole number.

    Why: nothing then tells the document from others, and a number with a fraction is written in several ways.
    Example: an empty cell in the field of the key.
    Fix: give the record an id, or name another field with --id-field.
    """
    value = identity.value
    if not value and (value is None or isinstance(value, str)):
        yield Problem(
            f"`{identity.field}` is {'null' if value is None else 'empty'}", identity.at, "give the record an id"
        )
    elif isinstance(value, bool) or not isinstance(value, str | int):
        message = f"`{identity.field}` is {_kind(value)}, expected a text or a whole number"
        yield Problem(message, identity.at, "name another field with --id-field")


@RULES.rule("CRO703", "record-too-deep", on=Nesting)
def record_too_deep(record: Nesting) -> Iterator[Problem]:
    """The lists and objects of a record that is to be a document nest deeper than 127 levels.

    Why: many readers of JSON give up on it.
    Example: a list in a list in a list, 200 times.
    Fix: flatten the value, or leave its field out of the description.
    """
    yield Problem(f"nested deeper than {MOST_LEVELS} levels", record.at, "flatten it, or leave the field undescribed")


def _kind(value: Any) -> str:
    return "bytes" if isinstance(value, bytes) else json_type(value)
