"""Internal: The headers of a record: check all values fast, report faults, and compute fingerprints."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
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
from corpusfmt.model import Fault, FindingType, Location, Problem
from corpusfmt.wording import shortened

_RECORD_ID = re.compile(r"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-]00:00)",
    re.ASCII,
)
_BLOCK_DIGEST = re.compile(r"sha1:[A-Z2-7]{32}")
# WARC 1.0 has URIs in angle brackets, which few writers produce.
_URI = r"<?[A-Za-z][A-Za-z0-9+.-]*:[^\n]+"
# One value per line: a single match costs far less than a call for each.
_RECORD_IDS = re.compile(r"(?:<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>\n)*+")
_BLOCK_DIGESTS = re.compile(rf"(?:{_BLOCK_DIGEST.pattern}\n)*+")
_URIS = re.compile(rf"{_URI}(?:\n{_URI})*+")
_USUAL_TIMES = re.compile(r"(?:\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\n)*+", re.ASCII)
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


@lru_cache(maxsize=4096)
def _real_day(day: str) -> bool:
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return True


def is_time(value: str) -> bool:
    """Return whether a string is a real RFC 3339 time in UTC."""
    match = _TIME.fullmatch(value)
    if match is None or not _real_day(match["day"]):
        return False
    return match["second"] != "60" or (match["hour"], match["minute"]) == ("23", "59")


def is_length(value: str) -> bool:
    """Return whether a string is a number in ASCII digits that fits any reader."""
    return value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS


def _column(values: list[str]) -> str:
    return "\n".join([*values, ""])


def _all_ids(values: list[str]) -> bool:
    column = _column(values)
    return column.isascii() and _RECORD_IDS.fullmatch(column.lower()) is not None


def _all_lengths(values: list[str]) -> bool:
    digits = "".join(values)
    return digits.isascii() and digits.isdigit() and all(0 < len(value) <= _MOST_DIGITS for value in values)


def _all_times(values: list[str]) -> bool:
    """Return whether all are times; days recur, so few are looked up."""
    if _USUAL_TIMES.fullmatch(_column(values)):
        return all(map(_real_day, {value[:10] for value in values}))
    return all(map(is_time, values))


def are_right(headers: Sequence[Headers]) -> bool:
    """Return whether all values except the languages are right, all at once."""
    return (
        _all_ids([each.id for each in headers])
        and _all_lengths([each.length for each in headers])
        and _all_times([each.time for each in headers])
        and _URIS.fullmatch("\n".join([each.uri for each in headers])) is not None
        and _BLOCK_DIGESTS.fullmatch(_column([each.digest for each in headers])) is not None
        and {each.kind for each in headers} == {"conversion"}
        and {each.media_type for each in headers} == {"text/plain"}
    )


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
        _RECORD_ID.fullmatch,
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
