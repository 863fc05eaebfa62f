"""Internal: OSC402 to OSC404 and OSC601 to OSC608: metadata records and their headers."""

from __future__ import annotations

from corpusfmt.formats.oscar.ruleset import METADATA, ONLY_1_1, RULES
from corpusfmt.model import Severity

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

    Why: the id identifies a document, and in another part a conversion cannot give the second one another. A record gives one
    document in each of its languages, so the same id in another language is valid and belongs to the same record.
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
