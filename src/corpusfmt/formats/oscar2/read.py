"""Internal: How the records of a release become documents, and which blocks of them are certainly clean."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Meta

from corpusfmt.formats import CheckOptions, Shard
from corpusfmt.formats.oscar2.records import CONVERSION, MOST_PROB, NEEDED_HEADERS, PLAIN, Record
from corpusfmt.formats.oscar2.ruleset import EMPTY_FILE, RULES
from corpusfmt.formats.provenance import RecordIds
from corpusfmt.formats.rows.reading import Rows
from corpusfmt.formats.rows.records import Records, are_of
from corpusfmt.formats.warc import RECORD_ID, is_time
from corpusfmt.formats.whole import Key
from corpusfmt.io.jsonlines import Integer
from corpusfmt.model import Document, Json, Location

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
        self._ids = RecordIds(shard.target.partition(".")[0])

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


RECORDS = Rows(RULES, ReleaseRecords, EMPTY_FILE, "records")
