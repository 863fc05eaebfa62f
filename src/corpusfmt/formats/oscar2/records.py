"""Internal: Records: a text with the headers of its page and what OSCAR says of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from corpusfmt.formats.oscar2.ruleset import RECORD, RULES
from corpusfmt.formats.rows.records import object_rules
from corpusfmt.io.text import json_type, pointer
from corpusfmt.model import Json, Location, Problem, Severity

# Lists of words; the first was renamed to the second in 23.01.
TAGS = ("annotation", "quality_warnings", "categories")


class Record(Struct, frozen=True):
    """An object on a line, and the language that the name of its file says."""

    at: Location
    fields: Json
    language: str | None


object_rules(RULES, "OSJ201", "OSJ202", RECORD)


@RULES.rule("OSJ301", "content-missing", on=Record, accepted_by="are_clean", spec=RECORD)
def content_missing(record: Record) -> Iterator[Problem]:
    """A record has no content, or its content is not a string.

    Why: there is no text; readers stop here.
    Example: `"content": null`.
    Fix: write the text as one string, its lines separated by LF.
    """
    if not isinstance(record.fields.get("content"), str):
        found = json_type(record.fields["content"]) if "content" in record.fields else "absent"
        yield Problem(f"`content` is {found}, expected a string", record.at, "write the text as one string")


@RULES.rule("OSJ302", "headers-not-strings", on=Record, accepted_by="are_clean", spec=RECORD)
def headers_not_strings(record: Record) -> Iterator[Problem]:
    """The WARC headers are missing, or not an object of strings.

    Why: the schema requires strings; typed readers stop at another type.
    Example: `"warc_headers": {"content-length": 5385}`.
    Fix: write each header as a string, as the crawl has it.
    """
    headers = record.fields.get("warc_headers")
    if not isinstance(headers, dict):
        found = json_type(headers) if "warc_headers" in record.fields else "absent"
        yield Problem(f"`warc_headers` is {found}, expected an object", record.at, "write an object of strings")
        return
    for name, value in headers.items():
        if not isinstance(value, str):
            at = replace(record.at, pointer=pointer("warc_headers", name))
            message = f"the header `{name}` is {json_type(value)}, expected a string"
            yield Problem(message, at, "write the value as a string")


@RULES.rule("OSJ303", "metadata-missing", on=Record, accepted_by="are_clean", spec=RECORD)
def metadata_missing(record: Record) -> Iterator[Problem]:
    """The metadata is missing, or not an object.

    Why: it contains the language of the document; readers stop here.
    Example: `"metadata": []`.
    Fix: write an object with `identification` and `sentence_identifications`.
    """
    if not isinstance(record.fields.get("metadata"), dict):
        found = json_type(record.fields["metadata"]) if "metadata" in record.fields else "absent"
        yield Problem(f"`metadata` is {found}, expected an object", record.at, "write an object")


@RULES.rule("OSJ304", "identification-malformed", on=Record, accepted_by="are_clean", spec=RECORD, unless=("OSJ303",))
def identification_malformed(record: Record) -> Iterator[Problem]:
    """An identification of the document or a line is not an object with a label (a string) and a prob (a number).

    Why: typed readers stop there. A line that was not identified has null; a document always has an identification.
    Example: `"identification": null`, `"sentence_identifications": [{"label": "en"}]`.
    Fix: write `{"label": "en", "prob": 0.9}`.
    """
    metadata = record.fields["metadata"]
    hint = 'write `{"label": "en", "prob": 0.9}`'
    if not is_identification(metadata.get("identification")):
        yield Problem("`identification` is not a label with a prob", _below(record, "identification"), hint)
    sentences = metadata.get("sentence_identifications")
    if not isinstance(sentences, list):
        at = _below(record, "sentence_identifications")
        yield Problem(
            "`sentence_identifications` is not an array", at, "write one identification or null for each line"
        )
        return
    wrong = [number for number, each in enumerate(sentences) if each is not None and not is_identification(each)]
    if wrong:
        at = _below(record, f"sentence_identifications/{wrong[0]}")
        yield Problem("the identification of a line is not a label with a prob", at, hint, count=len(wrong))


@RULES.rule("OSJ305", "tags-malformed", on=Record, accepted_by="are_clean", spec=RECORD, unless=("OSJ303",))
def tags_malformed(record: Record) -> Iterator[Problem]:
    """Annotations, quality warnings or categories are neither null nor an array of strings.

    Why: typed readers stop there.
    Example: `"annotation": "tiny"`.
    Fix: write `["tiny"]`, or null where there is none.
    """
    for name in TAGS:
        if not are_tags(record.fields["metadata"].get(name)):
            message = f"`{name}` is neither null nor an array of strings"
            yield Problem(message, _below(record, name), "write an array of strings, or null")


@RULES.rule(
    "OSJ306",
    "sentence-count",
    on=Record,
    accepted_by="are_clean",
    severity=Severity.WARNING,
    spec=RECORD,
    unless=("OSJ301", "OSJ303"),
)
def sentence_count(record: Record) -> Iterator[Problem]:
    """There is not exactly one identification for each line of the content.

    Why: lines and identifications pair by position, so all further lines get the wrong language.
    Example: three lines and two identifications.
    Fix: write null for a line that was not identified.
    """
    sentences = record.fields["metadata"].get("sentence_identifications")
    lines = record.fields["content"].count("\n") + 1
    if isinstance(sentences, list) and len(sentences) != lines:
        message = f"{len(sentences)} identifications of lines, expected {lines}"
        yield Problem(message, _below(record, "sentence_identifications"), "write one, or null, for each line")


@RULES.rule(
    "OSJ307",
    "language-mismatch",
    on=Record,
    accepted_by="are_clean",
    severity=Severity.WARNING,
    spec=RECORD,
    unless=("OSJ303",),
)
def language_mismatch(record: Record) -> Iterator[Problem]:
    """A document is in the file of another language than the one it was identified as.

    Why: one of the two is wrong, and readers use either.
    Example: `"identification": {"label": "en", …}` in `de_meta_part_1.jsonl.gz`.
    Fix: move it to the file of its language, or identify it again.
    """
    identification = record.fields["metadata"].get("identification")
    if record.language is None or not is_identification(identification):
        return
    label = identification["label"]
    if label != record.language:
        at = _below(record, "identification/label")
        yield Problem(
            f"identified as `{label}` in a file of `{record.language}`", at, "move the record to its language"
        )


def is_identification(value: Any) -> TypeGuard[Json]:
    """Return whether a value is a label with its probability."""
    if not isinstance(value, dict) or not isinstance(value.get("label"), str):
        return False
    prob = value.get("prob")
    return isinstance(prob, (int, float)) and not isinstance(prob, bool)


def are_tags(value: Any) -> bool:
    """Return whether a value is null or an array of strings."""
    return value is None or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _below(record: Record, path: str) -> Location:
    return replace(record.at, pointer=f"/metadata/{path}")
