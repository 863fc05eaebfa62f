"""For formats: Values of the headers of WARC records."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache

RECORD_ID = re.compile(r"<urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}>", re.IGNORECASE)
_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt](?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)(?:\.\d+)?"
    r"(?:[Zz]|[+-]00:00)",
    re.ASCII,
)


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
