"""Internal: Records: a text with the headers of its page and what OSCAR says of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat
from typing import Annotated, Any, NotRequired, TypedDict, TypeGuard

from msgspec import Meta, Struct
from msgspec.structs import replace

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.oscar2.layout import FILES, RECORD, RULES
from corpusfmt.formats.provenance import RecordIds
from corpusfmt.formats.rows.reading import Rows
from corpusfmt.formats.rows.records import Records, are_of, object_rules
from corpusfmt.formats.warc import RECORD_ID, is_time
from corpusfmt.formats.whole import Key
from corpusfmt.io.jsonlines import Integer
from corpusfmt.io.text import json_type, pointer
from corpusfmt.model import Document, Json, Location, Problem, Severity

# Lists of words; the first was renamed to the second in 23.01.
TAGS = ("annotation", "quality_warnings", "categories")

CONVERSION, PLAIN = "conversion", "text/plain"
#: Headers that lead from a document to its page.
NEEDED_HEADERS = frozenset({"warc-record-id", "warc-target-uri", "warc-date"})
#: The greatest probability that fastText returns.
MOST_PROB = 1.001


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
        found = json_type(record.fields["content"]) if "content" in record.fields else "missing"
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
        found = json_type(headers) if "warc_headers" in record.fields else "missing"
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
        found = json_type(record.fields["metadata"]) if "metadata" in record.fields else "missing"
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
    """A document was identified as another language than that of its file.

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
            f"the record is identified as `{label}`, its file is of `{record.language}`",
            at,
            "move the record to its language",
        )


@RULES.rule("OSJ308", "header-names", on=Record, accepted_by="are_clean", severity=Severity.WARNING, spec=RECORD)
def header_names(record: Record) -> Iterator[Problem]:
    """A header's name is not lower case, or the record has no id, address or date.

    Why: readers look up headers by their lower-case names; without them a document cannot be traced to its page.
    Example: `WARC-Record-ID`; a record without `warc-target-uri`.
    Fix: write names in lower case, and keep the headers of the WARC record.
    """
    headers = record.fields.get("warc_headers")
    if not isinstance(headers, dict):
        return
    at = replace(record.at, pointer="/warc_headers")
    if capitals := [name for name in headers if name != name.lower()]:
        yield Problem(f"the header `{capitals[0]}` is not lower case", at, f"name it `{capitals[0].lower()}`")
    missing = [name for name in sorted(NEEDED_HEADERS) if name not in map(str.lower, headers)]
    if missing:
        message = f"header{'s' if len(missing) > 1 else ''} missing: {', '.join(missing)}"
        yield Problem(message, at, "keep the headers of the WARC record")


@RULES.rule("OSJ309", "record-id", on=Record, accepted_by="are_clean", severity=Severity.WARNING, spec=RECORD)
def record_id(record: Record) -> Iterator[Problem]:
    """A warc-record-id is not `<urn:uuid:…>`.

    Why: the id identifies a document.
    Example: `"warc-record-id": "1"`.
    Fix: keep the id of the WARC record.
    """
    value = _header(record, "warc-record-id")
    if value is not None and not RECORD_ID.fullmatch(value):
        message = f"`warc-record-id` is `{value}`, expected `<urn:uuid:…>`"
        yield Problem(message, _in_headers(record, "warc-record-id"), "keep the id of the WARC record")


@RULES.rule("OSJ310", "record-date", on=Record, accepted_by="are_clean", severity=Severity.WARNING, spec=RECORD)
def record_date(record: Record) -> Iterator[Problem]:
    """A warc-date is not a real RFC 3339 time in UTC.

    Why: the date of the crawl is part of the provenance.
    Example: `2021-02-30T00:00:00Z`, `24/02/2021`.
    Fix: keep the date of the WARC record, such as `2021-02-24T17:55:29Z`.
    """
    value = _header(record, "warc-date")
    if value is not None and not is_time(value):
        message = f"`warc-date` is `{value}`, expected an RFC 3339 time in UTC"
        yield Problem(message, _in_headers(record, "warc-date"), "write `YYYY-MM-DDThh:mm:ssZ`")


@RULES.rule("OSJ311", "record-type", on=Record, accepted_by="are_clean", severity=Severity.WARNING, spec=RECORD)
def record_type(record: Record) -> Iterator[Problem]:
    """A record is not of warc-type `conversion` and content-type `text/plain`.

    Why: OSCAR consists of the extracted text of WET files; another type means that something else was classified.
    Example: `warcinfo`, which describes the crawler.
    Fix: use only conversion records.
    """
    for name, expected in (("warc-type", CONVERSION), ("content-type", PLAIN)):
        value = _header(record, name)
        if value not in {None, expected}:
            message = f"`{name}` is `{value}`, expected `{expected}`"
            yield Problem(message, _in_headers(record, name), "use only the text of conversion records")


@RULES.rule(
    "OSJ312",
    "prob-range",
    on=Record,
    accepted_by="are_clean",
    severity=Severity.WARNING,
    spec=RECORD,
    unless=("OSJ303", "OSJ304"),
)
def prob_range(record: Record) -> Iterator[Problem]:
    """A prob is less than 0 or greater than 1. fastText's rounding, up to 1.001, is accepted.

    Why: filters by confidence keep or drop the wrong documents.
    Example: `"prob": 93.9`, in per cent.
    Fix: write the probability that the classifier returned.
    """
    metadata = record.fields["metadata"]
    found = {"identification": metadata["identification"]["prob"]}
    for number, each in enumerate(metadata["sentence_identifications"]):
        if each is not None:
            found[f"sentence_identifications/{number}"] = each["prob"]
    odd = [name for name, prob in found.items() if not 0 <= prob <= (1 if isinstance(prob, int) else MOST_PROB)]
    if odd:
        message = f"`prob` is `{found[odd[0]]}`, expected 0 to 1"
        hint = "write the probability that the classifier returned"
        yield Problem(message, _below(record, f"{odd[0]}/prob"), hint, count=len(odd))


@RULES.rule("OSJ313", "score-type", on=Record, accepted_by="are_clean", spec=RECORD, unless=("OSJ303",))
def score_type(record: Record) -> Iterator[Problem]:
    """The perplexity `harmful_pp` is neither null nor a number, or `tlsh` neither null nor a string.

    Why: typed readers stop there, and filters by perplexity fail.
    Example: `"harmful_pp": "4063.18"`.
    Fix: write a number and a string, or null where there is none.
    """
    for name, kind, expected in (("harmful_pp", (int, float), "a number"), ("tlsh", str, "a string")):
        value = record.fields["metadata"].get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind)):
            message = f"`{name}` is {json_type(value)}, expected {expected} or null"
            yield Problem(message, _below(record, name), f"write {expected}, or null")


def _header(record: Record, name: str) -> str | None:
    """Return the value of a header, None if it is absent or not a string."""
    headers = record.fields.get("warc_headers")
    value = headers.get(name) if isinstance(headers, dict) else None
    return value if isinstance(value, str) else None


def _in_headers(record: Record, name: str) -> Location:
    return replace(record.at, pointer=pointer("warc_headers", name))


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


_Prob = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=MOST_PROB)]


class _Identification(TypedDict):
    label: str
    prob: _Prob


class _Metadata(TypedDict):
    identification: _Identification
    sentence_identifications: list[_Identification | None]
    annotation: NotRequired[list[str] | None]
    quality_warnings: NotRequired[list[str] | None]
    categories: NotRequired[list[str] | None]
    harmful_pp: NotRequired[Integer | float | None]
    tlsh: NotRequired[str | None]


class _Record(TypedDict):
    content: str
    warc_headers: dict[str, str]
    metadata: _Metadata


def part_of(shard: Shard) -> str:
    """Return language and part of a file, as in ids of documents."""
    return shard.target.partition(".")[0]


class ReleaseRecords(Records):
    """Records of a file, with or without a language in its name.

    A document has the language of its file, or else its identified language. Its metadata has `language`, `url`,
    and as `oscar` every field of the record except the content.
    """

    text = "content"
    subject = Record

    def __init__(self, shard: Shard, options: CheckOptions) -> None:
        super().__init__(shard, options)
        self._language: str | None = shard.payload
        self.has_ids = True
        self._ids = RecordIds(part_of(shard))

    def are_clean(self, rows: list[Json]) -> bool:
        return (
            are_of(_Record, rows)
            and all(len(row["metadata"]["sentence_identifications"]) == row["content"].count("\n") + 1 for row in rows)
            and (self._language is None or {*map(_label_of, rows)} == {self._language})
            and _have_right_headers(rows)
        )

    def record(self, at: Location, row: Json) -> Record:
        return Record(at, row, self._language)

    def id_of(self, row: Json) -> Any:
        headers = row.get("warc_headers")
        return headers.get("warc-record-id") if isinstance(headers, dict) else None

    def key_of(self, row: Json) -> Key | None:
        """Return language and id of a record, which gives a document in each of its languages."""
        name, language = self.id_of(row), self._language
        if language is None:
            metadata = row.get("metadata")
            identification = metadata.get("identification") if isinstance(metadata, dict) else None
            language = identification.get("label") if isinstance(identification, dict) else None
        if not (isinstance(name, str) and name and isinstance(language, str)):
            return None
        return language, name

    def keys_of(self, rows: list[Json]) -> list[bytes | None]:
        languages = map(_label_of, rows) if self._language is None else repeat(self._language)
        names = [row["warc_headers"]["warc-record-id"] for row in rows]
        return [f"{language}\t{name}".encode() for language, name in zip(languages, names, strict=False)]

    def document(self, row: Json, number: int) -> Document:
        headers: dict[str, str] = row["warc_headers"]
        filed = self._language or row["metadata"]["identification"]["label"]
        metadata: dict[str, Any] = {"language": filed, "url": headers.get("warc-target-uri")}
        metadata["oscar"] = {name: value for name, value in row.items() if name != "content"}
        return Document(
            self._ids.of(headers.get("warc-record-id"), filed, number),
            row["content"],
            source="oscar",
            lang=filed,
            created=headers.get("warc-date"),
            metadata=metadata,
        )


def _label_of(row: Json) -> str:
    label: str = row["metadata"]["identification"]["label"]
    return label


@lru_cache(maxsize=1024)
def _are_right_names(names: tuple[str, ...]) -> bool:
    return NEEDED_HEADERS.issubset(names) and all(name == name.lower() for name in names)


def _have_right_headers(rows: list[Json]) -> bool:
    headers: list[dict[str, str]] = [row["warc_headers"] for row in rows]
    return (
        all(map(_are_right_names, {*map(tuple, headers)}))
        and {each.get("warc-type", CONVERSION) for each in headers} == {CONVERSION}
        and {each.get("content-type", PLAIN) for each in headers} == {PLAIN}
        and all(RECORD_ID.fullmatch(each["warc-record-id"]) and is_time(each["warc-date"]) for each in headers)
    )


RECORDS = Rows(RULES, ReleaseRecords, FILES.empty, "records")
