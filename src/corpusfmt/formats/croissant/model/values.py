"""Internal: Texts in a description: sizes, paths, regular expressions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable

from msgspec import Struct

from corpusfmt.formats.croissant.model.arrays import SHAPE_PATTERN

#: A character that IRIs do not have.
NOT_IN_IRIS = re.compile(r'[\s<>"{}|\\^`\x00-\x20]')

#: A control character, which no path or URL has.
CONTROL = re.compile(r"[\x00-\x1f\x7f]")


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


# Patterns that begin like this match no longer texts, on which they might take long.
_SIZE = r"(?![\s\S]{100})\s*([0-9][0-9,]*(?:\.[0-9,]+)?)\s*(?:([kKMGTPE])(i?))?(?:B|b|bytes|Bytes|bits)?\s*"
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def size_in_bytes(text: str) -> tuple[int, bool] | None:
    """Return the bytes in a contentSize and whether they are exact; None if it is not a size."""
    match = re.fullmatch(_SIZE, text)
    if match is None:
        return None
    number, unit, binary = match[1].replace(",", ""), match[2], match[3]
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


_SCHEME = "[A-Za-z][A-Za-z0-9+.-]*:"
_HOST = r"(?:[^\s/?#\[\]]*\[(?=[^\]]*:[^\]]*:)[0-9A-Fa-f:.]+\][^\s/?#\[\]]*|[^\s/?#\[\]]+)"
_URL = (
    rf"{_SCHEME}//{_HOST}(?:[/?#]\S*)?"
    rf"|(?!(?:[Hh][Tt][Tt][Pp][Ss]?|[Ff][Tt][Pp]):){_SCHEME}(?://(?=/)|(?!//))[^\s?#]\S*"
)
_NUMBER = "(?:0|[1-9][0-9]*)"
_LABEL = f"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = "[0-9A-Za-z-]+"
_VERSION = rf"(?![\s\S]{{256}}){_NUMBER}(?:\.{_NUMBER}){{2}}(?:-{_LABEL}(?:\.{_LABEL})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?"
_NO_CONTROL = r"[^\x00-\x1f\x7f]"
_MEDIA_TYPE = r"[A-Za-z]+/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*(?:\s*;.*)?|git\+https"


class Form(Struct, frozen=True):
    """The form of the texts of a row: the rule that reports others, and a pattern for each kind that the row may have.

    Patterns are in the common syntax of Python and JavaScript, and match whole texts.
    """

    rule: str
    patterns: dict[str, str]


#: The forms of texts, by the names that the tables have for them.
FORMS = {
    "url": Form("CRO216", {"URL": _URL}),
    "address": Form("CRO216", {"URL": rf"(?=\s*\S)(?:(?:(?!\s){_NO_CONTROL})+|(?:(?!://){_NO_CONTROL})+)"}),
    "version": Form("CRO218", {"Text": _VERSION}),
    "license": Form("CRO219", {"URL": _URL}),
    "media type": Form("CRO306", {"Text": _MEDIA_TYPE, "URL": r"[\s\S]*://[\s\S]*"}),
    "property": Form("CRO214", {"URL": r"""[^\s<>"{}|\\^`:]*:[^\s<>"{}|\\^`]*"""}),
    "shape": Form("CRO214", {"Text": rf"(?![\s\S]{{2001}})(?:{SHAPE_PATTERN})"}),
    "sha256": Form("CRO308", {"Text": "[0-9a-fA-F]{64}"}),
    "size": Form("CRO309", {"Text": _SIZE}),
    "md5": Form("CRO315", {"Text": "[0-9a-fA-F]{32}"}),
}


def has_form(text: str, form: str, kinds: Iterable[str]) -> bool:
    """Return whether a text has a form, for one of the kinds of its row."""
    patterns = FORMS[form].patterns
    return any(re.fullmatch(patterns[kind], text) for kind in kinds if kind in patterns)
