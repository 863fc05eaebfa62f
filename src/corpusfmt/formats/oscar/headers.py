"""Internal: The headers of a record: check all values fast, report faults, and compute fingerprints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace
from xxhash import xxh64_intdigest

from corpusfmt.formats.oscar.metadata_rules import (
    BLOCK_DIGEST,
    CONTENT_LENGTH,
    RECORD_DATE,
    RECORD_ID,
    RECORD_TYPE,
    TARGET_URI,
)
from corpusfmt.formats.provenance import OWN_HEADERS
from corpusfmt.formats.warc import RECORD_ID as WARC_RECORD_ID
from corpusfmt.formats.warc import is_time
from corpusfmt.model import Fault, FindingType, Location, Problem
from corpusfmt.wording import shortened

_BLOCK_DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
# WARC 1.0 has URIs in angle brackets, which few writers produce.
_URI = r"<?[A-Za-z][A-Za-z0-9+.-]*:[^\n]+"
_MOST_DIGITS = 20


class Headers(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The usual nine headers, in the order of the specification's example."""

    length: str = field(name="content-length")
    uri: str = field(name="warc-target-uri")
    kind: str = field(name="warc-type")
    media_type: str = field(name="content-type")
    time: str = field(name="warc-date")
    refers_to: str = field(name="warc-refers-to")
    digest: str = field(name="warc-block-digest")
    id: str = field(name="warc-record-id")
    languages: str | None = field(name="warc-identified-content-language", default=None)


USUAL_HEADERS: tuple[str, ...] = tuple(field.encode_name for field in msgspec.structs.fields(Headers))
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
