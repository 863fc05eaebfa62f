"""Internal: Rows of documents and of attributes: what each field may be."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.dolma.ruleset import RULES
from corpusfmt.formats.rows.records import Row, object_rules
from corpusfmt.io.text import json_type, pointer
from corpusfmt.model import Fault, Json, Location, Problem, Severity
from corpusfmt.wording import shortened

DOCUMENT_SPEC = "dolma-data-format#dolma-document-format"
ATTRIBUTES_SPEC = "dolma-data-format#dolma-toolkit-attributes-format"


class DocumentRow(Struct, frozen=True):
    """One row of a documents file."""

    at: Location
    fields: Json


class AttributesRow(Struct, frozen=True):
    """One row of an attributes file."""

    at: Location
    fields: Json


def clipped(value: object) -> str:
    """Return a value for a message: on one line, shortened in the middle."""
    text = shortened(value if isinstance(value, str) else repr(value), 80, 40, 40, " … ")
    return text.encode("unicode_escape").decode() if not text.isprintable() else text


def as_json(value: object) -> str:
    """Return a value as the JSON that it was, clipped."""
    return clipped(json.dumps(value, ensure_ascii=False))


object_rules(RULES, "DOL201", "DOL202", DOCUMENT_SPEC)


@RULES.rule("DOL203", "number-precision", on=Row, accepted_by="glance", severity=Severity.WARNING, spec=DOCUMENT_SPEC)
def number_precision(row: Row) -> Iterator[Problem]:
    """A number loses digits in 64 bits: a larger integer, or a fraction of more than 17 digits that is not a float.

    GEN303 reports a number beyond the range of 64-bit floats.

    Why: readers round such numbers, or stop.
    Example: `{"tweet": 123456789012345678901234567890}`, `0.1234567890123456789`.
    Fix: write the number as a string, or round it to 17 digits.
    """
    if row.json.inexact:
        message = f"the number `{row.json.inexact[0]}` does not fit into 64 bits"
        yield Problem(message, row.at, "write the number as a string", count=len(row.json.inexact))


CARRIAGE_RETURN = RULES.finding(
    "DOL204",
    "carriage-return",
    r"""Rows end in CR LF.

    Why: only LF ends a line; the CR becomes part of the row, and tools that compare lines or bytes see different rows.
    Example: a file written on Windows in text mode.
    Fix: run `tr -d '\r'` (escaped CRs in JSON strings are kept).
    """,
    severity=Severity.WARNING,
    spec=DOCUMENT_SPEC,
)


@RULES.rule("DOL301", "missing-id", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def missing_id(row: DocumentRow) -> Iterator[Problem]:
    """A document has no id.

    Why: only the id distinguishes documents: attributes, blocklists and tracing depend on it.
    Example: `{"text": "…", "source": "web"}`.
    Fix: give each document an id that is unique within its source and stays the same in every version.
    """
    if "id" not in row.fields:
        yield Problem("`id` is missing", row.at, "add an id that is unique within its source")


@RULES.rule("DOL302", "id-type", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC, unless=("DOL301",))
def id_type(row: DocumentRow) -> Iterator[Problem]:
    """An id is not a string.

    Why: the tagger stops at a number, and to the mixer `1` and `"1"` are different.
    Example: `"id": 1`.
    Fix: write the id as a string.
    """
    value = row.fields["id"]
    if not isinstance(value, str):
        yield Problem(f"`id` is `{as_json(value)}`, expected a string", row.at, "write it as a string")


@RULES.rule("DOL303", "empty-id", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def empty_id(row: DocumentRow) -> Iterator[Problem]:
    """An id is the empty string.

    Why: an empty id identifies nothing, and all such documents look like one.
    Example: `"id": ""`.
    Fix: give the document a unique id.
    """
    if row.fields.get("id") == "":
        yield Problem("`id` is empty", row.at, "add an id that is unique within its source")


@RULES.rule("DOL304", "missing-text", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def missing_text(row: DocumentRow) -> Iterator[Problem]:
    """A document has no text.

    Why: the mixer's worker panics, and no output is written for the whole file, with exit status 0.
    Example: `{"id": "1", "source": "web"}`.
    Fix: write the text (it may be empty), or drop the row here and in every attribute set.
    """
    if "text" not in row.fields:
        yield Problem("`text` is missing", row.at, "add the text, or drop the row here and in every attribute set")


@RULES.rule("DOL305", "text-type", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC, unless=("DOL304",))
def text_type(row: DocumentRow) -> Iterator[Problem]:
    """A text is not a string. The empty string is accepted.

    Why: as with a missing text, the mixer writes nothing for the whole file, with exit status 0.
    Example: `"text": null`, `"text": ["a", "b"]`.
    Fix: write the text as one string, or drop the row here and in every attribute set.
    """
    value = row.fields["text"]
    if not isinstance(value, str):
        yield Problem(f"`text` is {json_type(value)}, expected a string", row.at, "write the text as one string")


@RULES.rule("DOL306", "missing-source", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def missing_source(row: DocumentRow) -> Iterator[Problem]:
    """A document has no source.

    Why: an id is unique only within its source, so the document cannot be identified without it.
    Example: `{"id": "1", "text": "…"}`.
    Fix: add the name of the collection that the document comes from.
    """
    if "source" not in row.fields:
        yield Problem("`source` is missing", row.at, "add the name of the document's collection")


@RULES.rule("DOL307", "source-type", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC, unless=("DOL306",))
def source_type(row: DocumentRow) -> Iterator[Problem]:
    """A source is not a string.

    Why: the tagger stops there.
    Example: `"source": null`.
    Fix: write the name of the collection as a string.
    """
    value = row.fields["source"]
    if not isinstance(value, str):
        yield Problem(f"`source` is `{as_json(value)}`, expected a string", row.at, "write it as a string")


@RULES.rule("DOL308", "timestamp-type", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def timestamp_type(row: DocumentRow) -> Iterator[Problem]:
    """A timestamp (`added`, `created`) is not a string.

    Why: null or a number aborts the tagger.
    Example: `"created": null`, `"added": 1680881078`.
    Fix: write a timestamp such as `2023-04-07T15:24:38Z`, or remove the field.
    """
    for name in ("added", "created"):
        value = row.fields.get(name, "")
        if not isinstance(value, str):
            message = f"`{name}` is `{as_json(value)}`, expected a string"
            yield Problem(message, _below(row.at, name), f"write a string, or remove `{name}`")


@RULES.rule(
    "DOL309", "timestamp-format", on=DocumentRow, accepted_by="glance", severity=Severity.WARNING, spec=DOCUMENT_SPEC
)
def timestamp_format(row: DocumentRow) -> Iterator[Problem]:
    """A timestamp is neither a date nor a date and time of ISO 8601 or RFC 3339.

    Why: no tool checks it, so sorting or filtering by time fails later.
    Example: `"added": ""`, `"created": "07/04/2023"`, `"created": "2023-02-30"`.
    Fix: write a timestamp such as `2023-04-07T15:24:38.743Z` or `2023-04-07`, or remove the field.
    """
    for name in ("added", "created"):
        value = row.fields.get(name)
        if isinstance(value, str) and not is_timestamp(value):
            message = f"`{name}` is `{clipped(value)}`, expected a date or time"
            hint = f"write a timestamp such as `2023-04-07T15:24:38Z`, or remove `{name}`"
            yield Problem(message, _below(row.at, name), hint)


_DAYS = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    r"|02-(?:0[1-9]|1\d|2[0-8]))"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
_TIMESTAMP = rf"(?a)\d{{4}}-{_DAYS}(?:[Tt ]{_TIME})?"
_LEAP_DAY = rf"(?a)(\d{{4}})-02-29(?:[Tt ]{_TIME})?"


def is_timestamp(value: str) -> bool:
    """Return whether a string is a date, or a date and time, of ISO 8601 (extended form) or RFC 3339."""
    if re.fullmatch(_TIMESTAMP, value):
        return True
    if (leap_day := re.fullmatch(_LEAP_DAY, value)) is None:
        return False
    year = int(leap_day[1])  # `calendar` is slow to import
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@RULES.rule("DOL310", "version-type", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def version_type(row: DocumentRow) -> Iterator[Problem]:
    """A version is neither a string nor null.

    Why: the tagger stops there.
    Example: `"version": 1`.
    Fix: write the version as a string.
    """
    value = row.fields.get("version")
    if value is not None and not isinstance(value, str):
        yield Problem(f"`version` is `{as_json(value)}`, expected a string", row.at, "write it as a string")


@RULES.rule(
    "DOL311",
    "metadata-type",
    on=DocumentRow,
    accepted_by="glance",
    grades={"minor": Severity.WARNING},
    spec=DOCUMENT_SPEC,
)
def metadata_type(row: DocumentRow) -> Iterator[Problem]:
    """Metadata is not an object. Null is a warning.

    Why: the mixer replaces it with its own object, and the value is lost.
    Example: `"metadata": "lang=en"`.
    Fix: write an object, or remove the field.
    """
    value = row.fields.get("metadata", {})
    if not isinstance(value, dict):
        message = f"`metadata` is {json_type(value)}, expected an object"
        yield Problem(message, _below(row.at, "metadata"), "write an object, or remove it", minor=value is None)


@RULES.rule("DOL312", "embedded-attributes-type", on=DocumentRow, accepted_by="glance", spec=DOCUMENT_SPEC)
def embedded_attributes_type(row: DocumentRow) -> Iterator[Problem]:
    """`attributes` inside a document is not an object.

    Why: the mixer replaces it with the attributes of the attribute sets, and the value is lost.
    Example: `"attributes": []`.
    Fix: write an object, or remove the field.
    """
    value = row.fields.get("attributes", {})
    if not isinstance(value, dict):
        message = f"`attributes` is {json_type(value)}, expected an object"
        yield Problem(message, _below(row.at, "attributes"), "write an object, or remove it")


@RULES.rule("DOL403", "missing-attribute-id", on=AttributesRow, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def missing_attribute_id(row: AttributesRow) -> Iterator[Problem]:
    """A row of attributes has no id.

    Why: rows pair by position, and only the id proves that they match; to the mixer, two missing ids are equal.
    Example: `{"attributes": {"toxicity": 0.7}}`.
    Fix: write the id of the document on the same row.
    """
    if "id" not in row.fields:
        yield Problem("`id` is missing", row.at, "write the id of the document on the same row")


@RULES.rule(
    "DOL404", "attribute-id-type", on=AttributesRow, accepted_by="glance", spec=ATTRIBUTES_SPEC, unless=("DOL403",)
)
def attribute_id_type(row: AttributesRow) -> Iterator[Problem]:
    """The id of a row of attributes is not a string.

    Why: it cannot equal the id of a document.
    Example: `"id": 7`.
    Fix: write the id of the document on the same row, as a string.
    """
    value = row.fields["id"]
    if not isinstance(value, str):
        yield Problem(f"`id` is `{as_json(value)}`, expected a string", row.at, "write it as a string")


@RULES.rule("DOL405", "missing-attributes", on=AttributesRow, accepted_by="glance", spec=ATTRIBUTES_SPEC)
def missing_attributes(row: AttributesRow) -> Iterator[Problem]:
    """A row of an attributes file has no `attributes`.

    Why: the mixer stops there.
    Example: `{"id": "1", "toxicity": 0.7}`.
    Fix: put the attributes into an object of that name; it may be empty.
    """
    if "attributes" not in row.fields:
        yield Problem("`attributes` is missing", row.at, "add an object of that name; it may be empty")


@RULES.rule(
    "DOL406", "attributes-type", on=AttributesRow, accepted_by="glance", spec=ATTRIBUTES_SPEC, unless=("DOL405",)
)
def attributes_type(row: AttributesRow) -> Iterator[Problem]:
    """`attributes` in a row of an attributes file is not an object.

    Why: the mixer stops there.
    Example: `"attributes": null`, `"attributes": [[0, 10, 0.5]]`.
    Fix: write an object of named attributes; it may be empty.
    """
    value = row.fields["attributes"]
    if not isinstance(value, dict):
        message = f"`attributes` is {json_type(value)}, expected an object"
        yield Problem(message, _below(row.at, "attributes"), "write an object; it may be empty")


ATTRIBUTE_KEY_FORM = RULES.finding(
    "DOL407",
    "attribute-key-form",
    """The name of an attribute does not have the form `experiment__tagger__name`, in `[A-Za-z0-9_]`.

    A name without any `__` is accepted, a name with exactly one is not. Reported once for each name in a file.

    Why: `dolma stat` splits names at the first two `__` and stops if there is only one. The tagger, the deduper and the mixer
    accept any name: nothing is lost, so it is a warning. The toolkit's writer replaces other characters with `_`, so two
    names can become one.
    Example: `pii__email`, `my-experiment__pii__email`, the empty name.
    Fix: rename the attribute.
    """,
    severity=Severity.WARNING,
    spec=ATTRIBUTES_SPEC,
)

_KEY_CHARACTERS = re.compile("[A-Za-z0-9_]+")


def odd_key(key: str, at: Location) -> Fault | None:
    """Return the fault of an attribute's name that parts of the toolkit do not accept, on the row at `at`."""
    hint = "name it `experiment__tagger__name`"
    if key.count("__") == 1:
        message = f"`{key}` has exactly one `__`"
    elif not key:
        message = "an attribute has an empty name"
    elif not _KEY_CHARACTERS.fullmatch(key):
        message = f"`{clipped(key)}` has characters outside `[A-Za-z0-9_]`"
        hint = f"name it `{re.sub('[^A-Za-z0-9_]', '_', key)}`"
    else:
        return None
    return Fault(ATTRIBUTE_KEY_FORM, Problem(message, _below(at, "attributes", key), hint))


ATTRIBUTE_KEY_OTHER = RULES.finding(
    "DOL411",
    "attribute-key-other",
    """One row of an attributes file lacks a name that all others have, and has a name that none of them has.

    Why: a filter on the name does not match the row, so the mixer keeps its document.
    Example: `exp__tox__score` in 9 rows, `exp__tox__Score` in one.
    Fix: rename the attribute, or ignore this rule if the row is right.
    """,
    severity=Severity.WARNING,
    spec=ATTRIBUTES_SPEC,
)


def other_key(key: str, usual: str, at: Location) -> Fault:
    """Return the fault of a name that only the row at `at` has, which lacks the name that all others have."""
    message = f"`{clipped(usual)}` is in all rows but 1, which has `{clipped(key)}`"
    return Fault(
        ATTRIBUTE_KEY_OTHER,
        Problem(message, _below(at, "attributes", key), f"rename `{clipped(key)}` to `{clipped(usual)}`"),
    )


ATTRIBUTE_KEY_COLLISION = RULES.finding(
    "DOL408",
    "attribute-key-collision",
    """Two attribute sets give the same name to attributes of the same documents.

    Why: when sets are merged, the last one silently wins.
    Example: `toxicity` in `attributes/toxicity-0` and in `attributes/toxicity-1`.
    Fix: name attributes after the experiment: `experiment__tagger__name`.
    """,
    severity=Severity.WARNING,
    spec=ATTRIBUTES_SPEC,
)


@RULES.rule(
    "DOL409",
    "null-attribute",
    on=AttributesRow,
    accepted_by="glance",
    severity=Severity.WARNING,
    spec=ATTRIBUTES_SPEC,
    unless=("DOL405", "DOL406"),
)
def null_attribute(row: AttributesRow) -> Iterator[Problem]:
    """An attribute is null.

    Why: filters do not match null, so the document is always kept.
    Example: `"attributes": {"toxicity": null}`.
    Fix: write a value or an empty list, or remove the attribute.
    """
    nulls = [key for key, value in row.fields["attributes"].items() if value is None]
    if nulls:
        at = _below(row.at, "attributes", nulls[0])
        yield Problem(f"`{clipped(nulls[0])}` is null", at, "write a value, or remove the attribute", count=len(nulls))


def _below(at: Location, *names: str) -> Location:
    return replace(at, pointer=pointer(*names))
