"""OSC402 to OSC404 and OSC6xx: the metadata records of a part, against the published schema and the headers of WARC."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from corpusfmt.formats.general import bad_json, bad_text, too_long
from corpusfmt.formats.languages import iso_639_3
from corpusfmt.formats.oscar.blanks import OWN_HEADERS
from corpusfmt.formats.oscar.keep import DOCUMENT_HEADER
from corpusfmt.formats.oscar.ruleset import METADATA, ONLY_1_1, RULES, Sightings
from corpusfmt.io.lines import Block, LongLine, runs
from corpusfmt.io.text import JsonFault, TextFault, pointer, strict_json, utf8_fault
from corpusfmt.model import Fault, Json, Location, Problem, Severity
from corpusfmt.rules import Judge

_RECORD_ID = re.compile(r"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-]00:00)",
    re.ASCII,
)
_BLOCK_DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
# WARC 1.0 has a URI between angle brackets, which few writers write.
_URI = r"<?[A-Za-z][A-Za-z0-9+.-]*:[^\n]+"
# One value a line: a single match costs far less than a call for each.
_RECORD_IDS = re.compile(r"(?:<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>\n)*+")
_BLOCK_DIGESTS = re.compile(rf"(?:{_BLOCK_DIGEST.pattern}\n)*+")
_URIS = re.compile(rf"{_URI}(?:\n{_URI})*+")
_USUAL_TIMES = re.compile(r"(?:\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\n)*+", re.ASCII)
_MOST_DIGITS = 20
# A row whose offset cannot be known; it may stand for any document.
UNKNOWN = -1
#: No file has so many lines.
BEYOND = 1 << 63
#: Larger than any size: what a record without a usable content-length is compared with.
NO_LENGTH = 1 << 80

_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Headers(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The usual nine headers, in the order in which the example of the specification has them."""

    length: str = field(name="content-length")
    uri: str = field(name="warc-target-uri")
    kind: str = field(name="warc-type")
    media_type: str = field(name="content-type")
    time: str = field(name="warc-date")
    refers_to: str = field(name="warc-refers-to")
    digest: str = field(name="warc-block-digest")
    id: str = field(name="warc-record-id")
    languages: str | None = field(name="warc-identified-content-language", default=None)


class _Record(Struct, forbid_unknown_fields=True):
    headers: _Headers
    nb_sentences: _Count
    offset: _Count


USUAL_HEADERS: tuple[str, ...] = tuple(field.encode_name for field in msgspec.structs.fields(_Headers))
_CONTENT_LANGUAGE = "warc-identified-content-language"
_REQUIRED_HEADERS = frozenset(USUAL_HEADERS) - {_CONTENT_LANGUAGE}
# Quotation marks of a record that has the nine headers once and nothing else: two for each name and each string.
_QUOTES = 2 * (3 + 2 * len(USUAL_HEADERS))
_QUOTES_OF_A_HEADER = 4

_decoder = msgspec.json.Decoder(_Record)
_encode = msgspec.json.Encoder().encode


METADATA_SCHEMA = RULES.finding(
    "OSC402",
    "metadata-schema",
    """A metadata record does not follow the published JSON Schema.

    Why: readers find the text of a document by `offset` and `nb_sentences`; without them it cannot be found.
    Example: `"offset": "12"`, `"nb_sentences": true`, no `headers`. `3.0` is an integer to JSON Schema.
    Fix: write an object with `headers` (an object), `offset` and `nb_sentences` (integers from 0).
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


HEADER_NOT_STRING = RULES.finding(
    "OSC403",
    "header-not-string",
    """The value of a header is not a string.

    Why: the schema says string, and typed readers stop at the first other value.
    Example: `"content-length": 11062`.
    Fix: write the value as a string.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


EMPTY_RECORD = RULES.finding(
    "OSC404",
    "empty-record",
    """A record stands for no line at all, or has a name twice in one object.

    Why: the schema allows 0, but no writer emits such a record; of two equal names a decoder keeps whichever it likes.
    Example: `"nb_sentences": 0`; `{"offset": 0, "offset": 4, …}`.
    Fix: leave records of empty documents out; write each name once.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


HEADER_NAMES = RULES.finding(
    "OSC601",
    "header-names",
    """Header names are not lower case, or one of the usual nine is missing.

    Why: readers look headers up by their lower-case names. A missing warc-identified-content-language is information
    only: it is absent from real records.
    Example: `WARC-Record-ID`; a record without `warc-target-uri`.
    Fix: write names in lower case; keep all headers of the record. Records that corpusfmt converted from another format
    say so in the header `corpusfmt-document`, and need no others.
    """,
    severity=Severity.WARNING,
    grades={**ONLY_1_1, "minor": Severity.INFO},
    spec=METADATA,
)


RECORD_ID = RULES.finding(
    "OSC602",
    "record-id",
    """A warc-record-id is not `<urn:uuid:…>`, occurs twice in a language, or has other headers in another language.

    Why: it is what names a document. One record gives one document in each of its languages, so the same id in another
    language is legitimate, and is about the same record.
    Example: a part that was packaged twice under two numbers.
    Fix: remove the second copy; keep the headers of the record unchanged in every language.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


RECORD_DATE = RULES.finding(
    "OSC603",
    "record-date",
    """A warc-date is not a real RFC 3339 time in UTC.

    Why: the date of the crawl is what provenance rests on.
    Example: `2021-02-30T00:00:00Z`, `24/02/2021`.
    Fix: keep the date of the WARC record, as `2021-02-24T17:55:29Z`.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


RECORD_TYPE = RULES.finding(
    "OSC604",
    "record-type",
    """A record is not of warc-type `conversion` and content-type `text/plain`.

    Why: the text of OSCAR is the extracted text of WET files; another type means that something else was classified.
    Example: `warcinfo`, whose lines are about the crawler.
    Fix: take conversion records only.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


CONTENT_LENGTH = RULES.finding(
    "OSC605",
    "content-length",
    """A content-length is no number, or less than the bytes of the document.

    Why: it is the length of the record before filtering; a document cannot be longer than the record it came from, so
    the headers are another document's.
    Example: content-length 120 for a document of 400 bytes.
    Fix: pair text and metadata again from their source.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


BLOCK_DIGEST = RULES.finding(
    "OSC606",
    "block-digest",
    """A warc-block-digest is not `sha1:` and 32 characters of base32.

    Why: it is the only way back to the exact source bytes.
    Example: a digest in hexadecimal.
    Fix: keep the digest of the WARC record.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


CONTENT_LANGUAGE = RULES.finding(
    "OSC607",
    "content-language",
    """The languages that Common Crawl identified in the record do not include the directory's.

    Why: two classifiers disagree, which is frequent in small languages and worth knowing where it is the rule.
    Example: `eng` in `als/`.
    Fix: nothing has to be done; look at a sample where the count is high.
    """,
    severity=Severity.INFO,
    grades=ONLY_1_1,
    spec=METADATA,
)


TARGET_URI = RULES.finding(
    "OSC608",
    "target-uri",
    """A warc-target-uri is empty or has no scheme, so it is not a URI.

    Why: it is the address of the page: what filters by host, what credits its author and what takes it down go by it.
    Example: `example.org/page`, an empty string.
    Fix: keep the address of the WARC record, with its scheme.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


def _clipped(value: str) -> str:
    shown = value if value.isprintable() else ascii(value)[1:-1]
    return shown if len(shown) <= 120 else f"{shown[:70]}…{shown[-40:]}"


@lru_cache(maxsize=4096)
def _real_day(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def is_time(value: str) -> bool:
    """Tell whether a string is a real RFC 3339 time in UTC."""
    match = _TIME.fullmatch(value)
    if match is None or not _real_day(match["day"]):
        return False
    return match["second"] != "60" or (match["hour"], match["minute"]) == ("23", "59")


def is_length(value: str) -> bool:
    """Tell whether a string is a number in ASCII digits, of a length that any reader can hold."""
    return value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS


def _column(values: list[str]) -> str:
    return "".join([f"{value}\n" for value in values])


def _all_ids(values: list[str]) -> bool:
    column = _column(values)
    return column.isascii() and _RECORD_IDS.fullmatch(column.lower()) is not None


def _all_lengths(values: list[str]) -> bool:
    digits = "".join(values)
    return digits.isascii() and digits.isdigit() and all(0 < len(value) <= _MOST_DIGITS for value in values)


def _all_times(values: list[str]) -> bool:
    """Tell whether all are times; days recur, so that few are looked up."""
    if _USUAL_TIMES.fullmatch(_column(values)):
        return all(map(_real_day, {value[:10] for value in values}))
    return all(map(is_time, values))


def schema_fault(value: Any, at: Location) -> Fault | None:
    """Return the first deviation of a record from the published schema, header values aside."""
    found = _deviation(value)
    if found is None:
        return None
    place, message = found
    hint = "write `headers` (an object), `offset` and `nb_sentences` (integers from 0)"
    return Fault(METADATA_SCHEMA, Problem(message, replace(at, pointer=place), hint))


def header_fault(headers: Json, at: Location) -> Fault | None:
    """Return what is said of the first header that is not a string."""
    for name, value in headers.items():
        if not isinstance(value, str):
            message = f"header `{_clipped(name)}` is {described(value)}, expected a string"
            where = replace(at, pointer=pointer("headers", name))
            return Fault(HEADER_NOT_STRING, Problem(message, where, "write it as a string"))
    return None


def _deviation(value: Any) -> tuple[str, str] | None:
    if not isinstance(value, dict):
        return "", f"the record is {described(value)}, expected an object"
    for name in ("headers", "nb_sentences", "offset"):
        if name not in value:
            return "", f"no `{name}`"
    if not isinstance(value["headers"], dict):
        return "/headers", f"`headers` is {described(value['headers'])}, expected an object"
    for name in ("nb_sentences", "offset"):
        if as_count(value[name]) is None:
            return f"/{name}", f"`{name}` is {described(value[name])}, expected an integer from 0"
    return None


def as_count(value: Any) -> int | None:
    """Return an integer from 0 as JSON Schema draft-07 sees it (3.0 is one, true is not), None for anything else.

    What is beyond any file is cut to `BEYOND`.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not value.is_integer():
        return None
    return min(int(value), BEYOND) if value >= 0 else None


def described(value: Any) -> str:
    """Return a JSON value in few words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"`{_clipped(repr(value))}`" if abs(value) < 1e300 else "a number beyond 1e300"
    if isinstance(value, str):
        return f'the string `"{_clipped(value)}"`'
    return "an array" if isinstance(value, list) else "an object"


def fingerprint(headers: Mapping[str, str]) -> int:
    """Return a hash of a record's headers that does not depend on their order, which differs from file to file.

    Headers of ours are about a document, not about its record, and are left out.
    """
    ordered = {name: headers[name] for name in USUAL_HEADERS if name in headers}
    ordered.update(sorted((name, headers[name]) for name in headers.keys() - ordered if not is_own(name)))
    return xxh3_64_intdigest(_encode(ordered))


def is_own(header: str) -> bool:
    """Tell whether a header, in lower case, is one that a conversion adds."""
    return header.startswith(OWN_HEADERS)


class Rows:
    """The records of a part as they come: offset, lines, content-length, line in the file (from 1)."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.counts: list[int] = []
        self.lengths: list[int] = []
        self.lines: list[int] = []

    def __len__(self) -> int:
        return len(self.offsets)

    def drop(self, number: int) -> None:
        """Forget the first ones."""
        del self.offsets[:number], self.counts[:number], self.lengths[:number], self.lines[:number]


# Hashes of record ids and of headers of consecutive lines, and the number (from 0) of the first of these.
Collect = Callable[[Sequence[int], Sequence[int], int], None]


class MetadataScan:
    """Judges the records of one metadata file. Feed it every block in order, then `finish`; `rows` fills up."""

    def __init__(
        self, path: str, language: str, judge: Judge, max_line_bytes: int, collect: Collect | None = None
    ) -> None:
        self.rows = Rows()
        self.found = 0
        self._path = path
        self._language = language
        self._accepted = iso_639_3(language)
        self._known_languages: dict[str, bool] = {}
        self._judge = judge
        self._limit = max_line_bytes
        self._collect = collect
        self._sightings = Sightings()

    def finish(self) -> None:
        """Tell what was seen."""
        self._sightings.report(self._judge)

    def at(
        self, line: int, *, byte: int | None = None, pointer: str | None = None, record: str | None = None
    ) -> Location:
        """Return a place in this file."""
        return Location(self._path, line, byte, pointer=pointer, record=record)

    def feed(self, block: Block | LongLine) -> None:
        """Judge the next block."""
        if isinstance(block, LongLine):
            self._judge.report(*too_long(self.at(block.line, byte=block.byte), block.length, self._limit))
            self._add_unknown(block.line)
            return
        records = _decode_block(block.data)
        if records is None or not self._accept(records, block.line):
            self._feed_lines(block)

    def _accept(self, records: list[_Record], line: int) -> bool:
        """Take the records of a block whose usual headers are all there and right; judge nothing and return False else."""
        headers = [record.headers for record in records]
        ids = [each.id for each in headers]
        lengths = [each.length for each in headers]
        if not (
            _all_ids(ids)
            and _all_lengths(lengths)
            and _all_times([each.time for each in headers])
            and _URIS.fullmatch("\n".join([each.uri for each in headers]))
            and _BLOCK_DIGESTS.fullmatch(_column([each.digest for each in headers]))
            and {each.kind for each in headers} == {"conversion"}
            and {each.media_type for each in headers} == {"text/plain"}
            and all(0 < record.nb_sentences <= BEYOND and record.offset <= BEYOND for record in records)
        ):
            return False
        for number, each in enumerate(headers, line):
            if each.languages is None:
                self._note_missing(number, [_CONTENT_LANGUAGE])
            else:
                self._judge_languages(number, each.languages)
        self.found += len(records)
        self.rows.offsets += [record.offset for record in records]
        self.rows.counts += [record.nb_sentences for record in records]
        self.rows.lengths += map(int, lengths)
        self.rows.lines += range(line, line + len(records))
        if self._collect is not None:
            hashes = [xxh3_64_intdigest(each.encode()) for each in ids]
            self._collect(hashes, [xxh3_64_intdigest(_encode(each)) for each in headers], line - 1)
        return True

    def _feed_lines(self, block: Block) -> None:
        for run in runs(block):
            lines = range(run.line, run.line + run.count)
            records = _decode_block(run.data + b"\n")
            if records is not None and self._accept(records, run.line):
                for line in lines[1:]:
                    self._accept(records, line)
                continue
            decoded = read_record(run.data)
            if isinstance(decoded, Unread):
                self._judge.report(*decoded.reported(self.at(run.line, byte=run.byte)), run.count)
                for line in () if decoded.blank else lines:
                    self._add_unknown(line)
                continue
            for again, line in enumerate(lines):
                self._judge_record(decoded.value, decoded.duplicate_keys, line, run.byte + again * (len(run.data) + 1))

    def _add_unknown(self, line: int) -> None:
        self.found += 1
        self.rows.offsets.append(UNKNOWN)
        self.rows.counts.append(UNKNOWN)
        self.rows.lengths.append(NO_LENGTH)
        self.rows.lines.append(line)

    def _judge_record(self, record: Any, duplicate_keys: Sequence[str], line: int, byte: int) -> None:
        for key in duplicate_keys[:1]:
            message = f"name `{_clipped(key)}` twice in one object"
            self._sightings.note(
                EMPTY_RECORD, Problem(message, self.at(line, byte=byte), "write each name once"), "key"
            )
        fault = schema_fault(record, self.at(line, byte=byte))
        if fault is not None:
            self._sightings.note(*fault)
        if not isinstance(record, dict):
            self._add_unknown(line)
            return
        count, offset = as_count(record.get("nb_sentences")), as_count(record.get("offset"))
        if count == 0:
            at = self.at(line, byte=byte, pointer="/nb_sentences")
            hint = "leave the record out, a document has at least one line"
            self._sightings.note(EMPTY_RECORD, Problem("`nb_sentences` is 0, expected at least 1", at, hint))
        headers = record.get("headers")
        length = self._judge_headers(headers, line, byte) if isinstance(headers, dict) else NO_LENGTH
        self.found += 1
        self.rows.offsets.append(UNKNOWN if offset is None else offset)
        self.rows.counts.append(UNKNOWN if count is None else count)
        self.rows.lengths.append(length)
        self.rows.lines.append(line)

    def _judge_headers(self, headers: Json, line: int, byte: int) -> int:
        """Judge the headers of one record; return its content-length, or `NO_LENGTH`."""
        fault = header_fault(headers, self.at(line, byte=byte))
        if fault is not None:
            self._sightings.note(*fault)
        shouting = [name for name in headers if name != name.lower()]
        if shouting:
            at = self.at(line, byte=byte, pointer=pointer("headers", shouting[0]))
            names = ", ".join(f"`{_clipped(name)}`" for name in shouting[:5])
            problem = Problem(f"header {names} is not lower case", at, "write names in lower case")
            self._sightings.note(HEADER_NAMES, problem, "case")
        strings = {name.lower(): value for name, value in headers.items() if isinstance(value, str)}
        present = {name.lower() for name in headers}
        missing = [name for name in USUAL_HEADERS if name not in present]
        if missing and DOCUMENT_HEADER not in present:
            self._note_missing(line, missing)
        for name, judge in _VALUE_JUDGES:
            value = strings.get(name)
            if value is not None:
                fault = judge(value, self.at(line, byte=byte, pointer=f"/headers/{name}"))
                if fault is not None:
                    self._sightings.note(*fault, name)
        if _CONTENT_LANGUAGE in strings:
            self._judge_languages(line, strings[_CONTENT_LANGUAGE])
        identity = strings.get("warc-record-id")
        if identity is not None and self._collect is not None:
            self._collect([xxh3_64_intdigest(identity.encode())], [fingerprint(strings)], line - 1)
        length = strings.get("content-length", "")
        return int(length) if is_length(length) else NO_LENGTH

    def _note_missing(self, line: int, missing: list[str]) -> None:
        minor = missing == [_CONTENT_LANGUAGE]
        message = f"no header {', '.join(f'`{name}`' for name in missing)}"
        problem = Problem(message, self.at(line, pointer="/headers"), "keep the headers of the record", minor=minor)
        self._sightings.note(HEADER_NAMES, problem, "language" if minor else "missing")

    def _judge_languages(self, line: int, value: str) -> None:
        known = self._known_languages.get(value)
        if known is None:
            known = not self._accepted.isdisjoint(map(str.strip, value.split(",")))
            if len(self._known_languages) < _MOST_LANGUAGE_LISTS:
                self._known_languages[value] = known
        if not known:
            at = self.at(line, pointer=f"/headers/{_CONTENT_LANGUAGE}")
            message = f"identified languages `{_clipped(value)}` do not include `{self._language}`"
            self._sightings.note(CONTENT_LANGUAGE, Problem(message, at, "look at a sample of the text"))


_MOST_LANGUAGE_LISTS = 10_000


def _judge_id(value: str, at: Location) -> Fault | None:
    if _RECORD_ID.fullmatch(value):
        return None
    message = f"`{_clipped(value)}` is no record id, expected `<urn:uuid:…>`"
    return Fault(RECORD_ID, Problem(message, at, "keep the id of the WARC record"))


def _judge_time(value: str, at: Location) -> Fault | None:
    if is_time(value):
        return None
    message = f"warc-date `{_clipped(value)}` is no RFC 3339 time in UTC"
    return Fault(RECORD_DATE, Problem(message, at, "write it like `2021-02-24T17:55:29Z`"))


def _judge_length(value: str, at: Location) -> Fault | None:
    if is_length(value):
        return None
    message = f"content-length `{_clipped(value)}` is no number"
    return Fault(CONTENT_LENGTH, Problem(message, at, "write it in digits"))


def _judge_digest(value: str, at: Location) -> Fault | None:
    if _BLOCK_DIGEST.fullmatch(value):
        return None
    message = f"warc-block-digest `{_clipped(value)}` is not `sha1:` and 32 base32 characters"
    return Fault(BLOCK_DIGEST, Problem(message, at, "keep the digest of the WARC record"))


def _judge_uri(value: str, at: Location) -> Fault | None:
    if re.match(_URI, value):
        return None
    message = f"warc-target-uri `{_clipped(value)}` is not a URI, expected a scheme and an address"
    return Fault(TARGET_URI, Problem(message, at, "keep the address of the WARC record, like `https://example.org/`"))


def _judge_type(value: str, at: Location) -> Fault | None:
    return None if value == "conversion" else _other_type("warc-type", value, "conversion", at)


def _judge_media_type(value: str, at: Location) -> Fault | None:
    return None if value == "text/plain" else _other_type("content-type", value, "text/plain", at)


def _other_type(name: str, value: str, expected: str, at: Location) -> Fault:
    message = f"{name} is `{_clipped(value)}`, expected `{expected}`"
    return Fault(RECORD_TYPE, Problem(message, at, "take the text of conversion records only"))


_VALUE_JUDGES: tuple[tuple[str, Callable[[str, Location], Fault | None]], ...] = (
    ("warc-record-id", _judge_id),
    ("warc-target-uri", _judge_uri),
    ("warc-date", _judge_time),
    ("warc-type", _judge_type),
    ("content-type", _judge_media_type),
    ("content-length", _judge_length),
    ("warc-block-digest", _judge_digest),
)


class Unread(Struct, frozen=True):
    """Why a line of metadata cannot be read; `blank` where it cannot stand for a record."""

    why: JsonFault | TextFault
    blank: bool = False

    def reported(self, at: Location) -> Fault:
        """Return what is to be said of it, at the place of the line."""
        if isinstance(self.why, JsonFault):
            return bad_json(at, self.why)
        byte = None if at.byte is None else at.byte + self.why.column - 1
        return bad_text(Location(at.path, at.line, byte, self.why.column), self.why.reason)


class Decoded(Struct, frozen=True):
    """A JSON value, and names that stand twice in one object."""

    value: Any
    duplicate_keys: Sequence[str]


def read_record(data: bytes) -> Decoded | Unread:
    """Decode a line of metadata to the letter of JSON."""
    try:
        found = strict_json(data)
    except UnicodeDecodeError:
        fault = utf8_fault(data)
        assert fault is not None
        return Unread(fault)
    except JsonFault as error:
        return Unread(error, blank=not data.strip(b" \t\r"))
    return Decoded(found.value, found.duplicate_keys)


def _decode_block(data: bytes) -> list[_Record] | None:
    """Decode a block in which each line is one record with the usual headers once; None where any is not.

    msgspec keeps the last of two equal names, and does not care about line ends: the number of quotation marks tells
    whether there is a name or a string that the decoded records do not have, the line ends must stand between records.
    """
    if b"\\" in data:
        return None
    try:
        records: list[_Record] = _decoder.decode_lines(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    number = len(records)
    without = sum(record.headers.languages is None for record in records)
    whole_lines = data.startswith(b"{") and data.count(b"}\n{") == number - 1 and data.endswith((b"}\n", b"}"))
    if not whole_lines or data.count(b"\n") not in (number, number - 1):
        return None
    return records if data.count(b'"') == _QUOTES * number - _QUOTES_OF_A_HEADER * without else None
