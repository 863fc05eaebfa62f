"""Internal: OSC402 to OSC404 and OSC601 to OSC608: the headers of a record, their faults and fingerprints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace
from xxhash import xxh64_intdigest

from corpusfmt.formats.oscar.ruleset import METADATA, ONLY_1_1, RULES
from corpusfmt.formats.provenance import OWN_HEADERS
from corpusfmt.formats.warc import RECORD_ID as WARC_RECORD_ID
from corpusfmt.formats.warc import is_time
from corpusfmt.model import Fault, FindingType, Location, Problem, Severity
from corpusfmt.wording import shortened

METADATA_SCHEMA = RULES.finding(
    "OSC402",
    "metadata-schema",
    """A metadata record does not conform to the published JSON Schema.

    Why: readers find the text of a document by `offset` and `nb_sentences`.
    Example: `"offset": "12"`, `"nb_sentences": true`, no `headers`. JSON Schema accepts `3.0` as an integer.
    Fix: write an object with `headers` (an object), `offset` and `nb_sentences` (integers from 0).
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


HEADER_NOT_STRING = RULES.finding(
    "OSC403",
    "header-not-string",
    """The value of a header is not a string.

    Why: the schema requires strings, and typed readers stop at another type.
    Example: `"content-length": 11062`.
    Fix: write the value as a string.
    """,
    grades=ONLY_1_1,
    spec=METADATA,
)


EMPTY_RECORD = RULES.finding(
    "OSC404",
    "empty-record",
    """A record has no lines, or an object in it has the same name twice.

    Why: the schema allows 0, but no writer emits such records; decoders differ in which of two equal names they keep.
    Example: `"nb_sentences": 0`; `{"offset": 0, "offset": 4, …}`.
    Fix: remove records of empty documents; write each name once.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


HEADER_NAMES = RULES.finding(
    "OSC601",
    "header-names",
    """Header names are not lower case, or one of the usual nine is missing.

    Why: readers look up headers by their lower-case names. A missing warc-identified-content-language is only info,
    because real records lack it.
    Example: `WARC-Record-ID`; a record without `warc-target-uri`.
    Fix: write names in lower case; keep all headers of the record. Records that corpusfmt converted from another format
    have the header `corpusfmt-document`, and need no others.
    """,
    severity=Severity.WARNING,
    grades={**ONLY_1_1, "minor": Severity.INFO},
    spec=METADATA,
)


RECORD_ID = RULES.finding(
    "OSC602",
    "record-id",
    """A warc-record-id is not `<urn:uuid:…>`, occurs twice in a language, or has other headers in another language. Twice in two
    parts is an error.

    Why: the id identifies a document, and a conversion can rename a second one only within its part. A record gives one
    document in each of its languages, so the same id in another language is valid.
    Example: a part that was packaged twice under two numbers.
    Fix: remove the second copy; keep the headers of the record unchanged in every language.
    """,
    grades={**ONLY_1_1, "minor": Severity.WARNING},
    spec=METADATA,
)


RECORD_DATE = RULES.finding(
    "OSC603",
    "record-date",
    """A warc-date is not a real RFC 3339 time in UTC.

    Why: the date of the crawl is part of the provenance.
    Example: `2021-02-30T00:00:00Z`, `24/02/2021`.
    Fix: keep the date of the WARC record, such as `2021-02-24T17:55:29Z`.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


RECORD_TYPE = RULES.finding(
    "OSC604",
    "record-type",
    """A record is not of warc-type `conversion` and content-type `text/plain`.

    Why: OSCAR consists of the extracted text of WET files; another type means that something else was classified.
    Example: `warcinfo`, which describes the crawler.
    Fix: use only conversion records.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


CONTENT_LENGTH = RULES.finding(
    "OSC605",
    "content-length",
    """A content-length is not a number, or less than the size of the document in bytes.

    Why: it is the length of the record before filtering; a document cannot be longer than its record, so the headers belong
    to another document.
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

    Why: only the digest identifies the exact source bytes.
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
    """The languages that Common Crawl identified in the record do not include the directory's language.

    Why: two classifiers disagree, which is common for small languages, and notable if it affects most records.
    Example: `eng` in `als/`.
    Fix: no action is needed; look at a sample if the count is high.
    """,
    severity=Severity.INFO,
    grades=ONLY_1_1,
    spec=METADATA,
)


TARGET_URI = RULES.finding(
    "OSC608",
    "target-uri",
    """A warc-target-uri is empty or has no scheme, so it is not a URI.

    Why: host filters, attribution and takedowns need the address of the page.
    Example: `example.org/page`, an empty string.
    Fix: keep the address of the WARC record, including its scheme.
    """,
    severity=Severity.WARNING,
    grades=ONLY_1_1,
    spec=METADATA,
)


_BLOCK_DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
# WARC 1.0 has URIs in angle brackets, which few writers produce.
_URI = r"<?[A-Za-z][A-Za-z0-9+.-]*:[^\n]+"
_MOST_DIGITS = 20


#: In the order of the specification's example.
USUAL_HEADERS = (
    "content-length", "warc-target-uri", "warc-type", "content-type", "warc-date", "warc-refers-to", "warc-block-digest",
    "warc-record-id", "warc-identified-content-language",
)  # fmt: skip
LANGUAGES_HEADER = "warc-identified-content-language"


def clipped(value: str) -> str:
    """Return a value for a message."""
    return shortened(value if value.isprintable() else ascii(value)[1:-1], 120, 70, 40)


def is_length(value: str) -> bool:
    """Return whether a string is a number in ASCII digits that fits any reader."""
    return value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS


def fingerprint(headers: Mapping[str, str]) -> int:
    """Return a hash of a record's headers that does not depend on their order, which differs between files.

    Corpusfmt's own headers describe a document, not its record, and are excluded.
    """
    ordered = {name: headers[name] for name in USUAL_HEADERS if name in headers}
    ordered.update(sorted((name, headers[name]) for name in headers.keys() - ordered if not is_own(name)))
    # What stands for the byte ff, which ends each name and value, is encoded with all of them at once.
    texts = [*chain.from_iterable(ordered.items()), ""]
    return xxh64_intdigest("\udcff".join(texts).encode("utf-8", "surrogateescape"))


def id_hash(value: str) -> int:
    """Return the hash of a record id."""
    return xxh64_intdigest(value.encode())


def is_own(header: str) -> bool:
    """Return whether a header, in lower case, is one that a conversion adds."""
    return header.startswith(OWN_HEADERS)


class _Judged(NamedTuple):
    """A test of a header's value, and the finding for other values."""

    is_right: Callable[[str], object]
    rule: FindingType
    message: str
    hint: str


_TAKE_CONVERSIONS = "use only the text of conversion records"
_JUDGED = {
    "warc-record-id": _Judged(
        WARC_RECORD_ID.fullmatch,
        RECORD_ID,
        "warc-record-id is `{}`, expected `<urn:uuid:…>`",
        "keep the id of the WARC record",
    ),
    "warc-target-uri": _Judged(
        re.compile(_URI).match,
        TARGET_URI,
        "warc-target-uri is `{}`, expected a URI with scheme and address",
        "keep the address of the WARC record, such as `https://example.org/`",
    ),
    "warc-date": _Judged(
        is_time, RECORD_DATE, "warc-date is `{}`, expected an RFC 3339 time in UTC", "write `YYYY-MM-DDThh:mm:ssZ`"
    ),
    "warc-type": _Judged(
        "conversion".__eq__, RECORD_TYPE, "warc-type is `{}`, expected `conversion`", _TAKE_CONVERSIONS
    ),
    "content-type": _Judged(
        "text/plain".__eq__, RECORD_TYPE, "content-type is `{}`, expected `text/plain`", _TAKE_CONVERSIONS
    ),
    "content-length": _Judged(
        is_length, CONTENT_LENGTH, "content-length is `{}`, expected a number", "write the number in digits"
    ),
    "warc-block-digest": _Judged(
        _BLOCK_DIGEST.fullmatch,
        BLOCK_DIGEST,
        "warc-block-digest is `{}`, expected `sha1:` and 32 base32 characters",
        "keep the digest of the WARC record",
    ),
}


def value_faults(headers: Mapping[str, str], at: Location) -> Iterator[tuple[str, Fault]]:
    """Yield the faults of header values with their lower-case names; `at` is the place of the record."""
    for name, (is_right, rule, message, hint) in _JUDGED.items():
        if name in headers and not is_right(headers[name]):
            where = replace(at, pointer=f"/headers/{name}")
            yield (
                name,
                Fault(rule, Problem(message.format(clipped(headers[name])), where, hint, minor=rule is RECORD_ID)),
            )
