"""Internal: Texts in a description: dates, sizes, paths, regular expressions."""

from __future__ import annotations

import re
import warnings
from datetime import datetime

_ISO_PARTS = re.compile(r"\d{4}(-\d{2})?")
# A leap second, which `datetime` cannot represent: 23:59:60 in UTC, shifted by the offset of the time zone elsewhere.
_LEAP_SECOND = re.compile(r"(?<=\d[T ])(\d\d(:?)(?:29|44|59)\2)60(?!\d)")


#: A character that IRIs do not have.
NOT_IN_IRIS = re.compile(r'[\s<>"{}|\\^`\x00-\x20]')

#: A control character, which no path or URL has.
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def is_date(text: str) -> bool:
    """Return whether a text is an ISO 8601 date or date and time, including a year or month alone."""
    if _ISO_PARTS.fullmatch(text):
        return text[5:] == "" or "01" <= text[5:] <= "12"
    try:
        datetime.fromisoformat(_LEAP_SECOND.sub(r"\g<1>59", text))
    except ValueError:
        return False
    return True


def escapes(path: str) -> bool:
    """Return whether a path points outside its starting folder."""
    depth = 0
    for part in re.split(r"[/\\]", path):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return True
    return False


def is_absolute(path: str) -> bool:
    """Return whether a path starts at the root of a file system."""
    return path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", path) is not None


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kKMGTPE])(i?))?(?:B|b|bytes|Bytes|bits)?")
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def size_in_bytes(text: str) -> tuple[int, bool] | None:
    """Return the bytes in a contentSize and whether they are exact; None if it is not a size."""
    match = _SIZE.fullmatch(text.strip().replace(",", "")) if len(text) < 100 else None
    if match is None:
        return None
    number, unit, binary = match.groups()
    factor = (1024 if binary else 1000) ** _UNITS[(unit or "").lower()]
    return int(float(number) * factor) if "." in number else int(number) * factor, not unit


def compiled(pattern: str) -> re.Pattern[str] | str:
    """Return a compiled regular expression, or what is wrong with it. Named groups may be written as in JavaScript."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", pattern))
        except re.error as error:
            return str(error)
        except (RecursionError, OverflowError, MemoryError) as error:
            return f"too large ({type(error).__name__})"
