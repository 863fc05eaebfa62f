"""Internal: OSC402 to OSC404 and OSC601 to OSC608: what can be wrong with a metadata record and its headers."""

from __future__ import annotations

from corpusfmt.formats.oscar.ruleset import METADATA, ONLY_1_1, RULES
from corpusfmt.model import Severity

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
