"""For formats: Values of the headers of WARC records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import lru_cache

RECORD_ID = re.compile(r"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-]00:00)",
    re.ASCII,
)
# One value per line: a single match costs far less than a call for each.
_RECORD_IDS = re.compile(r"(?:<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>\n)*+")
_USUAL_TIMES = re.compile(r"(?:\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ\n)*+", re.ASCII)


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


def column(values: Sequence[str]) -> str:
    """Return values for an expression that matches all of them at once, a line for each."""
    return "\n".join([*values, ""])


def all_ids(values: Sequence[str]) -> bool:
    """Return whether all are ids of records."""
    ids = column(values)
    # Most are in lower case, as the expression is, which is faster than one for either case.
    return _RECORD_IDS.fullmatch(ids) is not None or (ids.isascii() and _RECORD_IDS.fullmatch(ids.lower()) is not None)


def all_times(values: Sequence[str]) -> bool:
    """Return whether all are times; days recur, so few are looked up."""
    if _USUAL_TIMES.fullmatch(column(values)):
        return all(map(_real_day, {value[:10] for value in values}))
    return all(map(is_time, values))
